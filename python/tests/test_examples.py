"""Runs the examples, which check their own results, with small inputs."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def run(name, *arguments):
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def test_kmers():
    assert "200 of 400 reads are from the genome" in run("kmers.py", 50_000)


def test_join():
    pytest.importorskip("polars")
    assert "20,000 rows" in run("join.py", 20_000)


def test_rates(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "rates.svg"
    assert len(run("rates.py", 20_000, picture).splitlines()) == 9
    assert picture.stat().st_size > 10_000


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch):
    page = EXAMPLES.parent / "README.md"
    code = page.read_text().split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(code, names)
    assert names["f"].contains(["anvil", 7, -1]).tolist() == [True, True, False]
    assert names["union"].contains(range(500_000)).all() and "anvil" in names["view"]
