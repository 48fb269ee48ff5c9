//! The file in which `soak` counts what was tried.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use trommel::Isa;

/// The counts of what was tried so far: the contents of `soak.json`.
#[derive(Default, Serialize, Deserialize)]
pub struct Record {
    /// The commits that were tried, the latest last.
    pub commits: Vec<String>,
    pub seconds: u64,
    pub targets: BTreeMap<String, Tried>,
    /// The runs, the latest last. Runs that ended before `soak.json` had this list are not in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
}

/// The counts of one target.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Tried {
    pub rounds: u64,
    pub failed: u64,
    /// The number of inputs of the rounds that did not fail.
    pub executions: u64,
    /// The sum of what the fuzz function returned for the inputs that `executions` counts. For most targets, this is
    /// the number of operations; for `twin_operations`, the number of keys that operations used; for `hostile_bytes`,
    /// the number of inputs that were accepted as filters.
    pub operations: u64,
    /// The total length in bytes of the inputs that `executions` counts.
    pub bytes: u64,
}

/// A run of `soak`: what it tested, how, and how much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub commit: String,
    /// Whether the run was under AddressSanitizer.
    pub address_sanitizer: bool,
    /// The instruction sets that the machine has.
    pub instruction_sets: Vec<String>,
    pub seconds: u64,
    /// The number of inputs of the rounds that did not fail.
    pub executions: u64,
}

impl Run {
    /// A run that begins now in this process.
    pub fn new(commit: String) -> Self {
        Self {
            commit,
            address_sanitizer: cfg!(address_sanitizer),
            instruction_sets: Isa::available().map(|isa| isa.to_string()).collect(),
            seconds: 0,
            executions: 0,
        }
    }
}

impl Record {
    /// Reads the record of earlier runs. Returns an empty record if the file does not exist.
    pub fn read(path: &Path) -> Result<Self> {
        match fs::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes a new file and renames it, so that a run that is killed leaves the old file or the new one.
    pub fn write(&self, path: &Path) -> Result<()> {
        let new = beside(path, ".new");
        fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&new, path)
    }
}

/// Appends `ending` to the file name in `path`. The result is the path of a file in the same folder.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Locks a record by a file beside it, until the returned file is closed or the process ends. The lock file is never
/// removed, since another run could lock it just before the removal. Returns an error if another run holds the lock,
/// because the two runs would overwrite each other's counts.
pub fn lock(record: &Path) -> Result<File> {
    let path = beside(record, ".lock");
    let file = File::create(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let why = format!(
                "another run writes to {}, and has locked {}",
                record.display(),
                path.display()
            );
            Err(Error::new(ErrorKind::ResourceBusy, why))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env::temp_dir;
    use std::process;

    #[test]
    fn a_record_without_runs_is_read_and_its_counts_stay() {
        let old = r#"{"commits": ["db8e546b30f9"], "seconds": 9, "targets": {"twin_operations":
            {"rounds": 2, "failed": 1, "executions": 3, "operations": 4, "bytes": 5}}}"#;
        let mut record: Record = serde_json::from_str(old).unwrap();
        let json = |record: &Record| serde_json::to_value(record).unwrap();
        let old: serde_json::Value = serde_json::from_str(old).unwrap();
        assert_eq!(json(&record), old);

        let run = Run::new("dcc1755ca4a8".into());
        record.runs.push(run.clone());
        let mut new = json(&record);
        let again: Record = serde_json::from_value(new.clone()).unwrap();
        assert_eq!(again.runs, [run]);
        new.as_object_mut().unwrap().remove("runs");
        assert_eq!(new, old);
    }

    #[test]
    fn a_record_is_locked_once() {
        let path = temp_dir().join(format!("trommel-soak-{}.json", process::id()));
        let first = lock(&path).unwrap();
        assert_eq!(lock(&path).unwrap_err().kind(), ErrorKind::ResourceBusy);
        drop(first);
        drop(lock(&path).unwrap());
        fs::remove_file(beside(&path, ".lock")).unwrap();
    }
}
