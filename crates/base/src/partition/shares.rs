//! Partitions one batch on several threads.

use super::{MAX_HASHES, Partitioned, Partitioner, Record};
use crate::kernel::replay::WORD_BITS;
use crate::storage::{OutOfMemory, Storage, collected, room_for};
use crate::{KeyHash, ScratchRequest, Workers};
use alloc::vec::Vec;
use core::iter::{repeat_n, repeat_with};
use core::ops::RangeInclusive;

/// The number of shares per thread, if there are several threads and enough records. A thread that is done early takes
/// another share.
const SHARES_PER_THREAD: usize = 4;
/// A batch is cut into several shares for several threads only if each share gets at least this number of records per
/// part, on average. With fewer records, moving from part to part costs more time than several threads save. The
/// average is over the whole batch: if the batch is grouped in several passes, a share can have fewer records per part
/// in each pass.
const FEWEST_RECORDS_PER_PART: usize = 64;

/// A pass is worthwhile only if it has at least this number of records per part, on average. With fewer records, each
/// part of the table is brought into the cache for only a few records.
pub const FEWEST_PASSED_PER_PART: usize = 8;

/// The least and the greatest result of [`chunk_bytes`] for tables of up to 4 GiB.
const CHUNK_BYTES: RangeInclusive<usize> = 256 << 20..=1 << 30;

/// Upper bound on scratch bytes per *chunk* for a table of `table_bytes`. A chunk is the keys of a batch that are
/// grouped at one time. The bound is the size of the table, but at least 256 MiB and at most 1 GiB; for tables above
/// 4 GiB, it is a quarter of the table. If a chunk has as much scratch memory as the table has bytes, each cache line
/// of the table gets about seven records of eight bytes per chunk.
///
/// With 1e8 keys and a table of 1 GiB on a Cascade Lake core, times per key are, in ns:
///
/// | scratch | 1 GiB | 512 MiB | 256 MiB |
/// |---|---|---|---|
/// | insert | 11.1 | 12.3 | 14.2 |
/// | insert, scratch in fresh memory | 18.6 | 15.9 | 15.9 |
/// | lookup | 10.0 | 11.1 | 12.4 |
///
/// Since fresh memory is that expensive, an engine keeps the scratch memory. On two cores, an insert or lookup takes
/// about half of these times.
#[must_use]
pub fn chunk_bytes(table_bytes: usize) -> usize {
    table_bytes.clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()).max(table_bytes / 4)
}

/// How a batch is cut into shares. Each share is grouped by a single thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharePlan {
    shares: usize,
    /// Records per key.
    each: usize,
    parts: usize,
}

/// The shares of a batch, each with its own partitioner.
#[derive(Debug)]
pub struct Shares<R> {
    plan: SharePlan,
    partitioners: Vec<Partitioner<R>>,
    memory_bytes: usize,
}

impl SharePlan {
    /// Chooses the number of shares for a batch of `keys` keys, with `each` records per key and a table of `parts`
    /// parts. A single thread gets a single share, unless that share would have more than [`MAX_HASHES`] records.
    #[must_use]
    pub fn new(workers: &dyn Workers, keys: usize, each: usize, parts: usize) -> Self {
        let threads = workers.threads().max(1);
        let records = keys.saturating_mul(each);
        let worthwhile = records / FEWEST_RECORDS_PER_PART / parts.max(1);
        let shares = match threads {
            1 => 1,
            _ if worthwhile >= SHARES_PER_THREAD * threads => SHARES_PER_THREAD * threads,
            _ => worthwhile.clamp(1, threads),
        };
        let least = if records <= MAX_HASHES {
            1
        } else {
            // As `share_records` assumes, a share can have `WORD_BITS - 1` keys more than the mean.
            keys.div_ceil((MAX_HASHES / each).saturating_sub(WORD_BITS - 1).max(1))
        };
        Self { shares: shares.max(least), each, parts }
    }

    /// The number of shares.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.shares
    }

    /// Upper bound on the records of a share if the batch has `keys` keys.
    pub(super) const fn share_records(&self, keys: usize) -> usize {
        let share_keys = if self.shares == 1 {
            keys
        } else {
            // Shares begin at whole words of a bitmap, so a share can have up to 63 keys more than the mean.
            keys.div_ceil(self.shares).saturating_add(WORD_BITS - 1)
        };
        share_keys.saturating_mul(self.each)
    }

    /// Bytes of scratch memory that all shares of a batch of `keys` keys take together.
    #[must_use]
    pub const fn bytes_for<R: Record>(&self, keys: usize) -> usize {
        Partitioner::<R>::scratch_bytes_for(self.share_records(keys), self.parts)
            .saturating_mul(self.shares)
    }

    /// Chooses the number of keys to group at a time, for a batch of `keys` keys. It is `keys` if the batch has at most
    /// [`MAX_HASHES`] records and its scratch memory is at most `scratch_bytes`. Otherwise it is a smaller multiple of
    /// 64 for which both limits hold. The scratch memory for `n` keys is [`SharePlan::bytes_for`]`(n)` bytes for the
    /// shares, and `beside(n)` bytes for the caller's other data.
    ///
    /// Returns `None` if there are no records, or if the keys that are grouped at a time have fewer than
    /// [`FEWEST_PASSED_PER_PART`] records per part.
    pub fn keys_at_a_time<R: Record>(
        &self,
        keys: usize,
        scratch_bytes: usize,
        beside: impl Fn(usize) -> usize,
    ) -> Option<usize> {
        let mut at_a_time = keys;
        loop {
            let records = at_a_time.saturating_mul(self.each);
            if records < self.parts.saturating_mul(FEWEST_PASSED_PER_PART).max(1) {
                return None;
            }
            let bytes = || self.bytes_for::<R>(at_a_time).saturating_add(beside(at_a_time));
            if records <= MAX_HASHES && bytes() <= scratch_bytes {
                break;
            }
            // Rounded down, so that the loop ends.
            at_a_time = (at_a_time - at_a_time / 16) / WORD_BITS * WORD_BITS;
        }
        // There are as many passes as with `at_a_time` keys per pass, but they have nearly equal numbers of keys.
        let even = keys.div_ceil(keys.div_ceil(at_a_time)).next_multiple_of(WORD_BITS);
        Some(even.min(at_a_time))
    }

    /// Makes the shares for one or several passes, each over up to `keys` keys. If the workers have kept memory of
    /// earlier passes, the shares use it first. Once the shares have grouped their keys, the memory of the shares
    /// and the memory that the workers still keep are together at most as large as the greater of `most_bytes` and
    /// [`SharePlan::bytes_for`]`(keys)`.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the system refuses the memory for the list of the shares.
    pub fn take<R: Record>(
        &self,
        workers: &dyn Workers,
        keys: usize,
        most_bytes: usize,
    ) -> Result<Shares<R>, OutOfMemory> {
        let records = self.share_records(keys);
        let piece_bytes = Partitioner::<R>::piece_bytes_for(records, self.parts);
        let new_bytes = Storage::memory_bytes_for(piece_bytes);
        let region_bytes =
            self.bytes_for::<R>(keys).saturating_sub(new_bytes.saturating_mul(self.shares));

        let mut partitioners = room_for(self.shares)?;
        let most_bytes = most_bytes.saturating_sub(region_bytes);
        let request = ScratchRequest { pieces: self.shares, piece_bytes, most_bytes };
        let kept = workers.take_memory(request);
        let memory_bytes = kept
            .iter()
            .map(Storage::memory_bytes)
            .chain(repeat_n(new_bytes, self.shares.saturating_sub(kept.len())))
            .fold(region_bytes, usize::saturating_add);
        let memories = kept.into_iter().map(Some).chain(repeat_with(|| None));
        partitioners.extend(memories.take(self.shares).map(Partitioner::with_memory));
        Ok(Shares { plan: *self, partitioners, memory_bytes })
    }
}

impl<R: Record> Shares<R> {
    /// The number of shares.
    #[must_use]
    pub fn count(&self) -> usize {
        self.partitioners.len()
    }

    /// The hashes of each share. The number of hashes of every share except the last is a multiple of 64, so that the
    /// answers for the share are whole words of a bitmap.
    pub fn slices<'h>(
        &self,
        hashes: &'h [KeyHash],
    ) -> impl ExactSizeIterator<Item = &'h [KeyHash]> + use<'h, R> {
        let shares = self.count();
        let cut = move |share| {
            let cut = (hashes.len() as u128 * share as u128 / shares as u128) as usize;
            if share == shares { cut } else { cut / WORD_BITS * WORD_BITS }
        };
        (0..shares).map(move |share| &hashes[cut(share)..cut(share + 1)])
    }

    /// Bytes of scratch memory that all shares hold together, once each has grouped its keys.
    #[must_use]
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Gives the memory back to the workers.
    pub fn give_back(self, workers: &dyn Workers) {
        for memory in self.partitioners.into_iter().filter_map(Partitioner::into_memory) {
            workers.give_memory(memory);
        }
    }
}

/// Partitions each share of a batch by [`Partitioner::partition_each`]. The results are in the order of the shares.
///
/// # Errors
/// [`OutOfMemory`] if the system refuses the memory of a share, or of a list of the shares.
///
/// # Panics
/// As [`Partitioner::partition_each`].
pub fn partition_shares<'s, R, F, I>(
    workers: &dyn Workers,
    shares: &'s mut Shares<R>,
    hashes: &[KeyHash],
    split: F,
) -> Result<Vec<Partitioned<'s, R>>, OutOfMemory>
where
    R: Record,
    F: Fn(u64) -> I + Copy + Send + Sync,
    I: IntoIterator<Item = (usize, R)>,
{
    let (count, slices) = (shares.count(), shares.slices(hashes));
    let SharePlan { each, parts, .. } = shares.plan;
    let mut grouped = room_for(count)?;
    let mut results = collected(count, repeat_with(|| None))?;
    let items = shares.partitioners.iter_mut().zip(slices).zip(&mut results);
    workers.for_each(count, items, |((partitioner, hashes), result)| {
        *result = Some(partitioner.partition_each(hashes, each, parts, split));
    })?;
    for result in results {
        grouped.push(result.expect("every share must be processed")?);
    }
    Ok(grouped)
}
