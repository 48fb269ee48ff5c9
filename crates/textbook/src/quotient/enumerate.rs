//! Every fingerprint, in ascending order, got back from the table alone.

use super::filter::TextbookQuotientFilter;
use core::iter::FusedIterator;

/// The fingerprints of a filter, ascending, each as often as it is there; from
/// [`TextbookQuotientFilter::fingerprints`].
#[derive(Clone, Debug)]
pub struct Fingerprints<'a> {
    filter: &'a TextbookQuotientFilter,
    /// Where the next remainder is, if any is left.
    place: u64,
    /// The quotient that it belongs to.
    quotient: u64,
    left: usize,
}

impl TextbookQuotientFilter {
    /// Every fingerprint in ascending order. Quotients ascend from 0, so runs that wrap around the end
    /// of the table come last, as they should, though they stand first.
    ///
    /// Cost: one pass over the table.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3.
    #[must_use]
    pub fn fingerprints(&self) -> Fingerprints<'_> {
        let (mut place, mut quotient) = (0, 0);
        if self.len > 0 {
            quotient = self.table.next_occupied(self.shape.slots() - 1);
            place = self.run_start(quotient);
        }
        Fingerprints { filter: self, place, quotient, left: self.len }
    }
}

impl Iterator for Fingerprints<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let table = &self.filter.table;
        let fingerprint = self.filter.shape.join(self.quotient, table.get(self.place).remainder);

        self.place = table.next(self.place);
        let next = table.get(self.place);
        if !next.is_continuation && self.left > 0 {
            self.quotient = table.next_occupied(self.quotient);
            if !next.is_shifted {
                // The cluster has ended, and the next one starts at home.
                self.place = self.quotient;
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
