//! Progress on a terminal; silence in a pipe.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar over groups of cases, each of which moves it smoothly.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    groups: u64,
    done: u64,
}

/// Steps of the bar within one group.
const STEPS: u64 = 100;

impl Progress {
    /// A bar for `groups` groups. It draws on standard error, and only if that is a terminal.
    pub(crate) fn new(groups: usize) -> Self {
        let bar = ProgressBar::new(groups as u64 * STEPS);
        let style =
            ProgressStyle::with_template("{elapsed_precise} {bar:32} {percent:>3} % {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self { bar, groups: groups as u64, done: 0 }
    }

    /// A bar that never shows.
    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), groups: 0, done: 0 }
    }

    /// Says what is going on.
    pub(crate) fn say(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
        self.bar.tick();
    }

    /// Says what stays to be read, above the bar.
    pub(crate) fn note(&self, what: &str) {
        self.bar.suspend(|| eprintln!("note: {what}"));
    }

    /// The share of the current group that is done.
    pub(crate) fn within_group(&self, share: f64) {
        self.bar.set_position(self.done * STEPS + (share * STEPS as f64) as u64);
    }

    /// The current group is done.
    pub(crate) fn group_done(&mut self) {
        self.done += 1;
        self.bar.set_position(self.done * STEPS);
    }

    /// Groups that are not done.
    pub(crate) fn groups_left(&self) -> usize {
        self.groups.saturating_sub(self.done) as usize
    }

    /// Time since the first group began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.bar.elapsed()
    }

    /// Removes the bar; returns how long it stood.
    pub(crate) fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.bar.elapsed()
    }
}
