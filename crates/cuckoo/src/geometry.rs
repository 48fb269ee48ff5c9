//! The geometry of a table, which may have any even number of buckets, and the split of a hash into a bucket and a
//! fingerprint.

use crate::width::Width;
use trommel_base::storage::MAX_BYTES;

/// The number of slots in a bucket.
pub(crate) const SLOTS: u64 = 4;
/// The load up to which a filter of more than 1024 buckets takes distinct keys with uniform hashes, unless it was
/// doubled.
///
/// A filter that was doubled `d` times consists of `2^d` tables, and chance fills them unequally: the load of a table
/// of a few thousand slots is some per cent above or below the load of the filter. If one of the tables is full, and
/// the overflow area is full too, an insert into that table fails, even below the load at which the filter would grow.
/// So for a filter that begins small, choose a load of 85 to 90 % to grow at.
pub const GUARANTEED_LOAD: f64 = 0.95;
/// In tables of up to this number of buckets, chance fills the buckets so unevenly that only a lower load is
/// guaranteed.
pub(crate) const SMALL_BUCKETS: u64 = 1024;
/// The highest number of buckets of a table. Some vector gathers take the number of a bucket as an index, which is
/// signed and has 32 bits.
pub(crate) const MAX_BUCKETS: u64 = 1 << 31;
/// The widths that a fingerprint may have, in bits.
pub(crate) const WIDTHS: [u32; 4] = [8, 12, 16, 32];
/// The number of bits of a fingerprint that doublings must leave to tell keys apart. With fewer bits, more than half of
/// all absent keys would be found at high loads.
pub(crate) const FEWEST_BITS: u32 = 4;
/// In a filter that has not grown, a bucket and its alternate are less than this number of buckets apart, modulo the
/// number of buckets of the table. So the inserts of keys whose primary buckets are in one region of the table mostly
/// read and write buckets in the region or near it.
const SPAN_BUCKETS: u64 = 1 << 16;
/// The number of bytes after the last bucket, if buckets have six bytes. With this padding, eight bytes can be read
/// from the start of any bucket.
const PADDING_BYTES: u64 = 2;

/// The shape of a table of buckets.
///
/// The product `hash / 2^64 · buckets` has the *primary bucket* before its binary point, and the *fingerprint*
/// in its first bits after the point. Since 0 marks a free slot, fingerprint 0 becomes 1.
///
/// The *alternate bucket* is `bucket + offset` for an even bucket and `bucket − offset` for an odd one, modulo the
/// number of buckets, where `offset` is an odd number that depends on the fingerprint and the size of the table, but
/// not on the bucket. Since the number of buckets is even, the alternate of an even bucket is odd, and the alternate of
/// an odd bucket is even. So the alternate of the alternate is the bucket itself, and a bucket and its alternate always
/// differ. The cuckoo filter of Fan et al. uses an exclusive or instead, for which the number of buckets must be a
/// power of two.
///
/// A filter that was doubled `doublings` times consists of `2^doublings` interleaved tables of its first size. The
/// fingerprints of such a filter begin `doublings` bits before the binary point. These first `doublings` bits of a
/// fingerprint are the number of the table that has both buckets of the fingerprint, and alternates are computed within
/// that table.
///
/// Source: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo filter: practically better than Bloom",
/// CoNEXT 2014, section 3.1, partial-key cuckoo hashing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Geometry {
    /// The number of buckets, which is even. A bucket has four slots.
    pub buckets: u64,
    /// The number of bits of a stored fingerprint: 8, 12, 16 or 32.
    pub fingerprint_bits: u32,
    /// The number of times that the filter was doubled. The first `doublings` bits of a fingerprint are the same for
    /// all keys of a bucket.
    pub doublings: u32,
}

impl Geometry {
    /// The number of slots in the table.
    ///
    /// ```
    /// use trommel::CuckooFilter;
    /// let geometry = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?.geometry();
    /// assert!(geometry.slots() >= 1_000 && geometry.slots() == 4 * geometry.buckets);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub const fn slots(&self) -> u64 {
        self.buckets * SLOTS
    }

    /// The number of bytes of the table, including padding.
    ///
    /// ```
    /// use trommel::CuckooFilter;
    /// let geometry = CuckooFilter::builder().keys(1_000).fingerprint_bits(16).build()?.geometry();
    /// assert_eq!(geometry.table_bytes(), 2 * geometry.slots());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub const fn table_bytes(&self) -> u64 {
        self.buckets_bytes() + self.padding_bytes()
    }

    /// The number of bytes of all buckets, without the padding after the last bucket.
    pub(crate) const fn buckets_bytes(&self) -> u64 {
        self.buckets * (SLOTS * self.fingerprint_bits as u64 / 8)
    }

    /// The number of bytes of padding. Only buckets of six bytes need padding, since they are read as eight bytes.
    pub(crate) const fn padding_bytes(&self) -> u64 {
        if self.fingerprint_bits == 12 { PADDING_BYTES } else { 0 }
    }

    /// Whether a table can have this geometry.
    pub(crate) fn is_possible(&self) -> bool {
        let Self { buckets, fingerprint_bits, doublings } = *self;
        WIDTHS.contains(&fingerprint_bits)
            && doublings <= fingerprint_bits - FEWEST_BITS
            && (2..=MAX_BUCKETS).contains(&buckets)
            && buckets.is_multiple_of(2 << doublings)
            && self.table_bytes() <= MAX_BYTES
    }

    /// The geometry after one more doubling. The result is not always [possible](Geometry::is_possible).
    pub(crate) fn doubled(&self) -> Self {
        Self { buckets: 2 * self.buckets, doublings: self.doublings + 1, ..*self }
    }

    /// The same geometry, with the fingerprint width as a constant that the compiler knows.
    #[inline(always)]
    pub(crate) fn with_width<W: Width>(&self) -> Self {
        debug_assert_eq!(self.fingerprint_bits, W::BITS);
        Self { fingerprint_bits: W::BITS, ..*self }
    }

    /// The primary bucket and the fingerprint of a hash.
    #[inline(always)]
    pub(crate) fn split(&self, hash: u64) -> (u32, u32) {
        let fixed_point = self.fixed_point(hash);
        ((fixed_point >> 32) as u32, self.fingerprint(fixed_point))
    }

    /// [`Self::split`] by one multiplication of 64-bit factors. On processors with 64-bit registers, it takes less time
    /// than `split` for one key. In a loop over keys, it takes more time, since the compiler cannot do this
    /// multiplication in vectors.
    #[inline(always)]
    pub(crate) fn split_one(&self, hash: u64) -> (u32, u32) {
        let product = u128::from(hash) * u128::from(self.buckets);
        ((product >> 64) as u32, self.fingerprint((product >> 32) as u64))
    }

    /// `hash / 2^64 · buckets`, with 32 bits after the binary point. The number of buckets fits into 32 bits, so two
    /// multiplications of 32-bit factors are enough.
    #[inline(always)]
    pub(crate) fn fixed_point(&self, hash: u64) -> u64 {
        let (high, low) = (hash >> 32, hash & u64::from(u32::MAX));
        // The cast shows the compiler that the factor has 32 bits. Then one instruction multiplies all lanes of a
        // vector.
        let buckets = u64::from(self.buckets as u32);
        high * buckets + ((low * buckets) >> 32)
    }

    /// The fingerprint: the first bits after the binary point, preceded by the bits that doublings moved to the left of
    /// the point.
    #[inline(always)]
    pub(crate) fn fingerprint(&self, fixed_point: u64) -> u32 {
        let bits = (fixed_point >> self.fingerprint_shift()) as u32;
        (bits & (u32::MAX >> (32 - self.fingerprint_bits))).max(1)
    }

    /// The position of the lowest bit of a fingerprint in the fixed-point number.
    #[inline(always)]
    pub(crate) const fn fingerprint_shift(&self) -> u32 {
        32 - self.fingerprint_bits + self.doublings
    }

    /// Before any doubling of the filter, all offsets were below a bound. Returns half of this bound, which is at most
    /// 2^15.
    #[inline(always)]
    pub(crate) const fn half_span(&self) -> u16 {
        let half = self.buckets >> self.doublings >> 1;
        (if half < SPAN_BUCKETS / 2 { half } else { SPAN_BUCKETS / 2 }) as u16
    }

    /// Half of the offset between the two buckets of a fingerprint, as it was before any doubling of the filter. The
    /// half is rounded down.
    #[inline(always)]
    pub(crate) fn half_offset(&self, fingerprint: u32) -> u16 {
        ((u32::from(mix(fingerprint)) * u32::from(self.half_span())) >> 16) as u16
    }

    /// The other bucket of a fingerprint that can be in `bucket`.
    #[inline(always)]
    pub(crate) fn alternate(&self, bucket: u32, fingerprint: u32) -> u32 {
        self.apart(bucket, self.half_offset(fingerprint))
    }

    /// The other bucket of a fingerprint that can be in `bucket`, computed from the result of [`Self::half_offset`].
    #[inline(always)]
    pub(crate) fn apart(&self, bucket: u32, half_offset: u16) -> u32 {
        let buckets = self.buckets as u32;
        let offset = (2 * u32::from(half_offset) + 1) << self.doublings;
        let is_odd = (bucket >> self.doublings) & 1 == 1;
        // Modulo `buckets`, `bucket − offset` is `bucket + (buckets − offset)`.
        let there = bucket + if is_odd { buckets - offset } else { offset };
        // Modulo `buckets`: if `there` is below `buckets`, the subtraction wraps to a huge number, and `there` is the
        // minimum.
        there.min(there.wrapping_sub(buckets))
    }

    /// Whether a fingerprint can be in a bucket: the first `doublings` bits of the fingerprint must be the number of
    /// the interleaved table that has the bucket.
    #[inline]
    pub(crate) fn belongs(&self, bucket: u32, fingerprint: u32) -> bool {
        let table = u64::from(bucket) & ((1 << self.doublings) - 1);
        u64::from(fingerprint) >> (self.fingerprint_bits - self.doublings) == table
    }
}

/// Factors of [`mix`].
pub(crate) const MIX_FACTORS: [u16; 2] = [0x9E37, 0xC2B3];

/// Mixes all bits of a fingerprint into a number of sixteen bits, by operations that exist for vectors of 16-bit lanes.
///
/// Rejected: a multiplication alone. The offsets of successive fingerprints would then be nearly in arithmetic
/// progression. Many sums of such offsets are equal, so a search for room would visit the same buckets again and again.
#[inline(always)]
pub(crate) const fn mix(fingerprint: u32) -> u16 {
    let once = ((fingerprint ^ (fingerprint >> 16)) as u16).wrapping_mul(MIX_FACTORS[0]);
    (once ^ (once >> 7)).wrapping_mul(MIX_FACTORS[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn geometries() -> impl Iterator<Item = Geometry> {
        let buckets = (2..=5000).step_by(2).chain([65_534, 65_536, 65_538, 1 << 20, MAX_BUCKETS]);
        let large = (1..50u64)
            .map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33).next_multiple_of(2).max(2));
        buckets.chain(large).flat_map(|buckets| {
            WIDTHS.map(|fingerprint_bits| Geometry { buckets, fingerprint_bits, doublings: 0 })
        })
    }

    #[test]
    fn the_alternate_of_the_alternate_is_the_bucket() {
        for geometry in geometries() {
            let most = u64::from(u32::MAX >> (32 - geometry.fingerprint_bits));
            for i in 0..40u64 {
                let noise = i.wrapping_mul(0xD6E8_FEB8_6659_FD93);
                let fingerprint = (noise >> 32) as u32 % most as u32 + 1;
                let bucket = ((u128::from(noise << 7) * u128::from(geometry.buckets)) >> 64) as u32;
                for bucket in [bucket, 0, (geometry.buckets - 1) as u32] {
                    let there = geometry.alternate(bucket, fingerprint);
                    assert_ne!(there, bucket, "{geometry:?} {fingerprint}");
                    assert!(u64::from(there) < geometry.buckets);
                    assert_eq!(geometry.alternate(there, fingerprint), bucket, "{geometry:?}");
                }
            }
        }
    }

    #[test]
    fn the_alternate_is_its_own_inverse_everywhere_in_small_tables() {
        for buckets in (2..=60).step_by(2) {
            let geometry = Geometry { buckets, fingerprint_bits: 8, doublings: 0 };
            for bucket in 0..buckets as u32 {
                for fingerprint in 1..256 {
                    let there = geometry.alternate(bucket, fingerprint);
                    assert!(there != bucket && u64::from(there) < buckets);
                    assert_eq!(geometry.alternate(there, fingerprint), bucket);
                }
            }
        }
    }

    #[test]
    fn a_hash_is_split_exactly() {
        for geometry in geometries() {
            for i in 0..20u64 {
                let hash = i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(i as u32);
                let product = u128::from(hash) * u128::from(geometry.buckets);
                let fraction = (product as u64) >> (64 - geometry.fingerprint_bits);
                let expected = ((product >> 64) as u32, (fraction as u32).max(1));
                assert_eq!(geometry.split(hash), expected);
                assert_eq!(geometry.split_one(hash), expected);
            }
        }
    }

    /// Doubling a filter does not change the fingerprint of a hash. Doubling splits each of the hash's two buckets into
    /// halves, and the hash goes to the first half of both buckets or to the second half of both.
    #[test]
    fn doubling_splits_buckets() {
        for (buckets, fingerprint_bits) in [(10, 8), (1000, 12), (70_000, 16), (1 << 20, 32)] {
            let before = Geometry { buckets, fingerprint_bits, doublings: 0 };
            let after = Geometry { buckets: 2 * buckets, fingerprint_bits, doublings: 1 };
            for i in 1..2000u64 {
                let hash = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let ((bucket, fingerprint), (half, same)) = (before.split(hash), after.split(hash));
                assert_eq!(after.split_one(hash), (half, same));
                let bit = fingerprint >> (fingerprint_bits - 1);
                assert_eq!((half, same), (2 * bucket + bit, fingerprint));
                let there = before.alternate(bucket, fingerprint);
                assert_eq!(after.alternate(half, fingerprint), 2 * there + bit);
                assert!(after.belongs(half, fingerprint) && !after.belongs(half ^ 1, fingerprint));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "slow, and without unsafe code")]
    fn mixing_maps_sixteen_bits_one_to_one() {
        let mixed: HashSet<u16> = (0..1 << 16).map(mix).collect();
        assert_eq!(mixed.len(), 1 << 16);
    }

    /// Frozen filters depend on these numbers.
    #[test]
    fn fingerprints_are_mixed_as_before() {
        let mixed = [1, 255, 0xFFF, 0xFFFF, 0x1_0000, 0x89AB_CDEF, u32::MAX].map(mix);
        assert_eq!(mixed, [35_505, 39_016, 3614, 28_158, 35_505, 699, 0]);
    }

    /// Before any doubling, offsets are odd. Their bound is the number of buckets of a table, but at most 2^16. The
    /// largest offset is one less than the bound.
    #[test]
    fn offsets_reach_to_half_of_a_table_or_to_the_span() {
        for (buckets, doublings, bound) in [
            (2, 0, 2),
            (60, 0, 60),
            (1 << 15, 0, 1 << 15),
            (65_534, 0, 65_534),
            (65_536, 0, 65_536),
            (65_538, 0, 65_536),
            (1 << 20, 0, 65_536),
            (1 << 20, 5, 1 << 15),
        ] {
            let geometry = Geometry { buckets, fingerprint_bits: 16, doublings };
            let offset = |fingerprint| 2 * u32::from(geometry.half_offset(fingerprint)) + 1;
            assert_eq!((0..1 << 16).map(offset).max(), Some(bound - 1), "{geometry:?}");
            assert_eq!((0..1 << 16).map(offset).min(), Some(1), "{geometry:?}");
            // The alternate of an even bucket is above the bucket.
            for fingerprint in 1..100 {
                assert_eq!(geometry.alternate(0, fingerprint), offset(fingerprint) << doublings);
            }
        }
    }
}
