//! What is said on standard output and standard error, whose reader may have seen enough and gone: that is no
//! failure. A disk that is full is one.

use crate::failure::bad_input;
use anyhow::Result;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write as _};

/// Writes a line to standard output.
///
/// # Errors
///
/// What cannot be written, but for a reader that has gone.
pub(crate) fn say_line(line: Arguments<'_>) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(bad_input(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error, as far as anybody reads it.
pub(crate) fn remark_line(line: Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// [`say_line`] as `println!` is written.
macro_rules! say {
    ($($argument:tt)*) => { $crate::console::say_line(format_args!($($argument)*)) };
}

/// [`remark_line`] as `eprintln!` is written.
macro_rules! remark {
    ($($argument:tt)*) => { $crate::console::remark_line(format_args!($($argument)*)) };
}

pub(crate) use {remark, say};
