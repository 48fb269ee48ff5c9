//! Allows one run at a time in a directory, by an advisory lock on a file in it. The system releases the lock when the
//! process ends, even if it is killed, so a file that an earlier run left behind does not block later runs.

use crate::base::failure::{InUse, bad_input};
use anyhow::Result;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::Path;
use std::process;

/// The file that is locked. It stays in the directory when a run ends, since the next run may already have locked it.
const FILE: &str = "lock";

/// A locked directory. No other run writes to it until this value is dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
}

impl Drop for DirectoryLock {
    /// Unlocks the file. Closing the file is not enough: a child process that another thread is starting shares the
    /// open file until the child executes its own program, and would keep the lock until then.
    fn drop(&mut self) {
        // Nothing can be done about an error here. The system unlocks the file anyway once every process that shares it
        // has closed it.
        let _ = self.file.unlock();
    }
}

/// Creates the directory if it does not exist, and locks it. This run's process id is written to the file, for the
/// error message of a second run.
///
/// # Errors
///
/// [`InUse`] if another run holds the lock; bad input if the directory cannot be created, written to or locked.
pub(crate) fn lock(directory: &Path) -> Result<DirectoryLock> {
    let refused = |error: io::Error| {
        bad_input(format!("cannot write results to {}: {error}", directory.display()))
    };
    let path = directory.join(FILE);
    fs::create_dir_all(directory).map_err(refused)?;
    // The file is not truncated before it is locked, because it may hold the process id of the lock's holder.
    let opened = File::options().write(true).create(true).truncate(false).open(&path);
    let mut file = opened.map_err(refused)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = fs::read_to_string(&path).unwrap_or_default().trim().parse().ok();
            return Err(InUse { directory: directory.to_owned(), holder }.into());
        }
        Err(TryLockError::Error(error)) => {
            return Err(bad_input(format!("cannot lock {}: {error}", path.display())));
        }
    }
    file.set_len(0).and_then(|()| writeln!(file, "{}", process::id())).map_err(refused)?;
    Ok(DirectoryLock { file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_locked_once_and_its_holder_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("run");
        let first = lock(&out).unwrap();
        let error = lock(&out).unwrap_err();
        let in_use = error.downcast_ref::<InUse>().unwrap();
        assert_eq!(in_use.holder, Some(process::id()));
        assert!(error.to_string().contains(&format!("process {}", process::id())), "{error}");
        assert!(lock(directory.path()).is_ok());
        drop(first);
        lock(&out).unwrap();
    }

    #[test]
    fn a_lock_ends_with_its_holder_though_a_child_shares_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let held = lock(directory.path()).unwrap();
        let of_child = held.file.try_clone().unwrap();
        drop(held);
        lock(directory.path()).unwrap();
        drop(of_child);
    }

    #[test]
    fn a_file_that_an_earlier_run_left_locks_nobody_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        for left in ["", "4294967295 and more\n", "no number"] {
            fs::write(&path, left).unwrap();
            let held = lock(directory.path()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", process::id()));
            drop(held);
        }
    }
}
