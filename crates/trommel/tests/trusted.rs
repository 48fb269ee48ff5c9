//! Tests of trusted views, which rely on an earlier check of their bytes. Some tests damage the bytes after that check:
//! then the bytes must be refused, or the view must still answer, though its answers can be wrong.

use trommel::container::{self, HEADER_BYTES};
use trommel::{
    AnyFilter, Bitmap, Filter, FilterKind, FilterSpec, FilterView, Insert, KeyHash, MergeError,
};
use trommel_testkit::{Splitmix, Stream};

fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
    Stream::Random.hashes(seed, count)
}

/// Returns a filter of `keys` keys for every kind and every variant of a kind.
fn filters(keys: usize) -> Vec<AnyFilter> {
    let variants = FilterKind::ALL.iter().flat_map(|kind| [(*kind, false), (*kind, true)]);
    let filters = variants.filter_map(|(kind, variant)| {
        let spec = FilterSpec::new(kind).keys(keys).fpr(0.02).seed(9);
        let spec = match (kind, variant) {
            (FilterKind::CountingBloom, _) => spec.compact(variant),
            (FilterKind::Quotient | FilterKind::CacheLineQuotient | FilterKind::Cuckoo, _) => {
                spec.multiset(variant)
            }
            (_, true) => return None,
            _ => spec,
        };
        let mut filter = spec.build().unwrap();
        filter.insert_batch(&hashes(1, keys)).unwrap();
        Some(filter)
    });
    filters.collect()
}

/// Calls the methods of a view that read its table. On damaged bytes, the answers can be wrong.
fn ask(view: &FilterView<'_>, probes: &[KeyHash]) {
    let mut found = Bitmap::new(0);
    for len in [1, 20, probes.len()] {
        view.contains_batch(&probes[..len], &mut found);
        assert_eq!(found.len(), len);
    }
    for hash in probes {
        let _ = (view.contains_hash(*hash), view.count_hash(*hash));
    }
    assert!((0.0..=1.0).contains(&view.expected_fpr()), "rate {}", view.expected_fpr());
    let _ = (view.len(), view.load_factor(), view.estimate_len(), view.bits_per_key());
    if let FilterView::Quotient(view) = view {
        assert_eq!(view.fingerprints().count(), view.len());
    }
    if let FilterView::CacheLineQuotient(view) = view {
        assert_eq!(view.fingerprints().count(), view.len());
    }
}

/// Checks that `check_structure` and `to_owned_filter` refuse a table exactly if a full parse refuses it. If they
/// refuse the table, also checks that `merge_view` refuses it and leaves the filter unchanged. Does not check merges of
/// tables that a full parse accepts.
fn assert_copies_are_checked(view: &FilterView<'_>, into: &AnyFilter) {
    let under_a_new_checksum = view.to_bytes();
    let is_whole = FilterView::parse(&under_a_new_checksum).is_ok();
    assert_eq!(view.check_structure().is_ok(), is_whole);
    assert_eq!(view.to_owned_filter().is_ok(), is_whole);
    if !is_whole {
        let mut filter = into.clone();
        assert!(matches!(filter.merge_view(view), Err(MergeError::Damaged(_))));
        assert!(filter.to_bytes() == into.to_bytes());
    }
}

#[test]
fn a_trusted_view_answers_as_the_filter() {
    for keys in [0, 1, 500] {
        for filter in filters(keys) {
            let bytes = filter.to_bytes();
            let view = FilterView::parse_trusted(&bytes).unwrap();
            let probes = [hashes(1, keys), hashes(2, 300)].concat();
            let (mut of_view, mut of_filter) = (Bitmap::new(0), Bitmap::new(0));
            view.contains_batch(&probes, &mut of_view);
            filter.contains_batch(&probes, &mut of_filter);
            assert_eq!(of_view, of_filter, "{}", filter.kind());
            assert_eq!((view.len(), view.kind()), (filter.len(), filter.kind()));
            assert!(view.to_bytes() == bytes && view.check_structure().is_ok());
            assert!(view.to_owned_filter().unwrap().to_bytes() == bytes);
        }
    }
}

#[test]
fn a_trusted_view_over_any_flipped_bit_is_refused_or_answers() {
    let probes = [hashes(1, 40), hashes(2, 60)].concat();
    for filter in filters(60) {
        let mut bytes = filter.to_bytes();
        let (mut viewed, mut refused) = (0, 0);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            match FilterView::parse_trusted(&bytes) {
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().is_empty());
                }
                Ok(view) => {
                    viewed += 1;
                    assert!(bit >= HEADER_BYTES * 8, "bit {bit} of the header");
                    ask(&view, &probes);
                    assert_copies_are_checked(&view, &filter);
                }
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(viewed > 0 && refused >= HEADER_BYTES * 8, "{}: {viewed} viewed", filter.kind());
    }
}

/// Overwrites the whole payload, or some consecutive bytes of it, with noise.
#[test]
fn a_trusted_view_of_noise_is_refused_or_answers() {
    let mut random = Splitmix::new(0x7E);
    let probes = [hashes(1, 100), hashes(2, 100)].concat();
    for filter in filters(400) {
        let bytes = filter.to_bytes();
        for round in 0..200 {
            let mut noisy = bytes.clone();
            let payload = noisy.len() - HEADER_BYTES;
            let len = if round % 4 == 0 { payload } else { 1 + random.below(40) as usize };
            let from =
                HEADER_BYTES + random.below((payload - len.min(payload)) as u64 + 1) as usize;
            let noise = random.bytes(len.min(payload));
            noisy[from..from + noise.len()].copy_from_slice(&noise);
            if let Ok(view) = FilterView::parse_trusted(&noisy) {
                ask(&view, &probes);
                assert_copies_are_checked(&view, &filter);
            }
        }
    }
}

#[test]
fn merging_a_view_gives_what_merging_the_filter_gives() {
    for (filter, like) in filters(300).into_iter().zip(filters(300)) {
        let mut other = like.clone();
        other.insert_batch(&hashes(5, 1)).unwrap();
        let bytes = other.to_bytes();
        for view in [FilterView::parse(&bytes).unwrap(), FilterView::parse_trusted(&bytes).unwrap()]
        {
            let (mut by_view, mut by_filter) = (filter.clone(), filter.clone());
            let outcome = by_filter.merge(&other);
            assert_eq!(by_view.merge_view(&view), outcome, "{}", filter.kind());
            assert!(by_view.to_bytes() == by_filter.to_bytes());
            // Only a multiset can have too few slots for the merge.
            assert!(outcome.is_ok() || matches!(outcome, Err(MergeError::Full(_))));
            assert_eq!(by_view.contains_hash(hashes(5, 1)[0]), outcome.is_ok());
        }
    }
    let [bloom, cuckoo] = [FilterKind::Bloom, FilterKind::Cuckoo]
        .map(|kind| FilterSpec::new(kind).keys(10).build().unwrap());
    let bytes = cuckoo.to_bytes();
    let kinds = MergeError::Kinds { left: FilterKind::Bloom, right: FilterKind::Cuckoo };
    assert_eq!(bloom.clone().merge_view(&FilterView::parse(&bytes).unwrap()), Err(kinds));
}

#[test]
fn identities_are_equal_exactly_if_bytes_are() {
    let mut identities = Vec::new();
    for filter in filters(50).into_iter().chain(filters(51)) {
        let bytes = filter.to_bytes();
        let identity = container::identity(&bytes).unwrap();
        assert_eq!(container::identity(&filter.clone().to_bytes()), Some(identity));
        let mut more = filter.clone();
        more.insert_batch(&hashes(77, 1)).unwrap();
        assert_ne!(container::identity(&more.to_bytes()), Some(identity));
        assert_eq!(container::identity(&bytes[..HEADER_BYTES - 1]), None);
        identities.push(identity);
    }
    let count = identities.len();
    identities.sort_unstable();
    identities.dedup();
    assert_eq!(identities.len(), count);
}
