//! Two arrays; each key has one place in each of them.

use super::hashes::Hashes;
use super::places::Places;
use trommel_base::SpecError;

/// A place in one of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) table: usize,
    pub(super) place: u64,
}

/// Two tables, each with a hash function of its own.
#[derive(Clone, Debug)]
pub(super) struct TwoTables {
    tables: [Places; 2],
    pub(super) hashes: Hashes,
}

impl TwoTables {
    pub(super) fn new([first, second]: [u64; 2], hashes: Hashes) -> Result<Self, SpecError> {
        let tables = [Places::new("first_places", first)?, Places::new("second_places", second)?];
        Ok(Self { tables, hashes })
    }

    pub(super) fn sizes(&self) -> [u64; 2] {
        [self.tables[0].len(), self.tables[1].len()]
    }

    pub(super) fn places(&self) -> usize {
        // All places are in memory and take eight bytes each, so a `usize` can count them.
        (self.tables[0].len() + self.tables[1].len()) as usize
    }

    /// The number of keys in each table.
    pub(super) fn held(&self) -> [u64; 2] {
        [self.tables[0].held(), self.tables[1].held()]
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.tables[0].memory_bytes() + self.tables[1].memory_bytes()
    }

    /// The key's spot in the given table.
    pub(super) fn spot(&self, table: usize, key: u64) -> Spot {
        Spot { table, place: self.hashes.place(table, key, self.tables[table].len()) }
    }

    pub(super) fn spots(&self, key: u64) -> [Spot; 2] {
        [self.spot(0, key), self.spot(1, key)]
    }

    /// The other spot of a key that stands at `spot`.
    pub(super) fn other(&self, spot: Spot, key: u64) -> Spot {
        self.spot(1 - spot.table, key)
    }

    pub(super) fn get(&self, spot: Spot) -> Option<u64> {
        self.tables[spot.table].get(spot.place)
    }

    pub(super) fn put(&mut self, spot: Spot, key: u64) {
        self.tables[spot.table].put(spot.place, key);
    }

    pub(super) fn take(&mut self, spot: Spot) -> Option<u64> {
        self.tables[spot.table].take(spot.place)
    }

    /// The spot at which a key stands, if it is in the tables.
    pub(super) fn find(&self, key: u64) -> Option<Spot> {
        self.spots(key).into_iter().find(|spot| self.get(*spot) == Some(key))
    }

    /// Moves every key of a path to the path's next spot, beginning at the end, and then puts `key` into the first
    /// spot. Returns the number of keys moved.
    pub(super) fn displace_along(&mut self, path: &[Spot], key: u64) -> u64 {
        for step in path.windows(2).rev() {
            if let Some(displaced) = self.take(step[0]) {
                self.put(step[1], displaced);
            }
        }
        self.put(path[0], key);
        path.len() as u64 - 1
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.tables.iter().flat_map(Places::keys)
    }
}
