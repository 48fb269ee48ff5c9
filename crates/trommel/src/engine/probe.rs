//! Looks up a batch, and returns the answers in the order of the keys. Uses all threads, unless the cost model predicts
//! that they save too little.
//!
//! Partitioned lookups group keys by the high bits of their hashes. All keys of a group access the same piece of the
//! table, which is so small that it stays in the cache. The answers of each group are a sequence of bits. *Replay* then
//! goes through the keys again, and takes for each key the next answer of its group.
//!
//! Nanoseconds per key on a Cascade Lake core, for a table of 1 GiB and one key per cache line of the table. With 1024
//! groups, the keys of a group access 1 MiB of the table.
//!
//! | step | ns |
//! |---|---:|
//! | the filter's own batch, not partitioned | 19.4 |
//! | partitioned: the grouping pass, with 1024 groups | 3.5 |
//! | partitioned: the lookups (reads of random cache lines within 1 MiB take 7.4) | 8.5 |
//! | partitioned: replay | 2.1 |
//!
//! Rejected, with nanoseconds per key:
//!
//! - to carry each key's position with the key and scatter the answers to these positions: the write of each answer
//!   misses the cache once the bitmap of answers is larger than L2;
//! - 2048 and 4096 groups: lookups take 8.3 and 8.1, but the grouping pass takes 4.6 and 7.6;
//! - to prefetch the cache lines of the next group while a group is looked up: lookups take 13.6 if each group accesses
//!   1 MiB of the table, and 8.6 if each group accesses 256 KiB;
//! - two variants of replay: one keeps, for each group, a word of its next answers instead of the number of its next
//!   bit, and shifts one answer out of the word for each key (2.7); the other gathers the answers of several keys with
//!   AVX-512 (3.0).

use super::Engine;
use super::cost::{Strategy, pieces_log2};
use alloc::vec::Vec;
use trommel_base::Workers;
use trommel_base::partition::{
    Answers, Partitioned, SharePlan, Shares, chunk_bytes, partition_shares,
};
use trommel_base::storage::{OutOfMemory, room_for};
use trommel_base::{Bitmap, Filter, KeyHash};

/// The number of bits in a word of a bitmap.
const WORD_BITS: usize = 64;
/// The fewest and the most keys of a slice of a direct batch. Only the last slice can have fewer than the fewest.
pub(super) const FEWEST_KEYS_AT_A_TIME: usize = 1 << 12;
const MOST_KEYS_AT_A_TIME: usize = 1 << 16;
/// The number of slices per thread that a direct batch is cut into. With more than one slice per thread, a thread that
/// finishes early takes another slice. The real number of slices can be smaller or greater, since a slice has at least
/// [`FEWEST_KEYS_AT_A_TIME`] and at most [`MOST_KEYS_AT_A_TIME`] keys.
const SLICES_PER_THREAD: usize = 8;

pub(super) fn contains_batch<F: Filter + Sync>(
    engine: &Engine,
    filter: &F,
    hashes: &[KeyHash],
    found: &mut Bitmap,
    strategy: Strategy,
) {
    if strategy == Strategy::Partitioned
        && let Some(grouped) = Grouped::new(engine, filter.memory_bytes(), hashes.len())
    {
        found.fill_words(hashes.len(), |words| grouped.contains(filter, hashes, words));
    } else if engine.cost.is_worth_threads(hashes.len(), filter.memory_bytes(), engine.threads()) {
        found.fill_words(hashes.len(), |words| in_slices(&*engine.pool, filter, hashes, words));
    } else {
        filter.contains_batch(hashes, found);
    }
}

/// Looks up slices of the batch by the filter's own method, on all threads. If the system refuses the memory for the
/// list of slices, looks up the whole batch on the caller's thread.
fn in_slices<F: Filter + Sync>(
    workers: &dyn Workers,
    filter: &F,
    hashes: &[KeyHash],
    words: &mut [u64],
) {
    let slices = workers.threads() * SLICES_PER_THREAD;
    let keys = hashes.len().div_ceil(slices).next_multiple_of(WORD_BITS);
    let keys = keys.clamp(FEWEST_KEYS_AT_A_TIME, MOST_KEYS_AT_A_TIME);
    let items = hashes.chunks(keys).zip(words.chunks_mut(keys / WORD_BITS));
    let looked_up = workers.for_each(items.len(), items, |(hashes, words)| {
        look_up(filter, hashes, words, &mut Bitmap::default());
    });
    if looked_up.is_err() {
        look_up(filter, hashes, words, &mut Bitmap::default());
    }
}

/// Looks up keys by the filter's own method, and writes the answers to `words`. If the system refuses the memory for
/// the answers, the keys are looked up one by one.
fn look_up<F: Filter>(filter: &F, hashes: &[KeyHash], words: &mut [u64], found: &mut Bitmap) {
    if found.try_reserve(hashes.len()).is_ok() {
        filter.contains_batch(hashes, found);
        words.copy_from_slice(found.as_words());
        return;
    }
    for (hashes, word) in hashes.chunks(WORD_BITS).zip(words) {
        let bit = |(i, hash): (usize, &KeyHash)| u64::from(filter.contains_hash(*hash)) << i;
        *word = hashes.iter().enumerate().map(bit).sum();
    }
}

/// Partitioned lookups.
struct Grouped<'e> {
    workers: &'e dyn Workers,
    shares: Shares<u64>,
    groups_log2: u32,
    keys_at_a_time: usize,
}

impl<'e> Grouped<'e> {
    /// Returns `None` if the batch or the memory budget is too small for groups of a useful size, or if memory is
    /// refused.
    fn new(engine: &'e Engine, filter_bytes: usize, keys: usize) -> Option<Self> {
        let groups_log2 = pieces_log2(filter_bytes);
        let groups = 1 << groups_log2;
        let workers: &dyn Workers = &*engine.pool;
        let plan = SharePlan::new(workers, keys, 1, groups);
        // A share is a part of the batch that one thread groups. In addition to the bytes of the shares, answers take:
        // - a bit per key;
        // - for every group of each share, at most four words: one to pad its bits to whole words, one for the number
        //   of its next bit, and two for a `&mut [u64]` to its words;
        // - for every group, ten words: four for its item (the group's number and the `Vec` of these references), and
        //   six for the task of this item (the item again, and two words more).
        let answer_bytes = |keys| keys / 8 + (plan.count() * 32 + 80) * groups;
        let scratch_bytes = engine.memory_budget.min(chunk_bytes(filter_bytes));
        let keys = plan.keys_at_a_time::<u64>(keys, scratch_bytes, answer_bytes)?;
        let shares = plan.take(workers, keys, engine.memory_budget - answer_bytes(keys)).ok()?;
        // The answers of each chunk, one bit per key, have to begin at the start of a word. If there are several
        // chunks, `keys` is a multiple of 64 (see `SharePlan::keys_at_a_time`). If there is one chunk, `keys` is the
        // number of all keys; that number, rounded up to a multiple of 64, still gives one chunk.
        let keys_at_a_time = keys.next_multiple_of(WORD_BITS);
        Some(Self { workers, shares, groups_log2, keys_at_a_time })
    }

    fn contains<F: Filter + Sync>(mut self, filter: &F, hashes: &[KeyHash], words: &mut [u64]) {
        let keys = self.keys_at_a_time;
        for (hashes, words) in hashes.chunks(keys).zip(words.chunks_mut(keys / WORD_BITS)) {
            if self.contains_chunk(filter, hashes, words).is_err() {
                in_slices(self.workers, filter, hashes, words);
            }
        }
        self.shares.give_back(self.workers);
    }

    /// Looks up one chunk, and writes its answers to `words`. After an error, the words are unspecified.
    fn contains_chunk<F: Filter + Sync>(
        &mut self,
        filter: &F,
        hashes: &[KeyHash],
        words: &mut [u64],
    ) -> Result<(), OutOfMemory> {
        let (workers, shift) = (self.workers, u64::BITS - self.groups_log2);
        let slices = self.shares.slices(hashes);
        let split = |hash: u64| [((hash >> shift) as usize, hash)];
        let shares = partition_shares(workers, &mut self.shares, hashes, split)?;
        let mut answers = room_for(shares.len())?;
        for share in &shares {
            answers.push(Answers::of(share)?);
        }
        answer(workers, filter, &shares, &mut answers)?;

        let mut rest = words;
        let mut items = room_for(answers.len())?;
        for (answers, hashes) in answers.into_iter().zip(slices) {
            let (words, after) = rest.split_at_mut(hashes.len().div_ceil(WORD_BITS));
            rest = after;
            items.push((answers, hashes, words));
        }
        workers.for_each(items.len(), items, |(answers, hashes, words)| {
            answers.replay(hashes, shift, words);
        })
    }
}

/// Looks up the keys of each group, in one share after the other. A share is a part of the batch that one thread has
/// grouped. All keys of a group access the same piece of the table, so that piece stays in the cache.
fn answer<F: Filter + Sync>(
    workers: &dyn Workers,
    filter: &F,
    shares: &[Partitioned<'_, u64>],
    answers: &mut [Answers],
) -> Result<(), OutOfMemory> {
    let groups = shares.first().map_or(0, Partitioned::parts);
    let mut items: Vec<(usize, Vec<&mut [u64]>)> = room_for(groups)?;
    for group in 0..groups {
        items.push((group, room_for(shares.len())?));
    }
    for answers in answers {
        for ((_, words), group_words) in items.iter_mut().zip(answers.parts_mut()) {
            words.push(group_words);
        }
    }
    workers.for_each(groups, items, |(group, words)| {
        let mut found = Bitmap::default();
        for (share, words) in shares.iter().zip(words) {
            look_up(filter, KeyHash::slice_from_raw(share.part(group)), words, &mut found);
        }
    })
}
