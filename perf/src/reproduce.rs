//! The command that measures a row again.

use crate::effort::Effort;
use crate::environment::Environment;
use crate::row::{Row, WALL_SUFFIX, case_name_on};

/// Slots and bytes that only a full run has.
const SLOTS_OF_FULL: usize = 1 << 27;
const SIZE_OF_FULL: &str = "1024-MiB";
/// The name of the input of a user's own files.
const OWN_FILES: &str = "file";

/// The command line, for a shell. Its `--filter` selects that case alone, which `list` shows; rows of the
/// engine are measured by group, so theirs selects the group. Its rivals come along.
/// The paths of a user's own keys are not known to a run: `KEYS` and `PROBES` stand for them.
pub(crate) fn command(row: &Row, environment: &Environment) -> String {
    let mut words: Vec<String> =
        ["cargo run --release -p trommel-perf -- measure"].map(Into::into).into();
    if is_of_full(row) {
        words.push("--full".into());
    } else if row.absent_keys == Some(Effort::QUICK.absent as u64) {
        words.push("--quick".into());
    }
    words.extend(place(row));
    words.push(format!("-f {}", quoted(&filter(row))));
    if let Some(isa) = forced_isa(environment) {
        words.push(format!("--isa {isa}"));
    }
    words.join(" ")
}

/// Whether the row was measured as `--full` does.
fn is_of_full(row: &Row) -> bool {
    row.sizing().starts_with(SIZE_OF_FULL)
        || row.filling().is_some_and(|filling| filling.slots >= SLOTS_OF_FULL)
        || row.input().is_some_and(|input| input == "tpch-1")
        || row.absent_keys == Some(Effort::FULL.absent as u64)
}

/// What selects the keys, the load, the threads or the files.
fn place(row: &Row) -> Option<String> {
    if let Some(filling) = row.filling() {
        return Some(format!("--load {}", filling.load));
    }
    if row.is_of_engine() {
        let threads = if row.threads > 1 { format!("1,{}", row.threads) } else { "1".into() };
        let keys = format!(" --keys {:e}", row.keys);
        let keys = if row.sizing().starts_with(SIZE_OF_FULL) { "" } else { &keys };
        return Some(format!("--threads {threads}{keys}"));
    }
    match row.input() {
        Some(OWN_FILES) => Some("--keys-file KEYS --probes-file PROBES".into()),
        Some(_) => None,
        None if row.sizing() == SIZE_OF_FULL => None,
        None => Some(format!("--keys {:e}", row.keys)),
    }
}

/// A regular expression that one name matches.
fn filter(row: &Row) -> String {
    if row.is_of_engine() {
        return exactly(&name_of_engine(row));
    }
    let name = row.name();
    match row.input() {
        // Its keys are counted when they are generated: `list` does not know how many there are.
        Some(input) if input != OWN_FILES => {
            let mut parts = name.splitn(4, '/');
            let [op, workload, _, rest] = [(); 4].map(|()| parts.next().unwrap_or_default());
            format!("^{}/[^/]+/{}$", escaped(&format!("{op}/{workload}")), escaped(rest))
        }
        _ => exactly(&name),
    }
}

/// The engine's case of a row's group: what a filter has to name for the group to be measured.
fn name_of_engine(row: &Row) -> String {
    let lent = format!("as-{}-", row.filter);
    let variant =
        format!("{}{WALL_SUFFIX}", row.sizing().strip_prefix(&lent).unwrap_or(row.sizing()));
    let workload = row.workload.as_deref();
    case_name_on(&row.op, workload, row.keys, &row.filter, &variant, "engine", row.threads)
}

fn exactly(name: &str) -> String {
    format!("^{}$", escaped(name))
}

/// A name as a part of a regular expression. Outside of brackets a hyphen is a letter like others.
fn escaped(name: &str) -> String {
    regex::escape(name).replace("\\-", "-")
}

/// A word between quotes that a shell leaves as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The instruction set that a run was asked for.
fn forced_isa(environment: &Environment) -> Option<&str> {
    environment.get("isa").split_once(", as asked").map(|(isa, _)| isa)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::example;

    fn command_of(row: &Row) -> String {
        let command = command(row, &Environment::observe(None));
        command.strip_prefix("cargo run --release -p trommel-perf -- ").unwrap().to_owned()
    }

    #[test]
    fn commands_name_one_case() {
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
        let joined = example("bloom", "tpch-0.1/fpr-1%", None, 2.0);
        assert_eq!(
            command_of(&joined),
            "measure --quick -f '^contains/miss/[^/]+/bloom/tpch-0\\.1/fpr-1%/batch$'"
        );
        let own = example("bloom", "file/fpr-1%", None, 2.0);
        assert!(command_of(&own).contains("--keys-file KEYS --probes-file PROBES"));
    }

    #[test]
    fn rows_of_the_engine_name_its_case_in_their_group() {
        let lent = "as-register-bloom-12-bit+wall";
        let rival = example("register-bloom", lent, Some("sbbf-rs-safe"), 2.0);
        let rival = Row { threads: 2, api: "sharded".into(), ..rival };
        assert_eq!(
            command_of(&rival),
            "measure --quick --threads 1,2 --keys 1e6 \
             -f '^contains/miss/1e6/register-bloom/12-bit\\+wall/engine/2-threads$'"
        );
    }

    #[test]
    fn a_shell_leaves_a_name_as_it_is() {
        assert_eq!(quoted("a'b"), "'a'\\''b'");
    }
}
