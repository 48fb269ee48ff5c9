//! The filters and groups of each part of the matrix (see [`Matrix`]). The cases of a group are
//! interleaved. They have the same keys and workload, and differ in their filters and calls.

use super::{Group, ONE_PERCENT, Point, Scope, Selection, SubjectSpec, TWELVE_BITS};
use crate::measure::environment::Caches;
use crate::model::{Calls, Form, Level, Matrix, Op, Rival, Sizing, Workload};
use trommel::FilterKind;

/// The size, in bytes, of a filter for a level of the memory hierarchy: half the size of the level's cache or, for
/// DRAM, twice the size of the last-level cache. `None` if the system does not report the size of the cache.
fn bytes_for(level: Level, caches: &Caches) -> Option<u64> {
    match level {
        Level::L1 => caches.l1d.map(|bytes| bytes / 2),
        Level::L2 => caches.l2.map(|bytes| bytes / 2),
        Level::Llc => caches.l3.map(|bytes| bytes / 2),
        Level::Dram => caches.l3.or(caches.l2).map(|bytes| bytes.saturating_mul(2)),
    }
}

/// The number of keys that a filter for a level holds at 12 bits per key. `None` if this number is unknown or above
/// [`MOST_KEYS`].
pub(super) fn keys_for(level: Level, caches: &Caches) -> Option<usize> {
    let keys = bytes_for(level, caches)? / 12 * 8;
    usize::try_from(keys).ok().filter(|keys| *keys <= MOST_KEYS)
}

/// The most keys for a level. Levels that need more keys are left out, because filters of all kinds are in memory at
/// the same time.
const MOST_KEYS: usize = 200_000_000;

/// The substrings that select a part: if the user gives `--filter`, the part is measured only if the text of `--filter`
/// contains one of them.
fn marks(matrix: Matrix) -> &'static [&'static str] {
    match matrix {
        Matrix::BatchSizes => &["by-"],
        Matrix::Bits => &["bits"],
        Matrix::Regime(_) => &["in-"],
        Matrix::Column(_) => &["column"],
        Matrix::Pages => &["pages"],
        Matrix::SmallFilters => &["small-filters"],
    }
}

/// The calls that a part measures.
pub(super) fn calls_of(matrix: Matrix, is_rival: bool) -> &'static [Calls] {
    match matrix {
        _ if is_rival => &[Calls::SINGLE],
        Matrix::BatchSizes => &ALL_BATCH_SIZES,
        Matrix::SmallFilters => &[Calls::BATCH, Calls::SINGLE],
        Matrix::Bits | Matrix::Regime(_) | Matrix::Column(_) | Matrix::Pages => &[Calls::BATCH],
    }
}

/// The numbers of keys per call in batched lookups.
pub(crate) const BATCH_SIZES: [usize; 7] = [1, 16, 64, 256, 1024, 8192, 65_536];
const ALL_BATCH_SIZES: [Calls; 8] = {
    const fn of(keys: usize) -> Calls {
        Calls::batches_of(keys)
    }
    let [a, b, c, d, e, f, g] = BATCH_SIZES;
    [Calls::SINGLE, of(a), of(b), of(c), of(d), of(e), of(f), of(g)]
};
/// The bits per key with which Bloom filters are measured in the part [`Matrix::Bits`].
const BITS: [usize; 6] = [8, 10, 12, 14, 16, 20];
const KEYS_OF_BITS: usize = 1_000_000;
/// The number of keys in all small filters of one tree together.
const KEYS_OF_SMALL_FILTERS: usize = 10_000_000;

/// Returns a filter of every kind, and the rivals of the split-block and the standard Bloom filter.
fn every_kind() -> Vec<SubjectSpec> {
    use FilterKind as Kind;
    let sizing = |kind: Kind| match kind {
        Kind::SplitBlockBloom | Kind::CacheLineBloom | Kind::RegisterBloom | Kind::Bloom => {
            TWELVE_BITS
        }
        _ => ONE_PERCENT,
    };
    let ours = FilterKind::ALL.iter().map(|kind| SubjectSpec::ours(*kind, sizing(*kind)));
    let rivals = [(Rival::SbbfRs, Kind::SplitBlockBloom), (Rival::Fastbloom, Kind::Bloom)];
    let rivals = rivals.map(|(rival, kind)| SubjectSpec::rival(rival, kind, TWELVE_BITS));
    ours.chain(rivals).collect()
}

/// Returns Bloom filters of four kinds, and the rivals of the split-block and the standard filter, each with every
/// number of bits per key in [`BITS`].
fn bloom_filters() -> Vec<SubjectSpec> {
    use FilterKind as Kind;
    let kinds = [Kind::SplitBlockBloom, Kind::CacheLineBloom, Kind::RegisterBloom, Kind::Bloom];
    let mut all = Vec::new();
    for sizing in BITS.map(Sizing::BitsPerKey) {
        all.extend(kinds.map(|kind| SubjectSpec::ours(kind, sizing)));
        all.push(SubjectSpec::rival(Rival::SbbfRs, Kind::SplitBlockBloom, sizing));
        all.push(SubjectSpec::rival(Rival::Fastbloom, Kind::Bloom, sizing));
    }
    all
}

/// Returns, for every kind, a filter with huge pages and a filter without huge pages. Also returns the rivals, whose
/// allocator chooses their pages.
fn by_pages() -> Vec<SubjectSpec> {
    let small = |spec: SubjectSpec| SubjectSpec { form: Form::SmallPages, ..spec };
    let all = every_kind().into_iter().flat_map(|spec| match spec.rival {
        Some(_) => vec![spec],
        None => vec![spec, small(spec)],
    });
    all.collect()
}

/// Returns, for every kind and for each of the two rivals, a tree of small filters (see [`Form::Tree`]).
fn as_trees() -> Vec<SubjectSpec> {
    let tree = |spec| SubjectSpec { form: Form::Tree, ..spec };
    every_kind().into_iter().map(tree).collect()
}

/// Returns the point of a part of the matrix for this number of keys.
fn point(matrix: Matrix, keys: usize, specs: Vec<SubjectSpec>) -> Point {
    let group = |workload| Group {
        op: Op::Contains,
        workload: Some(workload),
        keys,
        input: None,
        hashed: false,
        matrix: Some(matrix),
    };
    Point { keys, specs, groups: [Workload::Hit, Workload::Miss].map(group).into() }
}

/// Returns all points of the matrix, each with its part, for a machine with these caches.
pub(crate) fn every_point(caches: &Caches) -> Vec<(Matrix, Point)> {
    let at = |level: Level| keys_for(level, caches).map(|keys| (level, keys));
    let mut all = Vec::new();
    let mut add = |matrix, keys, specs| all.push((matrix, point(matrix, keys, specs)));
    for (level, keys) in [Level::L2, Level::Llc, Level::Dram].into_iter().filter_map(at) {
        add(Matrix::BatchSizes, keys, every_kind());
        add(Matrix::Column(level), keys, every_kind());
    }
    add(Matrix::Bits, KEYS_OF_BITS, bloom_filters());
    for (level, keys) in Level::ALL.into_iter().filter_map(at) {
        add(Matrix::Regime(level), keys, every_kind());
    }
    for (_, keys) in [Level::Llc, Level::Dram].into_iter().filter_map(at) {
        add(Matrix::Pages, keys, by_pages());
    }
    add(Matrix::SmallFilters, KEYS_OF_SMALL_FILTERS, as_trees());
    all
}

/// Returns the points of the user's file of cases, if there is one; otherwise the points of the parts of the matrix
/// that a selection includes.
pub(crate) fn points_of(selection: &Selection, caches: &Caches) -> Vec<Point> {
    if let Some(cases) = &selection.cases {
        return cases.points.clone();
    }
    let all = every_point(caches).into_iter();
    all.filter(|(matrix, _)| selection.includes(marks(*matrix))).map(|(_, point)| point).collect()
}

/// If the user gives `--filter`, Zipf-distributed probes are measured only if the text of `--filter`
/// contains this substring.
const ZIPF: &[&str] = &["zipf"];

impl Selection {
    /// Whether a part of the matrix is measured. `marks` are the substrings that select it.
    fn includes(&self, marks: &[&str]) -> bool {
        self.includes_all() && self.names(marks)
    }

    /// Whether Zipf-distributed probes are measured.
    pub(crate) fn includes_zipf(&self) -> bool {
        self.names(ZIPF)
    }

    /// Whether `--filter` contains one of `marks`. Without `--filter`, whether the run is not a quick run.
    fn names(&self, marks: &[&str]) -> bool {
        match &self.filter {
            Some(filter) => marks.iter().any(|mark| filter.as_str().contains(mark)),
            None => self.scope() > Scope::Quick,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const CACHES: Caches = Caches { l1d: Some(48 << 10), l2: Some(2 << 20), l3: Some(30 << 20) };

    fn selection(filter: &str) -> Selection {
        Selection { filter: Some(regex::Regex::new(filter).unwrap()), ..Selection::default() }
    }

    #[test]
    fn names_of_cases_are_unique_and_identify_their_part() {
        let mut names = HashSet::new();
        for (matrix, point) in every_point(&CACHES) {
            for group in &point.groups {
                for planned in group.cases(&point.specs) {
                    assert_eq!(planned.case.matrix, Some(matrix), "{}", planned.name);
                    assert_eq!(planned.case.filling(), None, "{}", planned.name);
                    assert!(names.insert(planned.name.clone()), "{}", planned.name);
                }
            }
        }
        for name in [
            "contains/miss/6.99048e5/split-block-bloom/12-bit+by-64/batch",
            "contains/miss/6.99048e5/sbbf-rs-safe/12-bit+by-1/single",
            "contains/hit/1e6/register-bloom/20-bit+bits/batch",
            "contains/hit/1.6384e4/cuckoo/fpr-1%+in-L1/batch",
            "contains/hit/6.99048e5/cuckoo/fpr-1%+column-in-L2/batch",
            "contains/hit/6.99048e5/cuckoo/fpr-1%+by-65536/batch",
            "contains/hit/1.048576e7/bloom/12-bit+small-pages/batch",
            "contains/hit/1.048576e7/fastbloom/12-bit+own-pages/single",
            "contains/miss/1e7/quotient/fpr-1%+small-filters/single",
        ] {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn the_matrix_is_measured_if_it_is_named_and_by_default_except_in_quick_runs() {
        let count = |selection: &Selection| points_of(selection, &CACHES).len();
        assert_eq!(count(&Selection { quick: true, ..Selection::default() }), 0);
        assert_eq!(count(&Selection::default()), every_point(&CACHES).len());
        let full = Selection { full: true, ..Selection::default() };
        assert_eq!(count(&full), every_point(&CACHES).len());
        assert_eq!(count(&Selection { keys: Some(vec![1000]), ..full }), 0);
        assert_eq!(count(&selection("split-block.*batch")), 0);
        assert_eq!(count(&selection("miss/.*by-64")), 3);
        assert_eq!(count(&selection("hit/.*column")), 3);
        // `in-L2` contains `in-`, the mark of `Matrix::Regime` for every level, so the points of all four levels are
        // returned.
        assert_eq!(count(&selection("in-L2")), 4);
        assert!(selection("zipf/1e6").includes_zipf() && !selection("hit").includes_zipf());
    }

    #[test]
    fn sizes_follow_the_caches_of_the_machine() {
        let bytes: Vec<u64> = Level::ALL.map(|level| bytes_for(level, &CACHES).unwrap()).into();
        assert_eq!(bytes, [24 << 10, 1 << 20, 15 << 20, 60 << 20]);
        // If the machine reports no cache sizes, only the two parts that do not need them are measured.
        assert_eq!(every_point(&Caches::default()).len(), 2);
    }
}
