//! Measures lookups in the offers: the filters that could be advised. As in the verb `measure`, each filter is filled,
//! its answers are verified, and a time is the median of short repetitions, which are interleaved if several filters
//! are measured. Here one call looks up all probes; in `measure`, batches are usually smaller.

use super::offers::{Offer, Shape};
use super::timings::LineTimes;
use crate::measure::interleave::{Meter, Pace, Repetition, interleave};
use crate::measure::keys::{Column, KeyStream, Probes, as_hashes};
use crate::measure::repetition::{Length, Repeater};
use crate::measure::roofline;
use crate::measure::subject::ensure_no_false_negatives;
use anyhow::{Context as _, Result, ensure};
use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;
use trommel::{AnyFilter, Bitmap, Engine, Filter as _, FilterKind, FilterSpec, KeyHash};

/// The most keys with which a filter is measured. If a filter is meant for more keys, a smaller filter for this number
/// of keys is measured in its place, with the same number of bits per key. The time of a lookup in the smaller filter
/// is then multiplied by a ratio: the time of a random cache-line read in a table of the full size, divided by the time
/// of one in a table of the smaller size.
const MOST_KEYS: usize = 20_000_000;
/// The largest table, in bytes, in which cache-line reads are timed for the ratio that [`MOST_KEYS`] describes. For a
/// larger table, the time in a table of this size is used.
const MOST_READ_BYTES: u64 = 2 << 30;
/// The total size, in bytes, up to which built filters are kept for later measurements. All further filters are built
/// again for each measurement.
const KEPT_BYTES: u64 = 1 << 30;

/// A batch has one probe per inserted key, but at least `FEWEST_PROBES` and at most `MOST_PROBES` probes.
/// `FEWEST_PROBES` probes take 512 KiB: they fit into a second-level cache of 1 MiB together with a small filter, yet
/// are too many for the branch predictor to memorize.
const FEWEST_PROBES: usize = 1 << 16;
const MOST_PROBES: usize = 1_000_000;

/// The length of a repetition.
const LENGTH: Length = Length(Duration::from_millis(2));
/// The rounds in which an offer is measured for the first time, alone.
const FIRST: Pace = Pace { budget: Duration::ZERO, min_rounds: 5, max_rounds: 5 };
/// The rounds in which the best offers are measured, interleaved.
const FINAL: Pace = Pace { budget: Duration::from_millis(1200), min_rounds: 9, max_rounds: 41 };

/// The keys, engine and built filters with which the offers for one number of keys are measured.
pub(super) struct Bench {
    keys: usize,
    /// The number of keys that are inserted: `keys`, but at most [`MOST_KEYS`].
    inserted: usize,
    hashes: Vec<KeyHash>,
    lines: LineTimes,
    engine: Engine,
    /// The filters that are kept, by the index of the offer.
    built: HashMap<usize, Rc<AnyFilter>>,
    built_bytes: u64,
    /// The most bytes that the filters in `built` are allowed to take together.
    most_kept: u64,
    meter: Meter,
}

impl Bench {
    /// Draws the keys, and times cache-line reads. The largest working set of these reads has as many bytes as the
    /// largest `probed_bytes` of an offer, but at most [`MOST_READ_BYTES`].
    pub(super) fn new(keys: usize, offers: &[Offer]) -> Result<Self> {
        let inserted = keys.min(MOST_KEYS);
        let largest = offers.iter().map(|offer| offer.probed_bytes).max().unwrap_or(0);
        Ok(Self {
            keys,
            inserted,
            hashes: KeyStream::new(keys as u64).hashes(0, inserted),
            lines: line_times(largest)?,
            engine: Engine::builder().threads(1).build()?,
            built: HashMap::new(),
            built_bytes: 0,
            most_kept: KEPT_BYTES,
            meter: Meter::default(),
        })
    }

    /// Returns the times of cache-line reads on this machine.
    pub(super) fn lines(&self) -> &LineTimes {
        &self.lines
    }

    /// Keeps every filter that is built, however large.
    pub(super) fn keeping_all(self) -> Self {
        Self { most_kept: u64::MAX, ..self }
    }

    /// Returns the nanoseconds per lookup in each of the offers at `indices`, where `hit_rate` is the share of keys
    /// among the probes. If `is_final`, there are more rounds.
    pub(super) fn measure(
        &mut self,
        offers: &[Offer],
        indices: &[usize],
        hit_rate: f64,
        is_final: bool,
    ) -> Result<Vec<f64>> {
        let pace = if is_final { FINAL } else { FIRST };
        let filters = indices
            .iter()
            .map(|index| self.filter(*index, &offers[*index]))
            .collect::<Result<Vec<_>>>()?;
        let count = self.inserted.clamp(FEWEST_PROBES, MOST_PROBES);
        let stream = KeyStream::new(self.keys as u64);
        let Probes { column, members } = stream.blend(hit_rate, self.inserted, count);
        let Column::Integers(values) = column else { unreachable!("generated keys are integers") };
        let probes = as_hashes(&values);
        let mut repetitions = filters
            .iter()
            .zip(indices)
            .map(|(filter, index)| {
                lookups(filter, &probes, &members).with_context(|| offers[*index].to_string())
            })
            .collect::<Result<Vec<_>>>()?;
        let timings = interleave(&mut repetitions, &pace, &mut self.meter, |_| ())?;
        Ok(timings
            .iter()
            .zip(indices)
            .map(|(timing, index)| {
                let bytes = offers[*index].probed_bytes;
                let small = (bytes as f64 * self.inserted as f64 / self.keys as f64) as u64;
                timing.median() * self.lines.slower(small, bytes)
            })
            .collect())
    }

    /// Returns the filter of an offer, with the keys inserted.
    fn filter(&mut self, index: usize, offer: &Offer) -> Result<Rc<AnyFilter>> {
        if let Some(filter) = self.built.get(&index) {
            return Ok(Rc::clone(filter));
        }
        let spec = if self.inserted < self.keys { self.smaller(offer) } else { offer.spec };
        let built = self.engine.build(&spec, &self.hashes);
        let filter = Rc::new(built.map_err(|error| anyhow::anyhow!("{offer}: {error}"))?);
        let bytes = filter.memory_bytes() as u64;
        if self.built_bytes.saturating_add(bytes) <= self.most_kept {
            self.built_bytes += bytes;
            self.built.insert(index, Rc::clone(&filter));
        }
        Ok(filter)
    }

    /// The spec of the offered filter, reduced to `inserted` keys at the same number of bits per key.
    fn smaller(&self, offer: &Offer) -> FilterSpec {
        let spec = FilterSpec::new(offer.kind).keys(self.inserted);
        match offer.shape {
            Shape::Bits { compact, .. } => {
                let bytes = u128::from(offer.bytes) * self.inserted as u128 / self.keys as u128;
                let spec = spec.memory_bytes(bytes as usize);
                if compact { spec.compact(true) } else { spec }
            }
            Shape::Slots { width, load } if offer.kind == FilterKind::Cuckoo => {
                spec.fingerprint_bits(width).load(load)
            }
            Shape::Slots { width, load } => spec.remainder_bits(width).load(load),
        }
    }
}

/// Verifies the answers of a filter, and returns a repetition that looks all probes up and checks that the number of
/// probes reported present stays the same.
fn lookups<'a>(
    filter: &'a AnyFilter,
    probes: &'a [KeyHash],
    members: &Bitmap,
) -> Result<Repetition<'a>> {
    let mut answers = Bitmap::new(0);
    filter.contains_batch(probes, &mut answers);
    ensure_no_false_negatives(members, &answers, "the filter")?;
    for (i, hash) in probes.iter().enumerate().take(SINGLY_VERIFIED) {
        ensure!(
            answers.get(i) == filter.contains_hash(*hash),
            "the answers of a batch and of a single lookup differ"
        );
    }
    let expected = answers.count_ones();
    let mut repeater = Repeater::new(LENGTH);
    Ok(Box::new(move |meter| {
        let passes = repeater.run_whole(meter, || {
            filter.contains_batch(black_box(probes), &mut answers);
            black_box(answers.as_words());
        });
        ensure!(
            answers.count_ones() == expected,
            "an offered filter no longer reports {expected} of its probes as present"
        );
        Ok(passes * probes.len() as u64)
    }))
}

/// The number of probes whose batched answers are compared with the answers of single lookups.
const SINGLY_VERIFIED: usize = 4096;

/// The times of a random cache-line read in working sets of up to `largest` bytes, but at least up to 1 MiB and at most
/// up to [`MOST_READ_BYTES`].
fn line_times(largest: u64) -> Result<LineTimes> {
    let largest = largest.clamp(1 << 20, MOST_READ_BYTES);
    let points = roofline::curve(largest as usize, |_| ())?;
    Ok(LineTimes(points.iter().map(roofline::Point::line_ns).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::offers::offers;
    use super::super::question::tests::question;
    use super::*;
    use crate::measure::environment::Caches;

    #[test]
    fn every_offer_can_be_measured() {
        let asked = question(3000, 100.0, 0.5);
        let offers = offers(&asked, &Caches::default(), None).unwrap();
        let mut bench = Bench::new(asked.keys, &offers).unwrap();
        for (index, offer) in offers.iter().enumerate() {
            let filter = bench.filter(index, offer).unwrap();
            assert_eq!(filter.memory_bytes() as u64, offer.bytes);
        }
        let largest = offers.iter().map(|offer| offer.probed_bytes).max().unwrap();
        assert!(bench.lines().0.last().is_some_and(|(bytes, _)| 2 * bytes > largest));
        let ns = bench.measure(&offers, &[0, 1], 0.5, false).unwrap();
        assert!(ns.len() == 2 && ns.iter().all(|ns| *ns > 0.0));
    }

    #[test]
    fn a_smaller_filter_has_as_many_bits_per_key() {
        let asked = question(400_000, 100.0, 0.0);
        let offers = offers(&asked, &Caches::default(), None).unwrap();
        let mut bench = Bench::new(asked.keys, &offers).unwrap();
        bench.inserted = 100_000;
        for offer in &offers {
            let small = bench.smaller(offer).build().unwrap();
            let share = small.memory_bytes() as f64 * 4.0 / offer.bytes as f64;
            assert!((0.99..1.01).contains(&share), "{offer:?}: {share}");
        }
    }
}
