//! Many keys into a crowded table: walks in step.
//!
//! A batch is inserted in blocks of sixteen keys. Of a block, first every key whose primary bucket has room
//! goes there, then every key whose alternate has; what is left has two full buckets and is queued. Those
//! keys walk: each has a bucket, and looks whether one of the four fingerprints there can move to a bucket
//! with room. If so, that one moves, the key takes its place, and the walk is over. If not, it takes the
//! place of one all the same, and walks on with the fingerprint that it drove out, from the bucket where
//! that can go.
//!
//! A walk looks at four buckets a step by their bits ([`FullBuckets`](crate::full_buckets::FullBuckets))
//! and reads one, where a search of its own for each key ([`Search`](crate::evict::Search)) builds a tree;
//! it moves more fingerprints, but they are in cache then. It has a fingerprint in hand at every step, so it
//! is only begun while the overflow area has room for all that walk: it cannot lose a key either.
//!
//! Walks go in step, so that vectors can do them: sixteen take a turn together, and plan on the table
//! as it was when the turn began. Of two that are in one bucket, or found the last room of another, the later
//! waits. So what a batch makes does not depend on how turns are computed: this file says what is
//! done, one lane after another, and `kernel/insert` does the same in vectors. A walk that ends makes place
//! for a key of the queue at once, and walks go on while the keys of the next blocks are placed: no lane is
//! ever idle for long.
//!
//! Source: Fan et al., CoNEXT 2014, section 3.2, for the random walk.

use crate::bucket;
use crate::geometry::Geometry;
use crate::kernel::insert::{LANES, Lanes};
use crate::place::{Parts, Placed};
use crate::table::{Entry, Table};
use crate::width::Width;
use core::marker::PhantomData;
use trommel_base::batch::Hint;

/// Keys that the caller gives at a time, so that few walks end with idle lanes beside them.
pub(crate) const CHUNK_KEYS: usize = 1 << 14;
/// Keys that are located, and whose primary buckets are prefetched, together.
const GROUP_KEYS: usize = 256;
/// Sixteens of walks, which take turns. What a turn stores lane by lane the next but three loads as a vector,
/// when it has left the store buffer; and a bucket that is not in cache has so long to come.
const TEAMS: usize = 4;
/// In larger tables, the buckets that will be needed are prefetched: a block, or a turn, has more instructions
/// than a core looks ahead, so that it would wait for every one that is not in L1.
pub(crate) const NEAR_BYTES: usize = 128 << 10;
/// Rounds after which walks that are too long are looked for.
const ROUNDS_PER_CHECK: u32 = 16;
/// Steps after which a walk ends and a search begins.
const MAX_STEPS: u32 = 112;

/// Sixteen walks.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Team {
    /// The full bucket that the fingerprint in hand wants into; any of the table where nobody walks.
    pub(crate) buckets: Lanes,
    pub(crate) fingerprints: Lanes,
    pub(crate) steps: Lanes,
    /// The lanes in which a walk is, a bit each.
    pub(crate) walking: u32,
}

/// Keys of a group: where they belong.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Located {
    pub(crate) buckets: [u32; GROUP_KEYS],
    pub(crate) fingerprints: [u32; GROUP_KEYS],
}

/// Keys of a group for which both buckets are full, in order; a walk begins in the primary one.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    keys: [Entry; GROUP_KEYS],
    /// Which keys of the group these are.
    places: [u16; GROUP_KEYS],
    next: usize,
    end: usize,
}

impl Queue {
    #[inline(always)]
    pub(crate) fn push(&mut self, key: Entry, place: usize) {
        self.keys[self.end % GROUP_KEYS] = key;
        self.places[self.end % GROUP_KEYS] = place as u16;
        self.end += 1;
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let key = self.waiting().first().copied();
        self.next += usize::from(key.is_some());
        key
    }

    #[inline(always)]
    fn waiting(&self) -> &[Entry] {
        &self.keys[self.next..self.end]
    }

    /// Whether a key waits already. Both of its buckets are full then, for as long as it waits.
    #[inline(always)]
    pub(crate) fn contains(&self, key: Entry) -> bool {
        self.waiting().iter().fold(false, |found, other| found | (*other == key))
    }

    fn clear(&mut self) {
        (self.next, self.end) = (0, 0);
    }
}

/// The two things that are done to sixteen lanes: in words, or in vectors.
pub(crate) trait SideBySide<W: Width>: Copy {
    /// For a table of this shape, whose rule for empty pairs stays.
    fn new(parts: &Parts<'_>) -> Self;

    /// Places the keys of a group from `first` on, sixteen of them, that have room in one of their buckets, and
    /// queues the others. The keys, a bit each, that a set did not have.
    fn place(&self, parts: &mut Parts<'_>, keys: &Located, first: usize, queue: &mut Queue) -> u32;

    /// A step of every walk of a team. Needs the bits of full buckets.
    fn turn(&self, parts: &mut Parts<'_>, team: &mut Team, queue: &mut Queue);
}

impl Parts<'_> {
    /// Inserts keys, and sets bit `i` of `new` if key `i` was not there. If one finds no place, the keys whose
    /// bits are set are in.
    #[inline(always)]
    pub(crate) fn insert_group<W: Width, S: SideBySide<W>>(
        &mut self,
        hashes: &[u64],
        new: &mut [u64],
    ) -> Result<(), NoPlace> {
        let lanes = S::new(self);
        let mut located = [Located::NOWHERE; 2];
        let mut queue = Queue {
            keys: [Entry { bucket: 0, fingerprint: 0 }; GROUP_KEYS],
            places: [0; GROUP_KEYS],
            next: 0,
            end: 0,
        };
        let mut walks = Walks::new(self.geometry);
        let mut groups = hashes.chunks(GROUP_KEYS);
        self.locate::<W>(groups.next().unwrap_or(&[]), &mut located[0]);
        let words = hashes.len().div_ceil(64);
        for (group, new) in new[..words].chunks_mut(GROUP_KEYS / 64).enumerate() {
            let keys = GROUP_KEYS.min(hashes.len() - group * GROUP_KEYS);
            let [here, next] = &mut located;
            let (here, next) = if group % 2 == 0 { (here, next) } else { (next, here) };
            self.locate::<W>(groups.next().unwrap_or(&[]), next);
            queue.clear();
            for first in (0..keys).step_by(LANES) {
                let placed = if keys - first < LANES {
                    InWords::<W>::place_some(self, here, first, keys - first, &mut queue)
                } else {
                    lanes.place(self, here, first, &mut queue)
                };
                new[first / 64] |= u64::from(placed) << (first % 64);
            }
            if queue.end > 0 {
                // A set must find the keys of a group when it places the next.
                let to_the_end = !self.multiset;
                if self.walk::<W, S>(&lanes, &mut walks, &mut queue, to_the_end).is_err() {
                    for place in &queue.places[queue.next..queue.end] {
                        new[usize::from(*place) / 64] &= !(1 << (place % 64));
                    }
                    return Err(NoPlace);
                }
            }
        }
        queue.clear();
        self.walk::<W, S>(&lanes, &mut walks, &mut queue, true)
    }

    /// Where keys belong, no more than a group; in a table that is not near, their primary buckets are
    /// prefetched.
    #[inline(always)]
    fn locate<W: Width>(&self, hashes: &[u64], located: &mut Located) {
        let geometry = *self.geometry;
        for (i, hash) in hashes.iter().enumerate().take(GROUP_KEYS) {
            (located.buckets[i], located.fingerprints[i]) = geometry.split(*hash);
        }
        if self.table.len() > NEAR_BYTES {
            for bucket in &located.buckets[..hashes.len()] {
                let at = Table::<W, &[u8]>::at(*bucket);
                trommel_simd::prefetch(self.table.as_ptr().wrapping_add(at), Hint::T0);
            }
        }
    }

    /// Lets walks begin and go on until no key is queued, and `to_the_end` until none walks. An error, with keys
    /// still queued and none walking, if one finds no place.
    #[inline(always)]
    fn walk<W: Width, S: SideBySide<W>>(
        &mut self,
        lanes: &S,
        walks: &mut Walks,
        queue: &mut Queue,
        to_the_end: bool,
    ) -> Result<(), NoPlace> {
        if !queue.waiting().is_empty() && self.crowd::<W>() {
            walks.begin(queue, self.overflow.ready_room(self.geometry));
        }
        let mut rounds = 0;
        while walks.are_on() && (to_the_end || !queue.waiting().is_empty()) {
            for team in &mut walks.teams {
                if team.walking != 0 {
                    lanes.turn(self, team, queue);
                }
            }
            rounds += 1;
            if rounds % ROUNDS_PER_CHECK == 0 {
                self.end_long_walks::<W>(walks);
                walks.begin(queue, self.overflow.ready_room(self.geometry));
            }
        }
        // What is left found no room in the overflow area to begin with.
        while let Some(key) = queue.waiting().first() {
            if self.make_room::<W>(*key) == Placed::NoRoom {
                return Err(NoPlace);
            }
            queue.next += 1;
        }
        Ok(())
    }

    /// A search instead of a walk that does not come to an end, and if need be the overflow area.
    #[inline(never)]
    fn end_long_walks<W: Width>(&mut self, walks: &mut Walks) {
        for team in &mut walks.teams {
            for lane in 0..LANES {
                if team.walking >> lane & 1 == 1 && team.steps[lane] >= MAX_STEPS {
                    let (bucket, fingerprint) = (team.buckets[lane], team.fingerprints[lane]);
                    let placed = self.make_room::<W>(Entry { bucket, fingerprint });
                    assert_eq!(placed, Placed::Inserted, "there was room for every walk");
                    team.walking &= !(1 << lane);
                }
            }
        }
    }
}

impl Located {
    const NOWHERE: Self = Self { buckets: [0; GROUP_KEYS], fingerprints: [0; GROUP_KEYS] };

    /// Buckets and fingerprints of the sixteen keys from `first` on.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn lanes(&self, first: usize) -> (&Lanes, &Lanes) {
        let (buckets, _) = self.buckets.as_chunks();
        let (fingerprints, _) = self.fingerprints.as_chunks();
        (&buckets[first / LANES], &fingerprints[first / LANES])
    }

    #[inline(always)]
    pub(crate) fn key(&self, place: usize) -> Entry {
        Entry { bucket: self.buckets[place], fingerprint: self.fingerprints[place] }
    }
}

/// All walks.
#[derive(Clone, Debug)]
struct Walks {
    teams: [Team; TEAMS],
}

impl Walks {
    #[inline(always)]
    fn new(geometry: &Geometry) -> Self {
        // Unlike buckets as far as there are any, so that idle lanes are in nobody's way.
        let buckets = core::array::from_fn(|lane| (lane as u64 % geometry.buckets) as u32);
        let team = Team { buckets, fingerprints: [1; LANES], steps: [0; LANES], walking: 0 };
        Self { teams: [team; TEAMS] }
    }

    #[inline(always)]
    fn are_on(&self) -> bool {
        self.teams.iter().any(|team| team.walking != 0)
    }

    /// Begins walks, as long as there is room in the overflow area for all that walk.
    #[inline(always)]
    fn begin(&mut self, queue: &mut Queue, room: usize) {
        let walking: usize = self.teams.iter().map(|team| team.walking.count_ones() as usize).sum();
        let mut more = room.saturating_sub(walking).min(queue.waiting().len());
        for team in &mut self.teams {
            while more > 0 && (!team.walking).trailing_zeros() < LANES as u32 {
                let lane = (!team.walking).trailing_zeros() as usize;
                let Some(key) = queue.pop() else { return };
                team.begin(lane, key);
                more -= 1;
            }
        }
    }
}

impl Team {
    #[inline(always)]
    pub(crate) fn begin(&mut self, lane: usize, key: Entry) {
        self.buckets[lane] = key.bucket;
        self.fingerprints[lane] = key.fingerprint;
        self.steps[lane] = 0;
        self.walking |= 1 << lane;
    }

    /// A key of the queue takes the place of a walk that ended.
    #[inline(always)]
    pub(crate) fn relieve(&mut self, lane: usize, queue: &mut Queue) {
        match queue.pop() {
            Some(key) => self.begin(lane, key),
            None => self.walking &= !(1 << lane),
        }
    }

    /// Puts walks that wait back to where they were: bucket, fingerprint and steps.
    #[cfg(target_arch = "x86_64")]
    #[cold]
    pub(crate) fn stay(&mut self, [buckets, fingerprints, steps]: [Lanes; 3], waiting: u32) {
        for lane in ones(waiting) {
            self.buckets[lane] = buckets[lane];
            self.fingerprints[lane] = fingerprints[lane];
            self.steps[lane] = steps[lane];
        }
    }

    /// The lanes whose walk is in the bucket of an earlier one.
    #[inline(always)]
    pub(crate) fn crossing(&self) -> u32 {
        let mut crossing = 0;
        for lane in 1..LANES {
            let earlier = (0..lane)
                .any(|i| self.walking >> i & 1 == 1 && self.buckets[i] == self.buckets[lane]);
            crossing |= u32::from(earlier) << lane;
        }
        crossing & self.walking
    }
}

/// Lane after lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InWords<W>(PhantomData<W>);

impl<W: Width> SideBySide<W> for InWords<W> {
    #[inline(always)]
    fn new(_: &Parts<'_>) -> Self {
        Self::WORDS
    }

    #[inline(always)]
    fn place(&self, parts: &mut Parts<'_>, keys: &Located, first: usize, queue: &mut Queue) -> u32 {
        Self::place_some(parts, keys, first, LANES, queue)
    }

    #[inline(always)]
    fn turn(&self, parts: &mut Parts<'_>, team: &mut Team, queue: &mut Queue) {
        let Some(crowd) = parts.crowd.as_mut() else { return };
        let full = &mut crowd.full;
        let mut table = Table::<W, _>::new(parts.geometry, &mut *parts.table, *parts.empty);
        let crossing = team.crossing();
        let mut steps = [Step { slot: 0, to: 0, is_room: false }; LANES];
        for lane in ones(team.walking) {
            let (bucket, fingerprint) = (team.buckets[lane], team.fingerprints[lane]);
            let to = table.slots(bucket).map(|slot| table.geometry.alternate(bucket, slot));
            let room = to.iter().position(|to| !full.contains(*to));
            // Any slot will do, as long as walks do not keep to one: pairs are in order, so slot 0 has the
            // lesser fingerprints.
            let slot = room.unwrap_or(((fingerprint ^ team.steps[lane]) % 4) as usize);
            steps[lane] = Step { slot, to: to[slot], is_room: room.is_some() };
        }
        for lane in ones(team.walking & !crossing) {
            let Step { slot, to, is_room } = steps[lane];
            let (bucket, fingerprint) = (team.buckets[lane], team.fingerprints[lane]);
            let slots = table.slots(bucket);
            let leaving = Entry { bucket: to, fingerprint: slots[slot] };
            if is_room {
                // An earlier lane may have been faster.
                if full.contains(to) {
                    continue;
                }
                if table.insert(leaving) {
                    full.insert(to);
                }
                team.relieve(lane, queue);
            } else {
                team.buckets[lane] = leaving.bucket;
                team.fingerprints[lane] = leaving.fingerprint;
                team.steps[lane] += 1;
            }
            table.store(bucket, bucket::exchange(slots, slot, fingerprint, table.empty));
        }
    }
}

impl<W: Width> InWords<W> {
    pub(crate) const WORDS: Self = Self(PhantomData);

    /// Places keys of a group from `first` on, sixteen or fewer.
    #[inline(always)]
    pub(crate) fn place_some(
        parts: &mut Parts<'_>,
        keys: &Located,
        first: usize,
        len: usize,
        queue: &mut Queue,
    ) -> u32 {
        let mut new = u32::MAX >> (32 - len);
        if !parts.multiset {
            for lane in 0..len {
                new &= !(u32::from(parts.has::<W>(keys.key(first + lane))) << lane);
            }
            new &= !keys.repeated(first, len);
        }
        let mut late = 0;
        for lane in ones(new) {
            late |= u32::from(!parts.place_here::<W>(keys.key(first + lane))) << lane;
        }
        for lane in ones(late) {
            let key = keys.key(first + lane);
            if !parts.place_there::<W>(key) {
                new &= !(u32::from(!parts.enqueue(queue, key, first + lane)) << lane);
            }
        }
        new
    }
}

impl Parts<'_> {
    /// Queues a key whose buckets are full; false if a set has it in the queue.
    #[inline(always)]
    pub(crate) fn enqueue(&self, queue: &mut Queue, key: Entry, place: usize) -> bool {
        let new = self.multiset || !queue.contains(key);
        if new {
            queue.push(key, place);
        }
        new
    }
}

impl Located {
    /// The keys among those from `first` on that an earlier one of them equals.
    #[inline(always)]
    pub(crate) fn repeated(&self, first: usize, len: usize) -> u32 {
        (0..len)
            .filter(|lane| (0..*lane).any(|i| self.key(first + i) == self.key(first + lane)))
            .fold(0, |repeated, lane| repeated | 1 << lane)
    }
}

/// What a walk does in a turn.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The slot that the fingerprint in hand takes.
    slot: usize,
    /// Where the fingerprint of that slot goes.
    to: u32,
    /// Whether there was room when the turn began.
    is_room: bool,
}

/// The places of ones.
#[inline(always)]
pub(crate) fn ones(word: u32) -> impl Iterator<Item = usize> {
    trommel_base::bitmap::ones(u64::from(word))
}

/// A key found no place; those whose bits are set did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPlace;
