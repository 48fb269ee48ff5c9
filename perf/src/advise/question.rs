//! The question that a user asks, and the equation for the cost of a probe.

use clap::ValueEnum;
use serde::Serialize;
use std::fmt;
use trommel::{AnyFilter, FilterKind, FilterSpec, KeyHash, SpecError};

/// The work that a filter has to do, and its constraints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Question {
    /// Number of keys that the filter holds.
    pub(crate) keys: usize,
    /// The highest false-positive rate allowed.
    pub(crate) fpr: Option<f64>,
    /// The most bytes allowed.
    pub(crate) bytes: Option<u64>,
    /// The nanoseconds of the slow work behind the filter. Every probe that the filter does not reject costs this work,
    /// keys as well as false positives; without a filter, every probe does.
    pub(crate) miss_ns: f64,
    /// Share of probes that are keys.
    pub(crate) hit_rate: f64,
    /// The operations needed besides lookups and inserts.
    pub(crate) needs: Vec<Need>,
}

/// An operation that only some kinds of filters have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Need {
    /// Remove keys. With this need, filters with slots are multisets, since removing a key from a set also removes
    /// every key with the same fingerprint.
    Delete,
    /// Insert all keys of another filter of the same shape.
    Merge,
    /// Grow without access to the keys.
    Grow,
    /// Count the copies of a key. With this need, filters with slots are multisets.
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
    /// Whether filters of a kind have the operation. A small filter is built to find out.
    pub(crate) fn is_met_by(self, kind: FilterKind) -> bool {
        let spec = FilterSpec::new(kind);
        let small =
            |can: fn(&mut AnyFilter) -> bool| spec.build().is_ok_and(|mut filter| can(&mut filter));
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
    /// Nanoseconds per probe with a filter that takes `lookup_ns` per lookup and reports a share `fpr` of absent keys
    /// as present.
    pub(crate) fn overhead(&self, lookup_ns: f64, fpr: f64) -> f64 {
        lookup_ns + self.hits_ns() + self.false_ns(fpr)
    }

    /// The part of the cost per probe that is due to hits, the same for every filter.
    pub(crate) fn hits_ns(&self) -> f64 {
        self.hit_rate * self.miss_ns
    }

    /// The part of the cost per probe that is due to false positives.
    pub(crate) fn false_ns(&self, fpr: f64) -> f64 {
        (1.0 - self.hit_rate) * fpr * self.miss_ns
    }

    /// Nanoseconds per probe without a filter.
    pub(crate) fn overhead_without(&self) -> f64 {
        self.miss_ns
    }

    /// Whether filters with slots must be multisets.
    pub(crate) fn wants_copies(&self) -> bool {
        self.needs.iter().any(|need| matches!(need, Need::Delete | Need::Count))
    }

    /// Whether a filter of `bytes` bytes with false-positive rate `fpr` is allowed.
    pub(crate) fn allows(&self, bytes: u64, fpr: f64) -> bool {
        self.bytes.is_none_or(|most| bytes <= most) && self.fpr.is_none_or(|most| fpr <= most)
    }

    /// The needed operations that a kind does not have.
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
    fn a_probe_costs_its_lookup_and_the_work_that_is_not_saved() {
        let asked = question(1000, 100.0, 0.0);
        assert_eq!(asked.overhead(5.0, 0.01), 5.0 + 1.0);
        let half = Question { hit_rate: 0.5, ..asked.clone() };
        // Half of the probes are keys, which adds 50 ns per probe. Of the other half, 1 % are false positives, which
        // adds 0.5 ns.
        assert_eq!(half.overhead(5.0, 0.01), 5.0 + 50.0 + 0.5);
        let all = Question { hit_rate: 1.0, ..asked };
        assert_eq!(all.overhead(5.0, 0.01), 105.0);
        assert_eq!(all.overhead_without(), 100.0);
    }

    #[test]
    fn a_filter_pays_if_a_lookup_costs_less_than_the_work_it_saves() {
        let asked = question(1000, 100.0, 0.9);
        // The work that a filter saves per probe: (1 − hit_rate) · (1 − fpr) · miss_ns = 0.1 · 0.99 · 100.
        let limit = 9.9;
        assert!(asked.overhead(limit - 0.001, 0.01) < asked.overhead_without());
        assert!(asked.overhead(limit + 0.001, 0.01) > asked.overhead_without());
    }

    #[test]
    fn kinds_meet_the_needs_that_their_types_implement() {
        use FilterKind as Kind;
        let meeting = |need: Need| -> Vec<Kind> {
            FilterKind::ALL.iter().copied().filter(|kind| need.is_met_by(*kind)).collect()
        };
        let slots = [Kind::Quotient, Kind::CacheLineQuotient, Kind::Cuckoo];
        let removing = [Kind::CountingBloom, Kind::Quotient, Kind::CacheLineQuotient, Kind::Cuckoo];
        assert_eq!(meeting(Need::Delete), removing);
        assert_eq!(meeting(Need::Count), removing);
        assert_eq!(meeting(Need::Grow), slots);
        assert_eq!(meeting(Need::Merge), FilterKind::ALL);
        let asked = Question { needs: vec![Need::Grow, Need::Merge], ..question(1, 1.0, 0.0) };
        assert_eq!(asked.unmet(Kind::Bloom), [Need::Grow]);
    }
}
