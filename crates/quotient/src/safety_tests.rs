//! Tests of the checks on which the unsafe code of the kernels rests. `scripts/check-safety` removes the checks one at
//! a time; after each removal, a test must fail.
//!
//! (`table.rs` defines runs. The *home* of a hash is the slot whose number is the hash's quotient.)
//!
//! Some tests call kernels with a table or a slice of answers that has the wrong length. They use hash 0, whose home is
//! the first slot, so even if a check is removed, the accesses stay within the table. Other tests are about the memory
//! after a table. They allocate this memory themselves.

use crate::filter::Quotient;
use crate::geometry::Geometry;
use crate::kernel::{Job, Kernels, run};
use crate::layout::{Layout, LineBlock, WideBlock};
use alloc::vec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use trommel_base::block::{BlockSpec, BlockTable};
use trommel_base::{Hasher, KeyHash, WhyFull};
use trommel_simd::Isa;
use trommel_testkit::for_each_type;

fn panics<T>(call: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

fn geometry<L: Layout>(slots: u64) -> Geometry {
    let (blocks, remainder_bits) = (Geometry::blocks_for::<L>(slots), 8);
    Geometry { slots, blocks, remainder_bits, copies: 1, fingerprints: slots << remainder_bits }
}

/// The number of keys of a batch: enough that every instruction set uses its kernels for batches.
const KEYS: usize = 256;

fn kernels_refuse_a_table_of_another_length<L: Layout>() {
    let geometry = geometry::<L>(1_000);
    let len = geometry.table_bytes::<L>() as usize;
    for isa in Isa::available() {
        let kernels = Kernels::of::<L>(isa);
        let mut memory = vec![0; len + 64];
        for table_len in [len - 1, len] {
            let refused = table_len != len;
            let table = &mut memory[..table_len];
            let mut words = [0; KEYS / 64];
            assert_eq!(
                panics(|| kernels.contains(&geometry, table, 0)),
                refused,
                "{isa}: whether a lookup in {table_len} of {len} bytes panics"
            );
            let batch = || kernels.contains_batch(&geometry, table, &[0; KEYS], &mut words);
            assert_eq!(
                panics(batch),
                refused,
                "{isa}: whether a batch of lookups in {table_len} of {len} bytes panics"
            );
        }
        for table_len in [len - 1, len + 64, len] {
            let refused = table_len != len;
            let table = &mut memory[..table_len];
            assert_eq!(
                panics(|| kernels.insert(&geometry, table, 0)),
                refused,
                "{isa}: whether an insert into {table_len} bytes instead of {len} panics"
            );
            let mut words = [0; KEYS / 64];
            let batch = || kernels.insert_batch(&geometry, table, &[0; KEYS], &mut words);
            assert_eq!(
                panics(batch),
                refused,
                "{isa}: whether a batch of inserts into {table_len} bytes instead of {len} panics"
            );
        }
    }
}

#[test]
fn line_kernels_refuse_a_table_of_another_length() {
    kernels_refuse_a_table_of_another_length::<LineBlock>();
}

#[test]
fn wide_kernels_refuse_a_table_of_another_length() {
    kernels_refuse_a_table_of_another_length::<WideBlock>();
}

fn batches_refuse_too_few_words<L: Layout>() {
    let geometry = geometry::<L>(1_000);
    let mut table = vec![0; geometry.table_bytes::<L>() as usize];
    for isa in Isa::available() {
        let kernels = Kernels::of::<L>(isa);
        let refusal = |call: &mut dyn FnMut(&mut [u64])| {
            let message = catch_unwind(AssertUnwindSafe(|| call(&mut [0; KEYS / 64 - 1])));
            let message = message.unwrap_err();
            *message.downcast_ref::<&str>().expect("the message of an assertion")
        };
        let found = refusal(&mut |words| {
            kernels.contains_batch(&geometry, &table, &[0; KEYS], words);
        });
        assert_eq!(found, "assertion failed: found.len() >= hashes.len().div_ceil(64)", "{isa}");
        let new = refusal(&mut |words| {
            let _ = kernels.insert_batch(&geometry, &mut table, &[0; KEYS], words);
        });
        assert_eq!(new, "assertion failed: new.len() >= hashes.len().div_ceil(64)", "{isa}");
    }
}

#[test]
fn batches_refuse_answers_that_are_too_short() {
    for_each_type!(batches_refuse_too_few_words: LineBlock, WideBlock);
}

fn a_filter_refuses_another_length<L: Layout>() {
    let geometry = geometry::<L>(1_000);
    let memory = vec![0; geometry.table_bytes::<L>() as usize + 1];
    for isa in Isa::available() {
        for len in [memory.len() - 2, memory.len() - 1, memory.len()] {
            let table = &memory[..len];
            let made = || Quotient::<L, _>::assemble(geometry, Hasher::default(), isa, table);
            assert_eq!(
                panics(made),
                len != memory.len() - 1,
                "{isa}: whether a table of {len} bytes is refused"
            );
        }
    }
}

#[test]
fn a_filter_refuses_a_table_of_another_length() {
    for_each_type!(a_filter_refuses_another_length: LineBlock, WideBlock);
}

fn a_block_refuses_missing_sets<L: Layout>() {
    for isa in Isa::ALL {
        let spec = BlockSpec { bits_per_key: 16.0, parameter: 8, isa };
        let mut table = vec![0; Quotient::<L>::table_len(&spec, 1_000).unwrap()];
        let hash = KeyHash::from_raw(0);
        let answered = panics(|| Quotient::<L>::may_match(isa, 8, &table, hash));
        assert_eq!(answered, !isa.is_available(), "whether a lookup with {isa} panics");
        let filled = panics(|| Quotient::<L>::fill(&spec, &[hash], &mut table));
        assert_eq!(filled, !isa.is_available(), "whether filling a block with {isa} panics");
    }
}

#[test]
fn a_block_refuses_a_set_that_the_machine_lacks() {
    for_each_type!(a_block_refuses_missing_sets: LineBlock, WideBlock);
}

struct Seven;

impl Job for Seven {
    type Output = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        7
    }
}

/// On x86-64 machines without AVX2, `run(isa, …)` panics if `isa` includes AVX2. Miri has no AVX2. So under Miri, this
/// test fails on any x86-64 machine if `run` does not check `isa`: Miri reports a call of code compiled for AVX2.
#[test]
fn a_job_for_avx2_runs_only_on_machines_with_avx2() {
    for isa in Isa::ALL {
        let refused = cfg!(target_arch = "x86_64") && isa >= Isa::Avx2 && !Isa::Avx2.is_available();
        assert_eq!(
            panics(|| assert_eq!(run(isa, Seven), 7)),
            refused,
            "whether a job for {isa} panics"
        );
    }
}

fn hashes(count: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23))
}

/// The table is the first bytes of `memory`. Asserts that no kernel's answers about `hashes` depend on the memory after
/// the table. Each of 255 iterations fills `after`, a part of the memory after the table, with a different remainder;
/// one of the 255 is the key's own. (Under Miri, which is slow, there are three iterations.) A kernel may panic, but
/// only if it panics in every iteration.
fn answers_do_not_depend_on<L: Layout>(
    geometry: &Geometry,
    memory: &mut [u8],
    after: core::ops::Range<usize>,
    hashes: [u64; 2],
) {
    let len = geometry.table_bytes::<L>() as usize;
    for isa in Isa::available() {
        let kernels = Kernels::of::<L>(isa);
        for hash in hashes {
            let step = if cfg!(miri) { 120 } else { 1 };
            let mut answers = (1..=u8::MAX).step_by(step).map(|remainder| {
                memory[after.clone()].fill(remainder);
                let table = &memory[..len];
                let mut words = [0; KEYS / 64];
                let one =
                    catch_unwind(AssertUnwindSafe(|| kernels.contains(geometry, table, hash)));
                let batch = || kernels.contains_batch(geometry, table, &[hash; KEYS], &mut words);
                (one.ok(), panics(batch), words)
            });
            let first = answers.next().unwrap();
            assert!(
                answers.all(|answer| answer == first),
                "{isa}: the answer about hash {hash:x} depends on the memory after the table"
            );
        }
    }
}

/// The answer about a key whose run never ends does not depend on the memory after the table.
#[test]
fn a_run_without_an_end_is_not_followed_beyond_the_table() {
    let geometry = geometry::<LineBlock>(1_000);
    let len = geometry.table_bytes::<LineBlock>() as usize;
    let mut memory = vec![0; len + 64];
    // All quotients are occupied, and no run ends. A line has 50 bytes of remainders, then 50 bits of occupieds, and
    // then the runends.
    for line in memory[..len].chunks_exact_mut(64) {
        line[50..56].fill(0xFF);
        line[56] = 0b11;
    }
    // The memory after the table looks like a line that ends the run and has the same remainder in all slots.
    memory[len..].fill(0xFF);
    answers_do_not_depend_on::<LineBlock>(&geometry, &mut memory, len..len + 50, [0, u64::MAX]);
}

/// As [`a_run_without_an_end_is_not_followed_beyond_the_table`], in blocks of 64 slots. If a kernel went on after the
/// last block, it would read remainders as runends, and the memory after the table as remainders.
#[test]
fn a_run_without_an_end_is_not_followed_beyond_the_last_block() {
    let geometry = geometry::<WideBlock>(1_000);
    let (blocks, shape) = (geometry.blocks as usize, geometry.shape());
    let len = geometry.table_bytes::<WideBlock>() as usize;
    // A kernel that went on for two blocks after the last one would read runends from the section of remainders, and
    // remainders from the memory after the table.
    let runends = (blocks + 1) * 16 + 8;
    assert!(runends > shape.remainders_at() && shape.remainders_at() + (blocks + 1) * 64 == len);
    let mut memory = vec![0; len + 64];
    // All quotients are occupied, and no run ends.
    for words in memory[..blocks * 16].chunks_exact_mut(16) {
        words[..8].fill(0xFF);
    }
    memory[runends + 7] = 0x80;
    // The home of the first hash is the first slot.
    let hashes = [1 << 50, u64::MAX];
    answers_do_not_depend_on::<WideBlock>(&geometry, &mut memory, len..len + 64, hashes);
}

/// The table has no free slot. The zeros after the table look like free slots.
#[test]
fn inserts_find_no_free_slot_beyond_the_table() {
    let geometry = geometry::<LineBlock>(1_000);
    let len = geometry.table_bytes::<LineBlock>() as usize;
    for isa in Isa::available() {
        let kernels = Kernels::of::<LineBlock>(isa);
        let mut memory = vec![0; len + 256];
        for line in memory[..len].chunks_exact_mut(64) {
            line[..50].fill(1);
        }
        for hash in [0, u64::MAX] {
            let table = &mut memory[..len];
            let inserted =
                catch_unwind(AssertUnwindSafe(|| kernels.insert(&geometry, table, hash)));
            assert!(!matches!(inserted, Ok(Ok(true))), "{isa}: a full table took a key");
            assert!(
                memory[len..].iter().all(|byte| *byte == 0),
                "{isa}: memory after the table changed"
            );
        }
    }
}

/// Quotient 0 has a run of six slots, quotient 1 has no run, and the runs of quotients 2 to 63 never end. The runs
/// without an end take all slots from slot 6 on, so a remainder of quotient 1 finds no free slot.
#[test]
fn a_table_without_a_free_slot_is_full() {
    for remainder_bits in [6, 8, 13] {
        let mut geometry = geometry::<WideBlock>(1_000);
        geometry.remainder_bits = remainder_bits;
        let len = geometry.table_bytes::<WideBlock>() as usize;
        let hash = (u128::from(u64::MAX) * 3 / 2 / 1_000) as u64;
        assert_eq!(geometry.split::<WideBlock>(hash).0, 1);
        for isa in Isa::available() {
            let mut table = vec![0; len];
            table[..8].copy_from_slice(&(!0b10u64).to_le_bytes());
            table[8..16].copy_from_slice(&(1u64 << 5).to_le_bytes());
            let before = table.clone();
            let inserted = Kernels::of::<WideBlock>(isa).insert(&geometry, &mut table, hash);
            assert_eq!(inserted, Err(WhyFull::Slots), "{isa}: an insert into a full table");
            assert!(table == before, "{isa}: a refused insert changed the table");
        }
    }
}

/// A table of 16 slots has one block. If a kernel read the metadata of a second block, it would read padding. The bits
/// that this test sets in the padding would mark slot 127 as the end of the key's run, but the table ends with slot 63.
#[test]
fn a_table_of_one_block_has_no_run_in_a_second() {
    let mut geometry = geometry::<WideBlock>(16);
    (geometry.remainder_bits, geometry.fingerprints) = (32, 16 << 32);
    let len = geometry.table_bytes::<WideBlock>() as usize;
    let (hash, remainder) = (u64::MAX, 0xFF);
    assert_eq!(geometry.split::<WideBlock>(hash), (15, u32::MAX));
    for isa in Isa::available() {
        let kernels = Kernels::of::<WideBlock>(isa);
        let answers = [0, remainder].map(|behind| {
            let mut memory = vec![behind; len + 1024];
            memory[..len].fill(0);
            memory[..2].fill(0xFF);
            memory[24..32].copy_from_slice(&(1u64 << 63 | 0x7FFF).to_le_bytes());
            let table = &memory[..len];
            let mut words = [0; KEYS / 64];
            let one = catch_unwind(AssertUnwindSafe(|| kernels.contains(&geometry, table, hash)));
            let batch = || kernels.contains_batch(&geometry, table, &[hash; KEYS], &mut words);
            (one.ok(), panics(batch), words)
        });
        assert_eq!(answers[0], answers[1], "{isa}: the answer depends on memory after the table");
    }
}

/// The last home is in the last block but one, and the run of its quotient begins in the last slot of the last block.
/// If a kernel read the metadata of one more block, this run would end in the 29th slot after the table.
#[test]
fn a_run_that_begins_in_the_last_slot_is_not_followed() {
    // Exactly one block follows the block of the last home, and the last home is not the first slot of its block.
    let is_tight = |slots: &u64| {
        (slots - 1) / 64 + 2 == Geometry::blocks_for::<WideBlock>(*slots) && slots % 64 > 1
    };
    let slots = (65..10_000).find(is_tight).expect("a table with one block after the last home");
    let mut geometry = geometry::<WideBlock>(slots);
    (geometry.remainder_bits, geometry.fingerprints) = (32, slots << 32);
    let blocks = geometry.blocks as usize;
    let (quotient, _) = geometry.split::<WideBlock>(u64::MAX);
    assert_eq!((quotient + 1, quotient as usize / 64 + 2), (slots, blocks));
    let outcome = |isa: Isa| {
        let mut table = vec![0; geometry.table_bytes::<WideBlock>() as usize];
        let mut write = |byte: usize, word: u64| {
            table[byte..byte + 8].copy_from_slice(&word.to_le_bytes());
        };
        write((blocks - 2) * 16, 1 | 1 << (quotient % 64));
        write((blocks - 1) * 16 + 8, 1 << 62);
        write(blocks * 16 + 8, 1 << 28);
        let kernels = Kernels::of::<WideBlock>(isa);
        let insert = || kernels.insert(&geometry, &mut table, u64::MAX);
        (catch_unwind(AssertUnwindSafe(insert)).ok(), table)
    };
    for isa in Isa::available() {
        assert!(outcome(isa) == outcome(Isa::Portable), "{isa}: an insert differs from portable");
    }
}

/// Inserts two keys of the last quotient, and keys for 95 % of the slots. Then looks up all of them.
fn keys_are_kept<L: Layout>(geometry: &Geometry, slots: u64) {
    for isa in Isa::available() {
        let kernels = Kernels::of::<L>(isa);
        let mut table = vec![0; geometry.table_bytes::<L>() as usize];
        let mut known = vec![u64::MAX, u64::MAX - 1];
        known.extend(hashes(slots * 19 / 20));
        for hash in &known {
            assert!(
                kernels.insert(geometry, &mut table, *hash).is_ok(),
                "{isa}: an insert into {slots} slots failed"
            );
        }
        let mut found = vec![0; known.len().div_ceil(64)];
        kernels.contains_batch(geometry, &table, &known, &mut found);
        for (i, hash) in known.iter().enumerate() {
            assert!(
                kernels.contains(geometry, &table, *hash),
                "{isa}, {slots} slots: a single lookup does not find {hash:x}"
            );
            assert!(
                found[i / 64] >> (i % 64) & 1 == 1,
                "{isa}, {slots} slots: a batch lookup does not find {hash:x}"
            );
        }
    }
}

/// In tables of a few blocks, a key's block can be the table's last block, or the last but one. There, a kernel that
/// reads further blocks after the key's block comes to the end of the table.
#[test]
fn small_wide_tables_keep_their_keys() {
    let (small, step) = if cfg!(miri) { (23, 300) } else { (1, 16) };
    for slots in (1..=70).step_by(small).chain((80..=640).step_by(step)) {
        for remainder_bits in [8, 13] {
            let mut geometry = geometry::<WideBlock>(slots);
            geometry.remainder_bits = remainder_bits;
            geometry.fingerprints = slots << remainder_bits;
            keys_are_kept::<WideBlock>(&geometry, slots);
        }
    }
}

#[test]
fn small_line_tables_keep_their_keys() {
    let step = if cfg!(miri) { 6 } else { 1 };
    for slots in (1..=20).step_by(step).map(|lines| lines * LineBlock::SLOTS_STEP) {
        keys_are_kept::<LineBlock>(&geometry::<LineBlock>(slots), slots);
    }
}

/// Kernels of [`LineBlock`] also read the line after the line of a key's home, so the table must have that line.
#[test]
fn the_overhang_is_at_least_a_line() {
    for slots in (1u64..if cfg!(miri) { 200 } else { 5_000 }).chain([1 << 20, 1 << 30]) {
        let lines =
            Geometry::blocks_for::<LineBlock>(slots.next_multiple_of(LineBlock::SLOTS_STEP));
        assert!(lines > slots.div_ceil(50), "{slots} slots have only {lines} lines");
    }
}
