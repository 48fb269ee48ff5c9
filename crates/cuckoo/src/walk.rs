//! Many keys into a crowded table: sixteen walks at a time.
//!
//! A batch is inserted in groups. Of a group, first every key whose primary bucket has room goes there, then
//! every key whose alternate has; what is left has two full buckets. Those keys walk: each has a bucket, and
//! looks whether one of the four fingerprints there can move to a bucket with room. If so, that one moves,
//! the key takes its place, and the walk is over. If not, it takes the place of one all the same, and walks on
//! with the fingerprint that it drove out, from the bucket where that can go.
//!
//! A walk looks at four buckets a step by their bits ([`FullBuckets`]) and reads one, where a search of
//! its own for each key ([`Search`](crate::evict::Search)) builds a tree; it moves more fingerprints,
//! but they are in cache then. It has a fingerprint in hand at every step, so it is only begun while the overflow area
//! has room for all that walk: it cannot lose a key either.
//!
//! Walks go in step, so that vectors can do them: in a round, every walk looks at the table as it was when
//! the round began. Of two that are in one bucket, or found room in the same one, the later waits. So what
//! a batch makes does not depend on how the rounds are computed.
//!
//! Source: Fan et al., CoNEXT 2014, section 3.2, for the random walk.

use crate::bucket;
use crate::place::{Parts, Placed};
use crate::table::{Entry, Table};
use crate::width::Width;
use alloc::vec::Vec;

/// Keys that are inserted together.
pub(crate) const GROUP_KEYS: usize = 256;
/// Walks at a time.
pub(crate) const WALKS: usize = 16;
/// Steps after which a walk ends and a search begins.
pub(crate) const MAX_STEPS: u32 = 128;

/// A fingerprint in hand that wants into a full bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) at: Entry,
    pub(crate) steps: u32,
}

impl Parts<'_> {
    /// Inserts a group of keys, sets bit `i` of `new` if key `i` was not there, and gives the keys that
    /// found no place: none, unless the overflow area is nearly full.
    #[inline(always)]
    pub(crate) fn insert_group<W: Width>(
        &mut self,
        hashes: &[u64],
        new: &mut [u64],
    ) -> Result<(), NoPlace> {
        let mut late = Vec::with_capacity(GROUP_KEYS);
        for (i, hash) in hashes.iter().enumerate() {
            let key = Entry::of_hash(self.geometry, *hash);
            if self.multiset || !self.has::<W>(key) {
                if self.place_here::<W>(key) {
                    new[i / 64] |= 1 << (i % 64);
                } else {
                    late.push((i, key));
                }
            }
        }
        let mut walking: Vec<(usize, Entry)> = Vec::with_capacity(late.len());
        for (i, key) in late {
            // Copies of a key may have come in one group.
            let known = !self.multiset
                && (self.has::<W>(key) || walking.iter().any(|(_, other)| *other == key));
            if !known {
                if self.place_there::<W>(key) {
                    new[i / 64] |= 1 << (i % 64);
                } else {
                    walking.push((i, key));
                }
            }
        }
        self.make_room_for::<W>(&walking, new)
    }

    /// Makes room for keys whose buckets are full.
    #[inline(always)]
    fn make_room_for<W: Width>(
        &mut self,
        keys: &[(usize, Entry)],
        new: &mut [u64],
    ) -> Result<(), NoPlace> {
        let walked = if keys.is_empty() { 0 } else { self.walk::<W>(keys) };
        for (done, (i, key)) in keys.iter().enumerate() {
            if done >= walked && self.make_room::<W>(*key) == Placed::NoRoom {
                return Err(NoPlace);
            }
            new[i / 64] |= 1 << (i % 64);
        }
        Ok(())
    }

    /// Walks until every key that a walk was begun for has a place; how many were begun.
    #[inline(always)]
    fn walk<W: Width>(&mut self, keys: &[(usize, Entry)]) -> usize {
        if !self.crowd::<W>() {
            return 0;
        }
        let mut begun = 0;
        let mut walks: [Option<Walk>; WALKS] = [None; WALKS];
        loop {
            let mut active = walks.iter().flatten().count();
            for walk in &mut walks {
                if walk.is_none()
                    && begun < keys.len()
                    && active < self.overflow.room(self.geometry)
                {
                    *walk = Some(Walk { at: keys[begun].1, steps: 0 });
                    active += 1;
                    begun += 1;
                }
            }
            if active == 0 {
                return begun;
            }
            self.round::<W>(&mut walks);
            for walk in &mut walks {
                if let Some(Walk { at, .. }) = walk.take_if(|walk| walk.steps == MAX_STEPS) {
                    let placed = self.make_room::<W>(at);
                    assert_eq!(placed, Placed::Inserted, "there was room for every walk");
                }
            }
        }
    }

    /// A step of every walk.
    #[inline(always)]
    fn round<W: Width>(&mut self, walks: &mut [Option<Walk>; WALKS]) {
        let Some(crowd) = self.crowd.as_mut() else { return };
        let full = &mut crowd.full;
        let mut table = Table::<W, _>::new(self.geometry, &mut *self.table, *self.empty);
        let steps: [Option<Step>; WALKS] =
            walks.map(|walk| walk.map(|walk| Step::plan(&table, full, walk)));
        for i in 0..WALKS {
            let (Some(walk), Some(step)) = (&mut walks[i], steps[i]) else { continue };
            if steps[..i].iter().flatten().any(|earlier| earlier.is_in_the_way_of(&step)) {
                continue;
            }
            let Step { bucket, slot, to, is_room } = step;
            let slots = table.slots(bucket);
            let leaving = Entry { bucket: to, fingerprint: slots[slot] };
            let slots = bucket::exchange(slots, slot, walk.at.fingerprint, table.empty);
            table.store(bucket, slots);
            if is_room {
                if table.insert(leaving) {
                    full.insert(to);
                }
                walks[i] = None;
            } else {
                *walk = Walk { at: leaving, steps: walk.steps + 1 };
            }
        }
    }
}

/// What a walk does in a round.
#[derive(Clone, Copy, Debug)]
struct Step {
    bucket: u32,
    /// The slot that the fingerprint in hand takes.
    slot: usize,
    /// Where the fingerprint of that slot goes.
    to: u32,
    /// Whether there is room.
    is_room: bool,
}

impl Step {
    #[inline(always)]
    fn plan<W: Width, T: AsRef<[u8]>>(
        table: &Table<'_, W, T>,
        full: &crate::full_buckets::FullBuckets,
        walk: Walk,
    ) -> Self {
        let bucket = walk.at.bucket;
        let to =
            table.slots(bucket).map(|fingerprint| table.geometry.alternate(bucket, fingerprint));
        let room = to.iter().position(|to| !full.contains(*to));
        // Any slot will do, as long as walks do not keep to one: pairs are in order, so slot 0 has the
        // lesser fingerprints.
        let slot = room.unwrap_or(((walk.at.fingerprint ^ walk.steps) % 4) as usize);
        Self { bucket, slot, to: to[slot], is_room: room.is_some() }
    }

    /// Whether a later walk has to wait for this one.
    #[inline(always)]
    fn is_in_the_way_of(&self, later: &Self) -> bool {
        self.bucket == later.bucket || self.is_room && later.is_room && self.to == later.to
    }
}

/// A key of a group found no place; those whose bits are set did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPlace;
