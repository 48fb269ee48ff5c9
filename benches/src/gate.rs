//! Compares counted instructions with the committed counts, and tells which benches take more instructions, take fewer,
//! are new, or are missing. Also makes the text of the CSV file of committed counts, and the rows that a run appends to
//! the *history*, a CSV file with the counts of several runs.

use std::fmt::Write as _;

/// The counts of one bench on one instruction set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The name of the bench, for example `contains_batch/split-block-bloom`.
    pub bench: String,
    /// The instruction set.
    pub isa: String,
    /// The instructions of all operations of the bench.
    pub instructions: u64,
    /// Misses of the first-level data cache and of the last-level cache; `None` if caches were not simulated.
    pub misses: Option<(u64, u64)>,
}

/// The committed counts, and the compiler that they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The compiler, its target and its flags. Another compiler makes different code.
    pub compiler: String,
    counts: Vec<(String, String, u64)>,
}

/// A count that is higher than the committed one by more than this percentage is a regression.
pub const TOLERATED_PER_CENT: u64 = 2;

const COMPILER: &str = "# ";
const HEADER: &str = "bench,isa,instructions";

impl Limits {
    /// Reads the text of the committed file.
    ///
    /// # Errors
    ///
    /// A description of the first line whose format is not that of [`Limits::write`].
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let compiler = lines.next().and_then(|line| line.strip_prefix(COMPILER));
        let compiler = compiler.ok_or("the first line does not name the compiler")?.to_owned();
        if lines.next() != Some(HEADER) {
            return Err(format!("the second line is not {HEADER:?}"));
        }
        let mut counts = Vec::new();
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            let [bench, isa, instructions] = cells[..] else {
                return Err(format!("{line:?} does not have three cells"));
            };
            let instructions =
                instructions.parse().map_err(|_| format!("{line:?}: not a number"))?;
            counts.push((bench.to_owned(), isa.to_owned(), instructions));
        }
        Ok(Self { compiler, counts })
    }

    /// Returns the text of the file with these counts.
    #[must_use]
    pub fn write(compiler: &str, counts: &[Count]) -> String {
        let mut text = format!("{COMPILER}{compiler}\n{HEADER}\n");
        for Count { bench, isa, instructions, .. } in counts {
            let _ = writeln!(text, "{bench},{isa},{instructions}");
        }
        text
    }

    fn count_of(&self, bench: &str, isa: &str) -> Option<u64> {
        let is_it = |entry: &&(String, String, u64)| entry.0 == bench && entry.1 == isa;
        self.counts.iter().find(is_it).map(|entry| entry.2)
    }
}

/// How a count compares with the committed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal, or with a tolerated difference.
    Same,
    /// Lower by more than the tolerated difference. The new count should be committed, so that later increases are
    /// noticed.
    Fewer,
    /// Higher by more than the tolerated difference: a regression.
    More,
    /// No count is committed.
    New,
    /// A count is committed, but the bench was not counted.
    Gone,
}

/// One bench in the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    bench: String,
    isa: String,
    committed: Option<u64>,
    counted: Option<u64>,
    /// The result of the comparison.
    pub verdict: Verdict,
}

/// Compares `counts` with the committed counts, `limits`. The result has a line for each bench that was counted, and
/// for each bench that was not counted although a count for one of the instruction sets `isas` is committed.
#[must_use]
pub fn compare(limits: &Limits, counts: &[Count], isas: &[&str]) -> Vec<Line> {
    let mut lines: Vec<Line> = counts
        .iter()
        .map(|Count { bench, isa, instructions, .. }| {
            let committed = limits.count_of(bench, isa);
            let verdict = match committed.map(u128::from) {
                None => Verdict::New,
                Some(limit) => {
                    let (hundredths, tolerated) =
                        (u128::from(*instructions) * 100, u128::from(TOLERATED_PER_CENT));
                    if hundredths > limit * (100 + tolerated) {
                        Verdict::More
                    } else if hundredths < limit * (100 - tolerated) {
                        Verdict::Fewer
                    } else {
                        Verdict::Same
                    }
                }
            };
            let (bench, isa) = (bench.clone(), isa.clone());
            Line { bench, isa, committed, counted: Some(*instructions), verdict }
        })
        .collect();
    for (bench, isa, committed) in &limits.counts {
        let is_counted = counts.iter().any(|count| count.bench == *bench && count.isa == *isa);
        if !is_counted && isas.contains(&&**isa) {
            lines.push(Line {
                bench: bench.clone(),
                isa: isa.clone(),
                committed: Some(*committed),
                counted: None,
                verdict: Verdict::Gone,
            });
        }
    }
    lines
}

/// The comparison as a table.
#[must_use]
pub fn table(lines: &[Line]) -> String {
    let mut text = format!(
        "{:<36} {:<9} {:>12} {:>12} {:>8}\n",
        "bench", "isa", "committed", "counted", "change"
    );
    for Line { bench, isa, committed, counted, verdict } in lines {
        let number = |count: &Option<u64>| count.map_or("-".into(), |count| count.to_string());
        let change = committed.zip(*counted).map_or("-".into(), |(committed, counted)| {
            let per_cent = (counted as f64 / committed.max(1) as f64 - 1.0) * 100.0;
            // Avoids "-0.00".
            format!("{:+.2} %", if per_cent.abs() < 0.005 { 0.0 } else { per_cent })
        });
        let remark = match verdict {
            Verdict::Same => "",
            Verdict::Fewer => "  fewer",
            Verdict::More => "  MORE",
            Verdict::New => "  not committed",
            Verdict::Gone => "  not counted",
        };
        let (committed, counted) = (number(committed), number(counted));
        let _ = writeln!(
            text,
            "{bench:<36} {isa:<9} {committed:>12} {counted:>12} {change:>8}{remark}"
        );
    }
    text
}

/// The header line of a history, which names its columns.
pub const HISTORY_HEADER: &str = "time,commit,bench,isa,instructions,d1_misses,ll_misses";

/// The rows that the counts of a commit add to a history. `time` is the time at which the counts were made. The cells
/// of misses are blank if caches were not simulated.
#[must_use]
pub fn history(time: &str, commit: &str, counts: &[Count]) -> String {
    let mut text = String::new();
    for Count { bench, isa, instructions, misses } in counts {
        let [d1, ll] = misses
            .map_or([const { String::new() }; 2], |(d1, ll)| [d1.to_string(), ll.to_string()]);
        let _ = writeln!(text, "{time},{commit},{bench},{isa},{instructions},{d1},{ll}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(bench: &str, isa: &str, instructions: u64) -> Count {
        Count { bench: bench.into(), isa: isa.into(), instructions, misses: None }
    }

    #[test]
    fn only_more_than_two_per_cent_more_instructions_are_a_regression() {
        let committed = [count("a", "avx2", 1000), count("b", "avx2", 0)];
        let limits = Limits::parse(&Limits::write("rustc 1", &committed)).unwrap();
        let verdict = |instructions| {
            compare(&limits, &[count("a", "avx2", instructions), committed[1].clone()], &["avx2"])
                [0]
            .verdict
        };
        assert_eq!([verdict(1000), verdict(1020), verdict(980)], [Verdict::Same; 3]);
        assert_eq!([verdict(1021), verdict(u64::MAX)], [Verdict::More; 2]);
        assert_eq!([verdict(979), verdict(0)], [Verdict::Fewer; 2]);
        let all = compare(&limits, &committed, &["avx2"]);
        assert!(all.iter().all(|line| line.verdict == Verdict::Same));
    }

    #[test]
    fn added_and_removed_benches_are_reported() {
        let limits = Limits::parse(&Limits::write(
            "rustc 1",
            &[count("gone", "avx2", 1), count("gone", "portable", 1)],
        ));
        let lines = compare(&limits.unwrap(), &[count("new", "portable", 1)], &["portable"]);
        let seen: Vec<(&str, Verdict)> =
            lines.iter().map(|line| (&*line.bench, line.verdict)).collect();
        // The bench for AVX2 is not reported, since the instruction sets passed to `compare` lack AVX2.
        assert_eq!(seen, [("new", Verdict::New), ("gone", Verdict::Gone)]);
    }

    #[test]
    fn the_committed_file_is_read_as_it_was_written_and_malformed_files_are_refused() {
        let counts = [count("contains/bloom", "avx2", 123)];
        let text = Limits::write("rustc 1.2.3 here", &counts);
        assert_eq!(text, "# rustc 1.2.3 here\nbench,isa,instructions\ncontains/bloom,avx2,123\n");
        let limits = Limits::parse(&text).unwrap();
        assert_eq!(
            (&*limits.compiler, limits.count_of("contains/bloom", "avx2")),
            ("rustc 1.2.3 here", Some(123))
        );
        for bad in [
            "",
            "bench,isa,instructions\n",
            "# c\nisa\n",
            "# c\nbench,isa,instructions\na,b\n",
            "# c\nbench,isa,instructions\na,b,-1\n",
        ] {
            assert!(Limits::parse(bad).is_err(), "this malformed file was accepted: {bad:?}");
        }
    }

    #[test]
    fn a_history_has_blank_misses_where_they_are_unknown() {
        let with = Count { misses: Some((5, 0)), ..count("a", "avx2", 7) };
        let rows = history("2026-01-01T00:00:00Z", "0123abc", &[with, count("b", "avx2", 8)]);
        assert_eq!(
            rows,
            "2026-01-01T00:00:00Z,0123abc,a,avx2,7,5,0\n2026-01-01T00:00:00Z,0123abc,b,avx2,8,,\n"
        );
        let columns = |row: &str| row.split(',').count();
        assert!(rows.lines().all(|row| columns(row) == columns(HISTORY_HEADER)));
    }
}
