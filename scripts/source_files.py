"""Which Rust files are library code and which are test code, for check-coverage and trust-page."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY_CRATES = ("simd", "base", "bloom", "quotient", "cuckoo", "trommel")


def tracked(pattern):
    """The names of the files in the repository that match a pattern of `git ls-files`."""
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, check=True, text=True)
    return listed.stdout.splitlines()


def is_library(name):
    """Whether a file is source code of a library crate, and not a module of tests."""
    parts = pathlib.PurePosixPath(name).parts
    in_source = len(parts) > 3 and parts[0] == "crates" and parts[1] in LIBRARY_CRATES and parts[2] == "src"
    return in_source and not any("tests" in part for part in parts)


def is_test(name):
    """Whether a file only tests the library: tests of any crate, the crate testkit, and the fuzz targets."""
    parts = pathlib.PurePosixPath(name).parts
    return parts[0] == "fuzz" or parts[:2] == ("crates", "testkit") or any("tests" in part for part in parts)


def lines_before_tests(source):
    """The number of lines before the module of tests at the end of a file; all lines if there is none."""
    lines = source.splitlines()
    for number, (line, following) in enumerate(zip(lines, lines[1:])):
        if line == "#[cfg(test)]" and re.match(r"mod \w+ \{", following):
            return number
    return len(lines)
