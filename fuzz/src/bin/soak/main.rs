//! `soak [--workers N] HOURS [soak.json]`: runs the fuzz functions for HOURS on changed seeds and on random inputs,
//! without a fuzzer. N workers run at a time; the default is the number of cores.
//!
//! Every worker is a process that runs one round: [`Target::inputs`] inputs of one *target*, a fuzz function. The
//! number of the round initialises the random generator that makes the inputs, so `soak --round TARGET NUMBER` runs a
//! failed round again. [`Target::share`] divides the time of all workers among the targets. The parent process counts
//! what its workers report, and writes `soak.json` after every round. If `soak.json` exists at the start, the parent
//! adds to its counts, and continues the numbering of its rounds. The parent locks the file `soak.json.lock`, and
//! refuses to run if another run has locked this file.
//!
//! The input with which a round failed is kept in the folder `soak.json.failed`, and `soak --input TARGET FILE` runs it
//! again. A round that failed because of the timing of two threads can succeed when it is repeated. While a round runs,
//! its current input is in the folder `soak.json.failed` too, see [`Note`]. If the parent is killed, the next run
//! repeats the rounds that were not counted.
//!
//! The last line of the output begins with `N passed, N failed`, unless an error ends the run. The exit code is 1 if a
//! round failed, now or in an earlier run, or on an error; it is 2 on a wrong argument.

mod note;
mod record;

use note::{Kept, Note};
use record::{Record, Run, beside, lock};
use std::io::{BufRead as _, BufReader, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};
use trommel_fuzz::{
    bloom_operations, cuckoo_operations, engine_operations, hostile_bytes, quotient_operations,
    twin_operations,
};

struct Target {
    name: &'static str,
    /// The fuzz function. Its results are added up in [`Tried::operations`].
    run: fn(&[u8]) -> u64,
    /// The number of inputs of a round. It is chosen so that a round takes from 3 to 30 seconds.
    inputs: u64,
    /// The weight of the target. Its part of the time is its `share` divided by the sum of all shares.
    share: u32,
}

const TARGETS: [Target; 6] = [
    Target { name: "twin_operations", run: twin_operations::run, inputs: 20_000, share: 2 },
    Target { name: "quotient_operations", run: quotient_operations::run, inputs: 20_000, share: 1 },
    Target { name: "bloom_operations", run: bloom_operations::run, inputs: 20_000, share: 1 },
    Target { name: "cuckoo_operations", run: cuckoo_operations::run, inputs: 20_000, share: 1 },
    Target { name: "engine_operations", run: engine_operations::run, inputs: 5_000, share: 2 },
    // Most inputs are refused within microseconds.
    Target { name: "hostile_bytes", run: hostile_bytes::run, inputs: 1_000_000, share: 6 },
];

/// A round that takes longer than this is ended and counts as failed. On an idle machine, a round takes far less time.
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

/// Runs a round in this process, and notes each input before it is run. Prints the sum of what the fuzz function
/// returned, and the total length of the inputs in bytes.
fn round(target: &Target, number: u64, mut note: Option<Note>) -> Result<()> {
    let seeds = seeds(target.name);
    let mut random = Splitmix(number.wrapping_mul(0x2545_F491_4F6C_DD1D));
    let (mut operations, mut bytes) = (0, 0);
    for _ in 0..target.inputs {
        let input = input(&mut random, &seeds);
        if let Some(note) = &mut note {
            note.write(&input)?;
        }
        operations += (target.run)(&input);
        bytes += input.len() as u64;
    }
    println!("{operations} {bytes}");
    Ok(())
}

/// A worker that runs a round.
struct Worker {
    child: Child,
    target: usize,
    number: u64,
    kept: Kept,
    start: Instant,
}

impl Worker {
    fn start(target: usize, number: u64, failed: &Path) -> Result<Self> {
        let name = TARGETS[target].name;
        let kept = Kept::new(failed, name, number);
        let child = Command::new(env::current_exe()?)
            .args(["--round", name, &number.to_string()])
            .arg(&kept.note)
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self { child, target, number, kept, start: Instant::now() })
    }

    /// Returns `None` while the round runs. Afterwards, returns its numbers of operations and bytes, or `Some(None)` if
    /// the round failed. Ends a round that takes longer than [`LONGEST_ROUND`].
    fn poll(&mut self) -> Result<Option<Option<(u64, u64)>>> {
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

/// The commit of this checkout, or an empty text if git does not state it.
fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    output
        .map_or_else(|_| String::new(), |it| String::from_utf8_lossy(&it.stdout).trim().to_owned())
}

/// Runs rounds for a number of hours, with `workers_wanted` workers at a time, and counts them in the file `out`.
/// Returns true if no round has failed, neither now nor in the earlier runs that the file counts.
fn soak(hours: f64, workers_wanted: usize, out: &Path) -> Result<bool> {
    let _locked = lock(out)?;
    let failed = beside(out, ".failed");
    fs::create_dir_all(&failed)?;
    let mut record = Record::read(out)?;
    let mut run = Run::new(commit());
    if !run.commit.is_empty() && record.commits.last() != Some(&run.commit) {
        record.commits.push(run.commit.clone());
    }
    let (before, start) = (record.seconds, Instant::now());
    let limit = Duration::from_secs_f64(hours * 3600.0);
    let mut next = TARGETS.map(|target| record.targets.get(target.name).map_or(0, |it| it.rounds));
    let mut spent = [Duration::ZERO; TARGETS.len()];
    let mut workers: Vec<Worker> = Vec::new();
    let earlier_runs = record.runs.len();
    while start.elapsed() < limit || !workers.is_empty() {
        while workers.len() < workers_wanted && start.elapsed() < limit {
            let target = most_due(&spent, &workers);
            workers.push(Worker::start(target, next[target], &failed)?);
            next[target] += 1;
        }
        let mut running = Vec::new();
        for mut worker in workers {
            match worker.poll()? {
                None => running.push(worker),
                Some(outcome) => {
                    spent[worker.target] += worker.start.elapsed();
                    run.executions += count_round(&mut record, &worker, outcome);
                    run.seconds = start.elapsed().as_secs();
                    record.seconds = before + run.seconds;
                    record.runs.truncate(earlier_runs);
                    record.runs.push(run.clone());
                    record.write(out)?;
                }
            }
        }
        workers = running;
        std::thread::sleep(Duration::from_millis(50));
    }
    // Fails if the folder has inputs of failed rounds, which must be kept.
    let _ = fs::remove_dir(&failed);
    let failed: u64 = record.targets.values().map(|it| it.failed).sum();
    let passed = record.targets.values().map(|it| it.rounds).sum::<u64>() - failed;
    println!("{passed} passed, {failed} failed (rounds), see {}", out.display());
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

/// Counts a round that has ended, and returns the number of its inputs, or 0 if the round failed. If it failed, keeps
/// its last input, and prints the commands that run the round and this input again.
fn count_round(record: &mut Record, worker: &Worker, outcome: Option<(u64, u64)>) -> u64 {
    let target = &TARGETS[worker.target];
    let (name, kept) = (target.name, &worker.kept);
    let it = record.targets.entry(name.to_owned()).or_default();
    it.rounds += 1;
    let Some((operations, bytes)) = outcome else {
        it.failed += 1;
        eprintln!("FAILED: soak --round {name} {}", worker.number);
        match kept.keep() {
            Ok(()) => eprintln!("Its input: soak --input {name} {}", kept.input.display()),
            Err(error) => eprintln!("Its input was not kept: {error}"),
        }
        return 0;
    };
    it.executions += target.inputs;
    it.operations += operations;
    it.bytes += bytes;
    if let Err(error) = kept.forget() {
        eprintln!("{} could not be removed: {error}", kept.note.display());
    }
    target.inputs
}

/// Parses a number of workers. `None` unless it is from 1 to 1024.
fn parse_workers(text: &str) -> Option<usize> {
    text.parse().ok().filter(|workers| (1..=1024).contains(workers))
}

/// The target with this name.
fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Runs one round or one input, if the arguments say so. Otherwise returns `None`.
fn run_once(words: &[&str]) -> Option<Result<bool>> {
    match *words {
        ["--round", name, number, ref note @ ..] if note.len() <= 1 => {
            let (target, number) = (target(name)?, number.parse().ok()?);
            let note = note.first().map(|path| Note::new(Path::new(path))).transpose();
            Some(note.and_then(|note| round(target, number, note)).map(|()| true))
        }
        ["--input", name, file] => {
            let target = target(name)?;
            Some(fs::read(file).map(|input| {
                (target.run)(&input);
                true
            }))
        }
        _ => None,
    }
}

/// Runs rounds for the hours that the arguments give. Returns `None` on a wrong argument.
fn run_for_hours(words: &[&str]) -> Option<Result<bool>> {
    let (workers, words) = match *words {
        ["--workers", number, ref rest @ ..] => (parse_workers(number)?, rest),
        _ => (std::thread::available_parallelism().map_or(1, usize::from), words),
    };
    let (hours, out) = match *words {
        [hours] => (hours, "soak.json"),
        [hours, out] => (hours, out),
        _ => return None,
    };
    let hours = hours.parse().ok().filter(|hours| (0.0..=10_000.0).contains(hours))?;
    Some(soak(hours, workers, Path::new(out)))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run_once(&words).or_else(|| run_for_hours(&words)) {
        Some(Ok(true)) => ExitCode::SUCCESS,
        Some(Ok(false)) => ExitCode::FAILURE,
        Some(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        None => {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!(
                "usage: soak [--workers N] HOURS [soak.json] | soak --round TARGET NUMBER | soak --input TARGET FILE, \
                 with a TARGET among: {}",
                names.join(" ")
            );
            ExitCode::from(2)
        }
    }
}
