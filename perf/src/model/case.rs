//! A case: what is measured, on which keys, and how.

use super::columns::CaseColumns;
use super::{Api, Calls, Clock, Distribution, Filling, Form, Input, Matrix, Op, Sizing, Workload};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use trommel::Isa;

/// One case, which gives one row of the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "CaseColumns", try_from = "CaseColumns")]
pub(crate) struct Case {
    /// The kind of filter, in kebab case. For a rival, this is the kind with which the rival competes. In the sweep
    /// over loads ([`Sizing::Slots`]), a rival competes with all kinds of a family, and `filter` is the name of the
    /// family: `quotient` or `cuckoo`.
    pub(crate) filter: String,
    /// The name of the rival's crate; `None` for our filters.
    pub(crate) rival: Option<String>,
    pub(crate) sizing: Sizing,
    /// Whether the name of the case has the prefix `as-` and the kind `filter` before the size. The prefix marks a
    /// rival whose filter has another kind than `filter`. In the groups of the engine and of shared filters, all such
    /// rivals have the prefix; elsewhere only `sbbf-rs-safe` has it. With the prefix, `sbbf-rs-safe` and `fastbloom`
    /// are about as large as our filter of the kind `filter` with the size that `sizing` gives, while `qfilter` gets
    /// the false-positive rate that follows from `sizing`.
    pub(crate) takes_size: bool,
    /// The instruction set of the kernels, if the case asks for another instruction set than the run.
    pub(crate) kernels: Option<Isa>,
    pub(crate) form: Form,
    pub(crate) op: Op,
    /// The rule that determines which probes are keys; `None` if the operation has no probes.
    pub(crate) workload: Option<Workload>,
    pub(crate) calls: Calls,
    /// The number of keys that the filter is meant to hold. The filter is sized for this number, unless `sizing` gives
    /// a number of bytes or slots.
    pub(crate) keys: u64,
    pub(crate) input: Input,
    pub(crate) threads: u32,
    /// Whether the timed loop hashes the keys too.
    pub(crate) hashing: bool,
    pub(crate) clock: Clock,
    /// Whether threads insert through shared references, in a group without the engine.
    pub(crate) is_shared: bool,
    /// The part of the matrix that the case belongs to, if any.
    pub(crate) matrix: Option<Matrix>,
}

impl Case {
    /// Returns a case of our kind `filter` from which other cases are made: batched lookups on one thread, on generated
    /// keys. The number of keys is 0, and there is no workload.
    pub(crate) fn of(filter: String, sizing: Sizing) -> Self {
        Self {
            filter,
            rival: None,
            sizing,
            takes_size: false,
            kernels: None,
            form: Form::Usual,
            op: Op::Contains,
            workload: None,
            calls: Calls::BATCH,
            keys: 0,
            input: Input::Generated(Distribution::Plain),
            threads: 1,
            hashing: false,
            clock: Clock::Processor,
            is_shared: false,
            matrix: None,
        }
    }

    /// Returns the name of the rival's crate or, for our filters, the name of the kind.
    pub(crate) fn subject(&self) -> &str {
        self.rival.as_deref().unwrap_or(&self.filter)
    }

    pub(crate) fn is_of_rival(&self) -> bool {
        self.rival.is_some()
    }

    /// Returns the name of the case, which is unique in a run. `--filter` is matched with this name. The name includes
    /// the number of threads if there are several, or if the engine runs the case.
    pub(crate) fn name(&self) -> String {
        let mut name = self.op.to_string();
        if let Some(workload) = self.workload {
            let _ = write!(name, "/{workload}");
        }
        let Self { keys, threads, calls: Calls { api, .. }, .. } = self;
        let _ = write!(name, "/{keys:e}/{}/{}/{api}", self.subject(), self.variant());
        if *threads > 1 || *api == Api::Engine {
            let _ = write!(name, "/{threads}-threads");
        }
        name
    }

    /// Returns the part of the name that describes the input, the size of the filter, and the conditions. It is also a
    /// column of `results.csv`.
    ///
    /// Examples: `12-bit`, `fpr-1%`, `as-register-bloom-fpr-1%` (a rival with as many bytes as our register-blocked
    /// filter for 1 %), `12-bit+hash` (keys hashed inside the timed loop), `tpch-0.1/12-bit`; `r8-95%-of-16Mi`
    /// (remainders of 8 bits, a load of 95 % in 2^24 slots), `f8-95%-of-16Mi` (the same with fingerprints),
    /// `r8-95%-of-16Mi+avx2` (AVX2 kernels, in a run with better kernels); `12-bit+wall`, `r8-full-95%+wall`
    /// (wall-clock time, as in all groups of the engine and of shared filters); `12-bit+by-64` (64 keys per call), and
    /// the other parts of the matrix: `12-bit+bits`, `12-bit+in-L2`, `12-bit+column-in-L2`, `12-bit+huge-pages`,
    /// `12-bit+small-filters`.
    pub(crate) fn variant(&self) -> String {
        let input = self.input_name().map_or_else(String::new, |name| format!("{name}/"));
        let mut variant = format!("{input}{}", self.size_name());
        if self.hashing {
            variant.push_str("+hash");
        }
        if self.clock == Clock::Wall {
            variant.push_str("+wall");
        }
        match (self.calls.keys_per_call, self.matrix) {
            (Some(keys), _) => {
                let _ = write!(variant, "+by-{keys}");
            }
            (None, Some(Matrix::BatchSizes)) => variant.push_str("+by-1"),
            (None, _) => {}
        }
        match self.matrix {
            None | Some(Matrix::BatchSizes) => {}
            Some(Matrix::Pages) => variant.push_str(self.pages()),
            Some(matrix) => {
                let _ = write!(variant, "+{matrix}");
            }
        }
        variant
    }

    fn pages(&self) -> &'static str {
        match (self.is_of_rival(), self.form) {
            (true, _) => "+own-pages",
            (false, Form::SmallPages) => "+small-pages",
            (false, _) => "+huge-pages",
        }
    }

    /// Returns the name of the filter's size, followed by the distribution of keys, `-shared` and the instruction set,
    /// each only if the case asks for it. With [`Self::takes_size`], the name begins with `as-` and the kind of our
    /// filter, because the name states the size of our filter, and the rival need not have this size.
    pub(crate) fn size_name(&self) -> String {
        let taken = if self.takes_size { format!("as-{}-", self.filter) } else { String::new() };
        let mut name = format!("{taken}{}", self.sizing);
        if let Input::Generated(distribution) = self.input
            && distribution != Distribution::Plain
        {
            let _ = write!(name, "-{distribution}");
        }
        if self.is_shared {
            name.push_str("-shared");
        }
        if let Some(isa) = self.kernels {
            let _ = write!(name, "+{isa}");
        }
        name
    }

    /// Returns the name of the input, if the keys are not generated.
    pub(crate) fn input_name(&self) -> Option<&str> {
        match &self.input {
            Input::Given(name) => Some(name),
            Input::Generated(_) => None,
        }
    }

    /// Returns the slots and load of the filter, if the case belongs to the sweep over loads.
    pub(crate) fn filling(&self) -> Option<Filling> {
        match self.sizing {
            Sizing::Slots(filling) => Some(filling),
            _ => None,
        }
    }

    /// Whether the case is measured on generated keys without hashing, and belongs neither to the sweep over loads, nor
    /// to the engine's groups, nor to the matrix.
    pub(crate) fn is_plain(&self) -> bool {
        self.input_name().is_none()
            && self.matrix.is_none()
            && !self.hashing
            && self.filling().is_none()
            && !self.is_of_engine()
    }

    /// Whether the case is plain ([`Case::is_plain`]), and measures batched calls of one of our filters.
    pub(crate) fn is_plain_batch_of_ours(&self) -> bool {
        self.is_plain() && !self.is_of_rival() && self.calls.api == Api::Batch
    }

    /// Whether the case belongs to the engine's groups, or to the groups of shared filters. Only the cases of these
    /// groups have the clock [`Clock::Wall`].
    pub(crate) fn is_of_engine(&self) -> bool {
        self.clock == Clock::Wall
    }

    /// Whether the case belongs to the engine's groups and its keys or probes are skewed.
    pub(crate) fn is_skewed(&self) -> bool {
        let skewed = Distribution::SKEWED.map(Input::Generated);
        self.is_of_engine() && skewed.contains(&self.input)
    }

    /// Whether this case and `other` have the same operation, workload, keys, threads and other conditions, so that
    /// their speeds can be compared. The filters, their sizes, kernels and forms, and the calls that pass the keys can
    /// differ.
    pub(crate) fn shares_conditions_with(&self, other: &Self) -> bool {
        (self.op, self.workload, self.keys) == (other.op, other.workload, other.keys)
            && self.input == other.input
            && self.threads == other.threads
            && self.is_shared == other.is_shared
            && self.hashing == other.hashing
            && self.clock == other.clock
            && self.matrix == other.matrix
    }

    /// Whether lookups read their keys from a long column in memory, so that the time includes reading the keys. If
    /// not, the keys of each call are in the cache when the call begins.
    pub(crate) fn reads_column(&self) -> bool {
        self.hashing
            || self.is_of_engine()
            || matches!(self.matrix, Some(Matrix::Column(_) | Matrix::SmallFilters))
    }

    /// Whether the operation is lookups of probes with this workload.
    pub(crate) fn is_lookup(&self, workload: Workload) -> bool {
        (self.op, self.workload) == (Op::Contains, Some(workload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Family;

    fn case(sizing: Sizing) -> Case {
        Case { workload: Some(Workload::Miss), keys: 1_000_000, ..Case::of("bloom".into(), sizing) }
    }

    #[test]
    fn names_begin_with_the_operation_and_end_with_the_calls() {
        let plain = case(Sizing::BitsPerKey(12));
        assert_eq!(plain.name(), "contains/miss/1e6/bloom/12-bit/batch");
        let insert = Case { op: Op::Insert, workload: None, calls: Calls::SINGLE, ..plain.clone() };
        assert_eq!(insert.name(), "insert/1e6/bloom/12-bit/single");
        let rival = Case {
            filter: "register-bloom".into(),
            rival: Some("sbbf-rs-safe".into()),
            takes_size: true,
            calls: Calls::by(Api::Sharded),
            clock: Clock::Wall,
            threads: 2,
            ..plain.clone()
        };
        assert_eq!(
            rival.name(),
            "contains/miss/1e6/sbbf-rs-safe/as-register-bloom-12-bit+wall/sharded/2-threads"
        );
        let engine = Case { calls: Calls::by(Api::Engine), clock: Clock::Wall, ..plain };
        assert!(engine.name().ends_with("/bloom/12-bit+wall/engine/1-threads"));
    }

    #[test]
    fn variants_name_whatever_differs_from_a_plain_case() {
        let plain = case(Sizing::Fpr(0.01));
        let by_64 = Case { calls: Calls::batches_of(64), ..plain.clone() };
        let full = case(Sizing::Full { family: Family::Cuckoo, bits: 8 });
        let sorted = Case { input: Input::Generated(Distribution::Sorted), ..full };
        let in_matrix = |matrix| Case { matrix: Some(matrix), ..plain.clone() };
        for (case, variant) in [
            (plain.clone(), "fpr-1%"),
            (Case { hashing: true, ..plain.clone() }, "fpr-1%+hash"),
            (Case { input: Input::Given("tpch-1".into()), ..plain.clone() }, "tpch-1/fpr-1%"),
            (Case { kernels: Some(Isa::Avx2), ..plain.clone() }, "fpr-1%+avx2"),
            (by_64.clone(), "fpr-1%+by-64"),
            (Case { matrix: Some(Matrix::BatchSizes), ..by_64 }, "fpr-1%+by-64"),
            (in_matrix(Matrix::BatchSizes), "fpr-1%+by-1"),
            (in_matrix(Matrix::Pages), "fpr-1%+huge-pages"),
            (Case { form: Form::SmallPages, ..in_matrix(Matrix::Pages) }, "fpr-1%+small-pages"),
            (
                Case { is_shared: true, clock: Clock::Wall, ..sorted },
                "f8-full-95%-sorted-shared+wall",
            ),
        ] {
            assert_eq!(case.variant(), variant);
        }
    }
}
