//! `q` and `r`, and how they split a fingerprint.

use super::slot::Slot;
use libm::{ceil, log1p, log2};
use trommel_base::{KeyHash, SpecError};

/// The most bits that a quotient may have: a table of 2^40 slots, of at least 4 bits each, takes 0.55 TB or more.
pub const MAX_QUOTIENT_BITS: u32 = 40;
/// The most bits that a remainder may have: it shares a 64-bit word with the three bits of its slot.
pub const MAX_REMAINDER_BITS: u32 = u64::BITS - Slot::METADATA_BITS;

/// The fewest remainder bits, at least 1, for which a table of `2^quotient_bits` slots with `keys` keys has a
/// false-positive rate of at most `fpr`. With `n` keys and `2^q` slots, `r = ⌈log2(−(n / 2^q) / ln(1 − fpr))⌉`.
///
/// ```
/// use trommel_textbook::quotient::remainder_bits_for;
/// assert_eq!(remainder_bits_for(1_000_000_000, 30, 0.02), Ok(6));
/// ```
///
/// # Errors
/// [`SpecError::FprOutOfRange`] unless `fpr` is strictly between 0 and 1; [`SpecError::Parameter`] if
/// `quotient_bits` is not 1 to 40; [`SpecError::FprUnreachable`] if the remainder would be too long.
pub fn remainder_bits_for(keys: usize, quotient_bits: u32, fpr: f64) -> Result<u32, SpecError> {
    if !(fpr > 0.0 && fpr < 1.0) {
        return Err(SpecError::FprOutOfRange { fpr });
    }
    check("quotient_bits", quotient_bits, MAX_QUOTIENT_BITS)?;
    let load = keys as f64 / slots_of(quotient_bits) as f64;
    let bits = ceil(log2(-load / log1p(-fpr)));
    let longest = max_remainder_bits(quotient_bits);
    if bits > f64::from(longest) {
        let floor = rate(load, longest);
        return Err(SpecError::FprUnreachable { fpr, floor });
    }
    // For 0 keys, `bits` is minus infinity.
    Ok(if bits < 1.0 { 1 } else { bits as u32 })
}

/// The false-positive rate of a table with `load` keys per slot: `1 − e^(−load · 2^−r)`, the
/// probability that at least one of `load · 2^q` keys has the fingerprint of an absent key.
pub(super) fn rate(load: f64, remainder_bits: u32) -> f64 {
    -libm::expm1(-libm::ldexp(load, -(remainder_bits as i32)))
}

/// The two widths that determine the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) quotient_bits: u32,
    pub(super) remainder_bits: u32,
}

impl Shape {
    pub(super) fn new(quotient_bits: u32, remainder_bits: u32) -> Result<Self, SpecError> {
        check("quotient_bits", quotient_bits, MAX_QUOTIENT_BITS)?;
        check("remainder_bits", remainder_bits, max_remainder_bits(quotient_bits))?;
        Ok(Self { quotient_bits, remainder_bits })
    }

    /// The number of slots, `2^q`.
    pub(super) fn slots(self) -> u64 {
        slots_of(self.quotient_bits)
    }

    /// The number of bits of a fingerprint, `p = q + r`.
    pub(super) fn fingerprint_bits(self) -> u32 {
        self.quotient_bits + self.remainder_bits
    }

    /// The fingerprint of a hash: its upper `p` bits.
    pub(super) fn fingerprint_of(self, hash: KeyHash) -> u64 {
        hash.raw() >> (u64::BITS - self.fingerprint_bits())
    }

    /// Splits a fingerprint into its quotient and its remainder.
    ///
    /// # Panics
    /// If the fingerprint has more than `p` bits.
    pub(super) fn split(self, fingerprint: u64) -> (u64, u64) {
        let quotient = fingerprint >> self.remainder_bits;
        assert!(
            quotient < self.slots(),
            "fingerprint {fingerprint:#x} has more than {} bits",
            self.fingerprint_bits()
        );
        (quotient, fingerprint & ((1 << self.remainder_bits) - 1))
    }

    /// The fingerprint with the given quotient and remainder.
    pub(super) fn join(self, quotient: u64, remainder: u64) -> u64 {
        quotient << self.remainder_bits | remainder
    }
}

fn slots_of(quotient_bits: u32) -> u64 {
    1 << quotient_bits
}

/// The most bits for a remainder: a fingerprint must fit into a 64-bit hash, and a slot into a 64-bit word.
fn max_remainder_bits(quotient_bits: u32) -> u32 {
    MAX_REMAINDER_BITS.min(u64::BITS - quotient_bits)
}

fn check(name: &'static str, bits: u32, max: u32) -> Result<(), SpecError> {
    if (1..=max).contains(&bits) {
        Ok(())
    } else {
        Err(SpecError::Parameter { name, value: bits.into(), min: 1, max: max.into() })
    }
}
