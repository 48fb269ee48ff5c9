//! Filters as bytes: the frozen form, and the types that read and hold it.
//!
//! [`AnyFilter`](crate::AnyFilter) and the filter type of each kind read and write frozen bytes themselves. [`Frozen`]
//! has the same methods for code that is generic over filters. [`FilterView`](crate::FilterView) borrows the bytes that
//! it reads, and an [`OwnedView`] owns them. Some functions read a header without making a filter: [`parse`] and its
//! variants check the header, the length and, unless the bytes are trusted, the checksum of the payload; [`identity`]
//! returns a number that tells frozen filters apart.
//!
//! [docs/FORMAT.md][format] describes all bytes, and [promises][versions] that every later release reads them. Bytes
//! with a version, kind, hash function or flag of a later release are refused with a
//! [`FormatError`](crate::FormatError), which has the number of that version, kind, function or flag.
//!
//! [format]: https://github.com/trommel/trommel/blob/main/docs/FORMAT.md
//! [versions]: https://github.com/trommel/trommel/blob/main/docs/FORMAT.md#versions

pub use crate::frozen::Frozen;
#[cfg(target_has_atomic = "ptr")]
pub use crate::owned_view::OwnedView;
#[doc(inline)]
pub use trommel_base::container::{
    FrozenBytes, HEADER_BYTES, Header, MAGIC, PARAMETERS, Parsed, Trust, VERSION, identity, parse,
    parse_bytes, parse_trusted, parse_with_hasher,
};
#[cfg(target_has_atomic = "ptr")]
pub use trommel_base::storage::{SharedBytes, StableBytes};
pub use trommel_base::{Backing, HashId, Storage};
