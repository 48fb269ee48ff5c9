//! Whenever SIGKILL ends a build, the file has the old filter or the new one.
#![cfg(unix)]

use crate::support::{Folder, lines, signal};
use std::time::{Duration, Instant};

/// The number of builds to kill: the value of the environment variable TROMMEL_KILLS, or 20 if it is not set.
fn kills() -> u64 {
    std::env::var("TROMMEL_KILLS")
        .map_or(20, |text| text.parse().expect("TROMMEL_KILLS must be a number"))
}

#[test]
fn a_killed_build_leaves_the_old_filter_or_the_new_one() {
    let folder = Folder::new();
    // Two files of keys. The filter of each takes 2.6 MB, since it is sized for 2,000,000 keys.
    let all = lines(200_000);
    let half =
        all.iter().enumerate().skip(all.len() / 2).find(|(_, byte)| **byte == b'\n').unwrap().0;
    let mut expected = Vec::new();
    for (name, text) in [("a", &all[..=half]), ("b", &all[half + 1..])] {
        folder.write(name, text);
        folder.run(["build", "--keys", "2000000", "-o", "filter", name]).silent();
        expected.push(folder.read("filter"));
    }
    assert!(expected[0] != expected[1]);
    let begin = Instant::now();
    folder.run(["build", "--keys", "2000000", "-o", "filter", "b"]).silent();
    let whole = begin.elapsed();
    let (mut olds, mut news, mut left) = (0, 0, 0);
    let mut old = 1;
    for kill in 0..kills() {
        let new = 1 - old;
        let name = ["a", "b"][new];
        let begin = Instant::now();
        let mut child =
            folder.command(["build", "--keys", "2000000", "-o", "filter", name]).spawn().unwrap();
        // The kills are spread from the beginning of a build to a little after its end: the fractional parts of
        // multiples of 0.618 are spread evenly.
        let moment = whole.mul_f64((kill as f64 * 0.618_034).fract() * 1.2);
        std::thread::sleep(moment.saturating_sub(begin.elapsed()));
        // The process may have ended already. Even so, the signal reaches no other process, since the process
        // number stays taken until `wait` below.
        signal(&child, "KILL");
        child.wait().unwrap();
        let found = folder.read("filter");
        if found == expected[old] {
            olds += 1;
        } else {
            assert!(
                found == expected[new],
                "kill {kill}, at {moment:?}: the file is neither the old filter nor the new one"
            );
            (old, news) = (new, news + 1);
        }
        let temporary = |name: &String| name.starts_with(".trommel-");
        let leftovers = folder.names().iter().filter(|name| temporary(name)).count();
        assert!(leftovers <= 1, "leftovers of an earlier build were not removed");
        left += leftovers;
    }
    println!(
        "{olds} kills left the old filter and {news} the new one; {left} of all left a temporary file too; a build takes {whole:?}"
    );
    folder.run(["build", "--keys", "2000000", "-o", "filter", "a"]).silent();
    assert_eq!(folder.names(), ["a", "b", "filter"]);
    assert!(whole < Duration::from_secs(600));
}
