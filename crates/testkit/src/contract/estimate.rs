//! A filter's estimate of the number of distinct keys that it holds.

use super::fill;
use crate::streams::distinct;
use crate::subject::{Estimate, built, spec};
use trommel_base::Filter;
use trommel_simd::Isa;

/// The number of keys that the filters are planned for.
const KEYS: usize = 20_000;

/// Estimates are near the truth, from an empty filter to a filter with twice the planned number of keys. An error of 3
/// % plus 0.3 keys is tolerated: the relative standard deviation of an estimate is below 1 % for every layout of a
/// Bloom filter. If each key sets `k` of `m` bits, this deviation is about `sqrt(e^x − x − 1) / (x sqrt(m))` with
/// `x = k · keys / m`. The deviation is larger if the bits of a key are all in one block.
pub fn estimates_are_near_the_truth<S: Estimate>() {
    let empty = built::<S>(&spec(KEYS, 0.01, Isa::Portable));
    assert_eq!(S::estimate_len(&empty), 0.0);
    for keys in [1, 10, 300, KEYS / 10, KEYS / 2, KEYS, 2 * KEYS] {
        let mut filter = empty.clone();
        fill::<S>(&mut filter, &distinct(41, 0..keys as u64));
        let estimate = S::estimate_len(&filter);
        let error = (estimate - keys as f64).abs();
        assert!(error <= 0.03 * keys as f64 + 0.3, "{keys} keys estimated as {estimate}");
    }
}

/// Inserting the same keys again can change `len`, but never the estimate.
pub fn repeats_are_not_counted<S: Estimate>() {
    let mut filter = built::<S>(&spec(KEYS, 0.01, Isa::Portable));
    let hashes = distinct(42, 0..KEYS as u64);
    fill::<S>(&mut filter, &hashes);
    let once = S::estimate_len(&filter);
    (0..3).for_each(|_| fill::<S>(&mut filter, &hashes));
    assert_eq!(S::estimate_len(&filter), once);
    assert!(filter.len() >= KEYS);
}
