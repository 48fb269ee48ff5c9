//! Checks of the operations of a filter of any kind.

use crate::check::{Refusal, check};
use trommel::quotient::{Layout, Quotient};
use trommel::{
    AnyFilter, Filter, FilterKind, FilterSpec, FilterView, FormatError, Full, Insert, KeyHash,
};
use trommel_base::{Bulk, InsertBulk, Tasks, Workers};
use trommel_testkit::streams::mix;

/// A kind of filter with some of its options.
pub(crate) struct Case {
    kind: FilterKind,
    options: fn(FilterSpec) -> FilterSpec,
    /// The number of keys that the filter is made for.
    room: usize,
}

/// The number of keys of a full filter. It is so large that every kind builds its filter in several pieces, and divides
/// the keys of later batches into groups.
pub(crate) const KEYS: usize = 60_000;

const fn case(kind: FilterKind, options: fn(FilterSpec) -> FilterSpec) -> Case {
    Case { kind, options, room: KEYS }
}

/// A case of a filter that doubles three times until it has all keys.
const fn growing(kind: FilterKind, options: fn(FilterSpec) -> FilterSpec) -> Case {
    Case { kind, options, room: KEYS / 7 }
}

pub(crate) const BLOOM: Case = case(FilterKind::Bloom, |spec| spec.fpr(0.01).foldable_by(8));
pub(crate) const COUNTING_BLOOM: Case = case(FilterKind::CountingBloom, |spec| spec.fpr(0.01));
pub(crate) const COMPACT_COUNTING_BLOOM: Case =
    case(FilterKind::CountingBloom, |spec| spec.fpr(0.01).compact(true));
pub(crate) const REGISTER_BLOOM: Case =
    case(FilterKind::RegisterBloom, |spec| spec.fpr(0.01).foldable_by(8));
pub(crate) const SPLIT_BLOCK_BLOOM: Case =
    case(FilterKind::SplitBlockBloom, |spec| spec.fpr(0.01).foldable_by(8));
pub(crate) const CACHE_LINE_BLOOM: Case =
    case(FilterKind::CacheLineBloom, |spec| spec.fpr(0.01).foldable_by(8));
pub(crate) const QUOTIENT: Case = case(FilterKind::Quotient, |spec| spec.fingerprint_bits(25));
pub(crate) const QUOTIENT_MULTISET: Case =
    case(FilterKind::Quotient, |spec| spec.fingerprint_bits(25).multiset(true));
pub(crate) const WIDE_QUOTIENT: Case = case(FilterKind::Quotient, |spec| spec.fingerprint_bits(46));
pub(crate) const GROWING_QUOTIENT: Case =
    growing(FilterKind::Quotient, |spec| spec.fingerprint_bits(25).grow_at(0.9));
pub(crate) const CACHE_LINE_QUOTIENT: Case = case(FilterKind::CacheLineQuotient, |spec| spec);
pub(crate) const CACHE_LINE_QUOTIENT_MULTISET: Case =
    case(FilterKind::CacheLineQuotient, |spec| spec.multiset(true));
pub(crate) const GROWING_CACHE_LINE_QUOTIENT: Case =
    growing(FilterKind::CacheLineQuotient, |spec| spec.grow_at(0.9));
pub(crate) const CUCKOO_8: Case = case(FilterKind::Cuckoo, |spec| spec.fingerprint_bits(8));
pub(crate) const CUCKOO_12: Case = case(FilterKind::Cuckoo, |spec| spec.fingerprint_bits(12));
pub(crate) const CUCKOO_16: Case = case(FilterKind::Cuckoo, |spec| spec.fingerprint_bits(16));
pub(crate) const CUCKOO_32: Case = case(FilterKind::Cuckoo, |spec| spec.fingerprint_bits(32));
pub(crate) const CUCKOO_MULTISET: Case =
    case(FilterKind::Cuckoo, |spec| spec.fingerprint_bits(16).multiset(true));
pub(crate) const GROWING_CUCKOO: Case =
    growing(FilterKind::Cuckoo, |spec| spec.fingerprint_bits(16).grow_at(0.9));

/// Workers that run their tasks one after the other on the calling thread, so that the tasks' allocations are refused
/// too.
struct Several;

impl Workers for Several {
    fn threads(&self) -> usize {
        3
    }

    fn run<'t>(&self, tasks: &mut Tasks<'_, 't>) {
        tasks.for_each(|task| task());
    }
}

const SEVERAL: Bulk<'static> = Bulk { workers: &Several, scratch_bytes: usize::MAX };

impl Case {
    pub(crate) fn spec(&self) -> FilterSpec {
        (self.options)(FilterSpec::new(self.kind).keys(self.room))
    }

    pub(crate) fn filled(&self, hashes: &[KeyHash]) -> AnyFilter {
        let mut filter = self.spec().build().unwrap();
        filter.insert_batch(hashes).unwrap();
        filter
    }

    /// Whether the keys alone determine the bytes, in whatever way they were inserted.
    fn is_canonical(&self) -> bool {
        self.kind != FilterKind::Cuckoo
    }
}

pub(crate) fn hashes(keys: std::ops::Range<usize>) -> Vec<KeyHash> {
    keys.map(|key| KeyHash::from_raw(mix(key as u64))).collect()
}

/// A copy without the scratch memory that a cuckoo filter keeps, so that the next insert allocates scratch memory.
fn fresh(filter: &AnyFilter) -> AnyFilter {
    let mut copy = filter.clone();
    if let AnyFilter::Cuckoo(cuckoo) = &mut copy {
        cuckoo.release_scratch();
    }
    copy
}

/// Checks every operation of a filter.
pub(crate) fn check_all(case: &Case) {
    check_builds(case);
    check_inserts(case);
    check_removals(case);
    check_merges(case);
    check_resizes(case);
    check_folds(case);
    check_bytes(case);
}

fn check_builds(case: &Case) {
    let (spec, all) = (case.spec(), hashes(0..KEYS));
    let expected = [spec.build().unwrap(), spec.build_from(&all).unwrap()];
    check(
        "build",
        || (),
        |()| spec.build(),
        |(), built| assert_built(case, built, &expected[0], &[]),
    );
    check(
        "build_from",
        || (),
        |()| spec.build_from(&all),
        |(), built| assert_built(case, built, &expected[1], &all),
    );
}

pub(crate) fn assert_built<E>(
    case: &Case,
    built: &Result<AnyFilter, E>,
    expected: &AnyFilter,
    hashes: &[KeyHash],
) {
    if let Ok(built) = built {
        assert_alike(case, built, expected, hashes);
    }
}

/// Checks that `filter` has the same keys as `expected`, among them `hashes`.
fn assert_alike(case: &Case, filter: &AnyFilter, expected: &AnyFilter, hashes: &[KeyHash]) {
    if case.is_canonical() {
        assert!(filter == expected, "the bytes differ");
        return;
    }
    // The two numbers of keys can differ a little. A cuckoo filter that is a set does not store a second copy of a
    // fingerprint that it finds. In a few cases, the slot of an earlier key decides whether a fingerprint is found, and
    // that slot depends on the method that inserted the earlier key.
    let (len, expected_len) = (filter.len(), expected.len());
    assert!(len.abs_diff(expected_len) <= expected_len / 200, "{len} and {expected_len} keys");
    assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)), "a key is lost");
    assert!(AnyFilter::from_bytes(&filter.to_bytes()).is_ok());
}

/// A method that inserts a batch.
type InsertMethod = fn(&mut AnyFilter, &[KeyHash]) -> Result<(), Full>;

fn one_by_one(filter: &mut AnyFilter, hashes: &[KeyHash]) -> Result<(), Full> {
    let insert = |(i, hash): (usize, &KeyHash)| match filter.insert_hash(*hash) {
        Ok(_) => Ok(()),
        Err(full) => Err((i, full)),
    };
    hashes.iter().enumerate().try_for_each(insert).map_err(|(i, full)| {
        assert_eq!(full.inserted, 0);
        let mut whole = full;
        whole.inserted = i;
        whole
    })
}

const METHODS: &[(&str, InsertMethod)] = &[
    ("insert_hash", one_by_one),
    ("insert_batch", |filter, hashes| filter.insert_batch(hashes)),
    ("insert_bulk", |filter, hashes| filter.insert_bulk(hashes, Bulk::CALLER)),
    ("insert_bulk on three threads", |filter, hashes| filter.insert_bulk(hashes, SEVERAL)),
    ("insert_slices", |filter, hashes| filter.insert_slices(hashes, SEVERAL)),
];

fn check_inserts(case: &Case) {
    let all = hashes(0..KEYS + 600);
    for (held, inserted) in [(0, KEYS), (KEYS / 2, KEYS / 2), (KEYS, 600), (KEYS - 500, 20)] {
        let (held, batch) = all[..held + inserted].split_at(held);
        check_inserts_into(case, &case.filled(held), held, batch);
    }
    if case.kind == FilterKind::Cuckoo && case.room == KEYS {
        check_inserts_into(
            case,
            &overflowing(case),
            &all[..KEYS],
            &hashes(2 * KEYS..2 * KEYS + 20),
        );
    }
}

/// Checks inserts into a filter that has the keys `held`.
fn check_inserts_into(case: &Case, before: &AnyFilter, held: &[KeyHash], batch: &[KeyHash]) {
    let mut after = fresh(before);
    after.insert_batch(batch).unwrap();
    for (method, insert) in METHODS {
        check(
            &format!("{method}, {} after {}", batch.len(), before.len()),
            || fresh(before),
            |filter| insert(filter, batch),
            |filter, result| match result {
                Ok(()) => assert_alike(case, filter, &after, &[held, batch].concat()),
                Err(full) => {
                    assert_eq!(full.len, filter.len());
                    let inserted = &batch[..full.inserted];
                    let mut expected = fresh(before);
                    expected.insert_batch(inserted).unwrap();
                    assert_alike(case, filter, &expected, &[held, inserted].concat());
                }
            },
        );
    }
}

fn check_removals(case: &Case) {
    let all = hashes(0..KEYS);
    let before = case.filled(&all);
    let remove = |filter: &mut AnyFilter| {
        all[..100].iter().try_for_each(|hash| filter.remove_hash(*hash).map(|_| ()))
    };
    let mut after = before.clone();
    if remove(&mut after).is_ok() {
        // A key that shares a fingerprint with a removed key can be lost.
        let kept: Vec<KeyHash> =
            all.iter().copied().filter(|hash| after.contains_hash(*hash)).collect();
        let verify = |filter: &AnyFilter, _: &_| assert_alike(case, filter, &after, &kept);
        check("remove_hash", || fresh(&before), remove, verify);
    }
}

/// Checks an operation that either succeeds or leaves the filter's bytes as they were.
fn check_change<T, E: Refusal>(
    case: &Case,
    name: &str,
    before: &AnyFilter,
    hashes: &[KeyHash],
    change: impl Fn(&mut AnyFilter) -> Result<T, E>,
) {
    let mut after = fresh(before);
    assert!(change(&mut after).is_ok(), "{name}: an error, although no memory was refused");
    check(
        name,
        || fresh(before),
        change,
        |filter, result| match result {
            Ok(_) => assert_alike(case, filter, &after, hashes),
            Err(_) => assert!(filter == before, "{name}: changed in spite of the error"),
        },
    );
}

fn check_merges(case: &Case) {
    let all = hashes(0..KEYS);
    let (left, right) = (case.filled(&all[..KEYS / 2]), case.filled(&all[KEYS / 3..2 * KEYS / 3]));
    let bytes = right.to_bytes();
    let held = &all[..2 * KEYS / 3];
    // A cuckoo filter does not grow during a merge, so a filter that has grown just enough for its own keys can lack
    // room for the other filter's keys.
    let fits = fresh(&left).merge(&right).is_ok();
    assert!(fits || case.room < KEYS, "the merged filters are full");
    if same_shape(&left, &right) && fits {
        check_change(case, "merge", &left, held, |filter| filter.merge(&right));
        let view = FilterView::parse(&bytes).unwrap();
        check_change(case, "merge_view", &left, held, |filter| filter.merge_view(&view));
        let trusted = FilterView::parse_trusted(&bytes).unwrap();
        check_change(case, "merge a trusted view", &left, held, |filter| {
            filter.merge_view(&trusted)
        });
    }
    let mut other = fresh(&right);
    let resized = match &mut other {
        AnyFilter::Quotient(filter) => filter.resize(3 * KEYS).is_ok(),
        AnyFilter::CacheLineQuotient(filter) => filter.resize(3 * KEYS).is_ok(),
        _ => false,
    };
    if resized {
        check_change(case, "merge a larger filter", &left, held, |filter| filter.merge(&other));
        check_change(case, "merge a smaller filter", &other, held, |filter| filter.merge(&left));
    }
    if let AnyFilter::Cuckoo(_) = &left {
        let (full, empty) = (overflowing(case), case.spec().build().unwrap());
        if same_shape(&full, &empty) {
            check_change(
                case,
                "merge into a filter whose overflow area is used",
                &full,
                &all,
                |filter| filter.merge(&empty),
            );
            // A merge inserts the fingerprints in another order than `overflowing` did. In the merge's order, some
            // fingerprints may not fit.
            if fresh(&empty).merge(&full).is_ok() {
                check_change(
                    case,
                    "merge a filter whose overflow area is used",
                    &empty,
                    &all,
                    |filter| filter.merge(&full),
                );
            }
        }
    }
    let mut both = fresh(&left);
    if both.intersect(&right).is_ok() {
        check_change(case, "intersect", &left, &all[KEYS / 3..KEYS / 2], |filter| {
            filter.intersect(&right)
        });
    }
}

/// Whether the sizes of two filters allow a merge: false only for cuckoo filters of different sizes. Of two cuckoo
/// filters that grow by themselves, one can have grown more often than the other.
fn same_shape(left: &AnyFilter, right: &AnyFilter) -> bool {
    match (left, right) {
        (AnyFilter::Cuckoo(left), AnyFilter::Cuckoo(right)) => left.geometry() == right.geometry(),
        _ => true,
    }
}

fn check_resizes(case: &Case) {
    let all = hashes(0..KEYS / 2);
    let before = case.filled(&all);
    match &before {
        AnyFilter::Quotient(_) => check_quotient(case, &before, &all, |filter| match filter {
            AnyFilter::Quotient(filter) => filter,
            _ => unreachable!("every filter of a case has its kind"),
        }),
        AnyFilter::CacheLineQuotient(_) => {
            check_quotient(case, &before, &all, |filter| match filter {
                AnyFilter::CacheLineQuotient(filter) => filter,
                _ => unreachable!("every filter of a case has its kind"),
            });
        }
        AnyFilter::Cuckoo(_) => check_change(case, "grow", &before, &all, |filter| match filter {
            AnyFilter::Cuckoo(filter) => filter.grow(),
            _ => unreachable!("every filter of a case has its kind"),
        }),
        _ => {}
    }
}

fn check_quotient<L: Layout>(
    case: &Case,
    before: &AnyFilter,
    all: &[KeyHash],
    inner: fn(&mut AnyFilter) -> &mut Quotient<L>,
) {
    check_change(case, "grow", before, all, |filter| inner(filter).grow());
    check_change(case, "shrink_to_fit", before, all, |filter| inner(filter).shrink_to_fit());
    // Not every number of slots is possible for every filter, so the resize can fail.
    if inner(&mut fresh(before)).resize(3 * KEYS).is_ok() {
        check_change(case, "resize", before, all, |filter| inner(filter).resize(3 * KEYS));
    }
}

fn check_folds(case: &Case) {
    let all = hashes(0..KEYS / 8);
    let filter = case.filled(&all);
    if let Ok(folded) = filter.fold(4) {
        check(
            "fold",
            || (),
            |()| filter.fold(4),
            |(), result| {
                assert_built(case, result, &folded, &all);
            },
        );
        let smallest = filter.fold_to_fpr(0.05).unwrap();
        check(
            "fold_to_fpr",
            || (),
            |()| filter.fold_to_fpr(0.05),
            |(), result| {
                assert!(result.as_ref().is_ok_and(|folded| *folded == smallest) || result.is_err());
            },
        );
    }
}

/// A filter of all keys. If it is a cuckoo filter that does not grow, further keys are inserted until its overflow area
/// is used.
fn overflowing(case: &Case) -> AnyFilter {
    let mut filter = case.filled(&hashes(0..KEYS));
    if let AnyFilter::Cuckoo(cuckoo) = &mut filter
        && case.room == KEYS
    {
        for hash in hashes(KEYS..2 * KEYS) {
            if cuckoo.overflowing() > 0 || cuckoo.insert_hash(hash).is_err() {
                break;
            }
        }
        assert!(cuckoo.overflowing() > 0);
    }
    filter
}

/// Checks the conversions to bytes and back.
pub(crate) fn check_bytes(case: &Case) {
    let filter = overflowing(case);
    let bytes = filter.to_bytes();
    check(
        "from_bytes",
        || (),
        |()| AnyFilter::from_bytes(&bytes),
        |(), read| {
            assert!(read.is_err() || read.as_ref() == Ok(&filter));
        },
    );
    type Parse = fn(&[u8]) -> Result<FilterView<'_>, FormatError>;
    let parsers: [(_, Parse); 2] = [
        ("parse", |bytes| FilterView::parse(bytes)),
        ("parse_trusted", |bytes| FilterView::parse_trusted(bytes)),
    ];
    for (name, parse) in parsers {
        check(
            name,
            || (),
            |()| parse(&bytes),
            |(), view| {
                let is_whole = |view: &FilterView<'_>| view.len() == filter.len();
                assert!(view.as_ref().is_ok_and(is_whole) || view.is_err());
            },
        );
        let view = parse(&bytes).unwrap();
        check(
            "to_owned_filter",
            || (),
            |()| view.to_owned_filter(),
            |(), owned| {
                assert!(owned.is_err() || owned.as_ref() == Ok(&filter));
            },
        );
    }
    check(
        "write_to",
        || vec![0; bytes.len()],
        |buffer: &mut Vec<u8>| filter.write_to(&mut buffer[..]),
        |buffer, result| match result {
            Ok(()) => assert!(*buffer == bytes),
            Err(_) => assert!(buffer.iter().all(|byte| *byte == 0), "a part was written"),
        },
    );
}
