//! The union of two filters.
//!
//! A union adds the fingerprints of another filter, `other`. A stored fingerprint does not tell which of its two
//! buckets is the primary one, and the union need not know which. If `other` stores a fingerprint in the fingerprint's
//! alternate bucket, `other` has set the overflow flag of the primary bucket (see `bucket`). The union takes over all
//! flags of `other`, so lookups find every fingerprint that the union stores in the same bucket as `other` does. If the
//! union stores a fingerprint in the one of its two buckets that `other` did not use, the union sets the flag of the
//! bucket that `other` used, so that lookups from that bucket read both buckets. For a fingerprint in the overflow area
//! of `other`, `other` may have set no flag, since lookups search that area whatever the flags encode. The union can
//! put such a fingerprint into the table, so it sets a flag in both of the fingerprint's buckets.

use crate::bucket;
use crate::evict::parts::{Parts, Placed};
use crate::filter::CuckooFilter;
use crate::table::{Entry, Table};
use crate::width::{Width, with_width};
use trommel_base::{Incompatible, Merge, MergeError, Storage, WhyFull};

impl Merge for CuckooFilter {
    type Error = MergeError;

    /// See [`CuckooFilter::union`].
    fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        self.union(other)
    }
}

/// The numbers that two filters must have in common.
fn shared_numbers<S>(filter: &CuckooFilter<S>) -> [(&'static str, u64); 6] {
    let geometry = filter.geometry;
    [
        ("hash function", filter.hasher.id() as u64),
        ("hash seed", filter.hasher.seed()),
        ("buckets", geometry.buckets),
        ("fingerprint bits", geometry.fingerprint_bits.into()),
        ("doublings", geometry.doublings.into()),
        ("copies of a key", filter.multiset.into()),
    ]
}

impl CuckooFilter {
    /// Adds the keys of another filter, owned or viewed, of the same geometry and hash. A set adds only the keys that
    /// it does not hold yet.
    ///
    /// Cost: a copy of this filter, and an insert for every fingerprint of the other filter.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, Insert};
    /// let mut monday = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// let mut tuesday = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// monday.insert("anvil")?;
    /// tuesday.insert("forge")?;
    /// let bytes = tuesday.to_bytes();
    /// monday.union(&CuckooFilter::parse(&bytes)?)?;
    /// assert!(monday.contains("anvil") && monday.contains("forge"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MergeError`] if the filters differ in their geometry, hash function or seed, if only one is a multiset, if
    /// there is no room for all keys, if the system refuses the memory for the copy or for the inserts, or if the other
    /// filter is a trusted view whose [`check_structure`](Self::check_structure) fails. This filter is then unchanged.
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &CuckooFilter<T>) -> Result<(), MergeError> {
        for ((what, left), (_, right)) in
            shared_numbers(self).into_iter().zip(shared_numbers(other))
        {
            Incompatible::check(what, left, right)?;
        }
        other.check_structure()?;
        let table = Storage::copy_of(&self.table, self.table.wants_huge_pages())?;
        let mut union =
            Self { table, overflow: self.overflow.try_clone()?, scratch: None, ..*self };
        // The error has the number of keys in this filter, not the number in the union, which was full and is dropped.
        let placed = with_width!(self.geometry, W => union.add_all::<W>(other));
        placed.map_err(|why| match why {
            WhyFull::Memory { bytes } => MergeError::OutOfMemory { bytes },
            why => self.full(0, why).into(),
        })?;
        *self = union;
        Ok(())
    }

    fn add_all<W: Width>(&mut self, other: &CuckooFilter<impl AsRef<[u8]>>) -> Result<(), WhyFull> {
        let from = other.table_of::<W>();
        let in_table = (0..self.geometry.buckets as u32).flat_map(|bucket| {
            let slots = from.slots(bucket).into_iter().filter(|slot| *slot != 0);
            slots.map(move |fingerprint| Entry { bucket, fingerprint })
        });
        for entry in in_table.chain(other.overflow.iter()) {
            match self.parts().adopt::<W>(entry) {
                Placed::Inserted => self.len += 1,
                Placed::Known => {}
                Placed::NoRoom => return Err(self.why_no_room()),
            }
        }
        // The other filter's flags are taken over last, when the buckets are as full as they get, because a bucket with
        // too few fingerprints cannot encode its flags. Lookups would then treat the flag of every empty pair of slots
        // in the filter as set.
        for bucket in 0..self.geometry.buckets as u32 {
            let theirs = bucket::flags(&from.slots(bucket), other.empty);
            if theirs != [false, false] {
                self.parts().set_flags::<W>(bucket, theirs);
            }
        }
        // The other filter may have set no flag for an entry of its overflow area, and either bucket of the entry can
        // be the primary one.
        for entry in other.overflow.iter() {
            self.parts().set_both_flags::<W>(entry);
        }
        Ok(())
    }
}

impl Parts<'_> {
    /// Sets those flags of a bucket that are set in `flags`, the flags of the same bucket of another filter.
    fn set_flags<W: Width>(&mut self, bucket: u32, flags: bucket::Flags) {
        let mut table: Table<W, &mut [u8]> = self.table();
        let slots = table.slots(bucket);
        let mine = bucket::flags(&slots, table.empty);
        table.arrange(bucket, slots, [mine[0] | flags[0], mine[1] | flags[1]]);
        *self.empty = table.empty;
    }

    /// Sets the flag of a fingerprint's class in both of its buckets.
    fn set_both_flags<W: Width>(&mut self, entry: Entry) {
        let mut table: Table<W, &mut [u8]> = self.table();
        table.set_flag(entry);
        table.set_flag(entry.alternate(&table.geometry));
        *self.empty = table.empty;
    }

    /// Adds a fingerprint that another filter holds in `entry.bucket` or in that filter's overflow area. If this filter
    /// is not a multiset and holds the fingerprint already, adds nothing. Instead, if this filter has it in a bucket,
    /// sets the flag of its class in the fingerprint's other bucket, so that lookups from both buckets find it.
    fn adopt<W: Width>(&mut self, entry: Entry) -> Placed {
        let alternate = entry.alternate(self.geometry);
        if !self.multiset {
            let mut table: Table<W, &mut [u8]> = self.table();
            let has = |entry: Entry| W::has(table.word(entry.bucket), entry.fingerprint);
            let other = if has(entry) { Some(alternate) } else { has(alternate).then_some(entry) };
            if let Some(other) = other {
                // The other bucket can be the primary one, so its flag must lead to the fingerprint.
                table.set_flag(other);
                *self.empty = table.empty;
                return Placed::Known;
            }
            if self.overflow.contains(self.geometry, entry) {
                return Placed::Known;
            }
        }
        self.place::<W>(entry)
    }
}
