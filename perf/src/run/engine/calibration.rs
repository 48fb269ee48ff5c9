//! The measured constants of the engine's cost model, and the file in which they are stored.

use crate::base::failure::bad_input;
use crate::base::files::replace;
use crate::base::format::{figure, human_bytes};
use crate::base::table::{Line, Table};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::array::from_fn;
use std::fs;
use std::path::Path;
use trommel::engine::{ACCESSES_PER_LINE, CostModel, LineCost, TABLE_BYTES};

/// The constants of a [`CostModel`], in nanoseconds: the contents of `calibration.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibration {
    pub(crate) lookup: AccessCosts,
    pub(crate) insert: AccessCosts,
    pub(crate) insert_bit: AccessCosts,
    pub(crate) bulk_ns: f64,
    pub(crate) start_ns: f64,
}

/// The constants of a [`LineCost`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessCosts {
    pub(crate) direct_ns: [f64; TABLE_BYTES.len()],
    pub(crate) grouped_ns: [f64; ACCESSES_PER_LINE.len()],
}

/// The largest constant that is accepted, in nanoseconds: a second.
const MOST_NS: f64 = 1e9;

impl AccessCosts {
    fn of(cost: &LineCost) -> Self {
        Self { direct_ns: cost.direct_ns, grouped_ns: cost.grouped_ns }
    }

    fn cost(&self) -> LineCost {
        LineCost { direct_ns: self.direct_ns, grouped_ns: self.grouped_ns }
    }

    fn or_faster(&self, other: &Self) -> Self {
        Self {
            direct_ns: from_fn(|i| self.direct_ns[i].min(other.direct_ns[i])),
            grouped_ns: from_fn(|i| self.grouped_ns[i].min(other.grouped_ns[i])),
        }
    }

    /// Each constant with a name that describes the memory access.
    fn named(&self) -> impl Iterator<Item = (String, f64)> {
        let direct = TABLE_BYTES.map(|bytes| format!("in {}", human_bytes(bytes as u64)));
        let grouped = ACCESSES_PER_LINE.map(|accesses| format!("grouped, {accesses} per line"));
        let direct = direct.into_iter().zip(self.direct_ns);
        direct.chain(grouped.into_iter().zip(self.grouped_ns))
    }
}

impl Calibration {
    /// The constants of a model.
    pub(crate) fn of(model: &CostModel) -> Self {
        Self {
            lookup: AccessCosts::of(&model.lookup),
            insert: AccessCosts::of(&model.insert),
            insert_bit: AccessCosts::of(&model.insert_bit),
            bulk_ns: model.bulk_ns,
            start_ns: model.start_ns,
        }
    }

    /// Returns, for each constant, the smaller of its values in `self` and `other`.
    pub(crate) fn or_faster(&self, other: &Self) -> Self {
        Self {
            lookup: self.lookup.or_faster(&other.lookup),
            insert: self.insert.or_faster(&other.insert),
            insert_bit: self.insert_bit.or_faster(&other.insert_bit),
            bulk_ns: self.bulk_ns.min(other.bulk_ns),
            start_ns: self.start_ns.min(other.start_ns),
        }
    }

    /// The cost model with these constants.
    pub(crate) fn model(&self) -> CostModel {
        CostModel {
            lookup: self.lookup.cost(),
            insert: self.insert.cost(),
            insert_bit: self.insert_bit.cost(),
            bulk_ns: self.bulk_ns,
            start_ns: self.start_ns,
        }
    }

    /// The costs of a memory access in each operation, with the operation's name.
    fn access_costs(&self) -> [(&'static str, &AccessCosts); 3] {
        [("lookup", &self.lookup), ("insert", &self.insert), ("insert_bit", &self.insert_bit)]
    }

    /// Each constant with its name.
    fn named(&self) -> Vec<(String, f64)> {
        let costs = self.access_costs().into_iter().flat_map(|(name, costs)| {
            costs.named().map(move |(access, ns)| (format!("{name} {access}"), ns))
        });
        let others = [("bulk_ns", self.bulk_ns), ("start_ns", self.start_ns)];
        costs.chain(others.map(|(name, ns)| (name.to_owned(), ns))).collect()
    }

    /// Reads a file that [`Calibration::save`] wrote.
    ///
    /// # Errors
    /// Bad input if the file cannot be read or parsed, or if a constant is negative or above a second.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let read_error = |why: String| bad_input(format!("{}: {why}", path.display()));
        let bytes =
            fs::read(path).map_err(|error| read_error(format!("cannot read it: {error}")))?;
        let read: Self = serde_json::from_slice(&bytes)
            .map_err(|error| read_error(format!("not a calibration: {error}")))?;
        for (name, ns) in read.named() {
            if !(0.0..=MOST_NS).contains(&ns) {
                return Err(read_error(format!(
                    "`{name}` is {ns} ns; it must be between 0 and {MOST_NS} ns"
                )));
            }
        }
        Ok(read)
    }

    /// Writes `calibration.json`.
    pub(crate) fn save(&self, directory: &Path) -> Result<()> {
        replace(&directory.join("calibration.json"), &serde_json::to_vec_pretty(self)?)
    }

    /// The constants as Rust code: an argument of `Engine::builder().cost_model`.
    pub(crate) fn to_rust(&self) -> String {
        let mut text = "CostModel {\n".to_owned();
        for (name, costs) in self.access_costs() {
            let AccessCosts { direct_ns, grouped_ns } = costs;
            text.push_str(&format!("    {name}: LineCost {{\n"));
            text.push_str(&format!("        direct_ns: {direct_ns:?},\n"));
            text.push_str(&format!("        grouped_ns: {grouped_ns:?},\n    }},\n"));
        }
        let (bulk, start) = (self.bulk_ns, self.start_ns);
        text.push_str(&format!("    bulk_ns: {bulk:?},\n    start_ns: {start:?},\n}}"));
        text
    }

    /// A table of the constants next to the defaults.
    pub(crate) fn table(&self) -> Table {
        let default = Self::of(&CostModel::default());
        let rows = self.named().into_iter().zip(default.named());
        let rows = rows.map(|((name, here), (_, default))| Line {
            cells: vec![name, figure(here), figure(default)],
            is_rival: false,
        });
        Table {
            name: "calibration",
            title: "Constants of the cost model, ns".into(),
            header: ["work", "here", "default"].map(Into::into).into(),
            rows: rows.collect(),
            words: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_survives_saving_and_reading() {
        let directory = tempfile::tempdir().unwrap();
        let calibration = Calibration { bulk_ns: 3.25, ..Calibration::of(&CostModel::default()) };
        calibration.save(directory.path()).unwrap();
        let read = Calibration::read(&directory.path().join("calibration.json")).unwrap();
        assert_eq!(read, calibration);
        assert_eq!(read.model(), CostModel { bulk_ns: 3.25, ..CostModel::default() });
        assert_eq!(Calibration::of(&read.model()), read);
    }

    #[test]
    fn the_smaller_value_of_each_constant_is_kept() {
        let default = Calibration::of(&CostModel::default());
        let mut other = Calibration { bulk_ns: default.bulk_ns / 2.0, ..default.clone() };
        other.start_ns *= 2.0;
        other.insert.direct_ns[1] /= 2.0;
        other.lookup.grouped_ns[2] *= 2.0;
        let mut expected = default.clone();
        expected.bulk_ns = other.bulk_ns;
        expected.insert.direct_ns[1] = other.insert.direct_ns[1];
        assert_eq!(default.or_faster(&other), expected);
        assert_eq!(other.or_faster(&default), expected);
    }

    #[test]
    fn files_that_are_not_a_calibration_are_bad_input() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("calibration.json");
        let good = serde_json::to_string(&Calibration::of(&CostModel::default())).unwrap();
        let negative = good.replace("\"bulk_ns\":", "\"bulk_ns\":-");
        assert_ne!(negative, good);
        for text in ["", "{}", "[1]", &*negative] {
            fs::write(&path, text).unwrap();
            let error = Calibration::read(&path).unwrap_err();
            assert!(error.is::<crate::base::failure::BadInput>(), "{text}: {error}");
        }
    }

    #[test]
    fn rust_code_and_the_table_contain_every_constant() {
        let calibration = Calibration::of(&CostModel::default());
        let rust = calibration.to_rust();
        assert!(rust.starts_with("CostModel {\n    lookup: LineCost {\n        direct_ns: ["));
        let start = CostModel::default().start_ns;
        assert!(rust.contains(&format!("\n    start_ns: {start:?},\n}}")));
        let table = calibration.table();
        assert_eq!(table.rows.len(), 3 * (TABLE_BYTES.len() + ACCESSES_PER_LINE.len()) + 2);
        assert!(table.rows.iter().all(|line| line.cells[1] == line.cells[2]));
    }
}
