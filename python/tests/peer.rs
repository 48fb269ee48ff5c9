//! Makes the filters of `tests/test_rust.py` in Rust.
//!
//!     peer write KIND FILE     writes a filter to FILE
//!     peer check KIND FILE     makes the same filter, and exits with 1 if the filter in FILE differs from it
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use trommel::{AnyFilter, Filter as _, FilterKind, FilterSpec, Hasher, Insert as _, KeyHash};

/// The hashes of the keys that the test adds, in the order of the test.
fn hashes(hasher: &Hasher) -> Vec<KeyHash> {
    let texts = (0..300).map(|i| hasher.hash(&format!("key-{i}-ключ")));
    let bytes = (0..300u32).map(|i| hasher.hash_bytes(&i.to_be_bytes()));
    let signed = (-150..150i64).map(|i| hasher.hash(&(i * 1_000_003)));
    let unsigned = (0..10u64).map(|i| hasher.hash(&(u64::MAX - i * 7)));
    texts.chain(bytes).chain(signed).chain(unsigned).collect()
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, verb, kind, path] = &arguments[..] else { return Err("three arguments".into()) };
    let kind: FilterKind = kind.parse()?;
    let mut filter = FilterSpec::new(kind).keys(2_000).fpr(0.01).seed(7).build()?;
    let hashes = hashes(&filter.hasher());
    for hash in &hashes {
        filter.insert_hash(*hash)?;
    }
    let path = PathBuf::from(path);
    if verb == "write" {
        std::fs::write(path, filter.to_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let read = AnyFilter::from_bytes(&std::fs::read(path)?)?;
    let is_same = read == filter && hashes.iter().all(|hash| read.contains_hash(*hash));
    Ok(if is_same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
