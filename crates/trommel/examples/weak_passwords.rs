//! Judges passwords by a filter of known weak passwords. Their list is needed only to build the filter.
//!
//! ```sh
//! cargo run --release -p trommel --example weak_passwords -- WORD_LIST [PASSWORD...]
//! ```
//!
//! The list has one word per line, in any encoding. The passwords to check are the other arguments, or the lines of
//! standard input if there are none. A password of the list is always called weak. Of the passwords that are not in the
//! list, about one in a thousand is called weak too, and its owner has to choose another.
//!
//! Spafford describes such a Bloom filter in "OPUS: preventing weak password choices" (1992).

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::{env, fs};
use trommel::{CacheLineBloom, Filter, Insert};

/// The expected share of passwords outside the list that are called weak.
const FPR: f64 = 0.001;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = env::args_os().skip(1);
    let Some(path) = arguments.next() else {
        return Err("no word list: weak_passwords WORD_LIST [PASSWORD...]".into());
    };
    let name = path.display();
    let list = fs::read(&path).map_err(|error| format!("cannot read {name}: {error}"))?;
    let words = words(&list);
    if words.is_empty() {
        return Err(format!("{name} has no words: expected one per line"));
    }
    let filter = build(&words)?;
    eprintln!(
        "{} words of {name} in {} bytes: {:.1} bits per word, 1 in {:.0} other passwords is called weak",
        words.len(),
        filter.memory_bytes(),
        filter.bits_per_key(),
        1.0 / filter.expected_fpr()
    );

    let passwords: Vec<_> = arguments.collect();
    if passwords.is_empty() {
        for line in io::stdin().lock().split(b'\n') {
            judge(&filter, trimmed(&line.map_err(|error| format!("standard input: {error}"))?))?;
        }
    }
    passwords.iter().try_for_each(|password| judge(&filter, password.as_encoded_bytes()))
}

/// The lines that are not empty, without their terminators.
fn words(list: &[u8]) -> Vec<&[u8]> {
    list.split(|byte| *byte == b'\n').map(trimmed).filter(|word| !word.is_empty()).collect()
}

/// A line without the carriage return at its end. In files from Windows, each line has one.
fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn build(words: &[&[u8]]) -> Result<CacheLineBloom, String> {
    let mut filter = CacheLineBloom::with_capacity_and_fpr(words.len(), FPR)
        .map_err(|error| error.to_string())?;
    for word in words {
        filter.insert(*word).map_err(|error| error.to_string())?;
    }
    Ok(filter)
}

fn judge(filter: &CacheLineBloom, password: &[u8]) -> Result<(), String> {
    let verdict = if filter.contains(password) { "weak (perhaps)" } else { "not in list" };
    let password = String::from_utf8_lossy(password);
    writeln!(io::stdout(), "{password}: {verdict}")
        .map_err(|error| format!("standard output: {error}"))
}
