//! `trommel-textbook`: the quotient filter with three metadata bits per slot, implemented as its paper describes it
//! (Bender et al., PVLDB 5, 2012). It is the baseline for our optimised quotient filters.

use crate::measure::ours::{Fingerprinted, Ours};
use crate::measure::slots::Slots;
use crate::model::Filling;
use anyhow::{Result, ensure};
use trommel_textbook::TextbookQuotientFilter;

/// Creates an empty filter; the number of slots must be a power of two.
pub(super) fn create(filling: &Filling) -> Result<Box<dyn Slots>> {
    ensure!(filling.slots.is_power_of_two(), "{} slots are not a power of two", filling.slots);
    let filter = TextbookQuotientFilter::new(filling.slots.ilog2(), filling.bits)?;
    Ok(Box::new(Ours::with_slots(filter, None, filling.slots as u64)))
}

impl Fingerprinted for TextbookQuotientFilter {
    fn list(&self) -> impl Iterator<Item = u64> {
        self.fingerprints()
    }

    fn take_in(&mut self, other: &Self) -> Result<()> {
        Ok(self.merge(other)?)
    }
}
