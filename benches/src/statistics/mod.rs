//! Measures the false-positive rates of filled filters, and of filters in which keys are replaced again and again, and
//! compares the measured rates with those that the library states. `scripts/check-statistics` runs this code.
//!
//! Keys are integers, hashed by the filter's own hasher. The keys of a filter and the absent keys are from disjoint
//! ranges, so every absent key that is reported as present is a false positive. Everything is drawn from fixed seeds,
//! so a run with the same options gives the same numbers for an instruction set on every machine.

pub mod churn;
pub mod rates;

use trommel::{AnyFilter, Bitmap, Filter, FilterKind, FilterSpec, Isa, KeyHash};
use trommel_testkit::stats::{binomial_tail, normal_tail};

/// The number of keys that are looked up in one batch: their hashes fit into L2 beside a table.
const BATCH: u64 = 1 << 14;
/// The first absent key. All inserted keys are smaller.
const ABSENT: u64 = 1 << 40;

/// How much a run does.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The number of absent keys that are looked up in each filter.
    pub probes: u64,
    /// The number of rounds in which keys are replaced.
    pub rounds: u32,
    /// A count fails if it is further than this number of standard deviations from its expectation.
    pub sigmas: f64,
    /// The only instruction set to use; `None` stands for all sets that the machine has.
    pub isa: Option<Isa>,
}

impl Effort {
    /// Returns the instruction sets to use, the least capable first.
    fn sets(&self) -> Vec<Isa> {
        self.isa.map_or_else(|| Isa::available().collect(), |isa| vec![isa])
    }
}

/// A kind of filter, with the number of bits that it stores per key if the caller can choose this number.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The kind.
    pub kind: FilterKind,
    /// Bits of a remainder (quotient filter) or of a fingerprint (cuckoo filter).
    pub bits: Option<u32>,
}

impl Subject {
    /// The filters without slots. Each is planned for a false-positive rate of 1 %.
    pub const BLOOM: [Subject; 5] = [
        Subject::of(FilterKind::Bloom),
        Subject::of(FilterKind::CountingBloom),
        Subject::of(FilterKind::RegisterBloom),
        Subject::of(FilterKind::SplitBlockBloom),
        Subject::of(FilterKind::CacheLineBloom),
    ];

    /// The filters with slots.
    pub const SLOTTED: [Subject; 7] = [
        Subject::with_bits(FilterKind::Quotient, 6),
        Subject::with_bits(FilterKind::Quotient, 11),
        Subject::of(FilterKind::CacheLineQuotient),
        Subject::with_bits(FilterKind::Cuckoo, 8),
        Subject::with_bits(FilterKind::Cuckoo, 12),
        Subject::with_bits(FilterKind::Cuckoo, 16),
        Subject::with_bits(FilterKind::Cuckoo, 32),
    ];

    const fn of(kind: FilterKind) -> Self {
        Self { kind, bits: None }
    }

    const fn with_bits(kind: FilterKind, bits: u32) -> Self {
        Self { kind, bits: Some(bits) }
    }

    /// Returns the spec of a filter for `keys` keys. A filter with slots has a load of [`FULL`] with these keys. A
    /// filter without slots has a false-positive rate of 1 % with them.
    fn spec(self, keys: usize, seed: u64, isa: Isa) -> FilterSpec {
        let spec = FilterSpec::new(self.kind).keys(keys).seed(seed).isa(isa);
        match (self.kind, self.bits) {
            (FilterKind::Quotient, Some(bits)) => spec.load(FULL).remainder_bits(bits),
            (FilterKind::Cuckoo, Some(bits)) => spec.load(FULL).fingerprint_bits(bits),
            (FilterKind::CacheLineQuotient, _) => spec.load(FULL),
            _ => spec.fpr(0.01),
        }
    }

    /// The bits as a field of a table: empty if the kind has no choice.
    fn bits_field(self) -> String {
        self.bits.map(|bits| bits.to_string()).unwrap_or_default()
    }
}

/// Every filter with more than 4096 slots accepts distinct keys at least up to this load.
const FULL: f64 = 0.95;

/// The results of a run. A *claim* is a statement that the run checks.
#[derive(Debug)]
pub struct Outcome {
    /// Lines of CSV. The first has the names of the columns.
    pub lines: Vec<String>,
    /// The number of claims that held.
    pub passed: usize,
    /// The claims that did not hold.
    pub failed: Vec<String>,
}

impl Outcome {
    fn new(columns: &str) -> Self {
        Self { lines: vec![columns.to_owned()], passed: 0, failed: Vec::new() }
    }

    fn claim(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if holds {
            self.passed += 1;
        } else {
            self.failed.push(what());
        }
    }
}

/// Looks up `probes` absent keys in each filter, and returns the number of false positives of each filter. The filters
/// must have the same hasher.
#[must_use]
pub fn false_positives(filters: &[AnyFilter], probes: u64) -> Vec<u64> {
    let mut hits = vec![0; filters.len()];
    let Some(first) = filters.first() else { return hits };
    let hasher = first.hasher();
    let (mut keys, mut hashes, mut found) = (Vec::new(), Vec::<KeyHash>::new(), Bitmap::new(0));
    let mut next = 0;
    while next < probes {
        let end = probes.min(next + BATCH);
        keys.clear();
        keys.extend(ABSENT + next..ABSENT + end);
        hasher.hash_batch(&keys, &mut hashes);
        for (filter, hits) in filters.iter().zip(&mut hits) {
            filter.contains_batch(&hashes, &mut found);
            *hits += found.count_ones() as u64;
        }
        next = end;
    }
    hits
}

/// A count of false positives, and what is needed to compare it with its expectation.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The false positives.
    pub hits: u64,
    /// The absent keys that were looked up.
    pub probes: u64,
    /// The expected rate: `expected_fpr` of the filter.
    pub expected: f64,
    /// The standard deviation of this filter's rate from `expected_fpr`, divided by `expected_fpr`. This ratio is 0
    /// for all kinds but cache-line quotient filters: only their `expected_fpr` is a mean over tables.
    pub relative_spread: f64,
}

impl Counted {
    /// The distance of the count from its expectation in standard deviations. The variance is that of a binomial count,
    /// plus the variance that comes from the filter's own rate.
    #[must_use]
    pub fn deviations(&self) -> f64 {
        let mean = self.probes as f64 * self.expected;
        let variance = mean * (1.0 - self.expected) + (mean * self.relative_spread).powi(2);
        if variance > 0.0 { (self.hits as f64 - mean) / variance.sqrt() } else { 0.0 }
    }

    /// Whether the count is within `sigmas` standard deviations of its expectation. If the filter's own rate has no
    /// spread and few hits are expected, uses the exact binomial tail.
    #[must_use]
    pub fn is_within(&self, sigmas: f64) -> bool {
        if self.relative_spread > 0.0 {
            return self.deviations().abs() <= sigmas;
        }
        binomial_tail(self.hits, self.probes, self.expected) >= normal_tail(sigmas)
    }

    /// Whether enough hits are expected for [`Counted::deviations`] to be nearly normal.
    #[must_use]
    pub fn is_nearly_normal(&self) -> bool {
        self.probes as f64 * self.expected >= 50.0
    }
}

/// The spread of a filter's own rate around its `expected_fpr`, for [`Counted::relative_spread`].
///
/// A cache-line quotient filter stores remainder 0 as 1, so a fingerprint with the stored remainder 1 is found by twice
/// as many hashes as a fingerprint with another remainder. `expected_fpr` assumes that `2/256` of the `n` fingerprints
/// have remainder 1, which is the mean. The number of these fingerprints in one filter is binomial, with a variance of
/// `n · (2/256) · (254/256)`, and the rate is in proportion to `n` plus that number.
fn relative_spread(filter: &AnyFilter) -> f64 {
    if filter.kind() != FilterKind::CacheLineQuotient || filter.len() == 0 {
        return 0.0;
    }
    let held = filter.len() as f64;
    (held * (2.0 / 256.0) * (254.0 / 256.0)).sqrt() / (held * 258.0 / 256.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(hits: u64, expected: f64, relative_spread: f64) -> Counted {
        Counted { hits, probes: 1_000_000, expected, relative_spread }
    }

    #[test]
    fn deviations_are_those_of_a_binomial_count() {
        // 10,000 hits are expected, with a standard deviation of 99.5.
        assert!((counted(10_199, 0.01, 0.0).deviations() - 2.0).abs() < 0.001);
        assert!((counted(9_801, 0.01, 0.0).deviations() + 2.0).abs() < 0.001);
    }

    #[test]
    fn a_wrong_rate_is_outside_and_the_right_one_within() {
        assert!(counted(10_290, 0.01, 0.0).is_within(3.0));
        assert!(!counted(10_310, 0.01, 0.0).is_within(3.0));
        assert!(!counted(9_690, 0.01, 0.0).is_within(3.0));
        assert!(!counted(1, 0.0, 0.0).is_within(3.0));
    }

    #[test]
    fn the_spread_of_tables_widens_the_bound() {
        // The relative spread of 1 % is a standard deviation of 100 hits, and the binomial one is 99.5 hits. The root
        // of the sum of their squares is 141, so 310 hits more than expected are 2.2 standard deviations.
        assert!(counted(10_310, 0.01, 0.01).is_within(3.0));
        assert!(!counted(10_430, 0.01, 0.01).is_within(3.0));
    }
}
