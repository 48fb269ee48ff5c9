//! The examples of README.md print what it says.

#![cfg(all(unix, feature = "parquet"))]

use crate::support::Folder;
use std::process::Command;

#[test]
fn the_examples_of_the_page_are_true() {
    let folder = Folder::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_trommel")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut examples = 0;
    for block in include_str!("../../README.md").split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        // A command, and the lines up to the next one.
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
