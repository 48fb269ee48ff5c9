"""Measures the filters of this package and of other packages, and prints the tables of README.md.

    pip install rbloom pybloom-live fastbloom-rs pyfusefilter 'xxhash<4'
    python measure.py [ROUNDS [KEYS]]

In each of ROUNDS rounds (default: 9), every package adds KEYS keys (default: 200,000) to an empty
filter, looks up these keys, and looks up KEYS absent keys. It does so with one call per key and, if
the package has batches, also with one call for all keys. The exception is pyfusefilter, which
builds a filter from all keys in one call. The order of the packages changes from round to round.
All present keys must be found, and at most 3 % of the absent keys may be reported as present. The
tables show the median time of the rounds and, in brackets, the best. Packages that are not
installed are left out.
"""

import importlib
import statistics
import sys
import time

import numpy
import trommel

FPR = 0.01


def one_by_one(add, contains):
    def build(keys):
        for key in keys:
            add(key)

    return build, lambda keys: sum(contains(key) for key in keys)


class Trommel:
    def __init__(self, kind):
        self.name = f"trommel, {kind}"
        self.kind = kind

    def single(self, count, text):
        f = trommel.Filter(self.kind, count, FPR)
        return one_by_one(f.add, f.__contains__)

    def batches(self, count, text):
        forms = ["list", "pyarrow"] if text else ["list", "numpy"]
        for form in forms:
            f = trommel.Filter(self.kind, count, FPR)
            yield form, f.update, lambda keys, f=f: int(f.contains(keys).sum())


class OneByOne:
    """A package without batches. `filter` is the name of its class, which is called with a number of
    keys and a false-positive rate."""

    def __init__(self, name, module, filter):
        self.name, self.filter = name, getattr(importlib.import_module(module), filter)

    def single(self, count, text):
        f = self.filter(count, FPR)
        return one_by_one(f.add, f.__contains__)

    def batches(self, count, text):
        return ()


def rbloom():
    return OneByOne("rbloom", "rbloom", "Bloom")


def pybloom_live():
    return OneByOne("pybloom-live", "pybloom_live", "BloomFilter")


class FastbloomRs:
    name = "fastbloom-rs"

    def __init__(self):
        import fastbloom_rs

        self.builder = fastbloom_rs.FilterBuilder

    def single(self, count, text):
        f = self.builder(count, FPR).build_bloom_filter()
        return one_by_one(*((f.add_str, f.contains_str) if text else (f.add_int, f.contains_int)))

    def batches(self, count, text):
        f = self.builder(count, FPR).build_bloom_filter()
        add, contains = (
            (f.add_str_batch, f.contains_str_batch) if text else (f.add_int_batch, f.contains_int_batch)
        )
        yield "list", add, lambda keys: sum(contains(keys))


class Fuse8:
    """Built from all keys at once. The false-positive rate is always 0.4 %."""

    name = "pyfusefilter, Fuse8"

    def __init__(self):
        import pyfusefilter

        self.filter = pyfusefilter.Fuse8

    def single(self, count, text):
        f = self.filter(count)
        return f.populate, lambda keys: sum(f.contains(key) for key in keys)

    def batches(self, count, text):
        return ()


def installed():
    yield from (Trommel(kind) for kind in ("split-block-bloom", "bloom", "quotient", "cuckoo"))
    for package in (rbloom, pybloom_live, FastbloomRs, Fuse8):
        try:
            yield package()
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)


def in_form(keys, form):
    if form == "numpy":
        return numpy.array(keys, "int64")
    if form == "pyarrow":
        import pyarrow

        return pyarrow.array(keys)
    return keys


def timed(call, keys, count):
    start = time.perf_counter()
    answer = call(keys)
    return answer, (time.perf_counter() - start) / count * 1e9


def measure(subject, present, absent, text, times):
    """Measures `subject` in one round, and appends the times to its table rows in `times`: the ns per
    key for adding keys, for looking up present keys, and for looking up absent keys."""
    forms = [("one by one", *subject.single(len(present), text)), *subject.batches(len(present), text)]
    for form, build, count_found in forms:
        present_keys, absent_keys = (in_form(keys, form) for keys in (present, absent))
        _, add_ns = timed(build, present_keys, len(present))
        found, present_ns = timed(count_found, present_keys, len(present))
        reported, absent_ns = timed(count_found, absent_keys, len(absent))
        assert found == len(present), (subject.name, form, found)
        assert reported <= 0.03 * len(absent), (subject.name, form, reported)
        times.setdefault((form != "one by one", subject.name, form), []).append((add_ns, present_ns, absent_ns))


def table(title, times):
    print(f"{title}\n\n| package | keys | add, ns | present, ns | absent, ns |\n|---|---|---:|---:|---:|")
    for (_, name, form), rounds in sorted(times.items(), key=lambda item: item[0][0]):
        cells = (f"{statistics.median(column):.3g} [{min(column):.3g}]" for column in zip(*rounds))
        print(f"| {name} | {form} | {' | '.join(cells)} |")
    print()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    subjects = list(installed())
    integers = numpy.random.default_rng(7).integers(0, 2**62, 2 * count).tolist()
    for text in (False, True):
        keys = [f"user-{key:016x}" for key in integers] if text else integers
        times = {}
        for round in range(rounds):
            for i in range(len(subjects)):
                measure(subjects[(i + round) % len(subjects)], keys[:count], keys[count:], text, times)
        table(f"{count:,} strings of 21 letters:" if text else f"{count:,} integers:", times)


main()
