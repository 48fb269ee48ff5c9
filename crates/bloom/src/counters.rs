//! Packed counters, of four bits or of two bits. A four-bit counter that reaches 15 *sticks*: it stays at 15. Two-bit
//! counters have an overflow table for counts above 2.

use crate::overflow::{ENTRY_BYTES, Overflow};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use trommel_base::batch::{Fetch, Window, run_stages};
use trommel_base::storage::{OutOfMemory, room_for};
use trommel_base::{FormatError, Storage, with_fetch};

/// How wide a counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CounterWidth {
    /// Two bits. Counts above 2 are kept in an overflow table, so all counts are exact.
    Two = 2,
    /// Four bits; a counter that reaches 15 stays there.
    Four = 4,
}

impl CounterWidth {
    /// The number of bits of a counter.
    ///
    /// ```
    /// use trommel::bloom::CounterWidth;
    /// assert_eq!((CounterWidth::Two.bits(), CounterWidth::Four.bits()), (2, 4));
    /// ```
    #[must_use]
    pub const fn bits(self) -> u32 {
        self as u32
    }

    /// The highest value of a cell; a cell is the bits of one counter. In a cell of four bits this value means "the
    /// counter is stuck", in a cell of two bits "the overflow table has the count".
    pub(crate) const fn ceiling(self) -> u8 {
        (1 << self.bits()) - 1
    }

    /// The highest count that a cell holds without the overflow table.
    const fn max_exact(self) -> u8 {
        match self {
            Self::Two => self.ceiling() - 1,
            Self::Four => self.ceiling(),
        }
    }

    /// The number of bytes of counters for each 64-bit word of the bit table.
    pub(crate) const fn bytes_per_word(self) -> usize {
        8 * self.bits() as usize
    }
}

/// A counter for every position of a bit table.
#[derive(Clone)]
pub(crate) struct Counters<S = Storage> {
    pub(crate) width: CounterWidth,
    /// Packed cells. The cell of position 0 is in the lowest bits of byte 0.
    pub(crate) cells: S,
    /// The counts of the two-bit cells that are at the ceiling; empty for four-bit cells.
    pub(crate) overflow: Overflow<S>,
}

impl<S> fmt::Debug for Counters<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").field("width", &self.width).finish_non_exhaustive()
    }
}

impl<S: AsRef<[u8]>> Counters<S> {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.cells.as_ref().len() + self.overflow.len() * ENTRY_BYTES
    }

    /// The byte of a cell, and the cell's shift within it.
    fn byte_and_shift(&self, position: u64) -> (usize, u64) {
        let bit = position * u64::from(self.width.bits());
        ((bit / 8) as usize, bit % 8)
    }

    fn cell(&self, position: u64) -> u8 {
        let (byte, shift) = self.byte_and_shift(position);
        self.cells.as_ref()[byte] >> shift & self.width.ceiling()
    }

    /// The count at a position. With four bits, 15 means 15 or more.
    pub(crate) fn count(&self, position: u64) -> u64 {
        let cell = self.cell(position);
        if self.width == CounterWidth::Two && cell == self.width.ceiling() {
            self.overflow.get(position).unwrap_or(u64::from(cell))
        } else {
            u64::from(cell)
        }
    }

    /// Checks that the counters agree with the bits and with the overflow table: a counter is above zero exactly where
    /// its bit is set, and a two-bit cell is at the ceiling exactly where the overflow table has an entry.
    ///
    /// Cost: one pass over bits and counters, a word of counters at a time, and one pass over the overflow table.
    pub(crate) fn check(&self, bits: &[u8]) -> Result<(), FormatError> {
        let (cells, _) = self.cells.as_ref().as_chunks();
        let mut at_ceiling = 0;
        let all_agree = match self.width {
            CounterWidth::Four => agree(bits.as_chunks().0, cells, |bits, cells| {
                spread_to_fours(u16::from_le_bytes(bits)) ^ nonzero_fours(cells)
            }),
            CounterWidth::Two => agree(bits.as_chunks().0, cells, |bits, cells| {
                at_ceiling += (cells & cells >> 1 & EVERY_SECOND).count_ones() as usize;
                spread_to_twos(u32::from_le_bytes(bits)) ^ nonzero_twos(cells)
            }),
        };
        if !all_agree {
            let value = self.first_disagreement(bits);
            return Err(FormatError::Field { name: "counter", value });
        }
        if self.width == CounterWidth::Two {
            let in_table = |position| self.cell(position) == self.width.ceiling();
            if at_ceiling != self.overflow.len() || !self.overflow.all_positions(in_table) {
                let value = self.overflow.len() as u64;
                return Err(FormatError::Field { name: "overflow entries", value });
            }
        }
        Ok(())
    }

    /// The first position whose bit disagrees with its counter.
    fn first_disagreement(&self, bits: &[u8]) -> u64 {
        let is_set = |position: u64| bits[(position / 8) as usize] >> (position % 8) & 1 == 1;
        let mut positions = 0..bits.len() as u64 * 8;
        positions.find(|position| (self.cell(*position) > 0) != is_set(*position)).unwrap_or(0)
    }
}

/// Whether `difference` returns zero for every word of counters; its first argument has the bits of these counters. The
/// loop has no early exit, so that the compiler vectorises it.
#[inline(always)]
fn agree<const BITS_BYTES: usize>(
    bits: &[[u8; BITS_BYTES]],
    cells: &[[u8; 8]],
    mut difference: impl FnMut([u8; BITS_BYTES], u64) -> u64,
) -> bool {
    let words = bits.iter().zip(cells);
    words.fold(0, |all, (bits, cells)| all | difference(*bits, u64::from_le_bytes(*cells))) == 0
}

const EVERY_SECOND: u64 = 0x5555_5555_5555_5555;
const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;

/// Returns a word in which the lowest bit of each two-bit field is 1 if that field of `cells` is not zero. All other
/// bits are 0.
#[inline(always)]
const fn nonzero_twos(cells: u64) -> u64 {
    (cells | cells >> 1) & EVERY_SECOND
}

/// Returns a word in which the lowest bit of each four-bit field is 1 if that field of `cells` is not zero. All other
/// bits are 0.
#[inline(always)]
const fn nonzero_fours(cells: u64) -> u64 {
    let twos = cells | cells >> 2;
    (twos | twos >> 1) & EVERY_FOURTH
}

/// Moves bit `i` to bit `2i`. Source: Warren, "Hacker's delight", section 7-2.
#[inline(always)]
const fn spread_to_twos(bits: u32) -> u64 {
    let bits = bits as u64;
    let bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF;
    let bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF;
    let bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    let bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & EVERY_SECOND
}

/// Moves bit `i` to bit `4i`.
#[inline(always)]
const fn spread_to_fours(bits: u16) -> u64 {
    let bits = bits as u64;
    let bits = (bits | bits << 24) & 0x0000_00FF_0000_00FF;
    let bits = (bits | bits << 12) & 0x000F_000F_000F_000F;
    let bits = (bits | bits << 6) & 0x0303_0303_0303_0303;
    (bits | bits << 3) & EVERY_FOURTH
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Counters<S> {
    fn set_cell(&mut self, position: u64, value: u8) {
        let (byte, shift) = self.byte_and_shift(position);
        let byte = &mut self.cells.as_mut()[byte];
        *byte = *byte & !(self.width.ceiling() << shift) | value << shift;
    }

    /// Adds `amount` to a counter; true if the counter changed.
    #[inline(never)]
    fn add(&mut self, position: u64, amount: u64) -> bool {
        let ceiling = self.width.ceiling();
        let before = self.count(position);
        if self.width == CounterWidth::Four && before == u64::from(ceiling) {
            return false;
        }
        let sum = before.saturating_add(amount);
        self.set_cell(position, sum.min(u64::from(ceiling)) as u8);
        if self.width == CounterWidth::Two && sum >= u64::from(ceiling) {
            self.overflow.map_mut().insert(position, sum);
        }
        sum != before
    }

    /// Increments the counter at a position; true if the counter changed, false if it is stuck.
    #[inline]
    pub(crate) fn increment(&mut self, position: u64) -> bool {
        let (byte, shift) = self.byte_and_shift(position);
        let byte = &mut self.cells.as_mut()[byte];
        if *byte >> shift & self.width.ceiling() < self.width.max_exact() {
            *byte += 1 << shift;
            true
        } else {
            self.add(position, 1)
        }
    }

    /// Decrements the counter at a position; true if the counter becomes zero. A stuck counter and a counter at zero do
    /// not change. A removal finds a counter at zero only if the key of this removal, or of an earlier removal, was not
    /// in the filter.
    pub(crate) fn decrement(&mut self, position: u64) -> bool {
        let ceiling = self.width.ceiling();
        match (self.cell(position), self.width) {
            (0, _) => false,
            (cell, CounterWidth::Four) if cell == ceiling => false,
            (cell, CounterWidth::Two) if cell == ceiling => {
                let count = self.count(position) - 1;
                if count < u64::from(ceiling) {
                    self.overflow.map_mut().remove(&position);
                    self.set_cell(position, count as u8);
                } else {
                    self.overflow.map_mut().insert(position, count);
                }
                false
            }
            (cell, _) => {
                self.set_cell(position, cell - 1);
                cell == 1
            }
        }
    }

    /// Adds the counters of another table of the same size and width.
    pub(crate) fn add_all<T: AsRef<[u8]>>(&mut self, other: &Counters<T>) {
        let positions = other.cells.as_ref().len() as u64 * 8 / u64::from(other.width.bits());
        for position in 0..positions {
            self.add(position, other.count(position));
        }
    }

    /// Splits the counters into pieces of `2^positions_log2` positions; the last piece can have fewer. The caller must
    /// ensure that `positions_log2` is at least 3. Each piece gets its part of the overflow table. After this call,
    /// `self.overflow` is empty until [`Counters::join_overflows`] restores it.
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is no memory for the list of pieces. The counters are then unchanged.
    pub(crate) fn pieces(
        &mut self,
        positions_log2: u32,
    ) -> Result<Vec<Counters<&mut [u8]>>, OutOfMemory> {
        let width = self.width;
        let cells = self.cells.as_mut().chunks_mut((width.bits() as usize) << (positions_log2 - 3));
        let mut pieces = room_for(cells.len())?;
        let mut rest = core::mem::take(self.overflow.map_mut());
        let piece = |(i, cells)| {
            let begin = (i as u64) << positions_log2;
            let beyond = rest.split_off(&(begin + (1 << positions_log2)));
            let here = core::mem::replace(&mut rest, beyond).into_iter();
            let here = here.map(|(position, count)| (position - begin, count)).collect();
            Counters { width, cells, overflow: Overflow::Map(here) }
        };
        pieces.extend(cells.enumerate().map(piece));
        Ok(pieces)
    }

    /// Restores `self.overflow` from the overflow tables of all pieces, given in the order of the pieces.
    pub(crate) fn join_overflows(
        &mut self,
        overflows: Vec<BTreeMap<u64, u64>>,
        positions_log2: u32,
    ) {
        let entries = overflows.into_iter().enumerate().flat_map(|(i, overflow)| {
            let begin = (i as u64) << positions_log2;
            overflow.into_iter().map(move |(position, count)| (begin + position, count))
        });
        self.overflow = Overflow::Map(entries.collect());
    }

    /// Increments the counters of a batch of hashes; `positions` gives the positions of each hash. If the counters take
    /// more than half of L2, the cache lines of a key's counters are prefetched 16 keys ahead.
    pub(crate) fn increment_batch<I: Iterator<Item = u64>>(
        &mut self,
        hashes: &[u64],
        positions: impl Fn(u64) -> I,
    ) {
        let window = Window { distance_keys: 16, ..Window::for_table(self.cells.as_ref().len()) };
        with_fetch!(window, F => self.increment_pipelined::<F, I>(hashes, positions, window));
    }

    fn increment_pipelined<F: Fetch, I: Iterator<Item = u64>>(
        &mut self,
        hashes: &[u64],
        positions: impl Fn(u64) -> I,
        window: Window,
    ) {
        run_stages::<1, _>(
            hashes,
            hashes.len(),
            window,
            self,
            |_, _| {},
            |counters, i| {
                for position in positions(hashes[i]) {
                    let (byte, _) = counters.byte_and_shift(position);
                    F::line(counters.cells.as_ref().as_ptr().wrapping_add(byte));
                }
            },
            |counters, i| {
                for position in positions(hashes[i]) {
                    counters.increment(position);
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At each position, the test first flips only the bit. Then it sets only the counter, to each of its values.
    #[test]
    fn a_counter_that_contradicts_its_bit_or_the_overflow_table_is_found() {
        for width in [CounterWidth::Two, CounterWidth::Four] {
            let words = 3;
            let positions = 64 * words as u64;
            let mut bits = alloc::vec![0; 8 * words];
            let cells = alloc::vec![0; width.bytes_per_word() * words];
            let mut counters = Counters { width, cells, overflow: Overflow::default() };
            for position in (0..positions).filter(|position| position % 5 < 3) {
                bits[position as usize / 8] |= 1 << (position % 8);
                for _ in 0..=position % 17 {
                    counters.increment(position);
                }
            }
            assert_eq!(counters.check(&bits), Ok(()));
            for position in 0..positions {
                bits[position as usize / 8] ^= 1 << (position % 8);
                let refused = FormatError::Field { name: "counter", value: position };
                assert_eq!(counters.check(&bits), Err(refused));
                bits[position as usize / 8] ^= 1 << (position % 8);
                let was = counters.cell(position);
                for value in 0..=width.ceiling() {
                    counters.set_cell(position, value);
                    let ceiling_agrees = width == CounterWidth::Four
                        || (value == width.ceiling()) == counters.overflow.get(position).is_some();
                    let agrees = (value > 0) == (was > 0) && ceiling_agrees;
                    assert_eq!(
                        counters.check(&bits).is_ok(),
                        agrees,
                        "{width:?}: check with the counter of position {position} set from {was} to {value}"
                    );
                }
                counters.set_cell(position, was);
            }
            assert_eq!(counters.check(&bits), Ok(()));
        }
    }
}
