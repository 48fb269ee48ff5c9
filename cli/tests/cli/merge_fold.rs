//! `trommel merge` and `trommel fold` write the same bytes as the library.

use crate::support::{Folder, lines};
use trommel::{AnyFilter, FilterKind};

#[test]
fn merged_filters_equal_those_of_the_library() {
    let folder = Folder::new();
    for (name, from) in [("a", 0), ("b", 1), ("c", 2)] {
        let text: Vec<u8> = lines(3_000)
            .split_inclusive(|byte| *byte == b'\n')
            .skip(from)
            .step_by(3)
            .flatten()
            .copied()
            .collect();
        folder.write(name, text);
    }
    for kind in FilterKind::ALL {
        for name in ["a", "b", "c"] {
            let filter = format!("{name}.filter");
            folder
                .run(["build", "--kind", kind.name(), "--keys", "4000", "-o", &filter, name])
                .silent();
        }
        folder.run(["merge", "-o", "all", "a.filter", "b.filter", "c.filter"]).silent();
        let mut expected = AnyFilter::from_bytes(&folder.read("a.filter")).unwrap();
        for name in ["b.filter", "c.filter"] {
            expected.merge(&AnyFilter::from_bytes(&folder.read(name)).unwrap()).unwrap();
        }
        assert!(
            folder.read("all") == expected.to_bytes(),
            "{kind}: the union differs from that of the library"
        );
        assert!(
            folder.feed(&lines(3_000), ["query", "all"]).silent().stdout == lines(3_000),
            "{kind}: a line is not in the union"
        );
        // The output may be one of the inputs.
        folder.run(["merge", "-o", "a.filter", "a.filter", "b.filter", "c.filter"]).silent();
        assert!(
            folder.read("a.filter") == expected.to_bytes(),
            "{kind}: the union written to an input differs from that of the library"
        );
    }
}

#[test]
fn a_failed_merge_names_both_filters_and_writes_nothing() {
    let folder = Folder::new();
    folder.write("words", lines(1_000));
    for (name, options) in [
        ("plain", &["--kind", "bloom"][..]),
        ("seeded", &["--kind", "bloom", "--seed", "1"]),
        ("larger", &["--kind", "bloom", "--keys", "5000"]),
        ("cuckoo", &["--kind", "cuckoo"]),
    ] {
        folder.run(["build", "-o", name, "words"].iter().chain(options)).silent();
    }
    folder.write("out", "old");
    for (other, why) in [
        ("seeded", "the filters differ in hash seed: 0 and 1"),
        ("larger", "the filters differ in "),
        ("cuckoo", "a cuckoo filter cannot be merged into a bloom filter"),
    ] {
        let run = folder.run(["merge", "-o", "out", "plain", "plain", other]);
        assert_eq!(run.code, Some(2));
        let expected = format!("trommel: plain and {other} do not merge: {why}");
        assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
        assert_eq!(folder.read("out"), b"old");
    }
    // The keys of two full filters do not fit into one filter of the same size.
    folder.write("others", lines(3_000));
    folder.run(["build", "--kind", "cuckoo", "--keys", "3000", "-o", "many", "others"]).silent();
    folder.write("words", lines(6_000).split_off(50_000));
    folder.run(["build", "--kind", "cuckoo", "--keys", "3000", "-o", "more", "words"]).silent();
    let run = folder.run(["merge", "-o", "out", "many", "more"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.starts_with("trommel: many and more do not merge: the filter is full: "),
        "{}",
        run.stderr
    );
    assert_eq!(folder.read("out"), b"old");
    assert_eq!(folder.run(["merge", "-o", "out", "plain"]).code, Some(2));
}

#[test]
fn folded_filters_equal_those_of_the_library() {
    let folder = Folder::new();
    folder.write("words", lines(2_000));
    for kind in FilterKind::ALL {
        let options = ["build", "--kind", kind.name(), "-o", "filter"];
        let large = ["--keys", "100000", "--foldable-by", "64", "words"];
        let built = folder.run(options.iter().chain(&large));
        if built.code != Some(0) {
            assert!(built.stderr.contains("has no option foldable_by"), "{}", built.stderr);
            folder.run(options.iter().chain(&["words"])).silent();
            let run = folder.run(["fold", "--fpr", "0.5", "-o", "out", "filter"]);
            run.fails_with(&format!("filter: a {kind} filter cannot fold"));
            continue;
        }
        let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
        let Ok(expected) = filter.fold_to_fpr(0.01) else {
            let run = folder.run(["fold", "--fpr", "0.5", "-o", "out", "filter"]);
            run.fails_with(&format!("filter: a {kind} filter cannot fold"));
            continue;
        };
        let expected = expected.unwrap().to_bytes();
        assert!(expected.len() < folder.read("filter").len() / 8);
        folder.run(["fold", "--fpr", "0.01", "-o", "folded", "filter"]).silent();
        assert!(
            folder.read("folded") == expected,
            "{kind}: the folded filter differs from that of the library"
        );
        assert!(folder.feed(&lines(2_000), ["query", "folded"]).silent().stdout == lines(2_000));
        folder.run(["fold", "--fpr", "0.01", "-o", "filter", "filter"]).silent();
        assert!(
            folder.read("filter") == expected,
            "{kind}: the filter folded in place differs from that of the library"
        );

        let again = folder.run(["fold", "--fpr", "0.01", "-o", "again", "folded"]);
        assert_eq!(again.code, Some(0));
        assert!(
            again.stderr.starts_with("trommel: warning: folded: not folded: "),
            "{}",
            again.stderr
        );
        assert!(folder.read("again") == expected);
        let above = folder.run(["fold", "--fpr", "1e-9", "-o", "above", "folded"]);
        assert_eq!(above.code, Some(2));
        assert!(above.stderr.contains("already above 1.000e-9"), "{}", above.stderr);
        assert!(!folder.path("above").exists());
    }
}
