//! Inserts of single keys. An insert tries the primary bucket, the alternate, a search for room, and the
//! overflow area, in this order.

use super::full_buckets::FullBuckets;
use super::search::Search;
use crate::bucket::EmptyPair;
use crate::geometry::Geometry;
use crate::overflow::Overflow;
use crate::table::{Entry, Table};
use crate::width::Width;
use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};
use trommel_base::storage::room_for;

/// The parts of an owned filter that are read or changed by inserts, and by draining the overflow area after a removal.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) table: &'a mut [u8],
    pub(crate) empty: &'a mut EmptyPair,
    pub(crate) overflow: &'a mut Overflow,
    pub(crate) scratch: &'a mut Option<BoxedScratch>,
    /// Whether every copy of a key is kept.
    pub(crate) multiset: bool,
}

/// Scratch memory for inserts into a highly loaded table; no part of the frozen filter.
#[derive(Clone, Debug)]
pub(crate) struct InsertScratch {
    pub(crate) full: FullBuckets,
    pub(crate) search: Search,
}

/// [`InsertScratch`] on the heap. The box holds an array of one element, since such a box can be made from a vector:
/// the allocation of a vector can return an error, and the allocation of a box cannot.
#[derive(Clone, Debug)]
pub(crate) struct BoxedScratch(Box<[InsertScratch; 1]>);

impl BoxedScratch {
    /// Scratch memory for a table with these full buckets. `None` if the system refuses the memory.
    pub(crate) fn new(full: FullBuckets) -> Option<Self> {
        let mut one = room_for(1).ok()?;
        one.push(InsertScratch { full, search: Search::new() });
        one.into_boxed_slice().try_into().ok().map(Self)
    }
}

impl Deref for BoxedScratch {
    type Target = InsertScratch;

    #[inline(always)]
    fn deref(&self) -> &InsertScratch {
        &self.0[0]
    }
}

impl DerefMut for BoxedScratch {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut InsertScratch {
        &mut self.0[0]
    }
}

/// The outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// The key was inserted.
    Inserted,
    /// The filter is a set, and the key was found in it before the insert.
    Known,
    /// There is no room for the key. Table and overflow area are unchanged.
    NoRoom,
}

impl<'a> Parts<'a> {
    #[inline(always)]
    pub(crate) fn table<W: Width>(&mut self) -> Table<W, &mut [u8]> {
        Table::new(self.geometry, &mut *self.table, *self.empty)
    }

    /// Creates the scratch memory, unless there is scratch memory for this table already. Returns false if the system
    /// refuses the memory.
    pub(crate) fn ensure_scratch<W: Width>(&mut self) -> bool {
        if self.scratch.as_ref().is_none_or(|scratch| !scratch.full.fit(self.geometry)) {
            *self.scratch = FullBuckets::of(&self.table::<W>()).and_then(BoxedScratch::new);
        }
        self.scratch.is_some()
    }

    #[inline(always)]
    pub(crate) fn has<W: Width>(&mut self, key: Entry) -> bool {
        self.table::<W>().contains(key) || self.overflow.contains(self.geometry, key)
    }

    /// Inserts a key. If it is not inserted, the filter holds the same fingerprints in the same slots as before.
    #[inline(always)]
    pub(crate) fn insert<W: Width>(&mut self, hash: u64) -> Placed {
        let key = Entry::of_one_hash(self.geometry, hash);
        if !self.multiset && self.has::<W>(key) {
            return Placed::Known;
        }
        self.place::<W>(key)
    }

    /// Puts a fingerprint into the given bucket or its alternate, makes room in one of them, or uses the overflow area.
    ///
    /// Rejected: choosing the bucket by a mask instead of a branch, and writing both buckets back to the table. This
    /// takes 1.2 to 1.4 times as long at loads from 75 to 95 %, since the core must load the primary bucket before it
    /// can work on the alternate. With a branch, the core predicts the choice.
    #[inline(always)]
    pub(crate) fn place<W: Width>(&mut self, key: Entry) -> Placed {
        if self.place_here::<W>(key) || self.place_there::<W>(key) {
            return Placed::Inserted;
        }
        self.make_room::<W>(key)
    }

    /// Puts a fingerprint into the given bucket, if the bucket has room.
    #[inline(always)]
    pub(crate) fn place_here<W: Width>(&mut self, key: Entry) -> bool {
        let mut table = self.table::<W>();
        if !table.has_room(key.bucket) {
            return false;
        }
        if table.insert(key)
            && let Some(scratch) = self.scratch.as_mut()
        {
            scratch.full.insert(key.bucket);
        }
        true
    }

    /// Puts a fingerprint into the alternate of the given bucket, if the alternate has room. The caller must ensure
    /// that the given bucket is full.
    #[inline(always)]
    pub(crate) fn place_there<W: Width>(&mut self, key: Entry) -> bool {
        let is_placed = self.place_here::<W>(key.alternate(self.geometry));
        if is_placed {
            let mut table = self.table::<W>();
            table.set_flag(key);
            // The bucket `key.bucket` is full. So neither pair of its slots is empty, it can encode every flag that is
            // set, and the table's `empty` is unchanged.
            debug_assert_eq!(table.empty, *self.empty);
        }
        is_placed
    }

    /// Makes room for a fingerprint whose two buckets are full, or puts it into the overflow area.
    ///
    /// Inlined into the kernels, so that the search is compiled for their instruction sets, and uses SIMD instructions.
    /// For callers that are not inlined into a kernel, such as unions and `end_long_chains`, the search is compiled for
    /// the instruction set that the whole crate is compiled for.
    #[inline(always)]
    pub(crate) fn make_room<W: Width>(&mut self, key: Entry) -> Placed {
        let roots = [key.bucket, key.alternate(self.geometry).bucket];
        if self.ensure_scratch::<W>() {
            let mut table = Table::<W, _>::new(self.geometry, &mut *self.table, *self.empty);
            if let Some(scratch) = self.scratch.as_mut() {
                let InsertScratch { full, search } = &mut **scratch;
                if let Some(path) = search.find(&table, full, roots) {
                    search.apply(&mut table, full, path, key);
                    return Placed::Inserted;
                }
            }
        }
        if self.overflow.insert(self.geometry, key) { Placed::Inserted } else { Placed::NoRoom }
    }

    /// If the overflow area has a fingerprint that can be in `bucket`, moves this fingerprint to the bucket. The caller
    /// must ensure that the bucket has room.
    #[inline(never)]
    pub(crate) fn drain<W: Width>(&mut self, bucket: u32) {
        if let Some(entry) = self.overflow.take_for(self.geometry, bucket) {
            self.place_here::<W>(entry);
            // `bucket` can be the alternate bucket of the fingerprint's key. So the next lines set the overflow flag in
            // the other one of the fingerprint's two buckets. Lookups that start in that one then read `bucket` too.
            let mut table = self.table::<W>();
            table.set_flag(entry.alternate(&table.geometry));
            *self.empty = table.empty;
        }
    }
}
