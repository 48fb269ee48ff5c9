//! The `report` command on the folder of a run, with a history of event counts, and on folders without a valid run.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn trommel_perf<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trommel-perf")).args(arguments).output().unwrap()
}

/// A row: operation and workload, number of keys, kind, variant, api, rival if any, and threads.
type Case =
    (&'static str, u64, &'static str, &'static str, &'static str, Option<&'static str>, u32);

/// Cases of all parts of a run except the matrix and the comparison of the engine's two strategies.
const CASES: [Case; 16] = [
    ("contains/miss", 1_000_000, "split-block-bloom", "12-bit", "batch", None, 1),
    ("contains/hit", 1_000_000, "bloom", "fpr-1%", "single", None, 1),
    ("contains/miss", 1_000_000, "bloom", "fpr-1%", "single", Some("fastbloom"), 1),
    ("contains/mixed", 100_000, "quotient", "fpr-1%+hash", "batch", None, 1),
    ("insert", 100_000, "cuckoo", "fpr-1%", "batch", None, 1),
    (
        "build",
        100_000,
        "register-bloom",
        "as-register-bloom-fpr-1%",
        "single",
        Some("sbbf-rs-safe"),
        1,
    ),
    ("contains/hit", 715_827_880, "split-block-bloom", "1024-MiB", "batch", None, 1),
    ("contains/miss", 996_147, "quotient", "r8-95%-of-1Mi", "batch", None, 1),
    ("remove", 15_938_355, "cuckoo", "f16-95%-of-16Mi", "single", Some("atomic-cuckoo-filter"), 1),
    ("merge", 127_506_841, "cache-line-quotient", "r8-95%-of-128Mi", "batch", None, 1),
    ("contains/mixed", 5608, "split-block-bloom", "tpch-0.1/12-bit", "batch", None, 1),
    ("contains/mixed", 5608, "bloom", "tpch-1/fpr-1%+hash", "single", Some("fastbloom"), 1),
    ("contains/hit", 1_000_000, "split-block-bloom", "12-bit+wall", "engine", None, 2),
    ("insert", 1_000_000, "cuckoo", "f8-full-95%+wall", "batch", None, 1),
    (
        "insert",
        1_000_000,
        "register-bloom",
        "as-register-bloom-12-bit+wall",
        "sharded",
        Some("sbbf-rs-safe"),
        2,
    ),
    ("contains/hit", 100_000_000, "register-bloom", "1024-MiB-0.25-a-line+wall", "engine", None, 1),
];

fn row((task, keys, filter, variant, api, rival, threads): Case) -> Value {
    let (op, workload) =
        task.split_once('/').map_or((task, None), |(op, workload)| (op, Some(workload)));
    json!({
        "filter": filter, "variant": variant, "op": op, "api": api, "workload": workload, "keys": keys,
        "bytes": keys * 3 / 2, "regime": "L2", "load_factor": null, "threads": threads,
        "isa": if rival.is_some() { None } else { Some("avx2") },
        "ns_per_op": 2.0, "mad": 0.01, "mops": 500.0,
        "roofline_mops": 900.0, "roofline_fraction": 0.5, "bits_per_key": 12.0,
        "fpr_expected": 0.0054, "fpr_measured": 0.00541,
        "cache_misses_per_op": null, "llc_misses_per_op": null, "dtlb_misses_per_op": null,
        "counters": "none", "rival": rival,
    })
}

/// Creates the folder of a run with these rows.
fn run(rows: &[Value]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let results = json!({
        "schema": 1,
        "environment": {
            "caches": { "l1d": 32_768, "l2": 1_048_576, "l3": 33_554_432 },
            "facts": [{ "name": "cpu", "value": "A processor" }],
        },
        "noise": null,
        "timed": { "busy_s": 1.0, "waited_s": 0.0 },
        "roofline": [
            { "bytes": 65_536, "no_prefetch": 900.0, "t0": 1000.0, "t1": 1000.0, "nta": 1000.0 },
            { "bytes": 2_097_152, "no_prefetch": 100.0, "t0": 300.0, "t1": 300.0, "nta": 290.0 },
        ],
        "inputs": [],
        "rows": rows,
    });
    fs::write(directory.path().join("results.json"), results.to_string()).unwrap();
    directory
}

fn report(directory: &Path, more: &[&str]) -> Output {
    let mut arguments = vec!["report", directory.to_str().unwrap()];
    arguments.extend(more);
    trommel_perf(&arguments)
}

/// Requires exit code 2, and one line of output with all of `words`.
fn assert_refused(output: &Output, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

/// Returns the name and the command of each case in the HTML of a report.
fn commands(page: &str) -> Vec<(String, String)> {
    let text = |html: &str| {
        let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
        pairs.iter().fold(html.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let between = |html: &str, begin: &str, end: &str| {
        text(html.split_once(begin).unwrap().1.split_once(end).unwrap().0)
    };
    let rows = page.split("<tr id=\"case-").skip(1);
    rows.map(|row| (between(row, "<td>", "</td>"), between(row, "<code>", "</code>"))).collect()
}

/// Splits a command line, which may contain single quotes, into words.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (i, part) in command.split('\'').enumerate() {
        match i % 2 {
            0 => words.extend(part.split_whitespace().map(String::from)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn the_page_and_the_plots_of_a_run_are_rewritten() {
    let directory = run(&CASES.map(row));
    let path = |name: &str| directory.path().join(name);
    fs::write(path("engine-hit.svg"), "of a harness before").unwrap();
    let output = report(directory.path(), &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(path("report.html").exists());
    let plot = fs::read_to_string(path("engine-hit.svg")).unwrap();
    assert!(plot.starts_with("<svg") && plot.contains("split-block-bloom"), "{plot}");
    // The engine has no case of a build here, so there is no plot of builds.
    assert!(!path("engine-build.svg").exists());
}

#[test]
fn runs_of_several_machines_stand_side_by_side_in_the_report_of_the_first() {
    let (first, second) =
        (run(&CASES.map(row)), run(&CASES[..1].iter().copied().map(row).collect::<Vec<_>>()));
    let name =
        |directory: &TempDir| directory.path().file_name().unwrap().to_str().unwrap().to_owned();
    let output = report(first.path(), &[second.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    let page = fs::read_to_string(first.path().join("report.html")).unwrap();
    for text in [shown, page] {
        for directory in [&first, &second] {
            assert!(text.contains(&format!("{}, × rival", name(directory))), "{text}");
        }
    }
    assert!(!second.path().join("report.html").exists());
    // Two machines with the same name could not be told apart.
    let path = first.path().to_str().unwrap();
    assert_refused(&report(first.path(), &[path]), &["same name"]);
}

#[test]
fn the_command_of_every_case_selects_only_that_case() {
    let directory = run(&CASES.map(row));
    let output = report(directory.path(), &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    let commands = commands(&page);
    assert_eq!(commands.len(), CASES.len());
    for (case, (name, command)) in CASES.iter().zip(commands) {
        let begin = "cargo run --release -p trommel-perf -- measure ";
        let rest = command.strip_prefix(begin).unwrap_or_else(|| panic!("{command}"));
        let is_of_engine = case.3.ends_with("+wall");
        let mut arguments = ["list", "--no-rivals"].map(String::from).to_vec();
        arguments.extend(words(rest));
        let output = trommel_perf(&arguments);
        assert!(output.status.success(), "{command}");
        let listed = String::from_utf8(output.stdout).unwrap();
        let listed: Vec<&str> = listed.lines().collect();
        if is_of_engine {
            // The command selects the case's whole group. All cases of a group have the same operation and
            // number of keys.
            let (task, keys) = (case.0, format!("/{:e}/", case.1));
            assert!(listed.contains(&&*name), "{command}: {listed:?}");
            let is_of_group = |line: &&str| line.starts_with(task) && line.contains(&keys);
            assert!(listed.len() <= 5 && listed.iter().all(is_of_group), "{command}: {listed:?}");
        } else {
            let name =
                if case.3.starts_with("tpch") { name.replace("/5.608e3/", "/*/") } else { name };
            assert_eq!(listed, [name], "{command}");
        }
    }
}

const HEADER: &str = "time,commit,bench,isa,instructions,d1_misses,ll_misses\n";

fn history(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("history.csv");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_history_is_plotted() {
    let directory = run(&CASES.map(row));
    let text = format!(
        "{HEADER}2026-01-01T10:00:00Z,0123abc,contains_batch/split-block-bloom,avx2,1000,10,1\n\
         2026-01-02T10:00:00Z,4567def,contains_batch/split-block-bloom,avx2,900,10,1\n"
    );
    let path = history(directory.path(), &text);
    let output = report(directory.path(), &["--history", path.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(page.contains("id=\"history\"") && page.contains("-10.00 %"));
    assert!(
        page.contains("0123abc\n") && page.contains("4567def\n"),
        "the plot has no labels for the commits"
    );
}

#[test]
fn an_invalid_history_is_refused_and_the_report_kept() {
    let directory = run(&CASES.map(row));
    let page = directory.path().join("report.html");
    fs::write(&page, "kept").unwrap();
    let good = "2026-01-01T10:00:00Z,0123abc,b,avx2,1000,,\n";
    for (text, said) in [
        (String::new(), "no column time"),
        (HEADER.into(), "no counts"),
        (format!("time,commit,bench\n{good}"), "no column isa"),
        (format!("{HEADER}{good}yesterday,a,b,avx2,1,,\n"), "yesterday"),
        (format!("{HEADER}{good}2026-01-01T10:00:00Z,a,b,avx2,-1,,\n"), "line: 3"),
        (format!("{HEADER}{good}2026-01-01T10:00:00Z,a,b,avx2,0,,\n"), "0 instructions"),
        (format!("{HEADER}{good}1,2\n"), "line: 3"),
    ] {
        let path = history(directory.path(), &text);
        let output = report(directory.path(), &["--history", path.to_str().unwrap()]);
        assert_refused(&output, &["history.csv", said]);
    }
    assert_refused(&report(directory.path(), &["--history", "/no/such/file"]), &["/no/such/file"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), "kept");
}

#[test]
fn damaged_results_are_refused_with_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.json");
    let mut negative = row(CASES[0]);
    negative["mops"] = json!(-500.0);
    let mut above_one = row(CASES[0]);
    above_one["fpr_measured"] = json!(1.5);
    let text_of = |row: Value| fs::read_to_string(run(&[row]).path().join("results.json")).unwrap();
    let whole = text_of(row(CASES[0]));
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{\"name\": \"another program's\", \"version\": 1}",
        &whole[..whole.len() / 2],
        &text_of(negative),
        &text_of(above_one),
        &whole.replace("2.0", "1e999"),
        &whole.replace("900.0", "0.0"),
        &"[".repeat(100_000),
    ] {
        fs::write(&path, text).unwrap();
        assert_refused(&report(directory.path(), &[]), &["results.json", "is damaged"]);
    }
    fs::write(&path, &whole).unwrap();
    fs::write(directory.path().join("samples.json"), "{\"ns_per_op\": {\"a\": [1.0, ").unwrap();
    assert_refused(&report(directory.path(), &[]), &["samples.json", "is damaged"]);
    assert!(!directory.path().join("report.html").exists());
}

#[test]
fn a_document_that_cannot_be_spliced_leaves_the_report_as_it_was() {
    let directory = run(&CASES.map(row));
    let document = directory.path().join("document.md");
    fs::write(&document, "no regions").unwrap();
    let output = report(directory.path(), &["--splice", document.to_str().unwrap()]);
    assert_refused(&output, &["no region"]);
    assert!(!directory.path().join("report.html").exists());
}

#[test]
fn a_part_of_a_document_is_spliced_and_the_rest_is_kept() {
    let directory = run(&CASES.map(row));
    let path = directory.path().join("document.md");
    let region = |owner: &str| {
        format!("<!-- {owner}:environment begin --><!-- {owner}:environment end -->\n")
    };
    let whole = region("trommel-perf");
    fs::write(&path, format!("{whole}{}", region("trommel-perf-engine"))).unwrap();
    let splice = |part: &str| {
        report(directory.path(), &["--splice", path.to_str().unwrap(), "--part", part])
    };
    assert_refused(&splice("loads"), &["no region trommel-perf-loads:NAME"]);
    assert!(splice("engine").status.success());
    let document = fs::read_to_string(&path).unwrap();
    assert!(document.starts_with(&whole));
    assert!(document.contains("<!-- trommel-perf-engine:environment begin -->\n\n| what |"));
    assert_eq!(report(directory.path(), &["--part", "engine"]).status.code(), Some(2));
    assert_eq!(splice("Engine:").status.code(), Some(2));
}
