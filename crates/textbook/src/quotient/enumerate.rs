//! Enumeration: recovers all fingerprints, in ascending order, from the table alone.

use super::filter::TextbookQuotientFilter;
use core::iter::FusedIterator;

/// Iterator over a filter's fingerprints in ascending order, with all copies. Created by
/// [`TextbookQuotientFilter::fingerprints`].
#[derive(Clone, Debug)]
pub struct Fingerprints<'a> {
    filter: &'a TextbookQuotientFilter,
    /// The slot of the next remainder, if any is left.
    slot: u64,
    /// The quotient of that remainder.
    quotient: u64,
    /// The number of fingerprints still to be returned.
    left: usize,
}

impl TextbookQuotientFilter {
    /// Iterates over all fingerprints in ascending order. The iterator goes through the quotients from 0, so a run that
    /// was pushed over the end of the table comes last, although some or all of its remainders are in the first slots.
    ///
    /// Cost: one pass over the table.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3.
    #[must_use]
    pub fn fingerprints(&self) -> Fingerprints<'_> {
        let (mut slot, mut quotient) = (0, 0);
        if self.len > 0 {
            quotient = self.table.next_occupied(self.shape.slots() - 1);
            slot = self.run_start(quotient);
        }
        Fingerprints { filter: self, slot, quotient, left: self.len }
    }
}

impl Iterator for Fingerprints<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let table = &self.filter.table;
        let fingerprint = self.filter.shape.join(self.quotient, table.get(self.slot).remainder);

        self.slot = table.next(self.slot);
        let next = table.get(self.slot);
        if !next.is_continuation && self.left > 0 {
            self.quotient = table.next_occupied(self.quotient);
            if !next.is_shifted {
                // The cluster has ended. The next cluster starts at the home of its first run.
                self.slot = self.quotient;
            }
        }
        Some(fingerprint)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Fingerprints<'_> {}
impl FusedIterator for Fingerprints<'_> {}
