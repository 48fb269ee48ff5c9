//! Counts of instructions and cache misses of benches over commits, from a CSV file.

use super::change;
use crate::base::format::distinct;
use crate::base::table::{Line, Table};
use crate::show::plots::{Look, Series};
use chrono::{DateTime, FixedOffset};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The counts of one bench at one commit: a line of the file. The fields are its columns.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The time of the commit, in RFC 3339.
    #[serde(deserialize_with = "time")]
    time: DateTime<FixedOffset>,
    commit: String,
    /// The name of the bench, such as `contains_batch/split-block-bloom`.
    bench: String,
    isa: String,
    instructions: u64,
    /// Misses of the first-level data cache; blank if they were not simulated.
    d1_misses: Option<u64>,
    /// Misses of the last-level cache; blank if they were not simulated.
    ll_misses: Option<u64>,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime<FixedOffset>, D::Error> {
    let text = String::deserialize(deserializer)?;
    DateTime::parse_from_rfc3339(&text).map_err(|_| {
        D::Error::custom(format_args!("{text:?} is not a time such as 2026-01-31T12:00:00Z"))
    })
}

/// The counts of all commits, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    entries: Vec<Entry>,
}

/// The columns, in the order in which the documentation lists them.
const COLUMNS: [&str; 7] =
    ["time", "commit", "bench", "isa", "instructions", "d1_misses", "ll_misses"];

impl Counts {
    /// Parses a file.
    ///
    /// # Errors
    ///
    /// The reason, in one line, if the file lacks a column, has an unknown column, has a line that cannot be parsed,
    /// states 0 instructions, or has no counts.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let one_line = |error: csv::Error| error.to_string().replace('\n', " ");
        let mut reader = csv::Reader::from_reader(bytes);
        let header = reader.headers().map_err(one_line)?.clone();
        if let Some(missing) =
            COLUMNS.iter().find(|name| !header.iter().any(|column| column == **name))
        {
            return Err(format!("it has no column {missing}, expected {}", COLUMNS.join(",")));
        }
        let mut entries: Vec<Entry> =
            reader.deserialize().collect::<Result<_, _>>().map_err(one_line)?;
        if let Some(entry) = entries.iter().find(|entry| entry.instructions == 0) {
            return Err(format!("{} at {} takes 0 instructions", entry.bench, entry.commit));
        }
        if entries.is_empty() {
            return Err("it has no counts".into());
        }
        entries.sort_by_key(|entry| entry.time);
        Ok(Self { entries })
    }

    /// The commits, in the order of their times.
    pub(super) fn commits(&self) -> Vec<&str> {
        distinct(self.entries.iter().map(|entry| &*entry.commit))
    }

    /// The lines of the plot, one for each bench and instruction set. A line has one entry per commit: the latest, if
    /// the commit has several.
    fn lines(&self) -> Vec<Vec<&Entry>> {
        let identity = |entry: &Entry| (entry.bench.clone(), entry.isa.clone());
        let lines = distinct(self.entries.iter().map(identity)).into_iter().map(|key| {
            let mut line: Vec<&Entry> = Vec::new();
            for entry in self.entries.iter().filter(|entry| identity(entry) == key) {
                match line.iter_mut().find(|known| known.commit == entry.commit) {
                    Some(known) => *known = entry,
                    None => line.push(entry),
                }
            }
            line
        });
        lines.collect()
    }

    /// A line of the plot for each bench and instruction set: the change of the instructions since the first commit of
    /// the line, in per cent, against the index of the commit.
    pub(super) fn series(&self) -> Vec<Series> {
        let commits = self.commits();
        let lines = self.lines();
        let sets = distinct(lines.iter().map(|line| &*line[0].isa));
        let benches = distinct(lines.iter().map(|line| &*line[0].bench));
        let position = |all: &[&str], one: &str| all.iter().position(|each| *each == one);
        let series = lines.iter().map(|line| {
            let first = line[0];
            let point = |entry: &&Entry| {
                let index = position(&commits, &entry.commit)? as f64;
                Some((index, change(first.instructions as f64, entry.instructions as f64)))
            };
            let bench = position(&benches, &first.bench).unwrap_or(0);
            let set = position(&sets, &first.isa).unwrap_or(0);
            Series {
                label: format!("{}, {}", first.bench, first.isa),
                look: Look::ours(bench).in_stroke(set),
                points: line.iter().filter_map(point).collect(),
            }
        });
        series.collect()
    }

    /// A table of the latest counts of each bench, and of their changes since the first counts.
    pub(super) fn table(&self) -> Table {
        let shown = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
        let since = |first: Option<u64>, last: Option<u64>| {
            let pair = first.zip(last).filter(|(first, _)| *first > 0);
            pair.map_or_else(String::new, |(first, last)| {
                format!("{:+.2} %", change(first as f64, last as f64))
            })
        };
        let rows = self.lines().into_iter().map(|line| {
            let (first, last) = (line[0], line[line.len() - 1]);
            let mut cells = vec![first.bench.clone(), first.isa.clone()];
            cells.extend([first.commit.clone(), last.commit.clone()]);
            cells.push(last.time.format("%Y-%m-%d").to_string());
            for count in [
                |entry: &Entry| Some(entry.instructions),
                |entry: &Entry| entry.d1_misses,
                |entry: &Entry| entry.ll_misses,
            ] {
                cells.extend([shown(count(last)), since(count(first), count(last))]);
            }
            Line { cells, is_rival: false }
        });
        let header = [
            "bench",
            "isa",
            "first commit",
            "latest commit",
            "date",
            "instructions",
            "change since the first",
            "first-level misses",
            "change since the first",
            "last-level misses",
            "change since the first",
        ];
        Table {
            name: "history",
            title: "Counts at the latest commit of each bench".into(),
            header: header.map(Into::into).into(),
            rows: rows.collect(),
            words: 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "time,commit,bench,isa,instructions,d1_misses,ll_misses\n";

    fn parse(lines: &str) -> Result<Counts, String> {
        Counts::parse(format!("{HEADER}{lines}").as_bytes())
    }

    #[test]
    fn counts_are_sorted_by_time_and_compared_with_the_first() {
        let history = parse(
            "2026-02-01T10:00:00Z,bbb,contains/bloom,avx2,900,20,1\n\
             2026-01-01T10:00:00+01:00,aaa,contains/bloom,avx2,1000,10,\n\
             2026-02-01T10:00:00Z,bbb,contains/bloom,portable,50,,\n\
             2026-02-01T11:00:00Z,bbb,contains/bloom,avx2,1100,20,1\n",
        )
        .unwrap();
        assert_eq!(history.commits(), ["aaa", "bbb"]);
        let series = history.series();
        assert_eq!(series.len(), 2);
        assert_eq!(series[0].label, "contains/bloom, avx2");
        assert_eq!(series[0].points[0], (0.0, 0.0));
        // The later of the two counts of commit bbb is used.
        assert!((series[0].points[1].1 - 10.0).abs() < 1e-9);
        assert_eq!(series[1].points, [(1.0, 0.0)]);
        let table = history.table();
        let cells = &table.rows[0].cells;
        assert_eq!(cells[5..], ["1100", "+10.00 %", "20", "+100.00 %", "1", ""]);
        assert!(table.rows.iter().all(|line| line.cells.len() == table.header.len()));
    }

    #[test]
    fn malformed_histories_are_refused_with_a_message_of_one_line() {
        let good = "2026-01-01T10:00:00Z,aaa,b,avx2,1000,,\n";
        assert!(parse(good).is_ok());
        for bad in [
            "",
            "yesterday,aaa,b,avx2,1000,,\n",
            "2026-01-01,aaa,b,avx2,1000,,\n",
            "2026-01-01T10:00:00Z,aaa,b,avx2,-1,,\n",
            "2026-01-01T10:00:00Z,aaa,b,avx2,0,,\n",
            "2026-01-01T10:00:00Z,aaa,b,avx2,1e3,,\n",
            "2026-01-01T10:00:00Z,aaa,b,avx2,1000,\n",
            "2026-01-01T10:00:00Z,aaa,b,avx2,,,\n",
        ] {
            let why = parse(bad).unwrap_err();
            assert!(!why.contains('\n'), "{why}");
        }
        let missing = Counts::parse(b"time,commit\n2026-01-01T10:00:00Z,aaa\n").unwrap_err();
        assert!(missing.contains("no column bench"), "{missing}");
        assert!(Counts::parse(b"").is_err() && Counts::parse(b"\xff\xfe\n\n\0").is_err());
    }
}
