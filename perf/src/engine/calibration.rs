//! What work costs on a machine, as a file that runs can share.

use crate::environment::human_bytes;
use crate::failure::bad_input;
use crate::results::replace;
use crate::tables::{Line, Table, figure};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use trommel::{CostModel, TOUCH_BYTES};

/// The constants of a [`CostModel`], in nanoseconds: the contents of `calibration.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibration {
    pub(crate) touch_ns: [f64; TOUCH_BYTES.len()],
    pub(crate) pass_ns: f64,
    pub(crate) insert_ns: f64,
    pub(crate) insert_load_ns: f64,
    pub(crate) bulk_ns: f64,
    pub(crate) lookup_ns: f64,
    pub(crate) lookup_load_ns: f64,
    pub(crate) replay_ns: f64,
    pub(crate) start_ns: f64,
}

/// No work of a key takes longer: a second.
const MOST_NS: f64 = 1e9;

impl Calibration {
    /// Those of a model.
    pub(crate) fn of(model: &CostModel) -> Self {
        Self {
            touch_ns: model.touch_ns,
            pass_ns: model.pass_ns,
            insert_ns: model.insert_ns,
            insert_load_ns: model.insert_load_ns,
            bulk_ns: model.bulk_ns,
            lookup_ns: model.lookup_ns,
            lookup_load_ns: model.lookup_load_ns,
            replay_ns: model.replay_ns,
            start_ns: model.start_ns,
        }
    }

    /// The model of these constants.
    pub(crate) fn model(&self) -> CostModel {
        CostModel {
            touch_ns: self.touch_ns,
            pass_ns: self.pass_ns,
            insert_ns: self.insert_ns,
            insert_load_ns: self.insert_load_ns,
            bulk_ns: self.bulk_ns,
            lookup_ns: self.lookup_ns,
            lookup_load_ns: self.lookup_load_ns,
            replay_ns: self.replay_ns,
            start_ns: self.start_ns,
        }
    }

    /// Each constant by its name.
    fn named(&self) -> [(&'static str, f64); 8] {
        [
            ("pass_ns", self.pass_ns),
            ("insert_ns", self.insert_ns),
            ("insert_load_ns", self.insert_load_ns),
            ("bulk_ns", self.bulk_ns),
            ("lookup_ns", self.lookup_ns),
            ("lookup_load_ns", self.lookup_load_ns),
            ("replay_ns", self.replay_ns),
            ("start_ns", self.start_ns),
        ]
    }

    /// Reads a file that [`Calibration::save`] wrote.
    ///
    /// # Errors
    /// Bad input if there is none, or it has a constant that no work can take.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let refused = |why: String| bad_input(format!("{}: {why}", path.display()));
        let bytes = fs::read(path).map_err(|error| refused(format!("cannot read it: {error}")))?;
        let read: Self = serde_json::from_slice(&bytes)
            .map_err(|error| refused(format!("no calibration: {error}")))?;
        let touches = read.touch_ns.map(|ns| ("touch_ns", ns));
        for (name, ns) in touches.into_iter().chain(read.named()) {
            if !(0.0..=MOST_NS).contains(&ns) {
                return Err(refused(format!("{name} of {ns} is not from 0 to {MOST_NS}")));
            }
        }
        Ok(read)
    }

    /// Writes `calibration.json`.
    pub(crate) fn save(&self, directory: &Path) -> Result<()> {
        replace(&directory.join("calibration.json"), &serde_json::to_vec_pretty(self)?)
    }

    /// As Rust: what `Engine::builder().cost_model` takes.
    pub(crate) fn to_rust(&self) -> String {
        let touches: Vec<String> = self.touch_ns.iter().map(|ns| format!("{ns:?}")).collect();
        let mut text = format!("CostModel {{\n    touch_ns: [{}],\n", touches.join(", "));
        for (name, ns) in self.named() {
            text.push_str(&format!("    {name}: {ns:?},\n"));
        }
        text.push('}');
        text
    }

    /// The constants beside the defaults.
    pub(crate) fn table(&self) -> Table {
        let default = Self::of(&CostModel::default());
        let touches = TOUCH_BYTES.iter().zip(self.touch_ns.iter().zip(default.touch_ns)).map(
            |(bytes, (here, default))| {
                (format!("touch_ns, {}", human_bytes(*bytes as u64)), *here, default)
            },
        );
        let named = self.named().into_iter().zip(default.named());
        let others = named.map(|((name, here), (_, default))| (name.to_owned(), here, default));
        let rows = touches.chain(others).map(|(name, here, default)| Line {
            cells: vec![name, figure(here), figure(default)],
            is_rival: false,
        });
        Table {
            name: "calibration",
            title: "What work costs on one core, ns".into(),
            header: ["constant", "here", "default"].map(Into::into).into(),
            rows: rows.collect(),
            words: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_survive_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let calibration = Calibration { pass_ns: 3.25, ..Calibration::of(&CostModel::default()) };
        calibration.save(directory.path()).unwrap();
        let read = Calibration::read(&directory.path().join("calibration.json")).unwrap();
        assert_eq!(read, calibration);
        assert_eq!(read.model(), CostModel { pass_ns: 3.25, ..CostModel::default() });
        assert_eq!(Calibration::of(&read.model()), read);
    }

    #[test]
    fn files_that_are_no_calibration_are_bad_input() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("calibration.json");
        let good = serde_json::to_string(&Calibration::of(&CostModel::default())).unwrap();
        let negative = good.replace("\"pass_ns\":2.6", "\"pass_ns\":-2.6");
        assert_ne!(negative, good);
        for text in ["", "{}", "[1]", &*negative] {
            fs::write(&path, text).unwrap();
            let error = Calibration::read(&path).unwrap_err();
            assert!(error.is::<crate::failure::BadInput>(), "{text}: {error}");
        }
    }

    #[test]
    fn rust_and_the_table_have_every_constant() {
        let calibration = Calibration::of(&CostModel::default());
        let rust = calibration.to_rust();
        assert!(rust.starts_with("CostModel {\n    touch_ns: [1.0, 1.9, 3.5, 9.5, 19.0, 27.0],\n"));
        assert!(rust.contains("\n    start_ns: 15000.0,\n}"));
        let table = calibration.table();
        assert_eq!(table.rows.len(), TOUCH_BYTES.len() + 8);
        assert!(table.rows.iter().all(|line| line.cells[1] == line.cells[2]));
    }
}
