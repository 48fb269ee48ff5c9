//! Keeps the current input of a round in a file. So the input with which a round failed is known, whether the round
//! ended with a panic, an abort or a signal, or was ended by the parent process.
//!
//! A round writes each input to a file, its *note*, before it runs the input. Shortening a file takes several times as
//! long as writing to it, so the note is never shortened. The note begins with the length of the input, since the last
//! bytes of an earlier, longer input can follow the input. Writing the note takes some 2 µs per input.

use std::fs::{self, File};
use std::io::{Result, Seek as _, Write as _};
use std::path::{Path, PathBuf};

const LENGTH_BYTES: usize = size_of::<u64>();

/// The note of a round that runs in this process.
pub struct Note {
    file: File,
    bytes: Vec<u8>,
}

impl Note {
    pub fn new(path: &Path) -> Result<Self> {
        Ok(Self { file: File::create(path)?, bytes: Vec::new() })
    }

    /// Replaces the input in the file by another one.
    pub fn write(&mut self, input: &[u8]) -> Result<()> {
        self.bytes.clear();
        self.bytes.extend((input.len() as u64).to_le_bytes());
        self.bytes.extend(input);
        self.file.rewind()?;
        self.file.write_all(&self.bytes)
    }
}

/// The paths of a round's note, and of the file that gets the input if the round fails. Both files are in a folder
/// beside the record `soak.json`.
pub struct Kept {
    pub note: PathBuf,
    pub input: PathBuf,
}

impl Kept {
    pub fn new(folder: &Path, target: &str, number: u64) -> Self {
        let input = folder.join(format!("{target}-{number}"));
        Self { note: input.with_extension("note"), input }
    }

    /// Copies the input of a failed round from the note to the file `input`, and removes the note.
    pub fn keep(&self) -> Result<()> {
        let bytes = fs::read(&self.note)?;
        let input = input_of(&bytes).ok_or_else(|| {
            std::io::Error::other(format!("{} ends too early", self.note.display()))
        })?;
        fs::write(&self.input, input)?;
        fs::remove_file(&self.note)
    }

    /// Removes the note of a round that did not fail.
    pub fn forget(&self) -> Result<()> {
        fs::remove_file(&self.note)
    }
}

/// The input in the bytes of a note. `None` if the bytes end too early.
fn input_of(note: &[u8]) -> Option<&[u8]> {
    let (length, bytes) = note.split_first_chunk::<LENGTH_BYTES>()?;
    bytes.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_input_of_a_round_is_kept_if_it_fails() {
        let folder = std::env::temp_dir().join(format!("trommel-note-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let kept = Kept::new(&folder, "twin_operations", 7);
        let mut note = Note::new(&kept.note).unwrap();
        for input in [&b"a long input"[..], b"short"] {
            note.write(input).unwrap();
        }
        kept.keep().unwrap();
        assert_eq!(fs::read(folder.join("twin_operations-7")).unwrap(), b"short");
        assert!(!kept.note.exists());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(input_of(&[9, 0, 0, 0, 0, 0, 0, 0, 1]), None);
    }
}
