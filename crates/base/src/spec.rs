//! The spec of a filter, checked before anything is allocated.

use crate::storage::MAX_BYTES;
use crate::{FilterKind, Hasher, SpecError};
use trommel_simd::Isa;

/// The requested size of a table: bytes, a false-positive rate, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// The fewest bytes that reach the false-positive rate.
    Fpr(f64),
    /// The lowest false-positive rate within this number of bytes.
    Bytes(usize),
    /// The fewest bytes that reach the false-positive rate, or an error if they are more than the given number.
    FprWithin(f64, usize),
}

/// The options of the builders of all kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Spec {
    /// The number of expected keys. For 0 keys, the filter has the smallest size, unless bytes are given without a
    /// false-positive rate: then the filter takes these bytes. (A quotient filter with [`Spec::fingerprint_bits`] has
    /// the smallest size for 0 keys even then.)
    pub keys: usize,
    /// The target false-positive rate. If neither a rate, nor a size, nor the bits of a remainder or fingerprint are
    /// given, the target is [`Spec::DEFAULT_FPR`].
    pub fpr: Option<f64>,
    /// The most bytes that the table is allowed to take.
    pub memory_bytes: Option<usize>,
    /// Bits of the table per expected key, instead of [`Spec::memory_bytes`].
    pub bits_per_key: Option<f64>,
    /// How keys are hashed.
    pub hasher: Hasher,
    /// The instruction set to use; `None` stands for [`Isa::active`].
    pub isa: Option<Isa>,
    /// Whether a large table asks for huge pages.
    pub huge_pages: bool,
    /// The number of units (words, blocks or cache lines) is rounded to a multiple of this number, so that the filter
    /// can be folded by any divisor of this number.
    pub foldable_by: u32,
    /// Whether to build the compact variant: a counting filter with 2-bit counters. For any kind except the
    /// counting filter, true is an error.
    pub compact: bool,
    /// In a filter that has slots, the largest share of them that the expected keys are allowed to fill.
    pub load: Option<f64>,
    /// Bits of a remainder in a quotient filter; if not given, as many as the false-positive rate needs.
    pub remainder_bits: Option<u32>,
    /// In a quotient filter, the bits of a whole fingerprint, quotient included. In a cuckoo filter, the
    /// bits that a slot holds.
    pub fingerprint_bits: Option<u32>,
    /// Whether a filter that has slots keeps every copy of a key, instead of one.
    pub multiset: bool,
    /// The share of full slots at which a filter doubles by itself.
    pub grow_at: Option<f64>,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            keys: 0,
            fpr: None,
            memory_bytes: None,
            bits_per_key: None,
            hasher: Hasher::default(),
            isa: None,
            huge_pages: true,
            foldable_by: 1,
            compact: false,
            load: None,
            remainder_bits: None,
            fingerprint_bits: None,
            multiset: false,
            grow_at: None,
        }
    }
}

impl Spec {
    /// The default false-positive rate: see [`Spec::fpr`].
    pub const DEFAULT_FPR: f64 = 0.01;
    /// The most bits per key that a spec can ask for.
    pub const MOST_BITS_PER_KEY: f64 = 1024.0;

    /// Returns the spec with [`Spec::bits_per_key`] converted to [`Spec::memory_bytes`]: `ceil(keys · bits / 8)`,
    /// rounded up to a multiple of `unit_bytes`, at least one unit. A kind whose table consists of units calls this
    /// before [`Spec::size`]. A kind whose table can have any number of bytes passes 0 as `unit_bytes`. If `unit_bytes`
    /// and `keys` are both 0, the returned spec has neither bits per key nor bytes, so the kind makes its smallest
    /// filter.
    ///
    /// # Errors
    /// [`SpecError::BitsPerKeyOutOfRange`] unless the bits per key are above 0 and at most [`Spec::MOST_BITS_PER_KEY`],
    /// [`SpecError::Exclusive`] if both bits per key and bytes are given, [`SpecError::TooLarge`] if a `usize` cannot
    /// hold the number of bytes.
    pub fn in_bytes(&self, unit_bytes: u64) -> Result<Self, SpecError> {
        let Some(bits_per_key) = self.bits_per_key else { return Ok(*self) };
        check_bits_per_key(bits_per_key, 0.0, Self::MOST_BITS_PER_KEY)?;
        if self.memory_bytes.is_some() {
            return Err(SpecError::Exclusive { options: ["bits_per_key", "memory_bytes"] });
        }
        let mut in_bytes = Self { bits_per_key: None, ..*self };
        if unit_bytes == 0 && self.keys == 0 {
            return Ok(in_bytes);
        }
        // Beyond 2^53, the last digits of the product are lost. Beyond 2^64, the conversion to `u64` saturates.
        let bytes = libm::ceil(self.keys as f64 * bits_per_key / 8.0) as u64;
        let rounded = bytes.max(1).checked_next_multiple_of(unit_bytes.max(1)).unwrap_or(u64::MAX);
        let too_large = SpecError::TooLarge { bytes: rounded.into(), max_bytes: MAX_BYTES };
        in_bytes.memory_bytes = Some(usize::try_from(rounded).map_err(|_| too_large)?);
        Ok(in_bytes)
    }

    /// Checks the false-positive rate. Returns the requested size: the rate, the number of bytes, or both.
    ///
    /// # Errors
    /// [`SpecError::FprOutOfRange`] if the rate is given and is not strictly between 0 and 1.
    pub fn size(&self) -> Result<Size, SpecError> {
        if let Some(fpr) = self.fpr {
            check_fpr(fpr)?;
        }
        Ok(match (self.fpr, self.memory_bytes) {
            (None, None) => Size::Fpr(Self::DEFAULT_FPR),
            (Some(fpr), None) => Size::Fpr(fpr),
            (None, Some(bytes)) => Size::Bytes(bytes),
            (Some(fpr), Some(bytes)) => Size::FprWithin(fpr, bytes),
        })
    }

    /// Refuses the options that only filters with slots have, for a kind without slots.
    ///
    /// # Errors
    /// [`SpecError::Option`] with the first of these options that was set.
    pub fn refuse_slot_options(&self, kind: FilterKind) -> Result<(), SpecError> {
        let set = [
            (self.load.is_some(), "load"),
            (self.remainder_bits.is_some(), "remainder_bits"),
            (self.fingerprint_bits.is_some(), "fingerprint_bits"),
            (self.multiset, "multiset"),
            (self.grow_at.is_some(), "grow_at"),
        ];
        match set.into_iter().find(|(set, _)| *set) {
            Some((_, option)) => Err(SpecError::Option { kind, option }),
            None => Ok(()),
        }
    }

    /// Refuses a `grow_at` load that is too low for the expected keys (for one key if 0 are expected): even the largest
    /// filter that doublings can make, with `most_slots` slots, would have no room for the keys at this load.
    ///
    /// # Errors
    /// [`SpecError::LoadOutOfRange`] if `grow_at` is not strictly between 0 and 1, [`SpecError::GrowAt`] if it is too
    /// low.
    pub fn check_growth(&self, most_slots: u64) -> Result<(), SpecError> {
        let Some(load) = self.grow_at.map(checked_load).transpose()? else { return Ok(()) };
        let keys = self.keys.max(1) as u64;
        let most_keys = (load * most_slots as f64) as u64;
        if most_keys < keys { Err(SpecError::GrowAt { load, keys, most_keys }) } else { Ok(()) }
    }

    /// Refuses folding and the compact variant, for a kind that has slots. Folding would put the fingerprints of
    /// several slots into one slot.
    ///
    /// # Errors
    /// [`SpecError::Option`] with the first of these two options that was set.
    pub fn refuse_bloom_options(&self, kind: FilterKind) -> Result<(), SpecError> {
        self.refuse_folding(kind)?;
        self.refuse_compact(kind)
    }

    /// Refuses a factor to fold by, for a kind that does not fold.
    ///
    /// # Errors
    /// [`SpecError::Option`] if [`Spec::foldable_by`] is not 1.
    pub fn refuse_folding(&self, kind: FilterKind) -> Result<(), SpecError> {
        let refused = SpecError::Option { kind, option: "foldable_by" };
        if self.foldable_by == 1 { Ok(()) } else { Err(refused) }
    }

    /// Refuses the compact variant, for a kind that has no compact variant.
    ///
    /// # Errors
    /// [`SpecError::Option`] if [`Spec::compact`] is true.
    pub fn refuse_compact(&self, kind: FilterKind) -> Result<(), SpecError> {
        let refused = SpecError::Option { kind, option: "compact" };
        if self.compact { Err(refused) } else { Ok(()) }
    }

    /// The instruction set to use.
    ///
    /// # Errors
    /// [`SpecError::Isa`] if the instruction set cannot be used. If the spec names no instruction set, the only
    /// possible cause is the value of the environment variable `TROMMEL_ISA`.
    pub fn usable_isa(&self) -> Result<Isa, SpecError> {
        Ok(match self.isa {
            Some(isa) => isa.require()?,
            None => Isa::active()?,
        })
    }
}

/// Refuses a false-positive rate that is not strictly between 0 and 1.
///
/// # Errors
/// [`SpecError::FprOutOfRange`].
pub fn check_fpr(fpr: f64) -> Result<(), SpecError> {
    // NaN is in no range.
    if fpr > 0.0 && fpr < 1.0 { Ok(()) } else { Err(SpecError::FprOutOfRange { fpr }) }
}

/// Refuses a number of bits per key that is below `min`, above `max`, or not above 0.
///
/// # Errors
/// [`SpecError::BitsPerKeyOutOfRange`].
pub fn check_bits_per_key(bits_per_key: f64, min: f64, max: f64) -> Result<(), SpecError> {
    // NaN is in no range.
    if bits_per_key > 0.0 && bits_per_key >= min && bits_per_key <= max {
        Ok(())
    } else {
        Err(SpecError::BitsPerKeyOutOfRange { bits_per_key, min, max })
    }
}

/// Returns the load, or an error if it is not strictly between 0 and 1.
///
/// # Errors
/// [`SpecError::LoadOutOfRange`].
pub fn checked_load(load: f64) -> Result<f64, SpecError> {
    // NaN is in no range.
    if load > 0.0 && load < 1.0 { Ok(load) } else { Err(SpecError::LoadOutOfRange { load }) }
}

/// A filter that can be made from a [`Spec`].
// Families implement this for builders; users call the builder.
#[doc(hidden)]
pub trait FromSpec: Sized {
    /// Makes the empty filter.
    ///
    /// # Errors
    /// [`SpecError`] if the spec cannot be met; nothing is left allocated.
    fn from_spec(spec: &Spec) -> Result<Self, SpecError>;

    /// Bytes of the empty filter once it is frozen. Allocates nothing.
    ///
    /// # Errors
    /// As [`FromSpec::from_spec`], except [`SpecError::OutOfMemory`].
    fn encoded_len_of(spec: &Spec) -> Result<u64, SpecError>;
}

#[cfg(test)]
mod tests {
    use super::Spec;
    use trommel_simd::Isa;

    #[test]
    fn an_instruction_set_that_the_machine_lacks_is_refused() {
        for isa in Isa::ALL {
            let spec = Spec { isa: Some(isa), ..Spec::default() };
            assert_eq!(spec.usable_isa().ok(), isa.is_available().then_some(isa), "{isa}");
        }
    }
}
