//! Compares two methods of inserting into a cuckoo hash table, the density-based one ([`DensityCuckooSet`]) and the
//! standard one ([`StandardCuckooSet`]): cycles, displacements, time and memory.

use super::Effort;
use crate::base::clock::{Lap, Stopwatch};
use crate::base::stats::{median, round_significant};
use anyhow::{Result, ensure};
use serde::Serialize;
use std::fmt;
use trommel_base::Hasher;
use trommel_base::range::reduce;
use trommel_textbook::cuckoo_hashing::{CuckooSet, DensityCuckooSet, StandardCuckooSet};

/// The loads: the number of keys in per cent of the places (slots) in the initial tables. The standard method is meant
/// for the first load. The second load is the limit of the standard method, and the third exceeds this limit.
pub(super) const LOADS: [u32; 3] = [45, 50, 80];

/// The method of inserting.
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

/// The costs of inserting all keys: means over all random orders of the keys.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Point {
    /// The load, one of [`LOADS`].
    pub(crate) load_percent: u32,
    pub(crate) keys: u64,
    pub(crate) method: Method,
    /// The number of inserts that found no free place, or reached the limit of their search before they found one.
    /// Inserts during a rehash count too. Each such insert leads to a rehash or to a key in an overflow chain.
    pub(crate) cycles: f64,
    /// The number of times that an insert moved a key to another place.
    pub(crate) displacements: f64,
    pub(crate) ns_per_insert: f64,
    /// Bytes of memory in addition to the initial tables.
    pub(crate) extra_bytes: f64,
}

impl Point {
    pub(super) fn per_key(&self, total: f64) -> f64 {
        total / self.keys as f64
    }
}

/// Inserts each number of keys at each load with both methods, which are interleaved.
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

/// The sums over all orders.
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

/// Returns the keys in a random order: every `order` gives the same keys in another sequence.
fn shuffled_keys(keys: u64, order: u64) -> Vec<u64> {
    let (key_hasher, order_hasher) = (Hasher::xxh3(keys), Hasher::xxh3(!order));
    let mut shuffled: Vec<u64> = (0..keys).map(|i| key_hasher.hash_u64(i).raw()).collect();
    for last in (1..shuffled.len()).rev() {
        let random = order_hasher.hash_u64(last as u64).raw();
        shuffled.swap(last, reduce(random, last as u64 + 1) as usize);
    }
    shuffled
}

/// The maximum number of rounds for each random order of the keys. Each round fills sets with both methods. There are
/// fewer rounds if the number of keys exceeds a fifth of the number of timed inserts.
const MOST_ROUNDS: u64 = 5;

/// Fills sets with both methods, and adds the costs of each method to `totals`: the counts of one set, and the median
/// time of the rounds. Every round fills one or more copies of an empty set. The copies behave identically. Their
/// number is chosen so that all rounds together reach the number of timed inserts.
fn fill(
    keys: &[u64],
    load_percent: u32,
    seed: u64,
    timed_inserts: u64,
    totals: &mut [Total; 2],
) -> Result<()> {
    let count = keys.len() as u64;
    // The number of places in each of the two tables.
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

/// Inserts the keys into copies of an empty set and returns the nanoseconds per insert. Unless `total` is `None`, adds
/// the statistics of one of the sets to it.
fn fill_sets<S: CuckooSet + Clone>(
    empty: &S,
    keys: &[u64],
    copies: u64,
    total: Option<&mut Total>,
) -> Result<f64> {
    let mut sets: Vec<S> = (0..copies).map(|_| empty.clone()).collect();
    let lap = time(&mut sets, keys)?;
    for set in &sets {
        ensure!(set.len() == keys.len(), "a set holds {} of {} keys", set.len(), keys.len());
        ensure!(keys.iter().all(|key| set.contains(*key)), "a set does not find an inserted key");
        ensure!(
            set.statistics() == sets[0].statistics(),
            "copies of a set have different statistics"
        );
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
            ensure!(set.insert(*key)?, "a key was found before its insertion");
        }
    }
    Ok(stopwatch.stop())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_have_the_same_distinct_keys() {
        let [mut first, mut second] = [0, 1].map(|order| shuffled_keys(1000, order));
        assert_ne!(first, second);
        first.sort_unstable();
        second.sort_unstable();
        assert_eq!(first, second);
        first.dedup();
        assert_eq!(first.len(), 1000);
    }
}
