//! Writes a comparison for the terminal.

use super::answers::{Change, What};
use super::drift::{Common, Drift};
use super::speed::Verdict;
use super::{Case, Compared, Comparison, MeasuredIn};
use crate::base::table::{Line, Table};
use std::fmt;

impl Comparison {
    /// The comparison as text. Unless `shows_all` is set, the text leaves out cases that are not notable
    /// ([`Case::is_notable`]) and drifts that are not established.
    pub(crate) fn to_terminal(&self, shows_all: bool) -> String {
        let mut parts: Vec<String> = self.forced.iter().map(|it| format!("FORCED: {it}")).collect();
        parts.extend(self.notes.iter().map(|note| format!("note: {note}")));
        if !self.moved_rivals.is_empty() {
            parts.push(format!(
                "note: {} cases of rivals are no controls, since their speed differs between the two programs: {}",
                self.moved_rivals.len(),
                self.moved_rivals.join(", ")
            ));
        }
        parts.extend(self.unmatched_lines());
        let drifts = self.attempts.iter().filter(|it| shows_all || it.drift.is_established());
        parts.extend(drifts.map(Compared::to_string));
        let mut cases: Vec<&Case> =
            self.cases.iter().filter(|case| shows_all || case.is_notable()).collect();
        cases.sort_by(|a, b| {
            (b.is_regression().cmp(&a.is_regression()))
                .then(b.speed.relative.total_cmp(&a.speed.relative))
        });
        if !cases.is_empty() {
            let rows = cases.into_iter().map(|case| self.line(case)).collect();
            let header =
                ["case", "old, ns", "new, ns", "time", "drift-adjusted", "95 % range", "verdict"];
            let table = Table {
                name: "compare",
                title: self.title(),
                header: header.map(Into::into).into(),
                rows,
                words: 1,
            };
            parts.push(table.to_terminal());
        }
        parts.push(self.summary());
        parts.join("\n")
    }

    /// States how many of our cases have each verdict other than "same", how many have a false-positive rate or size
    /// that changed, and how many are missing in a run.
    pub(crate) fn summary(&self) -> String {
        let ours = || self.cases.iter().filter(|case| case.rival.is_none());
        let count = |verdict| ours().filter(|case| case.speed.verdict == verdict).count();
        let changed = ours().filter(|case| !case.changes.is_empty()).count();
        format!(
            "{} cases of ours compared in {}: {} slower, {} faster, {} unsettled, {} with too few repetitions, \
             {changed} with another false-positive rate or size, {} missing",
            ours().count(),
            self.count_attempts(),
            count(Verdict::Slower),
            count(Verdict::Faster),
            count(Verdict::Unsettled),
            count(Verdict::TooFewRepetitions),
            self.count_missing()
        )
    }

    fn count_attempts(&self) -> String {
        match self.attempts.len() {
            1 => "one attempt".into(),
            count => format!("{count} attempts"),
        }
    }

    fn title(&self) -> String {
        let [old, new] = [&self.attempts[0].old_commit, &self.attempts[0].new_commit];
        let least = self.min_effect * 100.0;
        let forced = if self.forced.is_empty() { "" } else { ", FORCED" };
        format!("{old} (old) and {new} (new), effects of {least} % and more{forced}")
    }

    fn unmatched_lines(&self) -> Vec<String> {
        let sides = [
            (MeasuredIn::OldAlone, "measured in the old program alone"),
            (MeasuredIn::NewAlone, "measured in the new program alone"),
            (MeasuredIn::SomeRuns, "not measured in every run"),
        ];
        let lines = sides.into_iter().filter_map(|(side, what)| {
            let mut names =
                self.unmatched.iter().filter(|it| it.measured_in == side).map(|it| &*it.name);
            let first = names.next()?;
            Some(match names.count() {
                0 => format!("note: {first} was {what}"),
                others => format!("note: {first} and {others} other cases were {what}"),
            })
        });
        lines.collect()
    }

    fn line(&self, case: &Case) -> Line {
        let speed = &case.speed;
        let median_of = |value: fn(&super::speed::Measure) -> f64| {
            let values: Vec<f64> = speed.attempts.iter().map(value).collect();
            format!("{:.3}", crate::base::stats::median(&values))
        };
        let interval = speed.hull().map_or_else(String::new, |hull| {
            format!("{} to {}", per_cent(hull.low), per_cent(hull.high))
        });
        let cells = vec![
            case.to_string(),
            median_of(|it| it.old_ns),
            median_of(|it| it.new_ns),
            per_cent(speed.ratio),
            per_cent(speed.relative),
            interval,
            case.verdict(),
        ];
        Line { cells, is_rival: case.rival.is_some() }
    }
}

impl Case {
    /// The verdict on speed and the changes of false-positive rates and sizes, in words.
    pub(crate) fn verdict(&self) -> String {
        let speed = match self.speed.verdict {
            Verdict::Same => None,
            Verdict::Slower => Some("SLOWER"),
            Verdict::Faster => Some("faster"),
            Verdict::Unsettled => Some("unsettled"),
            Verdict::TooFewRepetitions => Some("too few repetitions"),
        };
        let words: Vec<String> = speed
            .map(Into::into)
            .into_iter()
            .chain(self.changes.iter().map(Change::to_string))
            .collect();
        let words = if words.is_empty() { "same".into() } else { words.join(", ") };
        if self.rival.is_some() { format!("rival: {words}") } else { words }
    }
}

/// Writes the name, and the number of threads unless it is 1.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.threads != 1 {
            write!(f, " {} threads", self.threads)?;
        }
        Ok(())
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::FprExpected => "EXPECTED FPR",
            What::FprMeasured => "FPR",
            What::BitsPerKey => "BITS/KEY",
        };
        write!(f, "{what} {} -> {}", self.old, self.new)
    }
}

/// Describes the drift of the machine in an attempt.
impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Drift { rivals, roofline, factor } = &self.drift;
        write!(f, "{} and {}: ", self.old, self.new)?;
        if self.drift.is_established() {
            let direction = if *factor > 1.0 { "slower" } else { "faster" };
            let by = if *factor > 1.0 { factor - 1.0 } else { 1.0 / factor - 1.0 };
            write!(f, "the machine as a whole got {:.1} % {direction}", by * 100.0)?;
        } else {
            f.write_str("no significant drift of the machine")?;
        }
        let common = |f: &mut fmt::Formatter<'_>, what: &str, factor: &Option<Common>| match factor
        {
            Some(it) => write!(f, ", {what} {} ({} of them)", per_cent(it.factor), it.count),
            None => write!(f, ", no {what}"),
        };
        common(f, "rivals", rivals)?;
        common(f, "cache-line reads", roofline)
    }
}

/// A ratio as a signed change in per cent.
fn per_cent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}
