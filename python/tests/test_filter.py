"""Tests calls with one key each, and everything that the other test files do not cover."""

import copy
import doctest
import gc
import inspect
import pickle
import random

import numpy
import pytest
import trommel

BLOOM_KINDS = ("bloom", "register-bloom", "split-block-bloom", "cache-line-bloom")


def random_key(source: random.Random):
    draw = source.randrange(4)
    if draw == 0:
        return source.randrange(-(2**63), 2**64)
    if draw == 1:
        return source.randbytes(source.randrange(40))
    if draw == 2:
        return "".join(chr(source.randrange(32, 0xD7FF)) for _ in range(source.randrange(20)))
    return str(source.randrange(10**6))


def identity(key):
    """The bytes that are hashed. Keys with the same bytes are the same key."""
    if isinstance(key, str):
        return key.encode()
    return key if isinstance(key, bytes) else (key % 2**64).to_bytes(8, "little")


def test_examples_in_docstrings_hold():
    failed = attempted = 0
    runner = doctest.DocTestRunner()
    documented = [trommel, trommel.Filter, trommel.FilterView, trommel.hash_key, trommel.set_threads]
    documented += [member for _, member in inspect.getmembers(trommel.Filter) if callable(member)]
    for item in documented:
        text = inspect.getdoc(item) or ""
        name = getattr(item, "__name__", "?")
        test = doctest.DocTestParser().get_doctest(text, {"trommel": trommel}, name, None, None)
        result = runner.run(test)
        failed, attempted = failed + result.failed, attempted + result.attempted
    assert failed == 0
    assert attempted > 30


@pytest.mark.parametrize("kind", trommel.KINDS)
def test_a_filter_agrees_with_a_set(kind):
    source = random.Random(kind)
    keys = [random_key(source) for _ in range(3_000)]
    f = trommel.Filter(kind, keys=3_000, fpr=0.01, seed=5)
    for key in keys:
        f.add(key)
    assert all(key in f for key in keys)
    # Quotient and cuckoo filters store equal fingerprints once, so `len` may be below 3,000.
    assert 2_700 < len(f) <= 3_000
    present = {identity(key) for key in keys}
    absent = [key for key in (random_key(source) for _ in range(20_000)) if identity(key) not in present]
    found = sum(key in f for key in absent)
    # The limit is six standard deviations above the expected number, plus one.
    expected = f.expected_fpr * len(absent)
    assert found <= expected + 6 * (expected**0.5) + 1
    answers = f.contains(absent)
    assert answers.sum() == found


def test_the_default_filter_is_as_documented():
    f = trommel.Filter()
    assert (f.kind, f.seed, len(f)) == ("split-block-bloom", 0, 0)
    assert f == trommel.Filter("split-block-bloom", 1_000_000, 0.01, 0)
    assert f.memory_bytes == pytest.approx(1_310_000, rel=0.05)
    f.update(numpy.arange(1_000_000))
    assert f.expected_fpr == pytest.approx(0.01, rel=0.02)


@pytest.mark.parametrize("key", [None, True, False, 1.0, ("a",), ["a"], numpy.float64(1), numpy.bool_(True), numpy.arange(1), object()])
def test_objects_that_are_not_keys_are_refused(key):
    f = trommel.Filter(keys=10)
    for call in (f.add, f.__contains__, f.remove, trommel.hash_key):
        with pytest.raises(TypeError):
            call(key)
    assert f == trommel.Filter(keys=10)


@pytest.mark.parametrize("key", [2**64, -(2**63) - 1, 10**40])
def test_integers_out_of_range_are_refused(key):
    f = trommel.Filter(keys=10)
    with pytest.raises(OverflowError, match=r"-2\*\*63"):
        f.add(key)
    with pytest.raises(OverflowError):
        f.update([1, key])
    assert len(f) == 0


def test_text_that_utf8_cannot_encode_is_refused():
    f = trommel.Filter(keys=10)
    for call in (f.add, lambda key: f.update(["a", key]), lambda key: f.update(numpy.array(["a", key]))):
        with pytest.raises(ValueError):
            call("\ud800")
    assert len(f) == 0


def test_forms_of_one_key_have_the_same_hash():
    class Text(str):
        pass

    class Number(int):
        pass

    class Index:
        def __index__(self):
            return 7

    seven = [7, Number(7), Index(), numpy.int8(7), numpy.uint64(7), numpy.int32(7)]
    assert len({trommel.hash_key(key) for key in seven}) == 1
    anvil = ["anvil", Text("anvil"), b"anvil", bytearray(b"anvil"), memoryview(b"anvil"), numpy.str_("anvil"), numpy.bytes_(b"anvil")]
    assert len({trommel.hash_key(key) for key in anvil}) == 1
    assert trommel.hash_key(-1) == trommel.hash_key(2**64 - 1)
    assert trommel.hash_key(1) != trommel.hash_key("1")
    assert trommel.hash_key(7) == trommel.hash_key((7).to_bytes(8, "little"))
    with pytest.raises(BufferError):
        trommel.hash_key(memoryview(b"anvil")[::2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "sieve"}, "sieve"),
        ({"fpr": 0.0}, "0"),
        ({"fpr": 1.0}, "1"),
        ({"fpr": float("nan")}, "NaN"),
        ({"fpr": -1.0}, "-1"),
        ({"fpr": 1e-300}, "cannot be reached|bytes"),
        ({"keys": 2**62}, "cannot be reached"),
        ({"keys": 2**40, "fpr": 1e-3}, "bytes|cannot be reached"),
        ({"kind": "bloom", "multiset": True}, "multiset"),
        ({"kind": "bloom", "grow_at": 0.5}, "grow_at"),
        ({"kind": "cuckoo", "grow_at": 2.0}, "2"),
    ],
)
def test_impossible_specs_are_refused(arguments, message):
    with pytest.raises((trommel.SpecError, MemoryError), match=message) as raised:
        trommel.Filter(**arguments)
    assert isinstance(raised.value, (ValueError, MemoryError))


@pytest.mark.parametrize("keys", [-1, 2**64, 1.5, "many", None])
def test_invalid_numbers_of_keys_are_refused(keys):
    with pytest.raises((OverflowError, TypeError)):
        trommel.Filter(keys=keys)


def test_exceptions_derive_from_pythons_own():
    for name, base in [
        ("SpecError", ValueError),
        ("FormatError", ValueError),
        ("MergeError", ValueError),
        ("UnsupportedError", TypeError),
        ("FilterFull", trommel.TrommelError),
    ]:
        kind = getattr(trommel, name)
        assert issubclass(kind, base) and issubclass(kind, trommel.TrommelError)
        assert kind.__module__ == "trommel" and kind.__doc__


def test_filter_full_has_the_numbers_of_keys():
    f = trommel.Filter("cuckoo", keys=1_000)
    with pytest.raises(trommel.FilterFull, match="full") as raised:
        f.update(range(100_000))
    assert raised.value.inserted == len(f) == raised.value.length
    assert 1_000 <= raised.value.inserted <= raised.value.capacity
    assert f.contains(range(raised.value.inserted)).all()
    growing = trommel.Filter("cuckoo", keys=1_000, fpr=0.001, grow_at=0.9)
    growing.update(range(4_000))
    assert growing.contains(range(4_000)).all()


@pytest.mark.parametrize("kind", trommel.KINDS)
def test_keys_are_removed_and_counted_if_the_kind_can(kind):
    f = trommel.Filter(kind, keys=1_000, multiset=kind in ("quotient", "cache-line-quotient", "cuckoo"))
    f.update(range(500))
    if kind in BLOOM_KINDS:
        for call in (f.remove, f.count):
            with pytest.raises(trommel.UnsupportedError, match=kind):
                call(1)
        return
    assert f.count(1) >= 1
    assert all(f.remove(key) for key in range(500))
    assert len(f) == 0 and not f.contains(range(500)).any()
    assert f.remove(1) is False
    assert trommel.FilterView(f.to_bytes()).count(1) == 0


@pytest.mark.parametrize("kind", trommel.KINDS)
def test_union_has_the_keys_of_both(kind):
    a, b = trommel.Filter(kind, keys=1_000), trommel.Filter(kind, keys=1_000)
    a.update(range(400))
    b.update(range(400, 800))
    before = a.to_bytes(), b.to_bytes()
    union = a | b
    assert union.contains(range(800)).all()
    assert (a.to_bytes(), b.to_bytes()) == before
    same = a
    a |= b
    assert a is same and a == union
    from_view = trommel.Filter.from_bytes(before[0])
    from_view |= trommel.FilterView(before[1])
    assert from_view == union and (trommel.Filter.from_bytes(before[0]) | trommel.FilterView(before[1])) == union


def test_filters_made_differently_do_not_merge():
    a = trommel.Filter(keys=100)
    a.add(1)
    before = a.to_bytes()
    for other in (trommel.Filter(keys=10_000), trommel.Filter(keys=100, seed=1), trommel.Filter("bloom", keys=100)):
        for merge in (a.merge, a.__or__, a.__ior__):
            with pytest.raises(trommel.MergeError):
                merge(other)
            with pytest.raises(trommel.MergeError):
                merge(trommel.FilterView(other.to_bytes()))
    for other in (1, None, {1}):
        with pytest.raises(TypeError):
            a | other
        with pytest.raises(TypeError):
            a |= other
        with pytest.raises(TypeError):
            a.merge(other)
    assert a.to_bytes() == before


def test_a_filter_merges_with_itself():
    f = trommel.Filter("quotient", keys=100, multiset=True)
    f.add(1)
    f |= f
    assert (f.count(1), len(f)) == (2, 2)
    bloom = trommel.Filter(keys=100)
    bloom |= bloom


@pytest.mark.parametrize("kind", trommel.KINDS)
def test_copies_and_pickles_are_equal_and_independent(kind):
    f = trommel.Filter(kind, keys=1_000, seed=9)
    f.update(range(100))
    copies = [f.copy(), copy.copy(f), copy.deepcopy(f), trommel.Filter.from_bytes(f.to_bytes())]
    copies += [pickle.loads(pickle.dumps(f, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in copies:
        assert other == f and not other != f and other is not f
        other.add("one more")
        assert other != f and "one more" not in f


def test_filters_are_equal_if_their_frozen_bytes_are():
    f = trommel.Filter(keys=100)
    assert f == trommel.Filter(keys=100) and f != trommel.Filter(keys=100, seed=1)
    assert f != 1 and f != f.to_bytes() and f is not None
    with pytest.raises(TypeError):
        hash(f)


def test_representation_length_and_attributes():
    f = trommel.Filter("cuckoo", keys=100)
    f.add(1)
    assert repr(f).startswith("<trommel.Filter cuckoo: 1 keys, ")
    assert repr(trommel.FilterView(f.to_bytes())).startswith("<trommel.FilterView cuckoo: 1 keys, ")
    assert f and bool(trommel.Filter(keys=1))
    f.clear()
    assert len(f) == 0 and 1 not in f
    with pytest.raises(AttributeError):
        f.kind = "bloom"
    assert f.__sizeof__() > f.memory_bytes
    assert "split-block-bloom" in trommel.KINDS and trommel.__version__


def test_memory_does_not_grow():
    resource = pytest.importorskip("resource")
    keys = [f"key-{i}" for i in range(10_000)]
    array = numpy.arange(200_000)

    def work():
        for _ in range(20):
            f = trommel.Filter("cuckoo", keys=300_000)
            f.update(array)
            f.contains(keys)
            f.update(keys)
            trommel.FilterView(f.to_bytes()).contains(array)
            for wrong in (None, 2**70):
                with pytest.raises((TypeError, OverflowError)):
                    f.add(wrong)
        gc.collect()

    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    work()
    before = resident()
    work()
    work()
    # After the first measurement, the two calls of `work` make 40 rounds. Each round allocates several MB, so a leak
    # would exceed the limit.
    assert resident() - before < 16 << 20
