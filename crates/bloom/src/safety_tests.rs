//! Tests of the checks on which the unsafe code of the kernels rests. `scripts/check-safety` removes the checks one at
//! a time, and a test must then fail.
//!
//! A call that should be refused gets only hashes that are 0, whose bits are all in the first unit. So even if the
//! check is missing, the call accesses only a unit that the table has.

use crate::geometry::Geometry;
use crate::kernel::cache_line::CacheLineBody;
use crate::kernel::register::RegisterBody;
use crate::kernel::split_block::SplitBlockBody;
use crate::kernel::{Body, Group};
use crate::{Bloom, CacheLine, Layout, Register, SplitBlock, Standard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::vec;
use trommel_base::{Hasher, KeyHash, Spec};
use trommel_simd::Isa;
use trommel_testkit::for_each_type;

const UNITS: usize = 8;

fn panics<T>(call: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

/// Calls `check` with each layout whose block form (the bare table, without a header) is read by unsafe code. These are
/// all layouts but the standard one, whose block form can have any number of bytes and is read by safe code.
fn of_every_blocked_layout(check: impl Fn(&dyn Checked)) {
    check(&Of::<Register>::default());
    check(&Of::<SplitBlock>::default());
    check(&Of::<CacheLine>::default());
}

fn of_every_layout(check: impl Fn(&dyn Checked)) {
    check(&Of::<Standard>::default());
    of_every_blocked_layout(check);
}

/// The operations of a layout that the tests call, on tables of right and wrong lengths.
trait Checked {
    fn unit_bytes(&self) -> usize;
    fn is_standard(&self) -> bool;
    fn contains_batch(&self, isa: Isa, units: u64, table: &[u8], keys: usize, found: usize)
    -> bool;
    fn insert_batch(&self, isa: Isa, units: u64, table: &mut [u8], keys: usize) -> bool;
    fn assemble(&self, isa: Isa, units: u64, table: &[u8]) -> bool;
    fn block_contains(&self, isa: Isa, table: &[u8]) -> bool;
    fn fill_block(&self, isa: Isa, table: &mut [u8]) -> bool;
}

struct Of<L>(core::marker::PhantomData<L>);

impl<L> Default for Of<L> {
    fn default() -> Self {
        Self(core::marker::PhantomData)
    }
}

/// A method that runs an operation of the layout returns whether the operation panicked.
impl<L: Layout> Checked for Of<L> {
    fn unit_bytes(&self) -> usize {
        L::UNIT_BYTES
    }

    fn is_standard(&self) -> bool {
        L::KIND == Standard::KIND
    }

    fn contains_batch(
        &self,
        isa: Isa,
        units: u64,
        table: &[u8],
        keys: usize,
        found: usize,
    ) -> bool {
        let (geometry, hashes) = (Geometry { units, hashes: 8 }, vec![KeyHash::from_raw(0); keys]);
        panics(|| L::kernels(isa).contains_batch(geometry, table, &hashes, &mut vec![0; found]))
    }

    fn insert_batch(&self, isa: Isa, units: u64, table: &mut [u8], keys: usize) -> bool {
        let (geometry, hashes) = (Geometry { units, hashes: 8 }, vec![KeyHash::from_raw(0); keys]);
        panics(|| L::kernels(isa).insert_batch(geometry, table, &hashes))
    }

    fn assemble(&self, isa: Isa, units: u64, table: &[u8]) -> bool {
        let geometry = Geometry { units, hashes: 8 };
        panics(|| Bloom::<L, _>::assemble(geometry, Hasher::default(), 0, isa, table))
    }

    fn block_contains(&self, isa: Isa, table: &[u8]) -> bool {
        panics(|| L::block_contains(isa, 8, table, KeyHash::from_raw(0)))
    }

    fn fill_block(&self, isa: Isa, table: &mut [u8]) -> bool {
        panics(|| L::fill_block(isa, 8, &[KeyHash::from_raw(0)], table))
    }
}

#[test]
fn vector_kernels_refuse_a_table_of_another_length() {
    for isa in Isa::available().filter(|isa| *isa != Isa::Portable) {
        of_every_layout(|layout| {
            if layout.is_standard() && isa == Isa::Neon {
                // On NEON, standard filters run the portable body. It has no check of the table's length, since it
                // accesses the table as a slice, which checks every index.
                return;
            }
            let mut table = vec![0; UNITS * layout.unit_bytes()];
            for units in [UNITS as u64 - 1, UNITS as u64, UNITS as u64 + 1] {
                let refused = units != UNITS as u64;
                assert_eq!(
                    layout.contains_batch(isa, units, &table, 320, 5),
                    refused,
                    "{isa}: whether lookups refuse {units} units for a table of {UNITS}"
                );
                assert_eq!(
                    layout.insert_batch(isa, units, &mut table, 320),
                    refused,
                    "{isa}: whether inserts refuse {units} units for a table of {UNITS}"
                );
            }
        });
    }
}

#[test]
fn a_batch_refuses_answers_of_another_length() {
    for isa in Isa::available() {
        of_every_layout(|layout| {
            let table = vec![0; UNITS * layout.unit_bytes()];
            for (keys, words) in [(1, 1), (64, 1), (65, 2), (320, 5)] {
                for found in [words - 1, words, words + 1] {
                    let refused = layout.contains_batch(isa, UNITS as u64, &table, keys, found);
                    assert_eq!(
                        refused,
                        found != words,
                        "{isa}: whether a batch of {keys} keys refuses {found} words of answers"
                    );
                }
            }
        });
    }
}

#[test]
fn a_filter_refuses_a_table_of_another_length() {
    for isa in Isa::available() {
        of_every_layout(|layout| {
            let table = vec![0; UNITS * layout.unit_bytes() + 1];
            for len in [table.len() - 2, table.len() - 1, table.len()] {
                let refused = layout.assemble(isa, UNITS as u64, &table[..len]);
                assert_eq!(
                    refused,
                    len != UNITS * layout.unit_bytes(),
                    "{isa}: whether a filter of {UNITS} units refuses {len} bytes"
                );
            }
        });
    }
}

#[test]
fn a_block_is_a_whole_number_of_units() {
    for isa in Isa::available() {
        of_every_blocked_layout(|layout| {
            let mut table = vec![0; UNITS * layout.unit_bytes() + 1];
            for len in [table.len() - 2, table.len() - 1, table.len()] {
                let refused = len != UNITS * layout.unit_bytes();
                assert_eq!(
                    layout.block_contains(isa, &table[..len]),
                    refused,
                    "{isa}: whether a lookup refuses a block of {len} bytes"
                );
                assert_eq!(
                    layout.fill_block(isa, &mut table[..len]),
                    refused,
                    "{isa}: whether inserts refuse a block of {len} bytes"
                );
            }
        });
    }
}

#[test]
fn a_block_refuses_a_set_that_the_machine_lacks() {
    for isa in Isa::ALL {
        of_every_blocked_layout(|layout| {
            let mut table = vec![0; UNITS * layout.unit_bytes()];
            assert_eq!(
                layout.block_contains(isa, &table),
                !isa.is_available(),
                "whether a lookup refuses {isa}"
            );
            assert_eq!(
                layout.fill_block(isa, &mut table),
                !isa.is_available(),
                "whether inserts refuse {isa}"
            );
        });
    }
}

/// Hashes whose units are spread over the table, and the largest and the smallest hash.
fn spread_hashes() -> vec::Vec<KeyHash> {
    let hash = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
    let count = if cfg!(miri) { 200 } else { 1_000 };
    (1..count).map(hash).chain([u64::MAX, 0]).map(KeyHash::from_raw).collect()
}

/// Inserts keys into a table of `units` units, and returns the table with the memory that follows it. That memory is 64
/// bytes longer than the table, so even a kernel that wrongly doubles the index of a block writes only into `memory`.
fn inserted<L: Layout>(isa: Isa, units: usize, in_a_batch: bool) -> vec::Vec<u8> {
    let len = units * L::UNIT_BYTES;
    let mut memory = vec![0; 2 * len + 64];
    let (geometry, kernels) = (Geometry { units: units as u64, hashes: 8 }, L::kernels(isa));
    let (table, hashes) = (&mut memory[..len], spread_hashes());
    if in_a_batch {
        kernels.insert_batch(geometry, table, &hashes);
    } else {
        for hash in &hashes {
            kernels.insert(geometry, table, *hash);
        }
    }
    let mut found = vec![0; hashes.len().div_ceil(64)];
    kernels.contains_batch(geometry, table, &hashes, &mut found);
    let all = (0..hashes.len()).all(|i| found[i / 64] >> (i % 64) & 1 == 1);
    assert!(
        all && hashes.iter().all(|hash| kernels.contains(geometry, table, *hash)),
        "{isa}: a key is not found in {units} units"
    );
    memory
}

fn inserts_write_to_the_table_alone<L: Layout>() {
    for units in [1, 7, 100] {
        let expected = inserted::<L>(Isa::Portable, units, false);
        assert!(expected[units * L::UNIT_BYTES..].iter().all(|byte| *byte == 0));
        for isa in Isa::available() {
            for in_a_batch in [false, true] {
                let found = inserted::<L>(isa, units, in_a_batch);
                assert!(
                    found == expected,
                    "{isa}: inserts into {units} units differ from portable inserts, batch: {in_a_batch}"
                );
            }
        }
    }
}

#[test]
fn inserts_of_every_set_write_to_the_table_alone() {
    for_each_type!(inserts_write_to_the_table_alone: Standard, Register, SplitBlock, CacheLine);
}

/// Kernels keep the index of a word of a blocked table in 32 bits, so tables with more words must be refused.
#[test]
#[cfg_attr(
    target_pointer_width = "32",
    ignore = "the tables are longer than addresses of 32 bits allow"
)]
fn tables_with_more_words_than_32_bits_can_number_are_refused() {
    fn refused<L: Layout>() {
        let words = L::UNIT_BYTES as u64 / 8;
        assert!(L::MAX_UNITS <= (1 << 32) / words, "{}: MAX_UNITS is too high", L::KIND);
        let most = L::MAX_UNITS as usize;
        let spec = |units: usize| {
            let mut spec = Spec::default();
            (spec.keys, spec.memory_bytes) = (most, Some(units * L::UNIT_BYTES));
            spec
        };
        assert!(
            crate::layout::geometry::<L>(&spec(most)).is_ok(),
            "{}: the largest table is refused",
            L::KIND
        );
        assert!(
            crate::layout::geometry::<L>(&spec(most + 1)).is_err(),
            "{}: a larger table is accepted",
            L::KIND
        );
    }
    for_each_type!(refused: Register, SplitBlock, CacheLine);
}

/// The portable functions for groups of keys access a block only if it is within the table.
fn refuses_blocks_beyond_the_table<B: Body>() {
    let geometry = Geometry { units: UNITS as u64, hashes: 4 };
    // The table is the first half of this memory. So even without the check, memory of this test is accessed.
    let mut memory = vec![0; 2 * UNITS * B::BLOCK_BYTES];
    let table = &mut memory[..UNITS * B::BLOCK_BYTES];
    let last = ((UNITS - 1) * B::BLOCK_BYTES / 8) as u32;
    let in_last = Group { hashes: &[0; 8], places: &[last; 8] };
    assert_eq!(B::test_group(geometry, table, in_last), 0);
    for place in [last + 1, last + (B::BLOCK_BYTES / 8) as u32] {
        let group = Group { hashes: &[0; 8], places: &[0, 0, 0, 0, 0, 0, 0, place] };
        assert!(panics(|| B::test_group(geometry, table, group)));
        assert!(panics(|| B::unite_group(geometry, table, group)));
    }
    B::unite_group(geometry, table, in_last);
    assert_eq!(B::test_group(geometry, table, in_last), 0xFF);
}

#[test]
fn groups_of_keys_need_blocks_in_the_table() {
    for_each_type!(refuses_blocks_beyond_the_table: RegisterBody, SplitBlockBody, CacheLineBody);
}
