//! Time on the wall, for sections that several threads work on: the processor time of the thread that asks
//! says nothing about them.

use crate::clock::Lap;
use crate::interleave::Meter;
use std::time::{Duration, Instant};

/// Runs a section that `threads` threads work on. Its time is wall-clock time; the time waited is how long each thread
/// waited for a processor on average, as far as the system tells.
pub(super) fn time<T>(meter: &mut Meter, threads: usize, section: impl FnOnce() -> T) -> T {
    let waited_before = waited_for_processors();
    let start = Instant::now();
    let value = section();
    let wall = start.elapsed();
    let waited = waited_for_processors()
        .zip(waited_before)
        .map_or(Duration::ZERO, |(now, then)| now.saturating_sub(then) / threads.max(1) as u32);
    meter.add(Lap { busy: wall, waited: waited.min(wall) });
    value
}

/// Time that all threads of this process have been ready to run and did not.
fn waited_for_processors() -> Option<Duration> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let mut nanoseconds = 0;
    for task in tasks {
        let schedstat = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += schedstat.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_takes_time_on_the_wall() {
        let mut meter = Meter::default();
        time(&mut meter, 1, || std::thread::sleep(Duration::from_millis(20)));
        assert!(meter.elapsed() >= Duration::from_millis(20));
    }
}
