//! Runs `trommel-perf compare` on made-up results, as a user or a script does, and checks the output and the exit code.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const SLOW_CASE: &str = "contains/miss/1e6/split-block-bloom/12-bit/batch";

/// The contents of a run's folder: made-up rows of our filters and of rivals. The repetitions of
/// each row hardly differ.
struct Run {
    results: Value,
    samples: Value,
}

fn row(filter: &str, op: &str, rival: Option<&str>, ns_per_op: f64) -> Value {
    json!({
        "filter": filter, "variant": "12-bit", "op": op,
        "api": if rival.is_some() { "single" } else { "batch" },
        "workload": if op == "contains" { Some("miss") } else { None },
        "keys": 1_000_000, "bytes": 1_500_000, "regime": "L2", "load_factor": null, "threads": 1,
        "isa": if rival.is_some() { None } else { Some("avx2") },
        "ns_per_op": ns_per_op, "mad": 0.01, "mops": 1000.0 / ns_per_op,
        "roofline_mops": 900.0, "roofline_fraction": 0.5, "bits_per_key": 12.0,
        "fpr_expected": 0.0054, "fpr_measured": 0.00541,
        "cache_misses_per_op": null, "llc_misses_per_op": null, "dtlb_misses_per_op": null,
        "counters": "none", "rival": rival,
        "absent_keys": 1_000_000, "ci_low": ns_per_op - 0.01, "ci_high": ns_per_op + 0.01,
    })
}

fn name_of(row: &Value) -> String {
    let text = |column: &str| row[column].as_str();
    let workload = text("workload").map_or_else(String::new, |workload| format!("/{workload}"));
    let subject = text("rival").or(text("filter")).unwrap();
    let (op, api) = (text("op").unwrap(), text("api").unwrap());
    format!("{op}{workload}/1e6/{subject}/12-bit/{api}")
}

impl Run {
    fn new() -> Self {
        let fact = |name: &str, value: &str| json!({ "name": name, "value": value });
        let mut rows = vec![
            row("split-block-bloom", "contains", None, 2.0),
            row("split-block-bloom", "insert", None, 4.0),
            row("quotient", "contains", None, 10.0),
        ];
        for crate_name in ["fastbloom", "sbbf-rs-safe", "qfilter", "parquet", "cuckoofilter"] {
            for op in ["contains", "insert", "remove"] {
                rows.push(row("bloom", op, Some(crate_name), 8.0));
            }
        }
        let mut run = Self {
            results: json!({
                "schema": 1,
                "environment": {
                    "caches": { "l1d": 32_768, "l2": 1_048_576, "l3": 33_554_432 },
                    "facts": [
                        fact("cpu", "A processor"), fact("caches of a core", "L1d 32 KiB"),
                        fact("isa", "avx2 (of portable, avx2)"), fact("flags", "none"),
                        fact("rivals", "fastbloom 0.17.0"), fact("commit", "0123456789ab"),
                    ],
                },
                "noise": null, "timed": { "busy_s": 10.0, "waited_s": 0.0 },
                "roofline": [], "inputs": [], "rows": rows,
            }),
            samples: json!({ "ns_per_op": {} }),
        };
        for index in 0..run.results["rows"].as_array().unwrap().len() {
            run.scale_time(index, 1.0);
        }
        run
    }

    fn row(&mut self, index: usize) -> &mut Value {
        &mut self.results["rows"][index]
    }

    /// Multiplies the time of a row by `factor`, and replaces its repetitions by 41 repetitions whose times are close
    /// to the new time.
    fn scale_time(&mut self, index: usize, factor: f64) {
        let row = self.row(index);
        let ns_per_op = row["ns_per_op"].as_f64().unwrap() * factor;
        row["ns_per_op"] = json!(ns_per_op);
        let name = name_of(row);
        let repetitions: Vec<f64> =
            (0..41).map(|i| ns_per_op * (1.0 + f64::from(i - 20) / 10_000.0)).collect();
        self.samples["ns_per_op"][name] = json!(repetitions);
    }

    /// Marks all cases of an operation as interleaved. Multiplies the time of each of their repetitions by
    /// `factor(index, round)`, with the index of the row and the round of the repetition.
    fn interleave(&mut self, op: &str, factor: impl Fn(usize, usize) -> f64) {
        let mut names = Vec::new();
        for (index, row) in self.results["rows"].as_array_mut().unwrap().iter_mut().enumerate() {
            if row["op"] != op {
                continue;
            }
            let name = name_of(row);
            let repetitions = self.samples["ns_per_op"][&name].as_array_mut().unwrap();
            for (round, time) in repetitions.iter_mut().enumerate() {
                *time = json!(time.as_f64().unwrap() * factor(index, round));
            }
            let mut sorted: Vec<f64> =
                repetitions.iter().map(|time| time.as_f64().unwrap()).collect();
            sorted.sort_by(f64::total_cmp);
            row["ns_per_op"] = json!(sorted[sorted.len() / 2]);
            names.push(name);
        }
        self.samples["turns"] = json!([names]);
    }

    /// Sets the value of a fact of the environment.
    fn fact(&mut self, name: &str, value: &str) {
        let facts = self.results["environment"]["facts"].as_array_mut().unwrap();
        facts.iter_mut().find(|fact| fact["name"] == name).unwrap()["value"] = json!(value);
    }

    fn save(&self, directory: &Path) {
        fs::create_dir_all(directory).unwrap();
        fs::write(directory.join("results.json"), self.results.to_string()).unwrap();
        fs::write(directory.join("samples.json"), self.samples.to_string()).unwrap();
    }
}

/// A directory with the folders of old and new runs.
struct Folders(TempDir);

impl Folders {
    /// Creates the folder `old`, and the folder `new` with the changes that `edit` makes.
    fn with(edit: impl Fn(&mut Run)) -> Self {
        let folders = Self(tempfile::tempdir().unwrap());
        Run::new().save(&folders.path("old"));
        let mut new = Run::new();
        edit(&mut new);
        new.save(&folders.path("new"));
        folders
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `compare` with these arguments in the directory.
    fn compare(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_trommel-perf"))
            .arg("compare")
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    fn old_and_new(&self) -> Output {
        self.compare(&["old", "new"])
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the exit code and all output, which must not contain a panic.
fn outcome(output: &Output) -> (i32, String) {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(!said.contains("panicked"), "{said}");
    (output.status.code().unwrap(), said)
}

/// Requires exit code 2, and one line of output with all of these words.
fn assert_refused(output: &Output, words: &[&str]) {
    let (code, said) = outcome(output);
    assert_eq!(code, 2, "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {said:?}");
    }
}

#[test]
fn equal_runs_exit_with_0_and_print_nothing() {
    let folders = Folders::with(|_| ());
    assert_eq!(outcome(&folders.compare(&["old", "old"])), (0, String::new()));
    assert_eq!(outcome(&folders.old_and_new()), (0, String::new()));
    assert_eq!(outcome(&folders.compare(&["old", "new", "--min-effect", "0"])), (0, String::new()));
    let (code, all) = outcome(&folders.compare(&["old", "new", "--all"]));
    assert!(code == 0 && all.contains(SLOW_CASE) && all.contains("3 cases of ours"), "{all}");
}

#[test]
fn a_slower_case_is_printed_and_exits_with_3() {
    let folders = Folders::with(|new| new.scale_time(0, 1.08));
    let (code, said) = outcome(&folders.old_and_new());
    assert_eq!(code, 3, "{said}");
    assert!(
        said.contains(SLOW_CASE) && said.contains("+8.0 %") && said.contains("SLOWER"),
        "{said}"
    );
    assert!(said.contains("1 slower") && !said.contains("insert"), "{said}");
    assert_eq!(
        outcome(&folders.compare(&["old", "new", "--min-effect", "10"])),
        (0, String::new())
    );
}

#[test]
fn a_faster_case_is_shown_and_a_slower_rival_is_no_regression() {
    let faster = Folders::with(|new| new.scale_time(0, 0.9));
    let (code, said) = outcome(&faster.old_and_new());
    assert!(code == 0 && said.contains(SLOW_CASE) && said.contains("faster"), "{said}");
    let rival = Folders::with(|new| new.scale_time(4, 1.5));
    assert_eq!(outcome(&rival.old_and_new()), (0, String::new()));
}

#[test]
fn scattered_or_few_repetitions_exit_with_4() {
    let folders = Folders::with(|new| {
        new.scale_time(0, 1.08);
        let scattered: Vec<f64> = (0..41).map(|i| 1.0 + f64::from(i * 17 % 41) / 18.0).collect();
        new.samples["ns_per_op"][SLOW_CASE] = json!(scattered);
    });
    let (code, said) = outcome(&folders.old_and_new());
    assert!(code == 4 && said.contains("unsettled"), "{said}");
    let few = Folders::with(|new| {
        new.scale_time(0, 1.08);
        new.samples["ns_per_op"][SLOW_CASE] = json!([2.16, 2.16, 2.16]);
    });
    let (code, said) = outcome(&few.old_and_new());
    assert!(code == 4 && said.contains("too few repetitions"), "{said}");
}

#[test]
fn an_undecided_comparison_exits_with_4_unless_that_is_allowed() {
    let without = |run: &mut Run, index: usize| {
        run.results["rows"].as_array_mut().unwrap().remove(index);
    };
    let exits_with = |folders: &Folders, code: i32, words: &[&str]| {
        let (found, said) = outcome(&folders.old_and_new());
        assert_eq!(found, code, "{said}");
        for word in words {
            assert!(said.contains(word), "{word:?} is not in {said:?}");
        }
        let allowed = folders.compare(&["old", "new", "--allow-undecided"]);
        let (found, said) = outcome(&allowed);
        assert_eq!(found, if code == 4 { 0 } else { code }, "{said}");
    };
    let twice_as_slow_in_three_repetitions = |new: &mut Run| {
        new.scale_time(0, 2.0);
        new.samples["ns_per_op"][SLOW_CASE] = json!([4.0, 4.0, 4.0]);
    };
    let few = Folders::with(twice_as_slow_in_three_repetitions);
    exits_with(&few, 4, &["1 with too few repetitions", "undecided", "--allow-undecided"]);
    let missing = Folders::with(|new| without(new, 1));
    exits_with(&missing, 4, &["1 missing", "undecided", "--allow-undecided"]);
    // A case that is missing in one of the new runs counts as missing.
    let in_one = Folders::with(|new| without(new, 1));
    Run::new().save(&in_one.path("new-2"));
    let pairs = ["--old", "old", "old", "--new", "new-2", "new"];
    let (code, said) = outcome(&in_one.compare(&pairs));
    assert!(code == 4 && said.contains("1 missing"), "{said}");
    // A missing rival, or a case that only the new program has, does not make the comparison undecided.
    exits_with(&Folders::with(|new| without(new, 4)), 0, &["0 missing"]);
    let more = Folders::with(|_| ());
    let mut old = Run::new();
    without(&mut old, 1);
    old.save(&more.path("old"));
    exits_with(&more, 0, &["0 missing"]);
    // A regression takes precedence over a missing case.
    let slower = Folders::with(|new| {
        new.scale_time(0, 1.08);
        without(new, 1);
    });
    exits_with(&slower, 3, &["SLOWER", "1 missing"]);
}

#[test]
fn rounds_disturbed_by_other_programs_are_no_regression() {
    // Other programs slow our filters more than they slow the rivals, in most rounds of the new run and in few rounds
    // of the old one.
    let runs = |folders: &Folders, effect: f64| {
        for (name, effect, is_busy) in [
            ("old", 1.0, (|round| round % 4 == 0) as fn(usize) -> bool),
            ("new", effect, |round| round % 4 != 0),
        ] {
            let mut run = Run::new();
            run.scale_time(0, effect);
            run.interleave("contains", |index, round| {
                let factor = if index < 3 { 1.5 } else { 1.1 };
                if is_busy(round) { factor } else { 1.0 }
            });
            run.save(&folders.path(name));
        }
    };
    let folders = Folders::with(|_| ());
    runs(&folders, 1.0);
    assert_eq!(outcome(&folders.old_and_new()), (0, String::new()));
    runs(&folders, 1.08);
    let (code, said) = outcome(&folders.old_and_new());
    assert!(code == 3 && said.contains("1 slower, 0 faster, 0 unsettled"), "{said}");
    // The ratio of the medians is about 1.08 × 1.5, because most rounds are disturbed in the new run, but not in the
    // old one. The drift-adjusted ratio is 1.08.
    let (raw, adjusted) = (said.find("+61.8 %"), said.find("+8.0 %"));
    assert!(raw.is_some() && raw < adjusted, "{said}");
}

/// Compares `attempts` runs of the old program with as many runs of the new one. In every new run, the first rivals
/// of the interleaved group (`moved` of them) take `rival` times as long as in the old runs, and our `SLOW_CASE` takes
/// `effect` times as long as in the old runs.
fn with_moved_rivals(moved: usize, rival: f64, effect: f64, attempts: usize) -> (i32, String) {
    let folders = Folders::with(|_| ());
    for (name, effect, rival) in [("old", 1.0, 1.0), ("new", effect, rival)] {
        let mut run = Run::new();
        run.scale_time(0, effect);
        let rows = run.results["rows"].as_array().unwrap().iter().enumerate();
        let of_rivals = rows.filter(|(_, row)| row["op"] == "contains" && !row["rival"].is_null());
        let indices: Vec<usize> = of_rivals.map(|(index, _)| index).take(moved).collect();
        for index in indices {
            run.scale_time(index, rival);
        }
        run.interleave("contains", |_, _| 1.0);
        run.save(&folders.path(name));
    }
    let (old, new) = (vec!["old"; attempts], vec!["new"; attempts]);
    outcome(&folders.compare(&[&["--old"], &old[..], &["--new"], &new[..]].concat()))
}

#[test]
fn rivals_that_moved_without_our_filters_are_no_controls() {
    for (moved, attempts) in [(3, 1), (5, 1), (5, 2), (3, 3), (5, 3)] {
        for rival in [2.0 / 3.0, 1.5] {
            assert_eq!(with_moved_rivals(moved, rival, 1.0, attempts), (0, String::new()));
            let (code, said) = with_moved_rivals(moved, rival, 1.15, attempts);
            assert!(code == 3 && said.contains("1 slower, 0 faster, 0 unsettled"), "{said}");
            assert!(said.contains("+15.0 % ┆        +15.0 %"), "{said}");
            let (code, said) = with_moved_rivals(moved, rival, 1.0 / 1.15, attempts);
            assert!(code == 0 && said.contains("0 slower, 1 faster, 0 unsettled"), "{said}");
        }
    }
}

#[test]
fn rivals_that_moved_in_three_attempts_are_no_controls_even_if_our_filters_moved_too() {
    let (code, said) = with_moved_rivals(5, 1.5, 1.4, 3);
    assert!(code == 3 && said.contains("1 slower, 0 faster, 0 unsettled"), "{said}");
    assert!(said.contains("+40.0 % ┆        +40.0 %"), "{said}");
    assert!(said.contains("5 cases of rivals are no controls") && said.contains("sbbf-rs-safe"));
    // With two attempts, the rivals stay controls, because the machine could have become slower by the same factor,
    // 1.5. The drift-adjusted ratio of our case is then 1.4 / 1.5, a change of -6.7 %.
    let (code, said) = with_moved_rivals(5, 1.5, 1.4, 2);
    assert!(code == 0 && said.contains("-6.7 %") && !said.contains("no controls"), "{said}");
}

#[test]
fn a_machine_that_is_slower_as_a_whole_is_no_regression() {
    let slower_by = |factor_of_ours: f64| {
        Folders::with(move |new| {
            for index in 0..18 {
                new.scale_time(index, 1.2);
            }
            new.scale_time(0, factor_of_ours);
        })
    };
    let (code, said) = outcome(&slower_by(1.0).old_and_new());
    assert!(code == 0 && said.contains("machine as a whole got 20.0 % slower"), "{said}");
    let (code, said) = outcome(&slower_by(1.1).old_and_new());
    assert!(code == 3 && said.contains(SLOW_CASE) && said.contains("+10.0 %"), "{said}");
}

#[test]
fn a_change_counts_only_if_all_attempts_agree() {
    let folders = Folders::with(|new| new.scale_time(0, 1.08));
    Run::new().save(&folders.path("new-2"));
    let agreeing = ["--old", "old", "old", "--new", "new", "new"];
    let (code, said) = outcome(&folders.compare(&agreeing));
    assert!(code == 3 && said.contains("2 attempts"), "{said}");
    let apart = ["--old", "old", "--old", "old", "--new", "new", "--new", "new-2"];
    let (code, said) = outcome(&folders.compare(&[&apart[..], &["--min-effect", "2"]].concat()));
    assert!(code == 4 && said.contains("unsettled"), "{said}");
    assert_refused(&folders.compare(&["--old", "old", "old", "--new", "new"]), &["2 old", "1 new"]);
}

#[test]
fn disturbed_attempts_are_left_out_if_three_others_remain() {
    let folders = Folders::with(|new| new.scale_time(0, 1.15));
    let mut disturbed = Run::new();
    disturbed.results["timed"]["waited_s"] = json!(1.0);
    disturbed.save(&folders.path("disturbed"));
    let compare = |others: usize| {
        let (old, new) = (vec!["old"; others + 1], vec!["new"; others]);
        outcome(&folders.compare(&[&["--old"], &old[..], &["--new", "disturbed"], &new].concat()))
    };
    // In the disturbed attempt, the case is as fast as in the old run. If this attempt counts, the attempts disagree.
    let (code, said) = compare(2);
    assert!(code == 4 && said.contains("1 unsettled") && said.contains("3 attempts"), "{said}");
    let (code, said) = compare(3);
    assert!(code == 3 && said.contains("1 slower") && said.contains("3 attempts"), "{said}");
    let note = "old and disturbed are left out: other programs ran while disturbed was measured";
    assert!(said.contains(note), "{said}");
}

#[test]
fn worse_false_positive_rates_and_more_bits_exit_with_3() {
    for (column, value, said) in [
        ("fpr_measured", 0.0065, "FPR 0.00541 -> 0.0065"),
        ("fpr_expected", 0.0055, "EXPECTED FPR 0.0054 -> 0.0055"),
        ("bits_per_key", 12.5, "BITS/KEY 12 -> 12.5"),
    ] {
        let folders = Folders::with(|new| new.row(2)[column] = json!(value));
        let (code, text) = outcome(&folders.old_and_new());
        assert!(code == 3 && text.contains("quotient") && text.contains(said), "{column}: {text}");
    }
    // 220 more false positives among a million absent keys are noise: the difference of two such counts has a standard
    // deviation of 105, and the limit is five standard deviations.
    let noise = Folders::with(|new| new.row(2)["fpr_measured"] = json!(0.00563));
    assert_eq!(outcome(&noise.old_and_new()), (0, String::new()));
}

#[test]
fn runs_with_different_environments_or_schemas_are_refused_unless_forced() {
    let different = |name: &'static str| Folders::with(move |new| new.fact(name, "another"));
    for name in ["cpu", "caches of a core", "isa", "flags", "rivals"] {
        assert_refused(&different(name).old_and_new(), &[name, "another", "--force"]);
    }
    let version = Folders::with(|new| new.fact("rivals", "fastbloom 0.18.0, parquet 60.1.0"));
    assert_refused(&version.old_and_new(), &["rivals", "0.18.0"]);
    // A program that was compiled with one more rival can be compared with the old one.
    let more = Folders::with(|new| new.fact("rivals", "fastbloom 0.17.0, parquet 60.1.0"));
    assert_eq!(outcome(&more.old_and_new()), (0, String::new()));
    let schema = Folders::with(|new| new.results["schema"] = json!(0));
    assert_refused(&schema.old_and_new(), &["schema of rows"]);
    let (code, said) = outcome(&different("cpu").compare(&["old", "new", "--force"]));
    assert!(code == 0 && said.contains("FORCED") && said.contains("another"), "{said}");
}

#[test]
fn runs_on_different_keys_are_refused_unless_forced() {
    let input = |matches: u32, digest: Option<&str>| {
        let mut input = json!({
            "name": "file", "description": "keys", "keys": 300, "probes": 400, "matches": matches,
        });
        if let Some(digest) = digest {
            input["digest"] = json!(digest);
        }
        json!([input])
    };
    let with_inputs = |old: Value, new: Value| {
        let folders = Folders::with(|run| run.results["inputs"] = new.clone());
        let mut run = Run::new();
        run.results["inputs"] = old;
        run.save(&folders.path("old"));
        folders
    };
    let (a, b) = (input(200, Some("aaaa")), input(200, Some("bbbb")));
    let folders = with_inputs(a.clone(), b);
    assert_refused(&folders.old_and_new(), &["input file", "aaaa", "bbbb", "--force"]);
    let (code, said) = outcome(&folders.compare(&["old", "new", "--force"]));
    assert!(code == 0 && said.contains("FORCED") && said.contains("bbbb"), "{said}");
    assert_eq!(outcome(&with_inputs(a.clone(), a.clone()).old_and_new()), (0, String::new()));
    // Older runs have no digest: then only the counts are compared, and a note says so.
    let without_digest = |old: &Value| with_inputs(old.clone(), input(200, None)).old_and_new();
    for old in [input(200, None), a] {
        let (code, said) = outcome(&without_digest(&old));
        assert!(code == 0 && said.contains("no digest of input file"), "{said}");
    }
    assert_refused(&without_digest(&input(201, None)), &["input file", "201", "200"]);
}

#[test]
fn folders_without_a_valid_run_are_refused() {
    let folders = Folders::with(|_| ());
    let refused = |words: &[&str]| {
        assert_refused(&folders.old_and_new(), words);
        assert_refused(&folders.compare(&["new", "old"]), words);
    };
    let file = |name: &str| folders.path("new").join(name);
    fs::write(file("samples.json"), "[]").unwrap();
    refused(&["samples.json", "damaged"]);
    fs::remove_file(file("samples.json")).unwrap();
    refused(&["no samples.json"]);
    fs::write(file("results.json"), "{").unwrap();
    refused(&["results.json", "damaged"]);
    let mut empty = Run::new();
    empty.results["rows"] = json!([]);
    empty.save(&folders.path("new"));
    refused(&["no rows"]);
    let mut timeless = Run::new();
    timeless.row(0)["ns_per_op"] = json!(0.0);
    timeless.save(&folders.path("new"));
    refused(&["damaged", SLOW_CASE]);
    fs::remove_file(file("results.json")).unwrap();
    refused(&["cannot read", "results.json"]);
    fs::remove_dir_all(folders.path("new")).unwrap();
    refused(&["cannot read", "new"]);
}

#[test]
fn missing_cases_are_named_and_runs_without_common_cases_are_refused() {
    let folders = Folders::with(|new| {
        new.results["rows"].as_array_mut().unwrap().remove(1);
    });
    let (code, said) = outcome(&folders.old_and_new());
    assert!(code == 4 && said.contains("insert/1e6/split-block-bloom"), "{said}");
    assert!(said.contains("old program alone"), "{said}");
    let apart = Folders::with(|new| {
        for index in 0..18 {
            new.row(index)["keys"] = json!(5);
        }
    });
    assert_refused(&apart.old_and_new(), &["no case"]);
}

#[test]
fn comparisons_add_up_to_a_history_that_the_report_plots() {
    let slower = |run: &mut Run| {
        run.fact("commit", "fedcba987654");
        run.scale_time(0, 1.5);
    };
    let folders = Folders::with(slower);
    for _ in 0..2 {
        // The history is written although the regression makes the exit code 3.
        let output = folders.compare(&["old", "new", "--history", "speeds.csv"]);
        assert_eq!(outcome(&output).0, 3);
    }
    let history = fs::read_to_string(folders.path("speeds.csv")).unwrap();
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines[0], "time,machine,base,commit,case,ratio");
    // Below the header, each of our three cases has a line for each of the two comparisons. Rivals have no lines.
    assert_eq!(lines.len(), 1 + 2 * 3, "{history}");
    let ratio = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    let of_slow = lines
        .iter()
        .filter(|line| line.contains("0123456789ab,fedcba987654") && line.contains(SLOW_CASE));
    let ratios: Vec<f64> = of_slow.map(|line| ratio(line)).collect();
    assert!(
        ratios.len() == 2 && ratios.iter().all(|ratio| (1.45..1.55).contains(ratio)),
        "{history}"
    );

    let output = Command::new(env!("CARGO_BIN_EXE_trommel-perf"))
        .args(["report", "new", "--history", "speeds.csv"])
        .current_dir(folders.path(""))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(folders.path("new/report.html")).unwrap();
    assert!(page.contains("Change of times since the first commit") && page.contains("fedcba9"));
}

#[test]
fn a_history_that_would_say_nothing_is_refused_before_the_comparison() {
    let with_commit = |commit: &'static str| Folders::with(move |new| new.fact("commit", commit));
    let history = ["old", "new", "--history", "speeds.csv"];
    for commit in ["unknown", "fedcba987654+changes", "0123456789ab"] {
        let folders = with_commit(commit);
        assert_refused(&folders.compare(&history), &[commit]);
        assert!(!folders.path("speeds.csv").exists());
    }
    let folders = with_commit("fedcba987654");
    fs::write(folders.path("speeds.csv"), "notes\n").unwrap();
    assert_refused(&folders.compare(&history), &["speeds.csv is not a history"]);
    assert_eq!(fs::read_to_string(folders.path("speeds.csv")).unwrap(), "notes\n");
}

#[test]
fn json_and_junit_files_report_the_same_result() {
    let folders = Folders::with(|new| new.scale_time(0, 1.08));
    let output = folders.compare(&["old", "new", "--json", "c.json", "--junit", "c.xml"]);
    assert_eq!(output.status.code(), Some(3));
    let json: Value = serde_json::from_slice(&fs::read(folders.path("c.json")).unwrap()).unwrap();
    let slow = json["cases"].as_array().unwrap().iter().find(|case| case["name"] == SLOW_CASE);
    let speed = &slow.unwrap()["speed"];
    assert_eq!(speed["verdict"], "slower");
    assert!((speed["ratio"].as_f64().unwrap() - 1.08).abs() < 1e-9);
    let low = speed["attempts"][0]["interval"]["low"].as_f64().unwrap();
    assert!(low > 1.07 && low < 1.08, "{low}");
    let junit = fs::read_to_string(folders.path("c.xml")).unwrap();
    assert!(junit.contains(r#"tests="3""#) && junit.contains(r#"failures="1""#), "{junit}");
    assert!(junit.contains(SLOW_CASE) && junit.contains("SLOWER"), "{junit}");
    let unwritable = folders.compare(&["old", "old", "--json", "nowhere/c.json"]);
    assert_refused(&unwritable, &["nowhere/c.json", "cannot write"]);
}
