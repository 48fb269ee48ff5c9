//! `contains_many` gives the answers of single lookups, for filters of every kind, and of several sizes and forms.

use trommel::{AnyFilter, Bitmap, Filter, FilterKind, FilterSpec, FilterView, Insert, KeyHash};

/// Filters of every kind, each kind in four sizes. Each filter has a seed of its own, and holds the keys `0..keys`.
fn filters() -> Vec<AnyFilter> {
    let sizes = [1usize, 18, 700, 20_000];
    let kinds = FilterKind::ALL.iter().flat_map(|kind| sizes.map(|keys| (*kind, keys)));
    kinds
        .zip(0..)
        .map(|((kind, keys), seed)| {
            let mut filter = FilterSpec::new(kind).keys(keys).fpr(0.03).seed(seed).build().unwrap();
            for key in 0..keys as u64 {
                filter.insert(&key).unwrap();
            }
            filter
        })
        .collect()
}

/// Present and absent keys for each filter, hashed with the filter's seed.
fn probes<F: Filter>(filters: &[F]) -> Vec<(&F, KeyHash)> {
    (0..1_000u64)
        .map(|i| {
            let filter = &filters[i as usize * 7 % filters.len()];
            let key = if i % 3 == 0 { i % filter.len() as u64 } else { 1_000_000 + i };
            (filter, filter.hash(&key))
        })
        .collect()
}

fn check<F: Filter>(filters: &[F]) {
    let probes = probes(filters);
    let mut found = Bitmap::new(0);
    for count in [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1_000] {
        F::contains_many(&probes[..count], &mut found);
        assert_eq!(found.len(), count);
        for (i, (filter, hash)) in probes[..count].iter().enumerate() {
            assert_eq!(found.get(i), filter.contains_hash(*hash), "probe {i} of {count}");
        }
    }
    // Every third key is present, 334 in all. Of the 666 absent keys, some 3 % or fewer are expected to be reported as
    // present; 65 are allowed.
    assert!((334..400).contains(&found.count_ones()), "{} found", found.count_ones());
}

#[test]
fn contains_many_answers_like_each_filter() {
    let filters = filters();
    check(&filters);
    let bytes: Vec<Vec<u8>> = filters.iter().map(AnyFilter::to_bytes).collect();
    let views: Vec<FilterView<'_>> = bytes.iter().map(|b| FilterView::parse(b).unwrap()).collect();
    check(&views);
    let dynamic: Vec<&dyn Filter> = filters.iter().map(|filter| filter as &dyn Filter).collect();
    check(&dynamic);
}
