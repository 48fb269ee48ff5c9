//! The matrix: properties besides kind, keys and workload on which the speed of lookups depends. Each part of the
//! matrix varies one property, and interleaves subjects that differ only in this property.

use super::{Api, Group, ONE_PERCENT, Op, Scope, Sizing, SubjectSpec, TWELVE_BITS, Workload};
use crate::cli::Selection;
use crate::environment::Caches;
use crate::rivals::Rival;
use std::fmt;
use trommel::FilterKind;

/// A part of the matrix. Each comment begins with an example of the part's suffix, which follows a `+` at the end of
/// the variant column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matrix {
    /// `by-64`: the number of keys per call.
    BatchSizes,
    /// `bits`: the bits per key of Bloom filters.
    Bits,
    /// `in-L2`: filters sized for a level of the memory hierarchy.
    Regime(Level),
    /// `huge-pages` or `small-pages`; `own-pages` for a rival, whose allocator chooses the pages.
    Pages,
    /// `small-filters`: a tree of many small filters. A probe is looked up in one filter per level of the tree.
    SmallFilters,
}

/// A level of the memory hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    L1,
    L2,
    Llc,
    Dram,
}

impl Level {
    pub(crate) const ALL: [Self; 4] = [Self::L1, Self::L2, Self::Llc, Self::Dram];

    /// The size, in bytes, of a filter for this level: half of the cache or, for DRAM, twice the last-level cache.
    /// `None` if the system does not report the cache's size.
    fn bytes(self, caches: &Caches) -> Option<u64> {
        match self {
            Self::L1 => caches.l1d.map(|bytes| bytes / 2),
            Self::L2 => caches.l2.map(|bytes| bytes / 2),
            Self::Llc => caches.l3.map(|bytes| bytes / 2),
            Self::Dram => caches.l3.or(caches.l2).map(|bytes| bytes.saturating_mul(2)),
        }
    }

    /// The number of keys that a filter of this size holds at 12 bits per key. `None` if it is unknown or above
    /// [`MOST_KEYS`].
    fn keys(self, caches: &Caches) -> Option<usize> {
        let keys = self.bytes(caches)? / 12 * 8;
        usize::try_from(keys).ok().filter(|keys| *keys <= MOST_KEYS)
    }
}

/// The most keys for a level. Levels that need more are left out, because filters of every kind with these keys are in
/// memory at once.
const MOST_KEYS: usize = 200_000_000;

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::Llc => "LLC",
            Self::Dram => "DRAM",
        })
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BatchSizes => f.write_str("by keys per call"),
            Self::Bits => f.write_str("by bits per key"),
            Self::Regime(level) => write!(f, "in {level}"),
            Self::Pages => f.write_str("by pages"),
            Self::SmallFilters => f.write_str("in small filters"),
        }
    }
}

impl Matrix {
    /// The substrings of which the user's `--filter` must contain one for this part to be measured.
    fn marks(self) -> &'static [&'static str] {
        match self {
            Self::BatchSizes => &["by-"],
            Self::Bits => &["bits"],
            Self::Regime(_) => &["in-"],
            Self::Pages => &["pages"],
            Self::SmallFilters => &["small-filters"],
        }
    }

    /// The suffix of a case's variant column.
    pub(super) fn suffix(self, spec: &SubjectSpec, api: Api) -> String {
        match self {
            Self::BatchSizes => match api {
                Api::BatchesOf(keys) => format!("+by-{keys}"),
                Api::Single | Api::Batch => "+by-1".into(),
            },
            Self::Bits => "+bits".into(),
            Self::Regime(level) => format!("+in-{level}"),
            Self::Pages if spec.rival.is_some() => "+own-pages".into(),
            Self::Pages if spec.form == Form::SmallPages => "+small-pages".into(),
            Self::Pages => "+huge-pages".into(),
            Self::SmallFilters => "+small-filters".into(),
        }
    }

    /// The kinds of calls that are measured.
    pub(super) fn apis(self, is_rival: bool) -> &'static [Api] {
        match self {
            _ if is_rival => &[Api::Single],
            Self::BatchSizes => &ALL_BATCH_SIZES,
            Self::SmallFilters => &[Api::Batch, Api::Single],
            Self::Bits | Self::Regime(_) | Self::Pages => &[Api::Batch],
        }
    }

    /// Returns the part of the matrix that a variant belongs to.
    pub(crate) fn of_variant(variant: &str) -> Option<Self> {
        let (_, end) = variant.rsplit_once('+')?;
        match end {
            "bits" => Some(Self::Bits),
            "small-filters" => Some(Self::SmallFilters),
            "huge-pages" | "small-pages" | "own-pages" => Some(Self::Pages),
            _ if end.starts_with("by-") => Some(Self::BatchSizes),
            _ => {
                let level = end.strip_prefix("in-")?;
                let has_name = |known: &Level| known.to_string() == level;
                Level::ALL.into_iter().find(has_name).map(Self::Regime)
            }
        }
    }
}

/// How a filter is laid out in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// The library's default.
    #[default]
    Usual,
    /// Without huge pages.
    SmallPages,
    /// Many small filters, see [`crate::tree`].
    Tree,
}

/// The numbers of keys per call in batched lookups.
pub(crate) const BATCH_SIZES: [usize; 6] = [1, 4, 16, 64, 256, 1024];
const ALL_BATCH_SIZES: [Api; 7] = {
    let [a, b, c, d, e, f] = BATCH_SIZES;
    use Api::BatchesOf as Of;
    [Api::Single, Of(a), Of(b), Of(c), Of(d), Of(e), Of(f)]
};
/// The bits per key with which Bloom filters are measured.
const BITS: [usize; 6] = [8, 10, 12, 14, 16, 20];
const KEYS_OF_BITS: usize = 1_000_000;
/// The number of keys in all small filters together.
const KEYS_OF_SMALL_FILTERS: usize = 10_000_000;

/// Filters over the same keys, and the groups of cases in which a part of the matrix measures them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) keys: usize,
    pub(crate) specs: Vec<SubjectSpec>,
    pub(crate) groups: Vec<Group>,
}

impl Place {
    fn new(matrix: Matrix, keys: usize, specs: Vec<SubjectSpec>) -> Self {
        let group = |workload| Group {
            op: Op::Contains,
            workload: Some(workload),
            keys,
            input: None,
            hashed: false,
            matrix: Some(matrix),
        };
        let groups = [Workload::Hit, Workload::Miss].map(group).into();
        Self { keys, specs, groups }
    }

    /// Returns the same filters and groups with another number of keys.
    pub(crate) fn with_keys(mut self, keys: usize) -> Self {
        self.keys = keys;
        self.groups.iter_mut().for_each(|group| group.keys = keys);
        self
    }
}

/// Returns a filter of every kind, and the rivals that have calls for single hashes.
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

/// Returns Bloom filters of each size in [`BITS`].
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

/// Returns a filter of every kind with huge pages and one without them.
fn by_pages() -> Vec<SubjectSpec> {
    let small = |spec: SubjectSpec| SubjectSpec { form: Form::SmallPages, ..spec };
    let all = every_kind().into_iter().flat_map(|spec| match spec.rival {
        Some(_) => vec![spec],
        None => vec![spec, small(spec)],
    });
    all.collect()
}

/// Returns a tree of small filters for every kind.
fn as_trees() -> Vec<SubjectSpec> {
    let tree = |spec| SubjectSpec { form: Form::Tree, ..spec };
    every_kind().into_iter().map(tree).collect()
}

/// Returns all parts and their filters for a machine with these caches.
pub(crate) fn every_place(caches: &Caches) -> Vec<(Matrix, Place)> {
    let at = |level: Level| level.keys(caches).map(|keys| (level, keys));
    let mut all = Vec::new();
    let mut add = |matrix, keys, specs| all.push((matrix, Place::new(matrix, keys, specs)));
    for (_, keys) in [Level::L2, Level::Dram].into_iter().filter_map(at) {
        add(Matrix::BatchSizes, keys, every_kind());
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

/// Returns the parts that a selection includes.
pub(crate) fn places_of(selection: &Selection, caches: &Caches) -> Vec<Place> {
    let all = every_place(caches).into_iter();
    all.filter(|(matrix, _)| selection.includes(matrix.marks())).map(|(_, place)| place).collect()
}

/// The substring that the user's `--filter` must contain for Zipf-distributed probes to be measured.
const ZIPF: &[&str] = &["zipf"];

impl Selection {
    /// Whether a part of the matrix with these marks is measured.
    fn includes(&self, marks: &[&str]) -> bool {
        self.includes_all() && self.names(marks)
    }

    /// Whether Zipf-distributed probes are measured.
    pub(crate) fn includes_zipf(&self) -> bool {
        self.names(ZIPF)
    }

    /// Whether `--filter` contains one of the marks. Without `--filter`, whether the run is more than a quick one.
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
    use crate::row::filling_of;
    use std::collections::HashSet;

    const CACHES: Caches = Caches { l1d: Some(48 << 10), l2: Some(2 << 20), l3: Some(30 << 20) };

    fn selection(filter: &str) -> Selection {
        Selection { filter: Some(regex::Regex::new(filter).unwrap()), ..Selection::default() }
    }

    #[test]
    fn names_of_cases_are_unique_and_identify_their_part() {
        let mut names = HashSet::new();
        for (matrix, place) in every_place(&CACHES) {
            for group in &place.groups {
                for case in group.cases(&place.specs) {
                    let variant = group.variant(&case.spec, case.api);
                    assert_eq!(Matrix::of_variant(&variant), Some(matrix), "{}", case.name);
                    assert_eq!(filling_of(&variant), None, "{variant}");
                    assert!(names.insert(case.name.clone()), "{}", case.name);
                }
            }
        }
        for name in [
            "contains/miss/6.99048e5/split-block-bloom/12-bit+by-64/batch",
            "contains/miss/6.99048e5/sbbf-rs-safe/12-bit+by-1/single",
            "contains/hit/1e6/register-bloom/20-bit+bits/batch",
            "contains/hit/1.6384e4/cuckoo/fpr-1%+in-L1/batch",
            "contains/hit/1.048576e7/bloom/12-bit+small-pages/batch",
            "contains/hit/1.048576e7/fastbloom/12-bit+own-pages/single",
            "contains/miss/1e7/quotient/fpr-1%+small-filters/single",
        ] {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn the_matrix_is_measured_if_it_is_named_and_by_default_except_in_quick_runs() {
        let count = |selection: &Selection| places_of(selection, &CACHES).len();
        assert_eq!(count(&Selection { quick: true, ..Selection::default() }), 0);
        assert_eq!(count(&Selection::default()), every_place(&CACHES).len());
        let full = Selection { full: true, ..Selection::default() };
        assert_eq!(count(&full), every_place(&CACHES).len());
        assert_eq!(count(&Selection { keys: Some(vec![1000]), ..full }), 0);
        assert_eq!(count(&selection("split-block.*batch")), 0);
        assert_eq!(count(&selection("miss/.*by-64")), 2);
        assert_eq!(count(&selection("in-L2")), 4);
        assert!(selection("zipf/1e6").includes_zipf() && !selection("hit").includes_zipf());
    }

    #[test]
    fn sizes_follow_the_caches_of_the_machine() {
        let bytes: Vec<u64> =
            Level::ALL.iter().map(|level| level.bytes(&CACHES).unwrap()).collect();
        assert_eq!(bytes, [24 << 10, 1 << 20, 15 << 20, 60 << 20]);
        // If the machine reports no cache sizes, only the two parts that do not need them are measured.
        assert_eq!(every_place(&Caches::default()).len(), 2);
    }
}
