//! The shape of a filter's table.

/// The shape of a table: its number of units, and the number of bits that each key sets. A unit is a word, a block or a
/// cache line, depending on the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The number of units of the table, at least 1.
    pub units: u64,
    /// The number of bits that a key sets. In the standard and register layouts, some of these bits can coincide.
    pub hashes: u32,
}
