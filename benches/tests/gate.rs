//! The program behind `scripts/check-instructions`, which the tests build for it: what it refuses.

use std::process::Command;

#[test]
fn what_is_unknown_or_missing_is_refused_by_name() {
    for (arguments, named) in [
        (&["--limits"][..], "--limits: expected a value"),
        (&["--no-such"], "--no-such"),
        (&["--gungraun", "/no/such", "--limits", "x"], "/no/such/contains_batch"),
    ] {
        let program = env!("CARGO_BIN_EXE_check_instructions");
        let output = Command::new(program).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains(named), "{said}");
    }
}
