//! Uses the rival crates on several threads. None of these crates starts threads by itself, so the code here calls the
//! crates from a pool of threads, as a user would. If an insert needs exclusive access, each thread has its own filter,
//! a shard. A filter of atomic words is shared by all threads.
//!
//! *Shards*: each thread first partitions a slice of the keys into one list per shard. Then each thread fills one shard
//! from the lists that all threads made for it. The shard of a key is selected by the product of its hash and an odd
//! constant. So the hashes of one shard still differ in all their bits, and the shard's filter can use any of these
//! bits. Lookups are not partitioned: each thread takes slices of the keys and looks each key up in the key's shard.

use crate::measure::subject::answer_each;
use anyhow::{Result, ensure};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::Arc;
use trommel::{Bitmap, KeyHash};

/// A filter that one or several threads fill and query.
pub(crate) trait Parallel {
    fn memory_bytes(&self) -> usize;

    /// The share of slots in use, if the filter has slots.
    fn load_factor(&self) -> Option<f64>;

    fn insert(&mut self, hashes: &[KeyHash]) -> Result<()>;

    /// Looks up all hashes; bit `i` of `answers` becomes the answer for `hashes[i]`.
    fn answer(&self, hashes: &[KeyHash], answers: &mut Bitmap);

    /// Removes all keys and keeps the filter's memory. An implementation must write to every page of this memory, so
    /// that later inserts cause no page faults.
    fn clear(&mut self);

    /// Returns the filter's bytes, if they must be the same with any number of threads.
    fn frozen(&self) -> Option<Vec<u8>> {
        None
    }
}

/// A filter that takes one key per call. An insert needs exclusive access.
pub(super) trait Shard: Send + Sync {
    fn bytes(&self) -> usize;

    fn load_factor(&self) -> Option<f64> {
        None
    }

    /// Inserts a key; returns false if there is no room.
    fn insert(&mut self, hash: u64) -> bool;

    fn contains(&self, hash: u64) -> bool;

    fn clear(&mut self);
}

/// A filter that takes one key per call. Several threads can insert at the same time.
pub(super) trait Shared: Send + Sync {
    fn bytes(&self) -> usize;

    fn load_factor(&self) -> Option<f64> {
        None
    }

    /// Inserts a key; returns false if there is no room.
    fn insert(&self, hash: u64) -> bool;

    fn contains(&self, hash: u64) -> bool;

    fn clear(&mut self);
}

/// The number of keys that a thread takes at a time: a multiple of 64, so that no two threads write the same word of
/// answers.
const KEYS_AT_A_TIME: usize = 1 << 14;

/// One filter per thread of the pool or, without a pool, one filter for the caller's thread.
pub(super) struct Sharded<S> {
    shards: Vec<S>,
    pool: Option<Arc<ThreadPool>>,
}

impl<S: Shard> Sharded<S> {
    /// Creates a shard for each thread of the pool. `empty` creates the empty filter for a number of keys.
    pub(super) fn new(
        keys: usize,
        pool: Option<Arc<ThreadPool>>,
        empty: impl Fn(usize) -> Result<S>,
    ) -> Result<Self> {
        let count = pool.as_ref().map_or(1, |pool| pool.current_num_threads());
        let mean = keys.div_ceil(count);
        // The number of keys per shard is random, so each shard has room for the mean and six standard deviations more.
        let most = if count == 1 { mean } else { mean + 6 * mean.isqrt() };
        let shards = (0..count).map(|_| empty(most)).collect::<Result<_>>()?;
        Ok(Self { shards, pool })
    }
}

/// Returns the index of the shard of a key.
#[inline]
fn shard_of(hash: u64, shards: usize) -> usize {
    let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((mixed * shards as u64) >> 32) as usize
}

/// Inserts hashes until the shard is full. Returns whether the shard took all hashes.
fn fill<S: Shard>(shard: &mut S, hashes: impl IntoIterator<Item = u64>) -> bool {
    hashes.into_iter().all(|hash| shard.insert(hash))
}

impl<S: Shard> Parallel for Sharded<S> {
    fn memory_bytes(&self) -> usize {
        self.shards.iter().map(Shard::bytes).sum()
    }

    fn load_factor(&self) -> Option<f64> {
        let loads: Option<Vec<f64>> = self.shards.iter().map(Shard::load_factor).collect();
        loads.map(|loads| loads.iter().sum::<f64>() / loads.len() as f64)
    }

    fn insert(&mut self, hashes: &[KeyHash]) -> Result<()> {
        let count = self.shards.len();
        let took_all = match &self.pool {
            None => fill(&mut self.shards[0], hashes.iter().map(|hash| hash.raw())),
            Some(pool) => pool.install(|| {
                let partitions: Vec<Vec<Vec<u64>>> = hashes
                    .par_chunks(hashes.len().div_ceil(count).max(1))
                    .map(|hashes| partition(hashes, count))
                    .collect();
                self.shards.par_iter_mut().enumerate().with_max_len(1).all(|(i, shard)| {
                    partitions.iter().all(|lists| fill(shard, lists[i].iter().copied()))
                })
            }),
        };
        ensure!(took_all, "a shard of {} bytes is full", self.shards[0].bytes());
        Ok(())
    }

    fn answer(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        match (&self.pool, &*self.shards) {
            (Some(pool), shards) => answer_on(pool, hashes, answers, |hash| {
                shards[shard_of(hash, shards.len())].contains(hash)
            }),
            (None, [shard, ..]) => answer_each(hashes, answers, |hash| shard.contains(hash.raw())),
            (None, []) => answers.reset(hashes.len()),
        }
    }

    fn clear(&mut self) {
        self.shards.iter_mut().for_each(Shard::clear);
    }
}

/// Splits hashes into one list per shard.
fn partition(hashes: &[KeyHash], shards: usize) -> Vec<Vec<u64>> {
    // Each list has room for the mean number of hashes per shard and for 1/64 of the slice more, so that it rarely has
    // to grow.
    let room = hashes.len() / shards + hashes.len() / 64;
    let mut lists: Vec<Vec<u64>> = (0..shards).map(|_| Vec::with_capacity(room)).collect();
    for hash in hashes {
        lists[shard_of(hash.raw(), shards)].push(hash.raw());
    }
    lists
}

/// One filter for all threads.
pub(super) struct Together<S> {
    pub(super) filter: S,
    pub(super) pool: Option<Arc<ThreadPool>>,
}

impl<S: Shared> Parallel for Together<S> {
    fn memory_bytes(&self) -> usize {
        self.filter.bytes()
    }

    fn load_factor(&self) -> Option<f64> {
        self.filter.load_factor()
    }

    fn insert(&mut self, hashes: &[KeyHash]) -> Result<()> {
        let insert = |hashes: &[KeyHash]| hashes.iter().all(|hash| self.filter.insert(hash.raw()));
        let took_all = match &self.pool {
            None => insert(hashes),
            Some(pool) => pool.install(|| hashes.par_chunks(KEYS_AT_A_TIME).all(insert)),
        };
        ensure!(took_all, "the filter of {} bytes is full", self.filter.bytes());
        Ok(())
    }

    fn answer(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        match &self.pool {
            Some(pool) => answer_on(pool, hashes, answers, |hash| self.filter.contains(hash)),
            None => answer_each(hashes, answers, |hash| self.filter.contains(hash.raw())),
        }
    }

    fn clear(&mut self) {
        self.filter.clear();
    }
}

/// Looks up slices of hashes on the threads of a pool. Each slice fills its own words of the answers.
fn answer_on(
    pool: &ThreadPool,
    hashes: &[KeyHash],
    answers: &mut Bitmap,
    contains: impl Fn(u64) -> bool + Send + Sync,
) {
    let answer = |hashes: &[KeyHash]| {
        hashes
            .iter()
            .enumerate()
            .fold(0, |word, (i, hash)| word | u64::from(contains(hash.raw())) << i)
    };
    answers.fill_words(hashes.len(), |words| {
        pool.install(|| {
            hashes
                .par_chunks(KEYS_AT_A_TIME)
                .zip(words.par_chunks_mut(KEYS_AT_A_TIME / 64))
                .for_each(|(hashes, words)| {
                    for (hashes, word) in hashes.chunks(64).zip(words) {
                        *word = answer(hashes);
                    }
                });
        });
    });
}

#[cfg(test)]
mod tests {
    use crate::measure::keys::KeyStream;
    use crate::measure::rivals::Size;
    use crate::model::ParallelRival;
    use std::sync::Arc;
    use trommel::Bitmap;

    #[test]
    fn rivals_find_all_keys_on_one_and_on_several_threads() {
        let (keys, absent) =
            (KeyStream::new(5).hashes(0, 50_000), KeyStream::new(6).hashes(0, 50_000));
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap());
        let size = Size {
            keys: keys.len(),
            bits_per_key: Some(12),
            fpr: Some(1.0 / 256.0),
            bytes: 75_000,
            hash_count: Some(7),
        };
        for rival in ParallelRival::ALL {
            let (mut found, mut false_positives) = (Bitmap::new(0), Vec::new());
            for pool in [None, Some(Arc::clone(&pool))] {
                let mut filter =
                    crate::measure::rivals::create_parallel(rival, &size, pool).unwrap();
                for _ in 0..2 {
                    filter.insert(&keys).unwrap();
                    filter.answer(&keys, &mut found);
                    assert_eq!(found.count_ones(), keys.len(), "{rival}");
                    filter.answer(&absent, &mut found);
                    false_positives.push(found.count_ones());
                    filter.clear();
                    filter.answer(&keys, &mut found);
                    assert_eq!(found.count_ones(), 0, "{rival}");
                }
                assert!(filter.memory_bytes() > 0);
            }
            let all_plausible = false_positives.iter().all(|count| (1..2_500).contains(count));
            assert!(all_plausible, "{rival}: {false_positives:?}");
        }
    }
}
