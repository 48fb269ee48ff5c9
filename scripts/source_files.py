"""Tells other scripts the commit of the repository, and which of its files are library code and which are test code.

Also copies the repository, for scripts that change the source."""

import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY_CRATES = ("simd", "base", "bloom", "quotient", "cuckoo", "trommel")


def output_of(*command):
    """Runs a command in the repository's root folder, and returns its output. Raises an error if the command fails."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout


def commit(except_for=None):
    """The commit of this checkout, in twelve digits. Ends in `-dirty` if a file other than `except_for` has changed."""
    changed = [ROOT / line[3:] for line in output_of("git", "status", "--porcelain").splitlines()]
    is_dirty = any(except_for is None or path != pathlib.Path(except_for).resolve() for path in changed)
    return output_of("git", "rev-parse", "--short=12", "HEAD").strip() + ("-dirty" if is_dirty else "")


def tracked(*patterns):
    """The names of the tracked files that match one of the `git ls-files` patterns. Without a pattern, the names of all
    tracked files."""
    return [name for name in output_of("git", "ls-files", "-z", *patterns).split("\0") if name]


def present():
    """The names of the tracked files that have not been deleted."""
    return [name for name in tracked() if (ROOT / name).is_file()]


def target_folder():
    if folder := os.environ.get("CARGO_TARGET_DIR"):
        return pathlib.Path(folder).resolve()
    metadata = output_of("cargo", "metadata", "--format-version", "1", "--no-deps")
    return pathlib.Path(json.loads(metadata)["target_directory"])


def is_library(name):
    """Whether a file is source code of a library crate, and not a module of tests."""
    parts = pathlib.PurePosixPath(name).parts
    in_source = len(parts) > 3 and parts[0] == "crates" and parts[1] in LIBRARY_CRATES and parts[2] == "src"
    return in_source and not any("tests" in part for part in parts)


def is_test(name):
    """Whether a file is test code: the tests of a crate, the crate testkit or the fuzz targets."""
    parts = pathlib.PurePosixPath(name).parts
    return parts[0] == "fuzz" or parts[:2] == ("crates", "testkit") or any("tests" in part for part in parts)


def lines_before_tests(source):
    """The number of lines before the module of tests at the end of a file; all lines if there is none."""
    lines = source.splitlines()
    for number, (line, following) in enumerate(zip(lines, lines[1:])):
        if line == "#[cfg(test)]" and re.match(r"mod \w+ \{", following):
            return number
    return len(lines)


def write_if_changed(path, data):
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def copy_source(to):
    """Copies the tracked files. In the copy, the crates below `trommel` do not have `trommel` as a
    dev-dependency, which only the examples of their documentation need: without it, Cargo compiles
    one crate per mutation instead of six."""
    names = set(present())
    for name in names:
        data = (ROOT / name).read_bytes()
        if re.fullmatch(r"crates/(simd|base|bloom|quotient|cuckoo)/Cargo\.toml", name):
            data = re.sub(rb'^trommel = \{ path = "\.\./trommel".*\n', b"", data, flags=re.MULTILINE)
        write_if_changed(to / name, data)
        os.chmod(to / name, (ROOT / name).stat().st_mode)
    for path in to.rglob("*.rs"):
        if str(path.relative_to(to)) not in names:
            path.unlink()
