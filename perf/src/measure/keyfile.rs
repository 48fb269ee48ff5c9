//! Reads a user's own keys from a file: one key per line, as bytes.

use crate::base::failure::bad_input;
use crate::measure::keys::{Column, Probes};
use anyhow::Result;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use trommel::Bitmap;

/// Reads the keys of a file in order: one key per line. Lines end with LF or CRLF, which is removed. Keys are bytes,
/// not text. Empty lines are skipped.
///
/// # Errors
/// Bad input if the file is a character device, cannot be read, or has no keys.
pub(crate) fn read(path: &Path) -> Result<Vec<Box<[u8]>>> {
    let shown = path.display();
    if is_endless(path) {
        return Err(bad_input(format!(
            "cannot read keys from {shown}: it is a device, whose data might never end"
        )));
    }
    let bytes = fs::read(path)
        .map_err(|error| bad_input(format!("cannot read keys from {shown}: {error}")))?;
    let keys: Vec<Box<[u8]>> = bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(Into::into)
        .collect();
    if keys.is_empty() {
        return Err(bad_input(format!("{shown} holds no keys: expected one per line")));
    }
    Ok(keys)
}

/// Whether a path leads to a character device such as `/dev/zero`, whose data might never end. Pipes are allowed.
fn is_endless(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        fs::metadata(path).is_ok_and(|found| found.file_type().is_char_device())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Returns the distinct keys to insert, sorted, and the probes, with a bitmap that marks which
/// probes are keys.
pub(crate) fn prepare(keys: Vec<Box<[u8]>>, probes: Vec<Box<[u8]>>) -> (Column, Probes) {
    let distinct: HashSet<Box<[u8]>> = keys.into_iter().collect();
    let mut members = Bitmap::new(probes.len());
    for (i, probe) in probes.iter().enumerate() {
        if distinct.contains(probe) {
            members.set(i);
        }
    }
    let mut keys: Vec<_> = distinct.into_iter().collect();
    keys.sort_unstable();
    (Column::Strings(keys), Probes { column: Column::Strings(probes), members })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn keys_may_hold_any_bytes_and_lines_end_with_lf_or_crlf() {
        let file = file(b"one\r\ntwo\n\n\xff\xfe\nlast");
        let keys = read(file.path()).unwrap();
        let expected: [&[u8]; 4] = [b"one", b"two", b"\xff\xfe", b"last"];
        assert!(keys.iter().map(|key| &**key).eq(expected));
    }

    #[test]
    fn missing_empty_and_unreadable_files_are_bad_input() {
        let empty = file(b"\n\r\n");
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        for path in [empty.path(), directory.path(), &missing, Path::new("/dev/zero")] {
            let error = read(path).unwrap_err();
            assert!(error.is::<crate::base::failure::BadInput>(), "{error:#}");
            assert!(error.to_string().contains(&*path.display().to_string()), "{error:#}");
        }
    }

    #[test]
    fn repeated_keys_count_once_and_member_probes_are_marked() {
        let lines =
            |text: &[&str]| text.iter().map(|line| line.as_bytes().into()).collect::<Vec<_>>();
        let (keys, probes) = prepare(lines(&["a", "b", "a"]), lines(&["a", "x", "b", "a"]));
        assert_eq!(keys.len(), 2);
        assert_eq!(probes.members.iter_ones().collect::<Vec<_>>(), [0, 2, 3]);
    }
}
