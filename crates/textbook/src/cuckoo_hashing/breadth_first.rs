//! The shortest path of displacements where a key has more than one place to go to.
//!
//! Nodes are places; from a place one comes to every place where the key that stands there may stand
//! instead. The first free place that a breadth-first search comes to ends the shortest path. Nothing
//! is moved before it is found.

use super::places::Places;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use trommel_base::SpecError;

/// Places that a search visits before it gives up, unless said otherwise.
pub(super) const DEFAULT_MAX_VISITED: usize = 1 << 16;
/// The highest limit that can be asked for.
const MAX_VISITED: usize = 1 << 28;

/// `limit` if it is a limit.
pub(super) fn checked_limit(limit: usize) -> Result<usize, SpecError> {
    if (1..=MAX_VISITED).contains(&limit) {
        Ok(limit)
    } else {
        let (value, max) = (limit as u64, MAX_VISITED as u64);
        Err(SpecError::Parameter { name: "max_visited", value, min: 1, max })
    }
}

/// A place that the search has come to, and the node from which.
struct Node {
    place: u64,
    from: Option<usize>,
}

/// The places from one of `starts` to the nearest free one, if it is among the first `max_visited`
/// places. `onward(key)` are the places of a key, the one where it stands among them.
pub(super) fn shortest_path<I: Iterator<Item = u64>>(
    table: &Places,
    starts: impl Iterator<Item = u64>,
    max_visited: usize,
    onward: impl Fn(u64) -> I,
) -> Option<Vec<u64>> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut seen = BTreeSet::new();
    for place in starts.filter(|place| seen.insert(*place)) {
        nodes.push(Node { place, from: None });
        if table.is_free(place) {
            return Some(path_to(&nodes));
        }
    }
    let mut at = 0;
    while at < nodes.len() && nodes.len() < max_visited {
        let from = nodes[at].place;
        let key = table.get(from)?;
        for place in onward(key).filter(|place| seen.insert(*place)) {
            nodes.push(Node { place, from: Some(at) });
            if table.is_free(place) {
                return Some(path_to(&nodes));
            }
        }
        at += 1;
    }
    None
}

/// The places from a start to the last node.
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
