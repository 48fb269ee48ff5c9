//! `qfilter`: a rank-and-select quotient filter. Its methods `insert_fingerprint`,
//! `contains_fingerprint` and so on accept a whole hash, and use only its low bits. The number of
//! slots is a power of two. The filter fills at most 95 % of its slots.

use super::Size;
use super::parallel::Shard;
use crate::measure::keys::Column;
use crate::measure::slots::{Digest, FingerprintSet, Slots, Sum};
use crate::measure::subject::{Scratch, Subject, answer_each};
use crate::model::Filling;
use anyhow::{Context as _, Result, ensure};
use qfilter::{Builder, Filter, truncate_to_fingerprint};
use std::any::Any;
use trommel::{Bitmap, KeyHash};

#[derive(Clone, Debug)]
pub(super) struct Qfilter {
    filter: Filter,
    slots: usize,
}

impl Qfilter {
    /// Creates a filter for a number of keys and a false-positive rate. The number of slots becomes a power of two.
    pub(super) fn new(size: &Size) -> Result<Self> {
        let fpr = size.fpr.context("qfilter is sized by a false-positive rate or by slots")?;
        Self::for_keys(size.keys, fpr)
    }

    /// Creates a filter with exactly the slots and remainder bits of `filling`. The number of slots must be a power of
    /// two.
    pub(super) fn with_slots(filling: &Filling) -> Result<Self> {
        let fpr = 2f64.powi(-(filling.bits as i32));
        let created = Self::for_keys((filling.slots * 19).div_ceil(20), fpr)?;
        ensure!(
            created.slots == filling.slots && created.remainder_bits() == filling.bits,
            "qfilter created {} slots of {} bits",
            created.slots,
            created.remainder_bits()
        );
        Ok(created)
    }

    fn for_keys(keys: usize, fpr: f64) -> Result<Self> {
        let filter = Filter::new(keys as u64, fpr)?;
        // The filter reports its capacity, which is 95 % of its slots, but not the number of slots.
        let slots = 1 << (filter.capacity() * 20 / 19).ilog2();
        Ok(Self { filter, slots })
    }

    fn remainder_bits(&self) -> u32 {
        u32::from(self.filter.fingerprint_size()) - self.slots.ilog2()
    }
}

impl Subject for Qfilter {
    fn memory_bytes(&self) -> usize {
        self.filter.memory_usage()
    }

    fn load_factor(&self) -> Option<f64> {
        Some(self.filter.len() as f64 / self.slots as f64)
    }

    fn expected_fpr(&self, _keys: usize) -> Option<f64> {
        Some(self.filter.current_error_ratio())
    }

    fn copy(&self) -> Box<dyn Subject> {
        Box::new(self.clone())
    }

    fn insert_single(&mut self, hashes: &[KeyHash]) -> Result<()> {
        for hash in hashes {
            self.filter.insert_fingerprint(false, hash.raw())?;
        }
        Ok(())
    }

    fn count_single(&self, hashes: &[KeyHash]) -> usize {
        let contains = |hash: &KeyHash| self.filter.contains_fingerprint(hash.raw());
        hashes.iter().map(|hash| usize::from(contains(hash))).sum()
    }

    fn answer_single(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        answer_each(hashes, answers, |hash| self.filter.contains_fingerprint(hash.raw()));
    }

    fn insert_keys(&mut self, keys: &Column) -> Result<()> {
        match keys {
            Column::Integers(keys) => {
                for key in keys {
                    self.filter.insert(key)?;
                }
            }
            Column::Strings(keys) => {
                for key in keys {
                    self.filter.insert(key)?;
                }
            }
        }
        Ok(())
    }

    fn count_keys(&self, keys: &Column, _scratch: &mut Scratch) -> usize {
        match keys {
            Column::Integers(keys) => {
                keys.iter().map(|key| usize::from(self.filter.contains(key))).sum()
            }
            Column::Strings(keys) => {
                keys.iter().map(|key| usize::from(self.filter.contains(key))).sum()
            }
        }
    }

    fn answer_keys(&self, keys: &Column, answers: &mut Bitmap) {
        match keys {
            Column::Integers(keys) => answer_each(keys, answers, |key| self.filter.contains(key)),
            Column::Strings(keys) => answer_each(keys, answers, |key| self.filter.contains(key)),
        }
    }
}

impl Shard for Qfilter {
    fn bytes(&self) -> usize {
        self.filter.memory_usage()
    }

    fn load_factor(&self) -> Option<f64> {
        Subject::load_factor(self)
    }

    #[inline]
    fn insert(&mut self, hash: u64) -> bool {
        self.filter.insert_fingerprint(false, hash).is_ok()
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        self.filter.contains_fingerprint(hash)
    }

    fn clear(&mut self) {
        self.filter.clear();
    }
}

impl Slots for Qfilter {
    fn held(&self) -> usize {
        self.filter.len() as usize
    }

    fn copy_slots(&self) -> Box<dyn Slots> {
        Box::new(self.clone())
    }

    /// Uses the crate's builder, which takes fingerprints in ascending order. Even with the time for sorting, this is
    /// faster than single inserts.
    fn bulk(&mut self, hashes: &[KeyHash]) -> Result<()> {
        let bits = self.filter.fingerprint_size();
        let mut fingerprints: Vec<u64> =
            hashes.iter().map(|hash| truncate_to_fingerprint(hash.raw(), bits)).collect();
        fingerprints.sort_unstable();
        // The builder takes the filter by value, so a tiny filter takes its place in `self` during the build.
        let filter = std::mem::replace(&mut self.filter, Filter::new(1, 0.5)?);
        let mut builder = Builder::new(filter);
        for fingerprint in fingerprints {
            builder.insert_fingerprint(false, fingerprint)?;
        }
        self.filter = builder.into_filter();
        Ok(())
    }

    fn remove_single(&mut self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.filter.remove_fingerprint(hash.raw()))).sum()
    }

    fn as_set(&self) -> Option<&dyn FingerprintSet> {
        Some(self)
    }

    fn as_set_mut(&mut self) -> Option<&mut dyn FingerprintSet> {
        Some(self)
    }
}

impl FingerprintSet for Qfilter {
    fn merge(&mut self, other: &dyn Slots) -> Result<()> {
        let other =
            (other as &dyn Any).downcast_ref::<Self>().context("filters of different types")?;
        Ok(self.filter.merge(false, &other.filter)?)
    }

    fn sum(&self) -> Sum {
        Sum::of(self.filter.fingerprints())
    }

    fn digest(&self) -> Digest {
        Digest::of(self.filter.fingerprints())
    }
}
