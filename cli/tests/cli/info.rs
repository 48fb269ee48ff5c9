//! `trommel info`: text for people and JSON for programs.

use crate::support::{Folder, hashes_of_lines, library, lines};
use serde_json::Value;
use trommel::{AnyFilter, Filter as _, FilterKind};

fn json(folder: &Folder, file: &str) -> Value {
    serde_json::from_slice(&folder.run(["info", "--json", file]).silent().stdout).unwrap()
}

#[test]
fn json_has_the_values_of_the_library() {
    let folder = Folder::new();
    let text = lines(10_000);
    for kind in FilterKind::ALL {
        let filter = library(*kind, &hashes_of_lines(&text, 0));
        let bytes = filter.to_bytes();
        folder.write("filter", &bytes);
        let info = json(&folder, "filter");
        assert_eq!(info["file"], "filter");
        assert_eq!(info["format_version"], 1);
        assert_eq!(info["kind"], kind.name());
        assert_eq!(info["keys"], filter.len());
        assert_eq!(info["file_bytes"], bytes.len());
        assert_eq!(info["table_bytes"], bytes.len() - 128);
        for (field, expected) in [
            ("bits_per_key", filter.bits_per_key()),
            ("expected_fpr", filter.expected_fpr()),
            ("estimated_distinct_keys", filter.estimate_len()),
        ] {
            // serde_json's parser may be wrong in the last digit.
            let value = info[field].as_f64().unwrap();
            assert!((value - expected).abs() <= expected * 1e-12, "{kind}, {field}: {value}");
        }
        assert_eq!(info["bits_set_per_key"].as_u64(), filter.hash_count().map(u64::from));
        assert_eq!(info["hash"]["function"], "xxh3-64");
        assert_eq!(info["checksum_ok"], true);
        assert_eq!(info["fill"]["regions"].as_array().unwrap().len(), 64);
        let unit = if filter.load_factor().is_some() { "slots" } else { "bits" };
        assert_eq!(info["fill"]["of"], unit);
        assert_eq!(info["can"]["merge"], true);
    }
}

#[test]
fn the_json_has_the_fields_that_the_readme_lists() {
    let folder = Folder::new();
    folder.feed(b"anvil\n", ["build", "--seed", "18446744073709551615", "-o", "filter"]).silent();
    let info = json(&folder, "filter");
    let fields =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let expected = [
        "bits_per_key",
        "bits_set_per_key",
        "can",
        "checksum_ok",
        "estimated_distinct_keys",
        "expected_fpr",
        "file",
        "file_bytes",
        "fill",
        "format_version",
        "hash",
        "keys",
        "kind",
        "table_bytes",
    ];
    assert_eq!(fields(&info), expected);
    assert_eq!(fields(&info["fill"]), ["fraction", "of", "regions"]);
    assert_eq!(fields(&info["hash"]), ["function", "seed"]);
    assert_eq!(fields(&info["can"]), ["count", "fold", "intersect", "merge", "remove"]);
    assert_eq!(info["hash"]["seed"], "18446744073709551615");
    let page = include_str!("../../README.md");
    for field in expected {
        assert!(page.contains(&format!("`{field}`")), "{field}");
    }
}

#[test]
fn the_text_shows_the_kind_the_operations_and_the_fill() {
    let folder = Folder::new();
    folder.write("words", lines(1_000));
    for kind in FilterKind::ALL {
        folder.run(["build", "--kind", kind.name(), "-o", "filter", "words"]).silent();
        let filter = AnyFilter::from_bytes(&folder.read("filter")).unwrap();
        for (locale, full) in [("C.UTF-8", '█'), ("C", '#')] {
            let mut command = folder.command(["info", "filter"]);
            command.env_remove("LC_ALL").env_remove("LC_CTYPE").env("LANG", locale);
            let output = command.output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.is_ascii() == (locale == "C"));
            let line = |what: &str| {
                let line = text.lines().find(|line| line.starts_with(what));
                line.unwrap_or_else(|| panic!("{what}: {text}")).to_owned()
            };
            assert!(line("kind").ends_with(kind.name()));
            assert!(line("hash").ends_with("xxh3-64, seed 0"));
            assert!(line("checksums").ends_with("correct"));
            let removes = filter.clone().remove_hash(trommel::KeyHash::default()).is_ok();
            assert_eq!(line("can ").contains("remove"), removes);
            assert_eq!(line("cannot ").contains("remove"), !removes);
            assert!(line("fill").contains(full) && line("fill").contains(" % of "), "{text}");
            assert!(line("by region").contains(" to "));
        }
    }
    // An empty filter causes no division by zero.
    for kind in FilterKind::ALL {
        folder.feed(b"", ["build", "--kind", kind.name(), "-o", "filter"]).silent();
        let text = folder.run(["info", "filter"]);
        assert!(
            !text.silent().text().contains("NaN") && !text.text().contains("inf"),
            "{}",
            text.text()
        );
        assert!(json(&folder, "filter")["keys"] == 0);
    }
}
