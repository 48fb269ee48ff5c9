//! The layout with blocks of 64 slots and remainders of any width.

use super::blocks::{SECTIONS, Section};
use super::{Layout, Metadata, Position, Shape, packed};
use core::ops::RangeInclusive;
use trommel_base::storage::LINE_BYTES;
use trommel_base::{FilterKind, FormatError};

/// A layout whose blocks have 64 slots and 17 bytes of metadata, which are stored apart from the remainders. With
/// remainders of `r` bits, a table takes `r + 2.125` bits per slot.
///
/// | section, each padded to a multiple of 64 bytes | content |
/// |---|---|
/// | occupieds and runends | two words per block |
/// | remainders | 64 remainders per block, packed, each of `r` bits |
/// | offsets | one byte per block; 255 means 255 or more |
///
/// Separate sections were the fastest of the arrangements that were measured. With remainders of 8 bits, most lookups
/// read a cache line with the occupieds and runends of four blocks, one with the offsets of 64 blocks and, if the key's
/// quotient is occupied, one with the remainders of a block.
#[derive(Clone, Copy, Debug)]
pub struct WideBlock;

const SLOTS: usize = 64;
/// The number of bytes of a block's two metadata words.
pub(crate) const WORDS_BYTES: usize = 16;

const fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(LINE_BYTES as u64)
}

impl Shape {
    /// The byte at which the remainders of a [`WideBlock`] table begin.
    #[inline(always)]
    pub(crate) fn remainders_at(&self) -> usize {
        (self.blocks * WORDS_BYTES).next_multiple_of(LINE_BYTES)
    }

    /// The number of bytes of a block's remainders in a [`WideBlock`] table.
    #[inline(always)]
    fn remainder_bytes(&self) -> usize {
        SLOTS / 8 * self.remainder_bits as usize
    }

    /// The byte at which the offsets of a [`WideBlock`] table begin.
    #[inline(always)]
    pub(crate) fn offsets_at(&self) -> usize {
        let remainders = self.blocks * self.remainder_bytes();
        self.remainders_at() + remainders.next_multiple_of(LINE_BYTES)
    }
}

#[inline(always)]
fn word(table: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(table.as_chunks().0[index])
}

#[inline(always)]
fn set_word(table: &mut [u8], index: usize, word: u64) {
    table.as_chunks_mut().0[index] = word.to_le_bytes();
}

#[inline(always)]
fn index(at: Position) -> usize {
    at.block * SLOTS + at.slot as usize
}

/// Stores the remainders of a block. `remainders` is the section of remainders.
#[inline(always)]
fn pack_block<T: Copy + Into<u32>>(
    shape: &Shape,
    remainders: &mut [u8],
    block: usize,
    stored: &[T],
) {
    let bytes = shape.remainder_bytes();
    let packed = &mut remainders[block * bytes..(block + 1) * bytes];
    packed::pack(stored, shape.remainder_bits, packed);
}

impl Layout for WideBlock {
    const KIND: FilterKind = FilterKind::Quotient;
    const SLOTS: u32 = SLOTS as u32;
    const SLOTS_STEP: u64 = 1;
    const MAX_OFFSET: u32 = 255;
    const REMAINDER_BITS: RangeInclusive<u32> = 1..=32;
    const RESERVES_ZERO: bool = false;

    fn table_bytes(blocks: u64, remainder_bits: u32) -> u64 {
        let remainders = packed::bytes(blocks * SLOTS as u64, remainder_bits);
        padded(blocks * WORDS_BYTES as u64) + padded(remainders) + padded(blocks)
    }

    #[inline(always)]
    fn block_bits(remainder_bits: u32) -> u64 {
        // Two words, the remainders, and a byte for the offset.
        WORDS_BYTES as u64 * 8 + SLOTS as u64 * u64::from(remainder_bits) + 8
    }

    #[inline(always)]
    fn stored(_: u32, remainder: u32) -> u32 {
        remainder
    }

    #[inline(always)]
    fn loaded(_: u32, stored: u32) -> u32 {
        stored
    }

    #[inline(always)]
    fn occupieds(table: &[u8], block: usize) -> u64 {
        word(table, 2 * block)
    }

    #[inline(always)]
    fn set_occupieds(table: &mut [u8], block: usize, occupieds: u64) {
        set_word(table, 2 * block, occupieds);
    }

    #[inline(always)]
    fn runends(table: &[u8], block: usize) -> u64 {
        word(table, 2 * block + 1)
    }

    #[inline(always)]
    fn set_runends(table: &mut [u8], block: usize, runends: u64) {
        set_word(table, 2 * block + 1, runends);
    }

    #[inline(always)]
    fn offset(shape: &Shape, table: &[u8], block: usize) -> u32 {
        u32::from(table[shape.offsets_at() + block])
    }

    #[inline(always)]
    fn set_offset(shape: &Shape, table: &mut [u8], block: usize, offset: u32) {
        table[shape.offsets_at() + block] = offset as u8;
    }

    #[inline(always)]
    fn remainder(shape: &Shape, table: &[u8], at: Position) -> u32 {
        packed::get(&table[shape.remainders_at()..], shape.remainder_bits, index(at))
    }

    #[inline(always)]
    fn bytes_of_block(
        shape: &Shape,
        table: &[u8],
        block: usize,
        spread: impl Fn(u64) -> u64,
        to: &mut [u8; 65],
    ) {
        // Eight remainders of `r ≤ 8` bits take `r` bytes, but eight bytes are read for them. If `r` is less than 8,
        // the read for the last eight remainders of the table goes on into the padding or the offsets that follow, so
        // it stays within the table.
        let mut at = shape.remainders_at() + block * shape.remainder_bytes();
        for eight in to.as_chunks_mut().0 {
            *eight = spread(packed::window(table, at)).to_le_bytes();
            at += shape.remainder_bits as usize;
        }
    }

    fn sections(shape: &Shape) -> [Section; SECTIONS] {
        [
            Section { begin: 0, block_bytes: WORDS_BYTES },
            Section { begin: shape.remainders_at(), block_bytes: shape.remainder_bytes() },
            Section { begin: shape.offsets_at(), block_bytes: 1 },
        ]
    }

    #[inline(always)]
    fn set_block<T: Copy + Into<u32>>(
        shape: &Shape,
        [words, remainders, offsets]: &mut [&mut [u8]; SECTIONS],
        block: usize,
        metadata: Metadata,
        stored: &[T],
    ) {
        Self::set_occupieds(words, block, metadata.occupieds);
        Self::set_runends(words, block, metadata.runends);
        offsets[block] = metadata.offset as u8;
        pack_block(shape, remainders, block, stored);
    }

    #[inline]
    fn set_remainders<T: Copy + Into<u32>>(
        shape: &Shape,
        table: &mut [u8],
        block: usize,
        stored: &[T],
    ) {
        pack_block(shape, &mut table[shape.remainders_at()..], block, stored);
    }

    fn insert_remainder(
        shape: &Shape,
        table: &mut [u8],
        at: Position,
        free: Position,
        stored: u32,
    ) {
        let bits = shape.remainder_bits;
        let remainders = &mut table[shape.remainders_at()..];
        packed::shift_up(remainders, bits, index(at), index(free));
        packed::set(remainders, bits, index(at), stored);
    }

    #[inline]
    fn remove_remainder(shape: &Shape, table: &mut [u8], at: Position, last: Position) {
        let remainders = &mut table[shape.remainders_at()..];
        packed::shift_down(remainders, shape.remainder_bits, index(at), index(last));
    }

    /// Always `None`: a slot with remainder 0 is not necessarily free, because a used slot can have remainder 0 too.
    #[inline(always)]
    fn first_free(_: &[u8], _: Position) -> Option<Option<Position>> {
        None
    }

    fn check_padding(shape: &Shape, table: &[u8]) -> Result<(), FormatError> {
        let remainders = shape.blocks * shape.remainder_bytes();
        let padding = [
            shape.blocks * WORDS_BYTES..shape.remainders_at(),
            shape.remainders_at() + remainders..shape.offsets_at(),
            shape.offsets_at() + shape.blocks..table.len(),
        ];
        if padding.into_iter().any(|section| table[section].iter().any(|byte| *byte != 0)) {
            return Err(FormatError::Structure { name: "padding", block: shape.blocks as u64 });
        }
        Ok(())
    }

    #[inline(always)]
    fn lines(shape: &Shape, home: Position) -> [Option<usize>; 3] {
        let remainder = index(home) * shape.remainder_bits as usize / 8;
        [
            Some(home.block * WORDS_BYTES),
            Some(shape.remainders_at() + remainder),
            Some(shape.offsets_at() + home.block),
        ]
    }
}
