//! Writes files in such a way that an interrupted run leaves the old files complete.

use crate::base::failure::bad_input;
use anyhow::Result;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// Writes records as CSV, with a header of the fields' names if there is any record.
pub(crate) fn csv_of<R: Serialize>(rows: &[R]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(writer.into_inner()?)
}

/// Creates a directory if it does not exist, and checks that files can be written to it, so that an error is found
/// before anything is measured.
///
/// # Errors
///
/// Bad input if the directory cannot be created or written to.
pub(crate) fn prepare(directory: &Path) -> Result<()> {
    let trial = directory.join("results.json.new");
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&trial, []))
        .and_then(|()| fs::remove_file(&trial))
        .map_err(|error| {
            bad_input(format!("cannot write results to {}: {error}", directory.display()))
        })
}

/// Replaces a file by writing a new file in the same directory and renaming the new file. So if the run is killed or
/// the disk is full, the old file remains complete. A path that is not a regular file, such as a device or a pipe, is
/// written to directly.
///
/// # Errors
///
/// Bad input if the file cannot be written.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    // If the path is a symbolic link, its target is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let written = if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        fs::write(&target, bytes)
    } else {
        let mut temporary = target.clone().into_os_string();
        temporary.push(".new");
        let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, &target));
        written.inspect_err(|_| {
            // The new file is incomplete, if it exists at all.
            let _ = fs::remove_file(&temporary);
        })
    };
    written.map_err(|error| bad_input(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_keeps_links_and_leaves_no_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        replace(&file, b"one").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&file, &link).unwrap();
            replace(&link, b"two").unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read(&file).unwrap(), b"two");
            fs::remove_file(&link).unwrap();
        }
        assert!(
            replace(&link.join("below"), b"three")
                .unwrap_err()
                .is::<crate::base::failure::BadInput>()
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
