//! Tests of `trommel parquet`, and of commands that read keys from a column of a Parquet file. The Parquet files here
//! are those that the tests of the crate trommel-parquet use. The script integrations/parquet/tests/golden/make.py
//! defines what these files contain, and has written them with pyarrow and DuckDB.
#![cfg(feature = "parquet")]

use crate::support::{Folder, signal};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;
use trommel::{AnyFilter, Filter as _};

/// The number of row groups in each file.
const GROUPS: i64 = 3;
/// The number of distinct values of a column in each row group.
const DISTINCT: i64 = 40;

fn golden(writer: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../integrations/parquet/tests/golden");
    PathBuf::from(folder).join(format!("{writer}.parquet"))
}

fn with_golden(writer: &str) -> Folder {
    let folder = Folder::new();
    fs::copy(golden(writer), folder.path("file")).unwrap();
    folder
}

fn inspect(folder: &Folder, file: &str) -> Value {
    let run = folder.run(["parquet", "inspect", "--json", file]);
    serde_json::from_slice(&run.silent().stdout).unwrap()
}

fn filters_of<'v>(inspected: &'v Value, column: &str) -> &'v Vec<Value> {
    let columns = inspected["columns"].as_array().unwrap();
    let column = columns.iter().find(|each| each["path"] == column);
    column.unwrap_or_else(|| panic!("{inspected}"))["filters"].as_array().unwrap()
}

#[test]
fn all_filters_of_pyarrow_and_duckdb_files_are_listed() {
    for writer in ["pyarrow", "duckdb"] {
        let folder = with_golden(writer);
        let inspected = inspect(&folder, "file");
        assert_eq!((&inspected["rows"], &inspected["row_groups"]), (&6144.into(), &3.into()));
        let filters = filters_of(&inspected, "id");
        assert_eq!(filters.len(), 3, "{writer}");
        for (group, filter) in filters.iter().enumerate() {
            assert_eq!(filter["row_group"], group);
            let estimate = filter["estimated_distinct"].as_f64().unwrap();
            assert!((estimate - 40.0).abs() < 12.0, "{estimate}");
            assert!(filter["estimated_fpr"].as_f64().unwrap() < 0.2);
            let bytes = fs::read(folder.path("file")).unwrap();
            let begin = filter["offset"].as_u64().unwrap() as usize;
            let end = begin + filter["bytes"].as_u64().unwrap() as usize;
            trommel_parquet::ChunkFilter::parse(&bytes[begin..end]).unwrap();
        }
        if writer == "pyarrow" {
            assert!(filters_of(&inspected, "plain").is_empty());
        }
        let text = folder.run(["parquet", "inspect", "file"]);
        assert!(text.silent().text().contains("6,144 rows in 3 row groups"), "{}", text.text());
        assert!(text.text().contains("id (INT64"), "{}", text.text());
    }
}

#[test]
fn keys_are_printed_with_the_row_groups_that_may_have_them() {
    for writer in ["pyarrow", "duckdb"] {
        let folder = with_golden(writer);
        // In every column, value number k is only in row group k / 40.
        let text = |column: &str, k: i64| match column {
            "id" => (k * k * 7919 + k).to_string(),
            "small" => (k * 31 - 500).to_string(),
            "price" => (k as f64 * 1.5 - 20.0).to_string(),
            "name" => format!("customer-{k}"),
            other => panic!("{other}"),
        };
        for column in ["id", "small", "price", "name"] {
            let keys: Vec<String> = (0..GROUPS * DISTINCT).map(|k| text(column, k)).collect();
            let probe = ["parquet", "probe", "--column", column, "file"];
            let fed = folder.feed((keys.join("\n") + "\n").as_bytes(), probe);
            let printed: Vec<&str> = fed.silent().text().lines().collect();
            assert_eq!(printed.len(), keys.len(), "{writer} {column}");
            for (k, (line, key)) in printed.iter().zip(&keys).enumerate() {
                let (printed, groups) = line.split_once('\t').unwrap();
                assert_eq!(printed, key);
                let group = (k as i64 / DISTINCT).to_string();
                assert!(groups.split(',').any(|each| each == group), "{line}");
            }
            let asked = folder.run(probe.iter().copied().chain(["--", &keys[0], &keys[50]]));
            let lines = [printed[0], printed[50], ""].join("\n");
            assert_eq!(asked.silent().text(), lines);
        }
        // Most of a thousand absent keys are reported as absent by the filters of all row groups.
        let absent: String = (0..1000).map(|i| format!("absent-{i}\n")).collect();
        let probe = ["parquet", "probe", "--column", "name", "--absent", "file"];
        let run = folder.feed(absent.as_bytes(), probe);
        assert!(run.silent().text().lines().count() > 500, "{writer}");
        assert!(run.text().lines().all(|line| line.starts_with("absent-") && !line.contains('\t')));
        let none = run.text().lines().next().unwrap().to_owned();
        let run = folder.run(["parquet", "probe", "--column", "name", "file", &none]);
        assert_eq!((run.code, run.text()), (Some(1), ""));
    }
}

#[test]
fn a_row_group_without_a_filter_may_have_any_key() {
    let folder = with_golden("pyarrow");
    let run = folder.run(["parquet", "probe", "--column", "plain", "file", "5"]);
    assert_eq!(run.silent().text(), "5\t0,1,2\n");
}

#[test]
fn filters_are_added_and_existing_ones_are_refused_or_replaced() {
    let folder = with_golden("pyarrow");
    let before = folder.read("file");
    folder.run(["parquet", "add", "--column", "plain", "-o", "new", "file"]).silent();
    assert!(folder.read("file") == before);
    assert_eq!(filters_of(&inspect(&folder, "new"), "plain").len(), 3);
    // The filters of other columns are unchanged, though they may be at other offsets.
    let bits_of_ids = |file: &str| -> Vec<Vec<u8>> {
        let (inspected, bytes) = (inspect(&folder, file), folder.read(file));
        let filters = filters_of(&inspected, "id").iter().map(|filter| {
            let begin = filter["offset"].as_u64().unwrap() as usize;
            bytes[begin..begin + filter["bytes"].as_u64().unwrap() as usize].to_vec()
        });
        filters.collect()
    };
    assert!(bits_of_ids("new") == bits_of_ids("file"));
    let run = folder.run(["parquet", "probe", "--column", "plain", "new", "3"]);
    assert!(run.silent().text().starts_with("3\t0"));
    folder
        .run(["parquet", "add", "--column", "id", "file"])
        .fails_with("file: column \"id\" has a Bloom filter already, in row group 0");
    assert!(folder.read("file") == before);
    let bytes = |file: &str| {
        let filter = filters_of(&inspect(&folder, file), "id")[0].clone();
        filter["bytes"].as_u64().unwrap()
    };
    let old = bytes("file");
    let replace = ["parquet", "add", "--replace", "--column", "id", "--column", "name"];
    folder.run(replace.iter().chain(&["--fpr", "1e-5", "file"])).silent();
    assert!(bytes("file") > old);
    assert_eq!(folder.names(), ["file", "new"]);
}

#[test]
fn the_values_of_a_column_become_keys() {
    for writer in ["pyarrow", "duckdb"] {
        let folder = with_golden(writer);
        let build = |column: &str| {
            let options =
                ["build", "--input-format", "parquet", "--column", column, "-o", "filter"];
            folder.run(options.iter().chain(&["file", "file"])).silent();
            AnyFilter::from_bytes(&folder.read("filter")).unwrap()
        };
        let all = 0..GROUPS * DISTINCT;
        let ids = build("id");
        assert!(all.clone().all(|k| ids.contains(&(k * k * 7919 + k))));
        assert_eq!(ids.len(), 2 * 6144);
        let asked = folder.run(["query", "--key-type", "i64", "filter", "7920", "5"]);
        assert_eq!(asked.silent().text(), "7920\n");
        let smalls = build("small");
        assert!(all.clone().all(|k| smalls.contains(&(k as i32 * 31 - 500))));
        let prices = build("price");
        assert!(all.clone().all(|k| prices.contains(&(k as f64 * 1.5 - 20.0).to_bits())));
        let names = build("name");
        assert!(all.clone().all(|k| names.contains(&format!("customer-{k}"))));
        // The file is given twice. In 878 of its 6144 rows, the name is null: in the first row, and in every seventh
        // after it.
        assert_eq!(names.len(), 2 * (6144 - 878));
        let tags = folder.run(["parquet", "inspect", "--json", "file"]);
        let inspected: Value = serde_json::from_slice(&tags.stdout).unwrap();
        let paths: Vec<&str> = inspected["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["path"].as_str().unwrap())
            .collect();
        let path = paths.iter().find(|path| path.starts_with("tags")).unwrap();
        let tags = build(path);
        assert!(all.clone().all(|k| tags.contains(&format!("tag-{}", k + 1000))));
        assert!(build("1") == ids);
    }
}

#[test]
fn errors_name_files_that_are_not_parquet_and_missing_columns() {
    let folder = with_golden("pyarrow");
    folder.write("words", "anvil\nforge, and some more\n");
    folder.write("empty", "");
    let whole = folder.read("file");
    folder.write("short", &whole[..whole.len() - 1]);
    let mut wrong_length = whole.clone();
    let tail = wrong_length.len() - 8;
    wrong_length[tail..tail + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    folder.write("wrong-length", wrong_length);
    for file in ["words", "empty", "short", "wrong-length"] {
        for arguments in [
            &["parquet", "inspect", file][..],
            &["parquet", "probe", "--column", "id", file, "1"],
            &["parquet", "add", "--column", "plain", file],
            &["build", "--input-format", "parquet", "--column", "id", "-o", "filter", file],
        ] {
            let run = folder.run(arguments);
            assert_eq!((run.code, run.stdout.len()), (Some(2), 0), "{arguments:?}");
            assert!(
                run.stderr.starts_with(&format!("trommel: {file}: ")),
                "{arguments:?}: {}",
                run.stderr
            );
            assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        }
    }
    for arguments in [
        &["parquet", "probe", "--column", "idd", "file", "1"][..],
        &["parquet", "add", "--column", "idd", "file"],
        &["build", "--input-format", "parquet", "--column", "idd", "-o", "filter", "file"],
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(2));
        assert!(
            run.stderr.starts_with("trommel: file: ") && run.stderr.contains("idd"),
            "{}",
            run.stderr
        );
    }
    let probe = ["parquet", "probe", "--column", "id", "file"];
    let run = folder.feed(b"1\n2\nx\n", probe);
    assert!(
        run.code == Some(2) && run.stderr.starts_with("trommel: standard input: line 3: "),
        "{run:?}"
    );
    let run = folder.run(probe.iter().chain(&["x"]));
    assert!(run.code == Some(2) && run.stderr.starts_with("trommel: file: "), "{run:?}");
    folder
        .feed(&whole, ["build", "--input-format", "parquet", "--column", "id", "-o", "filter"])
        .fails_with(
            "standard input: a Parquet file is read from its end, so it must be a regular file",
        );
    folder
        .run(["build", "--input-format", "parquet", "-o", "filter", "file"])
        .fails_with("--input-format parquet needs a --column");
    assert_eq!(folder.names(), ["empty", "file", "short", "words", "wrong-length"]);
    assert!(folder.read("file") == whole);
}

/// Encodes a non-negative integer as a Parquet footer does: doubles it, since the lowest bit is the sign, and stores
/// the result in groups of seven bits, one per byte, the lowest first. The high bit of a byte is set if more bytes
/// follow.
fn in_footer(number: usize) -> Vec<u8> {
    let mut rest = 2 * number;
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

#[test]
fn a_filter_in_the_footer_is_refused() {
    let folder = with_golden("pyarrow");
    let mut bytes = folder.read("file");
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let footer = bytes.len() - 8 - length;
    let offset =
        filters_of(&inspect(&folder, "file"), "id")[0]["offset"].as_u64().unwrap() as usize;
    let (stored, forged) = (in_footer(offset), in_footer(footer));
    assert_eq!(stored.len(), forged.len());
    let places: Vec<usize> =
        (footer..bytes.len() - 8).filter(|at| bytes[*at..].starts_with(&stored)).collect();
    assert_eq!(places.len(), 1, "the offset must be in the footer exactly once");
    bytes[places[0]..][..forged.len()].copy_from_slice(&forged);
    folder.write("forged", bytes);
    let between = format!("begins at byte {footer}, but must lie between byte 4 and byte {footer}");
    for verb in [&["inspect", "forged"][..], &["probe", "--column", "id", "forged", "1"]] {
        let run = folder.run([&["parquet"], verb].concat());
        assert!(run.code == Some(2) && run.stderr.contains(&between), "{run:?}");
    }
}

#[test]
fn damaged_files_never_crash_the_program() {
    let folder = with_golden("pyarrow");
    let whole = folder.read("file");
    for i in 0..64 {
        let mut damaged = whole.clone();
        // If `i` is even, the damaged byte is in the footer, which is at the end. If `i` is odd, it can be anywhere in
        // the file.
        let at = if i % 2 == 0 { whole.len() - 16 - i * 40 } else { i * whole.len() / 70 };
        damaged[at] ^= 1 << (i % 8);
        folder.write("damaged", damaged);
        for arguments in [
            &["parquet", "inspect", "damaged"][..],
            &["parquet", "probe", "--column", "id", "damaged", "1"],
            &["build", "--input-format", "parquet", "--column", "id", "-o", "filter", "damaged"],
        ] {
            let run = folder.run(arguments);
            assert!(matches!(run.code, Some(0..=2)), "{arguments:?}, byte {at}: {run:?}");
            assert!(run.code != Some(2) || run.stderr.contains("trommel: damaged: "), "{run:?}");
        }
    }
}

#[test]
#[cfg(unix)]
fn a_killed_add_leaves_the_old_file_or_the_new_one() {
    let kills: u64 = std::env::var("TROMMEL_KILLS")
        .map_or(20, |text| text.parse().expect("TROMMEL_KILLS must be a number"));
    let folder = with_golden("pyarrow");
    let old = folder.read("file");
    let add = [
        "parquet",
        "add",
        "--replace",
        "--fpr",
        "1e-5",
        "--column",
        "plain",
        "--column",
        "name",
        "file",
    ];
    let begin = Instant::now();
    folder.run(add).silent();
    let whole = begin.elapsed();
    let new = folder.read("file");
    assert!(old != new);
    let mut news = 0;
    for kill in 0..kills {
        folder.write("file", &old);
        let begin = Instant::now();
        let mut child = folder.command(add).spawn().unwrap();
        // As in kills.rs: the kills are spread from the beginning of a run to a little after its end.
        let moment = whole.mul_f64((kill as f64 * 0.618_034).fract() * 1.2);
        std::thread::sleep(moment.saturating_sub(begin.elapsed()));
        signal(&child, "KILL");
        child.wait().unwrap();
        let found = folder.read("file");
        assert!(
            found == old || found == new,
            "kill {kill}, at {moment:?}: the file is neither the old one nor the new one"
        );
        news += u64::from(found == new);
    }
    println!(
        "{} kills left the old file, {news} the new one; one add takes {whole:?}",
        kills - news
    );
}
