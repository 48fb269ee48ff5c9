//! Measures the wall-clock time of sections on which several threads work. The processor time of the calling thread
//! would not include the work of the other threads.

use crate::base::clock::Lap;
use crate::measure::interleave::Meter;
use std::time::{Duration, Instant};

/// Runs a section on which `threads` threads work, and adds two times to the meter. The busy time is the section's
/// wall-clock time. The time waited is the time that these threads waited for a processor, averaged over the threads;
/// it is zero if the system does not report it.
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

/// The time that all threads of this process together have waited for a processor although they were ready to run.
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
    fn sleeping_counts_as_wall_clock_time() {
        let mut meter = Meter::default();
        time(&mut meter, 1, || std::thread::sleep(Duration::from_millis(20)));
        assert!(meter.elapsed() >= Duration::from_millis(20));
    }
}
