//! Filters as bytes: the frozen form, and what holds it.
//!
//! [`AnyFilter`](crate::AnyFilter) and each type of filter read and write frozen bytes themselves, and [`Frozen`] is the
//! same for code that is generic over filters. [`FilterView`](crate::FilterView) borrows the bytes that it reads, and
//! an [`OwnedView`] keeps them. What a header says can be read without a filter: [`parse`] checks everything,
//! [`identity`] gives a number by which two frozen filters are known to be alike.
//!
//! The layout of all bytes is in `docs/FORMAT.md`.

pub use crate::frozen::Frozen;
#[cfg(target_has_atomic = "ptr")]
pub use crate::owned_view::OwnedView;
#[doc(inline)]
pub use trommel_base::container::{
    FrozenBytes, HEADER_BYTES, Header, MAGIC, PARAMETERS, Parsed, Trust, VERSION, identity, parse,
    parse_bytes, parse_trusted,
};
#[cfg(target_has_atomic = "ptr")]
pub use trommel_base::storage::{SharedBytes, StableBytes};
pub use trommel_base::{Backing, HashId, Storage};
