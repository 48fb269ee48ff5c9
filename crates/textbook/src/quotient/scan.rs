//! From a quotient to its run: the scan of a cluster, and what it answers.

use super::filter::TextbookQuotientFilter;
use super::slot::Slot;
use core::iter::successors;

impl TextbookQuotientFilter {
    /// Whether the fingerprint is in the filter.
    ///
    /// Cost: the cluster of its quotient, from the start to the run.
    ///
    /// # Panics
    /// If the fingerprint has more than [`fingerprint_bits`](Self::fingerprint_bits) bits.
    #[must_use]
    pub fn contains_fingerprint(&self, fingerprint: u64) -> bool {
        self.find(fingerprint).is_some()
    }

    /// How many copies of the fingerprint are in the filter: at most one if it is a set.
    ///
    /// Cost: as [`contains_fingerprint`](Self::contains_fingerprint), and the rest of the run.
    ///
    /// # Panics
    /// If the fingerprint has more than [`fingerprint_bits`](Self::fingerprint_bits) bits.
    #[must_use]
    pub fn count_fingerprint(&self, fingerprint: u64) -> u64 {
        let (quotient, remainder) = self.shape.split(fingerprint);
        self.run(quotient).filter(|(_, slot)| slot.remainder == remainder).count() as u64
    }

    /// The place of the first copy of a fingerprint.
    pub(super) fn find(&self, fingerprint: u64) -> Option<u64> {
        let (quotient, remainder) = self.shape.split(fingerprint);
        // Runs are sorted: the first remainder that is not less decides.
        let (place, slot) = self.run(quotient).find(|(_, slot)| slot.remainder >= remainder)?;
        (slot.remainder == remainder).then_some(place)
    }

    /// The slots of a quotient's run with their places; none if it has no run.
    fn run(&self, quotient: u64) -> impl Iterator<Item = (u64, Slot)> + '_ {
        let with_place = |place| (place, self.table.get(place));
        let is_there = self.table.get(quotient).is_occupied;
        let first = is_there.then(|| with_place(self.run_start(quotient)));
        // A run that fills the table comes round to its own first slot, which continues nothing.
        successors(first, move |(place, _)| {
            Some(with_place(self.table.next(*place))).filter(|(_, slot)| slot.is_continuation)
        })
    }

    /// The place where the run of an occupied quotient starts. If the quotient has been marked as
    /// occupied but nothing of its run is there yet: the place where it has to start.
    ///
    /// Walks left to the start of the cluster, and from there to the right with two fingers, one on
    /// runs and one on the quotients that they belong to.
    ///
    /// It ends at any load. What stands behind an empty slot is at home. In a full table, as many
    /// remainders as slots mean that the circle can be cut somewhere without a remainder to the right
    /// of the cut whose home is to the left of it: what stands behind the cut is at home.
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
