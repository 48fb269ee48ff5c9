//! Runs sorted in place.
//!
//! Nine runs in ten have one remainder or two, so neighbours are compared and swapped, all pairs of a region at once,
//! in the few rounds that the longest run takes: vectors of minima and maxima.
//!
//! Source: Knuth, "The art of computer programming", volume 3, section 5.3.4: odd-even
//! transposition sort. `n` rounds of swapping neighbours, at even and at odd indices in alternation, sort `n` elements.

use super::plan::Stored;
use alloc::vec::Vec;

/// Slots that a loop handles together: loops of this length have no branch, and become vectors.
pub(super) const VECTOR: usize = 64;

/// Puts runs of up to `longest` slots in order. Where a slot and the next hold one run, `joined` has all
/// ones. Beside the slots, there is one before them and one after them. `exchanged` is scratch, as long as
/// `stored`.
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

/// Exchanges neighbours that are joined and not in order: slots `2 i + PARITY` with the next.
#[inline(always)]
fn exchange<T: Stored, const PARITY: usize>(from: &[T], to: &mut [T], joined: &[T]) {
    for (i, to) in to[1..].as_chunks_mut::<VECTOR>().0.iter_mut().enumerate() {
        let around = |slots: &[T]| -> [T; VECTOR] { *slots[i * VECTOR..].first_chunk().unwrap() };
        let (before, slots, after) = (around(from), around(&from[1..]), around(&from[2..]));
        let (joined_before, joined) = (around(joined), around(&joined[1..]));
        for slot in 0..VECTOR {
            // The smaller of the first of a pair and its next, the larger of the second and the one
            // before; what is not joined, with what changes nothing.
            let (first, second) =
                if slot % 2 == PARITY { (T::ONES, T::default()) } else { (T::default(), T::ONES) };
            let next = after[slot] | !(joined[slot] & first);
            let previous = before[slot] & joined_before[slot] & second;
            to[slot] = slots[slot].min(next).max(previous);
        }
    }
}
