//! Insert: finds the new remainder's slot in the sorted run, and frees this slot by shifting remainders to the right.

use super::filter::TextbookQuotientFilter;
use super::slot::Slot;
use trommel_base::Full;

impl TextbookQuotientFilter {
    /// Inserts a fingerprint; returns true if the table changed. A set does not change if it has the
    /// fingerprint already; a multiset keeps every copy.
    ///
    /// Cost: the cost of a lookup, and a move of every remainder in the slots from the new remainder's slot up to the
    /// next empty slot.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3. This implementation sorts runs, so that equal
    /// contents make equal tables.
    ///
    /// # Errors
    /// [`Full`] if every slot is in use and the fingerprint needs one; the table does not change.
    ///
    /// # Panics
    /// If the fingerprint has more than [`fingerprint_bits`](Self::fingerprint_bits) bits. (A full multiset does
    /// not check the number of bits: it returns [`Full`] for every fingerprint.)
    pub fn insert_fingerprint(&mut self, fingerprint: u64) -> Result<bool, Full> {
        if !self.is_multiset && self.contains_fingerprint(fingerprint) {
            return Ok(false);
        }
        if self.len == self.capacity() {
            return Err(Full::new(0, self.len, self.capacity()));
        }
        self.len += 1;
        let (quotient, remainder) = self.shape.split(fingerprint);
        let home = self.table.get(quotient);
        self.table.set_occupied(quotient, true);
        if home.is_empty() {
            self.table.put(quotient, Slot { remainder, ..Slot::default() });
            return Ok(true);
        }

        let start = self.run_start(quotient);
        let mut slot = start;
        if home.is_occupied {
            while self.table.get(slot).remainder < remainder {
                slot = self.table.next(slot);
                if !self.table.get(slot).is_continuation {
                    break;
                }
            }
            if slot == start {
                // The first remainder of the run becomes its second.
                let first = self.table.get(start);
                self.table.put(start, Slot { is_continuation: true, ..first });
            }
        }
        let inserted = Slot {
            remainder,
            is_continuation: slot != start,
            is_shifted: slot != quotient,
            ..Slot::default()
        };
        self.shift_right_from(slot, inserted);
        Ok(true)
    }

    /// Puts `content` into a slot, the slot's old content into the next slot, and so on up to the first
    /// empty slot. The caller must ensure that the table has an empty slot.
    ///
    /// Every moved remainder becomes shifted. Its `is_continuation` does not change, since the order of the
    /// remainders does not change. `is_occupied` belongs to the slot and does not move.
    fn shift_right_from(&mut self, mut slot: u64, mut content: Slot) {
        loop {
            let displaced = self.table.get(slot);
            self.table.put(slot, content);
            if displaced.is_empty() {
                return;
            }
            content = Slot { is_shifted: true, ..displaced };
            slot = self.table.next(slot);
        }
    }
}
