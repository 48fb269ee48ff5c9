//! The density-based method beside the standard one: cycles, displacements, time and memory.

use super::Effort;
use crate::clock::{Lap, Stopwatch};
use crate::stats::{median, round_significant};
use anyhow::{Result, ensure};
use serde::Serialize;
use std::fmt;
use trommel_base::Hasher;
use trommel_base::range::reduce;
use trommel_textbook::cuckoo_hashing::{CuckooSet, DensityCuckooSet, StandardCuckooSet};

/// Keys in per cent of the places that both methods start with: where the standard one is meant to
/// work, at its limit, and beyond.
pub(super) const LOADS: [u32; 3] = [45, 50, 80];

/// Who inserts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    Standard,
    DensityBased,
}

impl Method {
    pub(super) const ALL: [Self; 2] = [Self::Standard, Self::DensityBased];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::DensityBased => "density-based",
        })
    }
}

/// Means over all orders of what it took to insert all keys.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Point {
    /// Keys in per cent of the places at the start.
    pub(crate) load_percent: u32,
    pub(crate) keys: u64,
    pub(crate) method: Method,
    /// Inserts that found no end: each leads to a rehash or to an overflow key.
    pub(crate) cycles: f64,
    pub(crate) displacements: f64,
    pub(crate) ns_per_insert: f64,
    /// Beyond the tables at the start.
    pub(crate) extra_bytes: f64,
}

impl Point {
    pub(super) fn per_key(&self, total: f64) -> f64 {
        total / self.keys as f64
    }
}

/// Inserts every number of keys at every load, the two methods interleaved.
pub(super) fn measure(effort: &Effort, say: &mut impl FnMut(&str)) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for load_percent in LOADS {
        for keys in effort.keys.iter().copied() {
            say(&format!("{keys} keys, {load_percent} % of the places"));
            let mut totals = [Total::default(); 2];
            for order in 0..effort.orders {
                let shuffled = shuffled_keys(keys, order);
                fill(&shuffled, load_percent, order, effort.timed_inserts, &mut totals)?;
            }
            for (method, total) in Method::ALL.into_iter().zip(totals) {
                points.push(total.mean(load_percent, keys, method, effort.orders as f64));
            }
        }
    }
    Ok(points)
}

/// Sums over the orders.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    cycles: u64,
    displacements: u64,
    ns_per_insert: f64,
    extra_bytes: u64,
}

impl Total {
    fn mean(self, load_percent: u32, keys: u64, method: Method, orders: f64) -> Point {
        Point {
            load_percent,
            keys,
            method,
            cycles: self.cycles as f64 / orders,
            displacements: self.displacements as f64 / orders,
            ns_per_insert: round_significant(self.ns_per_insert / orders, 4),
            extra_bytes: self.extra_bytes as f64 / orders,
        }
    }
}

/// The same keys for every order, in another sequence.
fn shuffled_keys(keys: u64, order: u64) -> Vec<u64> {
    let (of_keys, of_order) = (Hasher::xxh3(keys), Hasher::xxh3(!order));
    let mut shuffled: Vec<u64> = (0..keys).map(|i| of_keys.hash_u64(i).raw()).collect();
    for last in (1..shuffled.len()).rev() {
        let random = of_order.hash_u64(last as u64).raw();
        shuffled.swap(last, reduce(random, last as u64 + 1) as usize);
    }
    shuffled
}

/// Rounds of both methods on one order; fewer where a round is long.
const MOST_ROUNDS: u64 = 5;

/// Fills sets of both methods, and adds what one set of each has cost. Every round fills as many copies
/// of an empty set as it takes to time enough inserts; they all do the same.
fn fill(
    keys: &[u64],
    load_percent: u32,
    seed: u64,
    timed_inserts: u64,
    totals: &mut [Total; 2],
) -> Result<()> {
    let count = keys.len() as u64;
    // Of one of two tables.
    let places = (count * 50).div_ceil(u64::from(load_percent));
    let rounds = (timed_inserts / count).clamp(1, MOST_ROUNDS);
    let copies = timed_inserts.div_ceil(count * rounds);
    let empty = (StandardCuckooSet::new(places, seed)?, DensityCuckooSet::new(places, seed)?);
    let mut ns = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let is_first = round == 0;
        let [standard, density] = &mut *totals;
        ns[0].push(fill_sets(&empty.0, keys, copies, is_first.then_some(standard))?);
        ns[1].push(fill_sets(&empty.1, keys, copies, is_first.then_some(density))?);
    }
    for (total, ns) in totals.iter_mut().zip(ns) {
        total.ns_per_insert += median(&ns);
    }
    Ok(())
}

/// Inserts the keys into copies of an empty set; the nanoseconds per insert. What was counted on the way
/// goes to `total`.
fn fill_sets<S: CuckooSet + Clone>(
    empty: &S,
    keys: &[u64],
    copies: u64,
    total: Option<&mut Total>,
) -> Result<f64> {
    let mut sets: Vec<S> = (0..copies).map(|_| empty.clone()).collect();
    let lap = time(&mut sets, keys)?;
    for set in &sets {
        ensure!(set.len() == keys.len(), "{} keys of {}", set.len(), keys.len());
        ensure!(keys.iter().all(|key| set.contains(*key)), "a set denies a key");
        ensure!(set.statistics() == sets[0].statistics(), "copies of a set differ");
    }
    if let Some(total) = total {
        let statistics = sets[0].statistics();
        total.cycles += statistics.cycles;
        total.displacements += statistics.displacements;
        total.extra_bytes += (sets[0].memory_bytes() - empty.memory_bytes()) as u64;
    }
    Ok(lap.busy.as_nanos() as f64 / (copies * keys.len() as u64) as f64)
}

fn time<S: CuckooSet>(sets: &mut [S], keys: &[u64]) -> Result<Lap> {
    let stopwatch = Stopwatch::start();
    for set in sets {
        for key in keys {
            ensure!(set.insert(*key)?, "a key was there before it was inserted");
        }
    }
    Ok(stopwatch.stop())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_of_the_same_keys() {
        let [mut first, mut second] = [0, 1].map(|order| shuffled_keys(1000, order));
        assert_ne!(first, second);
        first.sort_unstable();
        second.sort_unstable();
        assert_eq!(first, second);
        first.dedup();
        assert_eq!(first.len(), 1000);
    }
}
