//! Many keys at once.

use crate::filter::CuckooFilter;
use crate::walk::GROUP_KEYS;
use trommel_base::{Full, Insert, KeyHash, Remove};

impl CuckooFilter {
    pub(crate) fn insert_many(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        let mut done = 0;
        while done < hashes.len() {
            let rest = &hashes[done..];
            let group = &rest[..rest.len().min(GROUP_KEYS).min(self.keys_before_growth())];
            self.insert_group(group).map_err(|full| self.full(done + full.inserted, full.why))?;
            done += group.len();
        }
        Ok(())
    }

    fn insert_group(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        if self.is_growth_due() {
            return self.insert_in_order(hashes);
        }
        let mut new = [0; GROUP_KEYS / 64];
        let kernels = self.kernels;
        let placed =
            kernels.insert_group(&mut self.parts(), KeyHash::slice_as_raw(hashes), &mut new);
        self.len += new.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        if placed.is_ok() {
            return Ok(());
        }
        // The keys that found places are any of the group, not its first.
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
