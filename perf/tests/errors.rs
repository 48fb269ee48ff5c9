//! Wrong input gives the user a message and an exit code, never a panic. Some tests cover correct input.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn trommel_perf(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trommel-perf")).args(arguments).output().unwrap()
}

/// Requires exit code 2, and a message with all of `words`.
fn assert_refused(output: &Output, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

fn measure_files(keys: &Path, probes: &Path, out: &Path) -> Output {
    let [keys, probes, out] = [keys, probes, out].map(|path| path.to_str().unwrap());
    trommel_perf(&["measure", "--keys-file", keys, "--probes-file", probes, "--out", out])
}

#[test]
fn a_missing_empty_or_unreadable_key_file_is_refused_before_measuring() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("good"), "a\nb\n").unwrap();
    fs::write(path("empty"), "").unwrap();
    let out = path("out");
    assert_refused(
        &measure_files(&path("missing"), &path("good"), &out),
        &["missing", "cannot read keys"],
    );
    assert_refused(&measure_files(&path("good"), &path("empty"), &out), &["empty", "no keys"]);
    assert_refused(&measure_files(directory.path(), &path("good"), &out), &["cannot read keys"]);
    assert!(!out.exists());
}

#[test]
fn a_key_file_without_a_probe_file_is_refused() {
    assert_refused(&trommel_perf(&["measure", "--keys-file", "keys"]), &["--probes-file"]);
}

#[test]
fn an_instruction_set_that_the_machine_lacks_is_refused() {
    let lacking = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    assert_refused(&trommel_perf(&["check", "--isa", lacking]), &[lacking]);
    assert_refused(&trommel_perf(&["check", "--isa", "mmx"]), &["mmx"]);
}

#[test]
fn invalid_threads_key_counts_and_cost_models_are_refused() {
    for threads in ["0", "1e9", "1,0", "x", ""] {
        let output = trommel_perf(&["measure", "-f", "engine", "--threads", threads]);
        assert_refused(&output, &["--threads", "1 to 1024"]);
    }
    let output = trommel_perf(&["measure", "-f", "engine", "--keys", "1e10"]);
    assert_refused(&output, &["1e10 keys", "at most 2e8"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("costs.json");
    fs::write(&path, "{}").unwrap();
    for file in [path.to_str().unwrap(), "/no/such/file"] {
        let output = trommel_perf(&["measure", "-f", "engine", "--cost-model", file]);
        assert_refused(&output, &[file]);
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
    }
}

#[test]
fn a_report_of_a_folder_without_results_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    assert_refused(&trommel_perf(&["report", path]), &["results.json"]);
}

#[test]
fn documents_without_the_textbooks_regions_are_refused_before_measuring() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    // A region for a table of `measure` does not count as a region for a table of `textbook`.
    let others = "<!-- trommel-perf:inserts begin -->\n<!-- trommel-perf:inserts end -->\n";
    let unknown = "<!-- trommel-perf-textbook:x begin --><!-- trommel-perf-textbook:x end -->";
    fs::write(path("others"), others).unwrap();
    fs::write(path("unknown"), unknown).unwrap();
    let splice = |document: &str| {
        trommel_perf(&["textbook", "--out", &path("out"), "--splice", &path(document)])
    };
    assert_refused(&splice("others"), &["no region", "loads, density"]);
    assert_refused(&splice("unknown"), &["no table called x"]);
    assert_refused(&splice("missing"), &["missing", "cannot read"]);
    assert!(!Path::new(&path("out")).exists());
    assert_eq!(fs::read_to_string(path("others")).unwrap(), others);
}

#[test]
fn invalid_numbers_and_filters_are_refused() {
    for (arguments, said) in [
        (["--keys", "-1"], "unexpected argument '-1'"),
        (["--keys", "1e30"], "\"1e30\" is not a whole number from 1 to 1e10"),
        (["--keys", "0"], "\"0\" is not a whole number from 1 to 1e10"),
        (["--load", "0,101"], "\"0\" is not a whole number from 1 to 95"),
        (["--load", "95,101"], "\"101\" is not a whole number from 1 to 95"),
        (["--seconds", "0"], "\"0\" is not a whole number from 1 to 86400"),
        (["--seconds", "-5"], "unexpected argument '-5'"),
        (["--load", "-1"], "unexpected argument '-1'"),
        (["--threads", "-1"], "unexpected argument '-1'"),
        (["--keys", "1e10"], "1e10 keys"),
        (["--filter", "("], "unclosed group"),
        (["--filter", "no such case"], "no case has such a name"),
    ] {
        let out = tempfile::tempdir().unwrap();
        let out = out.path().join("out");
        let given = [&["measure", "--out", out.to_str().unwrap()], &arguments[..]].concat();
        assert_refused(&trommel_perf(&given), &[said]);
        assert!(!out.exists(), "{arguments:?}");
    }
}

#[test]
fn invalid_questions_and_questions_that_no_filter_meets_are_refused() {
    for (arguments, said) in [
        (&["--keys", "0", "--miss-cost", "100"][..], "1 to 1e10"),
        (&["--keys", "1e30", "--miss-cost", "100"], "1e30"),
        (&["--keys", "1e6", "--miss-cost", "-100"], "-100"),
        (&["--keys", "1e6", "--miss-cost", "NaN"], "NaN"),
        (&["--keys", "1e6"], "--miss-cost"),
        (&["--keys", "1e6", "--miss-cost", "100", "--fpr", "1"], "strictly between 0 and 1"),
        (&["--keys", "1e6", "--miss-cost", "100", "--memory", "64 apples"], "64 apples"),
        (
            &["--keys", "1e6", "--miss-cost", "100", "--fpr", "1e-6", "--memory", "1MiB"],
            "no filter meets 1e6 keys",
        ),
        (
            &["--keys", "1e10", "--miss-cost", "100", "--fpr", "1e-18"],
            "64-bit hashes of 1e10 keys allow no false-positive rate below 5.42e-10",
        ),
        (&["--keys", "1e6", "--miss-cost", "100", "--from", "/no/such/run"], "/no/such/run"),
    ] {
        let output = trommel_perf(&[&["advise"], arguments].concat());
        assert_refused(&output, &[said]);
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn advice_is_printed_and_written_as_json() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("advice.json");
    let output = trommel_perf(&[
        "advise",
        "--keys",
        "2000",
        "--miss-cost",
        "1ms",
        "--need",
        "delete",
        "--fpr",
        "0.01",
        "--json",
        json.to_str().unwrap(),
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("Take a ") && text.contains("no filter"), "{text}");
    assert!(text.contains("split-block-bloom cannot delete"), "{text}");
    let advice: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(advice["no_filter"], false);
    assert!(advice["kinds"][0]["fpr"].as_f64().unwrap() <= 0.01);
}

#[test]
fn completions_and_manual_pages_are_written() {
    for shell in ["bash", "zsh", "fish"] {
        let output = trommel_perf(&["completions", shell]);
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("min-effect"), "{shell}");
    }
    let directory = tempfile::tempdir().unwrap();
    assert!(trommel_perf(&["man", directory.path().to_str().unwrap()]).status.success());
    for page in ["trommel-perf.1", "trommel-perf-compare.1"] {
        assert!(fs::read_to_string(directory.path().join(page)).unwrap().contains("trommel"));
    }
    fs::write(directory.path().join("file"), "").unwrap();
    let below = directory.path().join("file/below");
    assert_refused(&trommel_perf(&["man", below.to_str().unwrap()]), &["manual pages"]);
}

#[test]
fn the_help_of_every_verb_has_examples() {
    let help = trommel_perf(&["--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let verbs = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = verbs.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let output = trommel_perf(&[name, "--help"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(&format!("Examples:\n  trommel-perf {name}")), "{name}: {text}");
    }
}

#[test]
fn check_succeeds_and_list_names_cases() {
    assert_eq!(trommel_perf(&["check"]).status.code(), Some(0));
    let listed = trommel_perf(&["list", "-f", "miss/1e6/split-block.*batch", "--no-rivals"]);
    assert_eq!(
        String::from_utf8_lossy(&listed.stdout),
        "contains/miss/1e6/split-block-bloom/12-bit/batch\n"
    );
}
