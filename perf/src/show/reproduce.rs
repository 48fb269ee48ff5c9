//! Writes the command that measures a row again.

use crate::measure::effort::Effort;
use crate::measure::environment::Environment;
use crate::model::{Api, Calls, Case, Row, Sizing};

/// Filters with this number of slots or more are measured only by full runs and by runs with `--cases`, as are filters
/// with a fixed number of bytes.
const SLOTS_OF_FULL: usize = 1 << 27;
/// The name of the input whose keys come from a user's own files.
const OWN_FILES: &str = "file";

/// Returns the command line for a shell. The option `-f` matches only the row's case, and `measure` adds the rivals of
/// this case. Rows of the engine are measured in groups, so the option `-f` of such a row selects its whole group. A
/// row of the matrix is selected by its name alone, since a run with `--keys` leaves the matrix out. A run does not
/// record the paths of a user's own keys, so `KEYS` and `PROBES` are placeholders for them. If the row's size occurs
/// only in a user's file of cases, the command selects nothing, since the path of that file is not recorded either.
pub(crate) fn command(row: &Row, environment: &Environment) -> String {
    let mut words: Vec<String> =
        ["cargo run --release -p trommel-perf -- measure"].map(Into::into).into();
    if is_of_full(row) {
        words.push("--full".into());
    } else if row.absent_keys == Some(Effort::QUICK.absent as u64) {
        words.push("--quick".into());
    }
    words.extend(selection(&row.case));
    words.push(format!("-f {}", quoted(&filter(&row.case))));
    if let Some(isa) = forced_isa(environment) {
        words.push(format!("--isa {isa}"));
    }
    words.join(" ")
}

/// Whether the filter has a fixed number of bytes.
fn has_fixed_bytes(case: &Case) -> bool {
    matches!(case.sizing, Sizing::Bytes(_))
}

/// Whether only a run with `--full` measures the row again as it was measured before.
fn is_of_full(row: &Row) -> bool {
    has_fixed_bytes(&row.case)
        || row.case.filling().is_some_and(|filling| filling.slots >= SLOTS_OF_FULL)
        || row.case.input_name() == Some("tpch-1")
        || row.absent_keys == Some(Effort::FULL.absent as u64)
}

/// Returns the options that select the case's keys, load, threads or files.
fn selection(case: &Case) -> Option<String> {
    if let Some(filling) = case.filling() {
        return Some(format!("--load {}", filling.load));
    }
    let is_selected_by_keys = !has_fixed_bytes(case) && case.matrix.is_none();
    let keys = is_selected_by_keys.then(|| format!("--keys {:e}", case.keys));
    if case.is_of_engine() {
        let threads = if case.threads > 1 { format!("1,{}", case.threads) } else { "1".into() };
        let keys = keys.map_or_else(String::new, |keys| format!(" {keys}"));
        return Some(format!("--threads {threads}{keys}"));
    }
    match case.input_name() {
        Some(OWN_FILES) => Some("--keys-file KEYS --probes-file PROBES".into()),
        Some(_) => None,
        None => keys,
    }
}

/// Returns a regular expression that matches only the case. For a case in one of the engine's groups, it matches the
/// engine's own case of that group instead.
fn filter(case: &Case) -> String {
    if case.is_of_engine() {
        // An option `-f` that matches the engine's case selects the whole group.
        let of_engine =
            Case { rival: None, takes_size: false, calls: Calls::by(Api::Engine), ..case.clone() };
        return exactly(&of_engine.name());
    }
    match case.input_name() {
        // A run knows the number of keys only after it has generated them, so the expression matches any number.
        Some(input) if input != OWN_FILES => {
            let number = escaped(&format!("/{:e}/", case.keys));
            exactly(&case.name()).replacen(&number, "/[^/]+/", 1)
        }
        _ => exactly(&case.name()),
    }
}

/// Returns a regular expression that matches only `name`.
fn exactly(name: &str) -> String {
    format!("^{}$", escaped(name))
}

/// Escapes a name for a regular expression. Outside of brackets, a hyphen needs no escape.
fn escaped(name: &str) -> String {
    regex::escape(name).replace("\\-", "-")
}

/// Quotes a word so that a shell does not change it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the instruction set that the user requested for the run, if any.
fn forced_isa(environment: &Environment) -> Option<&str> {
    environment.get("isa").split_once(", as asked").map(|(isa, _)| isa)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use crate::measure::environment::Caches;
    use crate::measure::plan::{Selection, every_point, points_of};
    use crate::model::example;
    use clap::Parser as _;

    fn command_of(row: &Row) -> String {
        let command = command(row, &Environment::observe(None));
        command.strip_prefix("cargo run --release -p trommel-perf -- ").unwrap().to_owned()
    }

    /// Returns the selection that the printed command of a case makes.
    fn selection_of(case: &Case) -> Selection {
        let row = example("bloom", "12-bit", None, 2.0).with(|it| *it = case.clone());
        let command = command_of(&row);
        let words = command.split(' ').map(|word| word.trim_matches('\''));
        match Cli::parse_from(["trommel-perf"].into_iter().chain(words)).verb {
            Some(Verb::Measure(arguments)) => arguments.selection,
            _ => panic!("{command}"),
        }
    }

    #[test]
    fn commands_for_rows_of_the_matrix_select_one_case() {
        let caches = Caches { l1d: Some(48 << 10), l2: Some(2 << 20), l3: Some(30 << 20) };
        for (_, point) in every_point(&caches) {
            for planned in point.groups.iter().flat_map(|group| group.cases(&point.specs)) {
                let selection = Selection { no_rivals: true, ..selection_of(&planned.case) };
                let mut names = Vec::new();
                for point in points_of(&selection, &caches) {
                    let cases = point.groups.iter().map(|group| group.cases(&point.specs));
                    let chosen = cases.flat_map(|cases| selection.choose(cases));
                    names.extend(chosen.map(|planned| planned.name));
                }
                assert_eq!(names, [planned.name]);
            }
        }
    }

    #[test]
    fn commands_for_rows_of_the_engine_select_one_group() {
        let threads = [1, 2];
        let all = Selection { full: true, threads: Some(threads.into()), ..Selection::default() };
        for group in all.engine_groups() {
            for runner in group.runners(&threads) {
                let selected = selection_of(&group.case(runner)).engine_groups();
                assert_eq!(selected, [group], "{}", group.case_name(runner));
            }
        }
    }

    #[test]
    fn commands_select_one_case() {
        let plain = example("split-block-bloom", "12-bit", None, 2.0);
        assert_eq!(
            command_of(&plain),
            "measure --quick --keys 1e6 -f '^contains/miss/1e6/split-block-bloom/12-bit/batch$'"
        );
        let rival = example("bloom", "fpr-1%+hash", Some("fastbloom"), 2.0);
        assert_eq!(
            command_of(&rival),
            "measure --quick --keys 1e6 -f '^contains/miss/1e6/fastbloom/fpr-1%\\+hash/single$'"
        );
        let swept = example("quotient", "r8-95%-of-128Mi", None, 2.0);
        assert!(command_of(&swept).starts_with("measure --full --load 95 -f '^contains/"));
        let tpch = example("bloom", "tpch-0.1/fpr-1%", None, 2.0);
        assert_eq!(
            command_of(&tpch),
            "measure --quick -f '^contains/miss/[^/]+/bloom/tpch-0\\.1/fpr-1%/batch$'"
        );
        let own = example("bloom", "file/fpr-1%", None, 2.0);
        assert!(command_of(&own).contains("--keys-file KEYS --probes-file PROBES"));
    }

    #[test]
    fn commands_for_rows_of_the_engine_select_its_case_in_their_group() {
        let variant = "as-register-bloom-12-bit+wall";
        let rival = example("register-bloom", variant, Some("sbbf-rs-safe"), 2.0);
        let rival = rival.with(|case| (case.threads, case.calls.api) = (2, Api::Sharded));
        assert_eq!(
            command_of(&rival),
            "measure --quick --threads 1,2 --keys 1e6 \
             -f '^contains/miss/1e6/register-bloom/12-bit\\+wall/engine/2-threads$'"
        );
    }

    #[test]
    fn quotes_are_escaped_for_a_shell() {
        assert_eq!(quoted("a'b"), "'a'\\''b'");
    }
}
