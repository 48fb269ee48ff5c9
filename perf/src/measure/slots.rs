//! The interfaces of filters that have slots: operations that a [`Subject`] need not have.

use crate::measure::subject::Subject;
use anyhow::{Error, Result};
use std::any::Any;
use trommel::{Full, KeyHash};

/// A filter that stores fingerprints in slots and can remove keys. An insert into a full filter fails with [`Full`];
/// only `qfilter` fails with another error, but no case fills it beyond its limit, 95 % of its slots.
///
/// If [`Self::as_set`] returns `Some`, the filter is a set of fingerprints; otherwise it holds one fingerprint per key.
pub(crate) trait Slots: Subject + Any {
    /// Returns the number of fingerprints that the filter holds.
    fn held(&self) -> usize;

    /// Returns a copy whose memory pages have all been written, so that they are mapped.
    fn copy_slots(&self) -> Box<dyn Slots>;

    /// Fills the filter, which must be empty, in its fastest way.
    fn bulk(&mut self, hashes: &[KeyHash]) -> Result<()> {
        self.insert_batch(hashes)
    }

    /// Removes keys one by one and returns the number of keys that were found.
    fn remove_single(&mut self, hashes: &[KeyHash]) -> usize;

    /// Returns the filter as a set of fingerprints, if it is one.
    fn as_set(&self) -> Option<&dyn FingerprintSet> {
        None
    }

    /// Returns the filter as a mutable set of fingerprints, if it is one.
    fn as_set_mut(&mut self) -> Option<&mut dyn FingerprintSet> {
        None
    }
}

/// A filter that holds each fingerprint once, and whose content does not depend on the order of inserts. It can be
/// merged with another and can list its fingerprints. Filters that list the same fingerprints are equal.
pub(crate) trait FingerprintSet {
    /// Merges a filter of the same type and shape into this one.
    fn merge(&mut self, other: &dyn Slots) -> Result<()>;

    /// Iterates over all fingerprints and adds them up: the least work that a caller can do with them.
    fn sum(&self) -> Sum;

    /// Iterates over all fingerprints and digests them. Filters that list the same fingerprints have equal digests.
    fn digest(&self) -> Digest;
}

/// Whether an insert failed because the filter was full. Any other error ends the run.
pub(crate) fn is_full(error: &Error) -> bool {
    error.chain().any(|cause| cause.is::<Full>())
}

/// The number of fingerprints and their sum modulo 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) total: u64,
}

impl Sum {
    /// Sums up a list.
    #[inline(always)]
    pub(crate) fn of(fingerprints: impl Iterator<Item = u64>) -> Self {
        fingerprints.fold(Self::default(), |sum, fingerprint| Self {
            count: sum.count + 1,
            total: sum.total.wrapping_add(fingerprint),
        })
    }
}

/// Numbers that identify a list of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) sum: Sum,
    /// Whether each fingerprint is larger than the one before: the list is then sorted and has no duplicates.
    pub(crate) is_ascending: bool,
    /// A hash of the fingerprints that depends on their order.
    mixed: u64,
}

impl Digest {
    /// Digests a list.
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
    fn digests_depend_on_order_and_tell_duplicates() {
        let digest = |list: &[u64]| Digest::of(list.iter().copied());
        assert!(digest(&[]).is_ascending && digest(&[1, 5]).is_ascending);
        assert!(!digest(&[5, 1]).is_ascending && !digest(&[1, 1]).is_ascending);
        assert_eq!(digest(&[1, 5]), digest(&[1, 5]));
        assert_ne!(digest(&[0, 6]), digest(&[1, 5]));
        assert_eq!(digest(&[1, 5]).sum, Sum::of([5, 1].into_iter()));
    }
}
