//! The goals of the project, and the table of the goals that a run does not reach.

use crate::analyse::rival::ratio;
use crate::base::table::{Line, Table};
use crate::model::{Api, Op, Row, Sizing, Workload, short_slots};
use crate::store::results::Results;
use std::fmt;

/// A goal: each of `filters` should reach `least` in an operation.
struct Goal {
    filters: &'static [&'static str],
    op: Op,
    /// The workload of lookups; `None` for other operations.
    workload: Option<Workload>,
    api: Api,
    sizes: Sizes,
    least: Least,
}

/// The cases that a goal covers.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    /// Filters of 12 bits per key with these numbers of keys.
    Keys(&'static [u64]),
    /// Filters with this number of slots of eight bits, at loads of `load` per cent or more.
    Slots { slots: usize, load: u32 },
    /// Bloom filters of 1 GiB.
    OneGib,
    /// The engine with two threads, with these numbers of keys.
    TwoThreads(&'static [u64]),
}

/// The quantity that a goal is about, and the smallest value that reaches the goal.
#[derive(Clone, Copy, Debug)]
enum Least {
    /// The speed divided by that of the rival.
    TimesRival(f64),
    /// The speed divided by that of one thread.
    TimesOneThread(f64),
    /// The share of the roofline.
    OfRoofline(f64),
}

const BLOCKED: &[&str] = &["split-block-bloom", "register-bloom", "cache-line-bloom"];
const QUOTIENT: &[&str] = &["quotient", "cache-line-quotient"];
const WITH_SLOTS: &[&str] = &["quotient", "cache-line-quotient", "cuckoo"];
const EVERY: &[&str] = &[
    "bloom",
    "split-block-bloom",
    "register-bloom",
    "cache-line-bloom",
    "quotient",
    "cache-line-quotient",
    "cuckoo",
];

const L2: Sizes = Sizes::Keys(&[100_000, 1_000_000]);
const MILLION: Sizes = Sizes::Keys(&[1_000_000]);
const ALL_KEYS: Sizes = Sizes::Keys(&[100_000, 1_000_000, 10_000_000]);
const TWO_THREADS: Sizes = Sizes::TwoThreads(&[1_000_000, 10_000_000]);
const SLOTS_2_20: Sizes = Sizes::Slots { slots: 1 << 20, load: 75 };
const SLOTS_2_24: Sizes = Sizes::Slots { slots: 1 << 24, load: 75 };
const FULL_2_20: Sizes = Sizes::Slots { slots: 1 << 20, load: 95 };
const FULL_2_24: Sizes = Sizes::Slots { slots: 1 << 24, load: 95 };

/// A goal for lookups of present or absent keys.
const fn lookups(
    filters: &'static [&'static str],
    workload: Workload,
    api: Api,
    sizes: Sizes,
    least: Least,
) -> Goal {
    Goal { workload: Some(workload), ..changes(filters, Op::Contains, api, sizes, least) }
}

/// A goal for an operation other than lookups.
const fn changes(
    filters: &'static [&'static str],
    op: Op,
    api: Api,
    sizes: Sizes,
    least: Least,
) -> Goal {
    Goal { filters, op, workload: None, api, sizes, least }
}

use Api::{Batch, Engine, Single};
use Least::{OfRoofline, TimesOneThread, TimesRival};
use Workload::{Hit, Miss};

const GOALS: &[Goal] = &[
    lookups(&["split-block-bloom"], Miss, Batch, MILLION, TimesRival(2.7)),
    lookups(&["split-block-bloom"], Hit, Batch, MILLION, TimesRival(2.7)),
    lookups(&["register-bloom"], Miss, Batch, MILLION, TimesRival(4.5)),
    lookups(&["register-bloom"], Hit, Batch, MILLION, TimesRival(4.5)),
    lookups(&["cache-line-bloom"], Miss, Batch, MILLION, TimesRival(2.5)),
    lookups(&["cache-line-bloom"], Hit, Batch, MILLION, TimesRival(2.5)),
    lookups(&["bloom"], Miss, Batch, MILLION, TimesRival(6.0)),
    lookups(&["bloom"], Hit, Batch, L2, TimesRival(2.0)),
    changes(&["split-block-bloom"], Op::Insert, Batch, MILLION, TimesRival(2.2)),
    changes(&["bloom"], Op::Insert, Batch, L2, TimesRival(1.5)),
    lookups(BLOCKED, Miss, Batch, Sizes::OneGib, OfRoofline(0.85)),
    lookups(BLOCKED, Hit, Batch, Sizes::OneGib, OfRoofline(0.85)),
    lookups(
        &["bloom", "split-block-bloom", "cache-line-bloom"],
        Miss,
        Single,
        ALL_KEYS,
        TimesRival(1.0),
    ),
    lookups(
        &["bloom", "split-block-bloom", "cache-line-bloom"],
        Hit,
        Single,
        ALL_KEYS,
        TimesRival(1.0),
    ),
    lookups(&["register-bloom"], Miss, Single, ALL_KEYS, TimesRival(1.3)),
    lookups(&["register-bloom"], Hit, Single, ALL_KEYS, TimesRival(1.3)),
    changes(
        &["bloom", "split-block-bloom", "cache-line-bloom"],
        Op::Insert,
        Single,
        ALL_KEYS,
        TimesRival(1.0),
    ),
    changes(&["register-bloom"], Op::Insert, Single, ALL_KEYS, TimesRival(1.3)),
    lookups(&["cache-line-quotient"], Miss, Batch, SLOTS_2_20, TimesRival(6.0)),
    lookups(&["quotient"], Miss, Batch, SLOTS_2_20, TimesRival(4.5)),
    lookups(QUOTIENT, Miss, Batch, SLOTS_2_24, TimesRival(4.5)),
    lookups(&["cuckoo"], Hit, Batch, SLOTS_2_20, TimesRival(8.0)),
    lookups(&["cuckoo"], Hit, Batch, SLOTS_2_24, TimesRival(4.0)),
    changes(QUOTIENT, Op::Insert, Batch, FULL_2_20, TimesRival(3.5)),
    changes(QUOTIENT, Op::Insert, Batch, FULL_2_24, TimesRival(3.5)),
    changes(&["cuckoo"], Op::Insert, Batch, FULL_2_20, TimesRival(5.0)),
    changes(&["cuckoo"], Op::Insert, Batch, FULL_2_24, TimesRival(5.0)),
    lookups(WITH_SLOTS, Miss, Single, SLOTS_2_20, TimesRival(1.5)),
    lookups(WITH_SLOTS, Hit, Single, SLOTS_2_20, TimesRival(1.5)),
    changes(WITH_SLOTS, Op::Insert, Single, SLOTS_2_20, TimesRival(1.5)),
    changes(WITH_SLOTS, Op::Remove, Single, SLOTS_2_20, TimesRival(1.5)),
    changes(EVERY, Op::Build, Engine, TWO_THREADS, TimesOneThread(1.7)),
    changes(EVERY, Op::Insert, Engine, TWO_THREADS, TimesOneThread(1.7)),
    lookups(EVERY, Miss, Engine, TWO_THREADS, TimesOneThread(1.7)),
    lookups(EVERY, Hit, Engine, TWO_THREADS, TimesOneThread(1.7)),
];

impl Goal {
    /// Whether a row counts for this goal.
    fn covers(&self, row: &Row) -> bool {
        let case = &row.case;
        !case.is_of_rival()
            && self.filters.contains(&&*case.filter)
            && (case.op, case.workload, case.calls.api) == (self.op, self.workload, self.api)
            && self.sizes.hold(row)
    }

    fn operation(&self) -> &'static str {
        match (self.op, self.workload, self.api) {
            (Op::Contains, Some(Workload::Miss), Single) => "single lookups of absent keys",
            (Op::Contains, Some(Workload::Miss), _) => "batched lookups of absent keys",
            (Op::Contains, _, Single) => "single lookups of present keys",
            (Op::Contains, _, _) => "batched lookups of present keys",
            (Op::Remove, ..) => "single removals",
            (Op::Build, ..) => "builds",
            (_, _, Single) => "single inserts",
            _ => "batched inserts",
        }
    }
}

impl Sizes {
    fn hold(self, row: &Row) -> bool {
        let case = &row.case;
        match self {
            Self::Keys(counts) => {
                case.is_plain() && case.size_name() == "12-bit" && counts.contains(&case.keys)
            }
            Self::Slots { slots, load } => case.filling().is_some_and(|filling| {
                (filling.slots, filling.bits) == (slots, 8)
                    && filling.load >= load
                    && case.kernels.is_none()
            }),
            Self::OneGib => case.is_plain() && case.sizing == Sizing::Bytes(1 << 30),
            Self::TwoThreads(counts) => {
                case.is_of_engine()
                    && case.threads == 2
                    && counts.contains(&case.keys)
                    && !case.is_skewed()
                    && !case.is_shared
                    && !matches!(case.sizing, Sizing::Bytes(_))
            }
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let powers = |counts: &[u64]| {
            let counts: Vec<String> = counts.iter().map(|count| format!("{count:e}")).collect();
            counts.join(", ")
        };
        match self {
            Self::Keys(counts) => write!(f, "{} keys", powers(counts)),
            Self::Slots { slots, load: 95 } => write!(f, "{} slots, 95 %", short_slots(*slots)),
            Self::Slots { slots, load } => {
                write!(f, "{} slots, {load} to 95 %", short_slots(*slots))
            }
            Self::OneGib => f.write_str("1 GiB"),
            Self::TwoThreads(counts) => write!(f, "two threads, {} keys", powers(counts)),
        }
    }
}

impl Least {
    fn figure(self) -> f64 {
        match self {
            TimesRival(least) | TimesOneThread(least) | OfRoofline(least) => least,
        }
    }

    fn of(self, row: &Row, rows: &[Row]) -> Option<f64> {
        match self {
            TimesRival(_) => ratio(row, rows),
            TimesOneThread(_) => row.speedup,
            OfRoofline(_) => row.roofline_fraction,
        }
    }
}

impl fmt::Display for Least {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self {
            TimesRival(_) => "× rival",
            TimesOneThread(_) => "× one thread",
            OfRoofline(_) => "of roofline",
        };
        write!(f, "{:.2} {unit}", self.figure())
    }
}

/// Formats a measured figure with two decimals. A figure that is below the goal, but would look equal to the goal, is
/// rounded down to three decimals instead.
fn shown(figure: f64, goal: f64) -> String {
    let two = format!("{figure:.2}");
    if figure < goal && two == format!("{goal:.2}") {
        format!("{:.3}", (figure * 1e3).floor() / 1e3)
    } else {
        two
    }
}

/// Creates the table. It has a line for a filter and a goal if at least one row of the filter is below the goal.
pub(super) fn table(results: &Results) -> Table {
    let mut measured = 0;
    let mut rows = Vec::new();
    for goal in GOALS {
        for filter in goal.filters {
            let of_filter = results.rows.iter().filter(|row| row.case.filter == *filter);
            let figures: Vec<f64> = of_filter
                .filter(|row| goal.covers(row))
                .filter_map(|row| goal.least.of(row, &results.rows))
                .collect();
            if figures.is_empty() {
                continue;
            }
            measured += 1;
            let held = figures.iter().filter(|figure| **figure >= goal.least.figure()).count();
            if held == figures.len() {
                continue;
            }
            let lowest = figures.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = figures.iter().copied().fold(0.0, f64::max);
            let cells = vec![
                (*filter).to_owned(),
                goal.operation().to_owned(),
                goal.sizes.to_string(),
                goal.least.to_string(),
                shown(lowest, goal.least.figure()),
                shown(highest, goal.least.figure()),
                format!("{held} of {}", figures.len()),
            ];
            rows.push(Line { cells, is_rival: false });
        }
    }
    let header = ["filter", "operation", "where", "goal", "worst", "best", "reached"];
    Table {
        name: "goals",
        title: format!("Goals that this run misses in some row: {} of {measured}", rows.len()),
        header: header.map(Into::into).into(),
        rows,
        words: 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;

    fn results(rows: impl IntoIterator<Item = Row>) -> Results {
        let mut results = Results::new(Environment::observe(None));
        rows.into_iter().for_each(|row| results.put(row));
        results
    }

    fn of(filter: &str, size: &str, rival: Option<&str>, ns: f64) -> Row {
        example(filter, size, rival, ns).with(|case| case.keys = 1_000_000)
    }

    #[test]
    fn a_goal_that_is_missed_has_a_line_and_one_that_is_reached_has_none() {
        let rival = || of("split-block-bloom", "12-bit", Some("sbbf-rs-safe"), 3.0);
        let at = |ns| table(&results([of("split-block-bloom", "12-bit", None, ns), rival()]));
        assert_eq!(at(1.0).rows, []);
        assert_eq!(at(1.0).title, "Goals that this run misses in some row: 0 of 1");
        let [line] = &at(1.5).rows[..] else { panic!("one line") };
        assert_eq!(
            line.cells[..3],
            ["split-block-bloom", "batched lookups of absent keys", "1e6 keys"]
        );
        assert_eq!(line.cells[3..], ["2.70 × rival", "2.00", "2.00", "0 of 1"]);
    }

    #[test]
    fn a_figure_just_below_its_goal_does_not_look_like_it() {
        let shown = [1.4996, 1.4962, 1.4949, 1.5, 1.5021].map(|figure| shown(figure, 1.5));
        assert_eq!(shown, ["1.499", "1.496", "1.49", "1.50", "1.50"]);
    }

    #[test]
    fn rows_at_several_loads_count_separately() {
        let ours = ["r8-75%-of-1Mi", "r8-95%-of-1Mi"];
        let rows = ours.into_iter().zip([2.0, 4.0]).flat_map(|(size, ns)| {
            [example("quotient", size, None, ns), example("quotient", size, Some("qfilter"), 10.0)]
        });
        let table = table(&results(rows));
        let [line] = &table.rows[..] else { panic!("one line: {table:?}") };
        assert_eq!(
            line.cells[2..],
            ["1Mi slots, 75 to 95 %", "4.50 × rival", "2.50", "5.00", "1 of 2"]
        );
    }

    #[test]
    fn two_threads_are_compared_with_one() {
        let build = |speedup| {
            let row = of("bloom", "12-bit+wall", None, 2.0).with(|case| {
                (case.op, case.workload, case.threads) = (Op::Build, None, 2);
                case.calls = crate::model::Calls::by(Api::Engine);
            });
            Row { speedup: Some(speedup), ..row }
        };
        assert_eq!(table(&results([build(1.8)])).rows, []);
        assert_eq!(table(&results([build(1.2)])).rows[0].cells[4], "1.20");
    }
}
