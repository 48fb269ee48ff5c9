//! Runs the program with failing calls on files. In the first run of a series, the first call fails, in the second run
//! the second call, and so on. Each series uses one error. In some series, all later calls fail too. A library
//! for LD_PRELOAD, `io_errors.c`, makes the calls fail.
//!
//! A run must end with an error, or give the same result as without failures. A file that is replaced must keep its
//! permissions, and a symbolic link to it must stay a link. Calls that bypass the C library, such as the rename of a
//! finished filter (but not of a Parquet file), cannot be made to fail. `io_errors.c` does not make `close`, `unlink`,
//! `fcntl` and `mmap` fail.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::support::{Folder, Run, lines};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// The values of errno.
const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Compiles the library, and returns true. If the machine has no gcc, prints a message and returns false.
fn compile(library: &Path) -> bool {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/io_errors.c");
    let mut gcc = Command::new("gcc");
    gcc.args([
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-shared",
        "-fPIC",
        source,
        "-ldl",
        "-o",
    ]);
    match gcc.arg(library).status() {
        Ok(status) => {
            assert!(status.success(), "{gcc:?}");
            true
        }
        Err(error) => {
            println!("NOT RUN: tests of failing calls, since the machine has no gcc: {error}");
            false
        }
    }
}

/// Whether the permissions of the file are 0600: only its owner can read and write it.
fn is_private(file: &Path) -> bool {
    fs::metadata(file).unwrap().permissions().mode() & 0o777 == 0o600
}

/// A verb whose calls fail.
struct Verb {
    arguments: &'static [&'static str],
    /// The file that the verb writes; `None` if it writes no file. The arguments name it through `link`, a symbolic
    /// link to it. Before each run, it gets the content and the permissions of the file that the field `keep` names.
    output: Option<&'static str>,
    keep: &'static str,
}

/// What a run without failures does.
struct Expected {
    run: Run,
    written: Option<Vec<u8>>,
    names: Vec<String>,
}

struct Failures<'a> {
    library: &'a Path,
    log: &'a Path,
}

impl Failures<'_> {
    /// Runs the verb with the `nth` call failing. Also returns the name of the function that failed; `None` if the
    /// program makes fewer calls.
    fn run(
        &self,
        folder: &Folder,
        verb: &Verb,
        nth: u32,
        more: &[(&str, String)],
    ) -> (Run, Option<String>) {
        let _ = fs::remove_file(self.log);
        let _ = fs::remove_file(folder.path("link"));
        symlink(verb.output.unwrap_or(verb.keep), folder.path("link")).unwrap();
        if let Some(output) = verb.output {
            fs::copy(folder.path(verb.keep), folder.path(output)).unwrap();
        }
        let mut command = folder.command(verb.arguments);
        command
            .env("LD_PRELOAD", self.library)
            .env("FAIL_LOG", self.log)
            .env("FAIL_AT", nth.to_string());
        command.envs(more.iter().map(|(name, value)| (name, value)));
        let run = Run::of(command.output().unwrap());
        (run, fs::read_to_string(self.log).ok())
    }

    fn expected(&self, folder: &Folder, verb: &Verb) -> Expected {
        // Call number 0 does not exist, so no call fails.
        let (run, failed) = self.run(folder, verb, 0, &[]);
        assert_eq!((run.code, failed), (Some(0), None), "{}", run.stderr);
        let written = verb.output.map(|output| folder.read(output));
        let names = folder.names();
        Expected { run, written, names }
    }

    /// Runs the verb once for each of its calls, and makes that call fail. Returns the names of the functions that
    /// failed.
    fn each(&self, folder: &Folder, verb: &Verb, errno: i32, also_later: bool) -> Vec<String> {
        let expected = self.expected(folder, verb);
        let old = verb.output.map(|_| folder.read(verb.keep));
        assert!(
            verb.output.is_none() || old != expected.written,
            "{:?} changes nothing",
            verb.arguments
        );
        let mut more = vec![("FAIL_WITH", errno.to_string())];
        if also_later {
            more.push(("FAIL_ALSO_LATER", String::new()));
        }
        if errno == EINTR {
            more.push(("FAIL_ONLY_INTERRUPTIBLE", String::new()));
        }
        let mut failed = Vec::new();
        for nth in 1.. {
            let (run, function) = self.run(folder, verb, nth, &more);
            let Some(function) = function else { break };
            let what = format!(
                "{:?}, call {nth}, {function}, errno {errno}, {also_later}: {run:?}",
                verb.arguments
            );
            assert_eq!(folder.names(), expected.names, "{what}");
            let written = verb.output.map(|output| folder.read(output));
            assert!(verb.output.is_none_or(|output| is_private(&folder.path(output))), "{what}");
            assert!(folder.path("link").is_symlink(), "{what}");
            if run.code == expected.run.code {
                assert!(run.stdout == expected.run.stdout && written == expected.written, "{what}");
            } else {
                // The program repeats an interrupted call, so EINTR never makes it fail.
                assert!(run.code == Some(2) && errno != EINTR, "{what}");
                assert!(
                    run.stderr.starts_with("trommel: ") && run.stderr.lines().count() == 1,
                    "{what}"
                );
                let is_new = written == expected.written
                    && run.stderr.contains(": written, but a loss of power");
                assert!(verb.output.is_none() || written == old || is_new, "{what}");
            }
            failed.push(function);
        }
        failed
    }
}

fn fails_at_every_call(folder: &Folder, verbs: &[Verb]) {
    // The library and the log are not in `folder`, since the test compares the names of the files in `folder`.
    let tools = tempfile::tempdir().unwrap();
    let failures =
        Failures { library: &tools.path().join("io_errors.so"), log: &tools.path().join("log") };
    if !compile(failures.library) {
        return;
    }
    fs::set_permissions(folder.path("keep"), fs::Permissions::from_mode(0o600)).unwrap();
    for verb in verbs {
        for (errno, also_later) in [(EIO, false), (EIO, true), (ENOSPC, true), (EINTR, false)] {
            let failed = failures.each(folder, verb, errno, also_later);
            let has = |name: &str| failed.iter().any(|function| function == name);
            assert!(has("open64") && has("read"), "{failed:?}");
            if verb.output.is_some() {
                assert!(has("write") && has("fsync"), "{failed:?}");
            }
        }
    }
}

#[test]
fn a_failing_call_is_an_error_and_leaves_the_old_filter_or_the_new_one() {
    let folder = Folder::new();
    folder.write("words", lines(100));
    folder.write("more", lines(200));
    folder.run(["build", "--foldable-by", "8", "-o", "one", "words"]).silent();
    folder.run(["build", "--foldable-by", "8", "--keys", "100", "-o", "other", "more"]).silent();
    folder.run(["build", "-o", "keep", "words"]).silent();
    let writes = |arguments| Verb { arguments, output: Some("filter"), keep: "keep" };
    let reads = |arguments| Verb { arguments, output: None, keep: "keep" };
    fails_at_every_call(
        &folder,
        &[
            writes(&["build", "-o", "link", "more"]),
            writes(&["merge", "-o", "link", "one", "other"]),
            writes(&["fold", "-o", "link", "--fpr", "0.5", "one"]),
            reads(&["query", "keep", "0", "absent"]),
            reads(&["info", "keep"]),
        ],
    );
}

#[test]
#[cfg(feature = "parquet")]
fn a_failing_call_leaves_the_old_parquet_file_or_the_new_one() {
    let folder = Folder::new();
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../integrations/parquet/tests/golden/pyarrow.parquet"
    );
    fs::copy(golden, folder.path("keep")).unwrap();
    let add = Verb {
        arguments: &["parquet", "add", "--column", "plain", "link"],
        output: Some("file"),
        keep: "keep",
    };
    fails_at_every_call(&folder, &[add]);
}
