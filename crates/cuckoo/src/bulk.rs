//! Inserts of many keys: as a bulk build (`build/`) if the filter is empty and the batch is large, otherwise in blocks
//! of sixteen keys (`evict::batch`), or key by key if the filter is about to grow or if the blocks do not find room for
//! all of their keys.

use crate::evict::batch::CHUNK_KEYS;
use crate::filter::CuckooFilter;
use trommel_base::{Bulk, Full, Insert, InsertBulk, KeyHash, Remove};

/// A batch into an empty filter is a *bulk build* if it has keys for at least half of the slots. In a table of more
/// than 2 MiB, keys for an eighth of the slots are enough. A build partitions the keys, then fills pieces of the table
/// on all threads. There is no build if the batch has more keys than the table has slots, or more than the filter takes
/// before it grows, or if the table has fewer than 2^12 or more than 2^29 buckets. Any batch that is not a build is
/// inserted by the caller's thread alone.
///
/// A build usually takes 6 to 8 bytes of memory per key, or 11 to 15 if fingerprints have 32 bits; with many threads
/// and few keys per thread, it can take twice as much. It also takes up to 21 MB for every thread that works, or up to
/// `2^d` times as much in a filter that was doubled `d` times. If the memory is enough for only some of the threads,
/// no more than these work at a time. If there is too little memory for one thread, if the system refuses the
/// memory, or if far more keys share buckets than with uniform hashes, the batch is inserted without a build. The
/// filter then holds the same keys as after a build, but in other slots. A set can then also have another number of
/// fingerprints.
impl InsertBulk for CuckooFilter {
    fn insert_bulk(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        if self.try_build(hashes, bulk) {
            return Ok(());
        }
        let mut done = 0;
        while done < hashes.len() {
            let rest = &hashes[done..];
            let group = &rest[..rest.len().min(CHUNK_KEYS).min(self.keys_before_growth())];
            self.insert_batch(group).map_err(|full| self.full(done + full.inserted, full.why))?;
            done += group.len();
        }
        Ok(())
    }
}

impl CuckooFilter {
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        if self.is_growth_due() {
            return self.insert_in_order(hashes);
        }
        let mut new = [0; CHUNK_KEYS / 64];
        let kernels = self.kernels;
        let placed =
            kernels.insert_batch(&mut self.parts(), KeyHash::slice_as_raw(hashes), &mut new);
        self.len += new.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        if placed.is_ok() {
            return Ok(());
        }
        // Some of the keys in `hashes` are in the filter, but these are not always the first keys. After an error, the
        // filter must hold exactly those keys of `hashes` that come before the refused key. So remove the new keys
        // again, and insert all keys one by one.
        for (i, hash) in hashes.iter().enumerate() {
            if new[i / 64] >> (i % 64) & 1 == 1 {
                self.remove_hash(*hash);
            }
        }
        self.insert_in_order(hashes)
    }

    fn insert_in_order(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        for (i, hash) in hashes.iter().enumerate() {
            self.insert_hash(*hash).map_err(|full| self.full(i, full.why))?;
        }
        Ok(())
    }
}
