//! The figures of one measured case.

use super::Case;
use crate::base::stats::round_significant;
use crate::model::{Counts, Event};
use serde::{Deserialize, Serialize};

/// One measured case and its figures: a line of `results.csv`. A figure is `None`, and its cell blank, if its value is
/// unknown or meaningless for the case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) case: Case,
    /// Bytes that the filter occupies.
    pub(crate) bytes: u64,
    /// The smallest level of the memory hierarchy that holds the filter: `L1`, `L2`, `LLC`, `DRAM`.
    pub(crate) regime: Option<String>,
    /// The share of slots in use, to two digits, for filters that have slots. In quotient filters, keys with the same
    /// fingerprint take one slot.
    pub(crate) load_factor: Option<f64>,
    /// The instruction set of our kernels; blank for rivals, which choose their instruction set themselves.
    pub(crate) isa: Option<String>,
    /// Nanoseconds per operation: the median over the repetitions.
    pub(crate) ns_per_op: f64,
    /// Median absolute deviation of `ns_per_op` over the repetitions, in nanoseconds.
    pub(crate) mad: f64,
    /// Million operations per second, from the median.
    pub(crate) mops: f64,
    /// The roofline: million random cache-line reads per second, from repetitions that were interleaved with the case's
    /// own repetitions. The lines are in an array about as large as the memory in which the case's operations make
    /// random accesses. In the engine's groups, the array is as large as our filter, also for rows of rivals.
    pub(crate) roofline_mops: Option<f64>,
    /// `mops` times the number of cache lines that an operation must access, divided by `roofline_mops`.
    pub(crate) roofline_fraction: Option<f64>,
    /// Bits of the filter, divided by `keys`.
    pub(crate) bits_per_key: f64,
    /// The false-positive rate according to an equation for this design of filter.
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
    /// The number of absent keys with which `fpr_measured` was measured.
    #[serde(default)]
    pub(crate) absent_keys: Option<u64>,
    /// The lower end of the 95 % confidence interval of the median, in nanoseconds; blank if there were too few
    /// repetitions for an interval.
    #[serde(default)]
    pub(crate) ci_low: Option<f64>,
    /// The upper end of the interval whose lower end is `ci_low`.
    #[serde(default)]
    pub(crate) ci_high: Option<f64>,
    /// The speed divided by the speed of the same subject on one thread.
    pub(crate) speedup: Option<f64>,
    /// The bytes by which the resident memory of the process grew at its peak, during one untimed run of the operation.
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

/// The times of a case's repetitions, summarized. Nanoseconds per operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) median: f64,
    /// The median absolute deviation.
    pub(crate) mad: f64,
    /// The ends of the 95 % confidence interval of the median.
    pub(crate) interval: Option<(f64, f64)>,
}

/// Facts about the filter of a case, and the speed of random cache-line reads with which the case is compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) bytes: u64,
    pub(crate) regime: Option<String>,
    pub(crate) load_factor: Option<f64>,
    pub(crate) isa: Option<String>,
    pub(crate) fpr_expected: Option<f64>,
    pub(crate) fpr_measured: Option<f64>,
    /// The number of absent keys with which `fpr_measured` was measured.
    pub(crate) absent_keys: Option<u64>,
    pub(crate) peak_bytes: Option<u64>,
    /// The number of cache lines that an operation must access, if it is known.
    pub(crate) lines_per_op: Option<f64>,
    /// The value of [`Row::roofline_mops`].
    pub(crate) roofline_mops: Option<f64>,
}

impl Row {
    /// Creates the row of a case that was timed. The row has no event counts yet. Figures are rounded to five digits,
    /// loads to two.
    pub(crate) fn new(case: Case, times: &Times, facts: Facts) -> Self {
        let rounded = |value: f64| round_significant(value, 5);
        let mops = 1e3 / times.median;
        let fraction = facts.roofline_mops.zip(facts.lines_per_op);
        let keys = case.keys.max(1) as f64;
        Self {
            case,
            bytes: facts.bytes,
            regime: facts.regime,
            load_factor: facts.load_factor.map(|load| round_significant(load, 2)),
            isa: facts.isa,
            ns_per_op: rounded(times.median),
            mad: rounded(times.mad),
            mops: rounded(mops),
            roofline_mops: facts.roofline_mops.map(rounded),
            roofline_fraction: fraction.map(|(limit, lines)| rounded(mops * lines / limit)),
            bits_per_key: rounded(facts.bytes as f64 * 8.0 / keys),
            fpr_expected: facts.fpr_expected.map(rounded),
            fpr_measured: facts.fpr_measured.map(rounded),
            cache_misses_per_op: None,
            llc_misses_per_op: None,
            dtlb_misses_per_op: None,
            counters: NOT_COUNTED.into(),
            absent_keys: facts.absent_keys,
            ci_low: times.interval.map(|(low, _)| rounded(low)),
            ci_high: times.interval.map(|(_, high)| rounded(high)),
            speedup: None,
            peak_bytes: facts.peak_bytes,
            cycles_per_op: None,
            instructions_per_op: None,
            l1d_misses_per_op: None,
            branch_misses_per_op: None,
        }
    }

    /// Returns the name of the case, which is unique in a run.
    pub(crate) fn name(&self) -> String {
        self.case.name()
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

    /// Returns the number of cache lines that one operation must access, as assumed for the roofline fraction.
    pub(crate) fn lines_per_op(&self) -> Option<f64> {
        Some(self.roofline_fraction? * self.roofline_mops? / self.mops)
    }
}

/// The value of the column `counters` in rows without event counts.
pub(crate) const NOT_COUNTED: &str = "none";

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{Api, old_form};

    /// Returns a row of lookups of absent keys with plausible values, for tests. `variant` is one text such as
    /// `fpr-1%`, as in older files. Newer files have a column for each property that this text describes.
    pub(crate) fn example(filter: &str, variant: &str, rival: Option<&str>, ns_per_op: f64) -> Row {
        let api = if rival.is_some() { Api::Single } else { Api::Batch };
        let case = old_form::tests::old(filter, variant, rival, api);
        let interval = Some((ns_per_op - 0.02, ns_per_op + 0.02));
        let facts = Facts {
            bytes: 1_500_000,
            regime: Some("L2".into()),
            isa: rival.is_none().then(|| "avx2".into()),
            fpr_expected: Some(0.0054),
            fpr_measured: Some(0.0055),
            absent_keys: Some(1_000_000),
            lines_per_op: Some(1.0),
            roofline_mops: Some(1000.0),
            ..Facts::default()
        };
        Row::new(case, &Times { median: ns_per_op, mad: 0.01, interval }, facts)
    }

    impl Row {
        /// Returns the row with a changed case and the same figures.
        pub(crate) fn with(mut self, change: impl FnOnce(&mut Case)) -> Self {
            change(&mut self.case);
            self
        }
    }

    #[test]
    fn a_row_is_read_back_from_its_fields() {
        let row = example("bloom", "fpr-1%", Some("fastbloom"), 2.0);
        let json = serde_json::to_string(&row).unwrap();
        assert_eq!(serde_json::from_str::<Row>(&json).unwrap(), row);
    }

    #[test]
    fn rows_without_newer_fields_are_read() {
        let row = example("bloom", "fpr-1%", None, 2.0);
        let mut json = serde_json::to_value(&row).unwrap();
        let fields = json.as_object_mut().unwrap();
        for newer in ["sizing", "clock", "distribution", "l1d_misses_per_op", "cycles_per_op"] {
            fields.remove(newer).unwrap();
        }
        assert_eq!(serde_json::from_value::<Row>(json).unwrap(), row);
    }

    #[test]
    fn the_fraction_of_the_roofline_needs_the_cache_lines_per_operation() {
        let row = example("bloom", "fpr-1%", None, 2.0);
        assert_eq!(
            (row.mops, row.roofline_fraction, row.lines_per_op()),
            (500.0, Some(0.5), Some(1.0))
        );
        let facts = Facts { roofline_mops: Some(1000.0), ..Facts::default() };
        let times = Times { median: 2.0, mad: 0.0, interval: None };
        let unknown = Row::new(row.case, &times, facts);
        assert_eq!((unknown.roofline_mops, unknown.roofline_fraction), (Some(1000.0), None));
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
}
