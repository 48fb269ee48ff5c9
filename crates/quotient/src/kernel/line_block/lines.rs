//! The fields of a cache line, for all kernels of [`LineBlock`].

use crate::geometry::Geometry;
use crate::layout::{Layout, LineBlock};

pub(super) use crate::layout::line_block::{
    LINE_BYTES, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_AT, RUNENDS_SHIFT, SLOT_BITS,
};

pub(super) const SLOTS: u32 = LineBlock::SLOTS;
/// A mask of all bits of [`starts`]: one bit for each slot of a line, and one for the slot after the last slot.
pub(super) const START_BITS: u64 = (1 << (SLOTS + 1)) - 1;
/// The largest offset that a line stores. A line that stores this number has this offset or a larger one.
pub(super) const MAX_OFFSET: u64 = LineBlock::MAX_OFFSET as u64;

/// The *starts* of a line, computed from its word with the runends: a bit for each slot where a run can begin. A run
/// can begin at slot 0 and at every slot after a runend.
#[inline(always)]
pub(super) const fn starts(runends_word: u64) -> u64 {
    runends_word >> (RUNENDS_SHIFT - 1) & START_BITS | 1
}

/// The number of lines in which each slot's number is a quotient. The lines after them are the
/// [overhang](Geometry::overhang_slots).
#[inline(always)]
pub(super) const fn lines(geometry: &Geometry) -> u64 {
    geometry.slots / SLOTS as u64
}

/// Constants for computing a remainder's stored byte. Taking line and slot from the hash leaves a fraction. The byte is
/// computed from the top eight bits of this fraction. `keep` is a mask that selects the remainder among these bits.
/// `mark` is the bit below the remainder. If a remainder has eight bits, `mark` is 0, and remainder 0 is stored as 1.
#[derive(Clone, Copy)]
pub(super) struct Byte {
    pub(super) keep: u8,
    pub(super) mark: u8,
}

impl Byte {
    #[inline(always)]
    pub(super) const fn of(geometry: &Geometry) -> Self {
        let spare = 8 - geometry.remainder_bits;
        Self { keep: 0xFF << spare, mark: (1u8 << spare) >> 1 }
    }
}
