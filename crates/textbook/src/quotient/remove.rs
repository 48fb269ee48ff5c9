//! Remove: shifts the rest of the cluster to the left, over the removed remainder.

use super::filter::TextbookQuotientFilter;
use super::slot::Slot;

impl TextbookQuotientFilter {
    /// Removes one copy of a fingerprint; returns false and changes nothing if there is none.
    ///
    /// Cost: the cost of a lookup, and a move of every remainder between the removed one and the end of the cluster.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3.
    ///
    /// # Panics
    /// If the fingerprint has more than [`fingerprint_bits`](Self::fingerprint_bits) bits.
    pub fn remove_fingerprint(&mut self, fingerprint: u64) -> bool {
        let Some(slot) = self.find(fingerprint) else { return false };
        let (quotient, _) = self.shape.split(fingerprint);
        let was_first = !self.table.get(slot).is_continuation;
        let run_continues = self.table.get(self.table.next(slot)).is_continuation;
        if was_first && !run_continues {
            self.table.set_occupied(quotient, false);
        }
        self.shift_left_onto(slot, quotient, was_first);
        self.len -= 1;
        true
    }

    /// Moves the remainders to the right of `hole`, up to the end of the cluster, one slot to the left, and
    /// empties the last slot. The removed remainder belonged to the run of `quotient`; `was_first` tells
    /// whether it was the first of that run.
    ///
    /// The loop ends even in a full table, where no slot is empty: at the latest, it ends when it comes around to the
    /// first slot of the cluster, because the remainder in this slot is at home. If the removed remainder was in this
    /// slot, another remainder of its run is there now, and is at home too.
    fn shift_left_onto(&mut self, mut hole: u64, mut quotient: u64, mut was_first: bool) {
        loop {
            let from = self.table.next(hole);
            let moved = self.table.get(from);
            // The slot is empty, or its remainder is at home and starts the next cluster.
            if !moved.is_shifted {
                break;
            }
            // Track the quotient of the moved remainder, to tell whether the move brings it home.
            if !moved.is_continuation {
                quotient = self.table.next_occupied(quotient);
            }
            let is_continuation = moved.is_continuation && !was_first;
            self.table.put(hole, Slot { is_continuation, is_shifted: hole != quotient, ..moved });
            was_first = false;
            hole = from;
        }
        self.table.put(hole, Slot::default());
    }
}
