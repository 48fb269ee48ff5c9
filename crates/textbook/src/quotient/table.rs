//! A circle of packed slots.

use super::shape::Shape;
use super::slot::Slot;
use trommel_base::{SpecError, Storage};

/// The number of bytes that are read or written, as a `u128`, to access one slot. A slot has up to 64 bits and can
/// start at any bit of a byte, so it can span nine bytes.
const WINDOW_BYTES: usize = size_of::<u128>();

/// `2^q` slots in a circle: slot 0 follows the last slot.
///
/// Shape: slot `i` is bits `i · (r + 3)` to `(i + 1) · (r + 3)` of the little-endian bytes. Sixteen more
/// bytes follow, so that even the last slot can be read as part of a `u128`.
#[derive(Clone, Debug)]
pub(super) struct Table {
    bytes: Storage,
    slots: u64,
    slot_bits: u32,
}

impl Table {
    /// Creates a table of empty slots.
    pub(super) fn new(shape: Shape) -> Result<Self, SpecError> {
        let slots = shape.slots();
        let slot_bits = shape.remainder_bits + Slot::METADATA_BITS;
        let bytes = (slots * u64::from(slot_bits)).div_ceil(8) + WINDOW_BYTES as u64;
        let refused = SpecError::OutOfMemory { bytes };
        let len = usize::try_from(bytes).map_err(|_| refused)?;
        let bytes = Storage::zeroed(len, false).map_err(|_| refused)?;
        Ok(Self { bytes, slots, slot_bits })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The slot to the right of `slot`.
    pub(super) fn next(&self, slot: u64) -> u64 {
        (slot + 1) % self.slots
    }

    /// The slot to the left of `slot`.
    pub(super) fn previous(&self, slot: u64) -> u64 {
        (slot + self.slots - 1) % self.slots
    }

    /// The nearest home of a run to the right of `slot`. The search goes around the circle, and reaches `slot` itself
    /// last. The caller must ensure that some slot is the home of a run.
    pub(super) fn next_occupied(&self, slot: u64) -> u64 {
        let mut home = self.next(slot);
        while !self.get(home).is_occupied {
            home = self.next(home);
        }
        home
    }

    pub(super) fn get(&self, slot: u64) -> Slot {
        let (byte, bit) = self.position_of(slot);
        Slot::from_bits((self.window(byte) >> bit & self.mask()) as u64)
    }

    /// Writes a remainder and its two bits to a slot, and leaves the slot's `is_occupied` unchanged. Every
    /// move of a remainder uses this function, so `is_occupied` never moves with a remainder.
    pub(super) fn put(&mut self, slot: u64, content: Slot) {
        let is_occupied = self.get(slot).is_occupied;
        self.set(slot, Slot { is_occupied, ..content });
    }

    /// Sets whether this slot is the home of a run, and leaves its remainder unchanged.
    pub(super) fn set_occupied(&mut self, slot: u64, is_occupied: bool) {
        let content = self.get(slot);
        self.set(slot, Slot { is_occupied, ..content });
    }

    fn set(&mut self, slot: u64, value: Slot) {
        let (byte, bit) = self.position_of(slot);
        let others = self.window(byte) & !(self.mask() << bit);
        let window = others | u128::from(value.to_bits()) << bit;
        self.bytes[byte..byte + WINDOW_BYTES].copy_from_slice(&window.to_le_bytes());
    }

    /// The byte in which a slot begins, and the bit of that byte at which it begins.
    fn position_of(&self, slot: u64) -> (usize, u32) {
        let bit = slot * u64::from(self.slot_bits);
        ((bit / 8) as usize, (bit % 8) as u32)
    }

    fn window(&self, byte: usize) -> u128 {
        let mut window = [0; WINDOW_BYTES];
        window.copy_from_slice(&self.bytes[byte..byte + WINDOW_BYTES]);
        u128::from_le_bytes(window)
    }

    fn mask(&self) -> u128 {
        (1 << self.slot_bits) - 1
    }
}
