//! Measures `trommel build`, `trommel query` and programs that only read lines, and prints a Markdown table.
//!
//! ```sh
//! cargo build --release -p trommel-cli
//! cargo run --release -p trommel-cli --example measure -- target/release/trommel [LINES [REPETITIONS [FOLDER]]]
//! ```
//!
//! Writes a file of LINES lines (default: 20 million) of 9 digits into FOLDER (default: the temporary folder). Runs
//! every command once in each of REPETITIONS rounds (default: 5), after a round that fills the page cache. Removes the
//! files that it wrote. In each round, each kind is built twice, with `--keys` and then without; the second filter is
//! queried for all lines and must contain them all.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, process};

type Outcome<T> = Result<T, Box<dyn Error>>;

const FIRST_LINE: u64 = 100_000_000;
const BLOCK_BYTES: usize = 1 << 18;
const KINDS: [&str; 4] = ["split-block-bloom", "bloom", "cuckoo", "quotient"];

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        process::exit(2);
    }
}

fn run() -> Outcome<()> {
    let mut arguments = env::args().skip(1);
    let trommel = PathBuf::from(arguments.next().ok_or("the path of trommel is missing")?);
    let lines: u64 = arguments.next().map_or(Ok(20_000_000), |text| text.parse())?;
    let repetitions: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    if !(1..=FIRST_LINE * 9).contains(&lines) || repetitions == 0 {
        return Err("LINES must be 1 to 900,000,000, and REPETITIONS at least 1".into());
    }
    let folder = arguments.next().map_or_else(env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("trommel-measure-{}", process::id()));
    fs::create_dir(&folder)?;
    let measured = measure(&trommel, lines, repetitions, &folder);
    fs::remove_dir_all(&folder)?;
    measured
}

fn measure(trommel: &Path, lines: u64, repetitions: usize, folder: &Path) -> Outcome<()> {
    let input = folder.join("lines");
    write_lines(&input, lines)?;
    let mut rows = vec![
        Row::new("`wc -l`", {
            let input = input.clone();
            move || succeed(Command::new("wc").arg("-l").arg(&input))
        }),
        Row::new("read in blocks, one thread", {
            let input = input.clone();
            move || read_blocks(&input, |_| 0).map(|_| ())
        }),
        Row::new("read and split into lines, one thread", {
            let input = input.clone();
            move || {
                let found = read_blocks(&input, split)?;
                if found == lines { Ok(()) } else { Err("wrong number of lines".into()) }
            }
        }),
    ];
    for kind in KINDS {
        for with_keys in [true, false] {
            let filter = folder.join(kind);
            let keys = if with_keys { format!(" --keys {lines}") } else { String::new() };
            let (trommel, input) = (trommel.to_owned(), input.clone());
            let name = format!("`trommel build --kind {kind}{keys}`");
            rows.push(Row::new(&name, move || {
                let mut build = Command::new(&trommel);
                build.args(["build", "--kind", kind, "-o"]).arg(&filter).arg(&input);
                if with_keys {
                    build.args(["--keys", &lines.to_string()]);
                }
                succeed(&mut build)
            }));
        }
        let (trommel, filter, input) = (trommel.to_owned(), folder.join(kind), input.clone());
        rows.push(Row::new(&format!("`trommel query --absent` ({kind})"), move || {
            let mut query = Command::new(&trommel);
            query.args(["query", "--absent"]).arg(&filter).stdin(File::open(&input)?);
            let asked = query.output()?;
            // No line is absent, so the query prints nothing and its exit code is 1.
            if asked.status.code() == Some(1) && asked.stdout.is_empty() {
                Ok(())
            } else {
                Err(format!("{kind}: a line is not in its filter").into())
            }
        }));
    }
    for round in 0..=repetitions {
        for row in &mut rows {
            let (begin, busy) = (Instant::now(), processor_seconds());
            (row.run)()?;
            // The first round fills the page cache.
            if round > 0 {
                row.times.push(begin.elapsed());
                row.busy.push(processor_seconds() - busy);
            }
        }
    }
    println!(
        "| {lines} lines of 9 digits | median, s | best, s | processor, s | million lines per second |"
    );
    println!("|---|---:|---:|---:|---:|");
    for row in &mut rows {
        row.times.sort_unstable();
        let (median, best) = (row.times[row.times.len() / 2], row.times[0]);
        let throughput = lines as f64 / median.as_secs_f64() / 1e6;
        row.busy.sort_unstable_by(f64::total_cmp);
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {throughput:.0} |",
            row.name,
            median.as_secs_f64(),
            best.as_secs_f64(),
            row.busy[row.busy.len() / 2]
        );
    }
    Ok(())
}

/// A row of the table: a command and the times of its runs.
struct Row {
    name: String,
    run: Box<dyn FnMut() -> Outcome<()>>,
    times: Vec<Duration>,
    /// Seconds of processor time of all threads.
    busy: Vec<f64>,
}

impl Row {
    fn new(name: &str, run: impl FnMut() -> Outcome<()> + 'static) -> Self {
        Self { name: name.to_owned(), run: Box::new(run), times: Vec::new(), busy: Vec::new() }
    }
}

/// The processor time of this process and of the children that it has waited for; 0 if there is no `/proc`.
fn processor_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let Ok(stat) = fs::read_to_string("/proc/self/stat") else { return 0.0 };
    // The fields are counted from the end of the program's name, which may have spaces. Fields 12 and 13 after the name
    // are the user and system time of this process, and the next two those of its children.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(4);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}

fn write_lines(path: &Path, lines: u64) -> Outcome<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create_new(path)?);
    for line in FIRST_LINE..FIRST_LINE + lines {
        writeln!(file, "{line}")?;
    }
    file.flush()?;
    Ok(())
}

fn succeed(command: &mut Command) -> Outcome<()> {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

/// The sum of `count` over all blocks of a file. A line may be divided between two blocks.
fn read_blocks(path: &Path, count: impl Fn(&[u8]) -> u64) -> Outcome<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; BLOCK_BYTES];
    let mut sum = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(sum);
        }
        sum += count(&buffer[..read]);
    }
}

/// The number of lines that end in a block. `black_box` keeps the compiler from removing the split into lines.
fn split(block: &[u8]) -> u64 {
    let (mut begin, mut lines) = (0, 0);
    for end in memchr::memchr_iter(b'\n', block) {
        lines += u64::from(std::hint::black_box(&block[begin..end]).len() <= BLOCK_BYTES);
        begin = end + 1;
    }
    lines
}
