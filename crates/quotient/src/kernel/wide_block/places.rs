//! The constants of a table, and of packed remainders in a word, for all kernels of [`WideBlock`].

use crate::geometry::Geometry;
use crate::layout::{Shape, WideBlock};

pub(super) const SLOTS: u32 = 64;

/// The fields of a word of packed remainders of one width. The word is eight bytes of the table, the first of which has
/// the first bit of the first remainder. The word is shifted right so that this bit is its lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    /// The total number of bits of the remainders that lie completely in the word even after the greatest shift.
    pub(super) step: u32,
    /// A mask of the lowest bit of each of these remainders.
    pub(super) lowest: u64,
    /// A mask of the highest bit of each of these remainders.
    pub(super) highest: u64,
}

impl Fields {
    const fn of(bits: u32) -> Self {
        // Remainders begin at multiples of the width, so at multiples of `factor`, the greatest common divisor of the
        // width and 8. So the greatest shift, to the first remainder's first bit, is by `8 - factor` bits.
        let factor = if bits.trailing_zeros() > 3 { 8 } else { 1 << bits.trailing_zeros() };
        let step = (64 - (8 - factor)) / bits * bits;
        let (mut lowest, mut at) = (0, 0);
        while at < step {
            lowest |= 1 << at;
            at += bits;
        }
        Self { step, lowest, highest: lowest << (bits - 1) }
    }

    /// Compares each field of `window` with the same field of `pattern`. Returns 0 if no field is equal. Otherwise, the
    /// lowest set bit of the result is at the highest bit of the first equal field. The bits above it can be wrong.
    ///
    /// Equal fields are zero after the exclusive or. Subtracting 1 from each field borrows from the field above only if
    /// a field is zero, so the result is exact up to the first zero field.
    #[inline(always)]
    pub(super) const fn equal(&self, window: u64, pattern: u64) -> u64 {
        let differing = window ^ pattern;
        differing.wrapping_sub(self.lowest) & !differing & self.highest
    }
}

/// [`Fields`] of every width.
static FIELDS: [Fields; 33] = {
    let mut fields = [Fields { step: 0, lowest: 0, highest: 0 }; 33];
    let mut bits = 1;
    while bits <= 32 {
        fields[bits] = Fields::of(bits as u32);
        bits += 1;
    }
    fields
};

/// The bytes at which the sections of a table begin, and the width of its remainders, for kernels that read a key's
/// block and the block after it.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// The byte of the table at which the remainders begin.
    pub(super) remainders: usize,
    /// The byte of the table at which the offsets begin.
    pub(super) offsets: usize,
    /// The number of bits of a remainder.
    pub(super) bits: u32,
    pub(super) shape: Shape,
    pub(super) fields: &'static Fields,
}

impl Places {
    /// `None` if keys can have their home in the table's last block, after which there is no block. They can only if
    /// there are up to 16 quotients: larger tables end with a block that has no homes.
    ///
    /// # Panics
    /// If the table does not have the geometry's length.
    #[inline(always)]
    pub(super) fn of(geometry: &Geometry, table: &[u8]) -> Option<Self> {
        assert!(table.len() as u64 == geometry.table_bytes::<WideBlock>());
        if geometry.blocks * u64::from(SLOTS) < geometry.slots + u64::from(SLOTS) {
            return None;
        }
        let bits = geometry.remainder_bits;
        let shape = geometry.shape();
        Some(Self {
            remainders: shape.remainders_at(),
            offsets: shape.offsets_at(),
            bits,
            shape,
            fields: &FIELDS[bits as usize],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trommel_testkit::Splitmix;

    /// Compares [`Fields::equal`] with a search field by field.
    #[test]
    fn equal_fields_are_found_wherever_they_are() {
        for bits in 1..=32 {
            let fields = Fields::of(bits);
            let mask = u64::MAX >> (64 - bits);
            let count = fields.step / bits;
            assert!(count >= 1 && fields.step.is_multiple_of(bits));
            for phase in (0..8).filter(|phase| (0..8).any(|slot| slot * bits % 8 == *phase)) {
                assert!(phase + fields.step <= 64);
            }
            let mut random = Splitmix::new(bits.into());
            for _ in 0..1000 {
                let wanted = random.word() & random.word() & mask;
                let window = random.word() & random.word();
                let first = (0..count).find(|i| window >> (i * bits) & mask == wanted);
                let equal = fields.equal(window, wanted.wrapping_mul(fields.lowest));
                let found = (equal != 0).then(|| equal.trailing_zeros() / bits);
                assert_eq!(found, first, "the field {wanted:x} of {bits} bits in {window:x}");
            }
        }
    }
}
