//! Tests of errors: a message names the file and, if the error is in a line, the line. A command that fails changes no
//! files.

use crate::support::{Folder, lines};
use std::fs::{self, File, OpenOptions};
use std::process::{Command, Stdio};

#[test]
fn unreadable_inputs_are_refused_before_any_input_is_read() {
    let folder = Folder::new();
    folder.write("words", "anvil\n");
    fs::create_dir(folder.path("folder")).unwrap();
    folder
        .run(["build", "-o", "filter", "words", "missing"])
        .fails_with("missing: No such file or directory (os error 2)");
    folder.run(["build", "-o", "filter", "words", "folder"]).fails_with("folder: is a directory");
    folder.run(["query", "folder", "anvil"]).fails_with("folder: is a directory");
    folder.run(["info", "missing"]).fails_with("missing: No such file or directory (os error 2)");
    assert_eq!(folder.names(), ["folder", "words"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_read_error_names_the_line_after_those_that_were_read() {
    let folder = Folder::new();
    folder.write("words", "anvil\nforge\n");
    // An offset in this file is an address in the memory of the process. Reading at offset 0 fails, since no memory is
    // mapped at address 0.
    folder
        .run(["build", "--keys", "10", "-o", "filter", "words", "/proc/self/mem"])
        .fails_with("/proc/self/mem: line 1: Input/output error (os error 5)");
    assert_eq!(folder.names(), ["words"]);
}

#[test]
#[cfg(target_os = "linux")]
fn input_without_line_feeds_does_not_take_all_memory() {
    let folder = Folder::new();
    folder
        .run(["build", "--keys", "10", "-o", "filter", "/dev/zero"])
        .fails_with("/dev/zero: line 1: too long: 268435456 bytes or more");
}

#[test]
fn unwritable_outputs_are_refused_and_leave_no_files() {
    let folder = Folder::new();
    folder.write("words", "anvil\n");
    fs::create_dir(folder.path("folder")).unwrap();
    for (output, message) in [
        ("folder", "folder: is a directory"),
        ("missing/filter", "missing/filter: No such file or directory (os error 2)"),
        ("words/filter", "words/filter: not a directory"),
        ("folder/..", "folder/..: is a directory"),
    ] {
        folder.run(["build", "-o", output, "words"]).fails_with(message);
    }
    assert_eq!(folder.names(), ["folder", "words"]);
    assert_eq!(fs::read_dir(folder.path("folder")).unwrap().count(), 0);
}

#[test]
fn an_input_is_not_replaced_by_its_filter() {
    let folder = Folder::new();
    folder.write("words", "anvil\n");
    folder
        .run(["build", "-o", "./words", "words"])
        .fails_with("./words is an input: the filter would replace it");
    assert_eq!(folder.read("words"), b"anvil\n");
}

#[test]
#[cfg(target_os = "linux")]
fn verbs_that_write_to_standard_output_report_a_full_device() {
    let folder = Folder::new();
    folder.write("words", "anvil\n");
    folder.run(["build", "-o", "filter", "words"]).silent();
    let message = "No space left on device (os error 28)";
    folder.run(["build", "-o", "/dev/full", "words"]).fails_with(&format!("/dev/full: {message}"));
    for arguments in [
        &["build", "-o", "-", "words"][..],
        &["query", "filter", "anvil"],
        &["query", "filter"],
        &["info", "filter"],
        &["info", "--json", "filter"],
        &["merge", "-o", "-", "filter", "filter"],
        &["fold", "-o", "-", "--fpr", "0.5", "filter"],
        &["man"],
        &["completions", "bash"],
    ] {
        let mut command = folder.command(arguments);
        command.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
        command.stdin(File::open(folder.path("words")).unwrap());
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.ends_with(&format!("trommel: standard output: {message}\n")),
            "{arguments:?}: {stderr}"
        );
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_build_that_exceeds_a_size_limit_leaves_only_the_old_file() {
    let folder = Folder::new();
    folder.write("words", lines(100_000));
    folder.write("filter", "old");
    // Limits files to one block. If a program writes more, the system ends it by the signal XFSZ. This shell makes the
    // program ignore the signal, so the write returns an error instead.
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec '{}' build -o filter words",
        env!("CARGO_BIN_EXE_trommel")
    );
    let limited = Command::new("sh").args(["-c", &script]).current_dir(folder.folder()).output();
    let limited = limited.unwrap();
    let stderr = String::from_utf8(limited.stderr).unwrap();
    assert_eq!(stderr, "trommel: filter: File too large (os error 27)\n");
    assert_eq!(limited.status.code(), Some(2));
    assert_eq!(folder.read("filter"), b"old");
    assert_eq!(folder.names(), ["filter", "words"]);
}

#[test]
fn a_failed_build_leaves_the_old_file() {
    let folder = Folder::new();
    folder.write("words", lines(10_000));
    folder.write("filter", "old");
    let full =
        folder.run(["build", "--kind", "quotient", "--keys", "100", "-o", "filter", "words"]);
    assert_eq!(full.code, Some(2));
    assert_eq!(folder.read("filter"), b"old");
    assert_eq!(folder.names(), ["filter", "words"]);
}

#[test]
fn a_full_filter_names_the_line_that_did_not_fit() {
    let folder = Folder::new();
    folder.write("a", lines(50));
    let all = lines(1_000);
    let first: usize = all.split_inclusive(|byte| *byte == b'\n').take(50).map(<[u8]>::len).sum();
    folder.write("b", &all[first..]);
    for kind in ["quotient", "cache-line-quotient", "cuckoo"] {
        let options = ["build", "--kind", kind, "--keys", "100", "-o", "filter"];
        let one = folder.feed(&all, options);
        let two = folder.run(options.iter().chain(&["a", "b"]));
        assert_eq!((one.code, two.code), (Some(2), Some(2)));
        let line = |stderr: &str, name: &str| {
            let text = stderr
                .strip_prefix(&format!("trommel: {name}: line "))
                .unwrap_or_else(|| panic!("{stderr}"));
            let (line, rest) = text.split_once(':').unwrap();
            assert!(rest.starts_with(" the filter is full, with "), "{stderr}");
            line.parse::<u64>().unwrap()
        };
        let line_of_all = line(&one.stderr, "standard input");
        assert!(line_of_all > 100, "{kind}: {line_of_all}");
        assert_eq!(line(&two.stderr, "b"), line_of_all - 50, "{kind}");
        // All lines before the named line fit, and the named line does not. This is not tested for cuckoo filters: a
        // shorter input is divided into other batches, which can move other fingerprints, so another number of lines
        // can fit.
        let upto = |lines: u64| -> Vec<u8> {
            all.split_inclusive(|byte| *byte == b'\n')
                .take(lines as usize)
                .flatten()
                .copied()
                .collect()
        };
        if kind != "cuckoo" {
            assert_eq!(folder.feed(&upto(line_of_all - 1), options).code, Some(0), "{kind}");
            assert_eq!(folder.feed(&upto(line_of_all), options).code, Some(2), "{kind}");
            fs::remove_file(folder.path("filter")).unwrap();
        }
    }
}

#[test]
fn impossible_rates_and_sizes_are_refused_before_inputs_are_read() {
    let folder = Folder::new();
    for fpr in ["0", "1", "-0.5", "NaN", "inf", "x"] {
        let run = folder.run(["build", "--fpr", fpr, "-o", "filter", "missing"]);
        assert_eq!(run.code, Some(2), "{fpr}");
        assert!(run.stderr.contains("--fpr"), "{}", run.stderr);
    }
    folder.write("words", "anvil\n");
    for (kind, fpr, keys) in [
        ("register-bloom", "1e-12", "1000"),
        ("bloom", "0.01", "1e15"),
        ("quotient", "1e-300", "1000"),
    ] {
        let run = folder
            .run(["build", "--kind", kind, "--fpr", fpr, "--keys", keys, "-o", "filter", "words"]);
        assert_eq!((run.code, run.stdout.len()), (Some(2), 0));
        assert!(
            run.stderr.starts_with(&format!("trommel: cannot make this {kind} filter: ")),
            "{}",
            run.stderr
        );
    }
    let run = folder.run(["build", "--kind", "blom", "-o", "filter", "words"]);
    assert!(run.code == Some(2) && run.stderr.contains("split-block-bloom"), "{run:?}");
    for threads in ["0", "18446744073709551615"] {
        let run = folder.run(["build", "--threads", threads, "-o", "filter", "words"]);
        assert!(run.code == Some(2) && run.stderr.starts_with("trommel: "), "{run:?}");
    }
    assert_eq!(folder.names(), ["words"]);
}

#[test]
fn files_that_are_not_filters_are_refused_by_every_verb_that_reads_filters() {
    let folder = Folder::new();
    folder.write("words", "anvil\n");
    folder.run(["build", "-o", "filter", "words"]).silent();
    let good = folder.read("filter");
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    folder.write("damaged", &damaged);
    folder.write("short", &good[..good.len() - 1]);
    folder.write("empty", "");
    for (bad, message) in [
        ("damaged", "payload checksum 0x"),
        ("short", "truncated: "),
        ("empty", "truncated: "),
        ("words", "truncated: "),
    ] {
        for arguments in [
            &["query", bad, "anvil"][..],
            &["info", bad],
            &["merge", "-o", "out", "filter", bad],
            &["merge", "-o", "out", bad, "filter"],
            &["fold", "-o", "out", "--fpr", "0.5", bad],
        ] {
            let run = folder.run(arguments);
            assert_eq!((run.code, run.stdout.len()), (Some(2), 0), "{arguments:?}");
            let expected = format!("trommel: {bad}: {message}");
            assert!(run.stderr.starts_with(&expected), "{arguments:?}: {}", run.stderr);
        }
    }
    assert_eq!(folder.names(), ["damaged", "empty", "filter", "short", "words"]);
}

#[test]
fn the_program_ends_without_an_error_when_its_reader_closes_stdout() {
    let folder = Folder::new();
    let text = lines(300_000);
    folder.write("words", &text);
    folder.run(["build", "-o", "filter", "words"]).silent();
    for arguments in
        [&["query", "filter"][..], &["info", "filter"], &["build", "-o", "-", "words"], &["man"]]
    {
        let mut command = folder.command(arguments);
        command.stdin(File::open(folder.path("words")).unwrap()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{arguments:?}"
        );
    }
}

#[test]
#[cfg(unix)]
fn an_existing_file_keeps_its_permissions_and_a_link_stays_a_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new();
    folder.write("words", "anvil\n");
    let target = folder.write("target", "old");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o604)).unwrap();
    symlink("target", folder.path("link")).unwrap();
    folder.run(["build", "-o", "link", "words"]).silent();
    assert!(fs::symlink_metadata(folder.path("link")).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o604);
    folder.run(["info", "target"]).silent();
    // The user's umask applies to a new file.
    let script = format!("umask 027; exec '{}' build -o new words", env!("CARGO_BIN_EXE_trommel"));
    assert!(
        Command::new("sh")
            .args(["-c", &script])
            .current_dir(folder.folder())
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(fs::metadata(folder.path("new")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
#[cfg(unix)]
fn devices_and_pipes_are_written_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let folder = Folder::new();
    folder.write("words", "anvil\n");
    folder.run(["build", "-o", "filter", "words"]).silent();
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    let pipe = folder.path("pipe");
    let reader = std::thread::spawn(move || fs::read(pipe).unwrap());
    folder.run(["build", "-o", "pipe", "words"]).silent();
    assert_eq!(reader.join().unwrap(), folder.read("filter"));
    assert!(fs::symlink_metadata(folder.path("pipe")).unwrap().file_type().is_fifo());
}

/// The program cannot look up keys in a filter whose keys were hashed with a secret key: the filter's file does not
/// contain the secret key, and no option of the program takes one.
#[test]
fn a_filter_of_a_secret_key_is_refused_with_the_reason() {
    let folder = Folder::new();
    let hasher = trommel::Hasher::siphash13(*b"0123456789abcdef");
    let spec = trommel::FilterSpec::new(trommel::FilterKind::Bloom).keys(10).hasher(hasher);
    folder.write("keyed", spec.build().unwrap().to_bytes());
    let message = format!(
        "keyed: the filter's keys were hashed with a secret key, which was not given; its key check is {:#018x}",
        hasher.seed()
    );
    folder.run(["info", "keyed"]).fails_with(&message);
    folder.run(["query", "keyed", "anvil"]).fails_with(&message);
}
