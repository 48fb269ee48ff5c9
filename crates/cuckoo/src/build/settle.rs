//! Places for keys whose primary bucket is full, within a window of the table.
//!
//! A key that is settled has a full bucket and walks at once: if its alternate has room it goes there; if
//! one of the four fingerprints of its bucket has room elsewhere, that one goes there, and the key takes its
//! place; else it takes the place of one all the same, and the walk goes on with what it drove out, from
//! the bucket where that can go. Sixteen lanes take a turn together, and plan on the table as it was when the
//! turn began, as in `walk.rs`.
//!
//! A walk stays in its *window*: what lies outside counts as full, and a step that would lead there is not
//! taken, but another in the next turn. One that does not end is left to somebody whose window reaches
//! further.
//!
//! Keys are taken from many places of the list in turns: the list is in the order of the table, which
//! then fills alike everywhere. From one end to the other, each stretch would push its surplus on to the
//! next, and the last would have no room for it.

use super::Entries;
use crate::bucket;
use crate::geometry::Geometry;
use crate::kernel::insert::LANES;
use crate::table::{Entry, Table};
use crate::walk::{InWords, Team, ones};
use crate::width::Width;
use alloc::vec::Vec;
use trommel_base::batch::Hint;

/// Teams, which take turns.
const TEAMS: usize = 4;
/// Places of the list that keys are taken from in turns. With 64 of them, keys of one bucket are so near each other
/// that walks of a team often wait for each other.
const STREAMS: usize = 512;
/// How far ahead in each of them keys are prefetched: a line.
const AHEAD_KEYS: usize = 8;

/// A stretch of the table that walks do not leave. No key has been removed from it.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    /// That of the whole table.
    pub(crate) geometry: &'a Geometry,
    /// The first bucket.
    pub(crate) first: u32,
    pub(crate) table: &'a mut [u8],
    /// A bit a bucket, set where no slot is free.
    pub(crate) full: &'a mut [u64],
    /// Steps after which a walk ends without a place.
    pub(crate) max_steps: u32,
}

impl Window<'_> {
    /// Buckets of the window.
    #[inline(always)]
    pub(crate) fn buckets<W: Width>(&self) -> u32 {
        (self.table.len() / W::BUCKET_BYTES) as u32
    }

    /// The other bucket of a fingerprint, both counted from the first; outside of the window, it is not below
    /// [`Window::buckets`].
    #[inline(always)]
    fn alternate(&self, bucket: u32, fingerprint: u32) -> u32 {
        self.geometry.alternate(self.first + bucket, fingerprint).wrapping_sub(self.first)
    }

    #[inline(always)]
    pub(crate) fn is_full(&self, bucket: u32) -> bool {
        self.full[bucket as usize / 64] >> (bucket % 64) & 1 == 1
    }

    #[inline(always)]
    pub(crate) fn fill_up(&mut self, bucket: u32) {
        self.full[bucket as usize / 64] |= 1 << (bucket % 64);
    }

    /// Puts a fingerprint into a bucket of the window that has room.
    #[inline(always)]
    pub(crate) fn insert<W: Width>(&mut self, entry: Entry) {
        if self.buckets_of::<W>().insert(entry) {
            self.fill_up(entry.bucket);
        }
    }

    /// The buckets, which are not asked for alternates.
    #[inline(always)]
    fn buckets_of<W: Width>(&mut self) -> Table<'_, W, &mut [u8]> {
        Table::new(self.geometry, &mut *self.table, bucket::EmptyPair::Clear)
    }

    /// Settles keys. Where that fails, a fingerprint is left, with the bucket that it wants into; there is room in
    /// `left` for as many as there are keys.
    #[inline(always)]
    pub(crate) fn settle<W: Width, C: Confined<W>>(&mut self, keys: &[u64], left: &mut Vec<u64>) {
        let confined = C::new(self);
        let buckets = self.buckets::<W>();
        let mut keys = Comb::new(keys);
        let idle = core::array::from_fn(|lane| (lane as u32).min(buckets - 1));
        let team = Team { buckets: idle, fingerprints: [1; LANES], steps: [0; LANES], walking: 0 };
        let mut teams = [team; TEAMS];
        for team in &mut teams {
            for lane in 0..LANES {
                self.relieve(team, lane, &mut keys, buckets);
            }
        }
        while teams.iter().any(|team| team.walking != 0) {
            for team in &mut teams {
                if team.walking == 0 {
                    continue;
                }
                let settled = confined.turn(self, team);
                let long = team.walking & !settled & long_walks(team, self.max_steps);
                for lane in ones(settled | long) {
                    if long >> lane & 1 == 1 {
                        let bucket = self.first + team.buckets[lane];
                        let fingerprint = team.fingerprints[lane];
                        left.push(Entries::pack(Entry { bucket, fingerprint }));
                    }
                    self.relieve(team, lane, &mut keys, buckets);
                }
                for bucket in &team.buckets {
                    let at = Table::<W, &[u8]>::at(*bucket);
                    trommel_simd::prefetch(self.table.as_ptr().wrapping_add(at), Hint::T0);
                }
            }
        }
    }

    /// The next key takes the place of a walk that ended.
    #[inline(always)]
    fn relieve(&self, team: &mut Team, lane: usize, keys: &mut Comb<'_>, buckets: u32) {
        match keys.next() {
            Some(key) => {
                let Entry { bucket, fingerprint } = Entries::unpack(key);
                let bucket = bucket.wrapping_sub(self.first);
                // Kernels rest on this.
                assert!(bucket < buckets);
                team.begin(lane, Entry { bucket, fingerprint });
            }
            None => team.walking &= !(1 << lane),
        }
    }
}

#[inline(always)]
fn long_walks(team: &Team, max_steps: u32) -> u32 {
    let mut long = 0;
    for (lane, steps) in team.steps.iter().enumerate() {
        long |= u32::from(*steps >= max_steps) << lane;
    }
    long
}

/// Every n-th key of a list, then every n-th from the second on, and so on.
#[derive(Clone, Debug)]
struct Comb<'a> {
    keys: &'a [u64],
    stride: usize,
    /// The next place, and the one that this round began with.
    next: usize,
    start: usize,
}

impl<'a> Comb<'a> {
    fn new(keys: &'a [u64]) -> Self {
        Self { keys, stride: keys.len().div_ceil(STREAMS), next: 0, start: 0 }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.next >= self.keys.len() {
            if self.start + 1 >= self.stride {
                return None;
            }
            self.start += 1;
            self.next = self.start;
        }
        let key = self.keys.get(self.next).copied();
        let ahead = self.keys.as_ptr().wrapping_add(self.next + AHEAD_KEYS);
        trommel_simd::prefetch(ahead.cast::<u8>(), Hint::T0);
        self.next += self.stride;
        key
    }
}

/// A turn of sixteen walks that stay in a window: in words, or in vectors.
pub(crate) trait Confined<W: Width>: Copy {
    fn new(window: &Window<'_>) -> Self;

    /// A step of every walk of a team; those that are over, a bit each.
    fn turn(&self, window: &mut Window<'_>, team: &mut Team) -> u32;
}

/// What a walk does in a turn.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The slot that the fingerprint in hand takes, or none if it goes to its alternate itself.
    slot: Option<usize>,
    /// Where the fingerprint goes that leaves.
    to: u32,
    is_room: bool,
}

impl<W: Width> Confined<W> for InWords<W> {
    #[inline(always)]
    fn new(_: &Window<'_>) -> Self {
        Self::WORDS
    }

    #[inline(always)]
    fn turn(&self, window: &mut Window<'_>, team: &mut Team) -> u32 {
        let buckets = window.buckets::<W>();
        let crossing = team.crossing();
        let mut steps = [Step { slot: None, to: 0, is_room: false }; LANES];
        for lane in ones(team.walking & !crossing) {
            let (bucket, fingerprint) = (team.buckets[lane], team.fingerprints[lane]);
            let slots = window.buckets_of::<W>().slots(bucket);
            let has_room = |to: u32| to < buckets && !window.is_full(to);
            let own = window.alternate(bucket, fingerprint);
            let to = slots.map(|slot| window.alternate(bucket, slot));
            steps[lane] = if has_room(own) {
                Step { slot: None, to: own, is_room: true }
            } else if let Some(slot) = to.iter().position(|to| has_room(*to)) {
                Step { slot: Some(slot), to: to[slot], is_room: true }
            } else {
                // Any slot will do, as long as walks do not keep to one.
                let slot = ((fingerprint ^ team.steps[lane]) % 4) as usize;
                Step { slot: Some(slot), to: to[slot], is_room: false }
            };
        }
        let mut settled = 0;
        for lane in ones(team.walking & !crossing) {
            let Step { slot, to, is_room } = steps[lane];
            let (bucket, fingerprint) = (team.buckets[lane], team.fingerprints[lane]);
            let slots = window.buckets_of::<W>().slots(bucket);
            let leaving = slot.map_or(fingerprint, |slot| slots[slot]);
            if is_room {
                if window.is_full(to) {
                    // An earlier lane was faster.
                    continue;
                }
                window.insert::<W>(Entry { bucket: to, fingerprint: leaving });
                settled |= 1 << lane;
            } else {
                team.steps[lane] += 1;
                if to >= buckets {
                    continue;
                }
                team.buckets[lane] = to;
                team.fingerprints[lane] = leaving;
            }
            let slots = match slot {
                Some(slot) => bucket::exchange(slots, slot, fingerprint, bucket::EmptyPair::Clear),
                None => {
                    bucket::raise(slots, bucket::class(fingerprint), bucket::EmptyPair::Clear).0
                }
            };
            window.buckets_of::<W>().store(bucket, slots);
        }
        settled
    }
}
