//! One measurement: a line of `results.csv`.

use crate::counters::{Counts, Event};
use crate::plan::{Filling, Matrix};
use crate::stats::round_significant;
use serde::{Deserialize, Serialize};

/// One measured case. The fields, their names and their order are the columns of `results.csv`; a
/// cell is blank where a value is unknown or means nothing for the case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The kind of filter, in kebab case; for a rival, the kind that it competes with, or the family of
    /// filters with slots: `quotient`, `cuckoo`.
    pub(crate) filter: String,
    /// How it was sized, and on which keys where they are not generated: `12-bit`, `fpr-1%`,
    /// `as-register-bloom-fpr-1%` (a rival at the bytes of that filter), `12-bit+hash` (keys hashed inside
    /// the timed loop), `tpch-0.1/12-bit`; `r8-95%-of-16Mi` (remainders of 8 bits, 95 % of 2^24 slots in
    /// use), `f8-95%-of-16Mi` (the same with fingerprints), `r8-95%-of-16Mi+avx2` (by kernels for AVX2,
    /// where the run has better ones). `12-bit+wall`, `r8-full-95%+wall`: timed by the wall clock, interleaved
    /// with the engine. `12-bit+by-64` and the like: parts of the matrix, see [`Matrix`].
    pub(crate) variant: String,
    /// `insert`, `build` (construction and all inserts) or `contains`; for filters with slots also
    /// `remove`, `merge` and `enumerate`, which count fingerprints that come out. Inserts by load are of
    /// the last keys below it.
    pub(crate) op: String,
    /// `single` (one call per key), `batch` (one call for all) or `engine` (the same, on all threads of an
    /// engine); of rivals on several threads, `sharded` (a filter for each) or `shared` (one for all).
    pub(crate) api: String,
    /// Share of probes that are keys: `hit` (all), `miss` (none), `mixed`, `zipf` (about half, skewed).
    pub(crate) workload: Option<String>,
    /// Keys that the filter is sized for.
    pub(crate) keys: u64,
    /// Bytes that it occupies.
    pub(crate) bytes: u64,
    /// The smallest level of the memory hierarchy that holds it: `L1`, `L2`, `LLC`, `DRAM`.
    pub(crate) regime: Option<String>,
    /// Share of slots in use, for filters that have slots, to two digits: in quotient filters keys that
    /// share a fingerprint take one slot.
    pub(crate) load_factor: Option<f64>,
    /// Threads at work.
    pub(crate) threads: u32,
    /// Instruction set of our kernels; blank for rivals, which choose for themselves.
    pub(crate) isa: Option<String>,
    /// Median nanoseconds per operation over the repetitions.
    pub(crate) ns_per_op: f64,
    /// Median absolute deviation of the same, in nanoseconds.
    pub(crate) mad: f64,
    /// Million operations per second, from the median.
    pub(crate) mops: f64,
    /// Million random cache-line reads per second at this size, from repetitions interleaved with the case's.
    pub(crate) roofline_mops: Option<f64>,
    /// `mops` times the cache lines that an operation must read, over `roofline_mops`.
    pub(crate) roofline_fraction: Option<f64>,
    /// Bits occupied per key that the filter is sized for.
    pub(crate) bits_per_key: f64,
    /// False-positive rate by the filter's own equation.
    pub(crate) fpr_expected: Option<f64>,
    /// False-positive rate counted on absent keys.
    pub(crate) fpr_measured: Option<f64>,
    /// Cache misses per operation.
    pub(crate) cache_misses_per_op: Option<f64>,
    /// Last-level cache read misses per operation.
    pub(crate) llc_misses_per_op: Option<f64>,
    /// Data-TLB read misses per operation.
    pub(crate) dtlb_misses_per_op: Option<f64>,
    /// Where the counts come from: `hardware`, `simulated` or `none`.
    pub(crate) counters: String,
    /// The crate measured, if it is not ours.
    pub(crate) rival: Option<String>,
    /// Absent keys that `fpr_measured` was counted on.
    #[serde(default)]
    pub(crate) absent_keys: Option<u64>,
    /// Where the interval of the median begins that has a confidence of 95 %, in nanoseconds; blank where
    /// there were too few repetitions for one.
    #[serde(default)]
    pub(crate) ci_low: Option<f64>,
    /// Where it ends.
    #[serde(default)]
    pub(crate) ci_high: Option<f64>,
    /// How many times the speed of the same case on one thread.
    pub(crate) speedup: Option<f64>,
    /// The most memory that became resident during one repetition.
    pub(crate) peak_bytes: Option<u64>,
    /// Processor cycles an operation.
    #[serde(default)]
    pub(crate) cycles_per_op: Option<f64>,
    /// Instructions an operation.
    #[serde(default)]
    pub(crate) instructions_per_op: Option<f64>,
    /// Read misses of the first-level data cache an operation.
    #[serde(default)]
    pub(crate) l1d_misses_per_op: Option<f64>,
    /// Branches predicted wrong an operation.
    #[serde(default)]
    pub(crate) branch_misses_per_op: Option<f64>,
}

impl Row {
    /// The name of the case, unique in a run: what `--filter` matches and `--resume` compares.
    pub(crate) fn name(&self) -> String {
        case_name_on(
            &self.op,
            self.workload.as_deref(),
            self.keys,
            self.rival.as_deref().unwrap_or(&self.filter),
            &self.variant,
            &self.api,
            self.threads,
        )
    }

    /// Puts in what was counted an operation, and where it comes from: `hardware`, `simulated`.
    pub(crate) fn put_counts(&mut self, per_op: &Counts, source: &str) {
        let of = |event| per_op.get(event).map(|count| round_significant(count, 5));
        self.cache_misses_per_op = of(Event::CacheMisses);
        self.llc_misses_per_op = of(Event::LlcReadMisses);
        self.dtlb_misses_per_op = of(Event::DtlbReadMisses);
        self.cycles_per_op = of(Event::Cycles);
        self.instructions_per_op = of(Event::Instructions);
        self.l1d_misses_per_op = of(Event::L1dReadMisses);
        self.branch_misses_per_op = of(Event::BranchMisses);
        self.counters = if per_op.is_empty() { NOT_COUNTED } else { source }.into();
    }

    /// Whether both rows come from the same interleaved repetitions, apart from the variant.
    pub(crate) fn shares_conditions_with(&self, other: &Row) -> bool {
        (&self.op, &self.workload, self.keys) == (&other.op, &other.workload, other.keys)
            && self.input() == other.input()
            && self.hashes_keys() == other.hashes_keys()
            && self.is_of_engine() == other.is_of_engine()
            && self.matrix() == other.matrix()
    }

    /// The part of the matrix that it belongs to, if any.
    pub(crate) fn matrix(&self) -> Option<Matrix> {
        Matrix::of_variant(&self.variant)
    }

    /// The part of the variant that names the input, if the keys are not generated.
    pub(crate) fn input(&self) -> Option<&str> {
        self.variant.rsplit_once('/').map(|(input, _)| input)
    }

    /// The part of the variant that says how the filter was sized.
    pub(crate) fn sizing(&self) -> &str {
        let tail = self.variant.rsplit_once('/').map_or(&*self.variant, |(_, tail)| tail);
        if self.matrix().is_some() {
            return tail.rsplit_once('+').map_or(tail, |(sizing, _)| sizing);
        }
        tail.strip_suffix(HASH_SUFFIX).or(tail.strip_suffix(WALL_SUFFIX)).unwrap_or(tail)
    }

    /// How full a filter is that was sized by its slots: a row of the sweep over loads.
    pub(crate) fn filling(&self) -> Option<Filling> {
        filling_of(self.sizing())
    }

    /// Whether it is about generated keys that come hashed, and no part of the sweep over loads or of the
    /// groups of the engine, nor of the matrix.
    pub(crate) fn is_plain(&self) -> bool {
        self.input().is_none()
            && self.matrix().is_none()
            && !self.hashes_keys()
            && self.filling().is_none()
            && !self.is_of_engine()
    }

    /// Whether it was interleaved with the engine.
    pub(crate) fn is_of_engine(&self) -> bool {
        self.variant.ends_with(WALL_SUFFIX)
    }

    /// Whether the timed loop hashes the keys too.
    pub(crate) fn hashes_keys(&self) -> bool {
        self.variant.ends_with(HASH_SUFFIX)
    }

    /// Cache lines that one operation must read, as assumed for the roofline fraction.
    pub(crate) fn lines_per_op(&self) -> Option<f64> {
        Some(self.roofline_fraction? * self.roofline_mops? / self.mops)
    }
}

/// What a size says of slots, if it is given by them.
pub(crate) fn filling_of(sizing: &str) -> Option<Filling> {
    sizing.split('+').next()?.parse().ok()
}

/// In the column `counters` of a row that nothing was counted for.
pub(crate) const NOT_COUNTED: &str = "none";

/// Marks variants whose timed loop hashes the keys too.
pub(crate) const HASH_SUFFIX: &str = "+hash";

/// Marks variants that are timed by the wall, beside the engine.
pub(crate) const WALL_SUFFIX: &str = "+wall";

/// The name of a case from its parts, with the threads where there are several or could be.
pub(crate) fn case_name_on(
    op: &str,
    workload: Option<&str>,
    keys: u64,
    subject: &str,
    variant: &str,
    api: &str,
    threads: u32,
) -> String {
    let name = case_name(op, workload, keys, subject, variant, api);
    if threads > 1 || api == "engine" { format!("{name}/{threads}-threads") } else { name }
}

/// The name of a case on one thread from its parts.
pub(crate) fn case_name(
    op: &str,
    workload: Option<&str>,
    keys: u64,
    subject: &str,
    variant: &str,
    api: &str,
) -> String {
    let workload = workload.map_or_else(String::new, |workload| format!("/{workload}"));
    format!("{op}{workload}/{keys:e}/{subject}/{variant}/{api}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row with plausible values, for tests of what shows rows.
    pub(crate) fn example(filter: &str, variant: &str, rival: Option<&str>, ns_per_op: f64) -> Row {
        Row {
            filter: filter.into(),
            variant: variant.into(),
            op: "contains".into(),
            api: if rival.is_some() { "single" } else { "batch" }.into(),
            workload: Some("miss".into()),
            keys: 1_000_000,
            bytes: 1_500_000,
            regime: Some("L2".into()),
            load_factor: None,
            threads: 1,
            isa: rival.is_none().then(|| "avx2".into()),
            ns_per_op,
            mad: 0.01,
            mops: 1000.0 / ns_per_op,
            roofline_mops: Some(1000.0),
            roofline_fraction: Some(1.0 / ns_per_op),
            bits_per_key: 12.0,
            fpr_expected: Some(0.0054),
            fpr_measured: Some(0.0055),
            cache_misses_per_op: None,
            llc_misses_per_op: None,
            dtlb_misses_per_op: None,
            counters: "none".into(),
            rival: rival.map(Into::into),
            absent_keys: Some(1_000_000),
            ci_low: Some(ns_per_op - 0.02),
            ci_high: Some(ns_per_op + 0.02),
            speedup: None,
            peak_bytes: None,
            cycles_per_op: None,
            instructions_per_op: None,
            l1d_misses_per_op: None,
            branch_misses_per_op: None,
        }
    }

    fn written(row: &Row) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.serialize(row).unwrap();
        String::from_utf8(writer.into_inner().unwrap()).unwrap()
    }

    #[test]
    fn the_header_is_the_documented_one() {
        let text = written(&example("split-block-bloom", "12-bit", None, 2.0));
        assert_eq!(
            text.lines().next().unwrap(),
            "filter,variant,op,api,workload,keys,bytes,regime,load_factor,threads,isa,ns_per_op,mad,mops,\
             roofline_mops,roofline_fraction,bits_per_key,fpr_expected,fpr_measured,cache_misses_per_op,\
             llc_misses_per_op,dtlb_misses_per_op,counters,rival,absent_keys,ci_low,ci_high,speedup,peak_bytes,\
             cycles_per_op,instructions_per_op,l1d_misses_per_op,branch_misses_per_op"
        );
    }

    #[test]
    fn unknown_values_are_blank_and_survive_the_round_trip() {
        let row = example("bloom", "fpr-1%", Some("fastbloom"), 2.0);
        let text = written(&row);
        assert!(text.contains(",,,,none,fastbloom,") && text.ends_with(",,,,,,\n"), "{text}");
        let read: Row =
            csv::Reader::from_reader(text.as_bytes()).deserialize().next().unwrap().unwrap();
        assert_eq!(read, row);
    }

    #[test]
    fn rows_from_before_a_column_are_read() {
        let row = example("bloom", "fpr-1%", None, 2.0);
        let text = written(&row);
        let without = |line: &str| line.rsplitn(5, ',').last().unwrap().to_owned();
        let old: Vec<String> = text.lines().map(without).collect();
        assert!(old[0].ends_with("peak_bytes"));
        let old = old.join("\n");
        let read: Row =
            csv::Reader::from_reader(old.as_bytes()).deserialize().next().unwrap().unwrap();
        assert_eq!(read, row);
    }

    #[test]
    fn events_that_are_not_counted_leave_their_cells_blank() {
        let mut row = example("bloom", "fpr-1%", None, 2.0);
        let mut counts = Counts::default();
        counts.set(Event::Instructions, 12.345_678);
        counts.set(Event::L1dReadMisses, 0.5);
        row.put_counts(&counts, "hardware");
        assert_eq!((row.instructions_per_op, row.l1d_misses_per_op), (Some(12.346), Some(0.5)));
        assert_eq!((row.cycles_per_op, row.llc_misses_per_op), (None, None));
        assert_eq!(row.counters, "hardware");
        row.put_counts(&Counts::default(), "hardware");
        assert_eq!((row.instructions_per_op, &*row.counters), (None, NOT_COUNTED));
    }

    #[test]
    fn names_and_parts_of_variants() {
        let row = example("bloom", "tpch-0.1/fpr-1%+hash", None, 2.0);
        assert_eq!(row.name(), "contains/miss/1e6/bloom/tpch-0.1/fpr-1%+hash/batch");
        assert_eq!(
            (row.input(), row.sizing(), row.hashes_keys()),
            (Some("tpch-0.1"), "fpr-1%", true)
        );
        let plain = example("bloom", "12-bit", None, 2.0);
        assert_eq!((plain.input(), plain.sizing(), plain.hashes_keys()), (None, "12-bit", false));
        assert!(!row.shares_conditions_with(&plain));
        assert_eq!(plain.filling(), None);
        use crate::plan::Family;
        let threads =
            Row { threads: 2, api: "engine".into(), ..example("bloom", "12-bit+wall", None, 2.0) };
        assert_eq!(threads.name(), "contains/miss/1e6/bloom/12-bit+wall/engine/2-threads");
        assert_eq!((threads.sizing(), threads.is_plain()), ("12-bit", false));
        let swept = example("quotient", "r8-95%-of-16Mi+avx2", None, 2.0);
        assert_eq!(
            swept.filling(),
            Some(Filling { family: Family::Quotient, slots: 1 << 24, bits: 8, load: 95 })
        );
    }
}
