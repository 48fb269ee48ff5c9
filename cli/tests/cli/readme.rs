//! The console examples of cli/README.md print the output that the page shows.

#![cfg(all(unix, feature = "parquet"))]

use crate::support::Folder;
use std::process::Command;

#[test]
fn the_readme_examples_print_the_output_shown() {
    let folder = Folder::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_trommel")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut examples = 0;
    for block in include_str!("../../README.md").split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        // An example is a command and its output, up to the next command.
        for example in block.split("$ ").skip(1) {
            let (command, expected) = example.split_once('\n').unwrap();
            let output = Command::new("sh")
                .args(["-c", &format!("{{ {command}\n}} 2>&1")])
                .current_dir(folder.folder())
                .env("PATH", &path)
                .env(
                    "GOLDEN",
                    concat!(env!("CARGO_MANIFEST_DIR"), "/../integrations/parquet/tests/golden"),
                )
                .env("LC_ALL", "C.UTF-8")
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{command}");
            examples += 1;
        }
    }
    assert!(examples > 10, "{examples}");
}
