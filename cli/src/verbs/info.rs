//! `trommel info`.

use super::{print, read_filter};
use crate::cli::InfoArgs;
use crate::failure::Failure;
use crate::fill::{Fill, Unit};
use crate::picture::{Shades, grouped, percent};
use serde::Serialize;
use std::fmt::Write as _;
use std::process::ExitCode;
use trommel::container::{HEADER_BYTES, HashId, VERSION};
use trommel::{Filter as _, FilterView, KeyHash};

/// The width of a bar in characters.
const BAR_WIDTH: usize = 64;

pub(crate) fn run(arguments: &InfoArgs) -> Result<ExitCode, Failure> {
    let bytes = read_filter(&arguments.filter)?;
    let name = arguments.filter.display().to_string();
    let view =
        FilterView::parse(&bytes).map_err(|error| Failure::Format { name: name.clone(), error })?;
    let info = Info::new(name, &bytes, &view);
    let text = if arguments.json {
        let json = serde_json::to_string_pretty(&info);
        json.map_err(|error| Failure::Usage(error.to_string()))? + "\n"
    } else {
        info.text(Shades::of_locale(|name| std::env::var(name).ok()))
    };
    print(text.as_bytes())
}

/// The output of `--json`, which cli/README.md describes. Fields may be added, but none may be removed or changed.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    format_version: u16,
    kind: &'static str,
    /// In Bloom kinds, the number of inserts minus removals; after an intersection, the smaller of the two filters'
    /// numbers. In the other kinds, the number of fingerprints.
    keys: u64,
    estimated_distinct_keys: f64,
    file_bytes: u64,
    table_bytes: u64,
    bits_per_key: Option<f64>,
    expected_fpr: f64,
    bits_set_per_key: Option<u32>,
    hash: HashInfo,
    checksum_ok: bool,
    fill: Option<FillInfo>,
    can: Can,
}

#[derive(Debug, Serialize)]
struct HashInfo {
    function: &'static str,
    /// Decimal digits in a string, since many JSON readers have no 64-bit integers.
    seed: String,
}

#[derive(Debug, Serialize)]
struct FillInfo {
    of: &'static str,
    fraction: f64,
    regions: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct Can {
    merge: bool,
    remove: bool,
    count: bool,
    intersect: bool,
    fold: bool,
}

impl Info {
    /// Describes the filter in `bytes`. [`FilterView::parse`] made `view` and checked the checksums, so `checksum_ok`
    /// is true.
    fn new(file: String, bytes: &[u8], view: &FilterView<'_>) -> Self {
        let hasher = view.hasher();
        let removes = view.count_hash(KeyHash::default()).is_ok();
        // A table of bits without counters can be intersected (by AND) and folded (by OR of adjacent units, or of
        // adjacent bits in the standard Bloom filter).
        let folds = view.hash_count().is_some() && !removes;
        Self {
            file,
            format_version: VERSION,
            kind: view.kind().name(),
            keys: view.len() as u64,
            estimated_distinct_keys: view.estimate_len(),
            file_bytes: bytes.len() as u64,
            table_bytes: (bytes.len() - HEADER_BYTES) as u64,
            bits_per_key: Some(view.bits_per_key()).filter(|bits| bits.is_finite()),
            expected_fpr: view.expected_fpr(),
            bits_set_per_key: view.hash_count(),
            hash: HashInfo {
                function: match hasher.id() {
                    HashId::Xxh3 => "xxh3-64",
                    HashId::Xxh64 => "xxh64",
                    _ => "unknown",
                },
                seed: hasher.seed().to_string(),
            },
            checksum_ok: true,
            fill: Fill::of(view).map(|fill| FillInfo {
                of: fill.unit.name(),
                fraction: fill.fraction,
                regions: fill.regions,
            }),
            can: Can {
                merge: true,
                remove: removes,
                count: removes,
                intersect: folds,
                fold: folds,
            },
        }
    }

    fn text(&self, shades: Shades) -> String {
        let mut text = String::new();
        let mut line = |what: &str, value: String| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", format!("{what:<16}{value}").trim_end());
        };
        line("file", self.file.clone());
        line("kind", self.kind.into());
        let is_bloom = self.bits_set_per_key.is_some();
        line(
            "keys",
            if is_bloom {
                let distinct = grouped(self.estimated_distinct_keys.max(0.0).round() as u64);
                format!("{} inserted, about {distinct} distinct", grouped(self.keys))
            } else {
                format!("{} fingerprints", grouped(self.keys))
            },
        );
        let bits =
            self.bits_per_key.map_or(String::new(), |bits| format!(", {bits:.2} bits per key"));
        line(
            "size",
            format!(
                "{} bytes, of which {} are the table{bits}",
                grouped(self.file_bytes),
                grouped(self.table_bytes)
            ),
        );
        line(
            "false positives",
            format!("expected for {} of absent keys", percent(self.expected_fpr)),
        );
        line("hash", format!("{}, seed {}", self.hash.function, self.hash.seed));
        line("checksums", "correct".into());
        line("can", self.can.list(true));
        line("cannot", self.can.list(false));
        if let Some(fill) = &self.fill {
            let (unit, used) =
                if fill.of == Unit::Bits.name() { ("bits", "set") } else { ("slots", "taken") };
            line(
                "fill",
                format!(
                    "[{}] {} of {unit} {used}",
                    shades.bar(fill.fraction, BAR_WIDTH),
                    percent(fill.fraction)
                ),
            );
            let least = fill.regions.iter().copied().fold(f64::INFINITY, f64::min);
            let most = fill.regions.iter().copied().fold(0.0, f64::max);
            line(
                "by region",
                format!(
                    "[{}] {} to {}",
                    shades.columns(&fill.regions),
                    percent(least),
                    percent(most)
                ),
            );
        }
        text
    }
}

impl Can {
    fn list(&self, can: bool) -> String {
        let all = [
            ("merge", self.merge),
            ("remove", self.remove),
            ("count", self.count),
            ("intersect", self.intersect),
            ("fold", self.fold),
        ];
        let listed: Vec<_> =
            all.iter().filter(|(_, is)| *is == can).map(|(name, _)| *name).collect();
        if listed.is_empty() { "-".into() } else { listed.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trommel::{FilterKind, FilterSpec};

    #[test]
    fn the_listed_operations_are_those_the_library_supports() {
        for kind in FilterKind::ALL {
            let mut filter = FilterSpec::new(*kind).keys(1_000).build().unwrap();
            let bytes = filter.to_bytes();
            let info = Info::new(String::new(), &bytes, &FilterView::parse(&bytes).unwrap());
            let hash = KeyHash::from_raw(1);
            assert_eq!(info.can.remove, filter.remove_hash(hash).is_ok(), "{kind}");
            assert_eq!(info.can.count, filter.count_hash(hash).is_ok(), "{kind}");
            assert_eq!(info.can.fold, filter.fold(1).is_ok(), "{kind}");
            let other = filter.clone();
            assert_eq!(info.can.intersect, filter.intersect(&other).is_ok(), "{kind}");
            assert_eq!(info.can.merge, filter.merge(&other).is_ok(), "{kind}");
        }
    }
}
