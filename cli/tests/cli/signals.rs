//! Programs that are interrupted take their temporary file with them; that of one that was killed goes later.
#![cfg(unix)]

use crate::support::{Folder, signal, wait_until};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};

/// A build that waits for its input, and has its temporary file.
fn waiting(folder: &Folder) -> Child {
    let before = folder.names().len();
    let mut command = folder.command(["build", "-o", "filter"]);
    let child = command.stdin(Stdio::piped()).spawn().unwrap();
    wait_until(|| folder.names().len() > before);
    child
}

#[test]
fn an_interrupted_build_leaves_the_old_file_and_no_other() {
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
fn what_a_killed_build_leaves_is_removed_by_the_next_one() {
    let folder = Folder::new();
    let mut killed = waiting(&folder);
    signal(&killed, "KILL");
    killed.wait().unwrap();
    let left = folder.names();
    assert!(
        left.len() == 1 && left[0].starts_with(".trommel-") && left[0].ends_with(".tmp"),
        "{left:?}"
    );
    // A build that goes on keeps its file meanwhile.
    let mut running = waiting_beside(&folder, &left[0]);
    folder.feed(b"anvil\n", ["build", "-o", "other"]).silent();
    let names = folder.names();
    assert!(names.len() == 2 && !names.contains(&left[0]) && names[1] == "other", "{names:?}");
    drop(running.stdin.take());
    assert!(running.wait().unwrap().success());
    assert_eq!(folder.names(), ["filter", "other"]);
}

/// As [`waiting`], where the file `abandoned` goes.
fn waiting_beside(folder: &Folder, abandoned: &str) -> Child {
    let mut command = folder.command(["build", "-o", "filter"]);
    let child = command.stdin(Stdio::piped()).spawn().unwrap();
    wait_until(|| {
        let names = folder.names();
        names.len() == 1 && names[0] != abandoned
    });
    child
}
