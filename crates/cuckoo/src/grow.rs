//! Doubling a filter without the keys.
//!
//! In the product of hash and number of buckets (see [`Geometry`]), the bits of a fingerprint follow those of its
//! primary bucket. Each doubling appends the next bit of the fingerprint to the numbers of the fingerprint's two
//! buckets, so bucket `i` is split into buckets `2i` and `2i + 1`. The bit is still stored, but it is the same in all
//! fingerprints of a bucket and no longer tells keys apart: with twice the keys, the false-positive rate is about twice
//! as high.

use crate::bucket::{self, EmptyPair};
use crate::filter::CuckooFilter;
use crate::geometry::{FEWEST_BITS, Geometry};
use crate::table::Table;
use crate::width::{Width, with_width};
use trommel_base::storage::OutOfMemory;
use trommel_base::{Storage, WhyFull};

/// Why a filter was not doubled. The filter is unchanged.
///
/// ```
/// use trommel::{CuckooFilter, cuckoo::GrowError};
/// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
/// let refused = (0..8).find_map(|_| filter.grow().err()); // four bits of eight must be left
/// assert_eq!(refused, Some(GrowError::Fingerprint { fingerprint_bits: 8, doublings: 4 }));
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrowError {
    /// Another doubling would leave fewer than four bits of a fingerprint to tell keys apart.
    Fingerprint {
        /// The number of bits of a stored fingerprint.
        fingerprint_bits: u32,
        /// The number of times that the filter was doubled so far.
        doublings: u32,
    },
    /// The doubled table would be larger than a table can be.
    TooLarge {
        /// The number of buckets of the doubled table.
        buckets: u64,
    },
    /// The system refused the memory.
    OutOfMemory {
        /// The number of bytes that were requested.
        bytes: u64,
    },
}

trommel_base::error_messages! { GrowError {
    Self::Fingerprint { fingerprint_bits, doublings } =>
        "fingerprints of {fingerprint_bits} bits have no bit to spare after {doublings} doublings";
    Self::TooLarge { buckets } => "a table of {buckets} buckets is too large";
    Self::OutOfMemory { bytes } => "{}", OutOfMemory { bytes: *bytes };
}}

trommel_base::error_from! { GrowError {
    OutOfMemory { bytes };
}}

impl From<GrowError> for WhyFull {
    fn from(error: GrowError) -> Self {
        match error {
            GrowError::OutOfMemory { bytes } => Self::Memory { bytes },
            GrowError::Fingerprint { .. } => Self::Fingerprint,
            GrowError::TooLarge { .. } => Self::Slots,
        }
    }
}

impl CuckooFilter {
    /// Doubles the table. Every key is still found. The false-positive rate is about the same until more keys are
    /// inserted. Once the load is as high as before, the rate is about twice as high as before: one bit less tells keys
    /// apart, and both halves of a bucket keep its overflow flags, which make lookups search the second bucket.
    /// [`fpr_with`](CuckooFilter::fpr_with) returns an upper bound on the rate. The old and the new table are both in
    /// memory until `grow` returns.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, Insert};
    /// let mut filter = CuckooFilter::builder().keys(1000).fingerprint_bits(16).build().unwrap();
    /// filter.insert("anvil").unwrap();
    /// let slots = filter.geometry().slots();
    /// filter.grow().unwrap();
    /// assert!(filter.contains("anvil") && filter.geometry().slots() == 2 * slots);
    /// ```
    ///
    /// # Errors
    /// [`GrowError`] if fewer than four bits of a fingerprint would be left to tell keys apart, if the table would
    /// be too large, or if the system refuses the memory for the table.
    pub fn grow(&mut self) -> Result<(), GrowError> {
        let Geometry { fingerprint_bits, doublings, .. } = self.geometry;
        if doublings + FEWEST_BITS >= fingerprint_bits {
            return Err(GrowError::Fingerprint { fingerprint_bits, doublings });
        }
        let doubled = self.geometry.doubled();
        if !doubled.is_possible() {
            return Err(GrowError::TooLarge { buckets: doubled.buckets });
        }
        let huge_pages = self.table.wants_huge_pages();
        let mut table = Storage::zeroed(doubled.table_bytes() as usize, huge_pages)?;
        let empty = with_width!(self.geometry, W => self.split_buckets::<W>(&doubled, &mut table));
        self.overflow.double(&doubled);
        self.geometry = doubled;
        self.kernels = crate::kernel::Kernels::of(&doubled, self.isa());
        self.table = table;
        self.empty = empty;
        self.scratch = None;
        Ok(())
    }

    /// Splits every bucket into two halves, which both get the overflow flags of the bucket.
    fn split_buckets<W: Width>(&self, doubled: &Geometry, table: &mut [u8]) -> EmptyPair {
        let from = self.table_of::<W>();
        let mut to = Table::<W, _>::new(doubled, table, self.empty);
        for bucket in 0..self.geometry.buckets as u32 {
            let slots = from.slots(bucket);
            let flags = bucket::flags(&slots, self.empty);
            for half in [2 * bucket, 2 * bucket + 1] {
                let kept = slots.map(|slot| if doubled.belongs(half, slot) { slot } else { 0 });
                to.arrange(half, kept, flags);
            }
        }
        to.empty
    }

    /// The number of keys that a batch inserts before it checks again whether the filter has to grow: as many as the
    /// load `grow_at` still allows. If this load allows no further key, the result is 1, and the filter grows for this
    /// key. `usize::MAX` if the filter never grows by itself.
    pub(crate) fn keys_before_growth(&self) -> usize {
        let Some(load) = self.grow_at else { return usize::MAX };
        let keys = (load * self.geometry.slots() as f64) as u64;
        usize::try_from(keys.saturating_sub(self.len)).unwrap_or(usize::MAX).max(1)
    }

    pub(crate) fn is_growth_due(&self) -> bool {
        self.grow_at.is_some_and(|load| (self.len + 1) as f64 > load * self.geometry.slots() as f64)
    }

    pub(crate) fn grow_by_itself(&mut self) -> Result<(), WhyFull> {
        self.grow().map_err(WhyFull::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use trommel_base::{FromSpec, Insert, KeyHash, Spec};

    fn filter(grow_at: Option<f64>) -> CuckooFilter {
        let mut spec = Spec::default();
        (spec.keys, spec.fingerprint_bits) = (2_000, Some(16));
        (spec.multiset, spec.grow_at) = (true, grow_at);
        CuckooFilter::from_spec(&spec).unwrap()
    }

    /// Inserts keys until the filter holds `len` keys.
    fn insert_up_to(filter: &mut CuckooFilter, len: u64) {
        for n in filter.len..len {
            filter
                .insert_hash(KeyHash::from_raw((n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
                .unwrap();
        }
    }

    /// A batch is inserted in groups, each of as many keys as the filter takes before it grows. This number must be
    /// neither too high (the filter would exceed its load) nor too low (the groups would be short).
    #[test]
    fn a_filter_knows_how_many_keys_it_takes_before_it_grows() {
        for percent in [50, 75, 90] {
            let mut filter = filter(Some(percent as f64 / 100.0));
            for _ in 0..4 {
                let slots = filter.geometry.slots();
                let most = slots * percent / 100;
                for len in [filter.len, filter.len + 1, (filter.len + most) / 2, most - 1, most] {
                    insert_up_to(&mut filter, len);
                    assert!(filter.keys_before_growth() as u64 == (most - len).max(1));
                    assert_eq!(filter.is_growth_due(), len == most, "{len} of {most} keys");
                }
                assert_eq!(filter.geometry.slots(), slots);
                insert_up_to(&mut filter, most + 1);
                assert_eq!(filter.geometry.slots(), 2 * slots);
            }
        }
        let mut fixed = filter(None);
        insert_up_to(&mut fixed, 2_000);
        assert!(fixed.keys_before_growth() == usize::MAX && !fixed.is_growth_due());
    }

    #[test]
    fn an_error_names_the_numbers_that_forbid_growth() {
        let says = |error: GrowError, expected: &str| assert_eq!(error.to_string(), expected);
        let mut filter = filter(None);
        let refused = (0..=12).find_map(|_| filter.grow().err()).unwrap();
        says(refused, "fingerprints of 16 bits have no bit to spare after 12 doublings");
        let buckets = 1 << 33;
        says(GrowError::TooLarge { buckets }, "a table of 8589934592 buckets is too large");
        let out_of_memory = GrowError::OutOfMemory { bytes: 4096 };
        says(out_of_memory, "the system refused 4096 bytes of memory");
    }
}
