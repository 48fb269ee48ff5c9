//! A slot and its bits.

/// The content of one slot: a remainder and three bits. `is_occupied` describes the slot itself; the other
/// two bits describe the remainder in the slot.
///
/// Bits: `is_occupied` is bit 0, `is_continuation` bit 1, `is_shifted` bit 2; the remainder begins at bit 3.
///
/// Source: Bender et al., PVLDB 5 (2012), section 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The lower bits of a fingerprint.
    pub remainder: u64,
    /// Some fingerprint in the filter has this slot's number as its quotient. This bit does not move when
    /// remainders do.
    pub is_occupied: bool,
    /// The remainder is not the first of its run.
    pub is_continuation: bool,
    /// The remainder is not in the slot whose number is its quotient.
    pub is_shifted: bool,
}

impl Slot {
    /// The number of bits below the remainder.
    pub(super) const METADATA_BITS: u32 = 3;

    /// Whether no remainder is stored here. A slot with `is_occupied` always holds a remainder: the slot is the home
    /// of a run, and if it were free, that run would begin in it.
    pub(super) fn is_empty(self) -> bool {
        !(self.is_occupied || self.is_continuation || self.is_shifted)
    }

    pub(super) fn to_bits(self) -> u64 {
        u64::from(self.is_occupied)
            | u64::from(self.is_continuation) << 1
            | u64::from(self.is_shifted) << 2
            | self.remainder << Self::METADATA_BITS
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self {
            remainder: bits >> Self::METADATA_BITS,
            is_occupied: bits & 1 != 0,
            is_continuation: bits >> 1 & 1 != 0,
            is_shifted: bits >> 2 & 1 != 0,
        }
    }
}
