//! `trommel-perf simulated`, which `trommel-perf measure` runs under Callgrind: its sections are found, and their
//! counts are plausible.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use trommel_callgrind::{Cache, Caches, Part, Simulated, command, version};

/// Runs a job under Callgrind and returns the name, the number of operations and the counts of each case.
fn run(job: &Value) -> Vec<(String, u64, Part)> {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let caches = Caches { d1: Cache::nearest(32 << 10, 8), ll: Cache::nearest(8 << 20, 16) };
    let program = OsStr::new(env!("CARGO_BIN_EXE_trommel-perf"));
    let mut command = command(program, &out, &Simulated::Caches(caches));
    let output =
        command.args(["simulated", "--isa", "portable", &job.to_string()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ledger: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut sections = Part::sections(&fs::read_to_string(&out).unwrap()).into_iter();
    let mut counts = Vec::new();
    for entry in ledger.as_array().unwrap() {
        let mut sum = Part::default();
        for _ in 0..entry["sections"].as_u64().unwrap() {
            sum.add(&sections.next().expect("Callgrind finds every section that was run"));
        }
        let name = entry["name"].as_str().unwrap().to_owned();
        counts.push((name, entry["ops"].as_u64().unwrap(), sum));
    }
    assert_eq!(sections.next(), None);
    counts
}

#[test]
fn only_the_timed_sections_of_cases_are_counted() {
    if let Err(missing) = version() {
        eprintln!("skipped: {missing}");
        return;
    }
    let job = |size: Value, loads: &[u32], cases: &[&str]| serde_json::json!({ "size": size, "subject": "", "loads": loads, "cases": cases });
    let names = [
        "contains/miss/2e3/split-block-bloom/12-bit/batch",
        "contains/miss/2e3/split-block-bloom/12-bit/single",
        "insert/2e3/split-block-bloom/12-bit/batch",
    ];
    let plain = run(&job(serde_json::json!({ "Keys": 2000 }), &[], &names));
    let full = [
        "contains/hit/1.9e3/cuckoo/f8-95%-of-2000/batch",
        "remove/1.9e3/cuckoo/f8-95%-of-2000/single",
    ];
    let full = run(&job(serde_json::json!({ "Slots": ["Cuckoo", 2000] }), &[95], &full));
    assert_eq!((plain.len(), full.len()), (3, 2));
    for (name, ops, part) in plain.iter().chain(&full) {
        let per_op = |count: Option<u64>| count.unwrap() as f64 / *ops as f64;
        // The limits are wide, because the counts depend on the compiler.
        let instructions = per_op(part.instructions());
        assert!((5.0..5000.0).contains(&instructions), "{name}: {instructions}");
        // The tables have a few KiB and were just filled, so most of their cache lines are in the
        // L1 data cache.
        assert!(per_op(part.d1_misses()) < 2.0, "{name}");
        // Unlike `d1_misses`, `ll_misses` also counts misses of instruction fetches. Up to 200 of them are allowed.
        assert!(part.ll_misses().unwrap() <= part.d1_misses().unwrap() + 200, "{name}");
        assert!(per_op(part.branch_misses()) < 20.0, "{name}");
    }
}

#[test]
fn a_job_without_known_cases_is_refused() {
    let run = |job: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_trommel-perf"));
        command.args(["simulated", job]).output().unwrap()
    };
    let unknown = run(r#"{"size":{"Keys":9},"subject":"it","loads":[],"cases":["no such case"]}"#);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("it of 9e0 keys"));
    assert_eq!(run("{").status.code(), Some(2));
}
