//! A stopwatch for timed sections. On Linux, it counts the thread's processor time, so that a section does not seem
//! slower if another program runs on the same processor meanwhile. On a quiet machine, processor time nearly equals
//! wall-clock time. The rest of the wall-clock time, in which the thread did not run, is reported separately. Cache
//! misses that an interruption causes are part of the processor time; the median of the repetitions suppresses them.

use std::time::{Duration, Instant};

/// Measures one section of the current thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    wall: Instant,
    on_processor: Option<Duration>,
}

/// The time of a section. The comments on the fields hold for sections that a [`Stopwatch`] timed. Two other sorts of
/// sections are timed by the wall clock alone, and their `busy` is the whole wall-clock time:
/// - Sections in the groups of cases that measure `trommel::Engine`, also those of the rivals in these groups: `waited`
///   is the average time that a thread waited for a processor, or 0 if the system does not report it.
/// - Sections of simulated runs: `waited` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lap {
    /// Processor time on Linux; wall-clock time on every other system.
    pub(crate) busy: Duration,
    /// Wall-clock time minus `busy`: time in which the thread waited for a processor, slept or was blocked. 0 on every
    /// system but Linux.
    pub(crate) waited: Duration,
}

impl Lap {
    /// Returns the time of a part of the section, given the part's wall-clock time `wall`. The thread is assumed to be
    /// busy for the same share of the part as of the whole section. If the section took no time, all of the part counts
    /// as busy.
    pub(crate) fn part(self, wall: Duration) -> Self {
        let whole = (self.busy + self.waited).as_secs_f64();
        let share = if whole > 0.0 { self.busy.as_secs_f64() / whole } else { 1.0 };
        let busy = wall.mul_f64(share);
        Self { busy, waited: wall.saturating_sub(busy) }
    }
}

impl Stopwatch {
    /// Starts a section.
    #[inline]
    pub(crate) fn start() -> Self {
        Self { on_processor: on_processor(), wall: Instant::now() }
    }

    /// Stops, and returns the time of the section.
    #[inline]
    pub(crate) fn stop(self) -> Lap {
        let wall = self.wall.elapsed();
        match on_processor().zip(self.on_processor) {
            // The wall clock is read between the two reads of processor time, so processor time can slightly exceed
            // wall-clock time.
            Some((now, then)) => {
                let busy = now.saturating_sub(then).min(wall);
                Lap { busy, waited: wall - busy }
            }
            None => Lap { busy: wall, waited: Duration::ZERO },
        }
    }
}

/// The processor time of this thread since its start.
#[cfg(target_os = "linux")]
fn on_processor() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(target_os = "linux"))]
fn on_processor() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn sleeping_counts_as_waiting_and_not_as_busy() {
        let stopwatch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(30));
        let asleep = stopwatch.stop();
        assert!(
            asleep.busy < Duration::from_millis(10) && asleep.waited > Duration::from_millis(15),
            "sleeping 30 ms was timed as {asleep:?}"
        );
    }

    #[test]
    fn a_part_is_divided_like_the_whole() {
        let (seconds, whole) = (
            Duration::from_secs,
            Lap { busy: Duration::from_secs(6), waited: Duration::from_secs(2) },
        );
        assert_eq!(whole.part(seconds(4)), Lap { busy: seconds(3), waited: seconds(1) });
        assert_eq!(Lap::default().part(seconds(4)), Lap { busy: seconds(4), waited: seconds(0) });
    }

    #[test]
    fn work_counts_as_busy() {
        let stopwatch = Stopwatch::start();
        let sum = (0..1_000_000u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
        std::hint::black_box(sum);
        assert!(stopwatch.stop().busy > Duration::from_micros(50));
    }
}
