//! `trommel query`: the keys that it prints, their order, and its exit codes.

use crate::support::{Folder, hashes_of_lines, library, lines};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use trommel::{Filter as _, FilterKind, FilterSpec, Hasher, Insert as _};

#[test]
fn query_gives_the_same_answers_as_the_library() {
    let folder = Folder::new();
    let held = lines(20_000);
    // The first half of these lines is in the filter.
    let asked = lines(40_000);
    folder.write("asked", &asked);
    let hashes = hashes_of_lines(&asked, 0);
    for kind in FilterKind::ALL {
        let filter = library(*kind, &hashes_of_lines(&held, 0));
        folder.write("filter", filter.to_bytes());
        let (mut present, mut absent) = (Vec::new(), Vec::new());
        for (line, hash) in asked.split_inclusive(|byte| *byte == b'\n').zip(&hashes) {
            let printed = if filter.contains_hash(*hash) { &mut present } else { &mut absent };
            printed.extend_from_slice(line);
        }
        assert!(
            folder.feed(&asked, ["query", "filter"]).silent().stdout == present,
            "{kind}: the program and the library report different keys as present"
        );
        let run = folder.feed(&asked, ["query", "--absent", "--threads", "1", "filter"]);
        assert!(
            run.silent().stdout == absent,
            "{kind}: the program and the library report different keys as absent"
        );
    }
}

#[test]
fn exit_codes_are_those_of_grep() {
    let folder = Folder::new();
    folder.feed(b"anvil\nforge\n", ["build", "--fpr", "1e-5", "-o", "filter"]).silent();
    for (arguments, code, printed) in [
        (&["forge", "tongs", "anvil", "anvil"][..], 0, "forge\nanvil\nanvil\n"),
        (&["tongs"], 1, ""),
        (&["--absent", "forge", "tongs"], 0, "tongs\n"),
        (&["--absent", "forge"], 1, ""),
    ] {
        let run = folder.run(["query", "filter"].iter().chain(arguments));
        assert_eq!((run.code, run.text(), run.stderr.as_str()), (Some(code), printed, ""));
        let (options, keys): (Vec<&str>, Vec<&str>) =
            arguments.iter().partition(|argument| argument.starts_with("--"));
        let run =
            folder.feed(keys.join("\n").as_bytes(), ["query", "filter"].iter().chain(&options));
        assert_eq!((run.code, run.text(), run.stderr.as_str()), (Some(code), printed, ""));
    }
    assert_eq!(folder.feed(b"", ["query", "filter"]).code, Some(1));
    assert_eq!(folder.run(["query", "missing", "anvil"]).code, Some(2));
    assert_eq!(folder.run(["query"]).code, Some(2));
}

#[test]
fn keys_may_be_any_bytes_and_are_hashed_with_the_hash_of_the_filter() {
    let folder = Folder::new();
    let mut filter = FilterSpec::new(FilterKind::Bloom).keys(3).fpr(1e-6).seed(7).build().unwrap();
    for key in [&b"\xff\xfe"[..], b"", b"--absent"] {
        filter.insert(key).unwrap();
    }
    folder.write("filter", filter.to_bytes());
    let run = folder.feed(b"\xff\xfe\n\n\xff\n\r\n--absent", ["query", "filter"]);
    assert_eq!(run.silent().stdout, b"\xff\xfe\n\n--absent\n");
    assert_eq!(
        folder.run(["query", "filter", "--", "--absent", ""]).silent().text(),
        "--absent\n\n"
    );
    let mut parquet = FilterSpec::new(FilterKind::SplitBlockBloom)
        .hasher(Hasher::PARQUET)
        .keys(1)
        .build()
        .unwrap();
    parquet.insert("anvil").unwrap();
    folder.write("filter", parquet.to_bytes());
    assert_eq!(folder.run(["query", "filter", "anvil"]).silent().text(), "anvil\n");
}

#[test]
fn keys_that_come_one_by_one_are_answered_one_by_one() {
    let folder = Folder::new();
    folder.feed(b"anvil\nforge\n", ["build", "--fpr", "1e-5", "-o", "filter"]).silent();
    let mut child = folder.command(["query", "filter"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for key in ["forge\n", "anvil\n"] {
        stdin.write_all(b"tongs\n").unwrap();
        stdin.write_all(key.as_bytes()).unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer, key);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_error_for_a_key_that_is_not_a_number_names_its_line() {
    let folder = Folder::new();
    folder.feed(b"1\n", ["build", "--key-type", "u32", "-o", "filter"]).silent();
    folder
        .feed(b"1\n\n", ["query", "--absent", "--key-type", "u32", "filter"])
        .fails_with("standard input: line 2: \"\" is not a valid u32");
    folder
        .run(["query", "--key-type", "u32", "filter", "1", "x"])
        .fails_with("argument \"x\": \"x\" is not a valid u32");
    folder
        .feed(b"1\n2\n-3\n", ["build", "--key-type", "u32", "-o", "other"])
        .fails_with("standard input: line 3: \"-3\" is not a valid u32");
    assert_eq!(folder.names(), ["filter"]);
}
