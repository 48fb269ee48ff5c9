"""Tests Python threads that share filters, and processes that fork."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import numpy
import pytest
import trommel

SECONDS = 120


def run(*targets):
    """Runs the functions in threads at the same time. Raises the first exception that any function has raised, and
    fails if a thread does not end within SECONDS."""
    raised = []

    def caught(target):
        try:
            target()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=caught, args=(target,), daemon=True) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive(), "a thread has not ended in time"
    if raised:
        raise raised[0]


@pytest.fixture
def quick_switches():
    """Makes Python switch between threads a thousand times as often as by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("kind", trommel.KINDS)
def test_threads_lose_no_key(kind, quick_switches):
    f = trommel.Filter(kind, keys=60_000)

    def add(first):
        def keys():
            f.update(numpy.arange(first, first + 10_000))
            for key in range(first + 10_000, first + 11_000):
                f.add(key)
            f.update(range(first + 11_000, first + 12_000))
            assert f.contains(numpy.arange(first, first + 12_000)).all()

        return keys

    run(*(add(first) for first in range(0, 48_000, 12_000)))
    assert f.contains(numpy.arange(48_000)).all()
    assert len(f) <= 48_000


def test_concurrent_merges_in_both_directions_do_not_deadlock(quick_switches):
    a, b = trommel.Filter(keys=1_000_000), trommel.Filter(keys=1_000_000)
    a.add("a")
    b.add("b")

    def merge(into, other):
        def merges():
            for _ in range(100):
                into.merge(other)
                assert "a" in into and "b" in into
                assert (into == other) in (True, False)

        return merges

    run(merge(a, b), merge(b, a), merge(a, b), merge(b, a))
    assert "b" in a and "a" in b


def test_concurrent_reads_and_writes_lose_no_key(quick_switches):
    f = trommel.Filter("quotient", keys=300_000)
    f.update(numpy.arange(1_000))
    done = threading.Event()

    def writes():
        for start in range(1_000, 200_000, 20_000):
            f.update(numpy.arange(start, start + 20_000))
        done.set()

    def reads():
        while not done.is_set():
            assert f.contains(numpy.arange(1_000)).all()
            assert 7 in f and len(f) >= 900
            trommel.FilterView(f.to_bytes())

    run(writes, reads, reads)


@pytest.mark.parametrize("call", ["update", "contains", "to_bytes", "copy", "view"])
def test_other_threads_run_during_a_call(call):
    f = trommel.Filter("quotient", keys=8_000_000, seed=1)
    keys = numpy.random.default_rng(3).integers(0, 2**63, 1_000_000)
    f.update(keys[:10_000])
    frozen = f.to_bytes()
    work = {
        "update": lambda: f.update(keys),
        "contains": lambda: f.contains(keys),
        "to_bytes": f.to_bytes,
        "copy": f.copy,
        "view": lambda: trommel.FilterView(frozen),
    }[call]
    before = sys.getswitchinterval()
    # Python asks a thread to give up the GIL only after this number of seconds. If another thread runs earlier, the
    # call itself has released the GIL.
    sys.setswitchinterval(1_000)
    try:
        gate, ran = threading.Lock(), threading.Event()
        gate.acquire()
        waiting = threading.Thread(target=lambda: (gate.acquire(), ran.set()), daemon=True)
        waiting.start()
        gate.release()
        assert not ran.is_set()
        for _ in range(100):
            work()
            if ran.is_set():
                break
        assert ran.is_set(), "no other thread ran during the calls"
    finally:
        sys.setswitchinterval(before)


def test_results_do_not_depend_on_the_number_of_threads():
    keys = numpy.random.default_rng(4).integers(0, 2**63, 400_000)
    filters = []
    try:
        for threads in (1, 2, 5):
            trommel.set_threads(threads)
            f = trommel.Filter("cuckoo", keys=400_000)
            f.update(keys)
            filters.append((f.to_bytes(), f.contains(keys + 1).tobytes()))
        for wrong in (0, 10**6):
            with pytest.raises(ValueError, match=str(wrong)):
                trommel.set_threads(wrong)
    finally:
        trommel.set_threads(os.cpu_count() or 1)
    assert filters[0] == filters[1] == filters[2]


def child(f, keys, answers):
    answers.put(int(f.contains(keys).sum()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_large_batches_work_in_a_forked_process():
    keys = numpy.arange(200_000)
    f = trommel.Filter(keys=200_000)
    f.update(keys)  # on several threads
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        answers = context.Queue()
        process = context.Process(target=child, args=(f, keys, answers))
        process.start()
        try:
            assert answers.get(timeout=SECONDS) == len(keys)
        finally:
            process.join(10)
            process.kill()
    assert f.contains(keys).all()


def test_concurrent_saves_to_one_path_leave_a_whole_file(quick_switches, tmp_path):
    path = tmp_path / "filter"
    filters = [trommel.Filter(keys=1_000 * (i + 1)) for i in range(3)]
    whole = [f.to_bytes() for f in filters]

    def saves(f):
        def save():
            for _ in range(50):
                f.save(path)
                assert path.read_bytes() in whole

        return save

    run(*map(saves, filters))
    assert os.listdir(tmp_path) == ["filter"]


def test_an_endless_iterator_can_be_interrupted():
    code = """
import itertools, trommel
f = trommel.Filter(keys=10)
try:
    print("begins", flush=True)
    f.update(itertools.repeat(7))
except KeyboardInterrupt:
    print(len(f))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begins\n"
        process.send_signal(signal.SIGINT)
        answer, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert answer == "0\n"
