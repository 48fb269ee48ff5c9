//! Cases that the user describes in a file: `measure --cases FILE`.
//!
//! ```toml
//! [[case]]
//! filter = "split-block-bloom"
//! size = "12-bit"
//! keys = [100_000, 5_000_000]
//! operations = ["contains/miss", "insert"]
//! rivals = false
//! ```

use super::{Group, Point, SubjectSpec};
use crate::model::{Op, Rival, Sizing, Workload};
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use trommel::FilterKind;

/// The most keys of a case. With 12 bits per key, a filter for this number of keys has 2.8 GiB.
const MOST_KEYS: usize = 2_000_000_000;

/// The cases of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cases {
    pub(crate) points: Vec<Point>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Entry>,
}

/// A filter, and the cases in which it is measured.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The name of the kind.
    filter: String,
    /// The size of the filter, in one of the forms `12-bit`, `fpr-1%` and `64-MiB`.
    size: String,
    /// The numbers of keys. A filter is made for each of them.
    keys: Vec<usize>,
    #[serde(default = "usual_operations")]
    operations: Vec<Operation>,
    /// Whether the usual rival of the kind is measured too, if the rival can have this size: `qfilter` needs a
    /// false-positive rate. The rivals of cuckoo filters are never measured, because they need a number of slots, which
    /// `size` cannot give.
    #[serde(default = "yes")]
    rivals: bool,
}

/// The operations that a file can ask for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Operation {
    #[serde(rename = "contains/miss")]
    Miss,
    #[serde(rename = "contains/hit")]
    Hit,
    #[serde(rename = "contains/mixed")]
    Mixed,
    #[serde(rename = "insert")]
    Insert,
    #[serde(rename = "build")]
    Build,
}

fn usual_operations() -> Vec<Operation> {
    vec![Operation::Hit, Operation::Miss, Operation::Insert]
}

fn yes() -> bool {
    true
}

impl Operation {
    fn group(self, keys: usize) -> Group {
        let (op, workload) = match self {
            Self::Miss => (Op::Contains, Some(Workload::Miss)),
            Self::Hit => (Op::Contains, Some(Workload::Hit)),
            Self::Mixed => (Op::Contains, Some(Workload::Mixed)),
            Self::Insert => (Op::Insert, None),
            Self::Build => (Op::Build, None),
        };
        Group { op, workload, keys, input: None, hashed: false, matrix: None }
    }
}

impl Cases {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, or does not describe cases.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        ensure!(!file.case.is_empty(), "the file has no case");
        let mut points: Vec<Point> = Vec::new();
        for entry in &file.case {
            for point in entry.points()? {
                // Filters that have the same keys and operations are interleaved.
                match points.iter_mut().find(|known| known.groups == point.groups) {
                    Some(known) => known.take_in(point.specs),
                    None => points.push(point),
                }
            }
        }
        Ok(Self { points })
    }
}

impl Entry {
    fn points(&self) -> Result<Vec<Point>> {
        let Self { filter, size, keys, operations, rivals } = self;
        let kind: FilterKind = filter.parse().with_context(|| format!("filter = {filter:?}"))?;
        let sizing: Sizing = size.parse()?;
        ensure!(
            matches!(sizing, Sizing::BitsPerKey(_) | Sizing::Fpr(_) | Sizing::Bytes(_)),
            "{size}: a size is given as 12-bit, as fpr-1% or as 64-MiB"
        );
        ensure!(!keys.is_empty() && !operations.is_empty(), "{filter}: no keys or no operations");
        let mut specs = vec![SubjectSpec::ours(kind, sizing)];
        let can_have_size = match kind {
            FilterKind::Quotient | FilterKind::CacheLineQuotient => {
                matches!(sizing, Sizing::Fpr(_))
            }
            kind => kind != FilterKind::Cuckoo,
        };
        let usual = Rival::of_kind(filter).first().filter(|_| *rivals && can_have_size);
        specs.extend(usual.map(|rival| SubjectSpec::rival(*rival, kind, sizing)));
        let point = |keys: &usize| {
            ensure!(
                (1..=MOST_KEYS).contains(keys),
                "{filter}: {keys} keys are not from 1 to {MOST_KEYS}"
            );
            let groups = operations.iter().map(|operation| operation.group(*keys)).collect();
            Ok(Point { keys: *keys, specs: specs.clone(), groups })
        };
        keys.iter().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_its_filters_their_rivals_and_their_operations() {
        let cases = Cases::parse(
            "[[case]]\nfilter = 'split-block-bloom'\nsize = '12-bit'\nkeys = [1000, 2000]\n\
             [[case]]\nfilter = 'cuckoo'\nsize = 'fpr-0.1%'\nkeys = [1000]\n\
             [[case]]\nfilter = 'bloom'\nsize = '10-bit'\nkeys = [1000]\noperations = ['build']\nrivals = false",
        )
        .unwrap();
        let names: Vec<Vec<String>> = cases
            .points
            .iter()
            .map(|point| {
                let cases = point.groups.iter().flat_map(|group| group.cases(&point.specs));
                cases.map(|case| case.name).collect()
            })
            .collect();
        // The first and the second entry share a point with 1000 keys.
        assert_eq!(cases.points[0].specs.len(), 3);
        assert_eq!(names.len(), 3);
        for name in [
            "contains/hit/1e3/split-block-bloom/12-bit/batch",
            "contains/miss/1e3/sbbf-rs-safe/12-bit/single",
            "insert/1e3/cuckoo/fpr-0.1%/batch",
        ] {
            assert!(names[0].iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert!(names[1].iter().all(|name| name.contains("/2e3/")));
        assert_eq!(names[2], ["build/1e3/bloom/10-bit/batch"]);
    }

    #[test]
    fn a_quotient_filter_has_its_rival_only_if_it_is_sized_by_a_rate() {
        for (size, specs) in [("fpr-1%", 2), ("12-bit", 1), ("1-MiB", 1)] {
            let text = format!("[[case]]\nfilter = 'quotient'\nsize = '{size}'\nkeys = [1000]");
            assert_eq!(Cases::parse(&text).unwrap().points[0].specs.len(), specs, "{size}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        let case = |more: &str| format!("[[case]]\nfilter = 'bloom'\nkeys = [1]\n{more}");
        for (text, named) in [
            (String::new(), "case"),
            (case("size = '12-bit'\nspeed = 1"), "speed"),
            (case("size = 'large'"), "large"),
            (case("size = 'r8-full-95%'"), "r8-full-95%"),
            (case("size = '12-bit'\noperations = ['sort']"), "sort"),
            (case("size = '12-bit'").replace("bloom", "blum"), "blum"),
            (case("size = '12-bit'").replace("[1]", "[0]"), "0 keys"),
            (case("size = '12-bit'").replace("[1]", "[]"), "no keys"),
        ] {
            let error = format!("{:#}", Cases::parse(&text).unwrap_err());
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
