//! Filters that can be resized without their keys: a resize keeps every fingerprint.

use super::exact::{assert_holds, listed};
use super::{answers, answers_singly, assert_all_found, fill, fill_up};
use crate::Splitmix;
use crate::sizes::clamped;
use crate::streams::{Disjoint, distinct};
use crate::subject::{Resize, built, spec};
use std::collections::BTreeMap;
use trommel_base::{Count, Filter, Insert, KeyHash, Merge, Remove};
use trommel_simd::Isa;

/// The number of keys that the filters are planned for: not a power of two, and not a multiple of the number of
/// slots in a block.
const KEYS: usize = 613;

struct Sample<S: Resize> {
    filter: S::Filter,
    held: BTreeMap<u64, u64>,
    members: Vec<KeyHash>,
    absent: Vec<KeyHash>,
}

impl<S: Resize> Sample<S> {
    /// A filter with [`KEYS`] inserts, the number that it is planned for. 40 of the keys are inserted twice.
    fn new(isa: Isa) -> Self {
        let Disjoint { mut members, absent } = Disjoint::new(91, KEYS - 40, 4000);
        members.extend_from_within(..40);
        let mut filter = built::<S>(&spec(KEYS, 0.002, isa));
        fill::<S>(&mut filter, &members);
        let held = S::held(&filter, &members);
        Self { filter, held, members, absent }
    }

    /// Fails unless the resized filter holds the same fingerprints as the sample's filter and gives the same answers.
    fn assert_same(&self, resized: &S::Filter, what: &str) {
        assert_holds::<S>(resized, &self.held, what);
        assert_all_found(resized, &self.members, what);
        let expected = answers_singly(&self.filter, &self.absent);
        assert_eq!(answers(resized, &self.absent), expected, "{what}: a batch of absent keys");
        assert_eq!(answers_singly(resized, &self.absent), expected, "{what}: single absent keys");
        for hash in self.members.iter().chain(&self.absent[..100]) {
            let copies = self.held.get(&S::fingerprint(resized, *hash)).copied().unwrap_or(0);
            assert_eq!(resized.count_hash(*hash), copies, "{what}: the count of {hash:?}");
        }
        assert_eq!(resized.expected_fpr().to_bits(), self.filter.expected_fpr().to_bits());
        let bytes = S::to_bytes(resized);
        let read = S::from_bytes(&bytes).unwrap();
        assert!(S::to_bytes(&read) == bytes && S::fingerprints(&read) == listed(&self.held));
        assert_eq!(answers(&S::view(&bytes).unwrap(), &self.absent), expected);
    }
}

/// A filter that is doubled several times keeps its fingerprints, and its answers for present and absent keys.
pub fn growing_keeps_every_fingerprint<S: Resize>(isa: Isa) {
    let sample = Sample::<S>::new(isa);
    let mut filter = sample.filter.clone();
    for doublings in 1..=6 {
        let slots = S::slots(&filter);
        S::grow(&mut filter).unwrap();
        assert_eq!(S::slots(&filter), 2 * slots);
        assert_eq!(S::isa(&filter), isa);
        sample.assert_same(&filter, &format!("{doublings} doublings on {isa}"));
    }
}

/// A filter that is resized several times keeps every fingerprint. Each resize changes the number of keys that have
/// room in the filter, up or down, and never to a multiple of the number before.
pub fn any_size_keeps_every_fingerprint<S: Resize>(isa: Isa) {
    let sample = Sample::<S>::new(isa);
    let mut filter = sample.filter.clone();
    for keys in [614, 700, 1000, 1226, 613, 5001, 4096, 2000, 999, 20_011, 620] {
        S::resize(&mut filter, keys).unwrap();
        assert!(S::slots(&filter) as f64 * 0.95 >= keys as f64);
        sample.assert_same(&filter, &format!("room for {keys} on {isa}"));
    }
    S::shrink_to_fit(&mut filter).unwrap();
    sample.assert_same(&filter, &format!("shrunk on {isa}"));
}

/// After a resize, keys can be counted and removed as before, and inserted until the filter is full.
pub fn a_resized_filter_takes_and_forgets_keys<S: Resize>(isa: Isa) {
    let sample = Sample::<S>::new(isa);
    let mut random = Splitmix::new(92);
    for keys in [1300, 2452, 777, 3001] {
        let mut filter = sample.filter.clone();
        S::resize(&mut filter, keys).unwrap();
        let mut held = sample.held.clone();
        let fresh = distinct(93, 0..(keys - KEYS) as u64);
        fill::<S>(&mut filter, &fresh);
        for hash in &fresh {
            let copies = held.entry(S::fingerprint(&filter, *hash)).or_default();
            *copies = S::copies().min(*copies + 1);
        }
        assert_holds::<S>(&filter, &held, &format!("{keys} keys on {isa}"));
        let mut gone: Vec<u64> = listed(&held);
        gone.retain(|_| random.below(3) > 0);
        for f in gone {
            let hash = S::hash_of(&filter, f);
            assert!(filter.remove_hash(hash));
            let left = held.remove(&f).unwrap() - 1;
            if left > 0 {
                held.insert(f, left);
            }
            assert_eq!((filter.count_hash(hash), filter.contains_hash(hash)), (left, left > 0));
        }
        assert_holds::<S>(&filter, &held, &format!("some of {keys} keys gone on {isa}"));
        // The bytes are those of a filter that was resized while it was empty, and then got the fingerprints that are
        // left.
        let mut fresh = sample.filter.clone();
        for f in S::fingerprints(&sample.filter) {
            assert!(fresh.remove_hash(S::hash_of(&sample.filter, f)));
        }
        S::resize(&mut fresh, keys).unwrap();
        let hashes: Vec<KeyHash> =
            listed(&held).into_iter().map(|f| S::hash_of(&filter, f)).collect();
        fresh.insert_batch(&hashes).unwrap();
        assert!(S::to_bytes(&fresh) == S::to_bytes(&filter));
        // After a batch that fills the filter up, every key that the filter holds is still found.
        let more = distinct(94, 0..2 * keys as u64 + 500);
        let taken = fill_up::<S>(&mut filter, &more);
        assert!(taken < more.len() && filter.len() >= keys);
        assert_all_found(&filter, &more[..taken], "filled up");
        assert_all_found(&filter, &hashes, "filled up");
    }
}

/// A filter that is resized to another size and back has the same bytes as before.
pub fn there_and_back_is_the_same_filter<S: Resize>() {
    let sample = Sample::<S>::new(Isa::Portable);
    let before = S::to_bytes(&sample.filter);
    for keys in [700, 1226, 1839, 5000, 30_000] {
        let mut filter = sample.filter.clone();
        S::resize(&mut filter, keys).unwrap();
        S::resize(&mut filter, KEYS).unwrap();
        assert!(
            S::to_bytes(&filter) == before,
            "a resize to room for {keys} and back changes the bytes"
        );
    }
    let mut filter = sample.filter.clone();
    (0..4).for_each(|_| S::grow(&mut filter).unwrap());
    S::resize(&mut filter, KEYS).unwrap();
    assert!(S::to_bytes(&filter) == before, "four doublings and a resize back change the bytes");
}

/// A resize to room for fewer keys than the filter holds, or for more than any filter can hold, is an error and does
/// not change the bytes.
pub fn too_small_a_size_is_refused<S: Resize>() {
    let mut filter = Sample::<S>::new(Isa::Portable).filter;
    let before = S::to_bytes(&filter);
    let len = filter.len();
    for keys in [0, 1, len / 2, len - 1, usize::MAX, clamped(1 << 60)] {
        let error = S::resize(&mut filter, keys).unwrap_err();
        assert!(!error.to_string().is_empty());
        assert!(
            S::to_bytes(&filter) == before,
            "a refused resize to {keys} keys changed the bytes: {error}"
        );
    }
    S::resize(&mut filter, len).unwrap();
    assert_eq!(filter.len(), len);
}

/// Filters that once had the same size can be merged after they were resized to different sizes, even if their loads
/// differ. The result has the size of the left filter, into which the right filter is merged.
pub fn filters_of_unlike_sizes_merge<S: Resize>() {
    let empty = built::<S>(&spec(KEYS, 0.002, Isa::Portable));
    for (left_keys, right_keys) in [(1400, 613), (1226, 2001), (3000, 1400)] {
        let parts = [distinct(95, 0..700), distinct(95, 400..1000)];
        let [mut left, right] =
            [(left_keys, &parts[0]), (right_keys, &parts[1])].map(|(keys, part)| {
                let mut filter = empty.clone();
                S::resize(&mut filter, keys).unwrap();
                fill::<S>(&mut filter, part);
                filter
            });
        let slots = S::slots(&left);
        let other = S::to_bytes(&right);
        left.merge(&right).unwrap();
        assert_eq!(S::slots(&left), slots);
        assert!(S::to_bytes(&right) == other, "the merge changed the other filter");
        let both = parts.concat();
        assert_holds::<S>(&left, &S::held(&empty, &both), "merged");
        assert_all_found(&left, &both, "merged");
    }
}
