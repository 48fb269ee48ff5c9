//! Changes the Bloom filters of a Parquet file.
//!
//!     rewrite INPUT OUTPUT [any-size] [add COLUMN FPR | replace COLUMN FPR | fold COLUMN FPR | remove COLUMN]...
//!
//! The option `any-size` allows `add` and `replace` to make filters whose number of blocks is not a power of two.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use trommel_parquet::Rewrite;

fn main() -> ExitCode {
    match run(env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("{error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprint!(": {cause}");
                source = cause.source();
            }
            eprintln!();
            ExitCode::FAILURE
        }
    }
}

fn run(mut words: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: rewrite INPUT OUTPUT [any-size] [add COLUMN FPR | \
        replace COLUMN FPR | fold COLUMN FPR | remove COLUMN]...\n\
        any-size: add and replace can make filters whose number of blocks is not a power of two";
    let mut rewrite = Rewrite::new(words.next().ok_or(USAGE)?);
    let output = words.next().ok_or(USAGE)?;
    while let Some(verb) = words.next() {
        if verb == "any-size" {
            rewrite = rewrite.any_size(true);
            continue;
        }
        let column = words.next().ok_or(USAGE)?;
        if verb == "remove" {
            rewrite = rewrite.remove(&column);
            continue;
        }
        let fpr: f64 = words.next().ok_or(USAGE)?.parse()?;
        rewrite = match verb.as_str() {
            "add" => rewrite.add(&column, fpr),
            "replace" => rewrite.replace(&column, fpr),
            "fold" => rewrite.fold(&column, fpr),
            _ => return Err(USAGE.into()),
        };
    }
    let report = rewrite.write(output)?;
    println!("{} bytes before, {} after", report.file_bytes_before, report.file_bytes_after);
    Ok(())
}
