//! The fields of a cache line, for all kernels of [`LineBlock`].

use crate::geometry::Geometry;
use crate::layout::{Layout, LineBlock};

pub(super) use crate::layout::line_block::{
    LINE_BYTES, OCCUPIEDS_AT, OFFSET_SHIFT, RUNENDS_AT, RUNENDS_SHIFT, SLOT_BITS,
};

pub(super) const SLOTS: u32 = LineBlock::SLOTS;
/// A mask of all bits of [`starts`]: the slots of a line, and the slot after the last one.
pub(super) const START_BITS: u64 = (1 << (SLOTS + 1)) - 1;
/// The largest offset that a line stores. It means that the offset is this number or more.
pub(super) const MAX_OFFSET: u64 = LineBlock::MAX_OFFSET as u64;

/// The *starts* of a line, computed from its word with the runends: a bit for each slot where a run can begin. These
/// are slot 0 and every slot after a runend.
#[inline(always)]
pub(super) const fn starts(runends_word: u64) -> u64 {
    runends_word >> (RUNENDS_SHIFT - 1) & START_BITS | 1
}

/// The number of lines that contain slots of quotients. The [overhang](Geometry::overhang_slots) adds lines after
/// these.
#[inline(always)]
pub(super) const fn lines(geometry: &Geometry) -> u64 {
    geometry.slots / SLOTS as u64
}

/// Constants for computing a remainder's stored byte. Taking line and slot from the hash leaves a fraction. The byte is
/// computed from the top eight bits of this fraction. `keep` is a mask of the bits of a remainder. `mark` has only the
/// bit below these bits set. If a remainder has eight bits, `mark` is 0, and remainder 0 becomes 1.
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
