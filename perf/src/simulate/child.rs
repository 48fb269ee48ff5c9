//! A program of one job: this one again, under Callgrind.

use super::{Job, Ledger};
use crate::counters::Counts;
use anyhow::{Context as _, Result, bail};
use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use trommel::Isa;
use trommel_callgrind::{Part, Simulated, command};

/// A program that takes longer is ended: a filter that is slow where it is full would take hours.
const LONGEST: Duration = Duration::from_secs(900);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The counts of a job's cases, an operation. Writes to files whose names begin with `file`.
pub(super) fn run(
    job: &Job,
    isa: Isa,
    simulated: &Simulated,
    file: &Path,
) -> Result<Vec<(String, Counts)>> {
    let beside = |what: &str| file.with_extension(what);
    let mut command = command(env::current_exe()?.as_os_str(), &beside("callgrind"), simulated);
    command.args(["simulated", "--isa", isa.name(), &serde_json::to_string(job)?]);
    command.stdin(Stdio::null());
    command.stdout(File::create(beside("ledger"))?).stderr(File::create(beside("said"))?);
    let mut program = command.spawn().context("cannot run Valgrind")?;
    let status = wait(&mut program)?;
    if !status.success() {
        let said = fs::read_to_string(beside("said")).unwrap_or_default();
        bail!("{} ({status})", said.lines().next_back().unwrap_or("it said nothing"));
    }
    let ledger: Ledger = serde_json::from_slice(&fs::read(beside("ledger"))?)?;
    let sections = Part::sections(&fs::read_to_string(beside("callgrind"))?);
    ledger.counts(&sections)
}

/// Waits until a program is done, and ends it when it takes too long.
fn wait(program: &mut Child) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = program.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() > LONGEST {
            program.kill()?;
            program.wait()?;
            bail!("it took longer than {} s", LONGEST.as_secs());
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
