//! The first table of a report: one line per kind, for a small and for a large number of keys. Also the headline of a
//! run, a line of text about the fastest lookups of our filters in that run.

use crate::analyse::rival::{ratio, rival_of};
use crate::base::format::{distinct, figure, per_cent, short_count};
use crate::base::table::{Line, Table};
use crate::model::{Op, Row, Workload};
use crate::store::results::Results;

/// The two numbers of keys that the table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    /// The largest number of keys with which at least one filter fits into the L2 cache; if no filter fits, the
    /// smallest number of keys.
    small: u64,
    /// The largest number of keys.
    large: u64,
}

impl Sizes {
    /// Returns the sizes of a run; `None` if it measured no lookups of ours.
    fn of(rows: &[&Row]) -> Option<Self> {
        let fits_l2 = |row: &&&Row| matches!(row.regime.as_deref(), Some("L1" | "L2"));
        let keys = |row: &&Row| row.case.keys;
        let small = rows.iter().filter(fits_l2).map(keys).max();
        let small = small.or_else(|| rows.iter().map(keys).min())?;
        Some(Self { small, large: rows.iter().map(keys).max()? })
    }

    fn all(self) -> Vec<u64> {
        if self.small == self.large { vec![self.small] } else { vec![self.small, self.large] }
    }
}

fn is_shown(row: &&Row) -> bool {
    row.case.is_plain_batch_of_ours()
}

fn is_lookup(row: &&&Row) -> bool {
    row.case.is_lookup(Workload::Miss) || row.case.is_lookup(Workload::Hit)
}

/// Creates the table. If a kind was measured with several sizings, such as `12-bit` and `fpr-1%`, its line shows only
/// the first of them.
pub(crate) fn table(results: &Results) -> Table {
    let rows: Vec<&Row> = results.rows.iter().filter(is_shown).collect();
    let lookups: Vec<&Row> = rows.iter().filter(is_lookup).copied().collect();
    let sizes = Sizes::of(&lookups).map_or_else(Vec::new, Sizes::all);
    let lines = distinct(lookups.iter().map(|row| &*row.case.filter)).into_iter().map(|kind| {
        let of_kind = || rows.iter().filter(|row| row.case.filter == kind);
        let sizing = of_kind().next().map(|row| row.case.sizing);
        let at = |keys: u64, is_it: &dyn Fn(&Row) -> bool| {
            of_kind()
                .find(|row| row.case.keys == keys && Some(row.case.sizing) == sizing && is_it(row))
                .copied()
        };
        let cell = |is_it: &dyn Fn(&Row) -> bool, show: &dyn Fn(&Row) -> Option<String>| {
            let shown = sizes.iter().map(|keys| at(*keys, is_it).and_then(show));
            let shown: Vec<Option<String>> = shown.collect();
            if shown.iter().all(Option::is_none) {
                return String::new();
            }
            let shown = shown.into_iter().map(|cell| cell.unwrap_or_else(|| "–".into()));
            shown.collect::<Vec<_>>().join(" / ")
        };
        let (absent, present) = (
            |row: &Row| row.case.is_lookup(Workload::Miss),
            |row: &Row| row.case.is_lookup(Workload::Hit),
        );
        let insert = |row: &Row| row.case.op == Op::Insert;
        let speed = |row: &Row| Some(figure(row.mops));
        let times_rival = |row: &Row| ratio(row, &results.rows).map(|ratio| format!("{ratio:.1}"));
        let any = of_kind().find(|row| row.case.keys == sizes[0]);
        let cells = vec![
            kind.to_owned(),
            any.map_or_else(String::new, |row| format!("{:.1}", row.bits_per_key)),
            any.and_then(|row| row.fpr_measured).map_or_else(String::new, per_cent),
            cell(&absent, &speed),
            cell(&present, &speed),
            cell(&insert, &speed),
            cell(&absent, &times_rival),
        ];
        Line { cells, is_rival: false }
    });
    let header =
        ["filter", "bits/key", "FPR", "absent, M/s", "present, M/s", "insert, M/s", "× rival"];
    let rows = lines.collect();
    Table {
        name: "summary",
        title: title(&lookups, &sizes),
        header: header.map(Into::into).into(),
        rows,
        words: 1,
    }
}

/// Returns the title, which explains the figures and names the sizes.
fn title(lookups: &[&Row], sizes: &[u64]) -> String {
    let size = |keys: &u64| {
        let regimes = lookups.iter().filter(|row| row.case.keys == *keys);
        let regimes = distinct(regimes.filter_map(|row| row.regime.as_deref()));
        format!("{} keys (filters in {})", short_count(*keys), regimes.join(" or "))
    };
    let sizes: Vec<String> = sizes.iter().map(size).collect();
    format!(
        "Million keys per second in batches on one core, at {}; × rival: how many times the speed of the usual \
         alternative crate, for absent keys",
        sizes.join(" / ")
    )
}

/// Describes the fastest lookups of ours in one line. `None` if there are no lookups of ours.
pub(crate) fn headline(results: &Results) -> Option<String> {
    let lookups = results.rows.iter().filter(is_shown).filter(|row| is_lookup(&row));
    let row = lookups.max_by(|a, b| a.mops.total_cmp(&b.mops))?;
    let of_rival = rival_of(row, &results.rows).map(|rival| {
        format!(
            ", {:.1} times as many as {}",
            rival.ns_per_op / row.ns_per_op,
            rival.case.subject()
        )
    });
    let of_roofline = row.roofline_fraction.map(|share| {
        format!(
            ", reading {share:.1} times as many cache lines per second as random reads do at this size"
        )
    });
    Some(format!(
        "{} of {} keys: {} M lookups/s{}{}",
        row.case.filter,
        short_count(row.case.keys),
        figure(row.mops),
        of_rival.unwrap_or_default(),
        of_roofline.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;

    fn results() -> Results {
        let mut results = Results::new(Environment::observe(None));
        let mut put = |row: Row| results.put(row);
        let large = |row: Row| {
            let row = row.with(|case| case.keys = 10_000_000);
            Row { regime: Some("LLC".into()), ..row }
        };
        put(example("split-block-bloom", "12-bit", None, 1.0));
        put(example("split-block-bloom", "12-bit", Some("sbbf-rs-safe"), 3.0));
        put(example("split-block-bloom", "12-bit", None, 2.0)
            .with(|case| case.workload = Some(Workload::Hit)));
        put(example("split-block-bloom", "12-bit", None, 5.0)
            .with(|case| (case.op, case.workload) = (Op::Insert, None)));
        put(large(example("split-block-bloom", "12-bit", None, 4.0)));
        put(large(example("split-block-bloom", "12-bit", Some("sbbf-rs-safe"), 20.0)));
        put(example("bloom", "12-bit", None, 10.0));
        put(example("bloom", "fpr-1%", None, 8.0));
        results
    }

    #[test]
    fn a_line_shows_a_kind_at_a_small_and_at_a_large_size() {
        let table = table(&results());
        assert!(table.title.contains("1e6 keys (filters in L2) / 1e7 keys (filters in LLC)"));
        assert_eq!(table.header.len(), 7);
        let cells: Vec<String> = table.rows.iter().map(|line| line.cells.join("|")).collect();
        assert_eq!(
            cells,
            [
                "split-block-bloom|12.0|0.550 %|1000 / 250|500 / –|200 / –|3.0 / 5.0",
                "bloom|12.0|0.550 %|100 / –|||",
            ]
        );
    }

    #[test]
    fn a_run_of_one_size_has_single_figures() {
        let mut results = Results::new(Environment::observe(None));
        results.put(example("bloom", "12-bit", None, 10.0));
        assert_eq!(table(&results).rows[0].cells[3], "100");
        assert!(table(&Results::new(Environment::observe(None))).rows.is_empty());
    }

    #[test]
    fn the_headline_names_the_fastest_filter_and_its_rival() {
        assert_eq!(
            headline(&results()).unwrap(),
            "split-block-bloom of 1e6 keys: 1000 M lookups/s, 3.0 times as many as sbbf-rs-safe, reading 1.0 times as \
             many cache lines per second as random reads do at this size"
        );
        assert_eq!(headline(&Results::new(Environment::observe(None))), None);
    }
}
