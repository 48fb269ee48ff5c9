//! The shape of a table, and how a hash is split: any even number of buckets.

use trommel_base::storage::MAX_BYTES;

/// Slots of a bucket.
pub(crate) const SLOTS: u64 = 4;
/// The load up to which a filter of more than 1024 buckets takes distinct keys.
///
/// One that has grown is as many tables as its size was multiplied by, and chance does not fill them alike:
/// the load of one of a few thousand slots is some per cent above or below that of the filter. Let filters
/// that began small grow at 85 to 90 %: an insert that finds no place before the load at which a filter
/// is to grow fails, as in one that does not.
pub const GUARANTEED_LOAD: f64 = 0.95;
/// Up to this many buckets chance fills tables unevenly, and less is guaranteed.
pub(crate) const SMALL_BUCKETS: u64 = 1024;
/// The most buckets: vectors address them by 32 bits with a sign.
pub(crate) const MAX_BUCKETS: u64 = 1 << 31;
/// Widths of a fingerprint.
pub(crate) const WIDTHS: [u32; 4] = [8, 12, 16, 32];
/// Bits of a fingerprint that doubling leaves: with fewer, half of all absent keys are found.
pub(crate) const FEWEST_BITS: u32 = 4;
/// A bucket and its alternate are less than this number of buckets apart in a filter that has not grown:
/// work region by region stays near the region.
const SPAN_BUCKETS: u64 = 1 << 16;
/// Bytes after the last bucket, so that a bucket of any width can be read as eight bytes.
const PADDING_BYTES: u64 = 2;

/// The shape of a table of buckets.
///
/// A hash is a fraction: `hash / 2^64 · buckets` has the *primary bucket* before the point and the
/// *fingerprint* after it. Since 0 marks a free slot, fingerprint 0 becomes 1.
///
/// The *alternate bucket* is `bucket + offset` for an even bucket and `bucket − offset` for an odd one,
/// around the end, where `offset` is an odd number that depends on the fingerprint alone. The number
/// of buckets is even, so it leads from even buckets to odd ones and from there back: its own inverse, and
/// never the same bucket. In the cuckoo filter of the paper, that takes an exclusive or, and so a power
/// of two.
///
/// A filter that has grown `doublings` times is `2^doublings` tables of its first size, interleaved: the
/// first bits of a fingerprint say which table it belongs to, and both its buckets are there.
///
/// Source: Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo filter: practically better than Bloom",
/// CoNEXT 2014, section 3.1, partial-key cuckoo hashing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Geometry {
    /// Buckets of four slots; even.
    pub buckets: u64,
    /// Bits of a fingerprint as it is stored: 8, 12, 16 or 32.
    pub fingerprint_bits: u32,
    /// How often the filter was doubled. As many bits of a fingerprint are the same for all keys of a bucket.
    pub doublings: u32,
}

impl Geometry {
    /// Slots of the table.
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

    /// Bytes of the table.
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

    /// Bytes of the buckets, without what is after the last.
    pub(crate) const fn buckets_bytes(&self) -> u64 {
        self.buckets * (SLOTS * self.fingerprint_bits as u64 / 8)
    }

    /// Only buckets of six bytes are read with their neighbours.
    const fn padding_bytes(&self) -> u64 {
        if self.fingerprint_bits == 12 { PADDING_BYTES } else { 0 }
    }

    /// Whether a table may have this shape.
    pub(crate) fn is_possible(&self) -> bool {
        let Self { buckets, fingerprint_bits, doublings } = *self;
        WIDTHS.contains(&fingerprint_bits)
            && doublings <= fingerprint_bits - FEWEST_BITS
            && (2..=MAX_BUCKETS).contains(&buckets)
            && buckets.is_multiple_of(2 << doublings)
            && self.table_bytes() <= MAX_BYTES
    }

    /// Twice the buckets, which a bit of every fingerprint tells apart; whether there can be such a table,
    /// [`Geometry::is_possible`] says.
    pub(crate) fn doubled(&self) -> Self {
        Self { buckets: 2 * self.buckets, doublings: self.doublings + 1, ..*self }
    }

    /// Primary bucket and fingerprint of a hash.
    #[inline(always)]
    pub(crate) fn split(&self, hash: u64) -> (u32, u32) {
        let fixed_point = self.fixed_point(hash);
        ((fixed_point >> 32) as u32, self.fingerprint(fixed_point))
    }

    /// `hash / 2^64 · buckets`, with 32 bits after the point. Buckets are fewer than 2^32, so two products
    /// of 32 bits make it.
    #[inline(always)]
    pub(crate) fn fixed_point(&self, hash: u64) -> u64 {
        let (high, low) = (hash >> 32, hash & u64::from(u32::MAX));
        // The compiler multiplies by one instruction per lane if it sees that a factor is 32 bits long.
        let buckets = u64::from(self.buckets as u32);
        high * buckets + ((low * buckets) >> 32)
    }

    /// The bits after the point, and of a grown filter those that went before it.
    #[inline(always)]
    pub(crate) fn fingerprint(&self, fixed_point: u64) -> u32 {
        let bits = (fixed_point >> self.fingerprint_shift()) as u32;
        (bits & (u32::MAX >> (32 - self.fingerprint_bits))).max(1)
    }

    /// Where a fingerprint begins in the fixed-point number.
    #[inline(always)]
    pub(crate) const fn fingerprint_shift(&self) -> u32 {
        32 - self.fingerprint_bits + self.doublings
    }

    /// Half the number of buckets that an alternate may be apart by: what the mixed fingerprint is reduced
    /// to; at most 2^15.
    #[inline(always)]
    pub(crate) const fn half_span(&self) -> u16 {
        let first = self.buckets >> self.doublings;
        (if first < SPAN_BUCKETS { first / 2 } else { SPAN_BUCKETS / 2 }) as u16
    }

    /// Half of how far apart the two buckets of a fingerprint are, before doubling.
    #[inline(always)]
    pub(crate) fn half_offset(&self, fingerprint: u32) -> u16 {
        ((u32::from(mix(fingerprint)) * u32::from(self.half_span())) >> 16) as u16
    }

    /// The other bucket of a fingerprint that one bucket is known of.
    #[inline(always)]
    pub(crate) fn alternate(&self, bucket: u32, fingerprint: u32) -> u32 {
        self.apart(bucket, self.half_offset(fingerprint))
    }

    /// The bucket that is so far from another.
    #[inline(always)]
    pub(crate) fn apart(&self, bucket: u32, half_offset: u16) -> u32 {
        let buckets = self.buckets as u32;
        let offset = (2 * u32::from(half_offset) + 1) << self.doublings;
        let is_odd = (bucket >> self.doublings) & 1 == 1;
        // `bucket − offset` around the end is `bucket + (buckets − offset)`.
        let there = bucket + if is_odd { buckets - offset } else { offset };
        // A bucket that is not beyond the end becomes huge by the subtraction.
        there.min(there.wrapping_sub(buckets))
    }

    /// Whether a fingerprint can be in a bucket: in a grown filter, whether it belongs to the bucket's table.
    #[inline]
    pub(crate) fn belongs(&self, bucket: u32, fingerprint: u32) -> bool {
        let table = u64::from(bucket) & ((1 << self.doublings) - 1);
        u64::from(fingerprint) >> (self.fingerprint_bits - self.doublings) == table
    }
}

/// Factors of [`mix`].
pub(crate) const MIX_FACTORS: [u16; 2] = [0x9E37, 0xC2B3];

/// Sixteen bits that depend on all bits of a fingerprint, in operations that vectors of 16-bit lanes have.
///
/// Not a multiplication alone: offsets in an arithmetic progression make sums of offsets coincide, so that
/// a search for room meets the same buckets again and again.
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
    fn every_bucket_of_small_tables_and_every_fingerprint() {
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
            }
        }
    }

    /// A doubled filter sends a hash to one of the two buckets that its bucket became, says the same
    /// fingerprint, and its alternate to the same half.
    #[test]
    fn doubling_splits_buckets() {
        for (buckets, fingerprint_bits) in [(10, 8), (1000, 12), (70_000, 16), (1 << 20, 32)] {
            let before = Geometry { buckets, fingerprint_bits, doublings: 0 };
            let after = Geometry { buckets: 2 * buckets, fingerprint_bits, doublings: 1 };
            for i in 1..2000u64 {
                let hash = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let ((bucket, fingerprint), (half, same)) = (before.split(hash), after.split(hash));
                let bit = fingerprint >> (fingerprint_bits - 1);
                assert_eq!((half, same), (2 * bucket + bit, fingerprint));
                let there = before.alternate(bucket, fingerprint);
                assert_eq!(after.alternate(half, fingerprint), 2 * there + bit);
                assert!(after.belongs(half, fingerprint) && !after.belongs(half ^ 1, fingerprint));
            }
        }
    }

    #[test]
    fn mixing_keeps_sixteen_bits_apart() {
        let mixed: HashSet<u16> = (0..1 << 16).map(mix).collect();
        assert_eq!(mixed.len(), 1 << 16);
    }
}
