//! The truth that a filter approximates: an exact multiset of hashes.

use std::collections::HashMap;
use trommel_base::KeyHash;

/// The number of copies of each hash that were inserted and not yet removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multiset {
    counts: HashMap<u64, u64>,
    len: usize,
}

impl Multiset {
    /// Inserts one copy.
    pub fn insert(&mut self, hash: KeyHash) {
        *self.counts.entry(hash.raw()).or_default() += 1;
        self.len += 1;
    }

    /// Removes one copy. Returns false if there is none.
    pub fn remove(&mut self, hash: KeyHash) -> bool {
        let Some(count) = self.counts.get_mut(&hash.raw()) else { return false };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&hash.raw());
        }
        self.len -= 1;
        true
    }

    /// The number of copies of a hash.
    #[must_use]
    pub fn count(&self, hash: KeyHash) -> u64 {
        self.counts.get(&hash.raw()).copied().unwrap_or(0)
    }

    /// Whether there is a copy of a hash.
    #[must_use]
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.count(hash) > 0
    }

    /// The number of copies of all hashes together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no copies of any hash.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Every hash with its number of copies, in ascending order of the hashes, so that a test that iterates over the
    /// entries is repeatable.
    #[must_use]
    pub fn entries(&self) -> Vec<(KeyHash, u64)> {
        let mut entries: Vec<_> =
            self.counts.iter().map(|(hash, count)| (KeyHash::from_raw(*hash), *count)).collect();
        entries.sort_unstable();
        entries
    }
}

impl FromIterator<KeyHash> for Multiset {
    fn from_iter<I: IntoIterator<Item = KeyHash>>(hashes: I) -> Self {
        let mut multiset = Self::default();
        hashes.into_iter().for_each(|hash| multiset.insert(hash));
        multiset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_counted_in_and_out() {
        let [a, b] = [1, 2].map(KeyHash::from_raw);
        let mut multiset: Multiset = [a, b, a].into_iter().collect();
        assert_eq!((multiset.count(a), multiset.count(b), multiset.len()), (2, 1, 3));
        assert_eq!(multiset.entries(), [(a, 2), (b, 1)]);
        assert!(multiset.remove(a) && multiset.contains(a));
        assert!(multiset.remove(a) && !multiset.contains(a));
        assert!(!multiset.remove(a) && multiset.len() == 1);
        assert!(multiset.remove(b) && multiset.is_empty());
        assert_eq!(multiset, Multiset::default());
    }
}
