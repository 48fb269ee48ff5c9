//! Builds a filter of the keys in a file. Besides the filter, the program takes memory for at most a few million keys,
//! so the file can be larger than memory.
//!
//! ```sh
//! cargo run --release -p trommel --example large_key_file -- 10GB [FOLDER]
//! ```
//!
//! Writes a file of the given size (by default 1 GB) with 64-bit keys into FOLDER, by default the folder for temporary
//! files. Reads the file as a stream of keys, and builds a filter of them. Then streams the file again, with every
//! other key changed to an absent one, and counts the keys that are found. Removes the file at the end.

use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, process};
use trommel::engine::{IntegerBatches, Progress};
use trommel::{Engine, Filter, SplitBlockBloom};

const KEY_BYTES: u64 = 8;
const KEYS_PER_BATCH: usize = 1 << 18;
/// Keys of the filter are smaller than this number; absent keys have this bit set.
const ABSENT_BIT: u64 = 1 << 63;

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        process::exit(2);
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let keys = parse_bytes(arguments.next().as_deref().unwrap_or("1GB"))? / KEY_BYTES;
    let folder = arguments.next().map_or_else(env::temp_dir, PathBuf::from);
    let path = folder.join(format!("trommel-keys-{}", process::id()));
    // `create_new` fails if the file exists already, so only a file that this program has made is removed.
    let file = File::create_new(&path)?;
    let done = generate(file, keys).and_then(|()| filter(&path, keys));
    let removed = fs::remove_file(&path);
    done?;
    Ok(removed?)
}

fn filter(path: &Path, keys: u64) -> Result<(), Box<dyn Error>> {
    let engine = Engine::builder().build()?;
    let mut filter = SplitBlockBloom::with_capacity_and_fpr(usize::try_from(keys)?, 0.01)?;

    let begin = Instant::now();
    let bar = bar("insert", keys);
    let batches = IntegerBatches::new(File::open(path)?, KEYS_PER_BATCH);
    let show = |progress: Progress| bar.set_position(progress.keys);
    engine.stream().progress(show).insert(&mut filter, batches)?;
    report(&bar, keys, begin.elapsed());

    let begin = Instant::now();
    let bar = self::bar("look up", keys);
    // Changes every other key to an absent one.
    let batches = IntegerBatches::new(File::open(path)?, KEYS_PER_BATCH).map(|batch| {
        batch.map(|mut keys| {
            keys.iter_mut().step_by(2).for_each(|key| *key |= ABSENT_BIT);
            keys
        })
    });
    let mut found = 0;
    let show = |progress: Progress| bar.set_position(progress.keys);
    engine.stream().progress(show).contains(&filter, batches, |_, answers| {
        found += answers.count_ones() as u64;
        Ok::<_, io::Error>(())
    })?;
    report(&bar, keys, begin.elapsed());

    // All batches but the last have an even number of keys, so absent keys have even indices in the file.
    let (absent, present) = (keys.div_ceil(2), keys / 2);
    println!(
        "{keys} keys of {} bytes in a filter of {} bytes: all of {present} present keys found, and {} of \
         {absent} absent ones: {:.3} %, expected {:.3} %",
        keys * KEY_BYTES,
        filter.memory_bytes(),
        found - present,
        (found - present) as f64 / absent.max(1) as f64 * 100.0,
        filter.expected_fpr() * 100.0
    );
    if let Some(peak) = peak_bytes() {
        println!("peak memory: {peak} bytes");
    }
    Ok(())
}

/// Writes distinct keys below [`ABSENT_BIT`], unsorted: multiples of an odd number, modulo [`ABSENT_BIT`].
fn generate(file: File, keys: u64) -> Result<(), Box<dyn Error>> {
    let bar = bar("write", keys);
    let mut file = BufWriter::with_capacity(1 << 20, file);
    for i in 0..keys {
        let key = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % ABSENT_BIT;
        file.write_all(&key.to_le_bytes())?;
        if i % (1 << 20) == 0 {
            bar.set_position(i);
        }
    }
    file.into_inner()?.sync_all()?;
    bar.finish_and_clear();
    Ok(())
}

fn bar(what: &'static str, keys: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:8} {bar:40} {human_pos} keys, {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(keys).with_style(style).with_message(what)
}

fn report(bar: &ProgressBar, keys: u64, time: Duration) {
    bar.finish_and_clear();
    let rate = keys as f64 / time.as_secs_f64() / 1e6;
    println!(
        "{}: {:.1} s, {rate:.0} M keys/s, reading included",
        bar.message(),
        time.as_secs_f64()
    );
}

/// A size, with a unit or in bytes: `10GB`, `500MB`, `4096`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => return Err(format!("{other} is not a unit; expected B, KB, MB or GB")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("{text} is not a size such as 10GB"))?;
    let bytes = number.checked_mul(unit).filter(|bytes| *bytes >= KEY_BYTES);
    bytes.ok_or_else(|| format!("{text} is less than one key, or too large"))
}

/// The peak memory of the process, if the system reports it.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib << 10)
}
