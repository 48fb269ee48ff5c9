//! The regions in which a table is built, and the part of a hash that is kept within a region.

use crate::geometry::Geometry;
use crate::layout::Layout;
use core::ops::{BitAnd, BitOr, Not};
use trommel_base::partition::Record;
use trommel_base::range::reduce;

/// The binary logarithm of a region's number of blocks. Regions are larger if there would otherwise be more than
/// [`MOST_REGIONS`]. Time per key at 2^20 slots: 12.2 ns with 2^5 and 2^6 blocks, 12.4 with 2^7, 13.0 with 2^8, 13.8
/// with 2^9. Rejected: 2^5 and 2^6 blocks, since they make more regions, which make partitioning slower in larger
/// tables.
const REGION_BLOCKS_LOG2: u32 = 7;
/// The most regions of a table. One pass partitions the hashes into them.
pub(crate) const MOST_REGIONS: u64 = 4096;
/// The most slots of a region. The runs of a region can extend to the slot whose number is `2 · region::MOST_CLUSTERED`
/// times this value, which is 2^30. The number of a slot must fit 31 bits.
const MOST_REGION_SLOTS: u64 = 1 << 27;

/// The regions in which a table is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) regions: usize,
    /// The binary logarithm of a region's number of blocks.
    region_log2: u32,
    pub(super) remainder_bits: u32,
    /// The number of a fingerprint's region is `⌊(fingerprint >> region_shift) / odd⌋`, where `odd` is a block's number
    /// of slots without its factors of two: 1 for 64 slots, 25 for 50.
    region_shift: u32,
    /// The most copies of one fingerprint.
    pub(super) copies: u32,
    /// The number of possible pairs of quotient and remainder in the table.
    fingerprints: u64,
    /// The number of possible pairs of quotient and remainder in a region.
    fingerprints_per_region: u64,
}

impl Plan {
    /// The plan for a geometry; `None` if regions would be too large.
    pub(super) fn new<L: Layout>(geometry: &Geometry) -> Option<Self> {
        let blocks = geometry.slots.div_ceil(u64::from(L::SLOTS));
        let factor = blocks.div_ceil(MOST_REGIONS << REGION_BLOCKS_LOG2);
        let region_log2 = REGION_BLOCKS_LOG2 + factor.next_power_of_two().ilog2();
        let remainder_bits = geometry.remainder_bits;
        if u64::from(L::SLOTS) << region_log2 > MOST_REGION_SLOTS {
            return None;
        }
        Some(Self {
            regions: blocks.div_ceil(1 << region_log2) as usize,
            region_log2,
            remainder_bits,
            region_shift: region_log2 + remainder_bits + L::SLOTS.trailing_zeros(),
            copies: geometry.copies,
            fingerprints: geometry.places(),
            fingerprints_per_region: u64::from(L::SLOTS) << (region_log2 + remainder_bits),
        })
    }

    pub(super) const fn region_blocks(&self) -> usize {
        1 << self.region_log2
    }

    pub(super) fn region_slots<L: Layout>(&self) -> usize {
        self.region_blocks() * L::SLOTS as usize
    }

    /// The number of bits of a fingerprint within its region.
    pub(super) fn local_bits<L: Layout>(&self) -> u32 {
        self.region_log2 + L::SLOTS.next_power_of_two().ilog2() + self.remainder_bits
    }

    /// The region of a hash, and its fingerprint there: the quotient counted from the region's first slot,
    /// and the remainder.
    #[inline(always)]
    pub(super) fn split<L: Layout, R: LocalFingerprint>(&self, hash: u64) -> (usize, R) {
        let fingerprint = reduce(hash, self.fingerprints);
        // The shifted number is below `odd_slots` times the number of regions, so it fits into 32 bits. A division of
        // 32 bits takes two instructions fewer than a division of 64 bits.
        let odd_slots = L::SLOTS >> L::SLOTS.trailing_zeros();
        let region = (fingerprint >> self.region_shift) as u32 / odd_slots;
        let region = u64::from(region);
        (region as usize, R::of(fingerprint - region * self.fingerprints_per_region))
    }
}

/// A fingerprint within a region: the quotient, counted from the region's first slot, above the bits of the remainder.
pub(super) trait LocalFingerprint: Record + Ord {
    fn of(fingerprint: u64) -> Self;
    fn quotient(self, remainder_bits: u32) -> usize;
    fn remainder(self, remainder_bits: u32) -> u32;
}

macro_rules! local_fingerprint {
    ($record:ty) => {
        impl LocalFingerprint for $record {
            #[inline(always)]
            fn of(fingerprint: u64) -> Self {
                fingerprint as $record
            }
            #[inline(always)]
            fn quotient(self, remainder_bits: u32) -> usize {
                (self >> remainder_bits) as usize
            }
            #[inline(always)]
            fn remainder(self, remainder_bits: u32) -> u32 {
                (self & ((1 << remainder_bits) - 1)) as u32
            }
        }
    };
}
local_fingerprint!(u32);
local_fingerprint!(u64);

/// The content of a slot, in an integer of 8, 16 or 32 bits: the smallest type that holds it.
pub(super) trait Stored:
    Copy
    + Default
    + Ord
    + Into<u32>
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
{
    /// A value with all bits set.
    const ONES: Self;
    fn of(stored: u32) -> Self;
}

macro_rules! stored {
    ($stored:ty) => {
        impl Stored for $stored {
            const ONES: Self = Self::MAX;
            #[inline(always)]
            fn of(stored: u32) -> Self {
                stored as $stored
            }
        }
    };
}
stored!(u8);
stored!(u16);
stored!(u32);
