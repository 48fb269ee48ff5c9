//! Lists the cases of the engine, and their names.

use crate::measure::plan::{Scope, Selection};
use crate::model::{
    Api, Calls, Case, Clock, Distribution, Family, Filling, Input, Op, ParallelRival, Sizing,
    Workload,
};
use crate::run::engine::strategies;
use crate::run::engine::threads::numbers_of_threads;
use std::fmt;
use std::ops::RangeInclusive;
use trommel::{FilterKind, FilterSpec, Isa};

/// The name of the map of strategies, which compares both strategies of the engine (see `strategies`). The map is
/// selected by a `--filter` that matches this name.
const STRATEGIES: &str = "engine-strategies";

const ONE_GIB: usize = 1 << 30;
/// Skewed keys ([`Distribution::SKEWED`]) and shared filters are measured only at those key counts of a run that are in
/// this range: these key counts are enough work for several threads, yet the rounds are short.
const MANY_KEYS: RangeInclusive<usize> = 1_000_000..=10_000_000;
const LINE_BYTES: usize = 64;

/// A filter of ours that is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SizedFilter {
    pub(crate) kind: FilterKind,
    pub(crate) sizing: Sizing,
}

/// A subject of a group, without its number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Participant {
    /// The filter's own batch, on one thread.
    Batch,
    /// The engine.
    Engine,
    /// The filter shared by threads that each insert slices of the keys.
    Shared,
    Rival(ParallelRival),
}

/// A participant and its number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Runner {
    pub(crate) participant: Participant,
    pub(crate) threads: usize,
}

/// Cases of one filter that are timed interleaved with each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) sized_filter: SizedFilter,
    pub(crate) op: Op,
    pub(crate) workload: Option<Workload>,
    pub(crate) keys: usize,
    /// The number of keys that are looked up or inserted per repetition.
    pub(crate) ops: usize,
    /// The distribution and order of the keys that are looked up or inserted.
    pub(crate) distribution: Distribution,
    /// Whether keys are inserted by several threads through shared references.
    pub(crate) shared: bool,
}

impl SizedFilter {
    /// The spec of the filter for `keys` keys.
    pub(crate) fn spec(&self, keys: usize, isa: Option<Isa>) -> FilterSpec {
        let spec = FilterSpec::new(self.kind).keys(keys);
        let spec = match self.sizing {
            Sizing::BitsPerKey(bits) => {
                spec.memory_bytes((keys * bits).div_ceil(8).max(LINE_BYTES))
            }
            Sizing::Fpr(fpr) => spec.fpr(fpr),
            Sizing::Bytes(bytes) => spec.memory_bytes(bytes),
            Sizing::Full { family, bits } => with_slots(spec, family, bits, Sizing::FULL_LOAD),
            Sizing::Slots(Filling { family, bits, load, .. }) => {
                with_slots(spec, family, bits, f64::from(load) / 100.0)
            }
        };
        isa.map_or(spec, |isa| spec.isa(isa))
    }

    /// The crate with which the filter is compared.
    pub(crate) fn rival(&self) -> ParallelRival {
        match self.kind {
            FilterKind::Bloom | FilterKind::CountingBloom => ParallelRival::Fastbloom,
            FilterKind::Quotient | FilterKind::CacheLineQuotient => ParallelRival::Qfilter,
            FilterKind::Cuckoo => ParallelRival::AtomicCuckoo,
            _ => ParallelRival::SbbfRs,
        }
    }

    /// Whether a rival's filter is of the same kind as this filter. If not, [`Case::takes_size`] is true: the name of
    /// the rival's case then states the kind of our filter before the size.
    fn has_kind_of(&self, rival: ParallelRival) -> bool {
        let kind = match rival {
            ParallelRival::SbbfRs => FilterKind::SplitBlockBloom,
            ParallelRival::Fastbloom | ParallelRival::FastbloomAtomic => FilterKind::Bloom,
            ParallelRival::Qfilter => FilterKind::Quotient,
            ParallelRival::AtomicCuckoo => FilterKind::Cuckoo,
        };
        self.kind == kind
    }
}

/// Sizes a filter with slots of `bits` bits, so that its keys take the share `load` of the slots.
fn with_slots(spec: FilterSpec, family: Family, bits: u32, load: f64) -> FilterSpec {
    match family {
        Family::Quotient => spec.load(load).remainder_bits(bits),
        // The filter is a multiset because its rival is a multiset: the rival keeps every copy of a key.
        Family::Cuckoo => spec.load(load).fingerprint_bits(bits).multiset(true),
    }
}

impl Group {
    /// A group on plain keys with one operation per key.
    const fn of(
        sized_filter: SizedFilter,
        op: Op,
        workload: Option<Workload>,
        keys: usize,
    ) -> Self {
        let distribution = Distribution::Plain;
        Self { sized_filter, op, workload, keys, ops: keys, distribution, shared: false }
    }

    /// The case of a runner.
    pub(crate) fn case(&self, runner: Runner) -> Case {
        let SizedFilter { kind, sizing } = self.sized_filter;
        let rival = match runner.participant {
            Participant::Rival(rival) => Some(rival),
            Participant::Batch | Participant::Engine | Participant::Shared => None,
        };
        Case {
            rival: rival.map(|rival| rival.to_string()),
            takes_size: rival.is_some_and(|rival| !self.sized_filter.has_kind_of(rival)),
            op: self.op,
            workload: self.workload,
            calls: Calls::by(runner.api()),
            keys: self.keys as u64,
            input: Input::Generated(self.distribution),
            threads: runner.threads as u32,
            clock: Clock::Wall,
            is_shared: self.shared,
            ..Case::of(kind.to_string(), sizing)
        }
    }

    /// The name of a runner's case.
    pub(crate) fn case_name(&self, runner: Runner) -> String {
        self.case(runner).name()
    }

    /// The distribution of the keys in the filter. In a group of lookups, only the probes are skewed.
    pub(crate) fn inserted(&self) -> Distribution {
        if self.op == Op::Insert { self.distribution } else { Distribution::Plain }
    }

    /// All runners of the group. The engine and the rival run on each number of threads in `threads`. The rival runs
    /// on one thread even if `threads` does not contain 1. The filter's own batch runs on one thread only. Groups with
    /// skewed keys have no rivals, since their purpose is to compare the engine with the filter's own batch. Groups of
    /// shared filters have only the shared filter and `fastbloom`'s atomic filter, on each number of threads in
    /// `threads`.
    pub(crate) fn runners(&self, threads: &[usize]) -> Vec<Runner> {
        let on_threads = |participant| {
            threads.iter().map(move |threads| Runner { participant, threads: *threads })
        };
        if self.shared {
            let atomic = Participant::Rival(ParallelRival::FastbloomAtomic);
            return on_threads(Participant::Shared).chain(on_threads(atomic)).collect();
        }
        let rival = Participant::Rival(self.sized_filter.rival());
        let mut all = vec![Runner { participant: Participant::Batch, threads: 1 }];
        all.extend(on_threads(Participant::Engine));
        if Distribution::SKEWED.contains(&self.distribution) {
            return all;
        }
        all.extend(on_threads(rival));
        // The rival on one thread is always included, since our runners are compared with it.
        let alone = Runner { participant: rival, threads: 1 };
        if !all.contains(&alone) {
            all.push(alone);
        }
        all
    }

    /// Whether `--filter` is absent or matches the name of a case of the engine in this group. A group of shared
    /// filters has no cases of the engine, so `--filter` is matched with the names that such cases would have.
    pub(crate) fn is_selected(&self, selection: &Selection, threads: &[usize]) -> bool {
        selection.filter.as_ref().is_none_or(|filter| {
            let participant = Participant::Engine;
            let mut engines =
                threads.iter().map(|threads| Runner { participant, threads: *threads });
            engines.any(|runner| filter.is_match(&self.case_name(runner)))
        })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "engine {} {}", self.sized_filter.kind, self.op)?;
        if let Some(workload) = self.workload {
            write!(f, " {workload}")?;
        }
        write!(f, " {:e}", self.keys)?;
        match self.distribution {
            Distribution::Plain => Ok(()),
            distribution => write!(f, " {distribution}"),
        }
    }
}

impl Runner {
    /// How keys are passed to the filter, and on which threads.
    pub(crate) fn api(self) -> Api {
        match self.participant {
            Participant::Batch => Api::Batch,
            Participant::Engine => Api::Engine,
            Participant::Shared => Api::Shared,
            Participant::Rival(rival) => rival.api(self.threads),
        }
    }
}

/// The filters that are measured at every key count.
fn sized_filters() -> [SizedFilter; 7] {
    use FilterKind as Kind;
    let sized = |kind, sizing| SizedFilter { kind, sizing };
    let full = |family| Sizing::Full { family, bits: 8 };
    [
        sized(Kind::SplitBlockBloom, Sizing::BitsPerKey(12)),
        sized(Kind::CacheLineBloom, Sizing::BitsPerKey(12)),
        sized(Kind::RegisterBloom, Sizing::BitsPerKey(12)),
        sized(Kind::Bloom, Sizing::Fpr(0.01)),
        sized(Kind::Quotient, full(Family::Quotient)),
        sized(Kind::CacheLineQuotient, full(Family::Quotient)),
        sized(Kind::Cuckoo, full(Family::Cuckoo)),
    ]
}

/// The groups with `keys` plain keys, ordered by filter. Above 1e7 keys, where filling the filters takes
/// minutes, inserts are left out, while builds and lookups are measured. The times of builds show about how long
/// inserts would take. In one full run, inserts of 1e8 keys took 0.72 to 1.05 times as long as a build. These keys were
/// inserted into an empty filter whose memory had already been written to.
pub(crate) fn groups_of(keys: usize) -> Vec<Group> {
    let is_inserted = keys <= *MANY_KEYS.end();
    let of_filter = move |filter| {
        let group = |op, workload| Group::of(filter, op, workload, keys);
        let inserts = is_inserted.then(|| group(Op::Insert, None));
        let lookups = [Workload::Hit, Workload::Miss];
        [group(Op::Build, None)]
            .into_iter()
            .chain(inserts)
            .chain(lookups.map(|workload| group(Op::Contains, Some(workload))))
    };
    sized_filters().into_iter().flat_map(of_filter).collect()
}

/// The sized filters of these kinds.
fn sized_filters_of(kinds: &[FilterKind]) -> impl Iterator<Item = SizedFilter> {
    sized_filters().into_iter().filter(|filter| kinds.contains(&filter.kind))
}

/// The groups with `keys` skewed keys.
pub(crate) fn groups_of_skewed(keys: usize) -> Vec<Group> {
    use FilterKind as Kind;
    let mut groups = Vec::new();
    for filter in
        sized_filters_of(&[Kind::SplitBlockBloom, Kind::Bloom, Kind::Quotient, Kind::Cuckoo])
    {
        for distribution in Distribution::SKEWED {
            let group =
                |op, workload| Group { distribution, ..Group::of(filter, op, workload, keys) };
            let is_zipf = distribution == Distribution::Zipf;
            let probes = if is_zipf { Workload::Zipf } else { Workload::Hit };
            groups.push(group(Op::Contains, Some(probes)));
            // Equal and Zipf-distributed keys are not inserted into cuckoo filters, which store every copy of a key but
            // have room for only a few copies.
            if filter.kind != FilterKind::Cuckoo || distribution == Distribution::Sorted {
                groups.push(group(Op::Insert, None));
            }
        }
    }
    // Lookups come first. So all lookups in one filter follow one another, and the filter is filled only once for them.
    groups.sort_by_key(|group| group.op == Op::Insert);
    groups
}

/// The groups of shared filters with `keys` keys.
pub(crate) fn groups_of_shared(keys: usize) -> Vec<Group> {
    let group = |filter| Group { shared: true, ..Group::of(filter, Op::Insert, None, keys) };
    sized_filters_of(&[FilterKind::SplitBlockBloom, FilterKind::Bloom]).map(group).collect()
}

/// The groups of filters of 1 GiB, with several numbers of probes per cache line.
pub(crate) fn groups_of_one_gib() -> Vec<Group> {
    const KEYS: usize = 100_000_000;
    let lines = ONE_GIB / LINE_BYTES;
    let kinds =
        [FilterKind::SplitBlockBloom, FilterKind::CacheLineBloom, FilterKind::RegisterBloom];
    let of_kind = |kind| {
        let filter = SizedFilter { kind, sizing: Sizing::Bytes(ONE_GIB) };
        let group = |op, workload, ops, distribution| Group {
            ops,
            distribution,
            ..Group::of(filter, op, workload, KEYS)
        };
        let mut groups = vec![group(Op::Insert, None, KEYS, Distribution::Plain)];
        for (probes, per_line) in [(lines / 4, 0.25), (lines, 1.0), (4 * lines, 4.0)] {
            for workload in [Workload::Hit, Workload::Miss] {
                let distribution = Distribution::PerLine(per_line);
                groups.push(group(Op::Contains, Some(workload), probes, distribution));
            }
        }
        groups
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

impl Selection {
    /// Whether the engine is measured. Every run measures it if `--filter` contains "engine" or if
    /// `--threads` is given. Otherwise a quick run leaves the engine out, a usual run measures it
    /// only if none of `--filter`, `--keys`, `--load` and `--cases` is given, and a full run measures it
    /// unless `--load` is given.
    pub(crate) fn includes_engine(&self) -> bool {
        let is_of_all = match &self.filter {
            _ if self.full => self.load.is_none(),
            Some(_) => false,
            None => self.scope() == Scope::Usual && self.includes_all(),
        };
        let is_named =
            self.filter.as_ref().is_some_and(|filter| filter.as_str().contains("engine"));
        is_of_all || is_named || self.threads.is_some()
    }

    /// The groups of the engine that are selected.
    pub(crate) fn engine_groups(&self) -> Vec<Group> {
        if !self.includes_engine() {
            return Vec::new();
        }
        let is_named = self.filter.is_some() || self.threads.is_some();
        let default: &[usize] = match self.scope() {
            Scope::Full => &[1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
            Scope::Usual if !is_named => &[1_000_000],
            _ => &[1_000, 10_000, 100_000, 1_000_000, 10_000_000],
        };
        let keys = self.keys.as_deref().unwrap_or(default);
        let mut groups: Vec<Group> = keys.iter().flat_map(|keys| groups_of(*keys)).collect();
        if is_named || self.full {
            for keys in keys.iter().filter(|keys| MANY_KEYS.contains(keys)) {
                groups.extend(groups_of_skewed(*keys));
                groups.extend(groups_of_shared(*keys));
            }
        }
        if self.full && self.keys.is_none() {
            groups.extend(groups_of_one_gib());
        }
        let threads = numbers_of_threads(self.threads.as_deref());
        groups.retain(|group| group.is_selected(self, &threads));
        groups
    }

    /// The points of the map of strategies; none with `--keys`, or if the engine is not measured
    /// ([`Self::includes_engine`]). Otherwise, with `--filter`, the points are measured if it matches the name of the
    /// map, and without `--filter`, in full runs and in runs with `--threads`.
    pub(crate) fn map_points(&self) -> Vec<strategies::MapPoint> {
        let is_named = match &self.filter {
            Some(filter) => filter.is_match(STRATEGIES),
            None => self.full || self.threads.is_some(),
        };
        let is_wanted = self.includes_engine() && self.keys.is_none() && is_named;
        if is_wanted { strategies::points(self.full) } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn selection(filter: &str) -> Selection {
        Selection {
            filter: Some(regex::Regex::new(filter).unwrap()),
            threads: Some(vec![1, 2]),
            ..Selection::default()
        }
    }

    #[test]
    fn names_of_cases_are_unique() {
        let mut names = HashSet::new();
        let keys = [1_000_000, 10_000_000];
        let groups = keys.into_iter().flat_map(groups_of).chain(groups_of_one_gib());
        let others =
            keys.into_iter().flat_map(|keys| [groups_of_skewed(keys), groups_of_shared(keys)]);
        for group in groups.chain(others.flatten()) {
            for runner in group.runners(&[1, 2]) {
                let name = group.case_name(runner);
                assert_eq!(group.case(runner).filling(), None, "{name}");
                assert!(names.insert(name.clone()), "{name}");
            }
        }
        let engine = "contains/hit/1e6/split-block-bloom/12-bit+wall/engine/2-threads";
        let rival = "insert/1e6/sbbf-rs-safe/as-register-bloom-12-bit+wall/sharded/2-threads";
        assert!(names.contains(engine) && names.contains(rival));
        assert!(names.contains("insert/1e7/bloom/fpr-1%-shared+wall/shared/2-threads"));
        let atomic = "insert/1e6/fastbloom/as-split-block-bloom-12-bit-shared+wall/shared";
        assert!(names.contains(atomic));
    }

    #[test]
    fn rivals_on_plain_keys_are_measured_on_one_thread_too() {
        let group = groups_of(1000)[0];
        let rivals = |threads: &[usize]| {
            let all = group.runners(threads);
            all.iter()
                .filter(|c| matches!(c.participant, Participant::Rival(_)))
                .map(|c| c.threads)
                .collect()
        };
        let (one, both): (Vec<usize>, Vec<usize>) = (rivals(&[1]), rivals(&[2]));
        assert_eq!((one, both), (vec![1], vec![2, 1]));
    }

    fn inserts_alone() -> Selection {
        selection("insert.*engine")
    }

    #[test]
    fn a_selection_decides_which_groups_and_points_of_the_engine_are_measured() {
        let quick = Selection { quick: true, ..Selection::default() };
        assert!(quick.engine_groups().is_empty());
        let usual = Selection::default();
        assert!(usual.engine_groups().iter().all(|group| group.keys == 1_000_000));
        assert!(!usual.engine_groups().is_empty() && usual.map_points().is_empty());
        assert!(!Selection { full: true, ..Selection::default() }.engine_groups().is_empty());
        let inserts = inserts_alone().engine_groups();
        // Seven filters at five key counts, and ten skewed and two shared groups at two of these key counts.
        assert_eq!(inserts.len(), 7 * 5 + (10 + 2) * 2);
        assert!(inserts.iter().all(|group| group.op == Op::Insert));
        let other = Selection { threads: None, ..selection("miss/1e6/split-block") };
        assert!(other.engine_groups().is_empty());
        // A full run measures the engine even if `--filter` does not contain "engine".
        let builds = Selection { full: true, threads: None, ..selection("build/1e8/split-block") };
        let groups = builds.engine_groups();
        assert_eq!(groups.len(), 1);
        assert_eq!((groups[0].op, groups[0].keys), (Op::Build, 100_000_000));
        assert!(Selection { load: Some(vec![95]), ..builds }.engine_groups().is_empty());
        assert_eq!(selection("engine").map_points().len(), 15);
        assert!(inserts_alone().map_points().is_empty());
        let map_alone = selection("engine-strategies");
        assert!(map_alone.engine_groups().is_empty() && !map_alone.map_points().is_empty());
    }
}
