//! `roofline`: measures random cache-line reads per second, by working-set size.

use super::pin;
use crate::console::say;
use crate::environment::Environment;
use crate::progress::Progress;
use crate::results::Results;
use crate::{roofline, tables};
use anyhow::Result;

/// The largest working set, in bytes: far more than the part of any last-level cache that one core gets.
const LARGEST: usize = 1 << 30;

/// Measures the roofline and prints it.
pub(crate) fn run() -> Result<()> {
    pin();
    let progress = Progress::new(1);
    progress.say("roofline");
    let points = roofline::curve(LARGEST, |share| progress.within_step(share))?;
    progress.finish();
    let mut results = Results::new(Environment::observe(None));
    results.roofline = points;
    say!("{}", tables::roofline(&results).to_terminal())
}
