//! Runs one job in another process: this program, under Callgrind.

use super::Job;
use crate::measure::ledger::Ledger;
use crate::model::Counts;
use anyhow::{Context as _, Result, bail};
use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use trommel::Isa;
use trommel_callgrind::{Part, Simulated, command};

/// The time after which a process is killed. Without this limit, a filter that is slow when it is nearly full could
/// take hours.
const LONGEST: Duration = Duration::from_secs(900);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a job and returns, for each case, its name and its counts per operation. Valgrind and the process write three
/// files, whose paths are `file` with the extensions `callgrind`, `ledger` and `said`.
///
/// # Errors
///
/// If the process cannot be started, fails, or takes longer than [`LONGEST`], or if its files cannot be written or
/// read.
pub(super) fn run(
    job: &Job,
    isa: Isa,
    simulated: &Simulated,
    file: &Path,
) -> Result<Vec<(String, Counts)>> {
    let path = |extension: &str| file.with_extension(extension);
    let mut command = command(env::current_exe()?.as_os_str(), &path("callgrind"), simulated);
    command.args(["simulated", "--isa", isa.name(), &serde_json::to_string(job)?]);
    command.stdin(Stdio::null());
    command.stdout(File::create(path("ledger"))?).stderr(File::create(path("said"))?);
    let mut child = command.spawn().context("cannot run Valgrind")?;
    let status = wait(&mut child)?;
    if !status.success() {
        let messages = fs::read_to_string(path("said")).unwrap_or_default();
        bail!("{} ({status})", messages.lines().next_back().unwrap_or("it printed no error"));
    }
    let ledger: Ledger = serde_json::from_slice(&fs::read(path("ledger"))?)?;
    let sections = Part::sections(&fs::read_to_string(path("callgrind"))?);
    ledger.counts(&sections)
}

/// Waits until a process ends, and kills it if it takes longer than [`LONGEST`].
fn wait(child: &mut Child) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            bail!("the process took longer than {} s and was killed", LONGEST.as_secs());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
