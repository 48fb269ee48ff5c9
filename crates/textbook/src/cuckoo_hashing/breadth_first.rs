//! A shortest path of displacements in a table whose keys can have more than one place to move to.
//!
//! The search runs on a graph whose nodes are places. Edges lead from a place to all other places of the key that
//! stands there. A breadth-first search of this graph finds a shortest path to a free place. No key is moved before the
//! search has ended.

use super::places::Places;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use trommel_base::SpecError;

/// The default limit of visited places in [`DAryCuckooSet`](super::DAryCuckooSet) and
/// [`BucketCuckooSet`](super::BucketCuckooSet).
pub(super) const DEFAULT_MAX_VISITED: usize = 1 << 16;
/// The highest permitted limit of visited places.
const MAX_VISITED: usize = 1 << 28;

/// Returns `limit` if it is 1 to [`MAX_VISITED`].
pub(super) fn checked_limit(limit: usize) -> Result<usize, SpecError> {
    if (1..=MAX_VISITED).contains(&limit) {
        Ok(limit)
    } else {
        let (value, max) = (limit as u64, MAX_VISITED as u64);
        Err(SpecError::Parameter { name: "max_visited", value, min: 1, max })
    }
}

/// A place that the search has reached, and the index of the node from which it was reached.
struct Node {
    place: u64,
    from: Option<usize>,
}

/// The places on a shortest path from a place of `key` to a free place. `None` if there is no such path, or if the
/// search gives up after `max_visited` places or a few more. (The search checks the limit only after it has visited all
/// places of a key.) `places_of(key)` lists all places of a key, including the one where the key stands.
pub(super) fn shortest_path<I: Iterator<Item = u64>>(
    table: &Places,
    key: u64,
    max_visited: usize,
    places_of: impl Fn(u64) -> I,
) -> Option<Vec<u64>> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut seen = BTreeSet::new();
    for place in places_of(key).filter(|place| seen.insert(*place)) {
        nodes.push(Node { place, from: None });
        if table.is_free(place) {
            return Some(path_to(&nodes));
        }
    }
    let mut at = 0;
    while at < nodes.len() && nodes.len() < max_visited {
        let from = nodes[at].place;
        let key = table.get(from)?;
        for place in places_of(key).filter(|place| seen.insert(*place)) {
            nodes.push(Node { place, from: Some(at) });
            if table.is_free(place) {
                return Some(path_to(&nodes));
            }
        }
        at += 1;
    }
    None
}

/// The places on the path from a start to the last node.
fn path_to(nodes: &[Node]) -> Vec<u64> {
    let mut path = Vec::new();
    let mut node = nodes.last();
    while let Some(Node { place, from }) = node {
        path.push(*place);
        node = from.map(|from| &nodes[from]);
    }
    path.reverse();
    path
}
