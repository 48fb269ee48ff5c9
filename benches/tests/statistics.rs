//! Tests the program behind `scripts/check-statistics`: with few probes it passes, and it refuses wrong arguments.
//! Because of this test, `cargo test` builds the program.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_check_statistics")).args(arguments).output().unwrap()
}

#[test]
fn few_probes_and_rounds_pass() {
    let output = run(&["--probes", "2e5", "--rounds", "3", "--sigmas", "5"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the program failed: {messages}");
    assert!(
        text.ends_with(" passed, 0 failed\n"),
        "the last line is not \"N passed, 0 failed\": {text}"
    );
    for kind in trommel::FilterKind::ALL {
        assert!(
            text.lines().any(|line| line.starts_with(&format!("{kind},"))),
            "{kind} is missing"
        );
    }
}

#[test]
fn wrong_arguments_are_named_and_refused() {
    for (arguments, named) in [
        (&["--probes"][..], "--probes: expected a value"),
        (&["--probes", "0"], "--probes 0: expected a number"),
        (&["--sigmas", "NaN"], "--sigmas NaN: expected a number"),
        (&["--no-such"], "--no-such"),
    ] {
        let output = run(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "wrong exit code; standard error: {message}");
        assert!(
            message.starts_with("error: ") && message.contains(named),
            "the message does not name {named:?}: {message}"
        );
    }
}
