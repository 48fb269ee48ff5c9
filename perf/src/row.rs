//! One measured case: a line of `results.csv`.

use crate::counters::{Counts, Event};
use crate::plan::{Filling, Matrix};
use crate::stats::round_significant;
use serde::{Deserialize, Serialize};

/// One measured case. The fields, in this order and with these names, are the columns of `results.csv`. A cell is blank
/// if its value is unknown or meaningless for the case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The kind of filter, in kebab case. For a rival, the kind that it competes with or, for filters with slots, the
    /// family: `quotient` or `cuckoo`.
    pub(crate) filter: String,
    /// The size of the filter, and the input if keys were not generated. Examples: `12-bit`, `fpr-1%`,
    /// `as-register-bloom-fpr-1%` (a rival with the bytes of that filter), `12-bit+hash` (keys hashed inside the timed
    /// loop), `tpch-0.1/12-bit`; `r8-95%-of-16Mi` (remainders of 8 bits, 95 % of 2^24 slots in use), `f8-95%-of-16Mi`
    /// (the same with fingerprints), `r8-95%-of-16Mi+avx2` (AVX2 kernels, in a run that has better ones).
    /// `12-bit+wall`, `r8-full-95%+wall`: wall-clock time, interleaved with the engine. `12-bit+by-64` and similar
    /// variants are parts of the matrix, see [`Matrix`].
    pub(crate) variant: String,
    /// `insert`, `build` (construction and all inserts) or `contains`; for filters with slots also `remove`, `merge`
    /// and `enumerate`. In the last two, each fingerprint of the result counts as an operation. In the sweep over
    /// loads, `insert` inserts the last keys below the load.
    pub(crate) op: String,
    /// `single` (one call per key), `batch` (one call for all keys) or `engine` (one call, on all threads of an
    /// engine); for rivals on several threads, `sharded` (one filter per thread) or `shared` (one filter for all
    /// threads).
    pub(crate) api: String,
    /// The share of probes that are keys: `hit` (all), `miss` (none), `mixed` (half) or `zipf` (about half, skewed).
    pub(crate) workload: Option<String>,
    /// The number of keys for which the filter is sized.
    pub(crate) keys: u64,
    /// Bytes that the filter occupies.
    pub(crate) bytes: u64,
    /// The smallest level of the memory hierarchy that holds the filter: `L1`, `L2`, `LLC`, `DRAM`.
    pub(crate) regime: Option<String>,
    /// The share of slots in use, to two digits, for filters that have slots. In quotient filters, keys with the same
    /// fingerprint take one slot.
    pub(crate) load_factor: Option<f64>,
    /// The number of threads.
    pub(crate) threads: u32,
    /// The instruction set of our kernels; blank for rivals, which choose their own.
    pub(crate) isa: Option<String>,
    /// Median nanoseconds per operation over the repetitions.
    pub(crate) ns_per_op: f64,
    /// Median absolute deviation of `ns_per_op` over the repetitions, in nanoseconds.
    pub(crate) mad: f64,
    /// Million operations per second, from the median.
    pub(crate) mops: f64,
    /// Million random cache-line reads per second at this size, from repetitions that were interleaved with those of
    /// the case.
    pub(crate) roofline_mops: Option<f64>,
    /// `mops` times the number of cache lines that an operation must read, divided by `roofline_mops`.
    pub(crate) roofline_fraction: Option<f64>,
    /// Bits of the filter, divided by `keys`.
    pub(crate) bits_per_key: f64,
    /// The false-positive rate according to the filter's own equation.
    pub(crate) fpr_expected: Option<f64>,
    /// The false-positive rate measured with absent keys.
    pub(crate) fpr_measured: Option<f64>,
    /// Cache misses per operation.
    pub(crate) cache_misses_per_op: Option<f64>,
    /// Last-level cache read misses per operation.
    pub(crate) llc_misses_per_op: Option<f64>,
    /// Data-TLB read misses per operation.
    pub(crate) dtlb_misses_per_op: Option<f64>,
    /// The source of the event counts: `hardware`, `simulated` or `none`.
    pub(crate) counters: String,
    /// The name of the rival's crate; blank for our filters.
    pub(crate) rival: Option<String>,
    /// The number of absent keys with which `fpr_measured` was measured.
    #[serde(default)]
    pub(crate) absent_keys: Option<u64>,
    /// The lower end of the 95 % confidence interval of the median, in nanoseconds; blank if there were too few
    /// repetitions for an interval.
    #[serde(default)]
    pub(crate) ci_low: Option<f64>,
    /// The upper end of this interval.
    #[serde(default)]
    pub(crate) ci_high: Option<f64>,
    /// The speed relative to that of the same case on one thread.
    pub(crate) speedup: Option<f64>,
    /// The peak of the memory that became resident during one repetition, in bytes.
    pub(crate) peak_bytes: Option<u64>,
    /// Processor cycles per operation.
    #[serde(default)]
    pub(crate) cycles_per_op: Option<f64>,
    /// Instructions per operation.
    #[serde(default)]
    pub(crate) instructions_per_op: Option<f64>,
    /// Read misses of the L1 data cache per operation.
    #[serde(default)]
    pub(crate) l1d_misses_per_op: Option<f64>,
    /// Mispredicted branches per operation.
    #[serde(default)]
    pub(crate) branch_misses_per_op: Option<f64>,
}

impl Row {
    /// Returns the name of the case, which is unique in a run. `--filter` is matched with this name, and `--resume`
    /// compares it.
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

    /// Sets the event counts per operation, and their source: `hardware` or `simulated`.
    pub(crate) fn put_counts(&mut self, per_op: &Counts, source: &str) {
        let rounded = |event| per_op.get(event).map(|count| round_significant(count, 5));
        self.cache_misses_per_op = rounded(Event::CacheMisses);
        self.llc_misses_per_op = rounded(Event::LlcReadMisses);
        self.dtlb_misses_per_op = rounded(Event::DtlbReadMisses);
        self.cycles_per_op = rounded(Event::Cycles);
        self.instructions_per_op = rounded(Event::Instructions);
        self.l1d_misses_per_op = rounded(Event::L1dReadMisses);
        self.branch_misses_per_op = rounded(Event::BranchMisses);
        self.counters = if per_op.is_empty() { NOT_COUNTED } else { source }.into();
    }

    /// Whether both rows have the same operation, workload, keys and other conditions, so that their speeds can be
    /// compared. The filters, their sizes and the calls can differ.
    pub(crate) fn shares_conditions_with(&self, other: &Row) -> bool {
        (&self.op, &self.workload, self.keys) == (&other.op, &other.workload, other.keys)
            && self.input() == other.input()
            && self.hashes_keys() == other.hashes_keys()
            && self.is_of_engine() == other.is_of_engine()
            && self.matrix() == other.matrix()
    }

    /// Returns the part of the matrix to which the row belongs, if any.
    pub(crate) fn matrix(&self) -> Option<Matrix> {
        Matrix::of_variant(&self.variant)
    }

    /// Returns the part of the variant that names the input, if the keys are not generated.
    pub(crate) fn input(&self) -> Option<&str> {
        self.variant.rsplit_once('/').map(|(input, _)| input)
    }

    /// Returns the part of the variant that describes the filter's size.
    pub(crate) fn sizing(&self) -> &str {
        let tail = self.variant.rsplit_once('/').map_or(&*self.variant, |(_, tail)| tail);
        if self.matrix().is_some() {
            return tail.rsplit_once('+').map_or(tail, |(sizing, _)| sizing);
        }
        tail.strip_suffix(HASH_SUFFIX).or(tail.strip_suffix(WALL_SUFFIX)).unwrap_or(tail)
    }

    /// Returns the slots and load of the filter, if the row belongs to the sweep over loads.
    pub(crate) fn filling(&self) -> Option<Filling> {
        filling_of(self.sizing())
    }

    /// Whether the row was measured on generated keys without hashing, and belongs neither to the sweep over loads, nor
    /// to the engine's groups, nor to the matrix.
    pub(crate) fn is_plain(&self) -> bool {
        self.input().is_none()
            && self.matrix().is_none()
            && !self.hashes_keys()
            && self.filling().is_none()
            && !self.is_of_engine()
    }

    /// Whether the case was interleaved with the engine.
    pub(crate) fn is_of_engine(&self) -> bool {
        self.variant.ends_with(WALL_SUFFIX)
    }

    /// Whether the timed loop hashes the keys too.
    pub(crate) fn hashes_keys(&self) -> bool {
        self.variant.ends_with(HASH_SUFFIX)
    }

    /// Returns the number of cache lines that one operation must read, as assumed for the roofline fraction.
    pub(crate) fn lines_per_op(&self) -> Option<f64> {
        Some(self.roofline_fraction? * self.roofline_mops? / self.mops)
    }
}

/// Parses the slots and load from the size in a variant; `None` if the filter is sized in another way.
pub(crate) fn filling_of(sizing: &str) -> Option<Filling> {
    sizing.split('+').next()?.parse().ok()
}

/// The value of the column `counters` in rows without event counts.
pub(crate) const NOT_COUNTED: &str = "none";

/// Marks variants whose timed loop hashes the keys too.
pub(crate) const HASH_SUFFIX: &str = "+hash";

/// Marks variants whose wall-clock time is measured, interleaved with the engine.
pub(crate) const WALL_SUFFIX: &str = "+wall";

/// Returns the name of a case. It includes the number of threads if there are several, or if the engine runs it.
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

/// Returns the name of a case on one thread.
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

    /// Returns a row with plausible values, for tests.
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
    fn the_csv_header_is_as_documented() {
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
    fn rows_without_newer_columns_are_read() {
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
    fn names_and_variants_are_split_into_their_parts() {
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
