//! On every instruction set that the machine has, lookups give the same answers about the same tables, and inserts
//! notice tables that contradict themselves.

use super::*;
use crate::geometry::MAX_COPIES;
use crate::kernel::samples::{self, hash};
use alloc::vec;

type Sample = samples::Sample<WideBlock>;

fn geometry(slots: u64, remainder_bits: u32, copies: u32) -> Geometry {
    samples::geometry::<WideBlock>(slots, remainder_bits, copies)
}

/// Tables with remainders of every width, and with few and many slots. The number of keys is 50, 95 or 110 % of the
/// number of slots, plus one. Keys with equal fingerprints take one slot, so tables of short fingerprints are filled
/// less.
#[test]
fn kernels_agree_on_random_tables_of_every_width() {
    for bits in 1..=32 {
        for slots in [1, 5, 31, 63, 64, 65, 130, 1000, 5000] {
            for load in [0.5, 0.95, 1.1] {
                let keys = (slots as f64 * load) as usize + 1;
                let geometry = geometry(slots, bits, 1);
                Sample::new(geometry, keys, |random| random.below(slots)).agree();
            }
        }
    }
}

/// In most of these tables, the keys fill far more adjacent slots than a block has. So some runs are several blocks
/// away from their homes, and some offsets are above 64. The highest offset that is stored, 255, means 255 or more.
#[test]
fn kernels_agree_where_runs_are_far_from_home() {
    for bits in [1, 3, 8, 12, 16, 29, 32] {
        for narrow in [1, 3, 20, 64, 100] {
            for keys in [60, 70, 130, 200, 300, 600] {
                let geometry = geometry(2000, bits, MAX_COPIES);
                let sample = Sample::new(geometry, keys, |random| 59 + random.below(narrow));
                let offset = |block| sample.table[geometry.shape().offsets_at() + block];
                if keys == 600 && bits > 8 {
                    assert!(offset(2) == 255 && (3..10).any(|block| offset(block) > 64));
                }
                sample.agree();
            }
        }
    }
}

/// Each table has a run that begins at a given slot of a block. The test tries all slots, and runs of 2 to 71
/// remainders, so that runs end at every slot too.
#[test]
fn kernels_agree_on_runs_that_end_at_every_slot() {
    for bits in [5, 8, 16, 31] {
        for home in 0..64 {
            for length in [1, 2, 3, 4, 5, 9, 17, 64, 65, 70] {
                let geometry = geometry(300, bits, MAX_COPIES);
                let mut next = 0;
                // First keys of one quotient, then keys of the quotients after it. The first run pushes their runs.
                Sample::new(geometry, length + 8, |_| {
                    next += 1;
                    64 + home + (next / 2_u64).saturating_sub(length as u64)
                })
                .agree();
            }
        }
    }
}

/// The occupieds and runends of this table say that the run of quotient 10 ends at slot 5, and the run of quotient 40
/// at slot 30, both before the slots of their quotients. No insert makes such a run, and `check` refuses it. The
/// test inserts a key with quotient 10. The search for a free slot returns a slot before the one where the key's
/// remainder belongs. An assertion of the insert notices the contradiction before anything is written.
#[test]
fn inserts_into_words_that_contradict_each_other_write_nothing() {
    for isa in Isa::available() {
        let geometry = geometry(1000, 8, 1);
        let mut table = vec![0; geometry.table_bytes::<WideBlock>() as usize];
        table[..8].copy_from_slice(&(1u64 << 10 | 1 << 40).to_le_bytes());
        table[8..16].copy_from_slice(&(1u64 << 5 | 1 << 30).to_le_bytes());
        let before = table.clone();
        let largest = hash(&geometry, 10, u64::MAX / 1000 - 1);
        let outcome = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            kernels(isa).insert(&geometry, &mut table, largest)
        }));
        assert!(table == before, "{isa}: the table changed");
        let message = outcome.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(*message, "assertion failed: place.at <= free", "{isa}: the panic's message");
    }
}
