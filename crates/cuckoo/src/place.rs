//! Where a key goes: its primary bucket, its alternate, the end of a path, the overflow area.

use crate::bucket::EmptyPair;
use crate::evict::Search;
use crate::full_buckets::FullBuckets;
use crate::geometry::Geometry;
use crate::overflow::Overflow;
use crate::table::{Entry, Table};
use crate::width::Width;
use alloc::boxed::Box;

/// What an insert changes: the parts of an owned filter.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) table: &'a mut [u8],
    pub(crate) empty: &'a mut EmptyPair,
    pub(crate) overflow: &'a mut Overflow,
    pub(crate) crowd: &'a mut Option<Box<Crowd>>,
    /// Whether every copy of a key is kept.
    pub(crate) multiset: bool,
}

/// What inserts need once a table is crowded.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    pub(crate) full: FullBuckets,
    pub(crate) search: Search,
}

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// It is in the filter.
    Inserted,
    /// A set had it before.
    Known,
    /// There is no place for it. Nothing was changed.
    NoRoom,
}

impl<'a> Parts<'a> {
    #[inline(always)]
    pub(crate) fn table<W: Width>(&mut self) -> Table<'a, W, &mut [u8]> {
        Table::new(self.geometry, &mut *self.table, *self.empty)
    }

    /// What crowded tables need, made when it is needed first; nothing if there is no memory for it.
    pub(crate) fn crowd<W: Width>(&mut self) -> bool {
        if self.crowd.as_ref().is_none_or(|crowd| !crowd.full.fit(self.geometry)) {
            let full = FullBuckets::of(&self.table::<W>());
            *self.crowd = full.map(|full| Box::new(Crowd { full, search: Search::new() }));
        }
        self.crowd.is_some()
    }

    #[inline(always)]
    pub(crate) fn has<W: Width>(&mut self, key: Entry) -> bool {
        self.table::<W>().contains(key) || self.overflow.contains(self.geometry, key)
    }

    /// Inserts a key, or leaves everything as it was.
    #[inline(always)]
    pub(crate) fn insert<W: Width>(&mut self, hash: u64) -> Placed {
        let key = Entry::of_hash(self.geometry, hash);
        if !self.multiset && self.has::<W>(key) {
            return Placed::Known;
        }
        self.place::<W>(key)
    }

    /// Puts a fingerprint into the bucket given, or its alternate, or makes room in one of them.
    ///
    /// To choose the bucket without a branch, by a mask, and to store both, took 1.2 to 1.4 times as long at loads
    /// from 75 to 95 %: then the alternate waits for the bucket given to be read, and is not guessed at.
    #[inline(always)]
    pub(crate) fn place<W: Width>(&mut self, key: Entry) -> Placed {
        if self.place_here::<W>(key) || self.place_there::<W>(key) {
            return Placed::Inserted;
        }
        self.make_room::<W>(key)
    }

    /// Puts a fingerprint into the bucket given, if that has room.
    #[inline(always)]
    pub(crate) fn place_here<W: Width>(&mut self, key: Entry) -> bool {
        let mut table = self.table::<W>();
        if !table.has_room(key.bucket) {
            return false;
        }
        if table.insert(key)
            && let Some(crowd) = self.crowd.as_mut()
        {
            crowd.full.insert(key.bucket);
        }
        true
    }

    /// Puts a fingerprint into the alternate of the bucket given, which is full, if that has room.
    #[inline(always)]
    pub(crate) fn place_there<W: Width>(&mut self, key: Entry) -> bool {
        let there = self.place_here::<W>(key.alternate(self.geometry));
        if there {
            let mut table = self.table::<W>();
            table.raise(key);
            // A full bucket can say any flags, so the rule for empty pairs is as it was.
            debug_assert_eq!(table.empty, *self.empty);
        }
        there
    }

    /// Makes room for a fingerprint whose two buckets are full, or puts it into the overflow area.
    ///
    /// Inlined into kernels, or it would be compiled for the baseline: a search is worth its vectors.
    #[inline(always)]
    pub(crate) fn make_room<W: Width>(&mut self, key: Entry) -> Placed {
        let roots = [key.bucket, key.alternate(self.geometry).bucket];
        if self.crowd::<W>() {
            let mut table = Table::<W, _>::new(self.geometry, &mut *self.table, *self.empty);
            if let Some(crowd) = self.crowd.as_mut() {
                let Crowd { full, search } = &mut **crowd;
                if let Some(path) = search.find(&table, full, roots) {
                    search.apply(&mut table, full, path, key);
                    return Placed::Inserted;
                }
            }
        }
        if self.overflow.insert(self.geometry, key) { Placed::Inserted } else { Placed::NoRoom }
    }

    /// Takes a copy of a key out; false if it is not there. What is in the overflow area and fits now, goes
    /// into the table.
    #[inline(always)]
    pub(crate) fn remove<W: Width>(&mut self, hash: u64) -> bool {
        let key = Entry::of_hash(self.geometry, hash);
        let mut table = self.table::<W>();
        let taken = table.remove(key);
        *self.empty = table.empty;
        let Some(taken) = taken else {
            return self.overflow.remove(self.geometry, key);
        };
        if let Some(crowd) = self.crowd.as_mut() {
            crowd.full.remove(taken.bucket);
        }
        if !self.overflow.is_empty() {
            self.drain::<W>(taken.bucket);
        }
        true
    }

    /// Moves a fingerprint from the overflow area into a bucket that has room.
    #[inline(never)]
    fn drain<W: Width>(&mut self, bucket: u32) {
        if let Some(entry) = self.overflow.take_for(self.geometry, bucket) {
            self.place_here::<W>(entry);
            // Whether this is its primary bucket is not known, so the other one must lead here.
            let mut table = self.table::<W>();
            table.raise(entry.alternate(table.geometry));
            *self.empty = table.empty;
        }
    }
}
