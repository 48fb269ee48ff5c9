//! `roofline`: the machine's limit by size.

use super::pin;
use crate::console::say;
use crate::environment::Environment;
use crate::progress::Progress;
use crate::results::Results;
use crate::{roofline, tables};
use anyhow::Result;

/// The largest working set: far beyond any last-level cache that one core gets for itself.
const LARGEST: usize = 1 << 30;

/// Measures the limit and prints it.
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
