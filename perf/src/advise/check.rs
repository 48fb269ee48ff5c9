//! Checks the advice: measures all *offers* (filters that could be advised), interleaved, and compares the advised
//! offer with the best one, in many scenarios.

use super::Question;
use super::bench::Bench;
use super::offers::{Offer, offers};
use super::search::search;
use super::verdict::rank;
use crate::base::format::figure;
use crate::base::table::{Line, Table};
use crate::measure::environment::Environment;
use anyhow::Result;
use trommel::Isa;

const KEYS: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
const MISS_NS: [f64; 5] = [10.0, 100.0, 1e3, 1e4, 1e5];
const HIT_RATES: [f64; 3] = [0.0, 0.5, 0.9];
/// Advice is good if its cost is at most this multiple of the lowest cost.
const NEAR: f64 = 1.1;

/// The advised and the best filter of a scenario, with their costs per probe. Either can be `no filter`.
struct Scenario {
    asked: Question,
    advised: String,
    advised_ns: f64,
    best: String,
    best_ns: f64,
}

impl Scenario {
    /// The cost of the advised filter divided by the cost of the best filter.
    fn over_best(&self) -> f64 {
        self.advised_ns / self.best_ns
    }

    /// Like [`Self::over_best`], but both costs are without the part that is due to hits. This part is the same for all
    /// filters.
    fn own_over_best(&self) -> f64 {
        let own = |ns: f64| ns - self.asked.hits_ns();
        own(self.advised_ns) / own(self.best_ns)
    }
}

/// Measures the scenarios with `keys` keys or, if `keys` is `None`, with each number in [`KEYS`]. `say` prints the
/// progress.
///
/// # Errors
/// If a filter gives a wrong answer or cannot be built, if there is no filter for one of the numbers of keys, or if
/// there is not enough memory to time cache-line reads.
pub(crate) fn check(
    keys: Option<usize>,
    isa: Option<Isa>,
    mut say: impl FnMut(String),
) -> Result<Table> {
    let caches = Environment::observe(isa).caches;
    let mut scenarios = Vec::new();
    for keys in keys.map_or_else(|| KEYS.to_vec(), |keys| vec![keys]) {
        let free = Question {
            keys,
            fpr: None,
            bytes: None,
            miss_ns: 1.0,
            hit_rate: 0.0,
            needs: Vec::new(),
        };
        let offers = offers(&free, &caches, isa)?;
        let everything: Vec<usize> = (0..offers.len()).collect();
        let mut bench = Bench::new(keys, &offers)?.keeping_all();
        let lines = bench.lines().clone();
        for hit_rate in HIT_RATES {
            say(format!(
                "{keys:e} keys, {hit_rate} of the probes are keys: {} filters",
                offers.len()
            ));
            // All offers are measured before the searches for advice, and again after them: the mean of both times
            // counts.
            let before = bench.measure(&offers, &everything, hit_rate, true)?;
            let mut advised = Vec::new();
            for miss_ns in MISS_NS {
                let asked = Question { miss_ns, hit_rate, ..free.clone() };
                let estimates = search(&asked, &offers, &lines, |indices, is_final| {
                    bench.measure(&offers, indices, hit_rate, is_final).map(Some)
                })?;
                let taken = rank(&asked, &offers, &estimates).take().map(|one| one.offer);
                advised.push((asked, taken));
            }
            let after = bench.measure(&offers, &everything, hit_rate, true)?;
            let times: Vec<f64> = before.iter().zip(&after).map(|(a, b)| (a + b) / 2.0).collect();
            let judged =
                advised.into_iter().map(|(asked, taken)| judge(asked, taken, &offers, &times));
            scenarios.extend(judged);
        }
    }
    Ok(table(&scenarios))
}

/// Compares the advised offer (`None`: no filter) with the best of all, given the lookup times of all offers.
fn judge(asked: Question, taken: Option<usize>, offers: &[Offer], times: &[f64]) -> Scenario {
    let overhead = |index: usize| asked.overhead(times[index], offers[index].fpr);
    let without = ("no filter".to_owned(), asked.overhead_without());
    let named = |index: usize| {
        let offer = &offers[index];
        (
            format!("{} of {:.1} bits per key", offer.kind, offer.bits_per_key(asked.keys)),
            overhead(index),
        )
    };
    let best = (0..offers.len()).min_by(|a, b| overhead(*a).total_cmp(&overhead(*b))).map(named);
    let (best, best_ns) = best.filter(|(_, ns)| *ns < without.1).unwrap_or_else(|| without.clone());
    let (advised, advised_ns) = taken.map_or(without, named);
    Scenario { asked, advised, advised_ns, best, best_ns }
}

fn table(scenarios: &[Scenario]) -> Table {
    let mut lines: Vec<Line> = scenarios
        .iter()
        .map(|one| {
            let cells = vec![
                format!("{:e}", one.asked.keys),
                figure(one.asked.miss_ns),
                one.asked.hit_rate.to_string(),
                one.advised.clone(),
                one.best.clone(),
                figure(one.advised_ns),
                figure(one.best_ns),
                format!("{:.3}", one.over_best()),
                format!("{:.3}", one.own_over_best()),
            ];
            Line { cells, is_rival: false }
        })
        .collect();
    let near =
        |over: fn(&Scenario) -> f64| scenarios.iter().filter(|one| over(one) <= NEAR).count();
    let mut all = vec![String::new(); 9];
    all[0] = format!("within {:.0} %", (NEAR - 1.0) * 100.0);
    all[7] = format!("{} of {}", near(Scenario::over_best), scenarios.len());
    all[8] = format!("{} of {}", near(Scenario::own_over_best), scenarios.len());
    lines.push(Line { cells: all, is_rival: false });
    let header = [
        "keys",
        "miss cost, ns",
        "hit rate",
        "advised",
        "best of all measured",
        "advised, ns per probe",
        "best, ns per probe",
        "× best",
        "× best without hits",
    ];
    Table {
        name: "advice-check",
        title: "The advised filter and the best of all measured filters".into(),
        header: header.map(Into::into).into(),
        rows: lines,
        words: 5,
    }
}

#[cfg(test)]
mod tests {
    use super::super::offers::tests::named;
    use super::super::question::tests::question;
    use super::*;
    use trommel::FilterKind;

    #[test]
    fn advice_is_compared_with_the_best_of_all_offers() {
        let offers =
            [named(FilterKind::RegisterBloom, 1000, 0.02), named(FilterKind::Bloom, 1000, 0.01)];
        // A probe costs 1 + 2 ns with the first offer and 4 + 1 ns with the second. Each sum is the time of the lookup
        // plus 100 ns times the false-positive rate.
        let times = [1.0, 4.0];
        let ratio = |taken| judge(question(1000, 100.0, 0.0), taken, &offers, &times).over_best();
        assert_eq!([ratio(Some(0)), ratio(Some(1)), ratio(None)], [1.0, 5.0 / 3.0, 100.0 / 3.0]);
        // Hits add 50 ns per probe, and false positives cost half as much as before: 50 + 1 + 1 ns with the first
        // offer, and 50 + 4 + 0.5 ns with the second.
        let half = judge(question(1000, 100.0, 0.5), Some(1), &offers, &times);
        assert_eq!((half.over_best(), half.own_over_best()), (54.5 / 52.0, 4.5 / 2.0));
        // Here a probe that is not rejected costs less than any lookup, so using no filter is best.
        let cheap = judge(question(1000, 0.5, 0.0), None, &offers, &times);
        assert_eq!((&*cheap.best, cheap.over_best()), ("no filter", 1.0));
        let table = table(&[half, cheap]);
        assert_eq!(table.rows[2].cells[7..], ["2 of 2", "1 of 2"]);
    }
}
