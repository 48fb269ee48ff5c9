//! Summarizes the rows in sentences. A speed or ratio that belongs to a single row is a link to that row.

use super::{cases, escape, heading};
use crate::analyse::rival::{ratio, rival_of};
use crate::base::format::{distinct, figure, short_count};
use crate::model::{Api, Filling, Matrix, Op, Row, Workload, short_slots};
use crate::show::scaling;
use crate::show::tables::label;
use crate::store::results::Results;
use std::fmt::Write as _;

/// The memory regimes, the fastest first, and the words that begin a sentence about each.
const REGIMES: [(&str, &str); 4] = [
    ("L1", "In the first-level cache"),
    ("L2", "In the second-level cache"),
    ("LLC", "In the last-level cache"),
    ("DRAM", "In memory"),
];

/// A lookup counts as bound by memory if it reaches at least this share of the roofline.
const NEAR_ROOFLINE: f64 = 0.8;

/// The section of findings. If there are none, the section has a sentence that says so.
pub(super) fn section(results: &Results) -> String {
    let mut html = String::new();
    heading(&mut html, "findings", "What was found");
    let findings = all(results);
    if findings.is_empty() {
        html.push_str("<p>The run has no results that can be compared.</p>");
        return html;
    }
    html.push_str("<ul class=\"findings\">");
    for finding in findings {
        let _ = write!(html, "<li>{finding}</li>");
    }
    html.push_str("</ul>");
    html
}

fn all(results: &Results) -> Vec<String> {
    let rows = Rows { rows: &results.rows };
    let mut findings: Vec<String> =
        REGIMES.iter().filter_map(|(regime, location)| rows.fastest_in(regime, location)).collect();
    findings.extend(rows.over_rivals());
    findings.extend(rows.near_the_roofline());
    findings.extend(rows.by_load());
    findings.extend(rows.by_threads(results));
    findings
}

struct Rows<'a> {
    rows: &'a [Row],
}

/// A row with its index in the run.
type IndexedRow<'a> = (usize, &'a Row);

impl<'a> Rows<'a> {
    /// Our batched lookups of generated keys.
    fn lookups(&self) -> impl Iterator<Item = IndexedRow<'a>> + use<'a> {
        self.rows.iter().enumerate().filter(|(_, row)| {
            row.case.is_plain()
                && row.case.op == Op::Contains
                && row.case.calls.api == Api::Batch
                && row.case.rival.is_none()
        })
    }

    /// Names the fastest of our filters among those that fit into one level of the memory hierarchy.
    fn fastest_in(&self, regime: &str, location: &str) -> Option<String> {
        let best = |workload: Workload| {
            self.lookups()
                .filter(|(_, row)| row.regime.as_deref() == Some(regime))
                .filter(|(_, row)| row.case.workload == Some(workload))
                .max_by(|a, b| a.1.mops.total_cmp(&b.1.mops))
        };
        let say = |(index, row): IndexedRow<'_>| {
            let fpr = row
                .fpr_measured
                .map_or_else(String::new, |fpr| format!(", {:.2} % false positives", fpr * 100.0));
            let speed = linked(index, &format!("{} M/s", figure(row.mops)));
            format!(
                "<b>{}</b> ({speed} at {} keys{fpr})",
                escape(&label(row)),
                short_count(row.case.keys)
            )
        };
        let sentences: Vec<String> = [(Workload::Miss, "absent"), (Workload::Hit, "present")]
            .into_iter()
            .filter_map(|(workload, keys)| {
                Some(format!("{keys} keys fastest in {}", say(best(workload)?)))
            })
            .collect();
        let in_it = self.lookups().filter(|(_, row)| row.regime.as_deref() == Some(regime));
        let measured = distinct(in_it.map(|(_, row)| label(row))).len();
        (!sentences.is_empty()).then(|| {
            let filters =
                if measured == 1 { "1 filter".into() } else { format!("{measured} filters") };
            format!("{location}, {filters} measured: {}.", sentences.join("; "))
        })
    }

    /// States the lowest, the median and the highest ratio of our speed to that of the rival. Calls with few keys are
    /// left out, since they do not represent batches; the tables of the matrix show them.
    fn over_rivals(&self) -> Option<String> {
        let is_batch = |row: &Row| {
            row.case.calls.api == Api::Batch
                && row.case.op == Op::Contains
                && !row.case.is_of_engine()
                && row.case.matrix != Some(Matrix::BatchSizes)
        };
        let mut ratios: Vec<(f64, IndexedRow<'_>)> = self
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| is_batch(row))
            .filter_map(|(index, row)| Some((ratio(row, self.rows)?, (index, row))))
            .collect();
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (worst, best) = (ratios.first()?, ratios.last()?);
        let middle = ratios[ratios.len() / 2].0;
        let say = |(ratio, (index, row)): &(f64, IndexedRow<'_>)| {
            let rival = rival_of(row, self.rows).map_or_else(String::new, label);
            format!(
                "{} the speed of {} ({})",
                linked(*index, &format!("{ratio:.1} times")),
                escape(&rival),
                escape(&row.name())
            )
        };
        let count = ratios.len();
        if count == 1 {
            return Some(format!("Batched lookups reach {}.", say(best)));
        }
        Some(format!(
            "Compared with the rival of the same family, {count} cases of batched lookups reach from {} to {}; the \
             median is {middle:.1} times.",
            say(worst),
            say(best)
        ))
    }

    /// Considers the cases of lookups in filters larger than the L2 cache. States in how many of these cases the
    /// lookups read at least the share [`NEAR_ROOFLINE`] of the cache lines that one core can read.
    fn near_the_roofline(&self) -> Option<String> {
        let beyond: Vec<IndexedRow<'_>> = self
            .lookups()
            .filter(|(_, row)| matches!(row.regime.as_deref(), Some("LLC" | "DRAM")))
            .filter(|(_, row)| row.roofline_fraction.is_some())
            .collect();
        let share = |row: &Row| row.roofline_fraction.unwrap_or(0.0);
        let mut near: Vec<IndexedRow<'_>> =
            beyond.iter().filter(|(_, row)| share(row) >= NEAR_ROOFLINE).copied().collect();
        near.sort_by(|a, b| share(b.1).total_cmp(&share(a.1)));
        let all = beyond.len();
        if all == 0 {
            return None;
        }
        let of_roofline = NEAR_ROOFLINE * 100.0;
        let Some((index, row)) = near.first() else {
            return Some(format!(
                "Memory is not the limit: none of {all} cases of batched lookups in filters larger than the \
                 second-level cache reads {of_roofline:.0} % of the cache lines that one core can read."
            ));
        };
        Some(format!(
            "Memory is the limit of {} of {all} cases of batched lookups in filters larger than the second-level \
             cache: these read {of_roofline:.0} % or more of the cache lines that one core can read. The highest \
             share is that of {}: {}.",
            near.len(),
            escape(&row.name()),
            linked(*index, &format!("{:.0} %", share(row) * 100.0))
        ))
    }

    /// Names the filter that loses the largest share of its speed as its load grows.
    fn by_load(&self) -> Option<String> {
        let is_ours = |row: &Row| {
            row.case.rival.is_none()
                && row.case.calls.api == Api::Batch
                && row.case.workload == Some(Workload::Miss)
        };
        let misses = self.rows.iter().enumerate().filter(|(_, row)| is_ours(row));
        let swept: Vec<(Filling, IndexedRow<'_>)> =
            misses.filter_map(|(index, row)| Some((row.case.filling()?, (index, row)))).collect();
        let who = |(filling, (_, row)): &(Filling, IndexedRow<'_>)| (label(row), filling.slots);
        let ends = distinct(swept.iter().map(who)).into_iter().filter_map(|key| {
            let same = || swept.iter().filter(|line| who(line) == key);
            let load = |line: &&(Filling, IndexedRow<'_>)| line.0.load;
            let (emptiest, fullest) = (same().min_by_key(load)?, same().max_by_key(load)?);
            let loss = emptiest.1.1.mops / fullest.1.1.mops;
            (emptiest.0.load < fullest.0.load).then_some((loss, emptiest, fullest))
        });
        let (loss, emptiest, fullest) = ends.max_by(|a, b| a.0.total_cmp(&b.0))?;
        if loss < 1.0 {
            return Some(
                "No filter with slots becomes slower at lookups of absent keys as it fills.".into(),
            );
        }
        let say = |(filling, (index, row)): &(Filling, IndexedRow<'_>)| {
            let speed = linked(*index, &format!("{} M/s", figure(row.mops)));
            format!("{speed} at {} %", filling.load)
        };
        Some(format!(
            "Of the filters with slots, <b>{}</b> of {} slots loses the most speed as it fills: from {} to {} in \
             batches of absent keys.",
            escape(&label(emptiest.1.1)),
            short_slots(emptiest.0.slots),
            say(emptiest),
            say(fullest)
        ))
    }

    /// States the highest speedup by threads.
    fn by_threads(&self, results: &Results) -> Option<String> {
        let gains = self.rows.iter().enumerate().filter(|(_, row)| {
            scaling::is_engine(row) && row.case.threads > 1 && !row.case.is_skewed()
        });
        let gains = gains.filter_map(|(index, row)| Some((row.speedup?, index, row)));
        let (speedup, index, row) = gains.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!(
            "The engine gains most by threads in {}: {} the speed of one thread, with {} threads on {} cores.",
            escape(&row.name()),
            linked(index, &format!("{speedup:.2} times")),
            row.case.threads,
            escape(results.environment.get("cores"))
        ))
    }
}

fn linked(index: usize, text: &str) -> String {
    format!("<a href=\"#{}\">{text}</a>", cases::address(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;

    fn said(rows: impl IntoIterator<Item = Row>) -> String {
        let mut results = Results::new(Environment::observe(None));
        rows.into_iter().for_each(|row| results.put(row));
        all(&results).join("\n")
    }

    #[test]
    fn the_fastest_filter_of_each_regime_is_named_with_its_figure() {
        let slow = example("bloom", "12-bit", None, 4.0);
        let fast = example("split-block-bloom", "12-bit", None, 2.0);
        let present = slow.clone().with(|case| case.workload = Some(Workload::Hit));
        let said = said([slow, fast, present]);
        assert!(said.contains(
            "absent keys fastest in <b>split-block-bloom 12-bit</b> (<a href=\"#case-1\">500 M/s</a>"
        ));
        assert!(
            said.contains(
                "present keys fastest in <b>bloom 12-bit</b> (<a href=\"#case-2\">250 M/s</a>"
            ),
            "{said}"
        );
        assert!(!said.contains("In memory"), "{said}");
    }

    #[test]
    fn ratios_over_rivals_equal_those_of_the_tables() {
        let said = said([
            example("bloom", "12-bit", None, 2.0),
            example("bloom", "12-bit", Some("fastbloom"), 9.0),
        ]);
        assert!(said.contains(">4.5 times</a> the speed of fastbloom 12-bit"), "{said}");
    }

    #[test]
    fn calls_with_few_keys_are_left_out_of_the_ratios() {
        let said = said([
            example("bloom", "12-bit", None, 2.0),
            example("bloom", "12-bit", Some("fastbloom"), 9.0),
            example("bloom", "12-bit+by-1", None, 30.0),
            example("bloom", "12-bit+by-1", Some("fastbloom"), 9.0),
        ]);
        assert!(said.contains("Batched lookups reach <a"), "{said}");
        assert!(said.contains(">4.5 times</a>") && !said.contains("by-1"), "{said}");
    }

    #[test]
    fn memory_is_the_limit_from_the_threshold_on() {
        let row = |share| Row {
            regime: Some("DRAM".into()),
            roofline_fraction: Some(share),
            ..example("bloom", "12-bit", None, 20.0)
        };
        assert!(
            said([row(0.93)]).contains("limit of 1 of 1")
                && said([row(0.93)]).contains(">93 %</a>")
        );
        assert!(said([row(0.5)]).contains("none of 1"));
    }

    #[test]
    fn speeds_at_the_lowest_and_highest_load_are_compared() {
        let row = |load: u32, ns| example("quotient", &format!("r8-{load}%-of-1Mi"), None, ns);
        let said = said([row(75, 10.0), row(95, 20.0), row(85, 15.0)]);
        assert!(
            said.contains("100 M/s</a> at 75 %") && said.contains("50.0 M/s</a> at 95 %"),
            "{said}"
        );
    }

    #[test]
    fn a_run_without_rows_has_no_findings() {
        assert!(said([]).is_empty());
    }
}
