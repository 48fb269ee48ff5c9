//! Estimates lookup times between and beyond the sizes that were measured.
//!
//! From one cache level to the next, the time of a lookup grows about linearly with the logarithm of the filter's size.
//! So between two measured sizes, the time is interpolated linearly in that logarithm. Below the smallest size, the
//! time of the smallest is used. Beyond the largest size, memory limits lookups. So the time of the largest size is
//! multiplied by the factor by which a random cache-line read is slower at the filter's size than at the largest
//! measured size, if this factor is known. The time is also interpolated linearly between two hit rates (shares of keys
//! among the probes).

use crate::base::format::human_bytes;
use crate::measure::built::is_near;
use serde::Serialize;
use std::fmt;
use trommel::FilterKind;

/// A measured lookup time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) kind: FilterKind,
    /// Bytes of the part of the filter that lookups read.
    pub(crate) bytes: u64,
    /// Share of slots in use, if there are slots.
    pub(crate) load: Option<f64>,
    /// Share of probes that are keys.
    pub(crate) hit_rate: f64,
    /// Nanoseconds per lookup in a batch.
    pub(crate) ns: f64,
}

/// An estimated lookup time, and the measurements from which it was derived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) ns: f64,
    pub(crate) basis: Basis,
}

/// The measurements from which an estimate was derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Basis {
    /// This filter was measured, or a filter of its kind and of about the same size.
    Measured,
    /// Interpolated between two sizes of the kind, in bytes.
    Between(u64, u64),
    /// The filter is smaller than every measured filter of the kind. The time of the smallest measured one, which has
    /// this number of bytes, is used.
    Below(u64),
    /// Scaled up from the largest measured size of the kind (in bytes), in proportion to the time of a random
    /// cache-line read.
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

/// Times of a random cache-line read. Each pair is the size of the working set in bytes, and the nanoseconds of a read.
/// The sizes ascend.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineTimes(pub(crate) Vec<(u64, f64)>);

impl LineTimes {
    /// The nanoseconds of a read from a working set of `bytes` bytes. Outside the measured range, the time at the
    /// nearest measured size is taken.
    fn at(&self, bytes: u64) -> Option<f64> {
        let points = &self.0;
        let above = points.iter().position(|(size, _)| *size >= bytes);
        match above {
            None => points.last().map(|(_, ns)| *ns),
            Some(0) => points.first().map(|(_, ns)| *ns),
            Some(above) => Some(between(points[above - 1], points[above], bytes)),
        }
    }

    /// The factor by which a cache-line read is slower in a working set of `to` bytes than of `from` bytes; at least 1.
    pub(crate) fn slower(&self, from: u64, to: u64) -> f64 {
        match (self.at(from), self.at(to)) {
            (Some(before), Some(after)) if before > 0.0 => (after / before).max(1.0),
            _ => 1.0,
        }
    }
}

/// Interpolates linearly between two points, in the logarithm of the bytes.
fn between(low: (u64, f64), high: (u64, f64), bytes: u64) -> f64 {
    let position = |bytes: u64| (bytes.max(1) as f64).ln();
    let width = position(high.0) - position(low.0);
    if width <= 0.0 {
        return low.1;
    }
    low.1 + (high.1 - low.1) * (position(bytes) - position(low.0)) / width
}

/// All measured lookups, and the times of cache-line reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timings {
    pub(crate) samples: Vec<Sample>,
    pub(crate) lines: LineTimes,
}

impl Timings {
    /// Estimates the time of a lookup in a filter of the kind; `None` if the kind was not measured at all.
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

    /// Estimates a lookup time from samples of one kind and hit rate.
    fn by_bytes(
        &self,
        mut samples: Vec<Sample>,
        bytes: u64,
        load: Option<f64>,
    ) -> Option<Estimate> {
        // Among samples of about the same size, the one with the nearest load is used.
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
    fn times_are_interpolated_in_the_logarithm_of_the_size() {
        let lookup = |bytes, hit_rate| timings().estimate(KIND, bytes, None, hit_rate).unwrap();
        assert_eq!(lookup(1 << 20, 0.0), Estimate { ns: 1.0, basis: Basis::Measured });
        // This size is a quarter of the way between the two measured ones, in the logarithm.
        let quarter = lookup(1 << 21, 0.0);
        assert!((quarter.ns - 2.0).abs() < 1e-12);
        assert_eq!(quarter.basis, Basis::Between(1 << 20, 1 << 24));
        assert_eq!(lookup(1 << 10, 0.0), Estimate { ns: 1.0, basis: Basis::Below(1 << 20) });
        // At this size a cache-line read takes three times as long as at the largest size with a measured lookup.
        assert_eq!(lookup(1 << 28, 0.0), Estimate { ns: 15.0, basis: Basis::Beyond(1 << 24) });
        // In the logarithm, this size is halfway between the last two sizes of cache-line reads. So a read takes 8 ns,
        // twice as long as the 4 ns at the largest size with a measured lookup.
        assert!((lookup(1 << 26, 0.0).ns - 10.0).abs() < 1e-12);
        assert_eq!(lookup(1 << 40, 0.0).ns, 15.0);
    }

    #[test]
    fn times_are_interpolated_linearly_in_the_share_of_keys() {
        let lookup = |bytes, hit_rate| timings().estimate(KIND, bytes, None, hit_rate).unwrap().ns;
        assert_eq!(lookup(1 << 20, 0.5), 1.5);
        assert_eq!(lookup(1 << 24, 0.25), 6.0);
        let misses_alone = Timings { samples: vec![sample(100, 0.0, 1.0)], ..Timings::default() };
        assert_eq!(misses_alone.estimate(KIND, 100, None, 0.9).unwrap().ns, 1.0);
        assert_eq!(misses_alone.estimate(FilterKind::Cuckoo, 100, None, 0.9), None);
    }

    #[test]
    fn among_samples_of_one_size_the_one_with_the_nearest_load_is_used() {
        let kind = FilterKind::Quotient;
        let at = |load, ns| Sample { kind, load: Some(load), ..sample(1 << 20, 0.0, ns) };
        let timings = Timings { samples: vec![at(0.75, 3.0), at(0.95, 4.0)], ..Timings::default() };
        let lookup = |load, bytes| timings.estimate(kind, bytes, Some(load), 0.0).unwrap().ns;
        assert_eq!(
            (lookup(0.8, 1 << 20), lookup(0.94, 1 << 20), lookup(0.94, 1 << 30)),
            (3.0, 4.0, 4.0)
        );
    }
}
