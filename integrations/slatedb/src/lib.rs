//! Connects Trommel to the engine that the crate is named after.
