//! Time that counts: a thread that waits for its processor while another program runs on it is not
//! slow. Sections are timed by the thread's own processor time, which on a quiet machine is the time on
//! the wall, and how long the thread waited is reported beside it. What an interruption leaves behind in
//! the caches is still counted: medians have to deal with that.

use std::time::{Duration, Instant};

/// Times one section of this thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    wall: Instant,
    on_processor: Option<Duration>,
}

/// What a section took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lap {
    /// Time on the processor; on the wall, where the system does not tell.
    pub(crate) busy: Duration,
    /// Time that the thread was kept from it.
    pub(crate) waited: Duration,
}

impl Stopwatch {
    /// Begins.
    #[inline]
    pub(crate) fn start() -> Self {
        Self { on_processor: on_processor(), wall: Instant::now() }
    }

    /// Ends.
    #[inline]
    pub(crate) fn stop(self) -> Lap {
        let wall = self.wall.elapsed();
        match on_processor().zip(self.on_processor) {
            // The wall's time lies inside the processor's, which is read before and after it.
            Some((now, then)) => {
                let busy = now.saturating_sub(then).min(wall);
                Lap { busy, waited: wall - busy }
            }
            None => Lap { busy: wall, waited: Duration::ZERO },
        }
    }
}

/// Processor time of this thread since it began.
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
    fn waiting_is_told_from_working() {
        let stopwatch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(30));
        let asleep = stopwatch.stop();
        assert!(
            asleep.busy < Duration::from_millis(10) && asleep.waited > Duration::from_millis(15),
            "{asleep:?}"
        );
    }

    #[test]
    fn working_takes_time() {
        let stopwatch = Stopwatch::start();
        let sum = (0..1_000_000u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
        std::hint::black_box(sum);
        assert!(stopwatch.stop().busy > Duration::from_micros(50));
    }
}
