//! The cases that are measured, and their names.

mod cases;
mod matrix;
mod point;
mod scope;
mod selection;
mod sweep;

pub(crate) use cases::Cases;
pub(crate) use matrix::{BATCH_SIZES, every_point, points_of};
pub(crate) use point::Point;
pub(crate) use scope::Scope;
pub(crate) use selection::{MAX_THREADS, Selection, parse_count};
pub(crate) use sweep::{Loads, sweep_of, swept_specs};

use crate::base::stats::round_significant;
use crate::measure::environment::{Caches, memory_bytes};
use crate::model::{
    Calls, Case, Distribution, Filling, Form, Input, Level, Matrix, Op, Rival, Sizing, Workload,
};
use matrix::keys_for;
use trommel::{FilterKind, Isa};

/// Describes a filter, ours or a rival's, and its size. Several groups of lookups can be measured with one filter that
/// was made from this description.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SubjectSpec {
    /// The filter's kind. For a rival, this is the kind with which the rival competes, or `None` if the rival is sized
    /// by slots: its `sizing` then names the family with which the rival competes.
    pub(crate) kind: Option<FilterKind>,
    pub(crate) sizing: Sizing,
    pub(crate) rival: Option<Rival>,
    /// The instruction set of the filter's kernels, if it differs from the instruction set of the run.
    pub(crate) isa: Option<Isa>,
    pub(crate) form: Form,
}

impl SubjectSpec {
    const fn ours(kind: FilterKind, sizing: Sizing) -> Self {
        Self { kind: Some(kind), sizing, rival: None, isa: None, form: Form::Usual }
    }

    const fn rival(rival: Rival, kind: FilterKind, sizing: Sizing) -> Self {
        Self { kind: Some(kind), sizing, rival: Some(rival), isa: None, form: Form::Usual }
    }

    const fn rival_by_slots(rival: Rival, filling: Filling) -> Self {
        let sizing = Sizing::Slots(filling);
        Self { kind: None, sizing, rival: Some(rival), isa: None, form: Form::Usual }
    }

    /// Returns the name of the kind. For a rival, this is the kind or family with which it competes.
    pub(crate) fn kind_name(&self) -> String {
        match (self.kind, self.sizing) {
            (Some(kind), _) => kind.to_string(),
            (None, Sizing::Slots(filling)) => filling.family.to_string(),
            (None, _) => String::new(),
        }
    }

    /// Returns the name of the rival's crate or, if the filter is ours, the name of its kind.
    pub(crate) fn subject_name(&self) -> String {
        self.rival.map_or_else(|| self.kind_name(), |rival| rival.to_string())
    }

    /// Whether the subject is `sbbf-rs-safe`, a split-block filter, as the rival of a kind of ours that is not
    /// split-block. The rival is then made as large as our filter of the kind `self.kind`.
    fn takes_size(&self) -> bool {
        self.rival == Some(Rival::SbbfRs) && self.kind != Some(FilterKind::SplitBlockBloom)
    }

    /// Returns a case with the fields that describe the subject. All other fields have the values of [`Case::of`].
    pub(crate) fn case(&self) -> Case {
        Case {
            rival: self.rival.map(|rival| rival.to_string()),
            takes_size: self.takes_size(),
            kernels: self.isa,
            form: self.form,
            ..Case::of(self.kind_name(), self.sizing)
        }
    }
}

const ONE_PERCENT: Sizing = Sizing::Fpr(0.01);
const TWELVE_BITS: Sizing = Sizing::BitsPerKey(12);
const ONE_GIB: Sizing = Sizing::Bytes(1 << 30);

/// The number of keys with which filters of 1 GiB have 12 bits per key.
pub(crate) const KEYS_OF_ONE_GIB: usize = (1 << 30) / 12 * 8;

/// Returns the filters that are measured at each number of generated keys, and on the keys of an input. With many keys,
/// a quick run measures only a part of these filters ([`subject_specs_of`]). The matrix, the sweep over loads, the
/// filters of 1 GiB, the engine and the user's file of cases have lists of their own. A kind without its own entry here
/// is measured at a false-positive rate of 1 %, so that a new kind is never forgotten.
pub(crate) fn subject_specs() -> Vec<SubjectSpec> {
    use FilterKind as Kind;
    let mut all = Vec::new();
    for kind in FilterKind::ALL.iter().copied() {
        let sizings: &[Sizing] = match kind {
            Kind::SplitBlockBloom | Kind::CacheLineBloom => &[TWELVE_BITS],
            Kind::RegisterBloom | Kind::Bloom => &[TWELVE_BITS, ONE_PERCENT],
            _ => &[ONE_PERCENT],
        };
        all.extend(sizings.iter().map(|sizing| SubjectSpec::ours(kind, *sizing)));
    }
    all.push(SubjectSpec::rival(Rival::SbbfRs, Kind::SplitBlockBloom, TWELVE_BITS));
    // No rival is a register-blocked filter. So our register-blocked filter for 1 % is compared with `sbbf-rs-safe` at
    // the same size.
    all.push(SubjectSpec::rival(Rival::SbbfRs, Kind::RegisterBloom, ONE_PERCENT));
    all.push(SubjectSpec::rival(Rival::Fastbloom, Kind::Bloom, TWELVE_BITS));
    all.push(SubjectSpec::rival(Rival::Fastbloom, Kind::Bloom, ONE_PERCENT));
    if cfg!(feature = "parquet") {
        all.push(SubjectSpec::rival(Rival::Parquet, Kind::SplitBlockBloom, TWELVE_BITS));
    }
    all.push(SubjectSpec::rival(Rival::Qfilter, Kind::Quotient, ONE_PERCENT));
    all
}

/// Returns the filters of 1 GiB, which are far larger than the caches: the blocked kinds and their rival.
pub(crate) fn subject_specs_of_one_gib() -> Vec<SubjectSpec> {
    use FilterKind as Kind;
    vec![
        SubjectSpec::ours(Kind::SplitBlockBloom, ONE_GIB),
        SubjectSpec::ours(Kind::CacheLineBloom, ONE_GIB),
        SubjectSpec::ours(Kind::RegisterBloom, ONE_GIB),
        SubjectSpec::rival(Rival::SbbfRs, Kind::SplitBlockBloom, ONE_GIB),
    ]
}

/// Cases that are timed interleaved with each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) op: Op,
    pub(crate) workload: Option<Workload>,
    pub(crate) keys: usize,
    /// Name of the input, if keys are not generated.
    pub(crate) input: Option<String>,
    /// Whether keys are hashed inside the timed loop.
    pub(crate) hashed: bool,
    /// The part of the matrix that the group belongs to, if any.
    pub(crate) matrix: Option<Matrix>,
}

/// A case, and the subject with which it is measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    pub(crate) spec: SubjectSpec,
    pub(crate) case: Case,
    /// The name of the case.
    pub(crate) name: String,
}

impl Group {
    /// Returns the name that the progress bar shows.
    pub(crate) fn name(&self) -> String {
        let workload = self.workload.map_or_else(String::new, |workload| format!(" {workload}"));
        let input = self.input.as_deref().map_or_else(String::new, |input| format!(" {input}"));
        let hashed = if self.hashed { " hashing" } else { "" };
        let matrix = self.matrix.map_or_else(String::new, |matrix| format!(" {matrix}"));
        format!("{}{workload} {:e}{input}{hashed}{matrix}", self.op, self.keys)
    }

    /// Returns the case of a subject in this group.
    fn case(&self, spec: &SubjectSpec, calls: Calls) -> Case {
        let generated = Input::Generated(Distribution::Plain);
        Case {
            op: self.op,
            workload: self.workload,
            calls,
            keys: self.keys as u64,
            input: self.input.clone().map_or(generated, Input::Given),
            hashing: self.hashed,
            matrix: self.matrix,
            ..spec.case()
        }
    }

    /// Returns the cases of these subjects, except the cases that a subject does not support.
    pub(crate) fn cases(&self, specs: &[SubjectSpec]) -> Vec<Planned> {
        let mut cases = Vec::new();
        for spec in specs.iter().filter(|spec| self.admits(spec)) {
            for calls in self.calls(spec) {
                let case = self.case(spec, *calls);
                cases.push(Planned { spec: *spec, name: case.name(), case });
            }
        }
        cases
    }

    /// Whether the subject has cases in this group. A rival that takes no hashes has cases only in groups that hash
    /// keys. The textbook quotient filter has no cases of merges: it merges by inserting fingerprints one by one, and
    /// the row for its inserts shows that speed.
    fn admits(&self, spec: &SubjectSpec) -> bool {
        spec.rival.is_none_or(|rival| {
            (self.hashed || rival.takes_hashes())
                && (self.op != Op::Merge || rival != Rival::TextbookQuotient)
        })
    }

    /// The calls with which a subject is measured. In the matrix, [`matrix::calls_of`] determines them. Merges and
    /// enumerations have one call for all keys, and removals one call per key. All other operations of rivals have
    /// one call per key, because no rival has a batched call that is more than a loop over keys. Our builds, and our
    /// lookups that hash keys or take them from an input, use only the calls that a user would choose: batches.
    fn calls(&self, spec: &SubjectSpec) -> &'static [Calls] {
        if let Some(matrix) = self.matrix {
            return matrix::calls_of(matrix, spec.rival.is_some());
        }
        match self.op {
            Op::Remove => &[Calls::SINGLE],
            Op::Merge | Op::Enumerate => &[Calls::BATCH],
            _ if spec.rival.is_some() => &[Calls::SINGLE],
            Op::Build => &[Calls::BATCH],
            Op::Insert | Op::Contains if self.hashed || self.input.is_some() => &[Calls::BATCH],
            Op::Insert | Op::Contains => &[Calls::BATCH, Calls::SINGLE],
        }
    }
}

/// Returns the groups of cases on `keys` generated keys.
pub(crate) fn groups_of(keys: usize, selection: &Selection) -> Vec<Group> {
    let group =
        |op, workload, hashed| Group { op, workload, keys, input: None, hashed, matrix: None };
    let mut groups: Vec<Group> =
        Workload::ALL.map(|workload| group(Op::Contains, Some(workload), false)).into();
    if selection.includes_zipf() {
        groups.push(group(Op::Contains, Some(Workload::Zipf), false));
    }
    if selection.only_looks_up(keys) {
        return groups;
    }
    groups.push(group(Op::Insert, None, false));
    if keys <= BUILT_AT_MOST || selection.keys.is_some() {
        groups.push(group(Op::Build, None, false));
    }
    groups.push(group(Op::Contains, Some(Workload::Mixed), true));
    groups
}

/// Above this number of keys, [`groups_of`] has only lookups in a quick run, because repeatedly filling filters takes
/// too long. At numbers of keys that the user names, the other operations are measured too.
const ONLY_LOOKUPS_ABOVE: usize = 1_000_000;

/// Above this number of keys, [`groups_of`] has no builds, unless the user names the number: with a hundred million
/// keys, one build of each kind and rival takes minutes. The engine's groups and the sweep over loads have limits of
/// their own.
const BUILT_AT_MOST: usize = 10_000_000;

/// Returns the groups of the filters of 1 GiB.
pub(crate) fn groups_of_one_gib() -> Vec<Group> {
    let keys = KEYS_OF_ONE_GIB;
    let group =
        |op, workload| Group { op, workload, keys, input: None, hashed: false, matrix: None };
    vec![
        group(Op::Contains, Some(Workload::Hit)),
        group(Op::Contains, Some(Workload::Miss)),
        group(Op::Insert, None),
    ]
}

/// Returns the two groups of a given input. Both groups have the same probes. The first group hashes the probes before
/// the timed section, the second group within the timed section.
pub(crate) fn groups_of_input(input: &str, keys: usize) -> Vec<Group> {
    [false, true]
        .map(|hashed| Group {
            op: Op::Contains,
            workload: Some(Workload::Mixed),
            keys,
            input: Some(input.to_owned()),
            hashed,
            matrix: None,
        })
        .into()
}

/// A placeholder for the number of TPC-H's keys, which is unknown until they are generated.
pub(crate) const UNKNOWN_KEYS: usize = 1;

/// Returns the groups on TPC-H keys that a selection includes.
pub(crate) fn groups_of_tpch(selection: &Selection) -> Vec<Group> {
    if !selection.includes_all() {
        return Vec::new();
    }
    let groups = groups_of_input(&format!("tpch-{}", tpch_scale(selection)), UNKNOWN_KEYS);
    selection.choose_groups(groups, &subject_specs())
}

/// Returns the key counts of a selection, on a machine with these caches.
pub(crate) fn key_counts(selection: &Selection, caches: &Caches) -> Vec<usize> {
    // If the user names numbers of threads, only the engine is measured. If the user gives a file of cases, only its
    // cases are measured. If the user names loads but no key counts, only the sweep is measured.
    if selection.threads.is_some() || selection.cases.is_some() {
        return Vec::new();
    }
    if let Some(keys) = &selection.keys {
        return keys.clone();
    }
    if selection.load.is_some() {
        return Vec::new();
    }
    match selection.scope() {
        Scope::Quick => vec![100_000, keys_beyond_caches(caches, memory_bytes())],
        Scope::Usual => vec![100_000, 1_000_000, 10_000_000],
        Scope::Full => vec![100_000, 1_000_000, 10_000_000, 100_000_000],
    }
}

/// Returns the key counts of the summary that a quick run shows first.
pub(crate) fn key_counts_of_summary(selection: &Selection, caches: &Caches) -> Vec<usize> {
    if selection.scope() != Scope::Quick || !selection.includes_all() {
        return Vec::new();
    }
    key_counts(selection, caches)
}

/// Returns the number of keys of the large filters of a quick run: the number for which a filter with 12 bits per key
/// is twice as large as the last-level cache. If the size of the caches is unknown, the number is the larger bound in
/// [`LARGE_IN_QUICK`]. The number is kept within these bounds, then reduced if all large filters together would need
/// too much memory ([`MEMORY_PER_LARGE_KEY`]), and is rounded to two digits.
fn keys_beyond_caches(caches: &Caches, memory: Option<u64>) -> usize {
    let (least, most) = LARGE_IN_QUICK;
    let in_memory = memory.and_then(|bytes| usize::try_from(bytes / MEMORY_PER_LARGE_KEY).ok());
    let in_memory = in_memory.unwrap_or(usize::MAX);
    let keys = keys_for(Level::Dram, caches).unwrap_or(most).clamp(least, most).min(in_memory);
    round_significant(keys as f64, 2) as usize
}

/// The fewest and the most keys of the large filters of a quick run. Filling all filters with 30 million keys takes
/// 44 s of processor time on Zen 3. At 12 bits per key, a filter of 30 million keys has 45 MB. So on a machine whose
/// last-level cache has more than 22.5 MB, the large filters are less than twice as large as the cache.
const LARGE_IN_QUICK: (usize, usize) = (10_000_000, 30_000_000);

/// The memory, in bytes per key, that a machine must have for the large filters of a quick run. The filters, the hashes
/// of their keys and the array for the roofline together take less than two thirds of this memory.
const MEMORY_PER_LARGE_KEY: u64 = 100;

/// Whether the summary shows a group of generated keys.
pub(crate) fn is_of_summary(group: &Group) -> bool {
    let is_shown = match group.op {
        Op::Contains => matches!(group.workload, Some(Workload::Miss | Workload::Hit)),
        op => op == Op::Insert,
    };
    is_shown && !group.hashed
}

/// Returns the filters that are measured at a key count. If filling all of [`subject_specs`] would take a large part of
/// a brief run (see [`Selection::is_brief`]), returns only the first size of each kind, with the kind's rivals at this
/// size; otherwise returns all.
pub(crate) fn subject_specs_of(keys: usize, selection: &Selection) -> Vec<SubjectSpec> {
    let mut all = subject_specs();
    if selection.only_looks_up(keys) {
        let ours: Vec<SubjectSpec> =
            all.iter().filter(|spec| spec.rival.is_none()).copied().collect();
        all.retain(|spec| {
            let first = ours.iter().find(|first| first.kind == spec.kind);
            first.is_some_and(|first| first.sizing == spec.sizing)
        });
    }
    all
}

/// Returns the TPC-H scale factor of a selection.
pub(crate) fn tpch_scale(selection: &Selection) -> f64 {
    if selection.full { 1.0 } else { 0.1 }
}

impl Selection {
    /// Whether the run is brief: a quick run for which the user names no loads. If the user names loads, the sweep over
    /// these loads has more filters than the sweep of a brief run.
    pub(crate) fn is_brief(&self) -> bool {
        self.quick && self.load.is_none()
    }

    /// Whether filters of `keys` keys are measured with lookups only.
    pub(crate) fn only_looks_up(&self, keys: usize) -> bool {
        self.is_brief() && self.keys.is_none() && keys > ONLY_LOOKUPS_ABOVE
    }

    /// Whether all parts of a run are included: the user names no key counts, loads or numbers of threads, and gives no
    /// file of cases.
    pub(crate) fn includes_all(&self) -> bool {
        self.keys.is_none() && self.load.is_none() && self.threads.is_none() && self.cases.is_none()
    }

    /// Whether the filters of 1 GiB are measured.
    pub(crate) fn includes_one_gib(&self) -> bool {
        self.full && self.includes_all()
    }

    /// Returns the groups that have at least one selected case.
    pub(crate) fn choose_groups(
        &self,
        groups: impl IntoIterator<Item = Group>,
        specs: &[SubjectSpec],
    ) -> Vec<Group> {
        let is_selected = |group: &Group| !self.choose(group.cases(specs)).is_empty();
        groups.into_iter().filter(is_selected).collect()
    }

    /// Returns the selected cases: those whose name matches `--filter` and, if one of these cases
    /// is ours, all cases of rivals too. With `no_rivals`, cases of rivals are selected only by
    /// their names. Without `--filter`, all cases are selected.
    pub(crate) fn choose(&self, cases: Vec<Planned>) -> Vec<Planned> {
        let Some(filter) = &self.filter else { return cases };
        let is_named = |case: &Planned| filter.is_match(&case.name);
        let is_of_rival = |case: &Planned| case.spec.rival.is_some();
        let any_of_ours = cases.iter().any(|case| is_named(case) && !is_of_rival(case));
        let with_rivals = any_of_ours && !self.no_rivals;
        let is_selected = |case: &Planned| is_named(case) || (with_rivals && is_of_rival(case));
        cases.into_iter().filter(is_selected).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn miss_at_1e6() -> Vec<Planned> {
        groups_of(1_000_000, &Selection::default())[1].cases(&subject_specs())
    }

    #[test]
    fn a_brief_run_only_looks_up_in_large_filters_unless_they_are_named() {
        let ops = |selection: &Selection| -> Vec<Op> {
            groups_of(10_000_000, selection).iter().map(|group| group.op).collect()
        };
        let quick = Selection { quick: true, ..Selection::default() };
        assert_eq!(ops(&quick), [Op::Contains; Workload::ALL.len()]);
        assert!(ops(&Selection::default()).contains(&Op::Insert));
        let named = Selection { quick: true, keys: Some(vec![10_000_000]), ..Selection::default() };
        let full = Selection { full: true, ..Selection::default() };
        assert!(ops(&named).contains(&Op::Insert) && ops(&full).contains(&Op::Build));
    }

    #[test]
    fn a_hundred_million_keys_are_built_only_if_they_are_named() {
        let builds = |selection: &Selection| {
            groups_of(100_000_000, selection).iter().any(|group| group.op == Op::Build)
        };
        assert!(!builds(&Selection { full: true, ..Selection::default() }));
        assert!(builds(&Selection { keys: Some(vec![100_000_000]), ..Selection::default() }));
    }

    #[test]
    fn a_quick_run_looks_up_in_one_large_filter_per_kind() {
        let quick = Selection { quick: true, ..Selection::default() };
        let caches = Caches { l1d: Some(32 << 10), l2: Some(1 << 20), l3: Some(16 << 20) };
        let large_here = keys_beyond_caches(&caches, memory_bytes());
        assert_eq!(key_counts_of_summary(&quick, &caches), [100_000, large_here]);
        assert!(key_counts_of_summary(&Selection::default(), &caches).is_empty());
        // Twice 16 MiB at 12 bits per key is 22.4 million keys. 1 GiB at 100 bytes per key is 10.7 million keys.
        let large = |memory| keys_beyond_caches(&caches, memory);
        assert_eq!((large(None), large(Some(8 << 30))), (22_000_000, 22_000_000));
        assert_eq!(large(Some(1 << 30)), 11_000_000);
        assert_eq!(keys_beyond_caches(&Caches::default(), None), LARGE_IN_QUICK.1);
        let specs = subject_specs_of(10_000_000, &quick);
        let ours = specs.iter().filter(|spec| spec.rival.is_none()).count();
        assert_eq!(ours, FilterKind::ALL.len());
        assert_eq!(subject_specs_of(100_000, &quick), subject_specs());
    }

    #[test]
    fn every_kind_has_a_subject_spec() {
        let all = subject_specs();
        for kind in FilterKind::ALL {
            assert!(
                all.iter().any(|spec| spec.kind == Some(*kind) && spec.rival.is_none()),
                "{kind}"
            );
        }
    }

    #[test]
    fn names_of_cases_are_unique() {
        let mut names = HashSet::new();
        let full = Selection { full: true, ..Selection::default() };
        let generated = groups_of(100_000, &full);
        assert!(generated.iter().any(|group| group.workload == Some(Workload::Zipf)));
        for group in generated.into_iter().chain(groups_of_input("tpch-0.1", 5000)) {
            for case in group.cases(&subject_specs()) {
                assert!(names.insert(case.name.clone()), "{}", case.name);
            }
        }
    }

    #[test]
    fn a_rival_that_takes_no_hashes_is_measured_only_with_hashing() {
        assert!(!miss_at_1e6().iter().any(|case| case.spec.rival == Some(Rival::Parquet)));
        let hashed =
            groups_of(1_000_000, &Selection::default()).pop().unwrap().cases(&subject_specs());
        let is_measured = hashed.iter().any(|case| case.spec.rival == Some(Rival::Parquet));
        assert_eq!(is_measured, cfg!(feature = "parquet"));
    }

    #[test]
    fn a_filter_selects_by_name_and_keeps_rivals_unless_told_not_to() {
        let mut selection = Selection {
            filter: Some(regex::Regex::new("split-block.*batch").unwrap()),
            no_rivals: true,
            ..Selection::default()
        };
        let chosen = selection.choose(miss_at_1e6());
        assert_eq!(chosen.len(), 1);
        assert_eq!(chosen[0].name, "contains/miss/1e6/split-block-bloom/12-bit/batch");
        selection.no_rivals = false;
        assert!(selection.choose(miss_at_1e6()).iter().any(|case| case.spec.rival.is_some()));
        selection.filter = Some(regex::Regex::new("sbbf-rs-safe").unwrap());
        let is_sbbf = |case: &Planned| case.spec.rival == Some(Rival::SbbfRs);
        let only_rivals = selection.choose(miss_at_1e6());
        assert!(!only_rivals.is_empty() && only_rivals.iter().all(is_sbbf));
        selection.filter = Some(regex::Regex::new("split-block.*batch").unwrap());
        let groups = |selection: &Selection| {
            selection.choose_groups(groups_of(1_000_000, selection), &subject_specs())
        };
        assert_eq!(groups(&selection).len(), groups_of(1_000_000, &selection).len());
        selection.filter = Some(regex::Regex::new("contains/(hit|miss)/1e6/split").unwrap());
        assert_eq!(groups(&selection).len(), 2);
        selection.filter = Some(regex::Regex::new("no such case").unwrap());
        assert!(selection.choose(miss_at_1e6()).is_empty() && groups(&selection).is_empty());
    }

    #[test]
    fn a_filter_of_one_gib_has_its_name_and_bits() {
        assert_eq!(ONE_GIB.to_string(), "1024-MiB");
        assert!((f64::from(1u32 << 30) * 8.0 / KEYS_OF_ONE_GIB as f64 - 12.0).abs() < 1e-3);
    }
}
