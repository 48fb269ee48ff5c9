"""Tests that filters made by Python and by Rust have the same bytes."""

import os
import pathlib
import shutil
import subprocess

import pytest
import trommel

CRATE = pathlib.Path(__file__).resolve().parent.parent


def keys():
    yield from (f"key-{i}-ключ" for i in range(300))
    yield from (i.to_bytes(4, "big") for i in range(300))
    yield from (i * 1_000_003 for i in range(-150, 150))
    yield from (2**64 - 1 - i * 7 for i in range(10))


@pytest.fixture(scope="session")
def peer():
    """The path of the program built from tests/peer.rs."""
    if shutil.which("cargo") is None:
        pytest.skip("there is no cargo")
    build = ["cargo", "build", "--locked", "--quiet", "--example", "peer", "--features", "extension-module"]
    subprocess.run(build, cwd=CRATE, check=True, timeout=900)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", CRATE / "target"))
    return target / "debug" / "examples" / "peer"


@pytest.mark.parametrize("kind", trommel.KINDS)
def test_python_and_rust_make_the_same_bytes(peer, tmp_path, kind):
    ours = trommel.Filter(kind, keys=2_000, fpr=0.01, seed=7)
    for key in keys():
        ours.add(key)
    theirs = tmp_path / "by-rust"
    subprocess.run([peer, "write", kind, theirs], check=True, timeout=60)
    assert theirs.read_bytes() == ours.to_bytes()
    assert all(key in trommel.Filter.load(theirs) for key in keys())
    by_python = tmp_path / "by-python"
    ours.save(by_python)
    subprocess.run([peer, "check", kind, by_python], check=True, timeout=60)


def test_the_check_by_rust_detects_a_missing_key(peer, tmp_path):
    ours = trommel.Filter("cuckoo", keys=2_000, fpr=0.01, seed=7)
    ours.update(list(keys())[1:])
    ours.save(tmp_path / "less")
    checked = subprocess.run([peer, "check", "cuckoo", tmp_path / "less"], timeout=60)
    assert checked.returncode == 1


# Keys, seeds and hashes. xxhash 0.8, a library in C, computed the hashes from the bytes of each key. The documentation
# of the class `Filter` states the bytes of each type of key.
GOLDEN = [
    ("", 0, 0x2D06800538D394C2),
    ("anvil", 0, 0x9BA044F70DBA44EE),
    ("anvil", 42, 0x92201C3760C31CBF),
    ("ключ", 0, 0x9A137C08C1E55EDE),
    ("𝄞" * 5, 0, 0xA3386397FE794036),
    (b"\x00\xff", 0, 0xA99B043A346C8BF3),
    ("x" * 300, 3, 0xC97E382618BDEE48),
    (0, 0, 0xC77B3ABB6F87ACD9),
    (1, 0, 0x2FBC593564DB792E),
    (1, 42, 0xE3ACD5DEC7D7D3FB),
    (-1, 0, 0x5111C7E47D784413),
    (2**64 - 1, 0, 0x5111C7E47D784413),
    (2**63, 0, 0x828F2476789A0E5F),
    (-(2**63), 0, 0x828F2476789A0E5F),
    (2**63 - 1, 7, 0xB60E94774D2F33D1),
]


@pytest.mark.parametrize(("key", "seed", "expected"), GOLDEN)
def test_hashes_are_those_of_xxhash(key, seed, expected):
    assert trommel.hash_key(key, seed) == expected
