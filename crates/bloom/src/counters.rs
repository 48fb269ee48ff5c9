//! Packed counters: 4-bit ones that stick, or 2-bit ones with an overflow table.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use trommel_base::batch::{Fetch, Window, roll};
use trommel_base::{FormatError, Storage, with_fetch};

/// How wide a counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CounterWidth {
    /// Two bits; counts above 2 are kept in an overflow table, and are exact.
    Two = 2,
    /// Four bits; a counter that reaches 15 stays there.
    Four = 4,
}

impl CounterWidth {
    /// Bits of a counter.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self as u32
    }

    /// The highest value of a counter's cell: stuck with four bits, "see the overflow table" with two.
    const fn ceiling(self) -> u8 {
        (1 << self.bits()) - 1
    }

    /// Bytes of counters beside a word of 64 bits.
    pub(crate) const fn bytes_per_word(self) -> usize {
        8 * self.bits() as usize
    }
}

/// A counter for every position of a bit table.
#[derive(Clone)]
pub(crate) struct Counters<S = Storage> {
    pub(crate) width: CounterWidth,
    /// Packed cells, position 0 in the lowest bits of byte 0.
    pub(crate) cells: S,
    /// The counts of cells at the ceiling, with two bits.
    pub(crate) overflow: BTreeMap<u64, u64>,
}

impl<S> fmt::Debug for Counters<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters")
            .field("width", &self.width)
            .field("overflow_entries", &self.overflow.len())
            .finish_non_exhaustive()
    }
}

/// Bytes of an entry of the overflow table in the container: position and count.
pub(crate) const OVERFLOW_ENTRY_BYTES: usize = 16;

impl<S: AsRef<[u8]>> Counters<S> {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.cells.as_ref().len() + self.overflow.len() * OVERFLOW_ENTRY_BYTES
    }

    /// Byte and shift of a cell.
    fn place(&self, position: u64) -> (usize, u64) {
        let bit = position * u64::from(self.width.bits());
        ((bit / 8) as usize, bit % 8)
    }

    fn cell(&self, position: u64) -> u8 {
        let (byte, shift) = self.place(position);
        self.cells.as_ref()[byte] >> shift & self.width.ceiling()
    }

    /// The count at a position; 15 may stand for more with four bits.
    pub(crate) fn count(&self, position: u64) -> u64 {
        let cell = self.cell(position);
        if self.width == CounterWidth::Two && cell == self.width.ceiling() {
            self.overflow.get(&position).copied().unwrap_or(u64::from(cell))
        } else {
            u64::from(cell)
        }
    }

    /// The overflow table as the container stores it: ascending pairs of position and count.
    pub(crate) fn overflow_bytes(&self) -> Vec<u8> {
        self.overflow
            .iter()
            .flat_map(|(position, count)| [position.to_le_bytes(), count.to_le_bytes()])
            .flatten()
            .collect()
    }

    /// Checks that counters agree with the bits and the overflow table: a counter is above zero where
    /// its bit is set and nowhere else, and a 2-bit cell is at its ceiling where the table has it.
    pub(crate) fn check(&self, bits: &[u8]) -> Result<(), FormatError> {
        let ceiling = self.width.ceiling();
        let mut at_ceiling = 0;
        for (position, bit) in
            bits.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1)).enumerate()
        {
            let cell = self.cell(position as u64);
            if (cell > 0) != (bit == 1) {
                return Err(FormatError::Field { name: "counter", value: position as u64 });
            }
            at_ceiling += usize::from(cell == ceiling);
        }
        if self.width == CounterWidth::Two {
            let in_table = |position: &u64| self.cell(*position) == ceiling;
            if at_ceiling != self.overflow.len() || !self.overflow.keys().all(in_table) {
                let value = self.overflow.len() as u64;
                return Err(FormatError::Field { name: "overflow entries", value });
            }
        }
        Ok(())
    }
}

/// Reads the overflow table of a container over `positions` positions.
pub(crate) fn parse_overflow(
    bytes: &[u8],
    positions: u64,
) -> Result<BTreeMap<u64, u64>, FormatError> {
    let (words, _) = bytes.as_chunks::<8>();
    let (entries, _) = words.as_chunks::<2>();
    let mut overflow = BTreeMap::new();
    let mut next = 0;
    for [position, count] in entries {
        let (position, count) = (u64::from_le_bytes(*position), u64::from_le_bytes(*count));
        if position < next || position >= positions {
            return Err(FormatError::Field { name: "overflow position", value: position });
        }
        if count < u64::from(CounterWidth::Two.ceiling()) {
            return Err(FormatError::Field { name: "overflow count", value: count });
        }
        overflow.insert(position, count);
        next = position + 1;
    }
    Ok(overflow)
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Counters<S> {
    fn set_cell(&mut self, position: u64, value: u8) {
        let (byte, shift) = self.place(position);
        let byte = &mut self.cells.as_mut()[byte];
        *byte = *byte & !(self.width.ceiling() << shift) | value << shift;
    }

    /// Adds `amount` to a counter; true if that changed it.
    fn add(&mut self, position: u64, amount: u64) -> bool {
        let ceiling = self.width.ceiling();
        let before = self.count(position);
        if self.width == CounterWidth::Four && before == u64::from(ceiling) {
            return false;
        }
        let sum = before.saturating_add(amount);
        self.set_cell(position, sum.min(u64::from(ceiling)) as u8);
        if self.width == CounterWidth::Two && sum >= u64::from(ceiling) {
            self.overflow.insert(position, sum);
        }
        sum != before
    }

    /// One more key at a position; true if that changed the counter, false if it is stuck.
    pub(crate) fn increment(&mut self, position: u64) -> bool {
        self.add(position, 1)
    }

    /// One key less at a position; true if none is left. A stuck counter stays, and so does one at
    /// zero, which only the removal of a key that was never inserted can meet.
    pub(crate) fn decrement(&mut self, position: u64) -> bool {
        let ceiling = self.width.ceiling();
        match (self.cell(position), self.width) {
            (0, _) => false,
            (cell, CounterWidth::Four) if cell == ceiling => false,
            (cell, CounterWidth::Two) if cell == ceiling => {
                let count = self.count(position) - 1;
                if count < u64::from(ceiling) {
                    self.overflow.remove(&position);
                    self.set_cell(position, count as u8);
                } else {
                    self.overflow.insert(position, count);
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

    /// The counters in pieces of a power of two, at least 8, of positions, each a table of its own. They have
    /// taken the overflow table with them: [`Counters::join_overflows`] brings it back.
    pub(crate) fn pieces(&mut self, positions_log2: u32) -> Vec<Counters<&mut [u8]>> {
        let width = self.width;
        let mut rest = core::mem::take(&mut self.overflow);
        let cells = self.cells.as_mut().chunks_mut((width.bits() as usize) << (positions_log2 - 3));
        let piece = |(i, cells)| {
            let begin = (i as u64) << positions_log2;
            let beyond = rest.split_off(&(begin + (1 << positions_log2)));
            let here = core::mem::replace(&mut rest, beyond).into_iter();
            let overflow = here.map(|(position, count)| (position - begin, count)).collect();
            Counters { width, cells, overflow }
        };
        cells.enumerate().map(piece).collect()
    }

    /// Takes the overflow tables of all pieces back.
    pub(crate) fn join_overflows(
        &mut self,
        overflows: Vec<BTreeMap<u64, u64>>,
        positions_log2: u32,
    ) {
        let entries = overflows.into_iter().enumerate().flat_map(|(i, overflow)| {
            let begin = (i as u64) << positions_log2;
            overflow.into_iter().map(move |(position, count)| (begin + position, count))
        });
        self.overflow = entries.collect();
    }

    /// Increments the counters of a batch of hashes, whose positions `positions` gives. The lines of
    /// a key's counters are fetched 16 keys ahead.
    pub(crate) fn increment_batch<I: Iterator<Item = u64>>(
        &mut self,
        hashes: &[u64],
        positions: impl Fn(u64) -> I,
    ) {
        let window = Window { distance_keys: 16, ..Window::for_table(self.cells.as_ref().len()) };
        with_fetch!(window, F => self.increment_rolling::<F, I>(hashes, positions, window));
    }

    fn increment_rolling<F: Fetch, I: Iterator<Item = u64>>(
        &mut self,
        hashes: &[u64],
        positions: impl Fn(u64) -> I,
        window: Window,
    ) {
        roll::<1, _>(
            hashes,
            hashes.len(),
            window,
            self,
            |_, _| {},
            |counters, i| {
                for position in positions(hashes[i]) {
                    let (byte, _) = counters.place(position);
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
