//! Failures that a script has to tell apart.

use std::fmt;
use std::process::ExitCode;

/// What the user gave cannot be used: a missing key file, an instruction set that the machine lacks,
/// a directory without results, an output that cannot be written, be it that the disk is full. Exit code 2, as for
/// a command line that does not parse.
#[derive(Debug)]
pub(crate) struct BadInput(pub(crate) String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// A [`BadInput`] with this message, as the error of a command.
pub(crate) fn bad_input(message: impl Into<String>) -> anyhow::Error {
    BadInput(message.into()).into()
}

/// 2 for bad input, 1 for everything else: a wrong answer of a filter.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.chain().any(|cause| cause.is::<BadInput>()) {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn bad_input_is_recognised_under_its_context() {
        let plain = anyhow::anyhow!("a wrong answer");
        let wrapped: anyhow::Error =
            Err::<(), _>(bad_input("no such file")).context("reading").unwrap_err();
        assert_eq!(format!("{:?}", exit_code(&plain)), format!("{:?}", ExitCode::FAILURE));
        assert_eq!(format!("{:?}", exit_code(&wrapped)), format!("{:?}", ExitCode::from(2)));
    }
}
