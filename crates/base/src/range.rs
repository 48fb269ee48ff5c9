//! Reduces a hash to a number below `n`, for any `n`: multiplies the hash by `n` and takes the product's high half.
//!
//! Source: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019), section 3.
//! The filters rely on two properties of this reduction:
//!
//! - it is monotone in the hash. So if hashes are grouped by their high bits, the indices of each group are a range,
//!   and neighbouring ranges have at most one index in common;
//! - if `f` divides `n`, `reduce(h, n / f)` equals `reduce(h, n) / f`, rounded down, for every hash `h`. So a filter
//!   can be folded to a smaller size without its keys.

/// `floor(hash · n / 2^64)`: an index below `n` (0 if `n` is 0).
///
/// Valid for any `n`. Each of the `n` indices receives `2^64 / n` hashes, give or take one, so the relative bias is
/// below `n / 2^64`.
///
/// ```
/// use trommel_base::range::reduce;
/// assert_eq!(reduce(0, 10), 0);
/// assert_eq!(reduce(u64::MAX, 10), 9);
/// assert_eq!(reduce(1 << 63, 10), 5);
/// ```
#[inline(always)]
#[must_use]
pub const fn reduce(hash: u64, n: u64) -> u64 {
    ((hash as u128 * n as u128) >> 64) as u64
}

/// `floor(high · n / 2^32)`, where `high` is the high 32 bits of the hash. Parquet prescribes this reduction.
///
/// Nearly uniform only for `n` well below 2^32. An index receives `2^32 / n` values of `high`, give or take one. So if
/// `n` is about 2^27 but not a power of two, some indices receive 3 % more keys than others, which raises the
/// false-positive rate of a filter by less than 1 % of its value. If `n` is between 2^31 and 2^32, some indices receive
/// two values of `high`, and others receive one value.
#[inline(always)]
#[must_use]
pub const fn reduce_high(hash: u64, n: u32) -> u32 {
    (((hash >> 32) * n as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes() -> impl Iterator<Item = u64> {
        let count = if cfg!(miri) { 500 } else { 20_000 };
        (0..count).map(|i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).chain([0, u64::MAX])
    }

    #[test]
    fn indices_stay_below_n_and_fold_exactly() {
        for n in [1u64, 2, 3, 10, 12, 60, 1 << 20, (1 << 33) + 6, 1 << 45] {
            for hash in hashes() {
                let index = reduce(hash, n);
                assert!(index < n);
                for factor in [2, 3, 4, 6].into_iter().filter(|f| n % f == 0) {
                    assert_eq!(reduce(hash, n / factor), index / factor);
                }
            }
        }
    }

    #[test]
    fn high_half_reduction_folds_exactly_too() {
        for n in [1u32, 6, 60, 1 << 20, 3 << 25] {
            for hash in hashes() {
                let index = reduce_high(hash, n);
                assert!(index < n);
                for factor in [2, 3, 6].into_iter().filter(|f| n % f == 0) {
                    assert_eq!(reduce_high(hash, n / factor), index / factor);
                }
            }
        }
    }
}
