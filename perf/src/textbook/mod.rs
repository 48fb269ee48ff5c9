//! Repeats experiments of papers on cuckoo filters and cuckoo hash tables with the implementations in
//! `trommel-textbook`. The experiments measure the load that each variant reaches in a table of fixed size, and compare
//! the density-based method of inserting with the standard one. As in `trommel-textbook`, a *place* is a slot of a
//! table for one key.
//!
//! | file | content |
//! |---|---|
//! | `loads.rs` | the load of every variant before an insert fails or needs more memory |
//! | `density.rs` | the density-based method compared with the standard one |
//! | `shown.rs` | tables and plots of both experiments |

mod density;
mod loads;
mod shown;

use crate::base::files::{csv_of, replace};
use anyhow::Result;
use std::path::Path;

pub(crate) use density::Point;
pub(crate) use loads::Limit;
pub(crate) use shown::{NAMES, plots, tables};

/// The extent of the experiments.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    /// The binary logarithm of the number of places in a table that is filled until an insert fails.
    place_bits: u32,
    /// The number of tables that are filled for each variant.
    seeds: u64,
    /// The numbers of keys that both methods insert.
    keys: Vec<u64>,
    /// The number of random orders of the keys, each with its own hash functions.
    orders: u64,
    /// The minimum number of timed inserts per method and order. Small tables are filled repeatedly
    /// to reach this number.
    timed_inserts: u64,
}

impl Effort {
    /// The extent of the results in docs/textbook.md.
    pub(crate) fn full() -> Self {
        let keys = vec![50, 100, 150, 200, 500, 1000, 10_000, 100_000, 1_000_000];
        Self { place_bits: 16, seeds: 10, keys, orders: 10, timed_inserts: 200_000 }
    }

    /// An extent that takes a few seconds.
    pub(crate) fn quick() -> Self {
        let keys = vec![50, 100, 200, 1000, 10_000];
        Self { place_bits: 12, seeds: 4, keys, orders: 10, timed_inserts: 20_000 }
    }

    /// The extent for the verb `check`: every experiment runs briefly on few keys, only to verify its answers.
    pub(crate) fn check() -> Self {
        Self { place_bits: 8, seeds: 1, keys: vec![50, 200], orders: 2, timed_inserts: 100 }
    }
}

/// The results of all experiments.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) limits: Vec<Limit>,
    pub(crate) points: Vec<Point>,
}

/// Runs all experiments. Calls `say` with a description before each step.
///
/// # Errors
/// If a table gives a wrong answer, or if the system refuses memory for a table.
pub(crate) fn measure(effort: &Effort, mut say: impl FnMut(&str)) -> Result<Measured> {
    let limits = loads::measure(effort, &mut say)?;
    let points = density::measure(effort, &mut say)?;
    Ok(Measured { limits, points })
}

/// Writes `textbook-loads.csv` and `textbook-density.csv` to the directory `out`, and the plots to `plots_to`.
pub(crate) fn save(measured: &Measured, out: &Path, plots_to: &Path) -> Result<()> {
    replace(&out.join("textbook-loads.csv"), &csv_of(&measured.limits)?)?;
    replace(&out.join("textbook-density.csv"), &csv_of(&measured.points)?)?;
    for (name, svg) in plots(measured)? {
        replace(&plots_to.join(name), svg.as_bytes())?;
    }
    Ok(())
}
