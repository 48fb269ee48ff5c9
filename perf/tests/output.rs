//! Output that cannot be written: closed pipes, full disks, and paths that are not folders.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trommel-perf");

/// Creates the folder of a run that already has a report.
fn run() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let row = json!({
        "filter": "bloom", "variant": "12-bit", "op": "contains", "api": "batch", "workload": "miss",
        "keys": 1_000_000, "bytes": 1_500_000, "regime": "L2", "load_factor": null, "threads": 1, "isa": "avx2",
        "ns_per_op": 2.0, "mad": 0.01, "mops": 500.0, "roofline_mops": 900.0, "roofline_fraction": 0.5,
        "bits_per_key": 12.0, "fpr_expected": 0.0054, "fpr_measured": 0.00541,
        "cache_misses_per_op": null, "llc_misses_per_op": null, "dtlb_misses_per_op": null,
        "counters": "none", "rival": null, "absent_keys": 1_000_000, "ci_low": 1.99, "ci_high": 2.01,
    });
    let results = json!({
        "schema": 1, "environment": { "caches": {}, "facts": [] }, "noise": null,
        "timed": { "busy_s": 1.0, "waited_s": 0.0 }, "roofline": [], "inputs": [], "rows": [row],
    });
    let samples = json!({ "ns_per_op": { "contains/miss/1e6/bloom/12-bit/batch": vec![2.0; 11] } });
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("results.json", &results.to_string());
    write("samples.json", &samples.to_string());
    write("report.html", "the report that was there before");
    directory
}

/// Requires exit code 2, and one line of output that contains `word`.
fn assert_refused(output: &Output, word: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{word}: {text}");
    assert!(text.lines().count() == 1 && text.contains(word), "{word}: {text}");
}

/// Returns command lines that print without measuring. Some of them read or write the folder of a
/// run.
fn verbs(directory: &Path) -> Vec<Vec<String>> {
    let folder = directory.to_str().unwrap();
    let manual = directory.join("man1");
    let all: [&[&str]; 8] = [
        &["list"],
        &["list", "--full"],
        &["env"],
        &["completions", "bash"],
        &["man", manual.to_str().unwrap()],
        &["report", folder],
        &["compare", folder, folder, "--all"],
        &["measure", "--help"],
    ];
    all.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect()
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let directory = run();
    for words in verbs(directory.path()) {
        // The test closes the pipe itself. With `head` in a shell, the exit code would be that of `head`.
        let mut child = Command::new(PROGRAM)
            .args(&words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{words:?}: {said}");
    }
}

#[test]
fn a_run_continues_after_its_pipes_are_closed() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let mut child = Command::new(PROGRAM)
        .args([
            "measure",
            "--keys",
            "300",
            "-f",
            "miss/3e2/split-block-bloom.*batch",
            "--seconds",
            "1",
        ])
        .arg("--out")
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert!(child.wait().unwrap().success());
    assert!(fs::read_to_string(out.join("report.html")).unwrap().ends_with("</html>\n"));
}

#[test]
fn a_full_disk_behind_standard_output_is_reported() {
    let directory = run();
    for words in verbs(directory.path()).into_iter().filter(|words| words[1..] != ["--help"]) {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(PROGRAM).args(&words).stdout(full).output().unwrap();
        assert_refused(&output, "standard output");
    }
}

#[test]
fn a_full_disk_behind_a_file_is_reported_and_a_device_is_not_replaced() {
    let directory = run();
    let folder = directory.path().to_str().unwrap();
    for option in ["--json", "--junit"] {
        let arguments = ["compare", folder, folder, option, "/dev/full"];
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        assert_refused(&output, "/dev/full");
    }
    assert!(!fs::metadata("/dev/full").unwrap().is_file() && !Path::new("/dev/full.new").exists());
}

/// Runs the program, which can write at most `kib` KiB to a file, as if the disk were full. If `is_ignored` is true,
/// the system's signal for a file over the limit is ignored, so the write returns an error. Otherwise the signal ends
/// the program.
fn limited(kib: u32, is_ignored: bool, words: &[&str]) -> Output {
    let trap = if is_ignored { "trap '' XFSZ; " } else { "" };
    let script = format!("{trap}ulimit -c 0; ulimit -f {kib}; exec \"$0\" \"$@\"");
    Command::new("bash").arg("-c").arg(script).arg(PROGRAM).args(words).output().unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_report_that_does_not_fit_leaves_the_older_one() {
    let directory = run();
    let words = ["report", directory.path().to_str().unwrap()];
    let before = names(directory.path());
    let kept = || fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert_refused(&limited(4, true, &words), "cannot write");
    assert_eq!((names(directory.path()), &*kept()), (before, "the report that was there before"));
    assert_eq!(limited(4, false, &words).status.code(), None);
    assert_eq!(kept(), "the report that was there before");
}

#[test]
fn a_run_that_does_not_fit_leaves_complete_files() {
    for kib in [1, 4] {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("run");
        let shared =
            ["measure", "--keys", "300", "-f", "3e2/split-block-bloom", "--seconds", "1", "--out"];
        let words = [&shared[..], &[out.to_str().unwrap()]].concat();
        let output = limited(kib, true, &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{kib}: {said}");
        assert!(said.lines().last().unwrap().contains("cannot write"), "{kib}: {said}");
        for name in names(&out) {
            assert!(!name.ends_with(".new"), "{name}");
            if name.ends_with(".json") {
                let text = fs::read_to_string(out.join(&name)).unwrap();
                assert!(serde_json::from_str::<Value>(&text).is_ok(), "{name}: {text}");
            }
        }
        assert!(!out.join("report.html").exists());
    }
}

#[test]
fn paths_that_are_not_folders_are_refused_before_measuring() {
    let directory = run();
    let file: PathBuf = directory.path().join("results.json");
    let file = file.to_str().unwrap();
    for out in [file, "/proc/none", "/dev/null/below"] {
        let verbs: [&[&str]; 4] = [
            &["measure", "--quick", "--seconds", "1", "--out", out],
            &["textbook", "--quick", "--out", out],
            &["textbook", "--quick", "--out", directory.path().to_str().unwrap(), "--plots", out],
            &["calibrate", "--out", out],
        ];
        for words in verbs {
            let output = Command::new(PROGRAM).args(words).output().unwrap();
            assert_refused(&output, &format!("cannot write results to {out}"));
        }
        let output = Command::new(PROGRAM).args(["man", out]).output().unwrap();
        assert_refused(&output, out);
    }
    fs::remove_file(directory.path().join("report.html")).unwrap();
    fs::create_dir(directory.path().join("report.html")).unwrap();
    let output = Command::new(PROGRAM).arg("report").arg(directory.path()).output().unwrap();
    assert_refused(&output, "report.html");
}
