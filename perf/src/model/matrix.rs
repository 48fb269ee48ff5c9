//! The matrix: measurements of how the speed of lookups depends on other properties than the kind, the number of keys
//! and the workload. Each part of the matrix varies one of these other properties.

use super::UnknownWord;
use super::words::stored_as_text;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A part of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) enum Matrix {
    /// The number of keys per call.
    BatchSizes,
    /// The bits per key of Bloom filters.
    Bits,
    /// Filters sized for a level of the memory hierarchy.
    Regime(Level),
    /// Huge or small pages. A rival's allocator chooses its pages.
    Pages,
    /// Lookups whose keys come from a long column in memory, so that the time includes reading the keys. Our filters
    /// get all keys in one call, and rivals one key per call.
    Column(Level),
    /// A tree of many small filters. A probe is looked up in at most one filter per level of the tree.
    SmallFilters,
}

/// A level of the memory hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    L1,
    L2,
    Llc,
    Dram,
}

impl Level {
    pub(crate) const ALL: [Self; 4] = [Self::L1, Self::L2, Self::Llc, Self::Dram];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::Llc => "LLC",
            Self::Dram => "DRAM",
        })
    }
}

impl FromStr for Level {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|level| level.to_string() == text);
        found.ok_or_else(|| UnknownWord::new("level of the memory hierarchy", text))
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BatchSizes => f.write_str("batch-sizes"),
            Self::Bits => f.write_str("bits"),
            Self::Regime(level) => write!(f, "in-{level}"),
            Self::Pages => f.write_str("pages"),
            Self::Column(level) => write!(f, "column-in-{level}"),
            Self::SmallFilters => f.write_str("small-filters"),
        }
    }
}

impl FromStr for Matrix {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "batch-sizes" => Ok(Self::BatchSizes),
            "bits" => Ok(Self::Bits),
            "pages" => Ok(Self::Pages),
            "small-filters" => Ok(Self::SmallFilters),
            _ => {
                if let Some(level) = text.strip_prefix("in-") {
                    level.parse().map(Self::Regime)
                } else if let Some(level) = text.strip_prefix("column-in-") {
                    level.parse().map(Self::Column)
                } else {
                    Err(UnknownWord::new("part of the matrix", text))
                }
            }
        }
    }
}

stored_as_text!(Matrix);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_parsed_from_the_text_that_they_print() {
        let regimes = Level::ALL.map(Matrix::Regime);
        let others = [Matrix::BatchSizes, Matrix::Bits, Matrix::Pages, Matrix::SmallFilters];
        let columns = Level::ALL.map(Matrix::Column);
        for part in regimes.into_iter().chain(columns).chain(others) {
            assert_eq!(part.to_string().parse(), Ok(part));
        }
        assert!("in-L9".parse::<Matrix>().is_err() && "".parse::<Matrix>().is_err());
    }
}
