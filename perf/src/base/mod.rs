//! Functions that any layer may use: files, formats, statistics, clocks, errors, the terminal.

pub(crate) mod bootstrap;
pub(crate) mod clock;
pub(crate) mod console;
pub(crate) mod failure;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod stats;
pub(crate) mod table;
