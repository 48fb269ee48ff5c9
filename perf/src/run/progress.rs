//! Shows progress: a bar on a terminal; elsewhere, a line for each activity and for each case.

use crate::base::console::{remark, say};
use crate::base::format::figure;
use crate::model::Row;
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal as _, stderr};
use std::time::Duration;

/// A progress bar that counts steps. A step is, for example, a group of cases, the filling of filters, or a
/// simulated job. During a group, the bar moves smoothly.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    steps: u64,
    done: u64,
    /// If true, there is no terminal on which a bar could be drawn, so activities and measured cases are printed as
    /// lines.
    has_lines: bool,
}

/// The number of positions that the bar has within one step.
const POSITIONS: u64 = 100;

impl Progress {
    /// Creates a bar for `steps` steps. The bar is drawn on standard error, and only if standard error is a terminal.
    pub(crate) fn new(steps: usize) -> Self {
        let bar = ProgressBar::new(steps as u64 * POSITIONS);
        let style =
            ProgressStyle::with_template("{elapsed_precise} {bar:32} {percent:>3} % {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self { bar, steps: steps as u64, done: 0, has_lines: !stderr().is_terminal() }
    }

    /// Creates a bar that is never shown.
    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), steps: 0, done: 0, has_lines: false }
    }

    /// Shows the current activity next to the bar or, without a terminal, in a line on standard
    /// error.
    pub(crate) fn say(&self, what: impl Into<String>) {
        let what = what.into();
        if self.has_lines {
            remark!("{:5.0} s  {what}", self.elapsed().as_secs_f64());
        }
        self.bar.set_message(what);
        self.bar.tick();
    }

    /// If progress is shown in lines, prints a line on standard error for each row that was measured.
    pub(crate) fn log(&self, rows: &[Row]) {
        if !self.has_lines {
            return;
        }
        for row in rows {
            let deviation = row.mad / row.ns_per_op * 100.0;
            let (name, ns) = (row.name(), figure(row.ns_per_op));
            remark!("{:5.0} s    {name}: {ns} ns ±{deviation:.0} %", self.elapsed().as_secs_f64());
        }
    }

    /// Prints a note above the bar. The note stays on the terminal.
    pub(crate) fn note(&self, what: &str) {
        self.bar.suspend(|| remark!("note: {what}"));
    }

    /// Prints a line on standard output, above the bar. The line stays on the terminal.
    pub(crate) fn print(&self, line: &str) -> Result<()> {
        self.bar.suspend(|| say!("{line}"))
    }

    /// Sets the share of the current step that is done.
    pub(crate) fn within_step(&self, share: f64) {
        self.bar.set_position(self.done * POSITIONS + (share * POSITIONS as f64) as u64);
    }

    /// Marks the current step as done.
    pub(crate) fn step_done(&mut self) {
        self.steps_done(1);
    }

    /// Marks `steps` steps as done. Steps that were skipped must be marked too.
    pub(crate) fn steps_done(&mut self, steps: usize) {
        self.done += steps as u64;
        self.bar.set_position(self.done * POSITIONS);
    }

    /// Returns the number of steps that remain.
    pub(crate) fn steps_left(&self) -> usize {
        self.steps.saturating_sub(self.done) as usize
    }

    /// Returns the time since the bar was created.
    pub(crate) fn elapsed(&self) -> Duration {
        self.bar.elapsed()
    }

    /// Whether the time since the bar was created exceeds a deadline; false if there is no deadline.
    pub(crate) fn is_past(&self, deadline: Option<Duration>) -> bool {
        deadline.is_some_and(|deadline| self.elapsed() > deadline)
    }

    /// Removes the bar and returns the time since the bar was created.
    pub(crate) fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.bar.elapsed()
    }
}
