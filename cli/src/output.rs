//! Writes output files whole or not at all.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Temporary files are named `.trommel-XXXXXX.tmp` and are in the folder of the output.
const PREFIX: &str = ".trommel-";
const SUFFIX: &str = ".tmp";
const RANDOM_CHARACTERS: usize = 6;

/// The destination of a verb's output.
///
/// If the destination is a regular file or does not exist, the output is written to a temporary file in the same
/// folder, and this file is then renamed to the destination. So a reader finds either the old file or the new one. The
/// temporary file is removed after an error and, on Unix, after SIGINT, SIGTERM or SIGHUP. SIGKILL and a loss of power
/// leave it behind; on Unix, the next command that writes a filter to the folder removes it.
#[derive(Debug)]
pub(crate) struct Output {
    name: String,
    to: Target,
}

#[derive(Debug)]
enum Target {
    Stdout,
    /// A device or a pipe, which is written directly: if it were replaced by a file, its reader would get nothing.
    Direct(File),
    Replaced {
        temporary: NamedTempFile,
        path: PathBuf,
    },
}

impl Output {
    /// Opens the output, and removes temporary files that killed processes left in its folder. Called before any input
    /// is read, so that an unwritable output is reported at once.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self { name: "standard output".into(), to: Target::Stdout });
        }
        let name = path.display().to_string();
        let to = target(path).map_err(|error| Failure::Write { name: name.clone(), error })?;
        Ok(Self { name, to })
    }

    /// Writes the output. A regular file is synchronised to the disk, then renamed to its path. On Unix, a last step
    /// synchronises the folder. If only this step fails, the new file is in place all the same, and the message says
    /// so. If the reader of a pipe has closed it, that is no error.
    pub(crate) fn commit(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Self { name, to } = self;
        let written = match to {
            Target::Stdout => buffered(io::stdout().lock(), write),
            Target::Direct(file) => buffered(file, write),
            Target::Replaced { temporary, path } => replace(temporary, &path, write),
        };
        match written {
            // The reader of the output has closed the pipe. As in other programs, this is no error.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| Failure::Write { name, error }),
        }
    }
}

fn target(path: &Path) -> io::Result<Target> {
    // Follows symbolic links, so that the file they lead to is replaced. A dangling link is replaced itself.
    let path = match if_present(fs::canonicalize(path)) {
        Ok(target) => target.unwrap_or_else(|| path.to_owned()),
        // There are file systems whose files have no canonical path.
        Err(_) if fs::symlink_metadata(path).is_ok_and(|file| !file.is_symlink()) => {
            path.to_owned()
        }
        Err(error) => return Err(error),
    };
    let existing = if_present(fs::metadata(&path))?;
    if existing.as_ref().is_some_and(|file| file.is_dir()) {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if existing.as_ref().is_some_and(|file| !file.is_file()) {
        return Ok(Target::Direct(File::options().write(true).open(&path)?));
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if path.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file name"));
    }
    if !fs::metadata(folder)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    abandoned::remove(folder);
    let temporary = interrupts::removing(|| temporary_in(folder))?;
    if let Some(existing) = existing {
        temporary.as_file().set_permissions(existing.permissions())?;
    }
    Ok(Target::Replaced { temporary, path })
}

/// `None` if there is no such file. Other errors are returned: a file whose kind or permissions are unknown must not be
/// replaced.
fn if_present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(error),
        },
    }
}

/// Creates a temporary file and locks it. The lock tells other processes that the file is in use.
fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM_CHARACTERS);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // The user's umask is applied to these permissions, as for any new file.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder)?;
        // If the file system has no locks, other processes cannot lock the file either, and so do not remove it.
        let is_taken = matches!(temporary.as_file().try_lock(), Err(fs::TryLockError::WouldBlock));
        if !is_taken && temporary.path().exists() {
            return Ok(temporary);
        }
        // Before the file was locked here, another process took it for an abandoned file, and has removed it or is
        // about to. Try again.
    }
}

fn buffered(
    to: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    write(&mut to)?;
    to.flush()
}

fn replace(
    mut temporary: NamedTempFile,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    buffered(temporary.as_file_mut(), write)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|refused| refused.error)?;
    // Synchronises the rename, which is recorded in the folder. On systems other than Unix, `File::open` cannot open a
    // folder.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let folder = if folder == Path::new("") { Path::new(".") } else { folder };
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| {
            let why = format!("written, but a loss of power may undo it: {error}");
            io::Error::new(error.kind(), why)
        })?;
    }
    Ok(())
}

/// Removal of temporary files that killed processes left behind.
mod abandoned {
    use super::{PREFIX, RANDOM_CHARACTERS, SUFFIX};
    use std::fs::{self, File};
    use std::path::Path;

    /// Removes the temporary files in a folder, except those that a process has locked. Files that cannot be removed
    /// stay.
    pub(super) fn remove(folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !is_file || !entry.file_name().to_str().is_some_and(is_temporary) {
                continue;
            }
            let Ok(file) = File::open(entry.path()) else { continue };
            if file.try_lock().is_ok() {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    pub(super) fn is_temporary(name: &str) -> bool {
        name.len() == PREFIX.len() + RANDOM_CHARACTERS + SUFFIX.len()
            && name.starts_with(PREFIX)
            && name.ends_with(SUFFIX)
    }
}

#[cfg(unix)]
mod interrupts {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    use std::path::PathBuf;
    use std::sync::mpsc::sync_channel;
    use std::sync::{Mutex, Once, PoisonError};
    use std::{fs, io, thread};
    use tempfile::NamedTempFile;

    /// The temporary file to remove when the process is interrupted. The mutex is held while the file is created, so
    /// that the signal thread waits until the path is stored here.
    static PENDING: Mutex<Option<PathBuf>> = Mutex::new(None);
    static STARTED: Once = Once::new();

    /// Creates a temporary file that is removed on SIGHUP, SIGINT and SIGTERM. The process then ends as these signals
    /// usually end it.
    pub(super) fn removing(
        create: impl FnOnce() -> io::Result<NamedTempFile>,
    ) -> io::Result<NamedTempFile> {
        STARTED.call_once(|| {
            // The signal thread installs the handler itself. If the handler were installed before, and the signal
            // thread could not be started, the signals would have no effect. If the handler cannot be installed, an
            // interrupt leaves the file for the next command to remove.
            let (installed, is_installed) = sync_channel(1);
            let handle = move || {
                let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]);
                let _ = installed.send(());
                signals.into_iter().for_each(remove_on_signals);
            };
            if thread::Builder::new().spawn(handle).is_ok() {
                let _ = is_installed.recv();
            }
        });
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        let temporary = create()?;
        *pending = Some(temporary.path().to_owned());
        Ok(temporary)
    }

    /// Waits for signals, removes the pending file, and ends the process.
    fn remove_on_signals(mut signals: Signals) {
        for signal in signals.forever() {
            let pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(path) = &*pending {
                let _ = fs::remove_file(path);
            }
            let _ = emulate_default_handler(signal);
        }
    }
}

#[cfg(not(unix))]
mod interrupts {
    use std::io;
    use tempfile::NamedTempFile;

    pub(super) fn removing(
        create: impl FnOnce() -> io::Result<NamedTempFile>,
    ) -> io::Result<NamedTempFile> {
        create()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_are_recognised_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let temporary = temporary_in(folder.path()).unwrap();
        let name = temporary.path().file_name().unwrap().to_str().unwrap().to_owned();
        assert!(abandoned::is_temporary(&name), "{name}");
        for other in [".trommel-.tmp", "trommel-abcdef.tmp", ".trommel-abcdef.tmp.gz", ".trommel-x"]
        {
            assert!(!abandoned::is_temporary(other), "{other}");
        }
    }

    #[test]
    fn only_abandoned_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let in_use = temporary_in(folder.path()).unwrap();
        let abandoned = temporary_in(folder.path()).unwrap().into_temp_path().keep().unwrap();
        let other = folder.path().join("words");
        fs::write(&other, "anvil\n").unwrap();
        abandoned::remove(folder.path());
        assert!(in_use.path().exists() && !abandoned.exists() && other.exists());
    }
}
