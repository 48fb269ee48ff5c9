//! Tables with the results of several machines side by side: a line per case, with the speed on each machine and its
//! ratio to the rival's speed there. Only the ratios are reliable comparisons: a filter and its rival are measured in
//! the same rounds, but the speeds of two machines come from different rounds.

use crate::analyse::rival::ratio;
use crate::base::failure::bad_input;
use crate::base::format::{distinct, figure, short_count};
use crate::base::table::{Line, Table};
use crate::model::{Op, Row, Workload};
use crate::store::results::Results;
use anyhow::Result;
use std::path::PathBuf;

/// The results of one machine, with a name for the columns.
pub(crate) struct Machine {
    name: String,
    pub(crate) results: Results,
}

/// Reads the results in each directory. A machine gets the name of its directory.
pub(crate) fn load(directories: &[PathBuf]) -> Result<Vec<Machine>> {
    let machine = |directory: &PathBuf| {
        let name = directory.file_name().unwrap_or(directory.as_os_str());
        let name = name.to_string_lossy().into_owned();
        Ok(Machine { name, results: Results::load(directory)? })
    };
    let machines = directories.iter().map(machine).collect::<Result<Vec<_>>>()?;
    let names = distinct(machines.iter().map(|machine| &*machine.name));
    if names.len() < machines.len() {
        return Err(bad_input(
            "two directories have the same name, which would be the name of two machines",
        ));
    }
    Ok(machines)
}

/// A question that a table answers: the table's name, the operation in its title, and the function that says whether a
/// row is of this operation.
type Question = (&'static str, &'static str, fn(&Row) -> bool);

const QUESTIONS: [Question; 4] = [
    ("machines-miss", "lookups of absent keys", |row| row.case.is_lookup(Workload::Miss)),
    ("machines-hit", "lookups of present keys", |row| row.case.is_lookup(Workload::Hit)),
    ("machines-insert", "inserts", |row| row.case.op == Op::Insert),
    ("machines-build", "builds", |row| row.case.op == Op::Build),
];

/// Returns a table of the machines, and a table for each operation that at least one machine has measured in batches.
pub(crate) fn tables(machines: &[Machine]) -> Vec<Table> {
    let all = QUESTIONS.iter().map(|question| speeds(machines, question));
    let measured = all.filter(|table| !table.rows.is_empty());
    [environments(machines)].into_iter().chain(measured).collect()
}

fn speeds(machines: &[Machine], &(name, what, is_it): &Question) -> Table {
    let is_shown = |row: &&Row| row.case.is_plain_batch_of_ours() && is_it(row);
    let rows = machines.iter().map(|machine| machine.results.rows.iter().filter(is_shown));
    let rows: Vec<Vec<&Row>> = rows.map(Iterator::collect).collect();
    let key = |row: &Row| (row.case.filter.clone(), row.case.size_name(), row.case.keys);
    let line = |key_of_line: (String, String, u64)| {
        let (filter, size, keys) = key_of_line.clone();
        let mut cells = vec![filter, size, short_count(keys)];
        for (machine, rows) in machines.iter().zip(&rows) {
            let row = rows.iter().copied().find(|row| key(row) == key_of_line);
            cells.push(row.map_or_else(String::new, |row| figure(row.mops)));
            let ratio = row.and_then(|row| ratio(row, &machine.results.rows));
            cells.push(ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")));
        }
        Line { cells, is_rival: false }
    };
    let columns = machines.iter().flat_map(|machine| {
        [format!("{}, M/s", machine.name), format!("{}, × rival", machine.name)]
    });
    Table {
        name,
        title: format!(
            "Machines: {what}, batches on one core; × rival: how many times the speed of the usual alternative crate \
             in the same run"
        ),
        header: ["filter", "size", "keys"].map(Into::into).into_iter().chain(columns).collect(),
        rows: distinct(rows.iter().flatten().copied().map(key)).into_iter().map(line).collect(),
        words: 3,
    }
}

/// Returns a table with a line for each machine: its processor, the caches of a core, the instruction set of the
/// kernels, the compiler, and the commit that was measured.
fn environments(machines: &[Machine]) -> Table {
    const FACTS: [&str; 5] = ["cpu", "caches of a core", "isa", "rustc", "commit"];
    let line = |machine: &Machine| {
        let facts = FACTS.iter().map(|fact| machine.results.environment.get(fact).to_owned());
        let cells = [machine.name.clone()].into_iter().chain(facts).collect();
        Line { cells, is_rival: false }
    };
    Table {
        name: "machines",
        title: "Machines".into(),
        header: ["machine"].iter().chain(&FACTS).map(|name| (*name).to_owned()).collect(),
        rows: machines.iter().map(line).collect(),
        words: 1 + FACTS.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;

    fn machine(name: &str, rows: impl IntoIterator<Item = Row>) -> Machine {
        let mut results = Results::new(Environment::observe(None));
        rows.into_iter().for_each(|row| results.put(row));
        Machine { name: name.into(), results }
    }

    #[test]
    fn a_line_has_the_speed_and_the_ratio_of_each_machine_that_measured_the_case() {
        let rival = example("bloom", "12-bit", Some("fastbloom"), 9.0);
        let machines = [
            machine("a", [example("bloom", "12-bit", None, 2.0), rival]),
            machine(
                "b",
                [example("bloom", "12-bit", None, 4.0), example("bloom", "fpr-1%", None, 5.0)],
            ),
        ];
        let tables = tables(&machines);
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        assert_eq!(names, ["machines", "machines-miss"]);
        let header = ["filter", "size", "keys", "a, M/s", "a, × rival", "b, M/s", "b, × rival"];
        assert_eq!(tables[1].header, header);
        let lines: Vec<String> = tables[1].rows.iter().map(|line| line.cells.join("|")).collect();
        assert_eq!(lines, ["bloom|12-bit|1e6|500|4.50|250|", "bloom|fpr-1%|1e6|||200|"]);
        let of_machines: Vec<&str> = tables[0].rows.iter().map(|line| &*line.cells[0]).collect();
        assert_eq!(of_machines, ["a", "b"]);
    }
}
