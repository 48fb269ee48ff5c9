//! The path of displacements from a place, if every key has two places.
//!
//! If an insert puts a key at a taken place, the key that stood at this place moves to the other of its own two places,
//! and so on: each place of the path determines the next. So the path either ends at a free place, or returns to an
//! earlier place and cycles for ever. To find out which of the two happens, [`walk`] uses Brent's method, which moves
//! no key and needs no set of visited places: it compares each place with the place at the last step whose number was a
//! power of two.
//!
//! A path from a place cycles if the place's component of the cuckoo graph (see the [module](super)) has as many keys
//! as places. If the paths from both places of a new key cycle, the key would give a component more keys than places,
//! and no order of displacements can place the key. If one path ends, the key can be placed at the start of that path.

use alloc::vec::Vec;

/// The places from `start` to the first free place; `None` if the path cycles or needs more than
/// `max_displacements` displacements. `next` takes a place and returns the other place of the key that stands
/// there, or `None` if the place is free.
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

    /// The path 0 → 1 → … → 9 ends at a free place; 20 → 21 → … → 29 → 25 cycles.
    fn next(place: u32) -> Option<u32> {
        match place {
            0..9 | 20..29 => Some(place + 1),
            29 => Some(25),
            _ => None,
        }
    }

    #[test]
    fn a_path_within_the_limit_is_returned_whole() {
        assert_eq!(walk(3, 6, next), Some((3..=9).collect()));
        assert_eq!(walk(3, 5, next), None);
        assert_eq!(walk(9, 0, next), Some(Vec::from([9])));
        assert_eq!(walk(8, 0, next), None);
    }

    #[test]
    fn every_cycle_is_detected() {
        for start in 20..30 {
            assert_eq!(walk(start, u64::MAX, next), None);
        }
        assert_eq!(walk(7, u64::MAX, Some), None);
    }
}
