//! On every instruction set that the machine has, lookups give the same answers about the same tables.

use super::*;
use crate::geometry::MAX_COPIES;
use crate::kernel::samples::{self, geometry};

type Sample = samples::Sample<LineBlock>;

/// Tables with remainders of every width, and with few and many lines. The number of keys is one more than 50, 95 or
/// 110 % of the slots.
#[test]
fn kernels_agree_on_random_tables_of_every_width() {
    for bits in 1..=8 {
        for slots in [1, 2, 3, 21, 100].map(|lines| lines * u64::from(lines::SLOTS)) {
            for load in [0.5, 0.95, 1.1] {
                let keys = (slots as f64 * load) as usize + 1;
                let geometry = geometry::<LineBlock>(slots, bits, 1);
                Sample::new(geometry, keys, |random| random.below(slots)).agree();
            }
        }
    }
}

/// In most of these tables, the keys fill far more adjacent slots than a line has. So some runs are several lines away
/// from their homes, and some offsets are above 50. The highest offset that is stored, 63, means 63 or more.
#[test]
fn kernels_agree_where_runs_are_far_from_home() {
    for bits in [1, 3, 8] {
        for narrow in [1, 3, 20, 64, 100] {
            for keys in [60, 70, 130, 200, 300, 600] {
                let geometry = geometry::<LineBlock>(2000, bits, MAX_COPIES);
                let sample = Sample::new(geometry, keys, |random| 45 + random.below(narrow));
                let offset = |line: usize| sample.table[line * 64 + 63] >> 2;
                if keys == 600 && bits == 8 {
                    assert!(offset(2) == 63 && (3..12).any(|line| offset(line) > 50));
                }
                sample.agree();
            }
        }
    }
}

/// Each table has a run that begins at a given slot of a line. The test tries all slots, and runs of 2 to 71
/// remainders, so that runs end at every slot too.
#[test]
fn kernels_agree_on_runs_that_end_at_every_slot() {
    for bits in [5, 8] {
        for home in 0..50 {
            for length in [1, 2, 3, 4, 5, 9, 17, 50, 51, 70] {
                let geometry = geometry::<LineBlock>(300, bits, MAX_COPIES);
                let mut next = 0;
                // First the keys of one quotient, then keys of the quotients after it. The first run pushes the runs of
                // these quotients away from their homes.
                Sample::new(geometry, length + 8, |_| {
                    next += 1;
                    50 + home + (next / 2_u64).saturating_sub(length as u64)
                })
                .agree();
            }
        }
    }
}
