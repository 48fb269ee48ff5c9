//! Checks whether bytes are a table that this library would have written.
//!
//! There is exactly one table of a given geometry for given fingerprints and numbers of copies: every run is in the
//! right slots and sorted, every offset is right, and every free slot is zero. All other bytes are refused.
//! (`layout/mod.rs` defines runs, occupieds, runends and offsets.) The check has two parts.
//!
//! - The *metadata*: occupieds, runends and offsets agree. If they do, no lookup reads beyond the table or searches
//!   without end, whatever the remainders are.
//! - The *remainders*: they ascend within a run, have no more copies than allowed, belong to some hash, and are zero in
//!   free slots. Inserts, removals and right answers need both parts.
//!
//! Both parts work on whole blocks. If hashes are rounded ([`Rounding`]), each fingerprint is also checked by itself.
//! Rejected: a pass slot by slot (6 ns per slot on a Zen 4 core).

use crate::enumerate::Entries;
use crate::fingerprint::Rounding;
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::layout::Position;
use crate::table::Table;
use crate::words::Words;
use trommel_base::FormatError;
use trommel_simd::bits_of;

/// The part of a table that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Only the metadata. If it is right, lookups stay within the table and end.
    Metadata,
    /// The metadata and the remainders.
    Whole,
}

/// Refuses a table that no sequence of inserts makes. Checks only the part of the table that `extent` names. Returns
/// how many slots are in use.
///
/// The caller must ensure that the table has the geometry's length. Cost: one pass over the metadata. With
/// [`Extent::Whole`], one pass over every byte, or two if the hashes are rounded.
#[inline(always)]
pub(crate) fn check<L: Layout, W: Words>(
    words: W,
    geometry: &Geometry,
    bytes: &[u8],
    extent: Extent,
) -> Result<u64, FormatError> {
    let table = Table::<L, _>::new(geometry, bytes);
    let taken = if extent == Extent::Metadata {
        check_blocks(words, geometry, &table, |_, _| Ok(()))?
    } else {
        let mut runs = Runs { words, table: &table, copies: geometry.copies, repeated: 0 };
        let taken = check_blocks(words, geometry, &table, |block, slots| runs.check(block, slots))?;
        check_fingerprints::<L>(geometry, bytes)?;
        taken
    };
    L::check_padding(&table.shape, bytes)?;
    Ok(taken)
}

fn impossible(name: &'static str, block: usize) -> FormatError {
    FormatError::Structure { name, block: block as u64 }
}

/// The state of a block's slots according to its metadata, with a bit for each slot.
#[derive(Clone, Copy)]
struct BlockSlots {
    /// Whether no run takes the slot.
    free: u64,
    /// Whether the slot and the next one, which can be the first of the next block, are in one run.
    joined: u64,
}

/// Checks the metadata block by block, and calls `each` for every block whose metadata is right. Stops at the first
/// block that is refused. Returns how many slots are in use.
#[inline(always)]
fn check_blocks<L: Layout, W: Words>(
    words: W,
    geometry: &Geometry,
    table: &Table<L, &[u8]>,
    mut each: impl FnMut(usize, BlockSlots) -> Result<(), FormatError>,
) -> Result<u64, FormatError> {
    let slots = u64::MAX >> (64 - L::SLOTS);
    // The number of runs that began in earlier blocks and have not ended there.
    let mut open = 0;
    let mut taken = 0;
    for block in 0..table.shape.blocks {
        let (occupieds, runends) = (table.occupieds(block), table.runends(block));
        if table.offset(block) != offset_after(words, table, block, open) {
            return Err(impossible("offset", block));
        }
        let quotients = geometry.slots.saturating_sub(block as u64 * u64::from(L::SLOTS));
        if words.rank(occupieds, quotients.min(64) as u32) != occupieds.count_ones() {
            return Err(impossible("occupieds", block));
        }
        // At most 64 runs end in a block, so all numbers of open runs above 64 have the same effect. All numbers from
        // 100 on are replaced by 100, so that they fit 32 bits.
        let free = words.balanced(occupieds, runends << 1, open.min(100) as u32) & slots;
        if free & runends != 0 {
            return Err(impossible("runends", block));
        }
        each(block, BlockSlots { free, joined: slots & !free & !runends })?;
        taken += u64::from((slots & !free).count_ones());
        // The difference is not negative: the check of `runends` made sure that no run ends before it was begun.
        open = open + u64::from(occupieds.count_ones()) - u64::from(runends.count_ones());
    }
    match open {
        0 => Ok(taken),
        _ => Err(impossible("runends", table.shape.blocks - 1)),
    }
}

/// The correct offset of a block. `open` is the number of runs that begin in earlier blocks and end in this block or
/// later.
#[inline(always)]
fn offset_after<L: Layout, W: Words>(
    words: W,
    table: &Table<L, &[u8]>,
    block: usize,
    open: u64,
) -> u32 {
    let Some(mut skip) = open.checked_sub(1) else { return 0 };
    let mut offset = 0;
    for block in block..table.shape.blocks {
        let runends = table.runends(block);
        let ones = u64::from(runends.count_ones());
        if skip < ones {
            return (offset + words.select(runends, skip as u32) + 1).min(L::MAX_OFFSET);
        }
        skip -= ones;
        offset += L::SLOTS;
        if offset >= L::MAX_OFFSET {
            break;
        }
    }
    L::MAX_OFFSET
}

/// The results of comparing a block's remainders, with a bit for each slot.
struct Compared {
    /// Whether the remainder is larger than that of the next slot.
    above: u64,
    /// Whether the remainder equals that of the next slot.
    equal: u64,
    zero: u64,
    /// Whether the number in the slot is not the stored form of any remainder.
    malformed: u64,
}

/// Checks the remainders of runs, block by block.
struct Runs<'t, L, W> {
    words: W,
    table: &'t Table<L, &'t [u8]>,
    copies: u32,
    /// How many adjacent slots right before the block each have the same remainder as the next slot of their run.
    repeated: u32,
}

impl<L: Layout, W: Words> Runs<'_, L, W> {
    #[inline(always)]
    fn check(&mut self, block: usize, slots: BlockSlots) -> Result<(), FormatError> {
        let compared = if self.table.shape.remainder_bits <= 8 {
            self.bytes(block)
        } else {
            self.numbers(block)
        };
        if slots.free & !compared.zero != 0 {
            return Err(impossible("free slots", block));
        }
        let taken = !slots.free & (u64::MAX >> (64 - L::SLOTS));
        let too_often = self.too_often(compared.equal & slots.joined);
        if compared.above & slots.joined != 0 || compared.malformed & taken != 0 || too_often {
            return Err(impossible("remainders", block));
        }
        Ok(())
    }

    /// Whether a remainder has more copies than the filter keeps. A bit of `equal` is set if the slot has the same
    /// remainder as the next one in its run. Updates `repeated` for the next block.
    #[inline(always)]
    fn too_often(&mut self, equal: u64) -> bool {
        if self.copies == 1 {
            return equal != 0;
        }
        // A block has room for at most 64 copies, and a multiset keeps more. So only a remainder whose copies began in
        // an earlier block can have too many.
        let begun = self.repeated + equal.trailing_ones();
        let goes_on = equal.trailing_ones() >= L::SLOTS;
        self.repeated = if goes_on { begun } else { (equal << (64 - L::SLOTS)).leading_ones() };
        begun >= self.copies
    }

    /// The first remainder of the next block; 0 if the block is the last.
    #[inline(always)]
    fn first_of_next(&self, block: usize) -> u32 {
        let next = Position { block: block + 1, slot: 0 };
        if next.block < self.table.shape.blocks { self.table.remainder(next) } else { 0 }
    }

    /// Compares remainders that fit a byte.
    #[inline(always)]
    fn bytes(&self, block: usize) -> Compared {
        let (words, shape) = (self.words, &self.table.shape);
        let mut stored = [0; 65];
        let spread = |packed| words.spread(packed, shape.remainder_bits);
        L::bytes_of_block(shape, self.table.bytes, block, spread, &mut stored);
        stored[L::SLOTS as usize] = self.first_of_next(block) as u8;
        let (these, next) = (first_64(&stored), first_64(&stored[1..]));
        let zero = words.equal(these, &[0; 64]);
        let malformed = if L::RESERVES_ZERO {
            let spare = 8 - shape.remainder_bits;
            let (low, mark) = (((1u32 << spare) - 1) as u8, ((1u32 << spare) >> 1) as u8);
            zero | !words.equal(&these.map(|stored| stored & low), &[mark; 64])
        } else {
            0
        };
        Compared {
            above: words.above(these, next),
            equal: words.equal(these, next),
            zero,
            malformed,
        }
    }

    /// Compares remainders that are wider than a byte. Only `WideBlock` has such remainders, and it stores them
    /// unchanged, so none is malformed.
    #[inline(always)]
    fn numbers(&self, block: usize) -> Compared {
        let mut stored = [0; 65];
        for (slot, stored) in stored[..L::SLOTS as usize].iter_mut().enumerate() {
            *stored = self.table.remainder(Position { block, slot: slot as u32 });
        }
        stored[L::SLOTS as usize] = self.first_of_next(block);
        let mut masks = [[0; 64]; 3];
        let [above, equal, zero] = &mut masks;
        for slot in 0..64 {
            above[slot] = u8::from(stored[slot] > stored[slot + 1]);
            equal[slot] = u8::from(stored[slot] == stored[slot + 1]);
            zero[slot] = u8::from(stored[slot] == 0);
        }
        let [above, equal, zero] = masks.map(|mask| bits_of(&mask));
        Compared { above, equal, zero, malformed: 0 }
    }
}

#[inline(always)]
fn first_64(bytes: &[u8]) -> &[u8; 64] {
    &bytes.as_chunks().0[0]
}

/// Refuses fingerprints that no hash has. There are such fingerprints only if hashes are rounded: see [`Rounding`]. The
/// caller must ensure that the metadata is right.
fn check_fingerprints<L: Layout>(geometry: &Geometry, bytes: &[u8]) -> Result<(), FormatError> {
    let rounding = Rounding::of::<L>(geometry);
    if rounding == Rounding::None {
        return Ok(());
    }
    for (quotient, stored) in Entries::<L>::new(geometry, bytes) {
        if !rounding.could_store::<L>(geometry, quotient, stored) {
            return Err(impossible("remainders", Position::of_slot::<L>(quotient).block));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
