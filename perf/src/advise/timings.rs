//! What a lookup costs between the sizes that were measured.
//!
//! A lookup gets slower from cache to cache, by the logarithm of the bytes about, so that is how the nanoseconds
//! of two measured sizes are joined; beyond the largest size memory decides, and they grow as the time of a
//! random line does. The share of keys among the probes is joined linearly.

use crate::built::is_near;
use crate::environment::human_bytes;
use serde::Serialize;
use std::fmt;
use trommel::FilterKind;

/// A lookup that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) kind: FilterKind,
    /// Bytes that lookups read.
    pub(crate) bytes: u64,
    /// Share of slots in use, if there are slots.
    pub(crate) load: Option<f64>,
    /// Share of probes that are keys.
    pub(crate) hit_rate: f64,
    /// Nanoseconds of a lookup in a batch.
    pub(crate) ns: f64,
}

/// What a lookup is thought to cost, and on what that rests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) ns: f64,
    pub(crate) basis: Basis,
}

/// Where nanoseconds come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Basis {
    /// Of this filter, or one of as many bytes.
    Measured,
    /// Between two sizes of the kind.
    Between(u64, u64),
    /// As at the smallest size of the kind.
    Below(u64),
    /// From the largest size of the kind by the time of a random line.
    Beyond(u64),
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Measured => f.write_str("measured"),
            Self::Between(low, high) => {
                write!(f, "between {} and {}", human_bytes(low), human_bytes(high))
            }
            Self::Below(low) => write!(f, "as at {}", human_bytes(low)),
            Self::Beyond(high) => write!(f, "from {}", human_bytes(high)),
        }
    }
}

/// The time of a random line by the bytes that it is drawn from: (bytes, nanoseconds), ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineTimes(pub(crate) Vec<(u64, f64)>);

impl LineTimes {
    /// The nanoseconds at a size, those of the nearest one outside.
    fn at(&self, bytes: u64) -> Option<f64> {
        let points = &self.0;
        let above = points.iter().position(|(size, _)| *size >= bytes);
        match above {
            None => points.last().map(|(_, ns)| *ns),
            Some(0) => points.first().map(|(_, ns)| *ns),
            Some(above) => Some(between(points[above - 1], points[above], bytes)),
        }
    }

    /// How many times as slow a line of `to` bytes is as one of `from`, never less than once.
    pub(crate) fn slower(&self, from: u64, to: u64) -> f64 {
        match (self.at(from), self.at(to)) {
            (Some(before), Some(after)) if before > 0.0 => (after / before).max(1.0),
            _ => 1.0,
        }
    }
}

/// On the line through two points, over the logarithm of the bytes.
fn between(low: (u64, f64), high: (u64, f64), bytes: u64) -> f64 {
    let position = |bytes: u64| (bytes.max(1) as f64).ln();
    let width = position(high.0) - position(low.0);
    if width <= 0.0 {
        return low.1;
    }
    low.1 + (high.1 - low.1) * (position(bytes) - position(low.0)) / width
}

/// All that was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timings {
    pub(crate) samples: Vec<Sample>,
    pub(crate) lines: LineTimes,
}

impl Timings {
    /// What a lookup in a filter of the kind costs; none if the kind was not measured at all.
    pub(crate) fn estimate(
        &self,
        kind: FilterKind,
        bytes: u64,
        load: Option<f64>,
        hit_rate: f64,
    ) -> Option<Estimate> {
        let of_kind = || self.samples.iter().filter(move |sample| sample.kind == kind);
        let nearest = |is_side: &dyn Fn(f64) -> bool| {
            let rates = of_kind().map(|sample| sample.hit_rate).filter(|rate| is_side(*rate));
            rates.min_by(|a, b| (a - hit_rate).abs().total_cmp(&(b - hit_rate).abs()))
        };
        let low = nearest(&|rate| rate <= hit_rate);
        let high = nearest(&|rate| rate >= hit_rate);
        let (low, high) = (low.or(high)?, high.or(low)?);
        let [at_low, at_high] = [low, high].map(|rate| {
            let samples: Vec<Sample> =
                of_kind().filter(|sample| sample.hit_rate == rate).copied().collect();
            self.by_bytes(samples, bytes, load)
        });
        let (at_low, at_high) = (at_low?, at_high?);
        let share = if high > low { (hit_rate - low) / (high - low) } else { 0.0 };
        let ns = at_low.ns + (at_high.ns - at_low.ns) * share;
        Some(Estimate { ns, basis: at_low.basis.max(at_high.basis) })
    }

    /// Of samples of one kind and hit rate.
    fn by_bytes(
        &self,
        mut samples: Vec<Sample>,
        bytes: u64,
        load: Option<f64>,
    ) -> Option<Estimate> {
        // Of those of about one size, the one that is about as full.
        let distance = |sample: &Sample| match (sample.load, load) {
            (Some(has), Some(wanted)) => (has - wanted).abs(),
            _ => 0.0,
        };
        samples.sort_by(|a, b| {
            (a.bytes, distance(a)).partial_cmp(&(b.bytes, distance(b))).expect("loads are numbers")
        });
        let near = |a: u64, b: u64| is_near(a as usize, b as usize);
        let same = samples.iter().filter(|sample| near(sample.bytes, bytes));
        if let Some(same) = same.min_by(|a, b| distance(a).total_cmp(&distance(b))) {
            return Some(Estimate { ns: same.ns, basis: Basis::Measured });
        }
        let point = |sample: &Sample| (sample.bytes, sample.ns);
        let closest = |side: &[Sample]| {
            let edge =
                side.iter().map(|sample| sample.bytes).min_by_key(|has| has.abs_diff(bytes))?;
            let about = side.iter().filter(|sample| near(sample.bytes, edge));
            about.min_by(|a, b| distance(a).total_cmp(&distance(b))).map(point)
        };
        let split =
            samples.iter().position(|sample| sample.bytes >= bytes).unwrap_or(samples.len());
        let (below, above) = samples.split_at(split);
        Some(match (closest(below), closest(above)) {
            (Some(low), Some(high)) => {
                let ns = between(low, high, bytes);
                Estimate { ns, basis: Basis::Between(low.0, high.0) }
            }
            (None, Some(high)) => Estimate { ns: high.1, basis: Basis::Below(high.0) },
            (Some(low), None) => {
                let ns = low.1 * self.lines.slower(low.0, bytes);
                Estimate { ns, basis: Basis::Beyond(low.0) }
            }
            (None, None) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: FilterKind = FilterKind::SplitBlockBloom;

    fn sample(bytes: u64, hit_rate: f64, ns: f64) -> Sample {
        Sample { kind: KIND, bytes, load: None, hit_rate, ns }
    }

    fn timings() -> Timings {
        let samples = vec![
            sample(1 << 20, 0.0, 1.0),
            sample(1 << 24, 0.0, 5.0),
            sample(1 << 20, 1.0, 2.0),
            sample(1 << 24, 1.0, 9.0),
        ];
        Timings { samples, lines: LineTimes(vec![(1 << 20, 1.0), (1 << 24, 4.0), (1 << 28, 12.0)]) }
    }

    #[test]
    fn sizes_are_joined_by_their_logarithms() {
        let of = |bytes, hit_rate| timings().estimate(KIND, bytes, None, hit_rate).unwrap();
        assert_eq!(of(1 << 20, 0.0), Estimate { ns: 1.0, basis: Basis::Measured });
        // A quarter of the way in powers of two.
        let quarter = of(1 << 21, 0.0);
        assert!((quarter.ns - 2.0).abs() < 1e-12);
        assert_eq!(quarter.basis, Basis::Between(1 << 20, 1 << 24));
        assert_eq!(of(1 << 10, 0.0), Estimate { ns: 1.0, basis: Basis::Below(1 << 20) });
        // Three times as long a line.
        assert_eq!(of(1 << 28, 0.0), Estimate { ns: 15.0, basis: Basis::Beyond(1 << 24) });
        // Half of the way to the last line: 8 over 4.
        assert!((of(1 << 26, 0.0).ns - 10.0).abs() < 1e-12);
        assert_eq!(of(1 << 40, 0.0).ns, 15.0);
    }

    #[test]
    fn shares_of_keys_are_joined_linearly() {
        let of = |bytes, hit_rate| timings().estimate(KIND, bytes, None, hit_rate).unwrap().ns;
        assert_eq!(of(1 << 20, 0.5), 1.5);
        assert_eq!(of(1 << 24, 0.25), 6.0);
        let misses_alone = Timings { samples: vec![sample(100, 0.0, 1.0)], ..Timings::default() };
        assert_eq!(misses_alone.estimate(KIND, 100, None, 0.9).unwrap().ns, 1.0);
        assert_eq!(misses_alone.estimate(FilterKind::Cuckoo, 100, None, 0.9), None);
    }

    #[test]
    fn of_one_size_the_one_that_is_about_as_full_counts() {
        let kind = FilterKind::Quotient;
        let at = |load, ns| Sample { kind, load: Some(load), ..sample(1 << 20, 0.0, ns) };
        let timings = Timings { samples: vec![at(0.75, 3.0), at(0.95, 4.0)], ..Timings::default() };
        let of = |load, bytes| timings.estimate(kind, bytes, Some(load), 0.0).unwrap().ns;
        assert_eq!((of(0.8, 1 << 20), of(0.94, 1 << 20), of(0.94, 1 << 30)), (3.0, 4.0, 4.0));
    }
}
