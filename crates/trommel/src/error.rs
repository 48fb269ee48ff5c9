//! The error types of this crate, except for some that are in the modules `engine`, `quotient` and `cuckoo`.
//!
//! A caller can react to an error without parsing its text: each error is an enum, or a struct whose fields state the
//! details, such as the number of inserted keys. Enums are named `…Error`. A struct is named for the one condition that
//! it reports: [`Full`], [`Incompatible`], [`Unsupported`], [`OutOfMemory`], [`WrongKind`], [`UnknownKind`]. Each error
//! prints one sentence. An error with a cause either prints the cause or returns it from
//! [`source`](core::error::Error::source), never both.
//!
//! The error types in other modules are [`EngineError`](crate::engine::EngineError) and
//! [`StreamError`](crate::engine::StreamError), [`ResizeError`](crate::quotient::ResizeError), and
//! [`GrowError`](crate::cuckoo::GrowError).

pub use crate::accumulate::AccumulateError;
pub use crate::any::WrongKind;
pub use crate::spec::BuildError;
pub use trommel_base::kind::UnknownKind;
pub use trommel_base::storage::OutOfMemory;
pub use trommel_base::{
    FoldError, FormatError, Full, Incompatible, MergeError, OffsetsError, PolicyError, SpecError,
    Unsupported, WhyFull,
};
pub use trommel_simd::IsaError;
