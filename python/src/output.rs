//! Output files, which are written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file at `path`. An old file there is replaced.
///
/// The new file is first written under a temporary name in the same folder. It gets the permissions of the old file, if
/// any, is synchronised to the disk, and is then renamed. So a reader finds either the old file or the new one. After
/// an error, the old file stays, and the temporary file is removed. If the path is a symbolic link, the file it leads
/// to is replaced. A device or a pipe is written directly: if it were replaced by a file, its reader would get nothing.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let existing = if_present(fs::metadata(path))?;
    if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
        let mut file = BufWriter::new(File::options().write(true).open(path)?);
        write(&mut file)?;
        return file.flush();
    }
    // A dangling link has no canonical path, so the link itself is replaced.
    let path = if existing.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    let (temporary, file) = create_beside(&path)?;
    let replace = || {
        if let Some(existing) = existing {
            file.set_permissions(existing.permissions())?;
        }
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.into_inner()?.sync_all()?;
        fs::rename(&temporary, &path)
    };
    replace().inspect_err(|_| {
        // Reports the error of writing, and ignores any error of removing the file.
        let _ = fs::remove_file(&temporary);
    })
}

/// Returns `None` if there is no such file. Returns other errors as they are: a file whose kind or permissions are
/// unknown must not be replaced.
fn if_present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Creates a temporary file in the folder of `path`.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    loop {
        // No other call in this process has the same number, even for the same path. But a killed process that had the
        // same id can have left a file with this name. Then the next number is tried.
        let (process, call) = (std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed));
        let mut name = OsString::from(path);
        name.push(format!(".{process}-{call}.partial"));
        match File::create_new(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return Ok((name.into(), created?)),
        }
    }
}
