//! Tests that need a process of their own: for an environment that a process reads once, or for memory that no other
//! test may use.

use std::process::{Command, Output};

/// Runs an ignored test of the calling test program in a new process, with further environment variables.
///
/// # Panics
/// If the process cannot be started.
#[must_use]
pub fn run_ignored(test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// Fails unless the process of [`run_ignored`] ran its test, and the test passed. `what` says which case was run.
#[track_caller]
pub fn assert_passed(output: &Output, what: &str) {
    let [text, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let lines: Vec<&str> = errors.lines().collect();
    let last = lines[lines.len().saturating_sub(12)..].join("\n");
    assert!(output.status.success(), "{what}: {}\n{last}", output.status);
    assert!(text.contains("1 passed"), "{what}: {text}");
}
