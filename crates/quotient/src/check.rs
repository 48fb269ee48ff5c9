//! Whether bytes are a table that this library would have written.
//!
//! There is exactly one table for a multiset of fingerprints: every run where it belongs, sorted, every
//! offset what it must be, every free slot zero. Whatever else is refused, so that no lookup or insert
//! on accepted bytes can loop or run out of the table, whoever computed the checksum.

use crate::fingerprint::Rounding;
use crate::geometry::{Geometry, Position};
use crate::layout::Layout;
use crate::table::Table;
use trommel_base::FormatError;

/// Refuses a table that no sequence of inserts makes. Cost: one pass over it.
pub(crate) fn check<L: Layout>(
    geometry: &Geometry,
    bytes: &[u8],
    len: Option<u64>,
) -> Result<(), FormatError> {
    let table = Table::<L, _>::new(geometry, bytes);
    let rounding = Rounding::of::<L>(geometry);
    let mut walk = Walk { table: &table, rounding, free: 0, runends: table.runends(0), len: 0 };
    for block in 0..table.shape.blocks {
        let begin = block as u64 * u64::from(L::SLOTS);
        let offset = walk.free.saturating_sub(begin).min(u64::from(L::MAX_OFFSET));
        if u64::from(table.offset(block)) != offset {
            return Err(impossible("offset", block));
        }
        let mut occupieds = table.occupieds(block);
        while occupieds != 0 {
            let quotient = begin + u64::from(occupieds.trailing_zeros());
            occupieds &= occupieds - 1;
            if quotient >= geometry.slots {
                return Err(impossible("occupieds", block));
            }
            walk.run(geometry, quotient)?;
        }
    }
    walk.skip_free(walk.slots())?;
    if let Some(value) = len.filter(|len| walk.len != *len) {
        return Err(FormatError::Field { name: "keys", value });
    }
    L::check_padding(&table.shape, bytes)
}

fn impossible(name: &'static str, block: usize) -> FormatError {
    FormatError::Structure { name, block: block as u64 }
}

struct Walk<'t, L, S> {
    table: &'t Table<L, S>,
    rounding: Rounding,
    /// The next slot.
    free: u64,
    /// Runends of its block.
    runends: u64,
    len: u64,
}

impl<L: Layout, S: AsRef<[u8]>> Walk<'_, L, S> {
    fn slots(&self) -> u64 {
        self.table.shape.blocks as u64 * u64::from(L::SLOTS)
    }

    /// The run of a quotient: to the next runend, in order, not too many of a kind.
    fn run(&mut self, geometry: &Geometry, quotient: u64) -> Result<(), FormatError> {
        if quotient > self.free {
            self.skip_free(quotient)?;
        }
        let (mut before, mut equal) = (None, 0);
        loop {
            let at = Position::of_slot::<L>(self.free);
            if self.free >= self.slots() {
                return Err(impossible("runends", at.block - 1));
            }
            let stored = self.table.remainder(at);
            equal = if before == Some(stored) { equal + 1 } else { 1 };
            if before.is_some_and(|before| before > stored)
                || equal > geometry.copies
                || !self.rounding.could_store::<L>(geometry, quotient, stored)
            {
                return Err(impossible("remainders", at.block));
            }
            before = Some(stored);
            self.len += 1;
            if self.advance(at) {
                return Ok(());
            }
        }
    }

    /// Goes over slots that are free: no runend, no remainder.
    fn skip_free(&mut self, to: u64) -> Result<(), FormatError> {
        while self.free < to {
            let at = Position::of_slot::<L>(self.free);
            if self.table.remainder(at) != 0 || self.advance(at) {
                return Err(impossible("free slots", at.block));
            }
        }
        Ok(())
    }

    /// Goes on by a slot; whether it was the end of a run.
    fn advance(&mut self, at: Position) -> bool {
        let ends = self.runends >> at.slot & 1 == 1;
        let next = at.next::<L>();
        if next.block != at.block && next.block < self.table.shape.blocks {
            self.runends = self.table.runends(next.block);
        }
        self.free += 1;
        ends
    }
}
