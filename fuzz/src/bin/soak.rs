//! `soak [--workers N] HOURS [soak.json]`: runs the fuzz functions for HOURS on changed seeds and on random inputs,
//! without a fuzzer. N workers run at a time; the default is the number of cores.
//!
//! Every worker is a process that runs one round: [`Target::inputs`] inputs of one target. The number of the round
//! initialises the random generator that makes the inputs, so `soak --round TARGET NUMBER` runs a failed round again.
//! The targets get their shares of the time of all workers ([`Target::share`]). The parent process counts what its
//! workers report, and writes `soak.json` after every round. If that file exists at the start, the parent adds to the
//! counts of the file, and goes on with the next numbers. The last line of the output begins with `N passed, N failed`,
//! unless an error ends the run. The exit code is 1 if a round failed, now or in an earlier run, or on an error; it is
//! 2 on a wrong argument.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};
use trommel_fuzz::{cuckoo_operations, hostile_bytes, quotient_operations, twin_operations};

struct Target {
    name: &'static str,
    /// The fuzz function. Its results are added up in [`Tried::operations`].
    run: fn(&[u8]) -> u64,
    /// The number of inputs of a round. It is chosen so that a round takes from 3 to 30 seconds.
    inputs: u64,
    /// The target's part of the time, as a share of the sum of all shares.
    share: u32,
}

const TARGETS: [Target; 4] = [
    Target { name: "twin_operations", run: twin_operations::run, inputs: 20_000, share: 2 },
    Target { name: "quotient_operations", run: quotient_operations::run, inputs: 20_000, share: 1 },
    Target { name: "cuckoo_operations", run: cuckoo_operations::run, inputs: 20_000, share: 1 },
    // Most inputs are refused within microseconds.
    Target { name: "hostile_bytes", run: hostile_bytes::run, inputs: 1_000_000, share: 6 },
];

/// A round that takes longer than this is ended and counts as failed. Much less suffices on an idle machine, and
/// `scripts/soak` also limits the processor time of a round.
const LONGEST_ROUND: Duration = Duration::from_secs(3 * 3600);

/// A generator of random numbers, after Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
struct Splitmix(u64);

impl Splitmix {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }
}

/// Reads the seeds of a target.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| fs::read(file).ok()).collect()
}

/// Returns an input: up to 399 random bytes, or a seed with changes. Half of the changed seeds have one change, a
/// quarter have two, and so on up to eight.
fn input(random: &mut Splitmix, seeds: &[Vec<u8>]) -> Vec<u8> {
    if seeds.is_empty() || random.below(3) == 0 {
        return (0..random.below(400)).map(|_| random.word() as u8).collect();
    }
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.word().trailing_zeros().min(7) {
        let at = random.below(bytes.len());
        match (random.below(4), bytes.get_mut(at)) {
            (0, Some(byte)) => *byte = random.word() as u8,
            (1, Some(byte)) => *byte ^= 1 << random.below(8),
            (2, Some(_)) => drop(bytes.remove(at)),
            _ => {
                let from = &seeds[random.below(seeds.len())];
                let start = random.below(from.len());
                let piece = &from[start..from.len().min(start + 24)];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
    bytes
}

/// Runs a round in this process. Prints the sum of what the fuzz function returned, and the total length of the inputs
/// in bytes.
fn round(target: &Target, number: u64) {
    let seeds = seeds(target.name);
    let mut random = Splitmix(number.wrapping_mul(0x2545_F491_4F6C_DD1D));
    let (mut operations, mut bytes) = (0, 0);
    for _ in 0..target.inputs {
        let input = input(&mut random, &seeds);
        operations += (target.run)(&input);
        bytes += input.len() as u64;
    }
    println!("{operations} {bytes}");
}

/// The counts of what was tried so far: the contents of `soak.json`.
#[derive(Default, Serialize, Deserialize)]
struct Record {
    /// The commits that were tried, the latest last.
    commits: Vec<String>,
    seconds: u64,
    targets: BTreeMap<String, Tried>,
}

/// The counts of one target.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Tried {
    rounds: u64,
    failed: u64,
    /// The number of inputs of the rounds that did not fail.
    executions: u64,
    /// The sum of what the fuzz function returned for these inputs: operations; for `twin_operations`, keys that
    /// operations used; for `hostile_bytes`, inputs that were accepted as filters.
    operations: u64,
    /// The total length of these inputs in bytes.
    bytes: u64,
}

impl Record {
    /// Reads the record of earlier runs; an empty one if there is none.
    fn read(path: &Path) -> std::io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes a new file and renames it, so that a run that is killed leaves the old file or the new one.
    fn write(&self, path: &Path) -> std::io::Result<()> {
        let beside = path.with_extension("json.new");
        fs::write(&beside, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&beside, path)
    }
}

/// A worker that runs a round.
struct Worker {
    child: Child,
    target: usize,
    number: u64,
    start: Instant,
}

impl Worker {
    fn start(target: usize, number: u64) -> std::io::Result<Self> {
        let child = Command::new(env::current_exe()?)
            .args(["--round", TARGETS[target].name, &number.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self { child, target, number, start: Instant::now() })
    }

    /// Returns `None` while the round runs. Afterwards, returns its numbers of operations and bytes, or `Some(None)` if
    /// it failed. Ends a round that takes longer than [`LONGEST_ROUND`].
    fn poll(&mut self) -> std::io::Result<Option<Option<(u64, u64)>>> {
        let Some(status) = self.child.try_wait()? else {
            if self.start.elapsed() < LONGEST_ROUND {
                return Ok(None);
            }
            self.child.kill()?;
            self.child.wait()?;
            return Ok(Some(None));
        };
        let mut line = String::new();
        if let Some(out) = self.child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let mut numbers = line.split_whitespace().map(str::parse);
        match (status.success(), numbers.next(), numbers.next()) {
            (true, Some(Ok(operations)), Some(Ok(bytes))) => Ok(Some(Some((operations, bytes)))),
            _ => Ok(Some(None)),
        }
    }
}

/// Runs rounds for a number of hours, with `workers_wanted` workers at a time, and counts them in the file `out`.
/// Returns true if no round has failed, neither now nor in the earlier runs that the file counts.
fn soak(hours: f64, workers_wanted: usize, out: &Path) -> std::io::Result<bool> {
    let mut record = Record::read(out)?;
    let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if let Ok(commit) = commit.map_err(drop)
        && record.commits.last() != Some(&commit)
    {
        record.commits.push(commit);
    }
    let (before, start) = (record.seconds, Instant::now());
    let limit = Duration::from_secs_f64(hours * 3600.0);
    let mut next = TARGETS.map(|target| record.targets.get(target.name).map_or(0, |it| it.rounds));
    let mut spent = [Duration::ZERO; TARGETS.len()];
    let mut workers: Vec<Worker> = Vec::new();
    while start.elapsed() < limit || !workers.is_empty() {
        while workers.len() < workers_wanted && start.elapsed() < limit {
            let target = most_due(&spent, &workers);
            workers.push(Worker::start(target, next[target])?);
            next[target] += 1;
        }
        let mut running = Vec::new();
        for mut worker in workers {
            match worker.poll()? {
                None => running.push(worker),
                Some(outcome) => {
                    spent[worker.target] += worker.start.elapsed();
                    count_round(&mut record, &worker, outcome);
                    record.seconds = before + start.elapsed().as_secs();
                    record.write(out)?;
                }
            }
        }
        workers = running;
        std::thread::sleep(Duration::from_millis(50));
    }
    let failed: u64 = record.targets.values().map(|it| it.failed).sum();
    let passed = record.targets.values().map(|it| it.rounds).sum::<u64>() - failed;
    println!("{passed} passed, {failed} failed: rounds, see {}", out.display());
    Ok(failed == 0)
}

/// The target with the least time per share. The time of rounds that still run counts too.
fn most_due(spent: &[Duration; TARGETS.len()], workers: &[Worker]) -> usize {
    let time = |target: usize| {
        let running = workers.iter().filter(|worker| worker.target == target);
        let all = spent[target] + running.map(|worker| worker.start.elapsed()).sum::<Duration>();
        all / TARGETS[target].share
    };
    (0..TARGETS.len()).min_by_key(|target| time(*target)).unwrap_or(0)
}

/// Counts a round that has ended. If it failed, prints the command that runs it again.
fn count_round(record: &mut Record, worker: &Worker, outcome: Option<(u64, u64)>) {
    let target = &TARGETS[worker.target];
    let name = target.name;
    let it = record.targets.entry(name.to_owned()).or_default();
    it.rounds += 1;
    match outcome {
        Some((operations, bytes)) => {
            it.executions += target.inputs;
            it.operations += operations;
            it.bytes += bytes;
        }
        None => {
            it.failed += 1;
            eprintln!("FAILED: soak --round {name} {}", worker.number);
        }
    }
}

/// Parses a number of workers. `None` unless it is from 1 to 1024.
fn parse_workers(text: &str) -> Option<usize> {
    text.parse().ok().filter(|workers| (1..=1024).contains(workers))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (workers, words) = match words[..] {
        ["--workers", number, ref rest @ ..] => (parse_workers(number), rest),
        _ => (Some(std::thread::available_parallelism().map_or(1, usize::from)), &words[..]),
    };
    match *words {
        ["--round", name, number] => {
            let target = TARGETS.iter().find(|target| target.name == name);
            if let (Some(target), Ok(number)) = (target, number.parse()) {
                round(target, number);
                return ExitCode::SUCCESS;
            }
        }
        [hours] | [hours, _] => {
            let out = words.get(1).copied().unwrap_or("soak.json");
            let hours = hours.parse().ok().filter(|hours| (0.0..=10_000.0).contains(hours));
            if let (Some(hours), Some(workers)) = (hours, workers) {
                return match soak(hours, workers, Path::new(out)) {
                    Ok(true) => ExitCode::SUCCESS,
                    Ok(false) => ExitCode::FAILURE,
                    Err(error) => {
                        eprintln!("error: {error}");
                        ExitCode::FAILURE
                    }
                };
            }
        }
        _ => {}
    }
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    eprintln!(
        "usage: soak [--workers N] HOURS [soak.json] | soak --round TARGET NUMBER, with a TARGET among: {}",
        names.join(" ")
    );
    ExitCode::from(2)
}
