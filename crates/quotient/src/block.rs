//! Quotient filters as filter blocks ([`BlockTable`]): the table of a set, stored without a header. The number of slots
//! follows from the table's length and the width of the remainders, which is the filter block's parameter.

use crate::check::Extent;
use crate::filter::{Quotient, prefetch_home};
use crate::geometry::{GUARANTEED_LOAD, Geometry, MAX_SLOTS};
use crate::kernel::Kernels;
use crate::layout::Layout;
use crate::sizing::{fits, slots_for};
use trommel_base::block::{BlockSpec, BlockTable, PolicyError};
use trommel_base::sizing::MAX_BITS_PER_KEY;
use trommel_base::spec::check_bits_per_key;
use trommel_base::storage::MAX_BYTES;
use trommel_base::{FormatError, Hasher, Insert, KeyHash, SpecError, Storage};
use trommel_simd::Isa;

impl<L: Layout> BlockTable for Quotient<L> {
    /// The most remainder bits for which a table at 95 % load takes at most `bits_per_key`. Padding and the overhang
    /// (the slots after the last quotient's slot) are not counted.
    fn parameter(bits_per_key: f64) -> Result<u8, SpecError> {
        let narrowest =
            if L::RESERVES_ZERO { *L::REMAINDER_BITS.end() } else { *L::REMAINDER_BITS.start() };
        let bits_at_load = |remainder_bits: u32| {
            L::block_bits(remainder_bits) as f64 / f64::from(L::SLOTS) / GUARANTEED_LOAD
        };
        check_bits_per_key(bits_per_key, bits_at_load(narrowest), MAX_BITS_PER_KEY)?;
        let widths = narrowest..=*L::REMAINDER_BITS.end();
        let fitting = widths.rev().find(|bits| bits_at_load(*bits) <= bits_per_key);
        Ok(fitting.unwrap_or(narrowest) as u8)
    }

    /// The number of bytes of a table that holds `keys` keys at 95 % load. If some of the bits per key are left over,
    /// they stay unused: they are too few to make every remainder one bit wider, or the layout has no wider remainders.
    fn table_len(spec: &BlockSpec, keys: usize) -> Option<usize> {
        let slots = slots_for::<L>(keys, GUARANTEED_LOAD);
        if slots > MAX_SLOTS {
            return None;
        }
        let bits = spec.parameter.into();
        let bytes = L::table_bytes(Geometry::blocks_for::<L>(slots), bits);
        geometry_of::<L>(spec.parameter, bytes).map(|_| bytes as usize)
    }

    fn fill(spec: &BlockSpec, hashes: &[KeyHash], table: &mut [u8]) -> Result<(), PolicyError> {
        let Some(geometry) = geometry_of::<L>(spec.parameter, table.len() as u64) else {
            return Err(PolicyError::TooManyKeys { keys: hashes.len() });
        };
        assert!(spec.isa.is_available());
        // The policy has hashed the keys already; the filter gets hashes only, so any hasher will do.
        let zeroed = Storage::zeroed(table.len(), true)?;
        let mut filter = Self::assemble(geometry, Hasher::default(), spec.isa, zeroed);
        filter.insert_batch(hashes)?;
        table.copy_from_slice(filter.table());
        Ok(())
    }

    /// Safe for any bytes. If no table has this parameter and the length of these bytes, the answer is true. Otherwise,
    /// whatever the bytes are, the lookup reads only from the key's block of slots and the next one, from further
    /// blocks that it has checked to lie in the table, or through slices, which check their bounds.
    #[inline(always)]
    fn may_match(isa: Isa, parameter: u8, table: &[u8], hash: KeyHash) -> bool {
        assert!(isa.is_available());
        geometry_of::<L>(parameter, table.len() as u64)
            .is_none_or(|geometry| Kernels::of::<L>(isa).contains(&geometry, table, hash.raw()))
    }

    #[inline(always)]
    fn prefetch(parameter: u8, table: &[u8], hash: KeyHash) {
        if let Some(geometry) = geometry_of::<L>(parameter, table.len() as u64) {
            prefetch_home::<L>(&geometry, table, hash.raw());
        }
    }

    /// Refuses bytes that are not a table of this library: see `check.rs`.
    fn check(parameter: u8, table: &[u8]) -> Result<(), FormatError> {
        let bits = u32::from(parameter);
        if !is_width::<L>(bits) {
            return Err(FormatError::Field { name: "remainder bits", value: bits.into() });
        }
        let Some(geometry) = geometry_of::<L>(parameter, table.len() as u64) else {
            return Err(FormatError::Field { name: "table length", value: table.len() as u64 });
        };
        Kernels::of::<L>(Isa::active_or_best()).check(&geometry, table, Extent::Whole).map(|_| ())
    }
}

/// Whether `bits` is a width that the remainders of a filter block can have.
fn is_width<L: Layout>(bits: u32) -> bool {
    // A layout that reserves remainder 0 starts with its largest width, and block tables never grow, so they keep this
    // width.
    L::REMAINDER_BITS.contains(&bits) && (!L::RESERVES_ZERO || bits == *L::REMAINDER_BITS.end())
}

/// The geometry of a table, from the width of its remainders and its length; `None` if there is no such table.
#[inline(always)]
fn geometry_of<L: Layout>(remainder_bits: u8, table_bytes: u64) -> Option<Geometry> {
    let bits = u32::from(remainder_bits);
    if !is_width::<L>(bits) || table_bytes > MAX_BYTES {
        return None;
    }
    let blocks = blocks_of::<L>(bits, table_bytes)?;
    let slots = slots_of::<L>(blocks)?;
    let fingerprints = slots << bits;
    (slots <= MAX_SLOTS && fits(slots, bits)).then_some(Geometry {
        slots,
        blocks,
        remainder_bits: bits,
        copies: 1,
        fingerprints,
    })
}

/// The largest number of blocks of slots for which the table has exactly `table_bytes` bytes. Sections are padded, so
/// tables of several numbers of blocks can have the same length.
#[inline(always)]
fn blocks_of<L: Layout>(remainder_bits: u32, table_bytes: u64) -> Option<u64> {
    let mut blocks = table_bytes * 8 / L::block_bits(remainder_bits);
    // The loop ends soon: there are at most three sections, each of them has less than 64 bytes of padding, and a block
    // has more than 17 bytes.
    while blocks > 0 && L::table_bytes(blocks, remainder_bits) > table_bytes {
        blocks -= 1;
    }
    (blocks > 0 && L::table_bytes(blocks, remainder_bits) == table_bytes).then_some(blocks)
}

/// The largest number of slots for which the table, overhang included, has `blocks` blocks.
#[inline(always)]
fn slots_of<L: Layout>(blocks: u64) -> Option<u64> {
    let with_overhang = blocks * u64::from(L::SLOTS);
    let slots = Geometry::slots_with_overhang_of(with_overhang)? / L::SLOTS_STEP * L::SLOTS_STEP;
    (slots > 0 && Geometry::blocks_for::<L>(slots) == blocks).then_some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{LineBlock, WideBlock};
    use std::collections::HashMap;

    fn table_bytes<L: Layout>(slots: u64, bits: u32) -> u64 {
        L::table_bytes(Geometry::blocks_for::<L>(slots), bits)
    }

    /// The number of slots of a table is not stored, but computed from the table's length. Compares the number
    /// computed for each length with the largest among the tables of this length that have fewer than 4,000 slots.
    fn lengths_give_the_most_slots<L: Layout>(bits: u32) {
        let mut most_slots = HashMap::new();
        for slots in (1..4_000).filter(|slots| slots % L::SLOTS_STEP == 0) {
            most_slots.insert(table_bytes::<L>(slots, bits), slots);
        }
        // Stops at the length of a table of 3,500 slots: a longer table can have 4,000 slots or more, which the map
        // lacks.
        for bytes in 0..table_bytes::<L>(3_500, bits) {
            let slots = geometry_of::<L>(bits as u8, bytes).map(|geometry| geometry.slots);
            assert_eq!(slots, most_slots.get(&bytes).copied(), "{bytes} bytes, {bits} bits");
        }
    }

    #[test]
    fn the_length_of_a_table_gives_the_most_slots_it_can_have() {
        for bits in [1, 2, 7, 8, 13, 32] {
            lengths_give_the_most_slots::<WideBlock>(bits);
        }
        lengths_give_the_most_slots::<LineBlock>(8);
    }

    #[test]
    fn a_length_that_no_table_has_is_refused() {
        for bytes in [u64::MAX, u64::MAX - 63] {
            assert_eq!(geometry_of::<WideBlock>(8, bytes), None);
            assert_eq!(geometry_of::<LineBlock>(8, bytes), None);
        }
        // With addresses of 32 bits, a table of more than 2 GiB is refused, whatever its number of slots.
        let has_address = usize::BITS >= 64;
        // Quotient and remainder have at most 62 bits together.
        let slots_of = |slots, bits: u8| {
            let bytes = table_bytes::<WideBlock>(slots, bits.into());
            geometry_of::<WideBlock>(bits, bytes).map(|geometry| geometry.slots)
        };
        assert_eq!(slots_of((1 << 30) + 1000, 32), None);
        assert_eq!(slots_of((1 << 30) - 1000, 32).is_some(), has_address);
        // No table has more slots than the maximum.
        assert_eq!(slots_of(MAX_SLOTS + 1000, 1), None);
        assert_eq!(slots_of(MAX_SLOTS - 1000, 1).is_some(), has_address);
    }
}
