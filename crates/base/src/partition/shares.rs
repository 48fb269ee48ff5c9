//! One pass by several threads.

use super::{MAX_HASHES, Partitioned, Partitioner, Record};
use crate::storage::OutOfMemory;
use crate::{KeyHash, Workers};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// Shares for every thread, if there is enough for so many: who is done early takes another.
const SHARES_PER_THREAD: usize = 4;
/// The fewest records of a share for each part: with fewer, to go from part to part costs more than to share.
const FEWEST_RECORDS_PER_PART: usize = 64;

/// The fewest records for each part that a pass is worth: with fewer, there is next to nothing in a part to be
/// worked on in cache.
pub const FEWEST_PASSED_PER_PART: usize = 8;

/// The least and the most scratch memory of chunks of keys for tables that are not huge.
const CHUNK_BYTES: RangeInclusive<usize> = 256 << 20..=1 << 30;

/// The most scratch memory that a batch of records is worth which a table of so many bytes takes chunk by chunk: as
/// much as the table, so that a line gets seven records at a time; of huge tables a quarter.
///
/// 1e8 keys into 1 GiB, on a Cascade Lake core: 11.1 ns each with 1 GiB, 12.3 with 512 MiB, 14.2 with 256 MiB; looked up,
/// 10.0, 11.1 and 12.4; on two cores about half. Memory that is touched for the first time makes that 18.6, 15.9
/// and 15.9, which is why an engine keeps it.
#[must_use]
pub fn chunk_bytes(table_bytes: usize) -> usize {
    table_bytes.clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()).max(table_bytes / 4)
}

/// A batch in shares, each with a partitioner of its own.
#[derive(Debug)]
pub struct Shares<R> {
    partitioners: Vec<Partitioner<R>>,
}

impl<R: Record> Shares<R> {
    /// As many shares as suit a batch of so many records in so many parts; one for one thread.
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is none for their list.
    pub fn new<W: Workers>(workers: &W, records: usize, parts: usize) -> Result<Self, OutOfMemory> {
        let threads = workers.threads().max(1);
        let worthwhile = records / FEWEST_RECORDS_PER_PART / parts.max(1);
        let shares = match threads {
            1 => 1,
            _ if worthwhile >= SHARES_PER_THREAD * threads => SHARES_PER_THREAD * threads,
            _ => worthwhile.clamp(1, threads),
        };
        let shares = shares.max(records.div_ceil(MAX_HASHES));
        let mut partitioners = Vec::new();
        let bytes = shares.saturating_mul(size_of::<Partitioner<R>>()) as u64;
        partitioners.try_reserve_exact(shares).map_err(|_| OutOfMemory { bytes })?;
        let memories = core::iter::repeat_with(|| workers.take_memory());
        partitioners.extend(memories.take(shares).map(Partitioner::with_memory));
        Ok(Self { partitioners })
    }

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
            if share == shares { cut } else { cut / 64 * 64 }
        };
        (0..shares).map(|share| &hashes[cut(share)..cut(share + 1)]).collect()
    }

    /// Bytes of scratch memory that so many records in so many parts take, in all shares.
    #[must_use]
    pub fn bytes_for(&self, records: usize, parts: usize) -> usize {
        let shares = self.partitioners.len();
        Partitioner::<R>::scratch_bytes_for(records.div_ceil(shares), parts).saturating_mul(shares)
    }

    /// How many keys of a batch, with `each` records, are grouped at a time: all, or as many as leave scratch
    /// memory and what `beside` says that so many keys take besides within `scratch_bytes`. `None` if those are
    /// too few to be worth a pass. Fewer than all are a multiple of 64.
    pub fn keys_at_a_time(
        &self,
        keys: usize,
        each: usize,
        parts: usize,
        scratch_bytes: usize,
        beside: impl Fn(usize) -> usize,
    ) -> Option<usize> {
        let mut keys = keys;
        loop {
            let records = keys.saturating_mul(each);
            if records < parts.saturating_mul(FEWEST_PASSED_PER_PART).max(1) {
                return None;
            }
            let bytes = || self.bytes_for(records, parts).saturating_add(beside(keys));
            if records <= MAX_HASHES && bytes() <= scratch_bytes {
                return Some(keys);
            }
            // Rounded down, so that it comes to an end.
            keys = keys / 2 / 64 * 64;
        }
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
    each: usize,
    parts: usize,
    split: F,
) -> Result<Vec<Partitioned<'s, R>>, OutOfMemory>
where
    W: Workers,
    R: Record,
    F: Fn(u64) -> I + Copy + Send + Sync,
    I: IntoIterator<Item = (usize, R)>,
{
    let slices = shares.slices(hashes);
    let mut done = Vec::new();
    done.resize_with(slices.len(), || None);
    let items = shares.partitioners.iter_mut().zip(slices).zip(&mut done).collect();
    workers.for_each(items, |((partitioner, hashes), done)| {
        *done = Some(partitioner.partition_each(hashes, each, parts, split));
    });
    done.into_iter().map(|share| share.expect("every share was worked on")).collect()
}
