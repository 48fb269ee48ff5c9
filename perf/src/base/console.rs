//! Writes to standard output and standard error. If standard output cannot be written, for example because the disk is
//! full, this is a failure, unless a reader such as `head` has closed the pipe. Failures of standard error are ignored.

use crate::base::failure::bad_input;
use anyhow::Result;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write as _};

/// Writes a line to standard output.
///
/// # Errors
///
/// If the line cannot be written, unless the reader has closed the pipe.
pub(crate) fn say_line(line: Arguments<'_>) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(bad_input(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error; ignores failures.
pub(crate) fn remark_line(line: Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// [`say_line`] with the arguments of `println!`.
macro_rules! say {
    ($($argument:tt)*) => { $crate::base::console::say_line(format_args!($($argument)*)) };
}

/// [`remark_line`] with the arguments of `eprintln!`.
macro_rules! remark {
    ($($argument:tt)*) => { $crate::base::console::remark_line(format_args!($($argument)*)) };
}

pub(crate) use {remark, say};
