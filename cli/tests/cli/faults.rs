//! Tests what the program does if the disk is full, if a signal ends it, or if the system refuses to start a thread.
//! Also tests devices and pipes in place of filter files.
#![cfg(target_os = "linux")]

use crate::support::{Folder, Run, feed, lines, signal, wait_until};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

/// A command that runs the program with a limit on the length of files: 4 of the blocks in which the shell's
/// `ulimit -f` counts.
/// If a file gets longer, the system sends the signal XFSZ, which ends the program. If `ignores` is true, the program
/// ignores the signal, and gets an error instead, as on a full disk.
fn limited(folder: &Folder, ignores: bool, arguments: &[&str]) -> Command {
    let ignore = if ignores { "trap '' XFSZ;" } else { "" };
    let script = format!(
        "{ignore} ulimit -c 0; ulimit -f 4; exec '{}' \"$@\"",
        env!("CARGO_BIN_EXE_trommel")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).args(arguments).current_dir(folder.folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

const TOO_LARGE: &str = "File too large (os error 27)";

/// A folder with four files: `words` has keys; `one` and `other` are filters of these keys; `old` is a file that the
/// tests try to replace. The filters have about 130 KB each, and can be folded by 8.
fn with_filters() -> Folder {
    let folder = Folder::new();
    folder.write("words", lines(100_000));
    for name in ["one", "other"] {
        folder.run(["build", "--foldable-by", "8", "-o", name, "words"]).silent();
    }
    folder.write("old", "old");
    folder
}

#[test]
fn every_verb_that_writes_a_filter_keeps_the_old_file_if_the_disk_is_full() {
    let folder = with_filters();
    let names = folder.names();
    for output in ["old", "new"] {
        for arguments in [
            &["build", "-o", output, "words"][..],
            &["build", "--kind", "quotient", "-o", output, "words"],
            &["merge", "-o", output, "one", "other"],
            &["fold", "-o", output, "--fpr", "0.5", "one"],
        ] {
            let run = Run::of(limited(&folder, true, arguments).output().unwrap());
            run.fails_with(&format!("{output}: {TOO_LARGE}"));
            assert_eq!(folder.read("old"), b"old", "{arguments:?}");
            assert_eq!(folder.names(), names, "{arguments:?}");
        }
    }
}

#[test]
#[cfg(feature = "parquet")]
fn filters_that_do_not_fit_on_the_disk_leave_the_parquet_file_as_it_was() {
    let folder = Folder::new();
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../integrations/parquet/tests/golden/pyarrow.parquet"
    );
    std::fs::copy(golden, folder.path("file")).unwrap();
    let before = folder.read("file");
    assert!(before.len() > 8 << 10);
    for arguments in [
        &["parquet", "add", "--column", "plain", "file"][..],
        &["parquet", "add", "--column", "plain", "-o", "new", "file"],
    ] {
        let run = Run::of(limited(&folder, true, arguments).output().unwrap());
        assert_eq!((run.code, run.stdout.as_slice()), (Some(2), &b""[..]), "{}", run.stderr);
        assert!(run.stderr.starts_with("trommel: file: "), "{}", run.stderr);
        assert!(
            run.stderr.contains(TOO_LARGE) && run.stderr.lines().count() == 1,
            "{}",
            run.stderr
        );
        assert!(folder.read("file") == before);
        assert_eq!(folder.names(), ["file"], "{arguments:?}");
    }
}

/// The signal XFSZ ends the program in the middle of its output, as SIGKILL would.
#[test]
fn a_program_that_is_ended_while_it_writes_leaves_the_old_file() {
    let folder = with_filters();
    let mut ended =
        limited(&folder, false, &["merge", "-o", "old", "one", "other"]).spawn().unwrap();
    assert_eq!(ended.wait().unwrap().signal(), Some(25));
    assert_eq!(folder.read("old"), b"old");
    let temporary = |name: &String| name.starts_with(".trommel-");
    assert_eq!(folder.names().iter().filter(|name| temporary(name)).count(), 1);
    folder.run(["merge", "-o", "old", "one", "other"]).silent();
    assert_eq!(folder.names(), ["old", "one", "other", "words"]);
}

/// The merge and the fold are interrupted while they wait for a filter that they read from a pipe.
#[test]
fn interrupted_merges_and_folds_leave_only_the_old_file() {
    let folder = Folder::new();
    folder.write("words", lines(100));
    folder.run(["build", "-o", "filter", "words"]).silent();
    folder.write("old", "old");
    for arguments in [
        &["merge", "-o", "old", "filter", "/dev/stdin"][..],
        &["fold", "-o", "old", "--fpr", "0.5", "/dev/stdin"],
    ] {
        for (name, number) in [("INT", 2), ("TERM", 15)] {
            let before = folder.names();
            let mut child = folder.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
            // If the pipe stayed in `child.stdin`, `wait` would close it, and the program could find the end of its
            // input before it handles the signal.
            let _pipe = child.stdin.take();
            wait_until(|| folder.names().len() > before.len());
            signal(&child, name);
            assert_eq!(child.wait().unwrap().signal(), Some(number), "{arguments:?}");
            assert_eq!(folder.names(), before, "{arguments:?}");
            assert_eq!(folder.read("old"), b"old");
        }
    }
}

#[test]
fn a_pipe_with_fewer_or_more_bytes_than_a_filter_is_refused() {
    let folder = Folder::new();
    folder.write("words", lines(1_000));
    folder.run(["build", "-o", "filter", "words"]).silent();
    let filter = folder.read("filter");
    let info = |input: &[u8]| feed(folder.command(["info", "/dev/stdin"]), input);
    info(&filter).silent();
    let (len, one_more) = (filter.len(), filter.len() + 1);
    // 64 MiB of zeros follow the filter, more than a pipe's buffer holds. The command must read one zero and fail.
    let longer = [&filter[..], &vec![0; 64 << 20]].concat();
    let message = format!("the container ends after {len} bytes, got {one_more}");
    info(&longer).fails_with(&format!("/dev/stdin: trailing bytes: {message}"));
    for kept in [0, 100, 128, 129, len - 1] {
        let need = if kept < 128 { 128 } else { len };
        let message = format!("truncated: {need} bytes needed, got {kept}");
        info(&filter[..kept]).fails_with(&format!("/dev/stdin: {message}"));
    }
}

#[test]
fn an_endless_device_is_no_filter() {
    let folder = Folder::new();
    folder.write("words", lines(100));
    folder.run(["build", "-o", "filter", "words"]).silent();
    let message = "/dev/zero: not a Trommel container: magic 0x0000000000000000";
    folder.run(["info", "/dev/zero"]).fails_with(message);
    folder.run(["query", "/dev/zero", "anvil"]).fails_with(message);
    folder.run(["merge", "-o", "new", "filter", "/dev/zero"]).fails_with(message);
    folder.run(["fold", "-o", "new", "--fpr", "0.5", "/dev/zero"]).fails_with(message);
    assert_eq!(folder.names(), ["filter", "words"]);
}

/// The variable RUST_MIN_STACK asks for thread stacks larger than the address space, so the system refuses to start any
/// thread.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_refused_thread_is_an_error_and_leaves_the_older_file() {
    let folder = Folder::new();
    folder.write("words", lines(100));
    folder.run(["build", "-o", "filter", "words"]).silent();
    let older = folder.read("filter");
    folder.write("words", lines(200));
    let starved = |threads: &str, verb: &[&str]| {
        let mut command = folder.command(verb);
        command.args(["--threads", threads]).env("RUST_MIN_STACK", (1u64 << 62).to_string());
        Run::of(command.output().unwrap())
    };
    // The caller's thread is one of the engine's threads. So an engine of one thread starts none, and the first threads
    // to be refused are the two that read and hash the keys. An engine of two threads starts one, which is refused.
    for (threads, refused) in [("1", "2 threads"), ("2", "a thread")] {
        let why = "Resource temporarily unavailable (os error 11)";
        let message = format!("the system refused to start {refused}: {why}");
        starved(threads, &["build", "-o", "filter", "words"]).fails_with(&message);
        starved(threads, &["query", "filter"]).fails_with(&message);
    }
    assert_eq!(folder.read("filter"), older);
    assert_eq!(folder.names(), ["filter", "words"]);
}
