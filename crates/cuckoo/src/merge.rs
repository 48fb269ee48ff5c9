//! The keys of two filters in one.
//!
//! A fingerprint in a bucket does not tell whether that is its primary bucket. It need not: in the filter
//! that it comes from, the flags say where it may be looked for from. With the flags of both filters, it
//! may be looked for from there in the union as well, as long as it stays in its bucket; where it goes to
//! the other one, its bucket's flag is set. A fingerprint of the overflow area is found without a flag; in
//! the union it may be in the table, and both its buckets' flags are set.

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
    /// Takes in the keys of a filter, owned or viewed, of the same shape and hash; a set takes those that it
    /// does not find.
    ///
    /// Cost: a copy of this filter, and an insert for every fingerprint of the other.
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
    /// [`MergeError`] if buckets, fingerprints, hash or handling of copies differ, if there is no room for all keys, no
    /// memory for the copy, or the other is a trusted view of damaged bytes; this filter is as it was.
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &CuckooFilter<T>) -> Result<(), MergeError> {
        for ((what, left), (_, right)) in
            shared_numbers(self).into_iter().zip(shared_numbers(other))
        {
            Incompatible::check(what, left, right)?;
        }
        other.check_structure()?;
        let huge_pages = self.backing() != trommel_base::Backing::Pages;
        let table = Storage::copy_of(&self.table, huge_pages)?;
        let mut union = Self { table, overflow: self.overflow.clone(), scratch: None, ..*self };
        // The error tells the keys of this filter, not those of the union that was full.
        let placed = with_width!(self.geometry, W => union.take_in::<W>(other));
        placed.map_err(|why| self.full(0, why))?;
        *self = union;
        Ok(())
    }

    fn take_in<W: Width>(&mut self, other: &CuckooFilter<impl AsRef<[u8]>>) -> Result<(), WhyFull> {
        let from = other.table_of::<W>();
        let in_table = (0..self.geometry.buckets as u32).flat_map(|bucket| {
            let slots = from.slots(bucket).into_iter().filter(|slot| *slot != 0);
            slots.map(move |fingerprint| Entry { bucket, fingerprint })
        });
        for entry in in_table.chain(other.overflow.iter()) {
            match self.parts().adopt::<W>(entry) {
                Placed::Inserted => self.len += 1,
                Placed::Known => {}
                Placed::NoRoom => return Err(WhyFull::Slots),
            }
        }
        // Last, when the buckets are as full as they get: an empty one cannot say its flags.
        for bucket in 0..self.geometry.buckets as u32 {
            let theirs = bucket::flags(&from.slots(bucket), other.empty);
            if theirs != [false, false] {
                self.parts().raise_all::<W>(bucket, theirs);
            }
        }
        // No flag leads to what overflowed there, and either of its buckets may be primary.
        for entry in other.overflow.iter() {
            self.parts().raise_both::<W>(entry);
        }
        Ok(())
    }
}

impl Parts<'_> {
    /// Raises the flags of a bucket that another filter's same bucket has.
    fn raise_all<W: Width>(&mut self, bucket: u32, flags: bucket::Flags) {
        let mut table: Table<'_, W, &mut [u8]> = self.table();
        let slots = table.slots(bucket);
        let mine = bucket::flags(&slots, table.empty);
        table.arrange(bucket, slots, [mine[0] | flags[0], mine[1] | flags[1]]);
        *self.empty = table.empty;
    }

    /// Raises the flags of both buckets of a fingerprint.
    fn raise_both<W: Width>(&mut self, entry: Entry) {
        let mut table: Table<'_, W, &mut [u8]> = self.table();
        table.set_flag(entry);
        table.set_flag(entry.alternate(table.geometry));
        *self.empty = table.empty;
    }

    /// Takes in a fingerprint that is in this bucket of another filter, or in its overflow area.
    fn adopt<W: Width>(&mut self, entry: Entry) -> Placed {
        let alternate = entry.alternate(self.geometry);
        if !self.multiset {
            let mut table: Table<'_, W, &mut [u8]> = self.table();
            let has = |entry: Entry| W::has(table.word(entry.bucket), entry.fingerprint);
            let there = if has(entry) { Some(alternate) } else { has(alternate).then_some(entry) };
            if let Some(elsewhere) = there {
                // Found from the other bucket as well, whichever is its primary bucket.
                table.set_flag(elsewhere);
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
