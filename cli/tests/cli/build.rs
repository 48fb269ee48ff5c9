//! Tests that `trommel build` writes the same bytes as the library.

use crate::support::{Folder, hashes_of_lines, library, lines};
use trommel::{AnyFilter, Filter as _, FilterKind, FilterSpec, Hasher, Insert as _};

#[test]
fn every_kind_has_the_same_bytes_as_from_the_library() {
    let folder = Folder::new();
    // The bytes of a cuckoo filter depend on how keys are divided into batches. The command inserts all keys of this
    // test as one batch, as the library does.
    let text = lines(3_000);
    folder.write("words", &text);
    let hashes = hashes_of_lines(&text, 0);
    for kind in FilterKind::ALL {
        let expected = library(*kind, &hashes).to_bytes();
        let name = kind.name();
        folder.run(["build", "--kind", name, "-o", "counted", "words"]).silent();
        folder.run(["build", "--kind", name, "--keys", "3e3", "-o", "sized", "words"]).silent();
        folder.feed(&text, ["build", "--kind", name, "-o", "fed"]).silent();
        for built in ["counted", "sized", "fed"] {
            assert!(
                folder.read(built) == expected,
                "{kind}: the file {built} differs from the bytes of the library"
            );
        }
        let to_stdout = folder.run(["build", "--kind", name, "-o", "-", "words"]);
        assert!(
            to_stdout.silent().stdout == expected,
            "{kind}: standard output differs from the bytes of the library"
        );
    }
    assert_eq!(folder.names(), ["counted", "fed", "sized", "words"]);
}

#[test]
fn many_lines_give_the_bytes_of_the_library_with_one_or_two_threads() {
    let folder = Folder::new();
    let text = lines(150_000);
    folder.write("words", &text);
    let hashes = hashes_of_lines(&text, 0);
    for kind in FilterKind::ALL {
        let expected = library(*kind, &hashes).to_bytes();
        for threads in ["1", "2"] {
            let options = ["build", "--kind", kind.name(), "--threads", threads];
            folder.run(options.iter().chain(&["-o", "filter", "words"])).silent();
            assert!(
                folder.read("filter") == expected,
                "{kind}, {threads} threads: a file gives other bytes than the library"
            );
            folder.feed(&text, options.iter().chain(&["-o", "filter"])).silent();
            assert!(
                folder.read("filter") == expected,
                "{kind}, {threads} threads: standard input gives other bytes than the library"
            );
        }
    }
}

#[test]
fn the_library_finds_every_line_in_a_filter_of_the_command_line() {
    let folder = Folder::new();
    let text = lines(50_000);
    folder.write("words", &text);
    for kind in FilterKind::ALL {
        folder.run(["build", "--kind", kind.name(), "-o", "filter", "words"]).silent();
        let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
        assert_eq!(filter.kind(), *kind);
        assert!(
            hashes_of_lines(&text, 0).iter().all(|hash| filter.contains_hash(*hash)),
            "{kind}: a line is not found"
        );
    }
}

#[test]
fn a_key_is_a_line_without_its_line_feed_and_otherwise_unchanged() {
    let folder = Folder::new();
    let text = b"anvil\n\nforge\r\n \xff\0\xfe \nlast";
    let keys: [&[u8]; 5] = [b"anvil", b"", b"forge\r", b" \xff\0\xfe ", b"last"];
    let mut expected = FilterSpec::new(FilterKind::SplitBlockBloom).keys(5).build().unwrap();
    for key in keys {
        expected.insert(key).unwrap();
    }
    folder.feed(text, ["build", "-o", "fed"]).silent();
    folder.write("words", text);
    folder.run(["build", "-o", "read", "words"]).silent();
    for built in ["fed", "read"] {
        assert_eq!(AnyFilter::from_bytes(&folder.read(built)).unwrap(), expected);
    }
}

#[test]
fn several_inputs_are_read_one_after_another() {
    let folder = Folder::new();
    folder.write("a", "anvil\nforge");
    folder.write("b", "tongs\n");
    folder.write("none", "");
    folder.write("all", "anvil\nforge\ntongs\nbellows\n");
    folder.run(["build", "-o", "expected", "all"]).silent();
    folder.feed(b"bellows", ["build", "-o", "filter", "a", "none", "b", "-"]).silent();
    assert_eq!(folder.read("filter"), folder.read("expected"));
    folder.write("c", "bellows");
    folder.run(["build", "-o", "filter", "a", "none", "b", "c"]).silent();
    assert_eq!(folder.read("filter"), folder.read("expected"));
}

#[test]
fn an_empty_input_gives_a_filter_for_no_keys() {
    let folder = Folder::new();
    for kind in FilterKind::ALL {
        folder.feed(b"", ["build", "--kind", kind.name(), "-o", "filter"]).silent();
        let expected = FilterSpec::new(*kind).build().unwrap();
        assert_eq!(AnyFilter::from_bytes(&folder.read("filter")).unwrap(), expected);
    }
}

#[test]
fn the_seed_is_stored_and_used_for_hashing() {
    let folder = Folder::new();
    folder.feed(b"anvil\n", ["build", "--seed", "18446744073709551615", "-o", "filter"]).silent();
    let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
    assert_eq!(filter.hasher(), Hasher::xxh3(u64::MAX));
    assert!(filter.contains("anvil"));
}

#[test]
fn number_keys_equal_the_integers_that_programs_insert() {
    let folder = Folder::new();
    for (key_type, text) in [("i64", "-5\n7\n"), ("u64", "18446744073709551615\n7\n")] {
        folder.feed(text.as_bytes(), ["build", "--key-type", key_type, "-o", "filter"]).silent();
        let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
        assert!(filter.contains(&7u64) && !filter.contains("7"));
        assert_eq!(filter.contains(&-5i64), key_type == "i64");
        assert_eq!(filter.contains(&u64::MAX), key_type == "u64");
    }
    folder.feed(b"-5\n7\n", ["build", "--key-type", "i32", "-o", "filter"]).silent();
    let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
    assert!(filter.contains(&-5i32) && filter.contains(&7u32) && !filter.contains(&7u64));
    let asked = folder.feed(b"7\n8\n-5\n", ["query", "--key-type", "i32", "filter"]);
    assert_eq!(asked.silent().text(), "7\n-5\n");
    let asked = folder.run(["query", "--key-type", "i32", "filter", "--", "-5", "8"]);
    assert_eq!(asked.silent().text(), "-5\n");
}

#[test]
fn more_keys_than_planned_raise_the_fpr_and_cause_a_warning() {
    let folder = Folder::new();
    folder.write("words", lines(2_000));
    let run = folder.run(["build", "--keys", "1000", "-o", "filter", "words"]);
    assert_eq!((run.code, run.stdout.len()), (Some(0), 0));
    let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
    let expected = format!("{:.1} %", filter.expected_fpr() * 100.0);
    assert_eq!(
        run.stderr,
        format!(
            "trommel: warning: 2,000 keys instead of 1,000: the expected false-positive rate is {expected} instead of 1.000 %\n"
        )
    );
    // Fewer keys than planned cause no warning.
    folder.run(["build", "--keys", "10000", "-o", "filter", "words"]).silent();
}

#[test]
fn files_whose_first_line_ends_in_a_carriage_return_cause_a_warning() {
    let folder = Folder::new();
    folder.write("dos", "anvil\r\nforge\r\n");
    folder.write("unix", "anvil\nforge\r\n");
    let run = folder.run(["build", "-o", "filter", "unix", "dos"]);
    assert_eq!(run.code, Some(0));
    let warning =
        "trommel: warning: dos: the first line ends in CR, and each CR is part of a key\n";
    assert_eq!(run.stderr, warning);
    let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
    assert!(filter.contains("anvil\r") && filter.contains("anvil"));
}
