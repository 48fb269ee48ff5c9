//! Insert: find the place in the sorted run and shift what is there to the right.

use super::filter::TextbookQuotientFilter;
use super::slot::Slot;
use trommel_base::Full;

impl TextbookQuotientFilter {
    /// Puts a fingerprint in; true if the table changed. A set changes nothing for a fingerprint that
    /// it has; a multiset keeps every copy.
    ///
    /// Cost: as a lookup, and the slots up to the next empty one, which all move.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3. Runs are sorted here, so that equal
    /// contents make equal tables.
    ///
    /// # Errors
    /// [`Full`] if every slot is in use and the fingerprint would need one; nothing is changed.
    ///
    /// # Panics
    /// If the fingerprint has more than [`fingerprint_bits`](Self::fingerprint_bits) bits.
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
        let mut place = start;
        if home.is_occupied {
            while self.table.get(place).remainder < remainder {
                place = self.table.next(place);
                if !self.table.get(place).is_continuation {
                    break;
                }
            }
            if place == start {
                // The first of the run becomes its second.
                let first = self.table.get(start);
                self.table.put(start, Slot { is_continuation: true, ..first });
            }
        }
        let inserted = Slot {
            remainder,
            is_continuation: place != start,
            is_shifted: place != quotient,
            ..Slot::default()
        };
        self.shift_right_from(place, inserted);
        Ok(true)
    }

    /// Puts `content` into a slot, what was there into the next one, and so on up to the first empty
    /// slot. There must be one.
    ///
    /// What moves is shifted from now on, and continues what it continued: its neighbours move
    /// along. `is_occupied` stays where it is.
    fn shift_right_from(&mut self, mut place: u64, mut content: Slot) {
        loop {
            let displaced = self.table.get(place);
            self.table.put(place, content);
            if displaced.is_empty() {
                return;
            }
            content = Slot { is_shifted: true, ..displaced };
            place = self.table.next(place);
        }
    }
}
