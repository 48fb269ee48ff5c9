//! What is asked, and what a probe costs.

use clap::ValueEnum;
use serde::Serialize;
use std::fmt;
use trommel::{AnyFilter, FilterKind, FilterSpec, KeyHash, SpecError};

/// What a filter is wanted for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Question {
    /// Keys that it holds.
    pub(crate) keys: usize,
    /// The highest false-positive rate.
    pub(crate) fpr: Option<f64>,
    /// The most bytes.
    pub(crate) bytes: Option<u64>,
    /// What a probe costs that the filter does not reject, in nanoseconds.
    pub(crate) miss_ns: f64,
    /// Share of probes that are keys.
    pub(crate) hit_rate: f64,
    /// What it must be able to do besides lookups and inserts.
    pub(crate) needs: Vec<Need>,
}

/// What only some kinds can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Need {
    /// Forget keys. Filters with slots are multisets then: of a set, two keys that are found as one are removed
    /// together.
    Delete,
    /// Take in all keys of another filter of the same shape.
    Merge,
    /// Become larger without the keys.
    Grow,
    /// Count the copies of a key; filters with slots are multisets then.
    Count,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delete => "delete",
            Self::Merge => "merge",
            Self::Grow => "grow",
            Self::Count => "count",
        })
    }
}

impl Need {
    /// Whether filters of a kind can do it: a small one is asked.
    pub(crate) fn is_met_by(self, kind: FilterKind) -> bool {
        let spec = FilterSpec::new(kind);
        let small =
            |asked: fn(&mut AnyFilter) -> bool| spec.build().is_ok_and(|mut it| asked(&mut it));
        match self {
            Self::Delete => small(|filter| filter.remove_hash(KeyHash::from_raw(1)).is_ok()),
            Self::Count => small(|filter| filter.count_hash(KeyHash::from_raw(1)).is_ok()),
            Self::Merge => small(|filter| {
                let other = AnyFilter::from_bytes(&filter.to_bytes());
                other.is_ok_and(|other| filter.merge(&other).is_ok())
            }),
            Self::Grow => !matches!(spec.grow_at(0.9).build(), Err(SpecError::Option { .. })),
        }
    }
}

impl Question {
    /// Nanoseconds of a probe with a filter whose lookups take `lookup_ns` and that lets a share `fpr` of absent
    /// keys pass.
    pub(crate) fn overhead(&self, lookup_ns: f64, fpr: f64) -> f64 {
        lookup_ns + self.hits_ns() + self.false_ns(fpr)
    }

    /// The part of it that hits cost, whatever the filter.
    pub(crate) fn hits_ns(&self) -> f64 {
        self.hit_rate * self.miss_ns
    }

    /// The part of it that false positives cost.
    pub(crate) fn false_ns(&self, fpr: f64) -> f64 {
        (1.0 - self.hit_rate) * fpr * self.miss_ns
    }

    /// Nanoseconds of a probe without a filter.
    pub(crate) fn overhead_without(&self) -> f64 {
        self.miss_ns
    }

    /// Whether a filter with slots has to keep every copy of a key.
    pub(crate) fn wants_copies(&self) -> bool {
        self.needs.iter().any(|need| matches!(need, Need::Delete | Need::Count))
    }

    /// Whether a filter of these bytes and this false-positive rate is allowed.
    pub(crate) fn allows(&self, bytes: u64, fpr: f64) -> bool {
        self.bytes.is_none_or(|most| bytes <= most) && self.fpr.is_none_or(|most| fpr <= most)
    }

    /// The needs that a kind does not meet.
    pub(crate) fn unmet(&self, kind: FilterKind) -> Vec<Need> {
        self.needs.iter().copied().filter(|need| !need.is_met_by(kind)).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A question without constraints.
    pub(crate) fn question(keys: usize, miss_ns: f64, hit_rate: f64) -> Question {
        Question { keys, fpr: None, bytes: None, miss_ns, hit_rate, needs: Vec::new() }
    }

    #[test]
    fn a_probe_costs_its_lookup_and_what_the_filter_lets_pass() {
        let asked = question(1000, 100.0, 0.0);
        assert_eq!(asked.overhead(5.0, 0.01), 5.0 + 1.0);
        let half = Question { hit_rate: 0.5, ..asked.clone() };
        // Half of the probes are keys: 50. Of the other half one in a hundred passes: 0.5.
        assert_eq!(half.overhead(5.0, 0.01), 5.0 + 50.0 + 0.5);
        let all = Question { hit_rate: 1.0, ..asked };
        assert_eq!(all.overhead(5.0, 0.01), 105.0);
        assert_eq!(all.overhead_without(), 100.0);
    }

    #[test]
    fn a_filter_pays_where_its_lookup_costs_less_than_what_it_rejects() {
        let asked = question(1000, 100.0, 0.9);
        // (1 − σ)(1 − f)·t_w = 0.1 · 0.99 · 100.
        let limit = 9.9;
        assert!(asked.overhead(limit - 0.001, 0.01) < asked.overhead_without());
        assert!(asked.overhead(limit + 0.001, 0.01) > asked.overhead_without());
    }

    #[test]
    fn kinds_meet_the_needs_that_their_types_do() {
        use FilterKind as Kind;
        let meeting = |need: Need| -> Vec<Kind> {
            FilterKind::ALL.iter().copied().filter(|kind| need.is_met_by(*kind)).collect()
        };
        let slots = [Kind::Quotient, Kind::CacheLineQuotient, Kind::Cuckoo];
        let forgetting =
            [Kind::CountingBloom, Kind::Quotient, Kind::CacheLineQuotient, Kind::Cuckoo];
        assert_eq!(meeting(Need::Delete), forgetting);
        assert_eq!(meeting(Need::Count), forgetting);
        assert_eq!(meeting(Need::Grow), slots);
        assert_eq!(meeting(Need::Merge), FilterKind::ALL);
        let asked = Question { needs: vec![Need::Grow, Need::Merge], ..question(1, 1.0, 0.0) };
        assert_eq!(asked.unmet(Kind::Bloom), [Need::Grow]);
    }
}
