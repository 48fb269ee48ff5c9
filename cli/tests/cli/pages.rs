//! Help, manual pages and completions name the verbs and options of the program.

use crate::support::Folder;

const VERBS: &[&str] = &[
    "build",
    "query",
    "info",
    "merge",
    "fold",
    #[cfg(feature = "parquet")]
    "parquet",
    "completions",
    "man",
];

#[test]
fn the_manual_names_every_verb_and_the_exit_codes() {
    let folder = Folder::new();
    let page = folder.run(["man"]);
    for verb in VERBS {
        assert!(page.silent().text().contains(&format!("trommel\\-{verb}(1)")), "{verb}");
    }
    assert!(page.text().contains("Exit codes:"));
    for verb in VERBS {
        let page = folder.run(["man", verb]);
        assert!(page.silent().text().contains(&format!(".TH trommel-{verb} 1")), "{}", page.text());
    }
    let build = folder.run(["man", "build"]);
    for option in ["kind", "fpr", "keys", "column", "input\\-format", "output"] {
        assert!(build.text().contains(&format!("\\-\\-{option}")), "{option}");
    }
    folder.run(["man", "sift"]).fails_with("no verb sift: see `trommel help`");
}

#[test]
fn completions_name_every_verb() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(["completions", shell]);
        for word in VERBS.iter().chain(&["input-format", "absent"]) {
            assert!(script.silent().text().contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(folder.run(["completions", "csh"]).code, Some(2));
}

#[test]
fn the_help_lists_exit_codes_and_usage_errors_exit_with_2() {
    let folder = Folder::new();
    let help = folder.run(["--help"]);
    for verb in VERBS {
        assert!(help.silent().text().contains(&format!("\n  {verb} ")), "{verb}");
    }
    assert!(help.text().contains("1  query or parquet probe printed no key"));
    assert!(folder.run(["--version"]).silent().text().starts_with("trommel "));
    for wrong in [&[][..], &["sift"], &["build"], &["build", "-o"], &["fold", "-o", "x", "y"]] {
        let run = folder.run(wrong);
        assert_eq!((run.code, run.stdout.len()), (Some(2), 0), "{wrong:?}");
        assert!(!run.stderr.is_empty());
    }
}
