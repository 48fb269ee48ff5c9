//! Runs the program in a temporary folder, and makes test data.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;
use trommel::{AnyFilter, Engine, FilterKind, FilterSpec, Hasher, KeyHash};

/// The program under test.
pub(crate) fn trommel() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trommel"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A folder of files that is removed at the end of the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A command that runs the program in the folder.
    pub(crate) fn command<I: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = I>,
    ) -> Command {
        let mut command = trommel();
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    pub(crate) fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Run {
        Run::of(self.command(arguments).output().unwrap())
    }

    /// Runs the program with `input` as standard input.
    pub(crate) fn feed<I: AsRef<OsStr>>(
        &self,
        input: &[u8],
        arguments: impl IntoIterator<Item = I>,
    ) -> Run {
        feed(self.command(arguments), input)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }
}

/// Runs a command with `input` as standard input.
pub(crate) fn feed(mut command: Command, input: &[u8]) -> Run {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|threads| {
        // The result is ignored: the write fails if the program ends before it has read all of its input.
        threads.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    Run::of(output)
}

/// The outcome of a command.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit code; `None` if a signal ended the program.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        Self { code: output.status.code(), stdout: output.stdout, stderr }
    }

    /// Asserts that the command succeeded and wrote nothing to standard error.
    #[track_caller]
    pub(crate) fn silent(&self) -> &Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self
    }

    /// Asserts that the command failed with exactly this message and printed nothing else.
    #[track_caller]
    pub(crate) fn fails_with(&self, message: &str) {
        assert_eq!(self.stderr, format!("trommel: {message}\n"));
        assert_eq!((self.code, self.stdout.as_slice()), (Some(2), &b""[..]));
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}

/// Waits until another process has made a condition true.
#[track_caller]
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the condition was not true within 30 seconds");
}

/// Sends a signal, given by its name, to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(sent.unwrap().success());
}

/// Distinct lines in no particular order.
pub(crate) fn lines(count: u64) -> Vec<u8> {
    let line = |i: u64| format!("{:x}\n", i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).into_bytes();
    (0..count).flat_map(line).collect()
}

pub(crate) fn hashes_of_lines(text: &[u8], seed: u64) -> Vec<KeyHash> {
    let hasher = Hasher::xxh3(seed);
    text.split_inclusive(|byte| *byte == b'\n')
        .map(|line| hasher.hash_bytes(line.strip_suffix(b"\n").unwrap_or(line)))
        .collect()
}

/// The filter of these hashes, built by the library.
pub(crate) fn library(kind: FilterKind, hashes: &[KeyHash]) -> AnyFilter {
    let engine = Engine::builder().threads(1).build().unwrap();
    engine.build(&FilterSpec::new(kind).fpr(0.01), hashes).unwrap()
}
