//! The sweep over loads: filters that have slots are measured at several loads, because they slow down as they fill.

use super::{Group, Scope, Selection, SubjectSpec};
use crate::model::{Family, Filling, Op, Rival, Sizing, Workload, keys_at};
use trommel::{FilterKind, Isa};

/// Our kinds of a family that have slots of `bits` bits.
const fn kinds_of(family: Family, bits: u32) -> &'static [FilterKind] {
    match (family, bits) {
        (Family::Quotient, 8) => &[FilterKind::CacheLineQuotient, FilterKind::Quotient],
        (Family::Quotient, _) => &[FilterKind::Quotient],
        (Family::Cuckoo, _) => &[FilterKind::Cuckoo],
    }
}

/// The rivals of a family that have slots of `bits` bits. The first rival in the list is the fastest one at the
/// majority of the loads. Rivals that would take too long at `slots` slots are left out: the textbook quotient filter
/// above [`SMALL`] slots, and `AutoscaleCuckoo` with 8 bits above [`MEDIUM`] slots (see `rivals/autoscale_cuckoo.rs`).
fn rivals_of(family: Family, bits: u32, slots: usize) -> Vec<Rival> {
    let (small, medium) = (slots <= SMALL, slots <= MEDIUM);
    let all: &[(Rival, bool)] = match (family, bits) {
        (Family::Quotient, 8) => &[(Rival::Qfilter, true), (Rival::TextbookQuotient, small)],
        (Family::Quotient, _) => &[(Rival::Qfilter, true)],
        (Family::Cuckoo, 8) => &[
            (Rival::SubmsCuckoo, true),
            (Rival::Cuckoofilter, true),
            (Rival::AutoscaleCuckoo, medium),
            (Rival::AtomicCuckoo, true),
        ],
        (Family::Cuckoo, 12) => &[(Rival::AutoscaleCuckoo, true)],
        (Family::Cuckoo, _) => &[(Rival::AutoscaleCuckoo, true), (Rival::AtomicCuckoo, true)],
    };
    all.iter().filter(|(_, is_measured)| *is_measured).map(|(rival, _)| *rival).collect()
}

/// The operations besides lookups that are measured on a family.
const fn changes_of(family: Family) -> &'static [Op] {
    match family {
        Family::Quotient => &[Op::Insert, Op::Remove, Op::Build, Op::Merge, Op::Enumerate],
        Family::Cuckoo => &[Op::Insert, Op::Remove, Op::Build],
    }
}

/// The loads at which a family's filters of `slots` slots are measured, in ascending order. Each filter is filled up to
/// the first load and then from each load to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loads {
    pub(crate) family: Family,
    pub(crate) slots: usize,
    pub(crate) loads: Vec<u32>,
}

/// Three numbers of slots. With slots of 8 bits, a small table has 1 MiB, a medium one 16 MiB, and a large one 128 MiB,
/// each without metadata.
const SMALL: usize = 1 << 20;
const MEDIUM: usize = 1 << 24;
const LARGE: usize = 1 << 27;

/// The loads, in per cent, that are measured unless the user names others.
const LOADS: [u32; 5] = [75, 80, 85, 90, 95];
/// The lowest and the highest of [`LOADS`], for runs and tables in which measuring all loads would take too long.
const ENDS: [u32; 2] = [75, 95];

/// Returns the table sizes and loads of a selection.
pub(crate) fn sweep_of(selection: &Selection) -> Vec<Loads> {
    let is_other_only = selection.threads.is_some() || selection.cases.is_some();
    if is_other_only || (selection.keys.is_some() && selection.load.is_none()) {
        return Vec::new();
    }
    let of_size = |slots, loads: &[u32]| {
        Family::ALL.map(|family| Loads { family, slots, loads: loads.to_vec() })
    };
    let Some(mut loads) = selection.load.clone() else {
        return match selection.scope() {
            Scope::Quick => of_size(SMALL, &ENDS).into(),
            Scope::Usual => [of_size(SMALL, &LOADS), of_size(MEDIUM, &ENDS)].concat(),
            Scope::Full => {
                [of_size(SMALL, &LOADS), of_size(MEDIUM, &LOADS), of_size(LARGE, &ENDS)].concat()
            }
        };
    };
    loads.sort_unstable();
    loads.dedup();
    let sizes: &[usize] = if selection.full { &[SMALL, MEDIUM, LARGE] } else { &[SMALL, MEDIUM] };
    sizes.iter().flat_map(|slots| of_size(*slots, &loads)).collect()
}

impl Loads {
    /// Returns the groups of one of the loads. If the table is larger than [`SMALL`], builds are measured only at the
    /// highest load: their time per key hardly depends on the load, and rivals need minutes to insert key by key.
    pub(crate) fn groups(&self, load: u32) -> Vec<Group> {
        let keys = keys_at(self.slots, load);
        let group =
            |op, workload| Group { op, workload, keys, input: None, hashed: false, matrix: None };
        let mut groups: Vec<Group> =
            Workload::ALL.map(|workload| group(Op::Contains, Some(workload))).into();
        let with_builds = self.slots <= SMALL || self.loads.last() == Some(&load);
        let changes = changes_of(self.family).iter().filter(|op| with_builds || **op != Op::Build);
        groups.extend(changes.map(|op| group(*op, None)));
        groups
    }
}

/// Returns the subjects of a family with `slots` slots. They have a load of 0 until [`SubjectSpec::at_load`] sets their
/// load.
///
/// Slots of 12 and 16 bits are left out in tables larger than [`MEDIUM`]. A brief run ([`Selection::is_brief`])
/// measures only slots of 8 bits and the fastest rival. On tables larger than [`SMALL`], a usual run measures only
/// these too, unless its user has named loads. If neither applies, our filters with slots of 8 bits are measured with
/// AVX2 kernels too, provided that the run's own kernels use a better instruction set and the user has chosen none
/// (`run_isa` is `None`).
pub(crate) fn swept_specs(
    family: Family,
    slots: usize,
    selection: &Selection,
    run_isa: Option<Isa>,
) -> Vec<SubjectSpec> {
    let is_usual = selection.load.is_none() && selection.scope() == Scope::Usual;
    let is_brief = selection.is_brief() || (is_usual && slots > SMALL);
    let filling = |bits| Filling { family, slots, bits, load: 0 };
    let ours = |kind, bits| SubjectSpec::ours(kind, Sizing::Slots(filling(bits)));
    let is_wide = slots <= MEDIUM && !is_brief;
    let widths: &[u32] = if is_wide { &[8, 12, 16] } else { &[8] };
    let mut all = Vec::new();
    for bits in widths.iter().copied() {
        all.extend(kinds_of(family, bits).iter().map(|kind| ours(*kind, bits)));
        let at_most = if is_brief { 1 } else { usize::MAX };
        let rivals = rivals_of(family, bits, slots).into_iter().take(at_most);
        all.extend(rivals.map(|rival| SubjectSpec::rival_by_slots(rival, filling(bits))));
    }
    if !is_brief && run_isa.is_none() && surpasses_avx2() {
        let isa = Some(Isa::Avx2);
        all.extend(kinds_of(family, 8).iter().map(|kind| SubjectSpec { isa, ..ours(*kind, 8) }));
    }
    all
}

/// Whether our filters by default use a better instruction set than AVX2 on this machine.
fn surpasses_avx2() -> bool {
    Isa::Avx2.is_available() && Isa::active().is_ok_and(|isa| isa > Isa::Avx2)
}

impl SubjectSpec {
    /// Returns the same subject at a load. A subject that is not sized by slots has no load and is returned unchanged.
    pub(crate) fn at_load(self, load: u32) -> Self {
        match self.sizing {
            Sizing::Slots(filling) => {
                Self { sizing: Sizing::Slots(Filling { load, ..filling }), ..self }
            }
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn named_loads_are_measured_at_two_sizes_or_at_three_in_full_runs() {
        let named = Selection { load: Some(vec![95, 75, 95]), ..Selection::default() };
        let sweep = sweep_of(&named);
        assert_eq!(sweep.len(), 4);
        assert!(sweep.iter().all(|entry| entry.loads == [75, 95]));
        assert_eq!(sweep_of(&Selection { full: true, ..named }).len(), 6);
    }

    #[test]
    fn with_named_keys_there_is_no_sweep() {
        assert!(sweep_of(&Selection { keys: Some(vec![1]), ..Selection::default() }).is_empty());
    }

    #[test]
    fn a_brief_run_measures_each_family_with_only_its_fastest_rival() {
        let selection = Selection { quick: true, ..Selection::default() };
        for entry in sweep_of(&selection) {
            let all = swept_specs(entry.family, entry.slots, &selection, None);
            let ours = all.iter().filter(|spec| spec.rival.is_none()).count();
            let kinds = if entry.family == Family::Quotient { 2 } else { 1 };
            assert_eq!((ours, all.len() - ours), (kinds, 1), "{}", entry.family);
        }
    }

    #[test]
    fn names_of_cases_are_unique_over_loads_and_sizes() {
        let selection = Selection { full: true, ..Selection::default() };
        let mut names = HashSet::new();
        for entry in sweep_of(&selection) {
            for load in entry.loads.iter().copied() {
                let specs = swept_specs(entry.family, entry.slots, &selection, None).into_iter();
                let at_load: Vec<SubjectSpec> = specs.map(|spec| spec.at_load(load)).collect();
                for group in entry.groups(load) {
                    for case in group.cases(&at_load) {
                        assert!(names.insert(case.name.clone()), "{}", case.name);
                    }
                }
            }
        }
        assert!(names.contains("insert/1.5938355e7/cache-line-quotient/r8-95%-of-16Mi/batch"));
        assert!(names.contains("build/1.5938355e7/qfilter/r8-95%-of-16Mi/single"));
        assert!(!names.contains("build/1.5099494e7/qfilter/r8-90%-of-16Mi/single"));
        assert!(names.contains("build/9.43718e5/qfilter/r8-90%-of-1Mi/single"));
        assert!(names.contains("remove/1.5938355e7/atomic-cuckoo-filter/f16-95%-of-16Mi/single"));
    }

    #[test]
    fn the_name_of_a_family_selects_only_this_family() {
        let named = |filter: &str| Selection {
            filter: Some(regex::Regex::new(filter).unwrap()),
            load: Some(vec![95]),
            ..Selection::default()
        };
        for (filter, family) in [("quotient", Family::Quotient), ("cuckoo", Family::Cuckoo)] {
            let selection = named(filter);
            for entry in sweep_of(&selection) {
                let all = swept_specs(entry.family, entry.slots, &selection, None);
                let group = &entry.groups(95)[0];
                let chosen = selection.choose(group.cases(&all));
                assert_eq!(chosen.is_empty(), entry.family != family, "{filter} {}", entry.family);
            }
        }
    }
}
