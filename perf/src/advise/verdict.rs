//! The answer: the best offer of each kind, ranked by the cost per probe, and a sentence that names the filter to take.

use super::offers::{Offer, Shape};
use super::timings::{Basis, Estimate};
use super::{Need, Question};
use crate::base::format::{figure, human_bytes, per_cent};
use crate::base::stats::round_significant;
use crate::base::table::{Line, Table};
use serde::Serialize;
use trommel::FilterKind;

/// The filter to take, and the alternatives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Advice {
    pub(crate) question: Question,
    /// Nanoseconds per probe without a filter.
    pub(crate) without_ns: f64,
    /// Whether it is best to use no filter. Also set if no lookup time is known.
    pub(crate) no_filter: bool,
    /// The best filter of each kind, the best of all first. Take the first one, unless `no_filter` is set.
    pub(crate) kinds: Vec<Ranked>,
    /// Kinds that meet the constraints, but whose lookup times are not known.
    pub(crate) unknown: Vec<String>,
    /// Kinds that lack a needed operation.
    pub(crate) unable: Vec<Unable>,
}

/// A filter and the cost per probe with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Ranked {
    /// The index of the filter's offer.
    #[serde(skip)]
    pub(crate) offer: usize,
    pub(crate) kind: String,
    pub(crate) parameters: String,
    pub(crate) shape: Shape,
    pub(crate) bytes: u64,
    pub(crate) bits_per_key: f64,
    pub(crate) fpr: f64,
    pub(crate) lookup_ns: f64,
    pub(crate) overhead_ns: f64,
    /// `overhead_ns` divided by the lowest cost, which can be the cost of using no filter.
    pub(crate) times_best: f64,
    pub(crate) basis: Basis,
}

/// A kind and the needed operations that it lacks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Unable {
    pub(crate) kind: String,
    pub(crate) needs: Vec<Need>,
}

/// Costs that differ by less than this factor count as equal: a repeated measurement can reverse their order.
const SAME: f64 = 1.02;

/// Ranks the offers whose lookup times are known.
pub(crate) fn rank(asked: &Question, offers: &[Offer], estimates: &[Option<Estimate>]) -> Advice {
    let ranked = |index: usize| {
        let (offer, estimate) = (&offers[index], estimates[index]?);
        Some(Ranked {
            offer: index,
            kind: offer.kind.to_string(),
            parameters: offer.parameters(asked.keys),
            shape: offer.shape,
            bytes: offer.bytes,
            bits_per_key: round_significant(offer.bits_per_key(asked.keys), 5),
            fpr: offer.fpr,
            lookup_ns: estimate.ns,
            overhead_ns: asked.overhead(estimate.ns, offer.fpr),
            times_best: 1.0,
            basis: estimate.basis,
        })
    };
    let all: Vec<Ranked> = (0..offers.len()).filter_map(ranked).collect();
    let (mut kinds, mut unknown) = (Vec::new(), Vec::new());
    for kind in FilterKind::ALL {
        let name = kind.to_string();
        let of_kind: Vec<&Ranked> = all.iter().filter(|one| one.kind == name).collect();
        match best_of(asked, &of_kind) {
            Some(best) => kinds.push(best.clone()),
            None if offers.iter().any(|offer| offer.kind == *kind) => unknown.push(name),
            None => {}
        }
    }
    kinds.sort_by(|a, b| a.overhead_ns.total_cmp(&b.overhead_ns));
    let best = best_of(asked, &kinds.iter().collect::<Vec<_>>()).map(|best| best.offer);
    if let Some(index) = kinds.iter().position(|one| Some(one.offer) == best) {
        let best = kinds.remove(index);
        kinds.insert(0, best);
    }
    let without_ns = asked.overhead_without();
    let least = kinds.iter().map(|one| one.overhead_ns).fold(without_ns, f64::min);
    for one in &mut kinds {
        one.times_best = one.overhead_ns / least;
    }
    let no_filter = kinds.first().is_none_or(|best| without_ns <= best.overhead_ns);
    let unable = FilterKind::ALL.iter().map(|kind| (kind, asked.unmet(*kind)));
    let unable = unable
        .filter(|(_, needs)| !needs.is_empty())
        .map(|(kind, needs)| Unable { kind: kind.to_string(), needs })
        .collect();
    Advice { question: asked.clone(), without_ns, no_filter, kinds, unknown, unable }
}

/// Returns the smallest of the filters whose costs count as equal to the lowest cost ([`SAME`]). The comparison leaves
/// out the cost of hits.
fn best_of<'a>(asked: &Question, ranked: &[&'a Ranked]) -> Option<&'a Ranked> {
    let own = |one: &Ranked| one.overhead_ns - asked.hits_ns();
    let least = ranked.iter().map(|one| own(one)).fold(f64::INFINITY, f64::min);
    let same = ranked.iter().filter(|one| own(one) <= least * SAME);
    same.min_by(|a, b| {
        (a.bytes, a.overhead_ns).partial_cmp(&(b.bytes, b.overhead_ns)).expect("costs are numbers")
    })
    .copied()
}

impl Advice {
    /// The filter to take; `None` if it is best to use no filter, or if no lookup time is known.
    pub(crate) fn take(&self) -> Option<&Ranked> {
        self.kinds.first().filter(|_| !self.no_filter)
    }

    /// Says in one sentence which filter to take, and why.
    pub(crate) fn sentence(&self) -> String {
        let asked = &self.question;
        let Some(best) = self.kinds.first() else {
            return "The lookup times of the filters that meet the constraints are not known."
                .into();
        };
        let parts = format!(
            "{} ns to look up, {} ns for false positives, {} ns for hits",
            figure(best.lookup_ns),
            figure(asked.false_ns(best.fpr)),
            figure(asked.hits_ns())
        );
        if self.no_filter {
            return format!(
                "Take no filter: a probe costs {} ns without one, and {} ns with the best, a {} ({}; {parts}).",
                figure(self.without_ns),
                figure(best.overhead_ns),
                best.kind,
                best.parameters
            );
        }
        let next = match self.kinds.get(1) {
            Some(next) => {
                format!(
                    "the next kind, {}, costs {:.2} times as much",
                    next.kind,
                    next.times_best / best.times_best
                )
            }
            None => "no other kind is known to meet the constraints".into(),
        };
        format!(
            "Take a {} ({}, {}): a probe costs {} ns ({parts}) instead of {} ns without a filter; {next}.",
            best.kind,
            best.parameters,
            human_bytes(best.bytes),
            figure(best.overhead_ns),
            figure(self.without_ns)
        )
    }

    /// A table with a line for the best filter of each kind and a line for using no filter, by ascending cost. But the
    /// filter to take comes before larger filters of about the same cost.
    pub(crate) fn table(&self) -> Table {
        let asked = &self.question;
        let least = self.kinds.iter().map(|one| one.overhead_ns).fold(self.without_ns, f64::min);
        let mut lines: Vec<(f64, Line)> = self
            .kinds
            .iter()
            .map(|one| {
                let cells = vec![
                    one.kind.clone(),
                    one.parameters.clone(),
                    one.basis.to_string(),
                    human_bytes(one.bytes),
                    per_cent(one.fpr),
                    figure(one.lookup_ns),
                    figure(asked.false_ns(one.fpr)),
                    figure(one.overhead_ns),
                    format!("{:.2}", one.times_best),
                ];
                (one.overhead_ns, Line { cells, is_rival: false })
            })
            .collect();
        let mut none = vec![String::new(); 9];
        none[0] = "no filter".into();
        none[7] = figure(self.without_ns);
        none[8] = format!("{:.2}", self.without_ns / least);
        let index = lines.iter().position(|(ns, _)| self.without_ns <= *ns).unwrap_or(lines.len());
        lines.insert(index, (self.without_ns, Line { cells: none, is_rival: false }));
        let header = [
            "filter",
            "parameters",
            "lookup time is",
            "memory",
            "FPR",
            "lookup, ns",
            "false positives, ns",
            "ns per probe",
            "× best",
        ];
        Table {
            name: "advice",
            title: format!(
                "{:e} keys, {} ns per probe that is not rejected, {:.0} % of the probes are keys: \
                 the best of each kind",
                asked.keys,
                figure(asked.miss_ns),
                asked.hit_rate * 100.0
            ),
            header: header.map(Into::into).into(),
            rows: lines.into_iter().map(|(_, line)| line).collect(),
            words: 3,
        }
    }

    /// Lines about the kinds that the table leaves out.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.unknown.is_empty() {
            notes.push(format!("lookup times are not known for {}", self.unknown.join(", ")));
        }
        for Unable { kind, needs } in &self.unable {
            let needs: Vec<String> = needs.iter().map(Need::to_string).collect();
            notes.push(format!("{kind} cannot {}", needs.join(", ")));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::super::offers::tests::named;
    use super::super::question::tests::question;
    use super::*;

    fn measured(ns: f64) -> Option<Estimate> {
        Some(Estimate { ns, basis: Basis::Measured })
    }

    /// Three filters for 1000 keys: a fast one with a high false-positive rate, a slow one with a low rate, and one
    /// between.
    fn three() -> (Vec<Offer>, Vec<Option<Estimate>>) {
        let offers = vec![
            named(FilterKind::RegisterBloom, 1000, 0.02),
            named(FilterKind::SplitBlockBloom, 1500, 0.005),
            named(FilterKind::Quotient, 3000, 0.0001),
        ];
        (offers, vec![measured(1.0), measured(2.0), measured(8.0)])
    }

    fn taken(miss_ns: f64, hit_rate: f64) -> (Option<FilterKind>, f64) {
        let (offers, estimates) = three();
        let advice = rank(&question(1000, miss_ns, hit_rate), &offers, &estimates);
        let overhead = advice.take().map_or(advice.without_ns, |one| one.overhead_ns);
        (advice.take().map(|one| one.kind.parse().unwrap()), overhead)
    }

    #[test]
    fn the_best_filter_depends_on_the_work_that_a_rejected_probe_saves() {
        use FilterKind as Kind;
        let close = |got: (Option<Kind>, f64), kind, ns: f64| {
            assert_eq!(got.0, kind);
            assert!((got.1 - ns).abs() < 1e-9, "{got:?}, {ns}");
        };
        // A probe costs 1 ns without a filter, and 1 + 0.02 ns with the fastest filter.
        close(taken(1.0, 0.0), None, 1.0);
        // The costs with the three filters are 1 + 0.2, 2 + 0.05 and 8 + 0.001 ns.
        close(taken(10.0, 0.0), Some(Kind::RegisterBloom), 1.2);
        // The costs are 1 + 2, 2 + 0.5 and 8 + 0.01 ns.
        close(taken(100.0, 0.0), Some(Kind::SplitBlockBloom), 2.5);
        // The costs are 1 + 200, 2 + 50 and 8 + 1 ns.
        close(taken(10_000.0, 0.0), Some(Kind::Quotient), 9.0);
        // The costs are 1 + 90 + 0.2, 2 + 90 + 0.05 and 8 + 90 + 0.001 ns: hits cost the same with every filter.
        close(taken(100.0, 0.9), Some(Kind::RegisterBloom), 91.2);
        // Every probe is a key, so no work is saved.
        close(taken(10_000.0, 1.0), None, 10_000.0);
    }

    #[test]
    fn among_filters_of_equal_cost_the_smallest_is_taken() {
        use FilterKind as Kind;
        let offers =
            [named(Kind::CacheLineBloom, 5000, 0.001), named(Kind::SplitBlockBloom, 4000, 0.001)];
        let take = |first: f64| {
            let advice =
                rank(&question(1000, 100.0, 0.5), &offers, &[measured(first), measured(4.0)]);
            advice.take().unwrap().kind.clone()
        };
        // Without the 50 ns of hits, the costs are 3.95 + 0.05 and 4 + 0.05 ns, which differ by less than 2 %.
        assert_eq!(take(3.95), "split-block-bloom");
        assert_eq!(take(3.5), "cache-line-bloom");
    }

    #[test]
    fn the_table_and_the_sentence_compare_the_best_with_the_others() {
        let (offers, mut estimates) = three();
        let advice = rank(&question(1000, 100.0, 0.0), &offers, &estimates);
        let table = advice.table();
        let names: Vec<&str> = table.rows.iter().map(|line| &*line.cells[0]).collect();
        assert_eq!(names, ["split-block-bloom", "register-bloom", "quotient", "no filter"]);
        // The costs are 2.5, 3, 8.01 and 100 ns; each is divided by 2.5 ns.
        let times: Vec<&str> = table.rows.iter().map(|line| &*line.cells[8]).collect();
        assert_eq!(times, ["1.00", "1.20", "3.20", "40.00"]);
        let sentence = advice.sentence();
        assert!(
            sentence.starts_with("Take a split-block-bloom (12.0 bits per key, k = 8"),
            "{sentence}"
        );
        assert!(
            sentence.contains("2.50 ns (2.00 ns to look up, 0.50 ns for false positives"),
            "{sentence}"
        );
        assert!(sentence.contains("register-bloom, costs 1.20 times"), "{sentence}");
        let none = rank(&question(1000, 1.0, 0.0), &offers, &estimates);
        assert!(none.sentence().starts_with("Take no filter: a probe costs 1.00 ns without"));
        assert_eq!(none.table().rows[0].cells[0], "no filter");
        estimates[1] = None;
        let fewer = rank(&question(1000, 100.0, 0.0), &offers, &estimates);
        assert_eq!(fewer.unknown, ["split-block-bloom"]);
        assert_eq!(fewer.take().unwrap().kind, "register-bloom");
    }
}
