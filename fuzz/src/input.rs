//! Reads numbers from the bytes of an input. Numbers are read as if zeros followed the last byte.

use trommel::Isa;

/// The bytes of an input that are not read yet.
#[derive(Debug)]
pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.number::<1>() as u8
    }

    /// The next two bytes, as a little-endian number.
    pub fn short(&mut self) -> u16 {
        self.number::<2>() as u16
    }

    /// The next eight bytes, as a little-endian number.
    pub fn word(&mut self) -> u64 {
        self.number::<8>()
    }

    fn number<const BYTES: usize>(&mut self) -> u64 {
        let (now, later) = self.0.split_at(BYTES.min(self.0.len()));
        self.0 = later;
        now.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// One of this machine's instruction sets, chosen by a number from the input.
pub fn isa(number: u8) -> Isa {
    let isas: Vec<Isa> = Isa::available().collect();
    isas[usize::from(number) % isas.len()]
}
