//! Progress on a terminal; silence in a pipe.

use crate::console::remark;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar over steps: groups of cases, each of which moves it smoothly, and fillings of filters.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    steps: u64,
    done: u64,
}

/// Positions of the bar within one step.
const POSITIONS: u64 = 100;

impl Progress {
    /// A bar for `steps` steps. It draws on standard error, and only if that is a terminal.
    pub(crate) fn new(steps: usize) -> Self {
        let bar = ProgressBar::new(steps as u64 * POSITIONS);
        let style =
            ProgressStyle::with_template("{elapsed_precise} {bar:32} {percent:>3} % {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self { bar, steps: steps as u64, done: 0 }
    }

    /// A bar that never shows.
    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), steps: 0, done: 0 }
    }

    /// Says what is going on.
    pub(crate) fn say(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
        self.bar.tick();
    }

    /// Says what stays to be read, above the bar.
    pub(crate) fn note(&self, what: &str) {
        self.bar.suspend(|| remark!("note: {what}"));
    }

    /// The share of the current step that is done.
    pub(crate) fn within_step(&self, share: f64) {
        self.bar.set_position(self.done * POSITIONS + (share * POSITIONS as f64) as u64);
    }

    /// The current step is done.
    pub(crate) fn step_done(&mut self) {
        self.steps_done(1);
    }

    /// Marks `steps` steps as done; they may also have been left out.
    pub(crate) fn steps_done(&mut self, steps: usize) {
        self.done += steps as u64;
        self.bar.set_position(self.done * POSITIONS);
    }

    /// Steps that are not done.
    pub(crate) fn steps_left(&self) -> usize {
        self.steps.saturating_sub(self.done) as usize
    }

    /// Time since the first step began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.bar.elapsed()
    }

    /// Removes the bar; returns how long it stood.
    pub(crate) fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.bar.elapsed()
    }
}
