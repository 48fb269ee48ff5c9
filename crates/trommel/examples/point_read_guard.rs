//! A frozen filter in front of a sorted file: the filter saves the reads for most absent keys.
//!
//! ```sh
//! cargo run --release -p trommel --example point_read_guard
//! ```
//!
//! Writes a file of records sorted by key and, beside it, the filter of its keys. Then opens both, as a storage engine
//! opens a table, and looks up present and absent keys, first without the filter and then with it. Unless the filter
//! reports the key as absent, a lookup is a binary search of the file, with one record read per step. Every answer is
//! checked.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::{env, process};
use trommel::{Filter, FilterView, Insert, SplitBlockBloom};

const RECORDS: u64 = 200_000;
const LOOKUPS: u64 = 20_000;
/// A big-endian key of eight bytes, and a value of 24 bytes.
const RECORD_BYTES: usize = 32;
const KEY_BYTES: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Scratch::new()?;
    let (records, filter) = (directory.0.join("records"), directory.0.join("records.filter"));
    write_table(&records, &filter)?;

    let frozen = fs::read(&filter)?;
    let guard = FilterView::parse(&frozen)?;
    let mut table = Table::open(&records)?;
    println!(
        "{RECORDS} records, a filter of {} bytes: {:.1} bits per key, {:.2} % false positives expected",
        guard.memory_bytes(),
        guard.bits_per_key(),
        guard.expected_fpr() * 100.0
    );
    for (what, guard) in [("without the filter", None), ("with the filter", Some(&guard))] {
        for (keys, present) in [("present", true), ("absent", false)] {
            table.reads = 0;
            let mut searches = 0;
            for i in 0..LOOKUPS {
                // The file holds even keys, so odd keys are absent.
                let key = 2 * (i * 7919 % RECORDS) + u64::from(!present);
                let expected = present.then(|| value(key));
                let maybe = guard.is_none_or(|guard| guard.contains(&key));
                searches += u64::from(maybe);
                let got = if maybe { table.get(key)? } else { None };
                assert_eq!(got, expected, "the record of key {key}");
            }
            println!(
                "{what}: {LOOKUPS} lookups of {keys} keys took {searches} searches, {} reads",
                table.reads
            );
        }
    }
    Ok(())
}

/// The value of a key.
fn value(key: u64) -> [u8; RECORD_BYTES - KEY_BYTES] {
    core::array::from_fn(|i| (key >> (i % 8)) as u8)
}

/// Writes the records of all even keys below `2 * RECORDS`, and the filter of the keys.
fn write_table(records: &Path, filter: &Path) -> Result<(), Box<dyn Error>> {
    let mut to = BufWriter::new(File::create(records)?);
    let mut keys = SplitBlockBloom::with_capacity_and_fpr(RECORDS as usize, 0.01)?;
    for key in (0..RECORDS).map(|i| 2 * i) {
        to.write_all(&key.to_be_bytes())?;
        to.write_all(&value(key))?;
        keys.insert(&key)?;
    }
    to.flush()?;
    keys.write_to(File::create(filter)?)?;
    Ok(())
}

/// A file of sorted records, and the number of reads so far.
struct Table {
    file: File,
    records: u64,
    reads: u64,
}

impl Table {
    fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        let file = File::open(path)?;
        let records = file.metadata()?.len() / RECORD_BYTES as u64;
        Ok(Self { file, records, reads: 0 })
    }

    /// The value of a key, by binary search.
    fn get(&mut self, key: u64) -> Result<Option<[u8; RECORD_BYTES - KEY_BYTES]>, Box<dyn Error>> {
        let (mut low, mut high) = (0, self.records);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut record = [0; RECORD_BYTES];
            self.file.seek(SeekFrom::Start(middle * RECORD_BYTES as u64))?;
            self.file.read_exact(&mut record)?;
            self.reads += 1;
            let (found, value) = record.split_at(KEY_BYTES);
            match found.cmp(&key.to_be_bytes()) {
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Greater => high = middle,
                core::cmp::Ordering::Equal => return Ok(Some(value.try_into()?)),
            }
        }
        Ok(None)
    }
}

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        let path = env::temp_dir().join(format!("trommel-point-read-guard-{}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // An error is ignored: the directory is in the system's folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
