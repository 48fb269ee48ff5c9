//! Times of cases over commits. A comparison measures an old and a new commit, and times of different comparisons are
//! not compared with each other. So the change over several commits is the product of the changes in successive
//! comparisons on the same machine.

use super::change;
use crate::base::format::distinct;
use crate::base::table::{Line, Table};
use crate::show::plots::{Look, Series};
use crate::store::speeds::Step;

/// The times of all cases.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Speeds {
    /// The commits, in the order in which the file names them.
    commits: Vec<String>,
    lines: Vec<Times>,
}

/// The times of a case on a machine, in comparisons that are connected: the old commit of each comparison but the first
/// is a commit of an earlier comparison.
#[derive(Clone, Debug, PartialEq)]
struct Times {
    machine: String,
    case: String,
    /// Pairs: the index of a commit, and the time at this commit divided by the time at the first commit of `points`.
    /// If a commit has several points, the last one counts.
    points: Vec<(usize, f64)>,
}

impl Times {
    fn at(&self, commit: usize) -> Option<f64> {
        self.points.iter().rev().find(|(index, _)| *index == commit).map(|(_, time)| *time)
    }
}

impl Speeds {
    /// Multiplies the changes of the comparisons, in the order of the file. If a case has no time yet at the old commit
    /// of a comparison, a new line of the plot begins at this commit.
    ///
    /// # Errors
    ///
    /// The reason if there are no comparisons.
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
            let is_continued = |line: &Times| {
                line.machine == step.machine && line.case == step.case && line.at(base).is_some()
            };
            let line = lines.iter().position(is_continued).unwrap_or_else(|| {
                let (machine, case) = (step.machine.clone(), step.case.clone());
                lines.push(Times { machine, case, points: vec![(base, 1.0)] });
                lines.len() - 1
            });
            let line = &mut lines[line];
            let time = line.at(base).unwrap_or(1.0);
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
                label: self.label(line),
                look: Look::ours(i),
                points: latest.into_iter().filter_map(point).collect(),
            }
        });
        series.collect()
    }

    /// The name of the case, followed by the machine if there are several machines.
    fn label(&self, line: &Times) -> String {
        let machines = distinct(self.lines.iter().map(|line| &line.machine));
        match machines.len() {
            1 => line.case.clone(),
            _ => format!("{}, {}", line.case, line.machine),
        }
    }

    pub(super) fn table(&self) -> Table {
        let line = |times: &Times| {
            let (first, last) = (times.points[0], times.points[times.points.len() - 1]);
            let name = |commit: usize| self.commits[commit].clone();
            let changed = format!("{:+.1} %", change(first.1, last.1));
            let cells = vec![self.label(times), name(first.0), name(last.0), changed];
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
            machine: "A processor".into(),
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
            // `b` and `c` are compared a second time: the later comparison counts.
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
    fn comparisons_that_are_not_connected_have_lines_of_their_own() {
        let mut steps = [
            step("a", "b", "insert", 1.5),
            step("x", "c", "insert", 2.0),
            step("c", "d", "insert", 2.0),
            step("a", "b", "insert", 3.0),
        ];
        let changes = |steps: &[Step]| -> Vec<f64> {
            let series = Speeds::of(steps).unwrap().series();
            series.iter().map(|line| line.points.last().unwrap().1).collect()
        };
        // The later ratio of `b` to `a` is 3, and the ratios from `x` to `d` multiply to 4.
        assert_eq!(changes(&steps), [200.0, 300.0]);
        // Times of two machines are not multiplied.
        steps[3].machine = "Another processor".into();
        assert_eq!(changes(&steps), [50.0, 300.0, 200.0]);
        let label = &Speeds::of(&steps).unwrap().series()[2].label;
        assert_eq!(label, "insert, Another processor");
        assert!(Speeds::of(&[]).is_err());
    }
}
