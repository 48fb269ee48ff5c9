//! The keys and probes of a case.

use super::UnknownWord;
use super::words::stored_as_text;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The source of the keys and probes of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    /// Generated keys.
    Generated(Distribution),
    /// Given keys and probes, identified by the name of the input: `tpch-0.1`, `file`.
    Given(String),
}

/// The distribution and order of generated keys and probes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) enum Distribution {
    /// Distinct keys, in no particular order.
    Plain,
    /// Plain keys or probes. A batch has this number of keys or probes per cache line of the table.
    PerLine(f64),
    /// Sorted by hash.
    Sorted,
    /// One key, repeated.
    Equal,
    /// Keys repeated by Zipf's law, with the same distribution as [`super::Workload::Zipf`].
    Zipf,
}

impl Distribution {
    /// The skewed distributions. With them, the engine is compared with the filter's own batch on one thread.
    pub(crate) const SKEWED: [Self; 3] = [Self::Sorted, Self::Equal, Self::Zipf];
}

/// The end of the text of [`Distribution::PerLine`], after the number of keys.
const A_LINE: &str = "-a-line";

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::PerLine(keys) => write!(f, "{keys}{A_LINE}"),
            Self::Sorted => f.write_str("sorted"),
            Self::Equal => f.write_str("equal"),
            Self::Zipf => f.write_str("zipf"),
        }
    }
}

impl FromStr for Distribution {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let keys = |text: &str| text.strip_suffix(A_LINE)?.parse::<f64>().ok();
        match text {
            "plain" => Ok(Self::Plain),
            "sorted" => Ok(Self::Sorted),
            "equal" => Ok(Self::Equal),
            "zipf" => Ok(Self::Zipf),
            _ => keys(text)
                .map(Self::PerLine)
                .ok_or_else(|| UnknownWord::new("distribution of keys", text)),
        }
    }
}

stored_as_text!(Distribution);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_parsed_from_the_text_that_they_print() {
        use Distribution::{Equal, PerLine, Plain, Sorted, Zipf};
        for (distribution, text) in [
            (Plain, "plain"),
            (PerLine(0.25), "0.25-a-line"),
            (PerLine(4.0), "4-a-line"),
            (Sorted, "sorted"),
            (Equal, "equal"),
            (Zipf, "zipf"),
        ] {
            assert_eq!((distribution.to_string().as_str(), text.parse()), (text, Ok(distribution)));
        }
        assert!("-a-line".parse::<Distribution>().is_err());
    }
}
