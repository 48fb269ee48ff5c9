//! Tests which arguments the program behind `scripts/check-instructions` refuses. Because of this test, `cargo test`
//! builds the program.

use std::process::Command;

#[test]
fn unknown_arguments_and_missing_values_and_files_are_named_and_refused() {
    for (arguments, named) in [
        (&["--limits"][..], "--limits: expected a value"),
        (&["--no-such"], "--no-such"),
        (&["--gungraun", "/no/such", "--limits", "x"], "/no/such/contains_batch"),
    ] {
        let program = env!("CARGO_BIN_EXE_check_instructions");
        let output = Command::new(program).args(arguments).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "wrong exit code; the message: {message}");
        assert!(
            message.starts_with("error: ") && message.contains(named),
            "{named:?} is not named: {message}"
        );
    }
}
