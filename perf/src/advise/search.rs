//! Chooses which offers are measured: first a few sizes of each kind, then the best offers of all kinds, interleaved.

use super::Question;
use super::bench::Bench;
use super::offers::{Offer, offers};
use super::timings::{Basis, Estimate, LineTimes, Sample, Timings};
use super::verdict::{Advice, rank};
use crate::measure::environment::Environment;
use crate::run::progress::Progress;
use anyhow::Result;
use std::time::{Duration, Instant};
use trommel::{FilterKind, Isa};

/// At most this number of sizes of each kind are measured first, one after the other.
const SIZES: usize = 4;
/// The number of best offers that are then measured interleaved.
const FINALISTS: usize = 8;
/// The maximum number of interleaved measurements. The search ends earlier if each of the [`FINALISTS`] best offers has
/// already been measured interleaved.
const FINALS: usize = 3;
/// No measurement begins later than this time after the start of the search.
const TIME: Duration = Duration::from_secs(45);

/// Measures the offers that could be the best one, and answers the question.
///
/// # Errors
/// Bad input if no filter meets the constraints. Another error if a filter gives a wrong answer or cannot be built, or
/// if there is not enough memory to time cache-line reads.
pub(crate) fn from_measurements(asked: &Question, isa: Option<Isa>) -> Result<Advice> {
    let caches = Environment::observe(isa).caches;
    let offers = offers(asked, &caches, isa)?;
    let mut progress = Progress::new(kinds_of(&offers).len() * SIZES + FINALS);
    progress.say("drawing keys");
    let mut bench = Bench::new(asked.keys, &offers)?;
    let lines = bench.lines().clone();
    let start = Instant::now();
    let estimates = search(asked, &offers, &lines, |indices, is_final| {
        let what =
            if is_final { "the best filters".into() } else { offers[indices[0]].to_string() };
        progress.say(format!("measuring {what}"));
        if start.elapsed() > TIME {
            return Ok(None);
        }
        let times = bench.measure(&offers, indices, asked.hit_rate, is_final)?;
        progress.step_done();
        Ok(Some(times))
    })?;
    progress.finish();
    Ok(rank(asked, &offers, &estimates))
}

fn kinds_of(offers: &[Offer]) -> Vec<FilterKind> {
    let all = FilterKind::ALL.iter().copied();
    all.filter(|kind| offers.iter().any(|offer| offer.kind == *kind)).collect()
}

/// Estimates the lookup time of every offer, and measures the offers that could be the best one. `measure` takes the
/// indices of offers and whether they are finalists; it returns the nanoseconds per lookup of each, or `None` if no
/// time is left.
pub(super) fn search(
    asked: &Question,
    offers: &[Offer],
    lines: &LineTimes,
    mut measure: impl FnMut(&[usize], bool) -> Result<Option<Vec<f64>>>,
) -> Result<Vec<Option<Estimate>>> {
    let mut known: Vec<Option<f64>> = vec![None; offers.len()];
    let mut best = asked.overhead_without();
    'kinds: for kind in kinds_of(offers) {
        for _ in 0..SIZES {
            let Some(next) = next_size(asked, offers, &known, kind, best) else { break };
            let Some(times) = measure(&[next], false)? else { break 'kinds };
            known[next] = Some(times[0]);
            best = best.min(asked.overhead(times[0], offers[next].fpr));
        }
    }
    let mut is_final = vec![false; offers.len()];
    for _ in 0..FINALS {
        let estimates = estimates(asked, offers, &known, lines);
        let leaders = leaders(asked, offers, &estimates);
        if leaders.iter().all(|index| is_final[*index]) {
            break;
        }
        let Some(times) = measure(&leaders, true)? else { break };
        for (index, ns) in leaders.into_iter().zip(times) {
            (known[index], is_final[index]) = (Some(ns), true);
        }
    }
    Ok(estimates(asked, offers, &known, lines))
}

/// The offer of `kind` to measure next, among those that could still be best: first the offer of median size, then
/// the offer whose size is furthest from every measured size. One offer per kind is measured even if no offer of the
/// kind can be best.
fn next_size(
    asked: &Question,
    offers: &[Offer],
    known: &[Option<f64>],
    kind: FilterKind,
    best: f64,
) -> Option<usize> {
    let of_kind = (0..offers.len()).filter(|index| offers[*index].kind == kind);
    let (seen, open): (Vec<usize>, Vec<usize>) = of_kind.partition(|index| known[*index].is_some());
    let could_win = |index: &usize| asked.overhead(0.0, offers[*index].fpr) < best;
    let mut open_ones: Vec<usize> = open.iter().copied().filter(could_win).collect();
    if open_ones.is_empty() && seen.is_empty() {
        open_ones = open;
    }
    open_ones.sort_by_key(|index| offers[*index].probed_bytes);
    if seen.is_empty() {
        return open_ones.get(open_ones.len() / 2).copied();
    }
    let position = |index: usize| (offers[index].probed_bytes.max(1) as f64).ln();
    let distance = |index: &usize| {
        let distances = seen.iter().map(|other| (position(*index) - position(*other)).abs());
        distances.fold(f64::INFINITY, f64::min)
    };
    open_ones.into_iter().max_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// The lookup time of every offer: measured, or else estimated from the measured offers of its kind; `None` if no offer
/// of its kind was measured.
fn estimates(
    asked: &Question,
    offers: &[Offer],
    known: &[Option<f64>],
    lines: &LineTimes,
) -> Vec<Option<Estimate>> {
    let hit_rate = asked.hit_rate;
    let samples = offers.iter().zip(known).filter_map(|(offer, ns)| {
        let (kind, bytes, load) = (offer.kind, offer.probed_bytes, offer.shape.load());
        Some(Sample { kind, bytes, load, hit_rate, ns: (*ns)? })
    });
    let timings = Timings { samples: samples.collect(), lines: lines.clone() };
    offers
        .iter()
        .zip(known)
        .map(|(offer, ns)| match ns {
            Some(ns) => Some(Estimate { ns: *ns, basis: Basis::Measured }),
            None => timings.estimate(offer.kind, offer.probed_bytes, offer.shape.load(), hit_rate),
        })
        .collect()
}

/// The indices of up to [`FINALISTS`] offers: those with the lowest estimated costs per probe.
fn leaders(asked: &Question, offers: &[Offer], estimates: &[Option<Estimate>]) -> Vec<usize> {
    let cost =
        |index: usize| Some((index, asked.overhead(estimates[index]?.ns, offers[index].fpr)));
    let mut all: Vec<(usize, f64)> = (0..offers.len()).filter_map(cost).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.into_iter().take(FINALISTS).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::super::offers::tests::named;
    use super::super::question::tests::question;
    use super::*;

    /// Two kinds in ten sizes. Each doubling of the size divides the false-positive rate by eight.
    fn made_up() -> Vec<Offer> {
        let of_kind = |kind| {
            (0..10).map(move |power| named(kind, 1000 << power, 0.3 / f64::from(8u32.pow(power))))
        };
        of_kind(FilterKind::SplitBlockBloom).chain(of_kind(FilterKind::Bloom)).collect()
    }

    /// The made-up lookup time of an offer. It grows by 1 ns per doubling of the size, and is twice as long in a
    /// standard Bloom filter.
    fn true_ns(offer: &Offer) -> f64 {
        let ns = 1.0 + (offer.bytes as f64 / 1000.0).log2();
        if offer.kind == FilterKind::Bloom { 2.0 * ns } else { ns }
    }

    #[test]
    fn the_best_offer_is_found_by_measuring_a_few() {
        let offers = made_up();
        for miss_ns in [0.5, 3.0, 10.0, 100.0, 1e4, 1e6] {
            let asked = question(1000, miss_ns, 0.0);
            let mut single = 0;
            let estimates = search(&asked, &offers, &LineTimes::default(), |indices, is_final| {
                single += usize::from(!is_final);
                Ok(Some(indices.iter().map(|index| true_ns(&offers[*index])).collect()))
            })
            .unwrap();
            assert!(single <= 2 * SIZES);
            let advice = rank(&asked, &offers, &estimates);
            let costs = offers.iter().map(|offer| asked.overhead(true_ns(offer), offer.fpr));
            let least = costs.fold(miss_ns, f64::min);
            let taken = advice.take().map_or(miss_ns, |one| one.overhead_ns);
            assert!(taken <= least * 1.02 + 1e-12, "{miss_ns}: {taken} {least}");
            let basis = advice.take().map(|one| one.basis);
            assert!(basis.is_none_or(|basis| basis == Basis::Measured));
        }
    }

    #[test]
    fn when_time_is_over_the_best_measured_offer_is_taken() {
        let offers = made_up();
        let asked = question(1000, 100.0, 0.0);
        let mut calls_left = 3;
        let estimates = search(&asked, &offers, &LineTimes::default(), |indices, _| {
            calls_left -= 1;
            let times = indices.iter().map(|index| true_ns(&offers[*index])).collect();
            Ok((calls_left >= 0).then_some(times))
        })
        .unwrap();
        assert_eq!(estimates.iter().flatten().count(), 10);
        assert_eq!(rank(&asked, &offers, &estimates).take().unwrap().kind, "bloom");
    }

    #[test]
    fn the_times_of_cache_line_reads_scale_estimates_beyond_the_measured_sizes() {
        let offers = made_up();
        let asked = question(1000, 100.0, 0.0);
        let lines = LineTimes(vec![(1000, 1.0), (1 << 20, 5.0)]);
        let smallest = offers.iter().position(|offer| offer.bytes == 1000).unwrap();
        let mut known = vec![None; offers.len()];
        known[smallest] = Some(2.0);
        let [unscaled, scaled] = [LineTimes::default(), lines]
            .map(|lines| estimates(&asked, &offers, &known, &lines)[smallest + 9].unwrap().ns);
        assert!(unscaled == 2.0 && scaled > 8.0, "{unscaled} {scaled}");
    }

    #[test]
    fn a_wrong_answer_ends_the_search() {
        let asked = question(1000, 100.0, 0.0);
        let ended =
            search(&asked, &made_up(), &LineTimes::default(), |_, _| anyhow::bail!("wrong"));
        assert!(ended.is_err());
    }
}
