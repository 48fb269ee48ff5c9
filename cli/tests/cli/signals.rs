//! An interrupted program removes its temporary file. The next command removes the temporary file of a killed program.
#![cfg(unix)]

use crate::support::{Folder, signal, wait_until};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};

/// Starts a build that waits for its input. Returns once the build has its temporary file.
fn waiting(folder: &Folder) -> Child {
    let before = folder.names().len();
    let mut command = folder.command(["build", "-o", "filter"]);
    let child = command.stdin(Stdio::piped()).spawn().unwrap();
    wait_until(|| folder.names().len() > before);
    child
}

#[test]
fn an_interrupted_build_leaves_only_the_old_file() {
    let folder = Folder::new();
    folder.write("filter", "old");
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let mut child = waiting(&folder);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert_eq!(folder.names(), ["filter"], "{name}");
        assert_eq!(folder.read("filter"), b"old");
    }
}

#[test]
fn the_next_build_removes_the_temporary_file_of_a_killed_one() {
    let folder = Folder::new();
    let mut killed = waiting(&folder);
    signal(&killed, "KILL");
    killed.wait().unwrap();
    let left = folder.names();
    assert!(
        left.len() == 1 && left[0].starts_with(".trommel-") && left[0].ends_with(".tmp"),
        "{left:?}"
    );
    // A build that is still running keeps its temporary file.
    let mut running = waiting_beside(&folder, &left[0]);
    folder.feed(b"anvil\n", ["build", "-o", "other"]).silent();
    let names = folder.names();
    assert!(names.len() == 2 && !names.contains(&left[0]) && names[1] == "other", "{names:?}");
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success());
    assert_eq!(folder.names(), ["filter", "other"]);
}

/// Like [`waiting`], in a folder that has only the file `abandoned`. Returns once the build has removed this file and
/// has its own temporary file.
fn waiting_beside(folder: &Folder, abandoned: &str) -> Child {
    let mut command = folder.command(["build", "-o", "filter"]);
    let child = command.stdin(Stdio::piped()).spawn().unwrap();
    wait_until(|| {
        let names = folder.names();
        names.len() == 1 && names[0] != abandoned
    });
    child
}
