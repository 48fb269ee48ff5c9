//! An `AnyFilter` and a `FilterView` have the capabilities of the kind of filter that they hold.

use std::sync::Arc;
use trommel::error::FoldError;
use trommel::{
    AnyFilter, BloomFilter, Filter, FilterKind, FilterSpec, FilterView, Insert, KeyHash,
    MergeError, SplitBlockBloom, Unsupported,
};
use trommel_testkit::streams::distinct;

const KEYS: usize = 4000;

fn hashes(seed: u64) -> Vec<KeyHash> {
    distinct(seed, 0..KEYS as u64)
}

fn empty(kind: FilterKind) -> AnyFilter {
    let spec = FilterSpec::new(kind).keys(2 * KEYS).fpr(0.01);
    let folds = matches!(
        kind,
        FilterKind::Bloom
            | FilterKind::RegisterBloom
            | FilterKind::SplitBlockBloom
            | FilterKind::CacheLineBloom
    );
    if folds { spec.foldable_by(4).build().unwrap() } else { spec.build().unwrap() }
}

fn filled(kind: FilterKind, hashes: &[KeyHash]) -> AnyFilter {
    let mut filter = empty(kind);
    filter.insert_batch(hashes).unwrap();
    filter
}

/// Checks a filled filter of each kind, and the view of its bytes.
fn for_each_view(check: impl Fn(FilterKind, &AnyFilter, &FilterView<'_>)) {
    for kind in FilterKind::ALL {
        let filter = filled(*kind, &hashes(1));
        check(*kind, &filter, &FilterView::parse(&filter.to_bytes()).unwrap());
    }
}

#[test]
fn a_cleared_filter_is_as_new() {
    for kind in FilterKind::ALL {
        let mut filter = filled(*kind, &hashes(1));
        assert!(!filter.is_empty());
        filter.clear();
        assert!(
            filter.is_empty() && filter.to_bytes() == empty(*kind).to_bytes(),
            "{kind} kept a key"
        );
    }
}

#[test]
fn every_filter_has_either_a_hash_count_or_a_load_factor() {
    for_each_view(|kind, filter, view| {
        assert_eq!(filter.hash_count().is_some(), filter.load_factor().is_none(), "{kind}");
        if let Some(load) = filter.load_factor() {
            assert!(load > 0.2 && load <= 0.55, "{kind}: load {load}");
            assert_eq!(filter.estimate_len(), filter.len() as f64, "{kind}");
        }
        assert!(
            (filter.estimate_len() / KEYS as f64 - 1.0).abs() < 0.05,
            "{kind}: a wrong estimate"
        );
        assert_eq!(view.hash_count(), filter.hash_count(), "{kind}");
        assert_eq!(view.load_factor(), filter.load_factor(), "{kind}");
        assert_eq!(view.estimate_len(), filter.estimate_len(), "{kind}");
        assert_eq!((view.kind(), view.isa()), (filter.kind(), filter.isa()));
        assert!(view.to_bytes() == filter.to_bytes(), "{kind}: the bytes differ");
    });
}

#[test]
fn views_count_as_their_filters_do() {
    for_each_view(|kind, filter, view| {
        for hash in hashes(1).iter().chain(&hashes(2)) {
            assert_eq!(view.count_hash(*hash), filter.count_hash(*hash), "{kind}");
        }
    });
}

/// Tries every pair of kinds. If the kinds differ, the error of a merge names both, and so does that of an intersection
/// if the left kind can intersect at all. Filters of the same kind merge, and intersect if their kind can.
#[test]
fn only_equal_kinds_merge_and_intersect() {
    for left_kind in FilterKind::ALL {
        for right_kind in FilterKind::ALL {
            let (ours, theirs) = (hashes(1), hashes(2));
            let right = filled(*right_kind, &theirs);
            let (mut left, mut both) = (filled(*left_kind, &ours), filled(*left_kind, &ours));
            let before = left.to_bytes();
            let (merged, cut) = (both.merge(&right), left.intersect(&right));
            if left_kind != right_kind {
                let refused = Err(MergeError::Kinds { left: *left_kind, right: *right_kind });
                assert_eq!(merged, refused);
                // A kind that cannot intersect at all returns `Unsupported`, whatever the kind of the other filter.
                assert!(cut == refused || matches!(cut, Err(MergeError::Unsupported(_))));
                assert!(left.to_bytes() == before && both.to_bytes() == before);
                continue;
            }
            assert_eq!(merged, Ok(()), "{left_kind}");
            assert!(ours.iter().chain(&theirs).all(|hash| both.contains_hash(*hash)));
            match left.fold(1) {
                Ok(_) => {
                    assert_eq!(cut, Ok(()));
                    let common = |hash: &&KeyHash| left.contains_hash(**hash);
                    let kept = ours.iter().chain(&theirs).filter(common).count();
                    assert!(kept < KEYS / 10, "{left_kind}: {kept} keys of one side remain");
                }
                Err(_) => {
                    let unsupported = Unsupported { kind: *left_kind, operation: "intersect" };
                    assert_eq!(cut, Err(MergeError::Unsupported(unsupported)));
                    assert!(left.to_bytes() == before);
                }
            }
        }
    }
}

#[test]
fn fold_to_fpr_shrinks_a_filter_within_the_false_positive_rate() {
    for kind in FilterKind::ALL {
        let filter = filled(*kind, &hashes(1)[..KEYS / 4]);
        match filter.fold_to_fpr(0.05) {
            Ok(folded) => {
                let folded = folded.unwrap();
                assert!(folded.memory_bytes() < filter.memory_bytes(), "{kind} is no smaller");
                assert!(folded.expected_fpr() <= 0.05, "{kind}: a rate above 5 %");
                assert!(hashes(1)[..KEYS / 4].iter().all(|hash| folded.contains_hash(*hash)));
                assert!(filter.fold_to_fpr(1e-9).unwrap().is_none(), "{kind} was folded to 1e-9");
            }
            Err(error) => {
                assert_eq!(error, FoldError::Unsupported { kind: *kind });
                assert!(filter.hash_count().is_none() || filter.count_hash(hashes(1)[0]).is_ok());
            }
        }
    }
}

#[test]
fn the_filter_inside_can_be_taken_out() {
    for kind in FilterKind::ALL {
        let filter = filled(*kind, &hashes(1));
        let bytes = filter.to_bytes();
        let inside: Result<&SplitBlockBloom, _> = (&filter).try_into();
        match inside {
            Ok(inside) => assert!(*kind == FilterKind::SplitBlockBloom && inside.len() == KEYS),
            Err(error) => {
                assert_eq!((error.expected, error.found), (FilterKind::SplitBlockBloom, *kind));
            }
        }
        match BloomFilter::try_from(filter) {
            Ok(inside) => assert!(*kind == FilterKind::Bloom && inside.to_bytes() == bytes),
            Err(back) => assert!(*kind != FilterKind::Bloom && back.to_bytes() == bytes),
        }
    }
}

/// Keys of any type can be looked up through a pointer to `dyn Filter`, which hides the type of the filter.
#[test]
fn keys_are_looked_up_behind_pointers() {
    for kind in FilterKind::ALL {
        let mut filter = empty(*kind);
        filter.insert("anvil").unwrap();
        filter.insert(&7u64).unwrap();
        let hash = filter.hash("anvil");
        let shared: Arc<dyn Filter + Send + Sync> = Arc::new(filter.clone());
        let boxed: Box<dyn Filter> = Box::new(filter.clone());
        let borrowed: &dyn Filter = &filter;
        assert!(shared.contains("anvil") && shared.contains(&7u64) && shared.hash("anvil") == hash);
        assert!(boxed.contains("anvil") && boxed.contains(&7u64) && boxed.hash("anvil") == hash);
        assert!((&borrowed).contains("anvil") && (&borrowed).hash("anvil") == hash);
        assert_eq!((shared.len(), shared.is_empty()), (filter.len(), false));
        assert_eq!(boxed.expected_fpr(), filter.expected_fpr());
        assert_eq!(boxed.memory_bytes(), filter.memory_bytes());
        assert_eq!(boxed.bits_per_key(), filter.bits_per_key());
        assert_eq!(boxed.is_ordered_by_hash(), filter.is_ordered_by_hash());
    }
}
