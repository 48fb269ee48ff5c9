//! The faces of filters that have slots: what they can do beyond what every [`Subject`] can.

use crate::subject::Subject;
use anyhow::{Error, Result};
use std::any::Any;
use trommel::{Full, KeyHash};

/// A filter of fingerprints in slots, which forgets keys. Its inserts fail with [`Full`].
///
/// It is a set of fingerprints if it says so; if not, it holds one fingerprint for every key.
pub(crate) trait Slots: Subject + Any {
    /// Fingerprints held.
    fn held(&self) -> usize;

    /// A copy in memory of its own, every page of which has been written.
    fn copy_slots(&self) -> Box<dyn Slots>;

    /// Fills the filter, which is empty, in its fastest way.
    fn bulk(&mut self, hashes: &[KeyHash]) -> Result<()> {
        self.insert_batch(hashes)
    }

    /// Removes one by one; how many were there.
    fn remove_single(&mut self, hashes: &[KeyHash]) -> usize;

    /// What only a set of fingerprints can do, if it is one.
    fn as_set(&self) -> Option<&dyn FingerprintSet> {
        None
    }

    /// The same.
    fn as_set_mut(&mut self) -> Option<&mut dyn FingerprintSet> {
        None
    }
}

/// A filter that holds each fingerprint once, whatever the order in which keys came: it takes in other
/// filters and lists what it holds, and equal lists are equal filters.
pub(crate) trait FingerprintSet {
    /// Takes in a filter of the same type and shape.
    fn merge(&mut self, other: &dyn Slots) -> Result<()>;

    /// Goes through all fingerprints and adds them up: the least that a caller can do with them.
    fn sum(&self) -> Sum;

    /// Goes through all fingerprints: equal for filters that list the same.
    fn digest(&self) -> Digest;
}

/// Whether an insert failed because the filter was full. All other errors are wrong answers.
pub(crate) fn is_full(error: &Error) -> bool {
    error.chain().any(|cause| cause.is::<Full>())
}

/// How many fingerprints, and their sum modulo 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) total: u64,
}

impl Sum {
    /// Of a list.
    #[inline(always)]
    pub(crate) fn of(fingerprints: impl Iterator<Item = u64>) -> Self {
        fingerprints.fold(Self::default(), |sum, fingerprint| Self {
            count: sum.count + 1,
            total: sum.total.wrapping_add(fingerprint),
        })
    }
}

/// A list of fingerprints in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) sum: Sum,
    /// Whether each is larger than the one before: sorted, and a set.
    pub(crate) is_ascending: bool,
    /// A polynomial of them, which depends on their order.
    mixed: u64,
}

impl Digest {
    /// Of a list.
    pub(crate) fn of(fingerprints: impl Iterator<Item = u64>) -> Self {
        let mut last = None;
        let mut digest = Self { sum: Sum::default(), is_ascending: true, mixed: 0 };
        for fingerprint in fingerprints {
            digest.is_ascending &= last.is_none_or(|last| last < fingerprint);
            last = Some(fingerprint);
            digest.sum.count += 1;
            digest.sum.total = digest.sum.total.wrapping_add(fingerprint);
            digest.mixed =
                (digest.mixed ^ fingerprint).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_tell_order_and_copies() {
        let of = |list: &[u64]| Digest::of(list.iter().copied());
        assert!(of(&[]).is_ascending && of(&[1, 5]).is_ascending);
        assert!(!of(&[5, 1]).is_ascending && !of(&[1, 1]).is_ascending);
        assert_eq!(of(&[1, 5]), of(&[1, 5]));
        assert_ne!(of(&[0, 6]), of(&[1, 5]));
        assert_eq!(of(&[1, 5]).sum, Sum::of([5, 1].into_iter()));
    }
}
