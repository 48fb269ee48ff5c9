//! Tests that a run on a full disk keeps the results of an earlier run, and that an interrupted run keeps its own rows.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The arguments of a short run on few keys. Its cases are in six groups, and each group is saved as soon as it ends.
const SELECTED: [&str; 8] =
    ["measure", "--keys", "500", "--filter", "split-block-bloom", "--no-rivals", "--seconds", "1"];

fn measure(out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trommel-perf"));
    command.args(SELECTED).arg("--out").arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Like [`measure`], but in a shell that limits each file to four blocks (`ulimit -f 4`). Depending on the shell, a
/// block has 512 or 1024 bytes. The signal SIGXFSZ is ignored, so that writing more is an error, as on a full disk.
fn limited(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script =
        format!("trap '' XFSZ; ulimit -f 4; exec '{}' \"$@\"", env!("CARGO_BIN_EXE_trommel-perf"));
    command.args(["-c", &script, "sh"]).args(SELECTED).arg("--out").arg(out).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The rows of a run; none if there is no complete file of results.
fn rows(out: &Path) -> Vec<Value> {
    let run = fs::read(out.join("results.json")).ok();
    let run: Option<Value> = run.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    run.map_or_else(Vec::new, |run| run["rows"].as_array().unwrap().clone())
}

/// The names of temporary files, which a run renames when it has written them completely.
fn unfinished(out: &Path) -> Vec<String> {
    let entries = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().file_name());
    entries
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".new"))
        .collect()
}

#[test]
fn a_run_on_a_full_disk_keeps_the_rows_of_the_run_before() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    // Without an earlier run in `out`, the failed run leaves no file of results, not even an incomplete one.
    let first = limited(&out, &[]).output().unwrap();
    assert_eq!(first.status.code(), Some(2), "{}", said(&first));
    assert!(!out.join("results.json").exists() && unfinished(&out).is_empty());

    let whole = measure(&out).output().unwrap();
    assert!(whole.status.success(), "{}", said(&whole));
    let before = fs::read(out.join("results.json")).unwrap();
    assert!(before.len() > 4 << 10 && !rows(&out).is_empty());
    let refused = limited(&out, &[]).output().unwrap();
    let text = said(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("cannot write") && text.contains("File too large"), "{text}");
    assert!(text.contains(out.to_str().unwrap()) && !text.contains("panicked"), "{text}");
    assert!(fs::read(out.join("results.json")).unwrap() == before);
    assert!(unfinished(&out).is_empty());
}

#[test]
fn an_interrupted_run_keeps_its_rows_and_is_resumed() {
    let directory = tempfile::tempdir().unwrap();
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        let out = directory.path().join(name);
        let mut child = measure(&out).spawn().unwrap();
        let mut has_ended = false;
        while rows(&out).is_empty() && !has_ended {
            sleep(Duration::from_millis(1));
            has_ended = child.try_wait().unwrap().is_some();
        }
        if !has_ended {
            // The process has not been waited for, so no other process has its id, even if it has
            // just ended.
            let id = child.id().to_string();
            Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
        }
        let status = child.wait().unwrap();
        assert!(status.signal() == Some(number) || status.success(), "{status}");
        let kept = rows(&out);
        assert!(!kept.is_empty());
        let resumed = measure(&out).arg("--resume").output().unwrap();
        assert!(resumed.status.success(), "{}", said(&resumed));
        assert!(rows(&out).starts_with(&kept) && unfinished(&out).is_empty());
    }
}
