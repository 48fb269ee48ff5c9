//! Compares the check by blocks with a plain one, slot by slot, that is written from the definition of a table.

use super::*;
use crate::kernel::Kernels;
use crate::layout::{LineBlock, WideBlock};
use crate::{MAX_COPIES, Quotient};
use alloc::vec::Vec;
use trommel_base::{Insert, KeyHash};
use trommel_simd::Isa;
use trommel_testkit::Splitmix;

/// The number of slots in use; `None` if the table is not one that inserts make.
fn slot_by_slot<L: Layout>(geometry: &Geometry, bytes: &[u8]) -> Option<u64> {
    let table = Table::<L, _>::new(geometry, bytes);
    let rounding = Rounding::of::<L>(geometry);
    let slots = table.shape.blocks as u64 * u64::from(L::SLOTS);
    let ends = |slot: u64| {
        let at = Position::of_slot::<L>(slot);
        table.runends(at.block) >> at.slot & 1 == 1
    };
    let stored = |slot: u64| table.remainder(Position::of_slot::<L>(slot));
    let is_free = |slot: u64| !ends(slot) && stored(slot) == 0;
    let (mut next, mut taken) = (0u64, 0);
    for block in 0..table.shape.blocks {
        let begin = block as u64 * u64::from(L::SLOTS);
        let offset = next.saturating_sub(begin).min(u64::from(L::MAX_OFFSET));
        if u64::from(table.offset(block)) != offset {
            return None;
        }
        for quotient in (begin..begin + u64::from(L::SLOTS))
            .filter(|slot| table.occupieds(block) >> (slot - begin) & 1 == 1)
        {
            if quotient >= geometry.slots || (next..quotient).any(|slot| !is_free(slot)) {
                return None;
            }
            let first = quotient.max(next);
            let last = (first..slots).find(|slot| ends(*slot))?;
            let run: Vec<u32> = (first..=last).map(stored).collect();
            let most = run.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or(0);
            let can_be = |stored: &u32| rounding.could_store::<L>(geometry, quotient, *stored);
            if !run.is_sorted() || most > geometry.copies as usize || !run.iter().all(can_be) {
                return None;
            }
            taken += run.len() as u64;
            next = last + 1;
        }
    }
    ((next..slots).all(is_free) && L::check_padding(&table.shape, bytes).is_ok()).then_some(taken)
}

/// The kernels of every instruction set of this machine.
fn kernels<L: Layout>() -> Vec<Kernels> {
    Isa::available().map(Kernels::of::<L>).collect()
}

/// Whether the plain check finds that inserts can make the table. Fails if the check of a kernel finds otherwise.
#[track_caller]
fn is_valid<L: Layout>(kernels: &[Kernels], geometry: &Geometry, bytes: &[u8]) -> bool {
    let expected = slot_by_slot::<L>(geometry, bytes);
    for kernels in kernels {
        assert_eq!(kernels.check(geometry, bytes, Extent::Whole).ok(), expected);
        if let Ok(taken) = kernels.check(geometry, bytes, Extent::Metadata) {
            assert!(taken <= geometry.blocks * u64::from(L::SLOTS));
            assert!(expected.is_none_or(|expected| expected == taken));
        } else {
            assert_eq!(expected, None, "the metadata of a valid table was refused");
        }
    }
    expected.is_some()
}

fn filter<L: Layout>(keys: usize, bits: Option<u32>, multiset: bool) -> Quotient<L> {
    let builder = Quotient::<L>::builder().keys(keys).multiset(multiset);
    let builder = match bits {
        Some(bits) => builder.remainder_bits(bits),
        None => builder,
    };
    builder.build().unwrap()
}

/// Checks tables with one to three changes each: a bit is flipped, a byte is overwritten, or two bytes are exchanged.
/// Before these changes, the function `change` can grow or resize the filter.
fn changed_tables<L: Layout>(bits: Option<u32>, multiset: bool, change: fn(&mut Quotient<L>)) {
    let kernels = kernels::<L>();
    let mut random = Splitmix::new(u64::from(bits.unwrap_or(77)));
    let mut accepted = 0;
    for keys in [0, 3, 60, 200] {
        let mut filter = filter::<L>(keys, bits, multiset);
        for i in 0..keys {
            let hash = random.word() >> (if i % 3 == 0 { 4 } else { 0 });
            for _ in 0..1 + i % 3 {
                let _ = filter.insert_hash(KeyHash::from_raw(hash));
            }
        }
        change(&mut filter);
        assert!(is_valid::<L>(&kernels, &filter.geometry, &filter.table));
        for round in 0..1500 {
            let mut bytes = filter.table.to_vec();
            for _ in 0..1 + round % 3 {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(4) {
                    0 => bytes[at] = random.word() as u8,
                    1 => bytes.swap(at, (at + 1).min(filter.table.len() - 1)),
                    _ => bytes[at] ^= 1 << random.below(8),
                }
            }
            accepted += usize::from(is_valid::<L>(&kernels, &filter.geometry, &bytes));
        }
    }
    assert!(accepted > 0, "every changed table was refused: the test needs some that are valid");
}

#[test]
fn changed_tables_pass_or_fail_as_in_a_check_slot_by_slot() {
    for multiset in [false, true] {
        for bits in [1, 2, 5, 7, 8, 9, 13, 16, 23, 31, 32] {
            changed_tables::<WideBlock>(Some(bits), multiset, |_| {});
        }
        changed_tables::<LineBlock>(None, multiset, |_| {});
        changed_tables::<LineBlock>(None, multiset, |filter| filter.grow().unwrap());
        changed_tables::<WideBlock>(Some(12), multiset, |filter| filter.resize(333).unwrap());
    }
}

/// The copies of a fingerprint fill several blocks: as many copies as a multiset keeps, and then one more, which is
/// forged by overwriting the next remainder.
#[test]
fn one_copy_too_many_is_refused_wherever_the_run_begins() {
    fn assert_refused<L: Layout>(bits: Option<u32>) {
        let kernels = kernels::<L>();
        for first in (0..130).step_by(7) {
            let mut filter = filter::<L>(1000, bits, true);
            let bits = filter.geometry.remainder_bits;
            let hash = |remainder: u64| {
                let scaled = u128::from(first << bits | remainder) << 64;
                KeyHash::from_raw(scaled.div_ceil(u128::from(filter.geometry.places())) as u64)
            };
            let (two, three) = (hash(2), hash(3));
            for _ in 0..MAX_COPIES {
                filter.insert_hash(two).unwrap();
            }
            filter.insert_hash(three).unwrap();
            assert!(is_valid::<L>(&kernels, &filter.geometry, &filter.table));
            let last = Position::of_slot::<L>(first + u64::from(MAX_COPIES));
            let shape = filter.geometry.shape();
            let stored = L::remainder(&shape, &filter.table, last);
            assert_eq!(stored, L::stored(bits, 3));
            L::insert_remainder(&shape, &mut filter.table, last, last, L::stored(bits, 2));
            assert!(
                !is_valid::<L>(&kernels, &filter.geometry, &filter.table),
                "one copy too many was accepted, in a run from slot {first} on"
            );
        }
    }
    assert_refused::<WideBlock>(Some(3));
    assert_refused::<WideBlock>(Some(8));
    assert_refused::<WideBlock>(Some(17));
    assert_refused::<LineBlock>(None);
}

/// The tables have valid metadata and random remainders. A trusted view accepts them, since it checks only the
/// metadata.
#[test]
fn lookups_end_with_valid_metadata_and_random_remainders() {
    fn assert_lookups_end<L: Layout>(bits: Option<u32>) {
        let mut random = Splitmix::new(0xA0);
        for keys in [40, 3000] {
            let mut filter = filter::<L>(keys, bits, true);
            for i in 0..keys as u64 {
                // Every third key goes to one long cluster.
                let hash = if i % 3 == 0 { u64::MAX / 3 + i } else { random.word() };
                let _ = filter.insert_hash(KeyHash::from_raw(hash));
            }
            let (geometry, shape) = (filter.geometry, filter.geometry.shape());
            for block in 0..shape.blocks {
                let mask =
                    u32::MAX >> (32 - if L::RESERVES_ZERO { 8 } else { shape.remainder_bits });
                let stored: [u32; 64] = core::array::from_fn(|_| random.word() as u32 & mask);
                L::set_remainders(&shape, &mut filter.table, block, &stored);
            }
            let hashes: Vec<u64> = (0..5000)
                .map(|i| if i % 3 == 0 { u64::MAX / 3 + i } else { random.word() })
                .collect();
            for kernels in kernels::<L>() {
                let taken = kernels.check(&geometry, &filter.table, Extent::Metadata);
                assert_eq!(taken, Ok(filter.len));
                assert!(kernels.check(&geometry, &filter.table, Extent::Whole).is_err());
                let mut found = [0; 79];
                kernels.contains_batch(&geometry, &filter.table, &hashes, &mut found);
                hashes.iter().for_each(|hash| {
                    let _ = kernels.contains(&geometry, &filter.table, *hash);
                });
            }
        }
    }
    for bits in [3, 8, 13, 27] {
        assert_lookups_end::<WideBlock>(Some(bits));
    }
    assert_lookups_end::<LineBlock>(None);
}
