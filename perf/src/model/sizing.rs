//! How the size of a filter is chosen.

use super::words::stored_as_text;
use super::{Family, Filling, UnknownWord};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the size of a filter is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) enum Sizing {
    /// This many bits per key.
    BitsPerKey(usize),
    /// The size that our filter's equation gives for this false-positive rate. Depending on the crate, a rival gets
    /// this rate, or as many bytes as our filter has.
    Fpr(f64),
    /// This many bytes, a multiple of 1 MiB, whatever the number of keys.
    Bytes(usize),
    /// This many slots, filled to a load.
    Slots(Filling),
    /// So many slots that the keys fill the share [`Self::FULL_LOAD`] of them. A rival rounds the number of slots up to
    /// a power of two.
    Full {
        family: Family,
        /// Bits per slot, which holds a remainder or a fingerprint.
        bits: u32,
    },
}

impl Sizing {
    /// The share of slots that the keys take with [`Sizing::Full`].
    pub(crate) const FULL_LOAD: f64 = 0.95;

    /// The bits per key, if the size is given in bits per key.
    pub(crate) fn bits_per_key(self) -> Option<usize> {
        match self {
            Self::BitsPerKey(bits) => Some(bits),
            _ => None,
        }
    }

    /// The false-positive rate, if the size is given as a rate.
    pub(crate) fn fpr(self) -> Option<f64> {
        match self {
            Self::Fpr(fpr) => Some(fpr),
            _ => None,
        }
    }
}

/// The end of the name of [`Sizing::Full`], which contains [`Sizing::FULL_LOAD`].
const FULL: &str = "-full-95%";

impl fmt::Display for Sizing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BitsPerKey(bits) => write!(f, "{bits}-bit"),
            Self::Fpr(fpr) => write!(f, "fpr-{}%", fpr * 100.0),
            Self::Bytes(bytes) => write!(f, "{}-MiB", bytes >> 20),
            Self::Slots(filling) => filling.fmt(f),
            Self::Full { family, bits } => write!(f, "{}{bits}{FULL}", family.letter()),
        }
    }
}

impl FromStr for Sizing {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let number = |digits: Option<&str>| digits?.parse::<usize>().ok();
        let fpr = || {
            let per_cent: f64 = text.strip_prefix("fpr-")?.strip_suffix('%')?.parse().ok()?;
            (0.0..=100.0).contains(&per_cent).then_some(Self::Fpr(per_cent / 100.0))
        };
        let bytes = || number(text.strip_suffix("-MiB"))?.checked_mul(1 << 20).map(Self::Bytes);
        let full = || {
            let (family, bits) = Family::split_off(text.strip_suffix(FULL)?)?;
            Some(Self::Full { family, bits: bits.parse().ok()? })
        };
        number(text.strip_suffix("-bit"))
            .map(Self::BitsPerKey)
            .or_else(fpr)
            .or_else(bytes)
            .or_else(full)
            .or_else(|| text.parse().ok().map(Self::Slots))
            .ok_or_else(|| UnknownWord::new("size", text))
    }
}

stored_as_text!(Sizing);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_from_the_text_that_they_print() {
        let slots = Filling { family: Family::Cuckoo, slots: 1 << 20, bits: 12, load: 90 };
        for (sizing, text) in [
            (Sizing::BitsPerKey(12), "12-bit"),
            (Sizing::Fpr(0.01), "fpr-1%"),
            (Sizing::Fpr(0.001), "fpr-0.1%"),
            (Sizing::Bytes(1 << 30), "1024-MiB"),
            (Sizing::Slots(slots), "f12-90%-of-1Mi"),
            (Sizing::Full { family: Family::Quotient, bits: 8 }, "r8-full-95%"),
        ] {
            assert_eq!((sizing.to_string().as_str(), text.parse()), (text, Ok(sizing)));
        }
        for bad in ["", "bit", "-bit", "fpr-%", "fpr-101%", "r-full-95%", "99999999999999999-MiB"] {
            assert!(bad.parse::<Sizing>().is_err(), "{bad:?} was parsed");
        }
        assert_eq!(FULL, format!("-full-{}%", Sizing::FULL_LOAD * 100.0));
    }
}
