//! The experiments of the papers that cuckoo filters and cuckoo hash tables come from, made again with
//! the systems of `trommel-textbook`: how full each gets, and what looking ahead on the cuckoo graph is
//! worth.
//!
//! | file | idea |
//! |---|---|
//! | `loads.rs` | how full every variant gets before an insert fails |
//! | `density.rs` | the density-based method beside the standard one |
//! | `shown.rs` | tables and plots of both |

mod density;
mod loads;
mod shown;

use crate::results::{csv_of, replace};
use anyhow::Result;
use std::path::Path;

pub(crate) use density::Point;
pub(crate) use loads::Limit;
pub(crate) use shown::{NAMES, plots, tables};

/// How much is measured.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    /// Places of a table that is filled until an insert fails: two to this power.
    place_bits: u32,
    /// Tables that are filled of each variant.
    seeds: u64,
    /// Keys that both methods insert.
    keys: Vec<u64>,
    /// Orders of the keys, each with hash functions of its own.
    orders: u64,
    /// Inserts that are timed at least for one figure of one order: small tables are filled many times.
    timed_inserts: u64,
}

impl Effort {
    /// What RESULTS.md shows.
    pub(crate) fn full() -> Self {
        let keys = vec![50, 100, 150, 200, 500, 1000, 10_000, 100_000, 1_000_000];
        Self { place_bits: 16, seeds: 10, keys, orders: 10, timed_inserts: 200_000 }
    }

    /// Some seconds.
    pub(crate) fn quick() -> Self {
        let keys = vec![50, 100, 200, 1000, 10_000];
        Self { place_bits: 12, seeds: 4, keys, orders: 10, timed_inserts: 20_000 }
    }

    /// Every experiment once on few keys, for its answers alone.
    pub(crate) fn check() -> Self {
        Self { place_bits: 8, seeds: 1, keys: vec![50, 200], orders: 2, timed_inserts: 100 }
    }
}

/// What all experiments found.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) limits: Vec<Limit>,
    pub(crate) points: Vec<Point>,
}

/// Makes all experiments; `say` is told what comes next.
///
/// # Errors
/// A key that was inserted and is not found, or a table that cannot be made.
pub(crate) fn measure(effort: &Effort, mut say: impl FnMut(&str)) -> Result<Measured> {
    let limits = loads::measure(effort, &mut say)?;
    let points = density::measure(effort, &mut say)?;
    Ok(Measured { limits, points })
}

/// Writes `textbook-loads.csv` and `textbook-density.csv` to a directory, and the plots to another.
pub(crate) fn save(measured: &Measured, out: &Path, plots_to: &Path) -> Result<()> {
    replace(&out.join("textbook-loads.csv"), &csv_of(&measured.limits)?)?;
    replace(&out.join("textbook-density.csv"), &csv_of(&measured.points)?)?;
    for (name, svg) in plots(measured)? {
        replace(&plots_to.join(name), svg.as_bytes())?;
    }
    Ok(())
}
