//! The log of the scheduler and of the executor. Both binaries take the same arguments for the log as Ballista's own
//! binaries, and write the same files.

use ballista_core::config::LogRotationPolicy;
use std::{env, error::Error};
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;

/// Where a binary writes its log, and what the log contains.
pub(crate) struct Log<'a> {
    /// The level for each module, unless the environment variable `RUST_LOG` sets other levels.
    pub(crate) level: &'a str,
    /// The folder of the log files. The log goes to the standard output if this is `None`.
    pub(crate) folder: Option<&'a str>,
    /// The beginning of the names of log files. Unless `rotation` is `Never`, a time follows in the name.
    pub(crate) file_prefix: String,
    /// When a new file is begun.
    pub(crate) rotation: LogRotationPolicy,
    /// Whether each line contains the name and number of its thread.
    pub(crate) shows_threads: bool,
}

impl Log<'_> {
    /// Starts the log of this process.
    ///
    /// # Errors
    ///
    /// The folder or the first file cannot be created.
    pub(crate) fn start(self) -> Result<(), Box<dyn Error>> {
        let level = env::var(EnvFilter::DEFAULT_ENV);
        let log = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_thread_names(self.shows_threads)
            .with_thread_ids(self.shows_threads)
            .with_env_filter(EnvFilter::new(level.as_deref().unwrap_or(self.level)));
        let Some(folder) = self.folder else {
            log.init();
            return Ok(());
        };
        let rotation = match self.rotation {
            LogRotationPolicy::Minutely => Rotation::MINUTELY,
            LogRotationPolicy::Hourly => Rotation::HOURLY,
            LogRotationPolicy::Daily => Rotation::DAILY,
            LogRotationPolicy::Never => Rotation::NEVER,
        };
        let files = RollingFileAppender::builder()
            .rotation(rotation)
            .filename_prefix(self.file_prefix)
            .build(folder)
            .map_err(|error| format!("cannot write a log to {folder}: {error}"))?;
        log.with_writer(files).init();
        Ok(())
    }
}
