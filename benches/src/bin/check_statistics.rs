//! Measures false-positive rates, also of filters whose keys are replaced; `scripts/check-statistics` calls this
//! program.
//!
//! ```text
//! check_statistics [--probes N] [--rounds N] [--sigmas S] [--isa SET] [--out DIR]
//! ```
//!
//! `scripts/check-statistics` describes the options. Prints the rows of two tables, one for filled filters and one for
//! filters whose keys are replaced. Also writes the tables to `statistics.csv` and `churn.csv` in DIR. Ends with
//! `N passed, N failed`: the numbers of statements (*claims*) that held, and that did not. Exits with 1 if a claim did
//! not hold, with 2 on a wrong argument or any other error.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use trommel::Isa;
use trommel_benches::statistics::{Effort, churn, rates};

#[derive(Debug)]
struct Arguments {
    effort: Effort,
    out: Option<PathBuf>,
}

/// Parses a number in decimal or exponential form, such as `1e9`, from `least` to `most`. `name` is the option.
fn number(name: &str, text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| format!("{name} {text}: expected a number from {least:e} to {most:e}"))
}

impl Arguments {
    fn parse(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let effort = Effort { probes: 1_000_000_000, rounds: 1000, sigmas: 3.0, isa: None };
        let mut arguments = Self { effort, out: None };
        while let Some(name) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{name}: expected a value"));
            let effort = &mut arguments.effort;
            match &*name {
                "--probes" => effort.probes = number(&name, &value()?, 1.0, 1e12)? as u64,
                "--rounds" => effort.rounds = number(&name, &value()?, 0.0, 1e6)? as u32,
                "--sigmas" => effort.sigmas = number(&name, &value()?, 1.0, 8.0)?,
                "--isa" => {
                    let text = value()?;
                    let isa = text.parse().ok().filter(|isa| Isa::available().any(|it| it == *isa));
                    let isa =
                        isa.ok_or_else(|| format!("{name} {text}: unavailable on this machine"));
                    effort.isa = Some(isa?);
                }
                "--out" => arguments.out = Some(value()?.into()),
                other => return Err(format!("{other}: no such argument")),
            }
        }
        Ok(arguments)
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let arguments = Arguments::parse(env::args().skip(1))?;
    if let Some(out) = &arguments.out {
        fs::create_dir_all(out)?;
    }
    let progress = |line: &str| println!("{line}");
    println!("{}", rates::COLUMNS);
    let rates = rates::run(&arguments.effort, progress)?;
    println!("{}", churn::COLUMNS);
    let churn = churn::run(&arguments.effort, progress)?;
    let (mut passed, mut failed) = (0, 0);
    for (name, outcome) in [("statistics.csv", rates), ("churn.csv", churn)] {
        for claim in &outcome.failed {
            eprintln!("FAILED: {claim}");
        }
        passed += outcome.passed;
        failed += outcome.failed.len();
        if let Some(out) = &arguments.out {
            fs::write(out.join(name), outcome.lines.join("\n") + "\n")?;
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
