//! A breadth-first search for room on the cuckoo graph, before anything moves.
//!
//! The buckets are the vertices of a graph, and every fingerprint is an edge between its two buckets. An insert that
//! finds both its buckets full needs a path from one of them to a bucket with room; then each fingerprint on the path
//! moves to the next bucket of the path. The random walk of Fan et al. moves fingerprints as it goes: about eleven
//! where moving one or two would be enough. When the walk gives up, it has a fingerprint in hand and no slot for this
//! fingerprint. The search moves nothing until it knows the path, so it cannot lose a key, and the path that it finds
//! is a shortest one.
//!
//! The tree of the search is implicit. Nodes 0 and 1 are the two buckets of the key, and the children of node `k`, one
//! for each slot, are nodes `2 + 4k` to `5 + 4k`. If two nodes have the same bucket, equal trees grow from them, and
//! the search reaches each node of the first tree before the corresponding node of the second. So the first path found
//! visits no bucket twice, and no list of visited buckets is kept.
//!
//! Sources: Fan et al., CoNEXT 2014, section 3.2, for the insert; Li, Andersen, Kaminsky and Freedman,
//! "Algorithmic improvements for fast concurrent cuckoo hashing", EuroSys 2014, section 4.3.2, for
//! breadth-first search; Kirsch, Mitzenmacher and Wieder, "More robust hashing: cuckoo hashing with a stash",
//! SIAM J. Computing 39 (2009), for a bounded overflow area instead of a rebuild.

use crate::bucket::{self};
use crate::evict::full_buckets::FullBuckets;
use crate::table::{Entry, Table, bucket_at};
use crate::width::Width;
use trommel_base::batch::Hint;
use trommel_simd::prefetch;

/// The most buckets that a search looks at. With this limit, searches in eight tables of a million slots of 8 bits
/// found paths for all keys up to a load of 97.3 to 97.6 %.
pub(crate) const MAX_NODES: usize = 4096;

/// In tables of more bytes than this, the buckets of a search are prefetched; smaller tables fit into an L2 cache of
/// 512 KiB.
const FAR_BYTES: usize = 1 << 19;

/// The scratch memory of a search: the bucket of every node.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    buckets: [u32; MAX_NODES],
}

/// The path from a root to a node with room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    leaf: usize,
}

const ROOTS: usize = 2;

/// The parent of a node, and the slot of the fingerprint that leads from the parent to the node.
fn parent(node: usize) -> (usize, usize) {
    ((node - ROOTS) / 4, (node - ROOTS) % 4)
}

impl Search {
    pub(crate) const fn new() -> Self {
        Self { buckets: [0; MAX_NODES] }
    }

    /// Finds a shortest path to room for a key whose two buckets are full. `None` if none of the first [`MAX_NODES`]
    /// nodes has room, or if no fingerprint in the two buckets can move to a third bucket.
    #[inline(always)]
    pub(crate) fn find<W: Width, T: AsRef<[u8]>>(
        &mut self,
        table: &Table<W, T>,
        full: &FullBuckets,
        roots: [u32; ROOTS],
    ) -> Option<Path> {
        self.buckets[..ROOTS].copy_from_slice(&roots);
        let is_far = table.bytes.as_ref().len() > FAR_BYTES;
        for node in 0..(MAX_NODES - ROOTS) / 4 {
            let bucket = self.buckets[node];
            let (slots, mut children, mut full_children) = (table.slots(bucket), [0; 4], 0);
            // Loops instead of a `map` of the array: a `map` is not always inlined, and without inlining its code would
            // lack the kernel's target features.
            for (child, fingerprint) in children.iter_mut().zip(slots) {
                *child = table.geometry.alternate(bucket, fingerprint);
            }
            for (slot, child) in children.into_iter().enumerate() {
                full_children |= u32::from(full.contains(child)) << slot;
            }
            let first = ROOTS + 4 * node;
            self.buckets[first..first + 4].copy_from_slice(&children);
            // One branch for all four children: which of them have room is as good as random, so a branch for each
            // child would mispredict.
            if full_children != 0b1111 {
                return Some(Path { leaf: first + full_children.trailing_ones() as usize });
            }
            if is_far {
                for child in children {
                    let at = bucket_at::<W>(child);
                    prefetch(table.bytes.as_ref().as_ptr().wrapping_add(at), Hint::T0);
                }
            }
            // If all fingerprints in the two roots lead only to the roots, as copies of one key do, the search ends,
            // since it would go round in circles.
            let children_of_roots = &self.buckets[ROOTS..5 * ROOTS];
            if node == ROOTS - 1 && children_of_roots.iter().all(|child| roots.contains(child)) {
                return None;
            }
        }
        None
    }

    /// Moves the fingerprints of a path, beginning with the last, and puts the key's fingerprint into the slot that
    /// becomes free in the root. If the root is the key's alternate bucket, sets the overflow flag in the primary
    /// bucket.
    #[inline(always)]
    pub(crate) fn apply<W: Width, T: AsRef<[u8]> + AsMut<[u8]>>(
        &self,
        table: &mut Table<W, T>,
        full: &mut FullBuckets,
        path: Path,
        key: Entry,
    ) {
        let (mut node, mut slot) = parent(path.leaf);
        let leaving = table.slots(self.buckets[node])[slot];
        let leaf = self.buckets[path.leaf];
        if table.insert(Entry { bucket: leaf, fingerprint: leaving }) {
            full.insert(leaf);
        }
        loop {
            let bucket = self.buckets[node];
            let above = (node >= ROOTS).then(|| parent(node));
            let arriving = match above {
                Some((node, slot)) => table.slots(self.buckets[node])[slot],
                None => key.fingerprint,
            };
            let slots = bucket::exchange(table.slots(bucket), slot, arriving, table.empty);
            table.store(bucket, slots);
            match above {
                Some(next) => (node, slot) = next,
                None => break,
            }
        }
        if self.buckets[node] != key.bucket {
            table.set_flag(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::EmptyPair;
    use crate::geometry::Geometry;
    use crate::width::Bits8;
    use std::vec::Vec;

    const GEOMETRY: Geometry = Geometry { buckets: 1000, fingerprint_bits: 8, doublings: 0 };
    const BUCKETS: usize = GEOMETRY.buckets as usize;

    /// Searches for room from the two buckets of a key.
    fn find(search: &mut Search, bytes: &mut [u8], key: Entry) -> Option<Path> {
        let table = Table::<Bits8, _>::new(&GEOMETRY, bytes, EmptyPair::Clear);
        let full = FullBuckets::of(&table).unwrap();
        search.find(&table, &full, [key.bucket, key.alternate(&GEOMETRY).bucket])
    }

    #[test]
    fn a_search_ends_early_if_both_buckets_hold_only_copies_of_the_key() {
        let key = Entry { bucket: 7, fingerprint: 9 };
        let alternate = key.alternate(&GEOMETRY).bucket;
        let mut bytes = [9; 4 * BUCKETS];
        let mut search = Search::new();
        assert!(find(&mut search, &mut bytes, key).is_none());
        assert!(search.buckets[..5 * ROOTS].iter().all(|at| [7, alternate].contains(at)));
        assert!(search.buckets[5 * ROOTS..].iter().all(|at| *at == 0));

        // Now the last slot of the alternate bucket has another fingerprint, which leads to a full bucket. From that
        // bucket, the search goes on to the only bucket with room.
        bytes[4 * alternate as usize + 3] = 8;
        let next = Entry { bucket: alternate, fingerprint: 8 }.alternate(&GEOMETRY).bucket;
        let leaf = Entry { bucket: next, fingerprint: 9 }.alternate(&GEOMETRY).bucket;
        bytes[4 * leaf as usize] = 0;
        let path = find(&mut search, &mut bytes, key).unwrap();
        assert_eq!(search.buckets[path.leaf], leaf);
        assert_eq!(search.buckets[parent(path.leaf).0], next);
        assert_eq!(parent(5 * ROOTS - 1), (1, 3));
        assert_eq!(parent(path.leaf).0, 5 * ROOTS - 1);
    }

    #[test]
    fn a_search_in_a_full_table_looks_at_the_most_buckets() {
        let mut bytes: Vec<u8> = (1..=255).cycle().take(4 * BUCKETS).collect();
        let mut search = Search::new();
        search.buckets.fill(u32::MAX);
        let key = Entry { bucket: 7, fingerprint: 9 };
        assert!(find(&mut search, &mut bytes, key).is_none());
        let looked_at = search.buckets.iter().filter(|bucket| **bucket != u32::MAX).count();
        // The four children of a node are looked at together, so the number can be up to three below the limit.
        assert!((MAX_NODES - 3..=MAX_NODES).contains(&looked_at), "{looked_at}");
        for (node, bucket) in search.buckets[..looked_at].iter().enumerate().skip(ROOTS) {
            let (above, slot) = parent(node);
            let from = search.buckets[above];
            let fingerprint = bytes[4 * from as usize + slot].into();
            let child = Entry { bucket: from, fingerprint }.alternate(&GEOMETRY);
            assert_eq!(*bucket, child.bucket, "node {node}");
        }
    }
}
