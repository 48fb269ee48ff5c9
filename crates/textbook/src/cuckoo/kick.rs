//! Insert: a free entry, or kicks until there is one.

use super::buckets::{Buckets, Entry};
use super::shape::check;
use crate::random::Random;
use alloc::vec::Vec;
use trommel_base::SpecError;

/// Kicks after which a table counts as full, unless said otherwise: the paper's 500.
pub const DEFAULT_MAX_KICKS: u32 = 500;
/// The highest limit that can be asked for. Every kick is remembered until the insert has ended.
pub const MAX_KICKS: u32 = 1 << 20;

/// How to kick: how often, whom, and the way back.
#[derive(Clone, Debug)]
pub struct Kicks {
    limit: u32,
    random: Random,
    path: Vec<Entry>,
    total: u64,
}

impl Default for Kicks {
    /// [`DEFAULT_MAX_KICKS`], and seed 0.
    fn default() -> Self {
        Self { limit: DEFAULT_MAX_KICKS, random: Random::new(0), path: Vec::new(), total: 0 }
    }
}

impl Kicks {
    /// Up to `limit` kicks an insert, of entries drawn from a seed.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless the limit is 1 to [`MAX_KICKS`].
    pub fn new(limit: u32, seed: u64) -> Result<Self, SpecError> {
        check("max_kicks", limit, MAX_KICKS)?;
        Ok(Self { limit, random: Random::new(seed), ..Self::default() })
    }

    /// Kicks of all inserts, those that were undone included.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Buckets {
    /// Puts a fingerprint into its `primary` bucket, into its alternate one, or, after kicks, into the
    /// place of another. `alternate(bucket, fingerprint)` is where a fingerprint goes that is kicked
    /// out of a bucket. False, and every fingerprint where it was, if that needs more kicks than are
    /// allowed.
    ///
    /// Cost: two buckets, and one more a kick; as much again to undo them.
    ///
    /// Source: Fan et al., CoNEXT 2014, algorithm 1. The undoing is ours.
    ///
    /// # Panics
    /// If the fingerprint is 0 or too long, or there is no such bucket.
    pub fn insert(
        &mut self,
        fingerprint: u32,
        primary: u64,
        kicks: &mut Kicks,
        alternate: impl Fn(u64, u32) -> u64,
    ) -> bool {
        assert!(!self.is_impossible(fingerprint), "{fingerprint:#x} is no fingerprint here");
        let buckets = [primary, alternate(primary, fingerprint)];
        if let Some(free) = buckets.into_iter().find_map(|bucket| self.free_entry(bucket)) {
            self.swap(free, fingerprint);
            return true;
        }

        kicks.path.clear();
        let mut homeless = fingerprint;
        let mut bucket = buckets[kicks.random.below(2) as usize];
        for _ in 0..kicks.limit {
            let index = kicks.random.below(self.bucket_entries().into()) as u32;
            let entry = Entry { bucket, index };
            homeless = self.swap(entry, homeless);
            kicks.path.push(entry);
            kicks.total += 1;
            bucket = alternate(bucket, homeless);
            if let Some(free) = self.free_entry(bucket) {
                self.swap(free, homeless);
                return true;
            }
        }
        while let Some(entry) = kicks.path.pop() {
            homeless = self.swap(entry, homeless);
        }
        debug_assert_eq!(homeless, fingerprint);
        false
    }
}
