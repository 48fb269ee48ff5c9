//! The sweep over loads: filters that have slots, slower the fuller they are.

use super::{Candidate, Group, Op, Sizing, Workload};
use crate::cli::Selection;
use crate::rivals::Rival;
use std::fmt;
use std::str::FromStr;
use trommel::{FilterKind, Isa};

/// How many slots of which width a filter has, and how many of them hold a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filling {
    pub(crate) slots: usize,
    /// Bits that a slot keeps of a key.
    pub(crate) bits: u32,
    /// In per cent.
    pub(crate) load: u32,
}

impl Filling {
    /// Keys that make the load.
    pub(crate) fn keys(&self) -> usize {
        keys_at(self.slots, self.load)
    }
}

/// Keys that fill so many per cent of the slots.
pub(crate) fn keys_at(slots: usize, load: u32) -> usize {
    slots * load as usize / 100
}

/// As in the variant column: `r8-95%-of-1Mi`.
impl fmt::Display for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}-{}%-of-{}", self.bits, self.load, short_slots(self.slots))
    }
}

/// A number of slots in the largest binary unit that divides it: `16Mi`.
pub(crate) fn short_slots(slots: usize) -> String {
    match slots.trailing_zeros() {
        20.. => format!("{}Mi", slots >> 20),
        10..20 => format!("{}Ki", slots >> 10),
        _ => slots.to_string(),
    }
}

impl FromStr for Filling {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parse = || {
            let (bits, rest) = text.strip_prefix('r')?.split_once('-')?;
            let (load, slots) = rest.split_once("%-of-")?;
            let digits = slots.trim_end_matches(['K', 'M', 'i']);
            let shift = match &slots[digits.len()..] {
                "" => 0,
                "Ki" => 10,
                "Mi" => 20,
                _ => return None,
            };
            let slots = digits.parse::<usize>().ok()?.checked_shl(shift)?;
            Some(Self { slots, bits: bits.parse().ok()?, load: load.parse().ok()? })
        };
        parse().ok_or(())
    }
}

/// Loads of filters of so many slots, in ascending order: each filter is filled from one to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loads {
    pub(crate) slots: usize,
    pub(crate) loads: Vec<u32>,
}

/// In L2, in the last-level cache, in memory.
const SMALL: usize = 1 << 20;
const MEDIUM: usize = 1 << 24;
const LARGE: usize = 1 << 27;

/// Loads measured unless others are named.
const LOADS: [u32; 5] = [75, 80, 85, 90, 95];

/// The sizes and loads of a selection.
pub(crate) fn sweep_of(selection: &Selection) -> Vec<Loads> {
    if selection.keys.is_some() && selection.load.is_none() {
        return Vec::new();
    }
    if !selection.full && selection.load.is_none() {
        let of = |slots, loads: &[u32]| Loads { slots, loads: loads.to_vec() };
        return vec![of(SMALL, &[75, 95]), of(MEDIUM, &[95])];
    }
    let mut loads = selection.load.clone().unwrap_or_else(|| LOADS.to_vec());
    loads.sort_unstable();
    loads.dedup();
    let sizes: &[usize] = if selection.full { &[SMALL, MEDIUM, LARGE] } else { &[SMALL, MEDIUM] };
    sizes.iter().map(|slots| Loads { slots: *slots, loads: loads.clone() }).collect()
}

/// The groups of one load. What they are measured on has `keys` keys.
pub(crate) fn groups_of_load(keys: usize) -> Vec<Group> {
    let group = |op, workload| Group { op, workload, keys, input: None, hashed: false };
    let mut groups: Vec<Group> =
        Workload::ALL.map(|workload| group(Op::Contains, Some(workload))).into();
    groups.extend(
        [Op::Insert, Op::Remove, Op::Build, Op::Merge, Op::Enumerate].map(|op| group(op, None)),
    );
    groups
}

/// Who is measured at so many slots, with any load.
///
/// Remainders of 12 and 16 bits are left out where a run is to be short or memory is the limit; what
/// is taught, where it is not in cache; and AVX2 kernels, where they are those of the run.
pub(crate) fn contestants(
    slots: usize,
    selection: &Selection,
    run_isa: Option<Isa>,
) -> Vec<Candidate> {
    use FilterKind as Kind;
    let is_brief = !selection.full && selection.load.is_none();
    let of_bits = |bits| Sizing::Slots(Filling { slots, bits, load: 0 });
    let mut all = vec![
        Candidate::ours(Kind::CacheLineQuotient, of_bits(8)),
        Candidate::ours(Kind::Quotient, of_bits(8)),
        Candidate::rival(Rival::Qfilter, Kind::Quotient, of_bits(8)),
    ];
    if slots <= SMALL || (slots <= MEDIUM && !is_brief) {
        for bits in [12, 16] {
            all.push(Candidate::ours(Kind::Quotient, of_bits(bits)));
            all.push(Candidate::rival(Rival::Qfilter, Kind::Quotient, of_bits(bits)));
        }
    }
    if slots <= SMALL {
        all.push(Candidate::rival(Rival::TextbookQuotient, Kind::Quotient, of_bits(8)));
    }
    if !is_brief && run_isa.is_none() && surpasses_avx2() {
        for kind in [Kind::CacheLineQuotient, Kind::Quotient] {
            let isa = Some(Isa::Avx2);
            all.push(Candidate { isa, ..Candidate::ours(kind, of_bits(8)) });
        }
    }
    all
}

/// Whether this machine has AVX2 and more, all of which our filters use unless told otherwise.
fn surpasses_avx2() -> bool {
    Isa::Avx2.is_available() && Isa::active().is_ok_and(|isa| isa > Isa::Avx2)
}

impl Candidate {
    /// The same at a load.
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
    fn fillings_are_read_as_they_are_written() {
        for (slots, text) in
            [(1 << 24, "r12-90%-of-16Mi"), (4096, "r12-90%-of-4Ki"), (100, "r12-90%-of-100")]
        {
            let filling = Filling { slots, bits: 12, load: 90 };
            assert_eq!((filling.to_string().as_str(), text.parse()), (text, Ok(filling)));
        }
        for bad in ["12-bit", "fpr-1%", "r8-95%", "r8-95%-of-1Gi", "1024-MiB", ""] {
            assert_eq!(bad.parse::<Filling>(), Err(()), "{bad}");
        }
    }

    #[test]
    fn named_loads_are_measured_at_every_size_and_named_keys_at_none() {
        let named = Selection { load: Some(vec![95, 75, 95]), ..Selection::default() };
        let sweep = sweep_of(&named);
        assert_eq!(sweep.len(), 2);
        assert!(sweep.iter().all(|of| of.loads == [75, 95]));
        assert_eq!(sweep_of(&Selection { full: true, ..named }).len(), 3);
        assert!(sweep_of(&Selection { keys: Some(vec![1]), ..Selection::default() }).is_empty());
    }

    #[test]
    fn names_of_cases_are_unique_over_loads_and_sizes() {
        let selection = Selection { full: true, ..Selection::default() };
        let mut names = HashSet::new();
        for of in sweep_of(&selection) {
            for load in of.loads {
                let contestants: Vec<Candidate> = contestants(of.slots, &selection, None)
                    .into_iter()
                    .map(|candidate| candidate.at_load(load))
                    .collect();
                for group in groups_of_load(keys_at(of.slots, load)) {
                    for case in group.cases(&contestants) {
                        assert!(names.insert(case.name.clone()), "{}", case.name);
                    }
                }
            }
        }
        assert!(names.contains("insert/1.5938355e7/cache-line-quotient/r8-95%-of-16Mi/batch"));
    }
}
