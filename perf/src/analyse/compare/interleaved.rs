//! Adjusts the times of cases for the drift of the machine, if the cases were interleaved with rivals in both runs of
//! an [`Attempt`].
//!
//! Each group of cases is measured within its own few seconds, in which the machine can be faster or slower than in the
//! rest of the run. In two default runs of the same filters on a shared machine, the rivals of one group took 0.7 times
//! as long in the second run as in the first; the rivals of another group took 1.5 times as long. So the drift is
//! estimated from the rivals of the case's own group: a round of the new run is compared with rounds of the old run in
//! which the rivals took about as long ([`alike`](super::alike)). Without enough such rounds, the case's ratio of new
//! time to old time is divided by the median of the rivals' ratios. In one attempt with two runs of the same program,
//! 52 of 1173 cases were wrongly counted as slower or faster; with one drift for the whole attempt instead of one for
//! each group, 256 were.
//!
//! A rival can also become slower or faster for reasons other than drift. Its source is the same in both programs, but
//! its machine code can lie at different addresses, and then the rival is slower or faster in every run of one program.
//! Such a rival is left out ([`Speed::is_of_control`](super::speed::Speed::is_of_control)). And the memory of a rival
//! can lie at different addresses in each run: lookups in `sbbf-rs-safe` took 0.78, 1.17 and 1.17 times as long in
//! three attempts, while the median time of our filters in the same rounds changed by 2 % or less. Such a rival is left
//! out in that attempt ([`moved_alone`]).

use super::alike::{Alike, Control};
use super::runs::{Attempt, Pair};
use crate::base::bootstrap;
use crate::base::bootstrap::Interval;
use crate::base::stats::median;
use crate::store::samples::Samples;
use serde::Serialize;
use std::collections::HashMap;

/// The interleaved groups of both runs of an attempt, and the rivals in each.
#[derive(Debug)]
pub(super) struct Interleaved<'a> {
    /// The index of the interleaved group of each case, by name, in the old and in the new run.
    groups_by_name: [HashMap<&'a str, usize>; 2],
    rivals: HashMap<GroupIndices, Rivals>,
}

/// How a drift-adjusted ratio was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Source {
    /// The ratio is the median of the ratios between matched rounds, in which rivals took about the same time.
    AlikeRounds,
    /// The ratio of the medians of all rounds is divided by the median ratio of the rivals that were interleaved with
    /// the case.
    Rivals,
    /// The ratio of the medians of all rounds is divided by the drift of the machine between the whole runs.
    Run,
}

/// Indices of the interleaved groups of a case in the old and in the new run.
type GroupIndices = (usize, usize);

impl<'a> Interleaved<'a> {
    /// Finds the rivals of each group. `cases` contains our cases and the cases of rivals. `drift` is the drift of the
    /// machine between the whole runs.
    pub(super) fn of(
        attempt: &'a Attempt,
        cases: impl Iterator<Item = Pair<'a>>,
        drift: f64,
    ) -> Self {
        let [old, new] = [&attempt.old, &attempt.new].map(|run| &run.results.samples);
        let groups_by_name = [old, new].map(groups_by_name);
        let mut controls: HashMap<GroupIndices, Vec<Control<'a>>> = HashMap::new();
        let mut ours: HashMap<GroupIndices, Vec<f64>> = HashMap::new();
        for pair in cases {
            let name = pair.old.name();
            let Some(group) = groups_of(&groups_by_name, &name) else { continue };
            let times = Control { old: old.of(&name), new: new.of(&name) };
            if !pair.old.case.is_of_rival() {
                ours.entry(group).or_default().push(pair.new.ns_per_op / pair.old.ns_per_op);
            } else if times.was_measured() {
                controls.entry(group).or_default().push(times);
            }
        }
        let rivals = controls.into_iter().filter_map(|(group, mut controls)| {
            let ours = ours.get(&group).map_or(drift, |ratios| median(ratios));
            controls.retain(|control| !moved_alone(control.ratio() / drift, ours / drift));
            (!controls.is_empty()).then(|| (group, Rivals::of(&controls)))
        });
        Self { rivals: rivals.collect(), groups_by_name }
    }

    /// The rivals with which a case was interleaved in both runs, if there are any.
    pub(super) fn rivals_of(&self, name: &str) -> Option<&Rivals> {
        self.rivals.get(&groups_of(&self.groups_by_name, name)?)
    }
}

/// A rival is left out only if its time changes by more than this factor.
const LEAST_MOVE: f64 = 1.05;

/// A rival whose time changes by a factor `f` is kept if the times of our filters change in the same direction, and by
/// at least `f` to this power. While another program kept the core busy, lookups that waited for memory took 1.1 times
/// as long, and lookups bound by execution units 1.55 times as long ([`alike`](super::alike)). If ours wait for memory
/// and the rival's do not, the power is 0.22.
const LEAST_SHARE: f64 = 0.2;

/// Whether a rival became slower or faster for a reason other than the machine: our filters in the same rounds did not
/// become slower or faster with it. Both arguments are ratios of new time to old time, divided by the drift of the
/// whole run; `ours` is the median of our filters. If a change of our filters cancels out a change of the machine, the
/// rival seems to have moved alone, although it did not.
fn moved_alone(rival: f64, ours: f64) -> bool {
    rival.ln().abs() > LEAST_MOVE.ln() && ours.ln() / rival.ln() < LEAST_SHARE
}

fn groups_by_name(samples: &Samples) -> HashMap<&str, usize> {
    let groups = samples.interleaved().iter().enumerate();
    groups.flat_map(|(index, names)| names.iter().map(move |name| (&**name, index))).collect()
}

fn groups_of(groups_by_name: &[HashMap<&str, usize>; 2], name: &str) -> Option<GroupIndices> {
    let [old, new] = groups_by_name;
    Some((*old.get(name)?, *new.get(name)?))
}

/// The drift of the machine in one interleaved group, measured by the group's rivals.
#[derive(Clone, Debug)]
pub(super) struct Rivals {
    alike: Option<Alike>,
    /// The median of the rivals' ratios of new time to old time.
    median_ratio: f64,
    /// The smallest interval that contains the intervals of all rivals' ratios.
    hull: Interval,
}

impl Rivals {
    /// Computes the drift from one or more rivals.
    fn of(controls: &[Control<'_>]) -> Self {
        let ratios: Vec<f64> = controls.iter().map(Control::ratio).collect();
        let intervals = controls.iter().zip(&ratios).map(|(it, ratio)| {
            let known = bootstrap::of_ratio(it.new, it.old);
            known.unwrap_or(Interval { low: *ratio, high: *ratio })
        });
        let hull = intervals.reduce(Interval::hull).unwrap_or(Interval { low: 1.0, high: 1.0 });
        Self { alike: Alike::by(controls), median_ratio: median(&ratios), hull }
    }

    /// Returns the drift-adjusted ratio of a case's new time to its old time, how the ratio was computed, and its
    /// interval if there is one. `ratio` is the ratio of the medians of the case.
    ///
    /// If too few rounds match, `ratio` is divided by the median ratio of the rivals. The interval then lies above 1
    /// only if the ratio of the case is above the ratio of every rival, and below 1 only if the ratio of the case is
    /// below the ratio of every rival.
    pub(super) fn drift_adjusted(
        &self,
        ratio: f64,
        old: &[f64],
        new: &[f64],
    ) -> (f64, Source, Option<Interval>) {
        if let Some((relative, interval)) =
            self.alike.as_ref().and_then(|alike| alike.ratio(old, new))
        {
            return (relative, Source::AlikeRounds, Some(interval));
        }
        let interval = bootstrap::of_ratio(new, old).map(|interval| Interval {
            low: interval.low / self.hull.high,
            high: interval.high / self.hull.low,
        });
        (ratio / self.median_ratio, Source::Rivals, interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_matched_rounds_an_effect_must_exceed_that_of_every_rival() {
        let rounds = |time: f64| [time; 12];
        let [ten, eleven, twelve, fifteen] = [10.0, 11.0, 12.0, 15.0].map(rounds);
        let control = |new| Control { old: &[10.0; 12], new };
        let rivals =
            Rivals::of(&[control(&[12.0; 12]), control(&[11.0; 12]), control(&[14.0; 12])]);
        let adjusted = |new: &[f64], ratio| rivals.drift_adjusted(ratio, &ten, new);
        let (relative, source, interval) = adjusted(&twelve, 1.2);
        assert_eq!((relative, source), (1.0, Source::Rivals));
        let Interval { low, high } = interval.unwrap();
        assert!((low - 1.2 / 1.4).abs() < 1e-12 && (high - 1.2 / 1.1).abs() < 1e-12);
        assert!(adjusted(&fifteen, 1.5).2.unwrap().low > 1.0);
        assert!(adjusted(&eleven, 1.1).2.unwrap().holds(1.0));
        assert!(adjusted(&ten, 1.0).2.unwrap().high < 1.0);
        assert_eq!(adjusted(&[15.0; 3], 1.5).2, None);
    }

    #[test]
    fn a_rival_that_moves_without_our_filters_moved_alone() {
        assert!(moved_alone(0.784, 1.01) && moved_alone(1.167, 1.02) && moved_alone(1.167, 0.97));
        // Other programs kept the core busy: in the new run (the first two pairs) or in the old run (the third).
        assert!(!moved_alone(1.55, 1.1) && !moved_alone(1.1, 1.55) && !moved_alone(0.7, 0.9));
        // Our filters changed, and the machine did not.
        assert!(!moved_alone(1.0, 1.15) && !moved_alone(1.04, 0.8) && !moved_alone(0.97, 1.3));
    }

    #[test]
    fn matched_rounds_take_precedence() {
        let times: Vec<f64> = (0..20).map(|i| 10.0 + f64::from(i % 2)).collect();
        let control = Control { old: &times, new: &times };
        let (relative, source, interval) =
            Rivals::of(&[control]).drift_adjusted(1.0, &times, &times);
        assert_eq!((relative, source), (1.0, Source::AlikeRounds));
        assert_eq!(interval, Some(Interval { low: 1.0, high: 1.0 }));
    }
}
