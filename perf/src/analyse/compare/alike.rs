//! Matches rounds of the new run with rounds of the old run in which the machine was in the same state.
//!
//! On a shared machine, other programs cause noise regimes: periods of seconds in which all work is slower. On one such
//! machine, while another program kept the other hardware thread of the core busy, lookups that were bound by the
//! core's execution units took 1.55 times as long, and lookups that waited for memory took 1.1 times as long. So no
//! single factor can be divided out, and the medians of two runs in different noise regimes differ by these factors.
//! But rivals were interleaved with our filters, and no change of ours makes the rivals slower. So each round of the
//! new run is compared with the rounds of the old run in which the rivals took about the same time.
//!
//! This matching was tested on that machine, with the same program as old and new, so that every effect found is an
//! error. There were twenty comparisons of three attempts (an attempt is a run of each program), with six cases and
//! five rivals in 53 rounds. The error of a ratio was 1.3 % in the median and 6 % at the 90th percentile. Without
//! matching, the ratio of two medians had errors of 6 % and 34 %. With matching, 7 % of the intervals wrongly showed an
//! effect of 5 % or more; without matching, 40 % did. With matching, two of 120 verdicts were "unsettled"; without
//! matching, 47 were "unsettled", two "slower" and one "faster". Rejected, with the share of wrong intervals: the
//! median of all old rounds in which the median of the rivals is within 2 % of that in the new round (13 %); the
//! nearest seven rounds (5 %, but fewer attempts have an interval); the nearest rounds at any distance (9 %).
//!
//! Source: Rubin, "Matching to remove bias in observational studies", Biometrics 29(1), 1973 (nearest matches within
//! a caliper).
//!
//! Limit: several rounds of the new run are matched with the same rounds of the old run, so bootstrap intervals of
//! matched values are too narrow or too wide (Abadie and Imbens, "On the failure of the bootstrap for matching
//! estimators", Econometrica 76(6), 2008). To make up for this, a case counts as slower or faster only if all attempts
//! of a comparison agree.

use crate::base::bootstrap;
use crate::base::bootstrap::{FEWEST, Interval};
use crate::base::stats::median;

/// Two rounds match if the times of the rivals differ by at most this share, averaged over the rivals.
const MAX_DIFFERENCE: f64 = 0.05;

/// Each round of the new run is compared with the median of this number of matched rounds of the old run.
const NEIGHBOURS: usize = 3;

/// The times of one rival in the rounds of both runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control<'a> {
    pub(super) old: &'a [f64],
    pub(super) new: &'a [f64],
}

impl Control<'_> {
    pub(super) fn was_measured(&self) -> bool {
        !self.old.is_empty() && !self.new.is_empty()
    }

    /// The median new time divided by the median old time.
    pub(super) fn ratio(&self) -> f64 {
        median(self.new) / median(self.old)
    }
}

/// For each round of the new run, the matched rounds of the old run, the nearest first.
#[derive(Clone, Debug)]
pub(super) struct Alike {
    old_rounds: usize,
    of_new: Vec<Vec<usize>>,
}

impl Alike {
    /// Matches rounds by the times of these rivals. `None` if there is no rival, or if rivals have unequal numbers of
    /// rounds.
    pub(super) fn by(controls: &[Control<'_>]) -> Option<Self> {
        let Control { old, new } = controls.first()?;
        let (old_rounds, new_rounds) = (old.len(), new.len());
        let has_same_rounds =
            |it: &Control<'_>| (it.old.len(), it.new.len()) == (old_rounds, new_rounds);
        if !controls.iter().all(has_same_rounds) {
            return None;
        }
        let distance = |old: usize, new: usize| {
            let apart = controls.iter().map(|it| (it.new[new] / it.old[old]).ln().abs());
            apart.sum::<f64>() / controls.len() as f64
        };
        let of_new = (0..new_rounds).map(|new| {
            let mut near: Vec<(f64, usize)> =
                (0..old_rounds).map(|old| (distance(old, new), old)).collect();
            near.retain(|(distance, _)| *distance <= MAX_DIFFERENCE.ln_1p());
            near.sort_by(|a, b| a.0.total_cmp(&b.0));
            near.into_iter().map(|(_, old)| old).collect()
        });
        Some(Self { old_rounds, of_new: of_new.collect() })
    }

    /// The new time divided by the old time of a case that was interleaved with the rivals, and the interval of this
    /// ratio. `None` if the case and the rivals have unequal numbers of rounds. Also `None` if fewer than [`FEWEST`]
    /// rounds of the new run have enough matches, or if that happens in at least half of the resamples.
    pub(super) fn ratio(&self, old: &[f64], new: &[f64]) -> Option<(f64, Interval)> {
        if (old.len(), new.len()) != (self.old_rounds, self.of_new.len()) {
            return None;
        }
        let of_drawn = |olds: &[u32], news: &[u32]| self.ratio_of_drawn((old, olds), (new, news));
        let ratio = of_drawn(&vec![1; old.len()], &vec![1; new.len()])?;
        let interval = bootstrap::of_drawn(old.len(), new.len(), of_drawn)?;
        Some((ratio, interval))
    }

    /// The median ratio of the drawn rounds. The second slice of each pair holds how often each round was drawn.
    fn ratio_of_drawn(&self, old: (&[f64], &[u32]), new: (&[f64], &[u32])) -> Option<f64> {
        let mut ratios = Vec::with_capacity(new.0.len());
        let drawn = new.0.iter().zip(new.1).zip(&self.of_new);
        for ((time, times_drawn), near) in drawn.filter(|((_, drawn), _)| **drawn > 0) {
            let near = near
                .iter()
                .flat_map(|round| std::iter::repeat_n(old.0[*round], old.1[*round] as usize));
            let mut near = near.take(NEIGHBOURS);
            if let (Some(a), Some(b), Some(c)) = (near.next(), near.next(), near.next()) {
                let middle = a.max(b).min(a.min(b).max(c));
                ratios.extend(std::iter::repeat_n(time / middle, *times_drawn as usize));
            }
        }
        (ratios.len() >= FEWEST).then(|| median(&ratios))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type IsBusy = fn(usize) -> bool;

    /// The times of thirty rounds: about `base`, with a noise of up to 2 %. The rounds for which `is_busy` returns true
    /// take `factor` times as long.
    fn times(base: f64, factor: f64, is_busy: IsBusy) -> Vec<f64> {
        let noise = |round: usize| 1.0 + ((round * 7 + base as usize) % 5) as f64 / 200.0;
        let time = |round| base * noise(round) * if is_busy(round) { factor } else { 1.0 };
        (0..30).map(time).collect()
    }

    #[test]
    fn noise_regimes_of_the_machine_do_not_show_as_effects() {
        // Another program kept the machine busy in most rounds of the old run, and in few rounds of the new run.
        let most: IsBusy = |round| round % 3 != 0;
        let few: IsBusy = |round| round % 5 == 0;
        let rival = (times(10.0, 1.2, most), times(10.0, 1.2, few));
        let alike = Alike::by(&[Control { old: &rival.0, new: &rival.1 }]).unwrap();
        for effect in [1.0, 1.08] {
            let old = times(2.0, 1.5, most);
            let new: Vec<f64> = times(2.0, 1.5, few).iter().map(|time| time * effect).collect();
            let (ratio, interval) = alike.ratio(&old, &new).unwrap();
            assert!((ratio / effect - 1.0).abs() < 0.015, "{ratio}");
            assert_eq!(interval.holds(1.0), effect == 1.0, "{interval:?}");
            assert!(median(&new) / median(&old) < 0.75);
        }
    }

    #[test]
    fn too_few_matched_rounds_give_no_ratio() {
        let (old, new) = (times(10.0, 1.0, |_| false), times(13.0, 1.0, |_| false));
        let alike = Alike::by(&[Control { old: &old, new: &new }]).unwrap();
        assert_eq!(alike.ratio(&old, &new), None);
        // Ten matched rounds are one too few.
        let few: Vec<f64> = old.iter().take(10).chain(new.iter().take(20)).copied().collect();
        let alike = Alike::by(&[Control { old: &old, new: &few }]).unwrap();
        assert_eq!(alike.ratio(&old, &few), None);
    }

    #[test]
    fn unequal_numbers_of_rounds_are_not_matched() {
        let (all, fewer) =
            (times(10.0, 1.0, |_| false), times(10.0, 1.0, |_| false)[..20].to_vec());
        assert!(Alike::by(&[]).is_none());
        let (whole, cut) = (Control { old: &all, new: &all }, Control { old: &fewer, new: &all });
        assert!(Alike::by(&[whole, cut]).is_none());
        assert_eq!(Alike::by(&[whole]).unwrap().ratio(&fewer, &all), None);
    }

    #[test]
    fn the_nearest_rounds_count_as_often_as_they_were_drawn() {
        let old = [1.0, 1.01, 1.02, 1.03, 2.0];
        let new = [1.0];
        let alike = Alike::by(&[Control { old: &old, new: &new }]).unwrap();
        assert_eq!(alike.of_new, [[0, 1, 2, 3]]);
        let times = [5.0, 6.0, 7.0, 8.0, 9.0];
        let ratio = |olds: [u32; 5]| alike.ratio_of_drawn((&times, &olds), (&[60.0], &[11]));
        assert_eq!(ratio([1, 1, 1, 1, 1]), Some(10.0));
        assert_eq!(ratio([2, 0, 0, 3, 0]), Some(12.0));
        assert_eq!(ratio([0, 1, 1, 0, 3]), None);
    }
}
