//! `calibrate`: what work costs on this machine, for the engine's cost model.

use super::{pin, usable_isa};
use crate::cli::CalibrateArgs;
use crate::engine::{Extent, Team, calibrate, numbers_of_threads};
use anyhow::Result;
use std::time::Instant;
use trommel::CostModel;

/// Measures the constants, prints them as Rust and beside the defaults, and writes them.
pub(crate) fn run(arguments: &CalibrateArgs) -> Result<()> {
    let isa = usable_isa(arguments.isa)?;
    let start = Instant::now();
    let teams = Team::of(&numbers_of_threads(None), CostModel::default())?;
    pin();
    let measured = calibrate(&teams, &Extent::full(), isa, |next| eprintln!("{next}"))?;
    println!("{}\n\n{}\n", measured.table().to_terminal(), measured.to_rust());
    measured.save(&arguments.out)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("wrote calibration.json to {} in {seconds:.0} s", arguments.out.display());
    Ok(())
}
