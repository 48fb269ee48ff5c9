//! Interleaved repetitions, and the median and lowest value of each measurement.

use std::fmt;
use std::time::{Duration, Instant};

pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begin = Instant::now();
    let result = std::hint::black_box(work());
    (begin.elapsed(), result)
}

/// Calls `measure(i)` for every `i` below `subjects`, `repetitions` times. Each repetition starts with a different `i`.
pub(crate) fn interleave(repetitions: usize, subjects: usize, mut measure: impl FnMut(usize)) {
    for repetition in 0..repetitions {
        for i in 0..subjects {
            measure((i + repetition) % subjects);
        }
    }
}

/// A number with commas between its groups of three digits.
pub(crate) fn thousands(number: u64) -> String {
    match number / 1_000 {
        0 => number.to_string(),
        more => format!("{},{:03}", thousands(more), number % 1_000),
    }
}

/// Measurements in ascending order. `Display` shows the median and, in brackets, the lowest.
#[derive(Clone, Default)]
pub(crate) struct Samples(pub(crate) Vec<f64>);

impl Samples {
    pub(crate) fn add(&mut self, sample: f64) {
        self.0.push(sample);
        self.0.sort_by(f64::total_cmp);
    }

    /// Adds a time divided by a number of operations, in nanoseconds.
    pub(crate) fn add_ns(&mut self, time: Duration, operations: usize) {
        self.add(time.as_secs_f64() * 1e9 / operations as f64);
    }

    pub(crate) fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: f64| match x {
            x if x < 9.95 => format!("{x:.1}"),
            x => thousands(x.round() as u64),
        };
        let lowest = self.0.first().copied().unwrap_or(f64::NAN);
        write!(f, "{} [{}]", number(self.median()), number(lowest))
    }
}
