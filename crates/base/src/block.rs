//! The block form: a table and a trailer of one or two bytes.
//!
//! A storage engine keeps one filter for each block or file of data, and has only the filter's bytes when it looks a
//! key up. So the block form contains only the filter's table and a trailer, which states the kind, the hash function
//! and the one parameter that a lookup needs.
//!
//! ```text
//! after the table    filter
//! 0                  none: every key may be there
//! 1 .. 32            bloom, keys hashed by XXH3; the byte is the number of bits that each key sets
//! p, then 1hhkkkkk   kind k with hash function h and parameter p; the last byte is given bit by bit
//! ```
//! All other values of the last byte are reserved. A filter block has neither seed nor checksum. The engine stores the
//! name of the filter policy (`trommel::FilterPolicy`), which contains the seed, and keeps a checksum of its own.
//! docs/FORMAT.md gives each kind's parameter and table.

use crate::storage::{MAX_BYTES, OutOfMemory};
use crate::{FilterKind, FormatError, Full, HashId, KeyHash, SpecError, WhyFull};
use trommel_simd::Isa;

/// The last byte of a filter block that holds no filter: any key may be in the engine's data.
pub const NO_FILTER: u8 = 0;
/// This bit of the last byte is set if the byte is a *tag* (`1hhkkkkk` above), and clear if it is the parameter of a
/// standard filter.
const TAG: u8 = 0x80;
const HASH_SHIFT: u32 = 5;

const _: () = {
    let mut i = 0;
    while i < FilterKind::ALL.len() {
        assert!((FilterKind::ALL[i] as u16) < 1 << HASH_SHIFT, "a tag has five bits for the kind");
        i += 1;
    }
};

/// The trailer that ends every block of one kind and hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trailer {
    /// One byte, the parameter: the trailer of standard filters whose keys are hashed by XXH3.
    Parameter,
    /// The parameter, then this tag.
    Tagged(u8),
}

impl Trailer {
    /// The trailer of a kind and a hash function.
    #[must_use]
    pub const fn of(kind: FilterKind, hash: HashId) -> Self {
        match (kind, hash) {
            (FilterKind::Bloom, HashId::Xxh3) => Self::Parameter,
            _ => Self::Tagged(TAG | (hash as u8) << HASH_SHIFT | kind as u8),
        }
    }

    /// The trailer's length in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Parameter => 1,
            Self::Tagged(_) => 2,
        }
    }

    /// Writes the trailer to the end of a block. Does nothing if the block is shorter than the trailer.
    pub fn write(self, parameter: u8, block: &mut [u8]) {
        match (self, block) {
            (Self::Parameter, [.., last]) => *last = parameter,
            (Self::Tagged(tag), [.., before, last]) => (*before, *last) = (parameter, tag),
            _ => {}
        }
    }

    /// Splits this trailer off a block. Returns the parameter and the table, or `None` if the block is too short, has
    /// no filter or ends in another trailer. The parameter is not checked: it can be reserved, or impossible for the
    /// kind. The methods of [`BlockTable`] check the parameter.
    #[inline(always)]
    #[must_use]
    pub const fn open(self, block: &[u8]) -> Option<(u8, &[u8])> {
        match (self, block) {
            (Self::Parameter, [table @ .., last]) if *last & TAG == 0 && *last != NO_FILTER => {
                Some((*last, table))
            }
            (Self::Tagged(tag), [table @ .., parameter, last]) if *last == tag => {
                Some((*parameter, table))
            }
            _ => None,
        }
    }
}

/// The settings that all blocks of a filter policy share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSpec {
    /// Bits of the table for each key.
    pub bits_per_key: f64,
    /// The kind's parameter: the number of bits that a key sets, or the number of bits that are stored per key.
    pub parameter: u8,
    /// The instruction set in use.
    pub isa: Isa,
}

impl BlockSpec {
    /// `keys · bits_per_key / 8` bytes, rounded up; `None` if that is more than [`MAX_BYTES`].
    #[must_use]
    pub fn bytes_for(&self, keys: usize) -> Option<usize> {
        let bytes = libm::ceil(keys as f64 * self.bits_per_key / 8.0);
        // Compared before the cast, which would saturate.
        (bytes <= MAX_BYTES as f64).then_some(bytes as usize)
    }
}

/// A kind whose lookups need only its table and one parameter.
// The crate of each family of filters implements this for filter policies. Users call a policy instead.
#[doc(hidden)]
pub trait BlockTable {
    /// The parameter for a number of bits per key.
    ///
    /// # Errors
    /// [`SpecError::BitsPerKeyOutOfRange`] if the kind has no table with this number of bits per key.
    fn parameter(bits_per_key: f64) -> Result<u8, SpecError>;

    /// The exact size in bytes of the table for `keys` keys; `None` if it would be larger than the kind can address.
    fn table_len(spec: &BlockSpec, keys: usize) -> Option<usize>;

    /// Writes the table of the keys with these hashes to `table`. The caller must ensure that `table` has the length
    /// [`BlockTable::table_len`]. The previous contents of `table` do not matter.
    ///
    /// # Errors
    /// [`PolicyError`] if the table has no room for the keys or memory is refused; the table's contents are then
    /// unspecified.
    ///
    /// # Panics
    /// If the machine lacks the instruction set of `spec`, and the kind uses it.
    fn fill(spec: &BlockSpec, hashes: &[KeyHash], table: &mut [u8]) -> Result<(), PolicyError>;

    /// Returns whether a key may be in a table. Returns true if the bytes cannot be a table with this parameter.
    /// Whatever the bytes are, the function does not panic, and its time is bounded by the length of `table`.
    ///
    /// # Panics
    /// If the machine lacks the instruction set, and the kind uses it.
    fn may_match(isa: Isa, parameter: u8, table: &[u8], hash: KeyHash) -> bool;

    /// Prefetches the cache lines that [`BlockTable::may_match`] reads first. Does nothing for bytes that cannot be a
    /// table with this parameter.
    fn prefetch(parameter: u8, table: &[u8], hash: KeyHash);

    /// Checks length, parameter and structure. There is no checksum.
    ///
    /// # Errors
    /// [`FormatError`] if the length, the parameter or the structure is one that a build never makes.
    fn check(parameter: u8, table: &[u8]) -> Result<(), FormatError>;
}

/// Why a filter block was not built. The buffer for the block can have been overwritten, unless the variant says
/// otherwise.
///
/// ```
/// use trommel::{FilterKind, FilterPolicy, PolicyError};
/// let policy = FilterPolicy::builder(FilterKind::Bloom).build()?;
/// let refused = policy.build_into(&[policy.hash("anvil")], &mut [0; 2]);
/// assert_eq!(refused, Err(PolicyError::BufferTooShort { need: 3, got: 2 }));
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The kind cannot address a table for this number of keys.
    TooManyKeys {
        /// Keys given.
        keys: usize,
    },
    /// The buffer is shorter than the block. Nothing was written.
    BufferTooShort {
        /// Bytes of the block.
        need: usize,
        /// Bytes given.
        got: usize,
    },
    /// The table has no room for the keys. An adversary can choose keys for which this happens.
    Full(Full),
    /// The system refused the memory that the build works in.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
}

crate::error_messages! { PolicyError {
    Self::TooManyKeys { keys } => "{keys} keys are more than one filter block holds";
    Self::BufferTooShort { need, got } => "the filter block takes {need} bytes, the buffer has {got}";
    Self::Full(full) => "{full}";
    Self::OutOfMemory { bytes } => "{}", OutOfMemory { bytes: *bytes };
}}

impl From<Full> for PolicyError {
    fn from(full: Full) -> Self {
        match full.why {
            WhyFull::Memory { bytes } => Self::OutOfMemory { bytes },
            _ => Self::Full(full),
        }
    }
}

crate::error_from! { PolicyError {
    OutOfMemory { bytes };
}}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_opens_what_it_wrote_and_nothing_else() {
        let hashes = [HashId::Xxh3, HashId::Xxh64, HashId::SipHash13];
        let all =
            || FilterKind::ALL.iter().flat_map(|kind| hashes.map(|hash| Trailer::of(*kind, hash)));
        for written in all() {
            let mut block = [9; 12];
            written.write(7, &mut block);
            let (parameter, table) = written.open(&block).unwrap();
            assert_eq!((parameter, table.len() + written.bytes()), (7, block.len()));
            assert_eq!(table, &[9; 12][..table.len()]);
            for other in all().filter(|other| *other != written) {
                assert_eq!(other.open(&block), None);
            }
        }
    }

    #[test]
    fn no_trailer_opens_a_block_without_a_filter_or_with_hash_number_0() {
        for kind in FilterKind::ALL {
            let trailer = Trailer::of(*kind, HashId::Xxh3);
            assert_eq!(trailer.open(&[]), None);
            assert_eq!(trailer.open(&[1, 2, 3, NO_FILTER]), None);
            // No hash function has the number 0.
            for code in 0x80..0xA0 {
                assert_eq!(trailer.open(&[1, 2, 3, code]), None);
            }
        }
    }

    #[test]
    fn a_filter_that_is_full_for_want_of_memory_is_an_error_of_memory() {
        let full = Full::new(3, 95, 100);
        assert_eq!(PolicyError::from(full), PolicyError::Full(full));
        let refused = full.because(WhyFull::Memory { bytes: 64 });
        assert_eq!(PolicyError::from(refused), PolicyError::OutOfMemory { bytes: 64 });
    }

    #[test]
    fn bytes_for_keys_round_up_and_do_not_wrap() {
        let spec = |bits_per_key| BlockSpec { bits_per_key, parameter: 1, isa: Isa::Portable };
        assert_eq!(spec(10.0).bytes_for(18), Some(23));
        assert_eq!(spec(8.0).bytes_for(18), Some(18));
        assert_eq!(spec(0.1).bytes_for(1), Some(1));
        assert_eq!(spec(64.0).bytes_for(usize::MAX), None);
    }
}
