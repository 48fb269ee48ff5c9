//! Insert: takes a free entry, or kicks fingerprints until one of them finds a free entry.

use super::buckets::{Buckets, Entry};
use super::shape::check;
use crate::random::Random;
use alloc::vec::Vec;
use trommel_base::SpecError;

/// The default number of kicks after which an insert fails: 500, as in the paper.
pub const DEFAULT_MAX_KICKS: u32 = 500;
/// The highest permitted kick limit. It bounds the memory of an insert, which records its kicks.
pub const MAX_KICKS: u32 = 1 << 20;

/// The kick limit of an insert, the random source that chooses the fingerprints to kick out, and the number of all
/// kicks so far. Records the kicks of the insert in progress, so that they can be undone.
#[derive(Clone, Debug)]
pub struct Kicks {
    limit: u32,
    random: Random,
    path: Vec<Entry>,
    total: u64,
}

impl Default for Kicks {
    /// A limit of [`DEFAULT_MAX_KICKS`], and seed 0.
    fn default() -> Self {
        Self { limit: DEFAULT_MAX_KICKS, random: Random::new(0), path: Vec::new(), total: 0 }
    }
}

impl Kicks {
    /// Allows up to `limit` kicks per insert. A generator that starts from `seed` chooses the entries to kick.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless the limit is 1 to [`MAX_KICKS`].
    pub fn new(limit: u32, seed: u64) -> Result<Self, SpecError> {
        check("max_kicks", limit, MAX_KICKS)?;
        Ok(Self { limit, random: Random::new(seed), ..Self::default() })
    }

    /// The number of kicks by all inserts, including kicks that were undone.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Buckets {
    /// Inserts a fingerprint into a free entry of its `primary` or its alternate bucket, or into an entry that kicks
    /// have made free. `alternate(bucket, fingerprint)` is the bucket to which a fingerprint goes when it is kicked out
    /// of `bucket`. If the insert needs more kicks than are allowed, it moves every fingerprint back to its entry and
    /// returns false.
    ///
    /// Cost: reads at most two buckets, and one more per kick; undoing the kicks costs one write per kick.
    ///
    /// Source: Fan et al., CoNEXT 2014, algorithm 1, which does not undo its kicks.
    ///
    /// # Panics
    /// If the fingerprint is 0 or too long, or if the insert reads a bucket that does not exist: `primary`, or one that
    /// `alternate` returns.
    pub fn insert(
        &mut self,
        fingerprint: u32,
        primary: u64,
        kicks: &mut Kicks,
        alternate: impl Fn(u64, u32) -> u64,
    ) -> bool {
        assert!(!self.is_impossible(fingerprint), "fingerprint {fingerprint:#x} is 0 or too long");
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
