//! Cases that were interleaved with rivals in both runs of an attempt, and the drift of the machine by these rivals.
//!
//! Each group of cases is measured in seconds of its own, in which the machine may be another than in the rest of the
//! run: of two default runs of the same filters on a shared machine rivals of one group took 0.7 of the time in the
//! second, those of another 1.5 times. So the common factor of the rivals of the group is divided out. One
//! attempt, 1173 cases: 256 were slower or faster by the drift of whole runs, 52 are by that of groups.

use super::alike::Alike;
use super::runs::{Attempt, Pair};
use super::speed::Source;
use crate::bootstrap::{self, Interval};
use crate::samples::Samples;
use crate::stats::median;
use std::collections::HashMap;

/// All of an attempt.
#[derive(Debug)]
pub(super) struct Interleaved<'a> {
    places: [HashMap<&'a str, usize>; 2],
    rivals: HashMap<Places, Rivals>,
}

/// Indices of the interleaved groups of a case in the old and in the new run.
type Places = (usize, usize);

impl<'a> Interleaved<'a> {
    /// Of the cases that both runs have.
    pub(super) fn of(attempt: &'a Attempt, pairs: impl Iterator<Item = Pair<'a>>) -> Self {
        let [old, new] = [&attempt.old, &attempt.new].map(|run| &run.results.samples);
        let places = [old, new].map(places);
        let mut controls: HashMap<Places, Vec<Control<'a>>> = HashMap::new();
        for pair in pairs.filter(|pair| pair.old.rival.is_some()) {
            let name = pair.old.name();
            let control = Control { old: old.of(&name), new: new.of(&name) };
            if let Some(group) = places_of(&places, &name).filter(|_| control.was_measured()) {
                controls.entry(group).or_default().push(control);
            }
        }
        let rivals = controls.into_iter().map(|(group, of)| (group, Rivals::of(&of)));
        Self { rivals: rivals.collect(), places }
    }

    /// The rivals that a case was interleaved with in both runs, if there are any.
    pub(super) fn rivals_of(&self, name: &str) -> Option<&Rivals> {
        self.rivals.get(&places_of(&self.places, name)?)
    }
}

fn places(samples: &Samples) -> HashMap<&str, usize> {
    let groups = samples.interleaved().iter().enumerate();
    groups.flat_map(|(place, names)| names.iter().map(move |name| (&**name, place))).collect()
}

fn places_of(places: &[HashMap<&str, usize>; 2], name: &str) -> Option<Places> {
    let [old, new] = places;
    Some((*old.get(name)?, *new.get(name)?))
}

/// The times of one rival in the rounds of both runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control<'a> {
    pub(super) old: &'a [f64],
    pub(super) new: &'a [f64],
}

impl Control<'_> {
    fn was_measured(&self) -> bool {
        !self.old.is_empty() && !self.new.is_empty()
    }

    /// By how much it got slower.
    fn ratio(&self) -> f64 {
        median(self.new) / median(self.old)
    }
}

/// Drift of the machine by rivals that were interleaved with each other.
#[derive(Clone, Debug)]
pub(super) struct Rivals {
    alike: Option<Alike>,
    /// By how much the one in the middle got slower.
    middle: f64,
    /// From where to where all of them did, as far as their repetitions tell.
    all: Interval,
}

impl Rivals {
    /// Of one and more.
    fn of(controls: &[Control<'_>]) -> Self {
        let ratios: Vec<f64> = controls.iter().map(Control::ratio).collect();
        let intervals = controls.iter().zip(&ratios).map(|(it, ratio)| {
            let known = bootstrap::of_ratio(it.new, it.old);
            known.unwrap_or(Interval { low: *ratio, high: *ratio })
        });
        let all = intervals.reduce(Interval::hull).unwrap_or(Interval { low: 1.0, high: 1.0 });
        Self { alike: Alike::by(controls), middle: median(&ratios), all }
    }

    /// New time over old time of a case beside the machine, and its interval, if it has one.
    ///
    /// Where few rounds are alike, a case whose medians are `ratio` apart is beside the machine what it is beside the
    /// rival in the middle; that it changed is sure if none of the rivals did by as much.
    pub(super) fn beside(
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
            low: interval.low / self.all.high,
            high: interval.high / self.all.low,
        });
        (ratio / self.middle, Source::Rivals, interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_rounds_are_alike_an_effect_is_larger_than_that_on_any_rival() {
        let rounds = |time: f64| [time; 12];
        let [ten, eleven, twelve, fifteen] = [10.0, 11.0, 12.0, 15.0].map(rounds);
        let control = |new| Control { old: &[10.0; 12], new };
        let rivals =
            Rivals::of(&[control(&[12.0; 12]), control(&[11.0; 12]), control(&[14.0; 12])]);
        let beside = |new: &[f64], ratio| rivals.beside(ratio, &ten, new);
        let (relative, source, interval) = beside(&twelve, 1.2);
        assert_eq!((relative, source), (1.0, Source::Rivals));
        let Interval { low, high } = interval.unwrap();
        assert!((low - 1.2 / 1.4).abs() < 1e-12 && (high - 1.2 / 1.1).abs() < 1e-12);
        assert!(beside(&fifteen, 1.5).2.unwrap().low > 1.0);
        assert!(beside(&eleven, 1.1).2.unwrap().holds(1.0));
        assert!(beside(&ten, 1.0).2.unwrap().high < 1.0);
        assert_eq!(beside(&[15.0; 3], 1.5).2, None);
    }

    #[test]
    fn rounds_that_are_alike_come_first() {
        let times: Vec<f64> = (0..20).map(|i| 10.0 + f64::from(i % 2)).collect();
        let control = Control { old: &times, new: &times };
        let (relative, source, interval) = Rivals::of(&[control]).beside(1.0, &times, &times);
        assert_eq!((relative, source), (1.0, Source::AlikeRounds));
        assert_eq!(interval, Some(Interval { low: 1.0, high: 1.0 }));
    }
}
