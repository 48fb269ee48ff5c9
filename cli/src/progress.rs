//! Progress bars and warnings on standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

/// A progress bar over bytes, or a count of keys if the number of bytes is not known. Hidden if standard error is not a
/// terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    has_end: bool,
}

impl Bar {
    pub(crate) fn new(what: &'static str, bytes: Option<u64>) -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), has_end: false };
        }
        let (bar, template) = match bytes {
            Some(bytes) => {
                let template =
                    "{msg} {bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
                (ProgressBar::new(bytes), template)
            }
            None => (ProgressBar::new_spinner(), "{msg} {spinner} {human_pos} keys, {elapsed}"),
        };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = bar.with_style(style).with_message(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, has_end: bytes.is_some() }
    }

    /// A bar over steps. [`Bar::set_step`] sets the number of steps done and the number of all steps.
    #[cfg(feature = "parquet")]
    pub(crate) fn steps(what: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), has_end: false };
        }
        let style = ProgressStyle::with_template("{pos} of {len} {msg} {bar:40} {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(0).with_style(style).with_message(what);
        Self { bar, has_end: true }
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn set_step(&self, done: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
    }

    pub(crate) fn set(&self, bytes: u64, keys: u64) {
        self.bar.set_position(if self.has_end { bytes } else { keys });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Prints a warning to standard error.
pub(crate) fn warn(message: &str) {
    let _ = writeln!(io::stderr(), "trommel: warning: {message}");
}
