//! An output file that appears whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A temporary file, in the same folder as the file that is to be written (the *target*). [`Output::commit`] renames
/// the temporary file to the target; dropping the `Output` without a commit removes the temporary file. If the process
/// is killed before the commit, the temporary file stays and the target is unchanged.
#[derive(Debug)]
pub(crate) struct Output {
    file: Option<BufWriter<File>>,
    temporary: PathBuf,
    target: PathBuf,
    written: u64,
}

impl Output {
    pub(crate) fn create(target: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Follows a symbolic link, so that the link stays. If the link leads to no file, the link is replaced.
        let target = match fs::canonicalize(target) {
            Ok(target) => target,
            Err(error) => match fs::symlink_metadata(target) {
                // The link cannot be resolved, but the file that it leads to may exist.
                Ok(link) if link.is_symlink() && error.kind() != io::ErrorKind::NotFound => {
                    return Err(error);
                }
                _ => target.to_path_buf(),
            },
        };
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut temporary_name = OsString::from(".");
        temporary_name.push(name);
        temporary_name.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = target.with_file_name(temporary_name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary)?;
        let file = Some(BufWriter::with_capacity(1 << 16, file));
        Ok(Self { file, temporary, target, written: 0 })
    }

    /// The number of bytes written so far.
    pub(crate) fn position(&self) -> u64 {
        self.written
    }

    /// Flushes the buffer and returns the file.
    pub(crate) fn flushed(&mut self) -> io::Result<&mut File> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        file.flush()?;
        Ok(file.get_mut())
    }

    /// Syncs the file to the disk, renames it to the target, and syncs the folder. A target that is replaced passes on
    /// its permissions to the new file. If only the sync of the folder fails, the target has been replaced, and the
    /// message of the error says so.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        let replaced = fs::metadata(&self.target);
        let file = self.flushed()?;
        match replaced {
            Ok(replaced) => file.set_permissions(replaced.permissions())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        file.sync_all()?;
        fs::rename(&self.temporary, &self.target)?;
        self.file = None;
        sync_folder(&self.target).map_err(|error| {
            let why = format!("written, but a loss of power may undo it: {error}");
            io::Error::new(error.kind(), why)
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.as_mut().ok_or(io::ErrorKind::NotConnected)?.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed().map(drop)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // A failure to remove the file cannot be reported here.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Syncs the folder of a file. Does nothing on systems other than Unix, where a folder cannot be opened.
fn sync_folder(file: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
