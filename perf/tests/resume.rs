//! Interrupted runs: the files that they leave, and how they are resumed.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The arguments of a short run on few keys. Its cases are in six groups. Once a group is measured, its results are
/// saved.
const SELECTED: [&str; 8] =
    ["measure", "--keys", "500", "--filter", "split-block-bloom", "--no-rivals", "--seconds", "1"];

fn measure(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trommel-perf"));
    command.args(SELECTED).arg("--out").arg(out).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Returns the rows of a run; none if there is no complete file of results.
fn rows(out: &Path) -> Vec<Value> {
    json(&out.join("results.json"))
        .map_or_else(Vec::new, |run| run["rows"].as_array().unwrap().clone())
}

#[test]
fn a_killed_run_leaves_complete_files_and_is_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let mut child = measure(&out, &[]).spawn().unwrap();
    let start = Instant::now();
    while rows(&out).is_empty() && start.elapsed() < Duration::from_secs(600) {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = rows(&out);
    let samples = json(&out.join("samples.json")).unwrap();
    assert!(!kept.is_empty());
    assert!(samples["ns_per_op"].as_object().unwrap().len() >= kept.len());
    let resumed = measure(&out, &["--resume"]).output().unwrap();
    assert!(resumed.status.success(), "{}", said(&resumed));
    let all = rows(&out);
    assert!(all.len() > kept.len() || all == kept, "{} of {}", kept.len(), all.len());
    assert!(all.starts_with(&kept));
    // Standard error is not a terminal here, so the resumed run wrote a line to it for each case that it measured.
    let logged = said(&resumed).lines().filter(|line| line.contains(" ns ±")).count();
    assert_eq!(logged, all.len() - kept.len(), "{}", said(&resumed));
    let samples = json(&out.join("samples.json")).unwrap();
    let repetitions = samples["ns_per_op"].as_object().unwrap();
    assert_eq!(repetitions.len(), all.len());
    // Every case is in exactly one interleaved measurement, whose cases all have the same number of repetitions.
    let mut interleaved = Vec::new();
    for measurement in samples["turns"].as_array().unwrap() {
        let names: Vec<&str> =
            measurement.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let rounds = |name: &&str| repetitions[*name].as_array().unwrap().len();
        assert!(names.windows(2).all(|pair| rounds(&pair[0]) == rounds(&pair[1])), "{names:?}");
        interleaved.extend(names);
    }
    interleaved.sort_unstable();
    assert!(interleaved.iter().eq(repetitions.keys()), "{interleaved:?}");
    // A run compared with itself has no differences.
    let compared = Command::new(env!("CARGO_BIN_EXE_trommel-perf"))
        .arg("compare")
        .args([&out, &out])
        .output()
        .unwrap();
    assert_eq!(compared.status.code(), Some(0), "{}", said(&compared));
}

#[test]
fn a_run_on_other_keys_is_not_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let lines = |keys: std::ops::Range<u32>| keys.map(|key| format!("{key}\n")).collect::<String>();
    fs::write(path("keys"), lines(0..300)).unwrap();
    // If `other keys` replaces `keys`, or `other probes` replaces `probes`, the numbers of keys, probes and matches
    // stay the same, so only the digest differs.
    fs::write(path("other keys"), [lines(100..300), lines(600..700)].concat()).unwrap();
    fs::write(path("probes"), lines(100..500)).unwrap();
    fs::write(path("other probes"), [lines(100..300), lines(600..800)].concat()).unwrap();
    let out = directory.path().join("run");
    let measure_files = |keys: &str, probes: &str, more: &[&str]| {
        let files = [path(keys), path(probes)];
        let files = ["--keys-file", &files[0], "--probes-file", &files[1]];
        measure(&out, &[&files, more].concat()).output().unwrap()
    };
    let first = measure_files("keys", "probes", &[]);
    assert!(first.status.success(), "{}", said(&first));
    let kept = fs::read(out.join("results.json")).unwrap();
    let digest = |run: &Value| run["inputs"][0]["digest"].as_str().unwrap().to_owned();
    let first_digest = digest(&serde_json::from_slice(&kept).unwrap());
    for (keys, probes) in [("other keys", "probes"), ("keys", "other probes")] {
        let refused = measure_files(keys, probes, &["--resume"]);
        let said = said(&refused);
        assert_eq!(refused.status.code(), Some(2), "{keys}, {probes}: {said}");
        assert!(said.contains(&first_digest) && said.contains("--resume"), "{said}");
        assert_eq!(fs::read(out.join("results.json")).unwrap(), kept);
    }
    let same = measure_files("keys", "probes", &["--resume"]);
    assert!(same.status.success(), "{}", said(&same));
    let first_rows = serde_json::from_slice::<Value>(&kept).unwrap()["rows"].clone();
    assert_eq!(json(&out.join("results.json")).unwrap()["rows"], first_rows);
    let others = measure_files("other keys", "probes", &[]);
    assert!(others.status.success(), "{}", said(&others));
    assert_ne!(digest(&json(&out.join("results.json")).unwrap()), first_digest);
}

#[test]
fn a_directory_has_one_run_at_a_time_and_a_killed_run_frees_it() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let lock = out.join("lock");
    let mut first = measure(&out, &[]).spawn().unwrap();
    let id = first.id().to_string();
    let holds_it = || fs::read_to_string(&lock).is_ok_and(|holder| holder.trim() == id);
    while !holds_it() && first.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    let mut refused = vec![measure(&out, &[]), measure(&out, &["--resume"])];
    for verb in ["textbook", "calibrate"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trommel-perf"));
        command.arg(verb).arg("--out").arg(&out);
        refused.push(command);
    }
    for command in &mut refused {
        let second = command.output().unwrap();
        let said = said(&second);
        assert_eq!(second.status.code(), Some(5), "{said}");
        assert!(said.contains(&format!("process {id}")) && said.lines().count() == 1, "{said}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    // The lock file of the killed run remains, but it is no longer locked.
    assert!(holds_it());
    let next = measure(&out, &[]).output().unwrap();
    assert!(next.status.success() && !rows(&out).is_empty(), "{}", said(&next));
}

#[test]
fn a_directory_that_cannot_be_written_to_is_refused_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for out in [file.clone(), file.join("below")] {
        let output = measure(&out, &[]).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot write results to") && said.lines().count() == 1, "{said}");
    }
}
