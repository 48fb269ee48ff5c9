//! Filters that are sized by their slots and filled to a load.

use super::UnknownWord;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A design of filters with slots. Filters of one family are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Family {
    /// Stores remainders in the order of their quotients. If a quotient filter is sized by its slots, it is a set of
    /// fingerprints: it can list them, and can be merged with another such set.
    Quotient,
    /// Stores each fingerprint in one of two buckets. If a cuckoo filter is sized by its slots, it stores one
    /// fingerprint per inserted key.
    Cuckoo,
}

impl Family {
    pub(crate) const ALL: [Self; 2] = [Self::Quotient, Self::Cuckoo];

    /// The letter before the width of a slot in the name of a size: `r` for remainders, `f` for fingerprints.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Quotient => 'r',
            Self::Cuckoo => 'f',
        }
    }

    /// Splits the family's letter off the beginning of the name of a size.
    pub(super) fn split_off(size: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|family| Some((family, size.strip_prefix(family.letter())?)))
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quotient => "quotient",
            Self::Cuckoo => "cuckoo",
        })
    }
}

/// The number and width of a filter's slots, and its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filling {
    pub(crate) family: Family,
    pub(crate) slots: usize,
    /// Bits per slot, which holds a remainder or a fingerprint.
    pub(crate) bits: u32,
    /// Keys per slot, in per cent. In a quotient filter, keys with the same fingerprint take one slot, so the share of
    /// slots in use can be a little lower than the load.
    pub(crate) load: u32,
}

impl Filling {
    /// The number of keys that gives the load, rounded down.
    pub(crate) fn keys(&self) -> usize {
        keys_at(self.slots, self.load)
    }
}

/// The number of keys that fills `load` per cent of the slots, rounded down.
pub(crate) fn keys_at(slots: usize, load: u32) -> usize {
    slots * load as usize / 100
}

/// Writes a number of slots in the largest of the units Mi, Ki and 1 that divides it, such as `16Mi`.
pub(crate) fn short_slots(slots: usize) -> String {
    match slots.trailing_zeros() {
        20.. => format!("{}Mi", slots >> 20),
        10..20 => format!("{}Ki", slots >> 10),
        _ => slots.to_string(),
    }
}

/// Writes the name of the size: `r8-95%-of-1Mi`, `f8-95%-of-1Mi`.
impl fmt::Display for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, slots, bits, load } = *self;
        write!(f, "{}{bits}-{load}%-of-{}", family.letter(), short_slots(slots))
    }
}

impl FromStr for Filling {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let parse = || {
            let (family, rest) = Family::split_off(text)?;
            let (bits, rest) = rest.split_once('-')?;
            let (load, slots) = rest.split_once("%-of-")?;
            let digits = slots.trim_end_matches(['K', 'M', 'i']);
            let unit: usize = match &slots[digits.len()..] {
                "" => 1,
                "Ki" => 1 << 10,
                "Mi" => 1 << 20,
                _ => return None,
            };
            let slots = digits.parse::<usize>().ok()?.checked_mul(unit)?;
            Some(Self { family, slots, bits: bits.parse().ok()?, load: load.parse().ok()? })
        };
        parse().ok_or_else(|| UnknownWord::new("number of slots", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fillings_are_parsed_from_the_text_that_they_print() {
        use Family::{Cuckoo, Quotient};
        for (family, slots, text) in [
            (Quotient, 1 << 24, "r12-90%-of-16Mi"),
            (Cuckoo, 4096, "f12-90%-of-4Ki"),
            (Quotient, 100, "r12-90%-of-100"),
        ] {
            let filling = Filling { family, slots, bits: 12, load: 90 };
            assert_eq!((filling.to_string().as_str(), text.parse()), (text, Ok(filling)));
        }
        for bad in ["12-bit", "fpr-1%", "r8-95%", "q8-95%-of-1Mi", "r8-95%-of-1Gi", "1024-MiB", ""]
        {
            assert!(bad.parse::<Filling>().is_err(), "{bad:?} was parsed");
        }
        assert!("r8-95%-of-99999999999999999999Mi".parse::<Filling>().is_err());
        assert!("r8-95%-of-9999999999999999999Mi".parse::<Filling>().is_err());
    }
}
