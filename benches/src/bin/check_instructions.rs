//! Compares counted instructions with the committed counts; `scripts/check-instructions` calls this program.
//!
//! ```text
//! check_instructions --limits FILE --compiler TEXT [--gungraun DIR] [--update]
//!                    [--history FILE --time TIME --commit COMMIT]
//! ```
//!
//! The counts come from the files that Gungraun has written to DIR or, without `--gungraun`, from a run of this program
//! itself under Callgrind. The program compares these counts with the committed counts in the file of `--limits` or,
//! with `--update`, replaces that file. With `--history`, it also appends the counts to a CSV file. TEXT names the
//! compiler; if the committed counts are those of another compiler, a higher count is no regression. The exit code is 3
//! on a regression, 2 on a wrong argument or any other error, and 1 if the benches are not those in the committed file.

use std::env;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use trommel::Isa;
use trommel_benches::counted::{ISAS, all, bench_name};
use trommel_benches::gate::{
    Count, HISTORY_HEADER, Limits, TOLERATED_PER_CENT, Verdict, compare, history, table,
};
use trommel_callgrind::{Part, Simulated, command, counted};

/// With this argument, the program runs the operations whose instructions are counted. Without `--gungraun`, the
/// program starts itself with this argument under Callgrind.
const RUN: &str = "--run-counted";

#[derive(Debug, Default)]
struct Arguments {
    limits: PathBuf,
    compiler: String,
    gungraun: Option<PathBuf>,
    update: bool,
    history: Option<PathBuf>,
    time: String,
    commit: String,
}

impl Arguments {
    fn parse(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self::default();
        while let Some(name) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{name}: expected a value"));
            match &*name {
                "--limits" => arguments.limits = value()?.into(),
                "--compiler" => arguments.compiler = value()?,
                "--gungraun" => arguments.gungraun = Some(value()?.into()),
                "--history" => arguments.history = Some(value()?.into()),
                "--time" => arguments.time = value()?,
                "--commit" => arguments.commit = value()?,
                "--update" => arguments.update = true,
                other => return Err(format!("{other}: no such argument")),
            }
        }
        Ok(arguments)
    }
}

fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some(RUN) {
        for (op, kind, isa) in all() {
            let mut prepared = op.prepare(kind, isa);
            counted(|| op.run(&mut prepared));
        }
        return ExitCode::SUCCESS;
    }
    check().unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn check() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse(env::args().skip(1))?;
    let counts = match &arguments.gungraun {
        Some(directory) => gungraun_counts(directory)?,
        None => own_counts()?,
    };
    if let Some(file) = &arguments.history {
        append(file, &history(&arguments.time, &arguments.commit, &counts))?;
    }
    let path = &arguments.limits;
    if arguments.update {
        fs::write(path, Limits::write(&arguments.compiler, &counts))?;
        println!("{} counts written to {}", counts.len(), path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let limits = Limits::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let isas: Vec<&str> =
        ISAS.iter().filter(|isa| isa.is_available()).map(|isa| isa.name()).collect();
    let lines = compare(&limits, &counts, &isas);
    print!("{}", table(&lines));
    let with = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    if with(Verdict::New) + with(Verdict::Gone) > 0 {
        println!("the benches are not those in {}: --update writes the file anew", path.display());
        return Ok(ExitCode::FAILURE);
    }
    if limits.compiler != arguments.compiler {
        println!(
            "not compared: {} is for the compiler {:?}; this one, {:?}, makes different code; \
             run --update on a commit that is known to be good",
            path.display(),
            limits.compiler,
            arguments.compiler
        );
        return Ok(ExitCode::SUCCESS);
    }
    if with(Verdict::Fewer) > 0 {
        println!(
            "{} benches take fewer instructions: run --update to keep the new counts",
            with(Verdict::Fewer)
        );
    }
    if with(Verdict::More) > 0 {
        println!(
            "{} of {} benches take over {TOLERATED_PER_CENT} % more instructions than committed",
            with(Verdict::More),
            lines.len()
        );
        return Ok(ExitCode::from(3));
    }
    println!(
        "none of {} benches takes over {TOLERATED_PER_CENT} % more instructions than committed",
        lines.len()
    );
    Ok(ExitCode::SUCCESS)
}

/// Runs this program under Callgrind, and returns the counts of the operations.
fn own_counts() -> Result<Vec<Count>, Box<dyn Error>> {
    let program = env::current_exe()?;
    let out = env::temp_dir().join(format!("check_instructions.{}", std::process::id()));
    let mut command = command(program.as_os_str(), &out, &Simulated::Instructions);
    let status = command.arg(RUN).stdin(Stdio::null()).status()?;
    let text = fs::read_to_string(&out);
    let _ = fs::remove_file(&out);
    if !status.success() {
        return Err(format!("under Valgrind, {RUN} failed: {status}").into());
    }
    let sections = Part::sections(&text?);
    let run = all().count();
    if sections.len() != run {
        return Err(format!("Callgrind saw {} of {run} sections", sections.len()).into());
    }
    let counts =
        all().zip(&sections).map(|((op, kind, isa), part)| count(bench_name(op, kind), isa, part));
    counts.collect()
}

/// Reads the file that Gungraun has written for each bench: `FUNCTION.ID/callgrind.FUNCTION.ID.out` in `directory`.
fn gungraun_counts(directory: &Path) -> Result<Vec<Count>, Box<dyn Error>> {
    let mut counts = Vec::new();
    for (op, kind, isa) in all() {
        let id = format!("{op}.{}_{}", kind.name().replace('-', "_"), isa.name());
        let path = directory.join(&id).join(format!("callgrind.{id}.out"));
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut sum = Part::default();
        Part::all(&text).iter().for_each(|part| sum.add(part));
        counts.push(count(bench_name(op, kind), isa, &sum)?);
    }
    Ok(counts)
}

fn count(bench: String, isa: Isa, part: &Part) -> Result<Count, Box<dyn Error>> {
    let instructions = part.instructions().filter(|count| *count > 0);
    let instructions = instructions.ok_or_else(|| format!("{bench}: nothing was counted"))?;
    let misses = part.d1_misses().zip(part.ll_misses());
    Ok(Count { bench, isa: isa.name().to_owned(), instructions, misses })
}

/// Appends rows to a history. A new file first gets the header.
fn append(path: &Path, rows: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    if file.metadata()?.len() == 0 {
        writeln!(file, "{HISTORY_HEADER}")?;
    }
    file.write_all(rows.as_bytes())
}
