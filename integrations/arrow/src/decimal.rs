//! Hashes of decimals. The scale of a decimal is its number of digits after the point. The numbers 1.5, of scale 1, and
//! 1.50, of scale 2, are the same key.

use arrow_buffer::i256;
use trommel::{Hasher, KeyHash};

const TEN: i256 = i256::from_i128(10);

/// Returns the hash of `unscaled`·10^−`scale`. A whole number that fits into 64 bits has the same hash as in a
/// column of integers.
pub(crate) fn hash_i128(hasher: &Hasher, unscaled: i128, scale: i8) -> KeyHash {
    match i64::try_from(unscaled) {
        Ok(unscaled) => hash_i64(hasher, unscaled, scale),
        Err(_) => hash_wide(hasher, i256::from_i128(unscaled), scale),
    }
}

/// The same as [`hash_i128`] for unscaled values of 64 bits. Only a negative scale needs the slower arithmetic on
/// 256-bit integers.
fn hash_i64(hasher: &Hasher, mut unscaled: i64, mut scale: i8) -> KeyHash {
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    match scale {
        0 => hasher.hash(&unscaled),
        1.. => hash_fraction(hasher, i256::from_i128(i128::from(unscaled)), scale.into()),
        _ => hash_wide(hasher, i256::from_i128(i128::from(unscaled)), scale),
    }
}

/// The same as [`hash_i128`] for unscaled values of 256 bits.
pub(crate) fn hash_i256(hasher: &Hasher, unscaled: i256, scale: i8) -> KeyHash {
    match unscaled.to_i128() {
        Some(unscaled) => hash_i128(hasher, unscaled, scale),
        None => hash_wide(hasher, unscaled, scale),
    }
}

/// The same as [`hash_i128`], with arithmetic on 256-bit integers.
fn hash_wide(hasher: &Hasher, mut unscaled: i256, scale: i8) -> KeyHash {
    let mut scale = i32::from(scale);
    if unscaled == i256::ZERO {
        return hasher.hash(&0u64);
    }
    while unscaled.wrapping_rem(TEN) == i256::ZERO {
        unscaled = unscaled.wrapping_div(TEN);
        scale -= 1;
    }
    match integer(unscaled, scale) {
        Some(integer) => hasher.hash(&integer),
        None => hash_fraction(hasher, unscaled, scale),
    }
}

/// The number `unscaled`·10^−`scale` as an integer of 64 bits. A negative number is returned as its two's complement.
/// `None` if the number has a fraction, or fits neither into `i64` nor into `u64`. The caller must ensure that the last
/// decimal digit of `unscaled` is not zero.
fn integer(unscaled: i256, scale: i32) -> Option<u64> {
    // 10^20 and all higher powers of ten exceed 64 bits.
    let exponent = u32::try_from(-scale).ok().filter(|exponent| *exponent < 20)?;
    let integer = unscaled.to_i128()?.checked_mul(10i128.pow(exponent))?;
    i64::try_from(integer).map(|integer| integer as u64).or_else(|_| u64::try_from(integer)).ok()
}

/// The hash of `digits`·10^−`scale`, where the last digit of `digits` is not zero.
fn hash_fraction(hasher: &Hasher, digits: i256, scale: i32) -> KeyHash {
    let mut key = [0; 36];
    key[..32].copy_from_slice(&digits.to_le_bytes());
    key[32..].copy_from_slice(&scale.to_le_bytes());
    hasher.hash_bytes(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(unscaled: i128, scale: i8) -> KeyHash {
        hash_i128(&Hasher::default(), unscaled, scale)
    }

    #[test]
    fn one_number_has_one_hash_at_every_scale() {
        let hasher = Hasher::default();
        for number in [0, 1, -1, 7, 15, 1_000, -1_005, i64::MAX.into(), i64::MIN.into(), 1 << 100] {
            for scale in -3..4i8 {
                let expected = hash(number, scale);
                for more in 0..8u32 {
                    let power = 10i128.pow(more);
                    let Some(unscaled) = i128::checked_mul(number, power) else { continue };
                    let scale = scale + more as i8;
                    assert_eq!(hash(unscaled, scale), expected, "{unscaled} with scale {scale}");
                    assert_eq!(hash_i256(&hasher, i256::from_i128(unscaled), scale), expected);
                }
            }
        }
    }

    #[test]
    fn whole_numbers_have_the_hash_of_the_integer() {
        let hasher = Hasher::default();
        for number in [0, 1, -1, 100, 15_000, i64::MAX, i64::MIN] {
            assert_eq!(hash(number.into(), 0), hasher.hash(&number));
            assert_eq!(hash(i128::from(number) * 100, 2), hasher.hash(&number));
        }
        assert_eq!(hash(u64::MAX.into(), 0), hasher.hash(&u64::MAX));
        assert_eq!(hash(5, -3), hasher.hash(&5_000u64));
        assert_eq!(hash(0, 38), hasher.hash(&0u64));
        assert_eq!(hash(0, -38), hasher.hash(&0u64));
    }

    #[test]
    fn different_numbers_have_different_hashes() {
        let mut hashes = std::collections::HashSet::new();
        // No value of `digits` ends in zero, so two different pairs of `digits` and `scale` are two different numbers.
        for digits in [1i128, 5, 15, 25, -15, 123_456_789, i128::MAX, i128::MIN + 1] {
            for scale in [-30, -1, 0, 1, 2, 10, 38] {
                assert!(hashes.insert(hash(digits, scale)), "{digits} with scale {scale}");
            }
        }
        assert!(hashes.insert(hash_i256(&Hasher::default(), i256::MAX, 0)));
        assert!(hashes.insert(hash_i256(&Hasher::default(), i256::MIN, i8::MIN)));
    }
}
