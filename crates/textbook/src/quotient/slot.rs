//! A slot and its bits.

/// What one slot of the table says: a remainder and three bits, of which one, `is_occupied`, is about
/// the place and the others are about the remainder that stands there.
///
/// Bits: `is_occupied` is bit 0, `is_continuation` bit 1, `is_shifted` bit 2, the remainder above.
///
/// Source: Bender et al., PVLDB 5 (2012), section 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The lower bits of the fingerprint that is stored here.
    pub remainder: u64,
    /// Some fingerprint has this slot's number as its quotient. It stays in its place when remainders
    /// move.
    pub is_occupied: bool,
    /// The remainder is not the first of its run.
    pub is_continuation: bool,
    /// The remainder is not in the slot that its quotient names.
    pub is_shifted: bool,
}

impl Slot {
    /// The bits in front of the remainder.
    pub(super) const METADATA_BITS: u32 = 3;

    /// Whether no remainder is stored here. A home whose run stands elsewhere is never empty: its
    /// run would have moved in.
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
