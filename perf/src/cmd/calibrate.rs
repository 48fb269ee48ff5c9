//! `calibrate`: measures the constants of the engine's cost model on this machine.

use super::{pin, usable_isa};
use crate::base::console::{remark, say};
use crate::base::files::prepare;
use crate::cli::CalibrateArgs;
use crate::run::engine::{Extent, ThreadSet, calibrate, numbers_of_threads};
use crate::store::lock::lock;
use anyhow::Result;
use std::time::Instant;
use trommel::engine::CostModel;

/// Measures the constants, prints them next to the defaults and as Rust code, and writes them to a file.
pub(crate) fn run(arguments: &CalibrateArgs) -> Result<()> {
    let isa = usable_isa(arguments.isa)?;
    // A directory that cannot be used is refused before anything is measured.
    let _lock = lock(&arguments.out)?;
    prepare(&arguments.out)?;
    let start = Instant::now();
    let thread_sets = ThreadSet::start_all(&numbers_of_threads(None), CostModel::default())?;
    pin();
    let measured = calibrate(&thread_sets, &Extent::full(), isa, |next| remark!("{next}"))?;
    measured.save(&arguments.out)?;
    say!("{}\n\n{}\n", measured.table().to_terminal(), measured.to_rust())?;
    let seconds = start.elapsed().as_secs_f64();
    say!("wrote calibration.json to {} in {seconds:.0} s", arguments.out.display())
}
