//! `roofline`: measures random cache-line reads per second, by working-set size.

use super::pin;
use crate::base::console::say;
use crate::measure::environment::Environment;
use crate::measure::roofline;
use crate::run::progress::Progress;
use crate::show::tables;
use crate::store::results::Results;
use anyhow::Result;

/// The largest working set, in bytes: far more than the share of a last-level cache that one core gets.
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
