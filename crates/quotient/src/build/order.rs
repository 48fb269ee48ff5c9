//! Sorts runs in place.
//!
//! A run is the remainders of one quotient, in adjacent slots. Runs of more than five remainders are sorted one by one.
//! The other runs of a region of the table are then sorted together, in rounds. A round compares and swaps neighbours
//! in all these runs, with vector minima and maxima. A region takes as many rounds as its longest run has remainders,
//! but at most five, and none if no run has more than one remainder. At 95 % load, nearly nine runs in ten have one
//! remainder or two.
//!
//! Source: Knuth, "The art of computer programming", volume 3, section 5.3.4: odd-even
//! transposition sort. `n` rounds of swapping neighbours, at even and at odd indices in alternation, sort `n` elements.

use super::plan::Stored;
use alloc::vec::Vec;

/// The number of slots that a loop handles together. Compilers turn a loop of this constant length into vector
/// instructions without branches.
pub(super) const VECTOR: usize = 64;

/// Sorts runs of up to `longest` slots. `joined` is all ones at a slot that is in the same run as the next slot.
/// `exchanged` is scratch space. `stored`, `exchanged` and `joined` have one element before the first slot's and one
/// after the last slot's, so that every slot has two neighbours.
#[inline(always)]
pub(super) fn sort_runs<T: Stored>(
    stored: &mut Vec<T>,
    exchanged: &mut Vec<T>,
    joined: &[T],
    longest: u32,
) {
    let rounds = if longest > 1 { longest } else { 0 };
    for round in 0..rounds {
        if round % 2 == 0 {
            exchange::<T, 0>(stored, exchanged, joined);
        } else {
            exchange::<T, 1>(exchanged, stored, joined);
        }
    }
    if rounds % 2 == 1 {
        core::mem::swap(stored, exchanged);
    }
}

/// Exchanges joined neighbours that are not in order. The pairs of neighbours are slot `2 i + PARITY` and the slot
/// after it, for every `i`.
#[inline(always)]
fn exchange<T: Stored, const PARITY: usize>(from: &[T], to: &mut [T], joined: &[T]) {
    for (i, to) in to[1..].as_chunks_mut::<VECTOR>().0.iter_mut().enumerate() {
        let around = |slots: &[T]| -> [T; VECTOR] { *slots[i * VECTOR..].first_chunk().unwrap() };
        let (before, slots, after) = (around(from), around(&from[1..]), around(&from[2..]));
        let (joined_before, joined) = (around(joined), around(&joined[1..]));
        for slot in 0..VECTOR {
            // The first slot of a pair gets the smaller remainder, and the second the larger. If a slot has no partner
            // after it, `next` is all ones; if it has none before it, `previous` is 0. Neither has an effect.
            let (first, second) =
                if slot % 2 == PARITY { (T::ONES, T::default()) } else { (T::default(), T::ONES) };
            let next = after[slot] | !(joined[slot] & first);
            let previous = before[slot] & joined_before[slot] & second;
            to[slot] = slots[slot].min(next).max(previous);
        }
    }
}
