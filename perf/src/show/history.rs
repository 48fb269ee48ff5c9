//! Histories over commits, for the report: counts of instructions and cache misses, or speeds.

mod counts;
mod speeds;

use crate::base::failure::bad_input;
use crate::base::table::Table;
use crate::show::plots::Series;
use crate::store::speeds as file;
use anyhow::Result;
use counts::Counts;
use speeds::Speeds;
use std::fs;
use std::path::Path;

/// A history over commits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum History {
    Counts(Counts),
    Speeds(Speeds),
}

impl History {
    /// Reads a file. Its columns show whether it holds counts or speeds.
    ///
    /// # Errors
    ///
    /// Bad input if the file cannot be read, lacks a column, has an unknown column, has a line that cannot be parsed or
    /// makes no sense, or has no lines.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let bytes = fs::read(path)
            .map_err(|error| bad_input(format!("cannot read the history {shown}: {error}")))?;
        let history = if file::is_of_speeds(&bytes) {
            file::parse(&bytes).and_then(|steps| Speeds::of(&steps)).map(Self::Speeds)
        } else {
            Counts::parse(&bytes).map(Self::Counts)
        };
        history.map_err(|why| bad_input(format!("{shown} is not a history: {why}")))
    }

    /// The short names of the commits, in the order of the plot.
    pub(crate) fn steps(&self) -> Vec<String> {
        let commits = match self {
            Self::Counts(counts) => counts.commits(),
            Self::Speeds(speeds) => speeds.commits(),
        };
        commits.into_iter().map(|commit| commit.chars().take(7).collect()).collect()
    }

    /// A line of the plot for each bench or case: the change since the line's first commit, in per cent, against the
    /// index of the commit.
    pub(crate) fn series(&self) -> Vec<Series> {
        match self {
            Self::Counts(counts) => counts.series(),
            Self::Speeds(speeds) => speeds.series(),
        }
    }

    /// The latest values of each bench or case.
    pub(crate) fn table(&self) -> Table {
        match self {
            Self::Counts(counts) => counts.table(),
            Self::Speeds(speeds) => speeds.table(),
        }
    }

    /// The quantity that the plot shows: `instructions` or `times`.
    pub(crate) fn quantity(&self) -> &'static str {
        match self {
            Self::Counts(_) => "instructions",
            Self::Speeds(_) => "times",
        }
    }
}

/// The change from the first to the last value, in per cent.
fn change(first: f64, last: f64) -> f64 {
    (last / first - 1.0) * 100.0
}
