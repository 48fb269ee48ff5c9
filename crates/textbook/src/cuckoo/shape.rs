//! `f`, `b` and the number of buckets, and how a hash gives a fingerprint and its buckets.

use libm::{ceil, expm1, ldexp, log1p, log2};
use trommel_base::range::reduce;
use trommel_base::{Hasher, KeyHash, SpecError};

/// The most bits that a fingerprint may have.
pub const MAX_FINGERPRINT_BITS: u32 = 32;
/// The most entries that a bucket may have.
pub const MAX_BUCKET_ENTRIES: u32 = 8;
/// The most bits that a bucket number may have. Bucket numbers come from the upper half of a 64-bit hash,
/// fingerprints from the lower half.
pub const MAX_BUCKET_BITS: u32 = 32;

/// The false-positive rate of a full table of any size: `1 − (1 − 2^−f)^2b`, about `2b / 2^f`, since a lookup compares
/// the key's fingerprint with `2b` others.
///
/// Source: Fan et al., CoNEXT 2014, section 5.1.
#[must_use]
pub fn full_rate(bucket_entries: u32, fingerprint_bits: u32) -> f64 {
    rate(bucket_entries, ldexp(1.0, -(fingerprint_bits as i32)))
}

/// Returns a number of bits per fingerprint with which [`full_rate`] is at most `fpr`: `f = ⌈log2(2b / fpr)⌉`, as in
/// the paper. The formula uses the upper bound `2b / 2^f` of the rate, so fewer bits can be enough, above all for a
/// high `fpr`.
///
/// ```
/// use trommel_textbook::cuckoo::fingerprint_bits_for;
/// assert_eq!(fingerprint_bits_for(2, 0.02), Ok(8));
/// ```
///
/// # Errors
/// [`SpecError::FprOutOfRange`] unless `fpr` is strictly between 0 and 1; [`SpecError::Parameter`] if
/// `bucket_entries` is not 1 to 8; [`SpecError::FprUnreachable`] if the fingerprint would be too long.
pub fn fingerprint_bits_for(bucket_entries: u32, fpr: f64) -> Result<u32, SpecError> {
    if !(fpr > 0.0 && fpr < 1.0) {
        return Err(SpecError::FprOutOfRange { fpr });
    }
    check("bucket_entries", bucket_entries, MAX_BUCKET_ENTRIES)?;
    let bits = ceil(log2(2.0 * f64::from(bucket_entries) / fpr));
    if bits > f64::from(MAX_FINGERPRINT_BITS) {
        let floor = full_rate(bucket_entries, MAX_FINGERPRINT_BITS);
        return Err(SpecError::FprUnreachable { fpr, floor });
    }
    Ok(bits as u32)
}

/// The probability that at least one of `2b` entries matches, if each matches with probability `match_rate`.
pub(super) fn rate(bucket_entries: u32, match_rate: f64) -> f64 {
    -expm1(2.0 * f64::from(bucket_entries) * log1p(-match_rate))
}

/// The three numbers that determine the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) bucket_bits: u32,
    pub(super) bucket_entries: u32,
    pub(super) fingerprint_bits: u32,
}

impl Shape {
    pub(super) fn new(
        bucket_bits: u32,
        bucket_entries: u32,
        fingerprint_bits: u32,
    ) -> Result<Self, SpecError> {
        check("bucket_bits", bucket_bits, MAX_BUCKET_BITS)?;
        check("bucket_entries", bucket_entries, MAX_BUCKET_ENTRIES)?;
        check("fingerprint_bits", fingerprint_bits, MAX_FINGERPRINT_BITS)?;
        Ok(Self { bucket_bits, bucket_entries, fingerprint_bits })
    }

    /// The number of buckets: a power of two, so that the exclusive or of two bucket numbers is a bucket number too.
    pub(super) fn buckets(self) -> u64 {
        1 << self.bucket_bits
    }

    /// The number of possible fingerprints: 1 to `2^f − 1`, since 0 marks a free entry.
    pub(super) fn fingerprints(self) -> u64 {
        (1 << self.fingerprint_bits) - 1
    }

    /// The primary bucket: the upper bits of the hash.
    pub(super) fn primary_of(self, hash: KeyHash) -> u64 {
        hash.raw() >> (u64::BITS - self.bucket_bits)
    }

    /// The fingerprint: the lower half of the hash, mapped almost evenly to `1..2^f`.
    pub(super) fn fingerprint_of(self, hash: KeyHash) -> u32 {
        1 + reduce(hash.raw() << 32, self.fingerprints()) as u32
    }

    /// The other bucket of a fingerprint that stands in `bucket`: the exclusive or of `bucket` and a hash of
    /// the fingerprint. Called with this other bucket, the function returns `bucket` again. The paper hashes the
    /// fingerprint so that fingerprints kicked out of one bucket are spread over the whole table, not over a few nearby
    /// buckets.
    pub(super) fn alternate(self, bucket: u64, fingerprint: u32) -> u64 {
        let hash = Hasher::xxh3(0).hash_u64(fingerprint.into()).raw();
        bucket ^ (hash >> (u64::BITS - self.bucket_bits))
    }
}

pub(super) fn check(name: &'static str, value: u32, max: u32) -> Result<(), SpecError> {
    if (1..=max).contains(&value) {
        Ok(())
    } else {
        Err(SpecError::Parameter { name, value: value.into(), min: 1, max: max.into() })
    }
}
