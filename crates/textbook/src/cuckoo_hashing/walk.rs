//! The one path of displacements where every key has two places.
//!
//! A key put at a place sends the key there to its other place, and so on: each place of the path
//! follows from the one before. So the path either ends at a free place or comes back to a place that
//! it has been at and goes round for ever. Which of the two is found out here without moving anything,
//! and without remembering where it has been, by Brent's method: compare with the place at the last
//! power of two of steps.
//!
//! If the paths from both places of a new key go round, its edge joins two cycles of the cuckoo graph,
//! and no order of displacements can place it. If one of them ends, it can be placed there.

use alloc::vec::Vec;

/// The places from `start` to the first free one, if there is one at most `max_displacements` further
/// on. `next` is where the key at a place goes; `None` if the place is free.
pub(super) fn walk<P: Copy + PartialEq>(
    start: P,
    max_displacements: u64,
    next: impl Fn(P) -> Option<P>,
) -> Option<Vec<P>> {
    let mut path = Vec::from([start]);
    let (mut at, mut mark) = (start, start);
    for step in 1..=max_displacements {
        let Some(onward) = next(at) else { return Some(path) };
        if onward == mark {
            return None;
        }
        if step.is_power_of_two() {
            mark = onward;
        }
        at = onward;
        path.push(at);
    }
    next(at).is_none().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 → 1 → … → 9, then free; 20 → 21 → … → 29 → 25.
    fn next(place: u32) -> Option<u32> {
        match place {
            0..9 | 20..29 => Some(place + 1),
            29 => Some(25),
            _ => None,
        }
    }

    #[test]
    fn a_path_is_found_whole_or_not_at_all() {
        assert_eq!(walk(3, 6, next), Some((3..=9).collect()));
        assert_eq!(walk(3, 5, next), None);
        assert_eq!(walk(9, 0, next), Some(Vec::from([9])));
        assert_eq!(walk(8, 0, next), None);
    }

    #[test]
    fn every_circle_is_noticed() {
        for start in 20..30 {
            assert_eq!(walk(start, u64::MAX, next), None);
        }
        assert_eq!(walk(7, u64::MAX, Some), None);
    }
}
