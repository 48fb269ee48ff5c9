//! The layouts: where a block keeps its metadata and remainders.

mod blocks;
pub(crate) mod line_block;
mod packed;
mod wide_block;

pub(crate) use blocks::Blocks;
pub use line_block::LineBlock;
pub use wide_block::WideBlock;

use blocks::{SECTIONS, Section};
use core::fmt::Debug;
use core::ops::RangeInclusive;
use trommel_base::{FilterKind, FormatError};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::LineBlock {}
    impl Sealed for super::WideBlock {}
}

/// The layout of a block: [`WideBlock`] or [`LineBlock`]. The algorithms on a table are the same for both.
///
/// A block of `SLOTS` slots has two bits for each slot, and one number:
/// - *occupieds*, bit `i`: whether the filter holds a fingerprint whose quotient is the number of slot `i`;
/// - *runends*, bit `i`: whether slot `i` holds the last remainder of a *run*, which is all remainders of one quotient,
///   in adjacent slots. The quotient can be the number of a slot of an earlier block;
/// - *offset*: the number of slots, from the block's first on, that runs of earlier blocks take. (The runs of a block
///   are those whose quotients are numbers of its slots.)
///
/// Source: Pandey, Bender, Johnson and Patro, "A general-purpose counting filter: making every bit
/// count", SIGMOD 2017, section 4.1.
// Most functions take a table as bytes, and the index of a block in it. Callers have checked that the table has
// `table_bytes` bytes, and pass only blocks that the table has. For any other block, a function panics, or reads or
// writes bytes of another section, but no bytes beyond the table.
pub trait Layout: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// The kind of filter.
    const KIND: FilterKind;
    /// The number of slots of a block.
    const SLOTS: u32;
    /// The number of slots of a filter is a multiple of this number.
    const SLOTS_STEP: u64;
    /// The largest offset that a block stores. A block that stores this number has this offset or a larger one.
    const MAX_OFFSET: u32;
    /// The widths that remainders can have, in bits.
    const REMAINDER_BITS: RangeInclusive<u32>;
    /// Whether a stored remainder is never 0, so that 0 marks a free slot.
    const RESERVES_ZERO: bool;

    /// The number of bytes of a table.
    #[doc(hidden)]
    fn table_bytes(blocks: u64, remainder_bits: u32) -> u64;
    /// The number of bits of a block, without the padding of sections.
    #[doc(hidden)]
    fn block_bits(remainder_bits: u32) -> u64;
    /// The stored form of a remainder. Stored forms have the same order as the remainders, and are never 0 if the
    /// layout reserves 0.
    #[doc(hidden)]
    fn stored(remainder_bits: u32, remainder: u32) -> u32;
    /// The remainder of a stored form.
    #[doc(hidden)]
    fn loaded(remainder_bits: u32, stored: u32) -> u32;
    #[doc(hidden)]
    fn occupieds(table: &[u8], block: usize) -> u64;
    #[doc(hidden)]
    fn set_occupieds(table: &mut [u8], block: usize, occupieds: u64);
    #[doc(hidden)]
    fn runends(table: &[u8], block: usize) -> u64;
    #[doc(hidden)]
    fn set_runends(table: &mut [u8], block: usize, runends: u64);
    #[doc(hidden)]
    fn offset(shape: &Shape, table: &[u8], block: usize) -> u32;
    #[doc(hidden)]
    fn set_offset(shape: &Shape, table: &mut [u8], block: usize, offset: u32);
    #[doc(hidden)]
    fn remainder(shape: &Shape, table: &[u8], at: Position) -> u32;
    /// Reads the stored remainders of a whole block into the first bytes of `to`. The caller must ensure that each
    /// remainder fits a byte, and that `spread` unpacks eight packed remainders into eight bytes.
    #[doc(hidden)]
    fn bytes_of_block(
        shape: &Shape,
        table: &[u8],
        block: usize,
        spread: impl Fn(u64) -> u64,
        to: &mut [u8; 65],
    );
    /// Writes the stored remainders of a whole block, with 0 for a free slot.
    #[doc(hidden)]
    fn set_remainders<T: Copy + Into<u32>>(
        shape: &Shape,
        table: &mut [u8],
        block: usize,
        stored: &[T],
    );
    /// The sections of a table in order. If the table has fewer than `SECTIONS` sections, the last entries are empty
    /// sections.
    #[doc(hidden)]
    fn sections(shape: &Shape) -> [Section; SECTIONS];
    /// Writes the metadata and the stored remainders of a whole block, with 0 for a free slot. `sections` has the bytes
    /// of each section from one block of the table on, the same for all sections. `block` is counted from that block.
    #[doc(hidden)]
    fn set_block<T: Copy + Into<u32>>(
        shape: &Shape,
        sections: &mut [&mut [u8]; SECTIONS],
        block: usize,
        metadata: Metadata,
        stored: &[T],
    );
    /// Moves the remainders in slots `at..free` up by one slot, and stores `stored` at `at`.
    #[doc(hidden)]
    fn insert_remainder(shape: &Shape, table: &mut [u8], at: Position, free: Position, stored: u32);
    /// Moves the remainders after `at`, up to and including `last`, down by one slot. Slot `last` becomes 0.
    #[doc(hidden)]
    fn remove_remainder(shape: &Shape, table: &mut [u8], at: Position, last: Position);
    /// The first free slot from `from` on; `Some(None)` if all slots from there on are in use. `None` if the layout
    /// does not reserve remainder 0, because its remainders then do not show which slots are free.
    #[doc(hidden)]
    fn first_free(table: &[u8], from: Position) -> Option<Option<Position>>;
    /// Refuses padding bits that are not zero.
    ///
    /// # Errors
    /// [`FormatError::Structure`] with the block that has such a bit, or with the number of blocks if the bit is in the
    /// padding after a section.
    #[doc(hidden)]
    fn check_padding(shape: &Shape, table: &[u8]) -> Result<(), FormatError>;
    /// The cache lines that a lookup most likely reads, at most three. Each is given by the index, in the table, of any
    /// byte of it. `home` is the slot whose number is the key's quotient.
    #[doc(hidden)]
    fn lines(shape: &Shape, home: Position) -> [Option<usize>; 3];
}

/// A slot, as a block and the slot's index in it.
///
/// Positions are ordered like slots. A position whose `slot` is [`Layout::SLOTS`] stands for the end of the block,
/// which is the beginning of the next block.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub(crate) block: usize,
    pub(crate) slot: u32,
}

impl Position {
    #[inline(always)]
    pub(crate) fn of_slot<L: Layout>(slot: u64) -> Self {
        let per_block = u64::from(L::SLOTS);
        Self { block: (slot / per_block) as usize, slot: (slot % per_block) as u32 }
    }

    #[inline(always)]
    pub(crate) fn to_slot<L: Layout>(self) -> u64 {
        self.block as u64 * u64::from(L::SLOTS) + u64::from(self.slot)
    }

    /// The slot after this one.
    #[inline(always)]
    pub(crate) fn next<L: Layout>(self) -> Self {
        let slot = self.slot + 1;
        if slot < L::SLOTS {
            Self { slot, ..self }
        } else {
            Self { block: self.block + 1, slot: slot - L::SLOTS }
        }
    }
}

/// The metadata of a block.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    pub(crate) occupieds: u64,
    pub(crate) runends: u64,
    /// At most [`Layout::MAX_OFFSET`].
    pub(crate) offset: u32,
}

/// The numbers from which byte offsets in a table are computed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(crate) blocks: usize,
    pub(crate) remainder_bits: u32,
}
