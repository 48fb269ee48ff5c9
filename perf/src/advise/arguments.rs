//! The command line of `advise`.

use super::{Need, Question};
use crate::measure::plan::parse_count;
use clap::Args;
use std::path::PathBuf;
use trommel::Isa;

/// The arguments of `advise`.
#[derive(Args, Clone, Debug)]
pub(crate) struct AdviseArgs {
    /// The number of keys that the filter will hold, such as 1e7.
    #[arg(long, value_name = "N", value_parser = parse_count, required_unless_present = "check")]
    pub(crate) keys: Option<usize>,
    /// The cost of a probe that the filter does not reject, in nanoseconds or with a unit: 250, 10us, 4ms.
    #[arg(
        long,
        value_name = "NS",
        value_parser = parse_nanoseconds,
        allow_hyphen_values = true,
        required_unless_present = "check"
    )]
    pub(crate) miss_cost: Option<f64>,
    /// The share of probes that are keys, from 0 to 1.
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = parse_share,
        allow_hyphen_values = true,
        default_value = "0"
    )]
    pub(crate) hit_rate: f64,
    /// The highest false-positive rate that is acceptable.
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true)]
    pub(crate) fpr: Option<f64>,
    /// The highest number of bits per key that is acceptable.
    #[arg(long, value_name = "BITS", value_parser = parse_bits, allow_hyphen_values = true)]
    pub(crate) bits_per_key: Option<f64>,
    /// The most memory that is acceptable, in bytes or with a unit: 64MiB, 1.5GB.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,
    /// What the filter must be able to do besides inserts and lookups.
    #[arg(long, value_name = "NEED,NEED", value_delimiter = ',', value_enum)]
    pub(crate) need: Vec<Need>,
    /// Take the speed of lookups from the results that `measure` wrote to DIR, instead of measuring for some seconds.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Force our filters to an instruction set: portable, avx2, avx512-core, avx512,
    /// avx512-gather or neon.
    #[arg(long, conflicts_with = "from")]
    pub(crate) isa: Option<Isa>,
    /// Write the answer to FILE as JSON, for scripts.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Check the advice instead of giving it: in 60 scenarios (15 with `--keys`), compare the advised filter with the
    /// best of all filters that could be advised. Takes some minutes.
    #[arg(long, conflicts_with_all = ["miss_cost", "from"])]
    pub(crate) check: bool,
}

impl AdviseArgs {
    /// The question that the arguments ask; `None` if `--keys` or `--miss-cost` is missing.
    pub(crate) fn question(&self) -> Option<Question> {
        let keys = self.keys?;
        let limit_by_bits = self.bits_per_key.map(|bits| (keys as f64 * bits / 8.0).floor() as u64);
        let mut needs: Vec<Need> = Vec::new();
        for need in &self.need {
            if !needs.contains(need) {
                needs.push(*need);
            }
        }
        Some(Question {
            keys,
            fpr: self.fpr,
            bytes: [limit_by_bits, self.memory].into_iter().flatten().min(),
            miss_ns: self.miss_cost?,
            hit_rate: self.hit_rate,
            needs,
        })
    }
}

/// Units of time, each with its length in nanoseconds.
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Units of memory, each with its size in bytes.
const SIZES: [(&str, f64); 9] = [
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("TiB", 1099511627776.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("B", 1.0),
];

/// The longest `--miss-cost` that is accepted: a thousand seconds.
const MOST_NS: f64 = 1e12;
/// The largest `--memory` that is accepted: the 128 TiB that an x86-64 process can address.
const MOST_BYTES: f64 = 140_737_488_355_328.0;

/// Parses a number with one of the units, or without a unit. Returns `None` for any other text.
fn parse_with(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let with_unit = |(unit, scale): &(&str, f64)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(number * scale)
    };
    text.parse().ok().or_else(|| units.iter().find_map(with_unit))
}

fn parse_nanoseconds(text: &str) -> Result<f64, String> {
    let time = parse_with(text, &TIMES).filter(|time| *time > 0.0 && *time <= MOST_NS);
    time.ok_or_else(|| {
        format!("{text:?} is not a time above 0 and up to 1000 s, such as 250, 10us or 4ms")
    })
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let bytes = parse_with(text, &SIZES).filter(|bytes| (1.0..=MOST_BYTES).contains(bytes));
    bytes.map(|bytes| bytes.floor() as u64).ok_or_else(|| {
        format!("{text:?} is not a size from 1 byte to 128 TiB, such as 64MiB or 1.5GB")
    })
}

fn parse_number(text: &str, is_wanted: impl Fn(f64) -> bool, what: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| is_wanted(*number));
    number.ok_or_else(|| format!("{text:?} is not {what}"))
}

fn parse_share(text: &str) -> Result<f64, String> {
    parse_number(text, |share| (0.0..=1.0).contains(&share), "a share from 0 to 1")
}

fn parse_rate(text: &str) -> Result<f64, String> {
    parse_number(
        text,
        |rate| rate > 0.0 && rate < 1.0,
        "a false-positive rate strictly between 0 and 1",
    )
}

fn parse_bits(text: &str) -> Result<f64, String> {
    parse_number(text, |bits| bits > 0.0 && bits <= 1000.0, "a number above 0 and up to 1000")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;

    fn asked(rest: &[&str]) -> Result<Question, clap::Error> {
        let arguments = ["trommel-perf", "advise"].iter().chain(rest);
        let parsed = Cli::try_parse_from(arguments)?;
        let Some(Verb::Advise(arguments)) = parsed.verb else { panic!("advise was asked for") };
        Ok(arguments.question().unwrap())
    }

    #[test]
    fn numbers_and_units_are_parsed() {
        let question = asked(&[
            "--keys",
            "1e6",
            "--miss-cost",
            "10us",
            "--hit-rate",
            "0.25",
            "--fpr",
            "0.01",
            "--memory",
            "1.5MiB",
            "--bits-per-key",
            "10",
            "--need",
            "merge,grow,merge",
        ])
        .unwrap();
        assert_eq!((question.keys, question.miss_ns, question.hit_rate), (1_000_000, 1e4, 0.25));
        // Ten bits per key are 1.25 MB for all keys. This is less than 1.5 MiB, so it is the limit.
        assert_eq!((question.fpr, question.bytes), (Some(0.01), Some(1_250_000)));
        assert_eq!(question.needs, [Need::Merge, Need::Grow]);
        let memory = asked(&["--keys", "1e9", "--miss-cost", "1", "--memory", "64 MiB"]).unwrap();
        assert_eq!(memory.bytes, Some(64 << 20));
    }

    #[test]
    fn values_out_of_range_are_rejected() {
        for bad in [
            ["--keys", "0"],
            ["--keys", "1e30"],
            ["--keys", "NaN"],
            ["--miss-cost", "-5"],
            ["--miss-cost", "0"],
            ["--miss-cost", "NaN"],
            ["--miss-cost", "inf"],
            ["--miss-cost", "5 hours"],
            ["--fpr", "0"],
            ["--fpr", "1"],
            ["--fpr", "-0.1"],
            ["--fpr", "NaN"],
            ["--hit-rate", "1.1"],
            ["--hit-rate", "-0.1"],
            ["--bits-per-key", "0"],
            ["--bits-per-key", "inf"],
            ["--memory", "0"],
            ["--memory", "64Mib"],
            ["--memory", "-1MiB"],
            ["--memory", "1e30"],
            ["--need", "fly"],
        ] {
            let mut all = vec!["--keys", "1000", "--miss-cost", "100"];
            all.retain(|word| *word != bad[0]);
            if bad[0] == "--keys" {
                all = vec!["--miss-cost", "100"];
            } else if bad[0] == "--miss-cost" {
                all = vec!["--keys", "1000"];
            }
            all.extend(bad);
            assert!(asked(&all).is_err(), "{bad:?}");
        }
        assert!(asked(&["--keys", "5"]).is_err());
    }
}
