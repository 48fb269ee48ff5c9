//! One pass by several threads.

use super::{MAX_HASHES, Partitioned, Partitioner, Record};
use crate::kernel::replay::WORD_BITS;
use crate::storage::{OutOfMemory, Storage};
use crate::{KeyHash, ScratchRequest, Workers};
use alloc::vec::Vec;
use core::iter::{repeat_n, repeat_with};
use core::ops::RangeInclusive;

/// Shares per thread, if there are records enough: a thread that is done early takes another.
const SHARES_PER_THREAD: usize = 4;
/// The fewest records of a share per part: with fewer, going from part to part costs more than sharing saves.
const FEWEST_RECORDS_PER_PART: usize = 64;

/// The fewest records for each part that a pass is worth: with fewer, there is next to nothing in a part to be
/// worked on in cache.
pub const FEWEST_PASSED_PER_PART: usize = 8;

/// The least and the most scratch memory of chunks of keys for tables that are not huge.
const CHUNK_BYTES: RangeInclusive<usize> = 256 << 20..=1 << 30;

/// Upper bound on scratch bytes per chunk for a table of `table_bytes`: the size of the table, so that a line gets
/// seven records per chunk; a quarter of it for huge tables.
///
/// 1e8 keys into 1 GiB, on a Cascade Lake core: 11.1 ns each with 1 GiB, 12.3 with 512 MiB, 14.2 with 256 MiB; looked up,
/// 10.0, 11.1 and 12.4; on two cores about half. With fresh memory it is 18.6, 15.9 and 15.9, which is why an engine
/// keeps it.
#[must_use]
pub fn chunk_bytes(table_bytes: usize) -> usize {
    table_bytes.clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()).max(table_bytes / 4)
}

/// How a batch is cut into shares, each of which one thread groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharePlan {
    shares: usize,
    /// Records of a key.
    each: usize,
    parts: usize,
}

/// A batch in shares, each with a partitioner of its own.
#[derive(Debug)]
pub struct Shares<R> {
    plan: SharePlan,
    partitioners: Vec<Partitioner<R>>,
    memory_bytes: usize,
}

impl SharePlan {
    /// The number of shares that suits a batch of `keys` with `each` records in `parts`; one for one thread.
    #[must_use]
    pub fn new<W: Workers>(workers: &W, keys: usize, each: usize, parts: usize) -> Self {
        let threads = workers.threads().max(1);
        let records = keys.saturating_mul(each);
        let worthwhile = records / FEWEST_RECORDS_PER_PART / parts.max(1);
        let shares = match threads {
            1 => 1,
            _ if worthwhile >= SHARES_PER_THREAD * threads => SHARES_PER_THREAD * threads,
            _ => worthwhile.clamp(1, threads),
        };
        Self { shares: shares.max(records.div_ceil(MAX_HASHES)), each, parts }
    }

    /// The number of shares.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.shares
    }

    /// Upper bound on the records of a share if the batch has `keys`.
    const fn share_records(&self, keys: usize) -> usize {
        let share_keys = if self.shares == 1 {
            keys
        } else {
            // Shares begin at multiples of a word of a bitmap.
            keys.div_ceil(self.shares).saturating_add(WORD_BITS - 1)
        };
        share_keys.saturating_mul(self.each)
    }

    /// Bytes of scratch memory that all shares of a batch of `keys` take together.
    #[must_use]
    pub const fn bytes_for<R: Record>(&self, keys: usize) -> usize {
        Partitioner::<R>::scratch_bytes_for(self.share_records(keys), self.parts)
            .saturating_mul(self.shares)
    }

    /// How many keys of a batch are grouped at a time: all, or the most whose scratch memory, with the bytes that
    /// `beside` returns for that number of keys, stays within `scratch_bytes`. `None` if a pass is not worth it for
    /// those. A number below `keys` is a multiple of 64.
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
            // Rounded down, so that it comes to an end.
            at_a_time = (at_a_time - at_a_time / 16) / WORD_BITS * WORD_BITS;
        }
        // The same number of batches, of nearly one length.
        let even = keys.div_ceil(keys.div_ceil(at_a_time)).next_multiple_of(WORD_BITS);
        Some(even.min(at_a_time))
    }

    /// Shares for `keys` at a time, in memory that the workers kept. The memory of the shares and the memory that the
    /// workers still keep take at most `most_bytes`, or [`SharePlan::bytes_for`] if that is more.
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is none for the list of the shares.
    pub fn take<R: Record, W: Workers>(
        &self,
        workers: &W,
        keys: usize,
        most_bytes: usize,
    ) -> Result<Shares<R>, OutOfMemory> {
        let records = self.share_records(keys);
        let piece_bytes = Partitioner::<R>::piece_bytes_for(records, self.parts);
        let new_bytes = Storage::memory_bytes_for(piece_bytes);
        let beside =
            self.bytes_for::<R>(keys).saturating_sub(new_bytes.saturating_mul(self.shares));

        let mut partitioners = Vec::new();
        let bytes = self.shares.saturating_mul(size_of::<Partitioner<R>>());
        let refused = OutOfMemory { bytes: bytes as u64 };
        partitioners.try_reserve_exact(self.shares).map_err(|_| refused)?;

        let most_bytes = most_bytes.saturating_sub(beside);
        let request = ScratchRequest { pieces: self.shares, piece_bytes, most_bytes };
        let kept = workers.take_memory(request);
        let memory_bytes = kept
            .iter()
            .map(Storage::memory_bytes)
            .chain(repeat_n(new_bytes, self.shares.saturating_sub(kept.len())))
            .fold(beside, usize::saturating_add);
        let memories = kept.into_iter().map(Some).chain(repeat_with(|| None));
        partitioners.extend(memories.take(self.shares).map(Partitioner::with_memory));
        Ok(Shares { plan: *self, partitioners, memory_bytes })
    }
}

impl<R: Record> Shares<R> {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.partitioners.len()
    }

    /// The hashes of each share. All but the last share have a multiple of 64, so that the answers of a share
    /// are whole words of a bitmap.
    pub fn slices<'h>(&self, hashes: &'h [KeyHash]) -> Vec<&'h [KeyHash]> {
        let shares = self.count();
        let cut = |share| {
            let cut = (hashes.len() as u128 * share as u128 / shares as u128) as usize;
            if share == shares { cut } else { cut / WORD_BITS * WORD_BITS }
        };
        (0..shares).map(|share| &hashes[cut(share)..cut(share + 1)]).collect()
    }

    /// Bytes of scratch memory that all shares hold, once each has grouped its keys.
    #[must_use]
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Gives the memory back to the workers.
    pub fn give_back<W: Workers>(self, workers: &W) {
        for memory in self.partitioners.into_iter().filter_map(Partitioner::into_memory) {
            workers.give_memory(memory);
        }
    }
}

/// Groups a batch share by share: what [`Partitioner::partition_each`] gives for each, in the order of the
/// input.
///
/// # Errors
/// [`OutOfMemory`] if the system refuses the memory of a share.
///
/// # Panics
/// As [`Partitioner::partition_each`].
pub fn partition_shares<'s, W, R, F, I>(
    workers: &W,
    shares: &'s mut Shares<R>,
    hashes: &[KeyHash],
    split: F,
) -> Result<Vec<Partitioned<'s, R>>, OutOfMemory>
where
    W: Workers,
    R: Record,
    F: Fn(u64) -> I + Copy + Send + Sync,
    I: IntoIterator<Item = (usize, R)>,
{
    let slices = shares.slices(hashes);
    let SharePlan { each, parts, .. } = shares.plan;
    let mut done = Vec::new();
    done.resize_with(slices.len(), || None);
    let items = shares.partitioners.iter_mut().zip(slices).zip(&mut done).collect();
    workers.for_each(items, |((partitioner, hashes), done)| {
        *done = Some(partitioner.partition_each(hashes, each, parts, split));
    });
    done.into_iter().map(|share| share.expect("every share was worked on")).collect()
}
