//! Removes copies of fingerprints: a set keeps each fingerprint only once. Removing a copy moves the contents of the
//! slots after it, which is slow. So if a region has too many copies, the build starts again for the whole table, in
//! another way: it sorts all fingerprints and appends them (`append_sorted`).

use super::super::order::VECTOR;
use super::super::plan::Stored;
use super::Region;
use crate::layout::Layout;
use trommel_simd::bits_of;

/// A region may have at most one copy per this number of fingerprints; otherwise the build gives up.
const FINGERPRINTS_PER_COPY: usize = 16;
/// Each removal changes the contents of some slots. The build also gives up if, in one region, the counts of these slots
/// add up to more than this number times the region's slots. If many runs push each other on, each removal changes many
/// slots.
const MOST_CHANGED: usize = 64;

/// The most copies that may be removed from `fingerprints` fingerprints.
pub(super) const fn most_repeated(fingerprints: usize) -> usize {
    fingerprints / FINGERPRINTS_PER_COPY
}

impl<L: Layout, T: Stored> Region<L, T> {
    /// Removes all but one of equal fingerprints, and returns the number of removed copies. `None` if there are too
    /// many copies, if removing them changes too many slots, or if there is no memory.
    #[inline(always)]
    pub(super) fn drop_copies(&mut self, fingerprints: usize) -> Option<usize> {
        self.find_repeated(most_repeated(fingerprints))?;
        let repeated = core::mem::take(&mut self.repeated);
        let mut may_change = MOST_CHANGED * self.slots;
        for slot in repeated.iter().rev() {
            may_change = may_change.checked_sub(self.take_out(*slot as usize))?;
        }
        self.repeated = repeated;
        Some(self.repeated.len())
    }

    /// Lists the slots whose remainder equals the next one of the same run; `None` if there are more than `most` such
    /// slots, or if there is no memory.
    #[inline(always)]
    fn find_repeated(&mut self, most: usize) -> Option<()> {
        self.repeated.clear();
        self.repeated.try_reserve(most + VECTOR).ok()?;
        let chunks = self.joined[1..].as_chunks::<VECTOR>().0.iter();
        let chunks = chunks.zip(self.stored[1..].as_chunks::<VECTOR>().0);
        for (i, (joined, stored)) in chunks.enumerate() {
            let next: &[T; VECTOR] = self.stored[i * VECTOR + 2..].first_chunk().unwrap();
            let mut is_repeated = [0; VECTOR];
            for slot in 0..VECTOR {
                let equal = stored[slot] == next[slot];
                is_repeated[slot] = u8::from(equal & (joined[slot] != T::default()));
            }
            if is_repeated.iter().fold(0, |any, one| any | one) == 0 {
                continue;
            }
            let mut slots = bits_of(&is_repeated);
            while slots != 0 {
                self.repeated.push((i * VECTOR) as u32 + slots.trailing_zeros());
                slots &= slots - 1;
            }
            if self.repeated.len() > most {
                return None;
            }
        }
        Some(())
    }

    /// Removes the content of a slot, and moves the content of every later slot of its cluster (`table.rs` defines
    /// clusters) to the slot before it. Returns the number of slots from `slot` to the end of the cluster: these are
    /// the slots whose contents change.
    fn take_out(&mut self, slot: usize) -> usize {
        // `stop` is the slot after the cluster: the first slot after `slot` that no run of a lower quotient reaches, or
        // the slot after the last run.
        let mut ends_and_homes = self.cursors[..=self.slots].iter().zip(0u32..).skip(slot + 1);
        let stop = ends_and_homes.find(|(end, home)| *end <= home);
        let stop = stop.map_or(self.end, |(_, home)| home as usize);
        self.stored.copy_within(slot + 2..stop + 1, slot + 1);
        self.stored[stop] = T::default();
        self.ends.copy_within(slot + 2..stop + 1, slot + 1);
        self.ends[stop] = 0;
        self.end -= usize::from(stop == self.end);
        let after_run = self.cursors[..=self.slots].partition_point(|end| *end as usize <= slot);
        for end in &mut self.cursors[after_run..=stop.min(self.slots)] {
            *end -= 1;
        }
        stop - slot
    }
}
