//! A set that displaces keys in the denser of two tables first, and never rehashes. A key whose displacements would
//! cycle or exceed a limit goes into an overflow chain.

use super::hashes::Hashes;
use super::set::{CuckooSet, InsertError, Statistics};
use super::two_tables::{Spot, TwoTables};
use super::walk::walk;
use alloc::vec::Vec;
use trommel_base::SpecError;

/// The default limit on the displacements of one insert, as a fraction of the first table's places.
const DEFAULT_BOUND: f64 = 0.2;

/// The density-based cuckoo hash table: two tables, and overflow chains at the places of the first table.
///
/// An insert takes a free place if either of the key's two places is free. If both are taken, the new key takes its
/// place in the denser table (the table with more keys per place). The key that stood there goes to the sparser table,
/// where it can displace another key, and so on. If this path of displacements would cycle or exceed a limit, the
/// insert tries the path that begins at the new key's place in the other table. Paths are followed on the [cuckoo
/// graph](super) before any key is moved. If neither path ends within the limit, the new key is appended to the
/// *overflow chain* of its place in the first table. So no insert fails halfway, and there is no rehash.
///
/// If both tables have the same size and nothing was removed, the first table is nearly always the denser one: each of
/// its places is taken as soon as a key hashes there.
///
/// Cost: a lookup reads two places, and the chain if the key is in neither place. At least `keys − places` keys
/// are in chains. The heads of the chains, 4 bytes per place of the first table, are allocated at the first
/// overflow; each key in a chain takes 16 bytes.
///
/// Source: density-based cuckoo hashing, a variant of Pagh and Rodler's table that never rehashes. As published, it
/// tries only the path from the denser table, and so chains some keys for which the other path would end. This
/// implementation chains a key only if neither path ends within the limit, which is by default 0.2 times the number
/// of places in the first table.
#[derive(Clone, Debug)]
pub struct DensityCuckooSet {
    tables: TwoTables,
    chains: Chains,
    max_displacements: u64,
    statistics: Statistics,
}

impl DensityCuckooSet {
    /// Creates an empty set of two tables with `places` places each, and hash functions drawn from a seed.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] unless each table has 1 to [`MAX_PLACES`](super::MAX_PLACES) places;
    /// [`SpecError::OutOfMemory`] if the system refuses the tables.
    pub fn new(places: u64, seed: u64) -> Result<Self, SpecError> {
        Self::with_sizes([places, places], seed)
    }

    /// Creates an empty set whose tables can differ in size.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn with_sizes(sizes: [u64; 2], seed: u64) -> Result<Self, SpecError> {
        let tables = TwoTables::new(sizes, Hashes::new(seed))?;
        let max_displacements = libm::ceil(DEFAULT_BOUND * sizes[0] as f64) as u64;
        let (chains, statistics) = (Chains::default(), Statistics::default());
        Ok(Self { tables, chains, max_displacements, statistics })
    }

    /// Returns the same set with another limit on the displacements of one insert. With 0, nothing is
    /// displaced, and a key is chained if both of its places are taken.
    #[must_use]
    pub fn with_max_displacements(self, max_displacements: u64) -> Self {
        Self { max_displacements, ..self }
    }

    /// The number of keys in each table.
    #[must_use]
    pub fn held(&self) -> [u64; 2] {
        self.tables.held()
    }

    /// The number of keys in overflow chains.
    #[must_use]
    pub fn overflowed(&self) -> usize {
        self.chains.len
    }

    /// The index of the table with more keys per place; 0 if both tables are equally dense.
    fn denser(&self) -> usize {
        let ([first, second], [m1, m2]) = (self.tables.held(), self.tables.sizes());
        // `second / m2 > first / m1`, multiplied crosswise to avoid rounding.
        usize::from(u128::from(second) * u128::from(m1) > u128::from(first) * u128::from(m2))
    }

    /// The path of displacements for a key whose places are both taken: from its place in the denser table if that path
    /// ends within the limit, otherwise from its place in the other table. `None` if neither path ends within the
    /// limit.
    fn plan(&self, key: u64) -> Option<Vec<Spot>> {
        let next = |spot| self.tables.get(spot).map(|key| self.tables.other(spot, key));
        let denser = self.denser();
        [denser, 1 - denser]
            .into_iter()
            .find_map(|table| walk(self.tables.spot(table, key), self.max_displacements, next))
    }
}

impl CuckooSet for DensityCuckooSet {
    /// # Errors
    /// [`InsertError::OutOfMemory`] if the system refuses memory for the overflow chains, or if they have 2^32 − 1 keys
    /// already.
    fn insert(&mut self, key: u64) -> Result<bool, InsertError> {
        if self.contains(key) {
            return Ok(false);
        }
        let spots = self.tables.spots(key);
        if let Some(free) = spots.into_iter().find(|spot| self.tables.get(*spot).is_none()) {
            self.tables.put(free, key);
        } else if let Some(path) = self.plan(key) {
            self.statistics.displacements += self.tables.displace_along(&path, key);
        } else {
            self.chains.append(spots[0].place, self.tables.sizes()[0], key)?;
            self.statistics.cycles += 1;
        }
        Ok(true)
    }

    fn contains(&self, key: u64) -> bool {
        self.tables.find(key).is_some() || self.chains.contains(self.tables.spot(0, key).place, key)
    }

    fn remove(&mut self, key: u64) -> bool {
        match self.tables.find(key) {
            Some(spot) => self.tables.take(spot).is_some(),
            None => self.chains.remove(self.tables.spot(0, key).place, key),
        }
    }

    fn len(&self) -> usize {
        let [first, second] = self.tables.held();
        (first + second) as usize + self.chains.len
    }

    fn places(&self) -> usize {
        self.tables.places()
    }

    fn memory_bytes(&self) -> usize {
        self.tables.memory_bytes() + self.chains.memory_bytes()
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}

/// The index that marks the end of a list.
const END: u32 = u32::MAX;

/// A list of keys for each place of the first table.
///
/// Shape: the index of the first node for each place, all nodes in one array, and a list of removed nodes
/// for reuse.
#[derive(Clone, Debug, Default)]
struct Chains {
    heads: Vec<u32>,
    nodes: Vec<Node>,
    unused: Option<u32>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    key: u64,
    next: u32,
}

impl Chains {
    fn memory_bytes(&self) -> usize {
        self.heads.capacity() * size_of::<u32>() + self.nodes.capacity() * size_of::<Node>()
    }

    fn head(&self, place: u64) -> u32 {
        self.heads.get(place as usize).copied().unwrap_or(END)
    }

    fn node(&self, index: u32) -> Option<Node> {
        self.nodes.get(index as usize).copied()
    }

    /// The indices of the nodes in a place's chain.
    fn chain(&self, place: u64) -> impl Iterator<Item = u32> + '_ {
        let existing = |index| Some(index).filter(|index| *index != END);
        core::iter::successors(existing(self.head(place)), move |index| {
            existing(self.nodes[*index as usize].next)
        })
    }

    fn contains(&self, place: u64, key: u64) -> bool {
        self.chain(place).any(|index| self.node(index).is_some_and(|node| node.key == key))
    }

    /// Appends a key to the chain of `place`. The first call allocates heads for `places` chains.
    fn append(&mut self, place: u64, places: u64, key: u64) -> Result<(), InsertError> {
        if self.heads.is_empty() {
            let bytes = places * size_of::<u32>() as u64;
            let refused = InsertError::OutOfMemory { bytes };
            let len = usize::try_from(places).map_err(|_| refused)?;
            self.heads.try_reserve_exact(len).map_err(|_| refused)?;
            self.heads.resize(len, END);
        }
        let last = self.chain(place).last();
        let index = self.new_node(key)?;
        match last {
            Some(last) => self.nodes[last as usize].next = index,
            None => self.heads[place as usize] = index,
        }
        self.len += 1;
        Ok(())
    }

    fn new_node(&mut self, key: u64) -> Result<u32, InsertError> {
        let node = Node { key, next: END };
        if let Some(index) = self.unused {
            let next = self.nodes[index as usize].next;
            self.unused = Some(next).filter(|next| *next != END);
            self.nodes[index as usize] = node;
            return Ok(index);
        }
        let bytes = 2 * (self.nodes.len() * size_of::<Node>()) as u64;
        let refused = InsertError::OutOfMemory { bytes };
        if self.nodes.len() >= END as usize {
            return Err(refused);
        }
        self.nodes.try_reserve(1).map_err(|_| refused)?;
        self.nodes.push(node);
        Ok(self.nodes.len() as u32 - 1)
    }

    fn remove(&mut self, place: u64, key: u64) -> bool {
        let mut before = None;
        let mut at = self.head(place);
        while let Some(node) = self.node(at) {
            if node.key == key {
                match before {
                    Some(before) => self.nodes[before as usize].next = node.next,
                    None => self.heads[place as usize] = node.next,
                }
                self.nodes[at as usize].next = self.unused.unwrap_or(END);
                self.unused = Some(at);
                self.len -= 1;
                return true;
            }
            before = Some(at);
            at = node.next;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_denser_table_has_more_keys_per_place_at_all_sizes() {
        for sizes in [[100, 100], [1000, 10], [10, 1000], [70, 30], [1, 1]] {
            let mut set = DensityCuckooSet::with_sizes(sizes, 6).unwrap();
            assert_eq!(set.denser(), 0);
            for key in 0..300 {
                set.insert(key).unwrap();
                let [first, second] = [0, 1].map(|i| set.held()[i] as f64 / sizes[i] as f64);
                assert_eq!(set.denser(), usize::from(second > first));
            }
        }
        let mut set = DensityCuckooSet::with_sizes([1000, 10], 6).unwrap();
        (0..300).for_each(|key| assert!(set.insert(key).is_ok()));
        assert_eq!(set.denser(), 1);
    }
}
