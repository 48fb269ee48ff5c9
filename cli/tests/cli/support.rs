//! A folder for a test, and the program run in it.

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

/// A folder of files that goes with the test.
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

    /// Names of all files, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A command in the folder.
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

    /// With `input` as standard input.
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

pub(crate) fn feed(mut command: Command, input: &[u8]) -> Run {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|threads| {
        // A program that ends early leaves the rest.
        threads.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    Run::of(output)
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Run {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        Self { code: output.status.code(), stdout: output.stdout, stderr }
    }

    /// Nothing went wrong, and nothing was said about it.
    #[track_caller]
    pub(crate) fn silent(&self) -> &Self {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self
    }

    /// An error with this message alone.
    #[track_caller]
    pub(crate) fn fails_with(&self, message: &str) {
        assert_eq!(self.stderr, format!("trommel: {message}\n"));
        assert_eq!((self.code, self.stdout.as_slice()), (Some(2), &b""[..]));
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}

/// Waits for a condition that another process brings about.
#[track_caller]
pub(crate) fn wait_until(mut is: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if is() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("not within 30 seconds");
}

/// Sends a signal by its name.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(sent.unwrap().success());
}

/// Distinct lines without any order.
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

/// The filter that the library builds.
pub(crate) fn library(kind: FilterKind, hashes: &[KeyHash]) -> AnyFilter {
    let engine = Engine::builder().threads(1).build().unwrap();
    engine.build(&FilterSpec::new(kind).fpr(0.01), hashes).unwrap()
}
