//! Times of cases over commits. A time is compared only with that of another commit in the same comparison, so the
//! changes of successive comparisons are multiplied.

use super::change;
use crate::base::format::distinct;
use crate::base::table::{Line, Table};
use crate::show::plots::{Look, Series};
use crate::store::speeds::Step;

/// The times of all cases.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Speeds {
    commits: Vec<String>,
    lines: Vec<Times>,
}

/// The times of one case.
#[derive(Clone, Debug, PartialEq)]
struct Times {
    case: String,
    /// The index of a commit, and the time at the commit, over the time at the first commit of the case.
    points: Vec<(usize, f64)>,
}

impl Times {
    fn at(&self, commit: usize) -> Option<f64> {
        self.points.iter().rev().find(|(index, _)| *index == commit).map(|(_, time)| *time)
    }
}

impl Speeds {
    /// Multiplies the changes of the comparisons, in the order of the file.
    ///
    /// # Errors
    ///
    /// The reason if there are no comparisons, or if the old commit of one is not the first commit of its case and the
    /// case has no time at this commit.
    pub(super) fn of(steps: &[Step]) -> Result<Self, String> {
        if steps.is_empty() {
            return Err("it has no comparisons".into());
        }
        let commits = steps.iter().flat_map(|step| [&step.base, &step.commit]);
        let commits: Vec<String> = distinct(commits).into_iter().cloned().collect();
        let index = |commit: &String| commits.iter().position(|known| known == commit);
        let mut lines: Vec<Times> = Vec::new();
        for step in steps {
            let (Some(base), Some(commit)) = (index(&step.base), index(&step.commit)) else {
                continue;
            };
            let known = lines.iter().position(|line| line.case == step.case);
            let line = known.unwrap_or_else(|| {
                lines.push(Times { case: step.case.clone(), points: vec![(base, 1.0)] });
                lines.len() - 1
            });
            let line = &mut lines[line];
            let time = line.at(base).ok_or_else(|| {
                format!(
                    "{} has no time at {}, with which {} is compared",
                    step.case, step.base, step.commit
                )
            })?;
            line.points.push((commit, time * step.ratio));
        }
        Ok(Self { commits, lines })
    }

    pub(super) fn commits(&self) -> Vec<&str> {
        self.commits.iter().map(|commit| &**commit).collect()
    }

    pub(super) fn series(&self) -> Vec<Series> {
        let series = self.lines.iter().enumerate().map(|(i, line)| {
            let latest = distinct(line.points.iter().map(|(commit, _)| *commit));
            let point = |commit: usize| Some((commit as f64, change(1.0, line.at(commit)?)));
            Series {
                label: line.case.clone(),
                look: Look::ours(i),
                points: latest.into_iter().filter_map(point).collect(),
            }
        });
        series.collect()
    }

    pub(super) fn table(&self) -> Table {
        let line = |times: &Times| {
            let (first, last) = (times.points[0], times.points[times.points.len() - 1]);
            let name = |commit: usize| self.commits[commit].clone();
            let changed = format!("{:+.1} %", change(first.1, last.1));
            let cells = vec![times.case.clone(), name(first.0), name(last.0), changed];
            Line { cells, is_rival: false }
        };
        let header = ["case", "first commit", "latest commit", "change of its time"];
        Table {
            name: "history",
            title: "Times at the latest commit of each case".into(),
            header: header.map(Into::into).into(),
            rows: self.lines.iter().map(line).collect(),
            words: 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(base: &str, commit: &str, case: &str, ratio: f64) -> Step {
        Step {
            time: "2026-01-31T12:00:00Z".into(),
            base: base.into(),
            commit: commit.into(),
            case: case.into(),
            ratio,
        }
    }

    #[test]
    fn the_changes_of_successive_comparisons_are_multiplied() {
        let steps = [
            step("a", "b", "insert", 1.5),
            step("a", "b", "build", 1.0),
            step("b", "c", "insert", 0.5),
            // Compared a second time: the later comparison counts.
            step("b", "c", "insert", 0.8),
        ];
        let speeds = Speeds::of(&steps).unwrap();
        assert_eq!(speeds.commits(), ["a", "b", "c"]);
        let series = speeds.series();
        assert_eq!(series[0].label, "insert");
        let rounded = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            points.iter().map(|(x, y)| (*x, (y * 1e6).round() / 1e6)).collect()
        };
        assert_eq!(rounded(&series[0].points), [(0.0, 0.0), (1.0, 50.0), (2.0, 20.0)]);
        assert_eq!(series[1].points, [(0.0, 0.0), (1.0, 0.0)]);
        assert_eq!(speeds.table().rows[0].cells, ["insert", "a", "c", "+20.0 %"]);
    }

    #[test]
    fn a_comparison_with_a_commit_that_has_no_time_is_refused() {
        let steps = [step("a", "b", "insert", 1.5), step("x", "c", "insert", 1.0)];
        let why = Speeds::of(&steps).unwrap_err();
        assert!(why.contains("insert has no time at x"), "{why}");
        assert!(Speeds::of(&[]).is_err());
    }
}
