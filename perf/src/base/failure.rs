//! Failures with exit codes by which a script can tell them apart.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

/// The user's input cannot be used, or the output cannot be written: a key file is missing, the machine lacks the
/// instruction set, a directory has no results, the disk is full. The exit code is 2, like that of a command line that
/// does not parse.
#[derive(Debug)]
pub(crate) struct BadInput(pub(crate) String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// Returns a [`BadInput`] error with this message.
pub(crate) fn bad_input(message: impl Into<String>) -> anyhow::Error {
    BadInput(message.into()).into()
}

/// Another run writes to the directory. The exit code is 5: the same call can succeed once that run has ended.
#[derive(Debug)]
pub(crate) struct InUse {
    pub(crate) directory: PathBuf,
    /// The process id of the other run; `None` if the lock file does not hold it.
    pub(crate) holder: Option<u32>,
}

impl fmt::Display for InUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder =
            self.holder.map_or_else(|| "another process".into(), |id| format!("process {id}"));
        write!(
            f,
            "{} is in use: {holder} writes its results there (wait until it has ended, or give another --out)",
            self.directory.display()
        )
    }
}

impl std::error::Error for InUse {}

/// Returns 2 for bad input, 5 for a directory in use, and 1 for any other error, such as a wrong answer of a filter.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.chain().any(|cause| cause.is::<BadInput>()) {
        ExitCode::from(2)
    } else if error.chain().any(|cause| cause.is::<InUse>()) {
        ExitCode::from(5)
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn bad_input_is_recognised_within_added_context() {
        let plain = anyhow::anyhow!("a wrong answer");
        let wrapped: anyhow::Error =
            Err::<(), _>(bad_input("no such file")).context("reading").unwrap_err();
        assert_eq!(format!("{:?}", exit_code(&plain)), format!("{:?}", ExitCode::FAILURE));
        assert_eq!(format!("{:?}", exit_code(&wrapped)), format!("{:?}", ExitCode::from(2)));
    }
}
