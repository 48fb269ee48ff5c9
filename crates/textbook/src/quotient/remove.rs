//! Remove: shift the rest of the cluster to the left, over what is removed.

use super::filter::TextbookQuotientFilter;
use super::slot::Slot;

impl TextbookQuotientFilter {
    /// Takes one copy of a fingerprint out; false, and nothing changed, if there is none.
    ///
    /// Cost: as a lookup, and the slots up to the end of the cluster, which all move.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3.
    ///
    /// # Panics
    /// If the fingerprint has more than [`fingerprint_bits`](Self::fingerprint_bits) bits.
    pub fn remove_fingerprint(&mut self, fingerprint: u64) -> bool {
        let Some(place) = self.find(fingerprint) else { return false };
        let (quotient, _) = self.shape.split(fingerprint);
        let was_first = !self.table.get(place).is_continuation;
        let run_goes_on = self.table.get(self.table.next(place)).is_continuation;
        if was_first && !run_goes_on {
            self.table.set_occupied(quotient, false);
        }
        self.shift_left_onto(place, quotient, was_first);
        self.len -= 1;
        true
    }

    /// Moves what is to the right of the hole at `hole` one slot to the left, up to the end of the
    /// cluster, where the hole becomes an empty slot. What was in the hole belonged to the run of
    /// `quotient`; `was_first` says whether it was the first of it.
    ///
    /// It ends in a full table too: the slot at which the cluster starts is at home all the while. Only
    /// a remainder of the same run can take its place, and is at home there.
    fn shift_left_onto(&mut self, mut hole: u64, mut quotient: u64, mut was_first: bool) {
        loop {
            let from = self.table.next(hole);
            let moved = self.table.get(from);
            // Empty, or at home, where the next cluster starts.
            if !moved.is_shifted {
                break;
            }
            // Keep up with the runs, to see which remainders come home.
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
