//! The scan of a cluster that finds a quotient's run, and the operations based on it: lookup and count.

use super::filter::TextbookQuotientFilter;
use super::slot::Slot;
use core::iter::successors;

impl TextbookQuotientFilter {
    /// Whether the fingerprint is in the filter.
    ///
    /// Cost: reads the cluster of the quotient, from its start up to the remainder's position in the run.
    ///
    /// # Panics
    /// If the fingerprint has more than [`fingerprint_bits`](Self::fingerprint_bits) bits.
    #[must_use]
    pub fn contains_fingerprint(&self, fingerprint: u64) -> bool {
        self.find(fingerprint).is_some()
    }

    /// The number of copies of the fingerprint in the filter: at most one if it is a set.
    ///
    /// Cost: the cost of [`contains_fingerprint`](Self::contains_fingerprint), and the rest of the run.
    ///
    /// # Panics
    /// If the fingerprint has more than [`fingerprint_bits`](Self::fingerprint_bits) bits.
    #[must_use]
    pub fn count_fingerprint(&self, fingerprint: u64) -> u64 {
        let (quotient, remainder) = self.shape.split(fingerprint);
        self.run(quotient).filter(|(_, slot)| slot.remainder == remainder).count() as u64
    }

    /// The slot number of the first copy of a fingerprint.
    pub(super) fn find(&self, fingerprint: u64) -> Option<u64> {
        let (quotient, remainder) = self.shape.split(fingerprint);
        // Runs are sorted: if the run contains `remainder`, its first value `>= remainder` is `remainder` itself.
        let (index, slot) = self.run(quotient).find(|(_, slot)| slot.remainder >= remainder)?;
        (slot.remainder == remainder).then_some(index)
    }

    /// The slots of a quotient's run with their numbers; empty if the quotient has no run.
    fn run(&self, quotient: u64) -> impl Iterator<Item = (u64, Slot)> + '_ {
        let with_index = |index| (index, self.table.get(index));
        let has_run = self.table.get(quotient).is_occupied;
        let first = has_run.then(|| with_index(self.run_start(quotient)));
        // If a run fills the whole table, the scan ends when it comes around to the run's first slot, which is no
        // continuation.
        successors(first, move |(index, _)| {
            Some(with_index(self.table.next(*index))).filter(|(_, slot)| slot.is_continuation)
        })
    }

    /// The slot where the run of an occupied quotient starts. If the quotient is marked as occupied but its
    /// run is still empty, this is the slot where the run has to start.
    ///
    /// Goes left to the start of the cluster. From there it goes right and advances two positions together:
    /// `start` from run to run, and `home` from one occupied quotient to the next.
    ///
    /// The search to the left ends at any load, since some remainder is at home. If the table has an empty slot,
    /// the remainder after the empty slot is at home. A full table has as many remainders as slots, so there is a
    /// boundary between two slots that no remainder was shifted across: the remainder after this boundary is at
    /// home.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3.
    pub(super) fn run_start(&self, quotient: u64) -> u64 {
        let table = &self.table;
        let mut home = quotient;
        while table.get(home).is_shifted {
            home = table.previous(home);
        }
        let mut start = home;
        while home != quotient {
            start = table.next(start);
            while table.get(start).is_continuation {
                start = table.next(start);
            }
            home = table.next_occupied(home);
        }
        start
    }
}
