//! Where a block keeps its metadata and remainders.

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

/// The layout of a block: [`WideBlock`] or [`LineBlock`]. Everything else is the same algorithm.
///
/// A block of `SLOTS` slots has two bits for each, and one number:
/// - *occupieds*, bit `i`: some fingerprint has quotient `i` of this block;
/// - *runends*, bit `i`: slot `i` holds the last remainder of a run, whichever its quotient;
/// - *offset*: how many slots, from the block's first on, runs of earlier blocks take.
///
/// Source: Pandey, Bender, Johnson and Patro, "A general-purpose counting filter: making every bit
/// count", SIGMOD 2017, section 4.1.
// The functions take a table as bytes, and the offsets of blocks in it: callers have checked
// that the table has `table_bytes` bytes, and a block beyond them panics.
pub trait Layout: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// The kind of filter.
    const KIND: FilterKind;
    /// Slots of a block.
    const SLOTS: u32;
    /// The number of slots of a filter is a multiple of this.
    const SLOTS_STEP: u64;
    /// The largest offset that a block stores; one that is as large or larger is stored as this.
    const MAX_OFFSET: u32;
    /// The widths that remainders can have.
    const REMAINDER_BITS: RangeInclusive<u32>;
    /// Whether a stored remainder is never 0, so that a zero marks a free slot.
    const RESERVES_ZERO: bool;

    /// Bytes of a table.
    #[doc(hidden)]
    fn table_bytes(blocks: u64, remainder_bits: u32) -> u64;
    /// Bits of a block, without the padding of sections.
    #[doc(hidden)]
    fn block_bits(remainder_bits: u32) -> u64;
    /// The stored form of a remainder: a number of the same order, not 0 where 0 is reserved.
    #[doc(hidden)]
    fn stored(remainder_bits: u32, remainder: u32) -> u32;
    /// The remainder of what is stored.
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
    /// Reads the remainders of a whole block as they are stored, each of which fits a byte. `spread` makes
    /// bytes of eight packed remainders.
    #[doc(hidden)]
    fn bytes_of_block(
        shape: &Shape,
        table: &[u8],
        block: usize,
        spread: impl Fn(u64) -> u64,
        to: &mut [u8; 65],
    );
    /// Stores the remainders of a whole block, 0 where a slot is free.
    #[doc(hidden)]
    fn set_remainders<T: Copy + Into<u32>>(
        shape: &Shape,
        table: &mut [u8],
        block: usize,
        stored: &[T],
    );
    /// The sections that a table is made of, in their order; empty ones if it has fewer.
    #[doc(hidden)]
    fn sections(shape: &Shape) -> [Section; SECTIONS];
    /// Stores a whole block, remainders as [`Layout::set_remainders`] does, given the bytes of each
    /// section from the same block on.
    #[doc(hidden)]
    fn set_block<T: Copy + Into<u32>>(
        shape: &Shape,
        sections: &mut [&mut [u8]; SECTIONS],
        block: usize,
        metadata: Metadata,
        stored: &[T],
    );
    /// Moves the remainders of `at..free` up by a slot and stores one at `at`.
    #[doc(hidden)]
    fn insert_remainder(shape: &Shape, table: &mut [u8], at: Position, free: Position, stored: u32);
    /// Moves the remainders after `at`, up to and with `last`, down by a slot; `last` becomes 0.
    #[doc(hidden)]
    fn remove_remainder(shape: &Shape, table: &mut [u8], at: Position, last: Position);
    /// The first free slot from `from` on, if the layout can tell faster than by runs.
    #[doc(hidden)]
    fn first_free(table: &[u8], from: Position) -> Option<Option<Position>>;
    /// Refuses bits that belong to nothing and are not zero.
    ///
    /// # Errors
    /// [`FormatError::Structure`] with the first block beyond which, or in which, there is one.
    #[doc(hidden)]
    fn check_padding(shape: &Shape, table: &[u8]) -> Result<(), FormatError>;
    /// Where in the table the lines begin, or lie, that a lookup at `home` will most likely read.
    #[doc(hidden)]
    fn lines(shape: &Shape, home: Position) -> [Option<usize>; 3];
}

/// A slot: the block, and the index in it.
///
/// Order is the order of slots. An index equal to the block's slots is the end of the block, which is
/// the beginning of the next.
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

/// The numbers that offsets in a table depend on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(crate) blocks: usize,
    pub(crate) remainder_bits: u32,
}
