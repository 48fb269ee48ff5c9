//! Union and intersection.

use super::{answers, assert_all_found, fill};
use crate::streams::{Disjoint, Stream, distinct};
use crate::subject::{Intersect, Room, Subject, built, spec, with_hasher};
use trommel_base::{Filter, Hasher, KeyHash, Merge, MergeError};
use trommel_simd::Isa;

fn filled<S: Subject>(hashes: &[KeyHash]) -> S::Filter {
    let mut filter = built::<S>(&spec(3000, 0.01, Isa::Portable));
    fill::<S>(&mut filter, hashes);
    filter
}

/// Pairs of key lists to unite: disjoint, overlapping and equal lists, pairs in which one list is empty, a pair in
/// which one list is larger (ten times the planned number of keys if room is endless), and lists with repeated keys.
fn pairs<S: Subject>() -> Vec<[Vec<KeyHash>; 2]> {
    let some = distinct(5, 0..1000);
    let most = if S::ROOM == Room::Endless { 30_000 } else { 1500 };
    vec![
        [some.clone(), distinct(5, 1000..2000)],
        [some.clone(), distinct(5, 500..1500)],
        [some.clone(), some.clone()],
        [some.clone(), Vec::new()],
        [Vec::new(), some.clone()],
        [some, distinct(6, 0..most)],
        [Stream::Zipf.hashes(1, 1000), Stream::Zipf.hashes(2, 1000)],
    ]
}

/// Merging two filters gives, bit for bit, the filter into which the keys of both were inserted. If filters are not
/// [canonical](Subject::CANONICAL), the merge gives a filter that holds the keys of both.
pub fn a_merge_is_the_filter_of_the_union<S: Subject>()
where
    S::Filter: Merge,
{
    for [a, b] in pairs::<S>() {
        let (mut merged, other) = (filled::<S>(&a), filled::<S>(&b));
        let before = S::to_bytes(&other);
        merged.merge(&other).unwrap();
        assert!(S::to_bytes(&other) == before, "the merge changed the other filter");
        let both = [&a[..], &b[..]].concat();
        if S::CANONICAL {
            assert!(S::to_bytes(&merged) == S::to_bytes(&filled::<S>(&both)));
        }
        assert_union::<S>(&merged, &both);
    }
}

/// Fails unless the merged filter finds these keys, and its `len` is possible for exactly these keys.
fn assert_union<S: Subject>(merged: &S::Filter, hashes: &[KeyHash]) {
    assert_all_found(merged, hashes, "merged");
    let range = S::len_range(&filled::<S>(&[]), hashes);
    assert!(range.contains(&merged.len()), "len is {}, expected in {range:?}", merged.len());
}

/// a ∪ b = b ∪ a, and (a ∪ b) ∪ c = a ∪ (b ∪ c). If filters are [canonical](Subject::CANONICAL), both sides are equal
/// bit for bit; otherwise both sides hold all keys.
pub fn merging_commutes<S: Subject>()
where
    S::Filter: Merge,
{
    let union = |mut left: S::Filter, right: &S::Filter| {
        left.merge(right).unwrap();
        left
    };
    for [a, b] in pairs::<S>() {
        let parts = [a, b, distinct(9, 0..500)];
        let [a, b, c] = parts.each_ref().map(|hashes| filled::<S>(hashes));
        let (ab, ba) = (union(a.clone(), &b), union(b.clone(), &a));
        let right = union(a, &union(b, &c));
        let left = union(ab.clone(), &c);
        if S::CANONICAL {
            assert!(S::to_bytes(&ab) == S::to_bytes(&ba));
            assert!(S::to_bytes(&left) == S::to_bytes(&right));
        }
        [ab, ba].iter().for_each(|union| assert_union::<S>(union, &parts[..2].concat()));
        [left, right].iter().for_each(|union| assert_union::<S>(union, &parts.concat()));
    }
}

/// Merging an empty filter changes nothing.
pub fn merging_nothing_changes_nothing<S: Subject>()
where
    S::Filter: Merge,
{
    let mut filter = filled::<S>(&distinct(1, 0..700));
    let before = S::to_bytes(&filter);
    filter.merge(&filled::<S>(&[])).unwrap();
    assert!(S::to_bytes(&filter) == before);
}

/// Filters that cannot be combined with the filters that [`filled`] makes: planned for more keys, planned for a lower
/// false-positive rate, with another seed, and with another hash function. A plan that yields the same bytes as the
/// usual one while the filters are empty is left out: its filters could be combined.
fn unlike<S: Subject>() -> Vec<S::Filter> {
    let alike = spec(3000, 0.01, Isa::Portable);
    let specs = [
        spec(4000, 0.01, Isa::Portable),
        spec(3000, 0.001, Isa::Portable),
        with_hasher(alike, Hasher::xxh3(1)),
        with_hasher(alike, Hasher::xxh64(0)),
    ];
    let hashes = distinct(8, 0..2000);
    let empty = S::to_bytes(&built::<S>(&alike));
    specs
        .iter()
        .filter(|spec| S::to_bytes(&built::<S>(spec)) != empty)
        .map(|spec| {
            let mut filter = built::<S>(spec);
            fill::<S>(&mut filter, &hashes);
            filter
        })
        .collect()
}

/// Fails unless `combine` refuses unlike filters with an error that has the differing property and both its values, and
/// leaves both filters unchanged.
fn assert_refused<S: Subject>(
    combine: impl Fn(&mut S::Filter, &S::Filter) -> Result<(), MergeError>,
) {
    let combine = |left: &mut S::Filter, right: &S::Filter| {
        combine(left, right).map_err(|error| match error {
            MergeError::Incompatible(error) => error,
            error => panic!("unlike filters are refused with the wrong error: {error}"),
        })
    };
    let ours = filled::<S>(&distinct(7, 0..2000));
    let unlike = unlike::<S>();
    assert!(unlike.len() >= 3);
    for mut theirs in unlike {
        let mut left = ours.clone();
        let before = (S::to_bytes(&left), S::to_bytes(&theirs));
        let error = combine(&mut left, &theirs).unwrap_err();
        assert!(!error.what.is_empty() && error.left != error.right, "{error:?}");
        let mirrored = combine(&mut theirs, &left).unwrap_err();
        assert_eq!((mirrored.left, mirrored.right), (error.right, error.left));
        assert!(
            (S::to_bytes(&left), S::to_bytes(&theirs)) == before,
            "a refused call changed a filter: {error}"
        );
    }
}

/// Merging unlike filters is refused with an error that has both values of the differing property, and changes nothing.
pub fn unlike_filters_are_refused_and_unchanged<S: Subject>()
where
    S::Filter: Merge,
{
    assert_refused::<S>(|left, right| left.merge(right).map_err(Into::into));
}

/// Intersecting unlike filters is refused with an error that has both values of the differing property, and changes
/// nothing.
pub fn unlike_filters_do_not_intersect<S: Intersect>() {
    assert_refused::<S>(|left, right| Ok(S::intersect(left, right)?));
}

/// An intersection finds the keys that are in both filters. It reports a key as present only if both filters do, and
/// its false-positive rate is at most the lower of their two rates.
pub fn an_intersection_keeps_the_common_keys<S: Intersect>() {
    let keys = Disjoint::new(12, 3000, 50_000);
    let (a, b) = (&keys.members[..2000], &keys.members[1000..]);
    let (left, right) = (filled::<S>(a), filled::<S>(b));
    let mut both = left.clone();
    S::intersect(&mut both, &right).unwrap();
    assert_all_found(&both, &keys.members[1000..2000], "intersection");
    let [in_left, in_right, in_both] = [&left, &right, &both].map(|f| answers(f, &keys.absent));
    assert!(in_both.iter_ones().all(|i| in_left.get(i) && in_right.get(i)));
    assert!(both.expected_fpr() <= left.expected_fpr().min(right.expected_fpr()));
    assert!(both.len() >= 1000, "len is below the number of common keys");

    let mut with_nothing = left.clone();
    S::intersect(&mut with_nothing, &filled::<S>(&[])).unwrap();
    assert_eq!(answers(&with_nothing, &keys.members).count_ones(), 0);
    let mut with_itself = left.clone();
    S::intersect(&mut with_itself, &left).unwrap();
    assert!(S::to_bytes(&with_itself) == S::to_bytes(&left));
}
