//! The false-positive rate of a table as it is.
//!
//! An absent key is a random primary bucket and a random fingerprint. It is found if the fingerprint is in
//! that bucket, or in the alternate while the flag is set. Flags are set where keys live in their alternate,
//! so a formula of load and share of flags alone is too low, by 13 % at 95 % load; hence this counts what
//! can be found.

use crate::bucket::{class, flag};
use crate::table::{Entry, Table};
use crate::width::Width;

/// Buckets that are looked at, at most: 2^20 fingerprints.
const MOST_BUCKETS: u64 = 1 << 18;

/// The probability that a bucket and a fingerprint, drawn at random, are found.
pub(crate) fn found<W: Width>(table: &Table<'_, W, &[u8]>) -> f64 {
    let geometry = table.geometry;
    // Odd, so that both halves of a doubled table are met.
    let step = geometry.buckets.div_ceil(MOST_BUCKETS) | 1;
    let (mut weight, mut looked_at) = (0, 0u64);
    for bucket in (0..geometry.buckets).step_by(step as usize) {
        let bucket = bucket as u32;
        let slots = table.slots(bucket);
        for (i, fingerprint) in slots.into_iter().enumerate() {
            if fingerprint == 0 || slots[..i].contains(&fingerprint) {
                continue;
            }
            let other = Entry { bucket, fingerprint }.alternate(geometry).bucket;
            let there = table.slots(other);
            let from_there =
                flag(&there, class(fingerprint), table.empty) && !there.contains(&fingerprint);
            // Fingerprint 1 is two: 0 is stored as 1.
            let values = if fingerprint == 1 { 2 } else { 1 };
            weight += values * (1 + u64::from(from_there));
        }
        looked_at += 1;
    }
    // A bucket of a doubled table is met by fingerprints that begin as its own do.
    let apart = libm::exp2(f64::from(geometry.fingerprint_bits - geometry.doublings));
    (weight as f64 / (looked_at as f64 * apart)).min(1.0)
}
