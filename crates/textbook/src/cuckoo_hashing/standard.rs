//! Two tables; if an insert exceeds its limit of rounds, all keys are rehashed into larger tables.

use super::hashes::Hashes;
use super::places::MAX_PLACES;
use super::set::{CuckooSet, InsertError, Statistics};
use super::two_tables::{Spot, TwoTables};
use alloc::vec::Vec;
use trommel_base::SpecError;

/// `ε` in the paper's limit of `3 log_(1 + ε) r` rounds: a table has `r` places, and `r ≥ (1 + ε) n` for `n` keys.
const EPSILON: f64 = 0.1;

/// The standard cuckoo hash table: two tables and two hash functions; keys are displaced from one table to
/// the other.
///
/// An insert puts the key at its place in the first table, whether the place is taken or not. A key that is displaced
/// in one table goes to its place in the other table, and so on. A round is one such step in each table. If a key has
/// no place after `3 log_1.1 r` rounds (`r` is the number of places in the larger table), all keys are rehashed with
/// new functions into tables of twice the size.
///
/// Cost: a lookup reads two places. An insert takes a constant number of steps on average, rehashes included, as long
/// as the load stays below one half by a constant margin.
///
/// Source: Pagh and Rodler, "Cuckoo hashing", J. Algorithms 51 (2004), section 3. The paper rehashes into
/// tables of the same size while the load is low enough; here every rehash doubles the tables.
#[derive(Clone, Debug)]
pub struct StandardCuckooSet {
    tables: TwoTables,
    max_rounds: u64,
    statistics: Statistics,
    /// The spots at which the insert in progress has put keys, so that its displacements can be undone.
    path: Vec<Spot>,
}

impl StandardCuckooSet {
    /// Creates an empty set of two tables with `places` places each, and hash functions drawn from a seed.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless each table has 1 to [`MAX_PLACES`] places;
    /// [`SpecError::OutOfMemory`] if the system refuses the tables.
    pub fn new(places: u64, seed: u64) -> Result<Self, SpecError> {
        Self::with_sizes([places, places], seed)
    }

    /// Creates an empty set whose tables can differ in size.
    pub(super) fn with_sizes(sizes: [u64; 2], seed: u64) -> Result<Self, SpecError> {
        let tables = TwoTables::new(sizes, Hashes::new(seed))?;
        let max_rounds = max_rounds(&tables);
        Ok(Self { tables, max_rounds, statistics: Statistics::default(), path: Vec::new() })
    }

    /// The number of places in each table.
    #[must_use]
    pub fn sizes(&self) -> [u64; 2] {
        self.tables.sizes()
    }

    /// The number of keys in each table.
    #[must_use]
    pub fn held(&self) -> [u64; 2] {
        self.tables.held()
    }

    /// Inserts a key by displacing others, and records in `path` where it put keys. The error is the key that has no
    /// place after `max_rounds` rounds.
    fn displace(
        tables: &mut TwoTables,
        key: u64,
        max_rounds: u64,
        statistics: &mut Statistics,
        path: &mut Vec<Spot>,
    ) -> Result<(), u64> {
        path.clear();
        let mut homeless = key;
        for round in 0..max_rounds {
            for table in [0, 1] {
                let spot = tables.spot(table, homeless);
                let displaced = tables.get(spot);
                tables.put(spot, homeless);
                path.push(spot);
                // The new key itself is placed, not displaced.
                statistics.displacements += u64::from(round + table as u64 > 0);
                match displaced {
                    Some(displaced) => homeless = displaced,
                    None => return Ok(()),
                }
            }
        }
        statistics.cycles += 1;
        Err(homeless)
    }

    /// Undoes the displacements after which `homeless` had no place.
    fn undo(&mut self, mut homeless: u64) {
        while let Some(spot) = self.path.pop() {
            let displaced = self.tables.get(spot);
            self.tables.put(spot, homeless);
            homeless = displaced.unwrap_or(homeless);
        }
    }

    /// Moves all keys, including `homeless`, to new tables of twice the size. If the keys cannot be placed, doubles the
    /// size again.
    fn rehash(&mut self, homeless: u64) -> Result<(), InsertError> {
        let mut sizes = self.tables.sizes();
        let mut hashes = self.tables.hashes.clone();
        loop {
            sizes = sizes.map(|size| 2 * size);
            if sizes[0].max(sizes[1]) > MAX_PLACES {
                return Err(InsertError::Full { len: self.len(), places: self.places() });
            }
            hashes = hashes.drawn_again();
            let bytes = 8 * (sizes[0] + sizes[1]);
            let mut tables = TwoTables::new(sizes, hashes.clone())
                .map_err(|_| InsertError::OutOfMemory { bytes })?;
            self.statistics.rehashes += 1;
            let (max_rounds, mut path) = (max_rounds(&tables), Vec::new());
            let statistics = &mut self.statistics;
            let mut keys = self.tables.keys().chain([homeless]);
            let is_placed = keys.all(|key| {
                Self::displace(&mut tables, key, max_rounds, statistics, &mut path).is_ok()
            });
            drop(keys);
            if is_placed {
                (self.tables, self.max_rounds) = (tables, max_rounds);
                return Ok(());
            }
        }
    }
}

fn max_rounds(tables: &TwoTables) -> u64 {
    let [first, second] = tables.sizes();
    let rounds = 3.0 * libm::log(first.max(second) as f64) / libm::log1p(EPSILON);
    libm::ceil(rounds).max(1.0) as u64
}

impl CuckooSet for StandardCuckooSet {
    /// # Errors
    /// If larger tables are needed: [`InsertError::OutOfMemory`] if the system refuses them,
    /// [`InsertError::Full`] if one of the tables would have more than [`MAX_PLACES`] places.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError> {
        if self.contains(key) {
            return Ok(false);
        }
        let Self { tables, max_rounds, statistics, path } = self;
        let placed = Self::displace(tables, key, *max_rounds, statistics, path);
        if let Err(homeless) = placed
            && let Err(error) = self.rehash(homeless)
        {
            self.undo(homeless);
            return Err(error);
        }
        Ok(true)
    }

    fn contains(&self, key: u64) -> bool {
        self.tables.find(key).is_some()
    }

    fn remove(&mut self, key: u64) -> bool {
        self.tables.find(key).is_some_and(|spot| self.tables.take(spot).is_some())
    }

    fn len(&self) -> usize {
        let [first, second] = self.held();
        (first + second) as usize
    }

    fn places(&self) -> usize {
        self.tables.places()
    }

    fn memory_bytes(&self) -> usize {
        self.tables.memory_bytes()
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`CuckooSet::insert`] calls `undo` when a rehash fails.
    #[test]
    fn undo_restores_the_tables() {
        for seed in 0..100 {
            let mut set = StandardCuckooSet::new(8, seed).unwrap();
            let mut key = seed << 32;
            let (homeless, before) = loop {
                let before = set.tables.keys().collect::<Vec<_>>();
                let StandardCuckooSet { tables, max_rounds, statistics, path } = &mut set;
                let placed =
                    StandardCuckooSet::displace(tables, key, *max_rounds, statistics, path);
                if let Err(homeless) = placed {
                    break (homeless, before);
                }
                key += 1;
            };
            set.undo(homeless);
            assert_eq!(set.tables.keys().collect::<Vec<_>>(), before);
            assert!(!set.contains(key) && set.statistics.cycles == 1);
        }
    }
}
