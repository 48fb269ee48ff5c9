//! Interleaved timing. A shared machine can change its speed within minutes, so the subjects of a comparison are
//! interleaved: every round makes one short repetition of each subject, and the result is the median over the rounds.

use crate::base::bootstrap;
use crate::base::clock::{Lap, Stopwatch};
use crate::base::stats::{median, median_absolute_deviation};
use crate::measure::counters::Counters;
use crate::model::{Counts, Times};
use anyhow::Result;
use std::fmt;
use std::time::{Duration, Instant};
use trommel_callgrind::counted;

/// Measures the sections of a repetition. A section is a part that is timed. What happens between sections, such as
/// verification, is not timed.
#[derive(Default)]
pub(crate) struct Meter {
    lap: Lap,
    counters: Option<Counters>,
    mode: Mode,
    sections: usize,
}

/// The way in which a meter measures a section.
#[derive(Clone, Copy, Debug, Default)]
enum Mode {
    /// Times the section.
    #[default]
    Clock,
    /// Counts one group of hardware events during the section: the group with this index.
    Count(usize),
    /// Marks the section for Callgrind, so that only sections are counted.
    Mark,
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("lap", &self.lap)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Meter {
    /// Creates a meter that times sections and, if `counters` are given, also counts hardware events.
    pub(crate) fn new(counters: Option<Counters>) -> Self {
        Self { counters, ..Self::default() }
    }

    /// Creates a meter that marks sections for Callgrind.
    pub(crate) fn marking() -> Self {
        Self { mode: Mode::Mark, ..Self::default() }
    }

    /// Runs a section and measures it as the mode says.
    #[inline]
    pub(crate) fn time<T>(&mut self, section: impl FnOnce() -> T) -> T {
        match self.mode {
            Mode::Clock => {}
            Mode::Count(group) => return self.count(group, section),
            Mode::Mark => return self.mark(section),
        }
        let stopwatch = Stopwatch::start();
        let value = section();
        self.add(stopwatch.stop());
        value
    }

    /// Adds the time of a section that was timed in another way.
    pub(crate) fn add(&mut self, lap: Lap) {
        self.lap.busy += lap.busy;
        self.lap.waited += lap.waited;
    }

    /// Runs work that has many sections, each of which takes microseconds. Reading the thread's own clock is a system
    /// call, which would be a large part of such a section, so the sections are timed by the wall clock. If, for
    /// example, the thread was running during 90 % of the whole work, 90 % of the time of the sections counts as
    /// processor time.
    pub(crate) fn time_short_sections<T>(
        &mut self,
        work: impl FnOnce(&mut ShortSections<'_>) -> T,
    ) -> T {
        let stopwatch = matches!(self.mode, Mode::Clock).then(Stopwatch::start);
        let mut sections = ShortSections { meter: Some(self), wall: Duration::ZERO };
        let value = work(&mut sections);
        let wall = sections.wall;
        if let Some(stopwatch) = stopwatch {
            self.add(stopwatch.stop().part(wall));
        }
        value
    }

    /// Runs a section under the counters. The time of the section counts only for [`Self::elapsed`] and does not enter
    /// the results, since starting and stopping the counters costs system calls.
    fn count<T>(&mut self, group: usize, section: impl FnOnce() -> T) -> T {
        let stopwatch = Stopwatch::start();
        // An error is ignored: if the counters did not run, `take` returns no counts.
        let _ = self.counters.as_mut().map(|counters| counters.start(group));
        let value = section();
        let _ = self.counters.as_mut().map(|counters| counters.stop(group));
        self.add(stopwatch.stop());
        value
    }

    /// Marks a section, and measures its wall-clock time instead of the thread's processor time: the call that reads
    /// the thread's own clock crashes under Valgrind.
    fn mark<T>(&mut self, section: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let value = counted(section);
        self.add(Lap { busy: start.elapsed(), ..Lap::default() });
        self.sections += 1;
        value
    }

    /// The total time of the sections of this repetition so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.lap.busy
    }

    /// The number of sections that were marked for Callgrind.
    pub(crate) fn sections(&self) -> usize {
        self.sections
    }

    fn begin(&mut self) {
        self.lap = Lap::default();
    }

    /// Counts a subject's hardware events per operation, with one repetition for each group of events. Returns `None`
    /// if the meter has no counters.
    fn count_repetition(&mut self, subject: &mut Repetition<'_>) -> Result<Option<Counts>> {
        let Some(groups) = self.counters.as_ref().map(Counters::groups) else { return Ok(None) };
        let mut per_op = Counts::default();
        for group in 0..groups {
            self.begin();
            self.mode = Mode::Count(group);
            let ops = subject(self);
            self.mode = Mode::Clock;
            let ops = ops?;
            if let Some(Ok(counts)) = self.counters.as_mut().map(|counters| counters.take(group)) {
                per_op.take_in(&counts, ops);
            }
        }
        Ok(Some(per_op))
    }
}

/// The sections of a call of [`Meter::time_short_sections`].
#[derive(Debug)]
pub(crate) struct ShortSections<'a> {
    /// `None` if the sections are run without being measured.
    meter: Option<&'a mut Meter>,
    /// The wall-clock time of the sections so far.
    wall: Duration,
}

impl ShortSections<'_> {
    /// Sections that are not measured.
    pub(crate) fn untimed() -> Self {
        Self { meter: None, wall: Duration::ZERO }
    }

    /// Runs a section.
    #[inline]
    pub(crate) fn time<T>(&mut self, section: impl FnOnce() -> T) -> T {
        match &mut self.meter {
            None => section(),
            Some(Meter { mode: Mode::Clock, .. }) => {
                let start = Instant::now();
                let value = section();
                self.wall += start.elapsed();
                value
            }
            Some(meter) => meter.time(section),
        }
    }
}

/// Makes one repetition of a subject: times its sections, verifies the answers outside them, and returns the number
/// of operations that were timed.
pub(crate) type Repetition<'a> = Box<dyn FnMut(&mut Meter) -> Result<u64> + 'a>;

/// The conditions under which the rounds of a group of subjects end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Once this time has passed, no round begins if there were at least `min_rounds` rounds. If a group has had fewer
    /// rounds even after three times this budget, its rounds are long. Long rounds differ little from each other, so
    /// [`FEWEST_ROUNDS`] are enough.
    pub(crate) budget: Duration,
    pub(crate) min_rounds: usize,
    /// The most rounds, even if the budget is not spent.
    pub(crate) max_rounds: usize,
}

/// The minimum number of rounds of a group that runs out of time. It is enough for a median.
pub(crate) const FEWEST_ROUNDS: usize = 3;
/// When a group has taken this multiple of its budget, [`FEWEST_ROUNDS`] rounds are enough.
const MOST_BUDGETS: u32 = 3;

impl Pace {
    /// Whether the group ends after `rounds` rounds that took `spent` together.
    fn is_over(&self, rounds: usize, spent: Duration) -> bool {
        let enough = if spent >= self.budget * MOST_BUDGETS {
            self.min_rounds.min(FEWEST_ROUNDS)
        } else {
            self.min_rounds
        };
        rounds >= enough && spent >= self.budget
    }
}

/// Times of the repetitions of one subject.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timing {
    ns_per_op: Vec<f64>,
    /// The sum of the times of all sections of the repetitions in `ns_per_op`.
    pub(crate) total: Lap,
    /// Hardware events per operation, if the meter has counters.
    pub(crate) events_per_op: Option<Counts>,
}

impl Timing {
    /// Makes a repetition and records its time.
    fn take_in(&mut self, subject: &mut Repetition<'_>, meter: &mut Meter) -> Result<()> {
        meter.begin();
        let ops = subject(meter)?;
        self.ns_per_op.push(meter.lap.busy.as_secs_f64() * 1e9 / ops as f64);
        self.total.busy += meter.lap.busy;
        self.total.waited += meter.lap.waited;
        Ok(())
    }

    /// Nanoseconds per operation of each repetition, in the order in which they were made.
    pub(crate) fn repetitions(&self) -> &[f64] {
        &self.ns_per_op
    }

    /// Median nanoseconds per operation.
    pub(crate) fn median(&self) -> f64 {
        median(&self.ns_per_op)
    }

    /// Summarizes the repetitions.
    pub(crate) fn times(&self) -> Times {
        Times {
            median: self.median(),
            mad: median_absolute_deviation(&self.ns_per_op),
            interval: bootstrap::of_median(&self.ns_per_op)
                .map(|interval| (interval.low, interval.high)),
        }
    }
}

/// A first round of at least this length counts like the later rounds, because warming caches is a small part of its
/// time. A group with such long rounds often has only three rounds, so an extra round that does not count would be
/// expensive.
const LONG_ROUND: Duration = Duration::from_secs(5);

/// Times all subjects in interleaved rounds. The first round warms caches and lets subjects calibrate themselves; this
/// round is extra and does not count, unless it takes [`LONG_ROUND`] or more. Every second round runs in reverse order,
/// so that no subject always follows the same other subject. `progress` receives the share of the time budget that is
/// spent.
pub(crate) fn interleave(
    subjects: &mut [Repetition<'_>],
    pace: &Pace,
    meter: &mut Meter,
    progress: impl FnMut(f64),
) -> Result<Vec<Timing>> {
    interleave_with(subjects, pace, LONG_ROUND, meter, progress)
}

fn interleave_with(
    subjects: &mut [Repetition<'_>],
    pace: &Pace,
    long_round: Duration,
    meter: &mut Meter,
    mut progress: impl FnMut(f64),
) -> Result<Vec<Timing>> {
    let mut timings = vec![Timing::default(); subjects.len()];
    let mut start = Instant::now();
    for (subject, timing) in subjects.iter_mut().zip(&mut timings) {
        timing.take_in(subject, meter)?;
    }
    let mut counted_rounds = 1;
    if start.elapsed() < long_round {
        timings.fill(Timing::default());
        (start, counted_rounds) = (Instant::now(), 0);
    }
    for round in counted_rounds..pace.max_rounds {
        let spent = start.elapsed();
        if pace.is_over(round, spent) {
            break;
        }
        progress((spent.as_secs_f64() / pace.budget.as_secs_f64().max(1e-9)).min(1.0));
        for step in 0..subjects.len() {
            let index = if round % 2 == 0 { step } else { subjects.len() - 1 - step };
            timings[index].take_in(&mut subjects[index], meter)?;
        }
    }
    for (subject, timing) in subjects.iter_mut().zip(&mut timings) {
        timing.events_per_op = meter.count_repetition(subject)?;
    }
    Ok(timings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const PACE: Pace = Pace { budget: Duration::ZERO, min_rounds: 2, max_rounds: 9 };

    fn logging<'a>(log: &'a RefCell<Vec<char>>, name: char) -> Repetition<'a> {
        Box::new(move |meter| {
            log.borrow_mut().push(name);
            meter.time(|| ());
            Ok(1)
        })
    }

    #[test]
    fn rounds_are_interleaved_and_every_second_one_runs_in_reverse() {
        let log = RefCell::new(Vec::new());
        let mut subjects = [logging(&log, 'a'), logging(&log, 'b'), logging(&log, 'c')];
        let timings = interleave(&mut subjects, &PACE, &mut Meter::default(), |_| ()).unwrap();
        assert_eq!(log.borrow().iter().collect::<String>(), "abcabccba");
        assert!(timings.iter().all(|timing| timing.ns_per_op.len() == 2 && timing.median() >= 0.0));
    }

    #[test]
    fn a_long_first_round_counts() {
        let log = RefCell::new(Vec::new());
        let mut subjects = [logging(&log, 'a'), logging(&log, 'b'), logging(&log, 'c')];
        let mut meter = Meter::default();
        let long = Duration::ZERO;
        let timings = interleave_with(&mut subjects, &PACE, long, &mut meter, |_| ()).unwrap();
        assert_eq!(log.borrow().iter().collect::<String>(), "abccba");
        assert!(timings.iter().all(|timing| timing.ns_per_op.len() == 2));
    }

    #[test]
    fn three_rounds_are_enough_if_they_are_long() {
        let seconds = Duration::from_secs;
        let pace = Pace { budget: seconds(4), min_rounds: 7, max_rounds: 201 };
        assert!(!pace.is_over(7, seconds(3)) && pace.is_over(7, seconds(4)));
        assert!(!pace.is_over(6, seconds(11)) && pace.is_over(3, seconds(12)));
        assert!(!pace.is_over(2, seconds(40)));
    }

    #[test]
    fn a_wrong_answer_ends_the_rounds() {
        let mut subjects: [Repetition<'_>; 1] = [Box::new(|_| anyhow::bail!("wrong"))];
        assert!(interleave(&mut subjects, &PACE, &mut Meter::default(), |_| ()).is_err());
    }

    #[test]
    fn only_sections_are_timed() {
        let mut meter = Meter::default();
        meter.begin();
        std::thread::sleep(Duration::from_millis(20));
        meter.time(|| ());
        assert!(meter.elapsed() < Duration::from_millis(10));
    }

    /// Combines a number of terms by XOR, which takes a processor some time.
    fn work(terms: u64) {
        std::hint::black_box((0..terms).fold(0, |sum, term| std::hint::black_box(sum ^ term)));
    }

    #[test]
    fn short_sections_have_their_share_of_the_processor_time() {
        let mut meter = Meter::default();
        meter.begin();
        let wall = meter.time_short_sections(|sections| {
            for _ in 0..10 {
                work(100_000);
                sections.time(|| work(100_000));
            }
            sections.wall
        });
        let Lap { busy, waited } = meter.lap;
        assert!(busy > Duration::ZERO, "{busy:?}");
        // The sum of `busy` and `waited` differs from `wall` only if rounding makes `busy` longer than `wall`.
        assert!(
            wall.abs_diff(busy + waited) <= Duration::from_nanos(2),
            "sections of {wall:?} were recorded as {:?}",
            meter.lap
        );
        meter.begin();
        work(100_000);
        meter.time_short_sections(|_| ());
        assert_eq!(meter.elapsed(), Duration::ZERO);
    }
}
