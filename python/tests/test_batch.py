"""Tests that a batch in any container gives the same results as its keys one by one."""

import array
import decimal
import itertools

import numpy
import pytest
import trommel


def filter_of(keys):
    f = trommel.Filter(keys=5_000, fpr=1e-4)
    for key in keys:
        f.add(key)
    return f


def assert_batch(batch, keys):
    """Checks that adding and looking up `batch` gives the same results as adding and looking up `keys` one by one. None
    in `keys` stands for a null."""
    present = [key for key in keys if key is not None]
    by_batch = trommel.Filter(keys=5_000, fpr=1e-4)
    by_batch.update(batch)
    assert by_batch == filter_of(present)
    # This filter holds every second key.
    f = filter_of(present[::2])
    answers = f.contains(batch)
    assert isinstance(answers, numpy.ndarray) and answers.dtype == numpy.bool_
    assert answers.tolist() == [key is not None and key in f for key in keys]
    assert (trommel.FilterView(f.to_bytes()).contains(batch) == answers).all()


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TEXTS = ["anvil", "", "ключ", "x" * 12, "y" * 13, "z" * 300, "𝄞", "anvil"] + [f"key-{i}" for i in range(3_000)]


def integers(dtype):
    limits = numpy.iinfo(dtype)
    source = numpy.random.default_rng(1)
    drawn = source.integers(limits.min, limits.max, 2_500, dtype=dtype, endpoint=True)
    return numpy.concatenate([drawn, numpy.array([0, 1, limits.min, limits.max], dtype)])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_numpy(dtype):
    keys = integers(dtype)
    assert_batch(keys, keys.tolist())
    assert_batch(keys[::3], keys[::3].tolist())
    assert_batch(keys[::-1], keys[::-1].tolist())
    assert_batch(keys.astype(keys.dtype.newbyteorder(">")), keys.tolist())
    assert_batch(keys.reshape(2, -1)[1], keys.reshape(2, -1)[1].tolist())
    keys.flags.writeable = False
    assert_batch(keys, keys.tolist())
    packed = numpy.zeros(50, dtype=[("pad", "i1"), ("key", dtype)])
    packed["key"] = keys[:50]
    assert_batch(packed["key"], keys[:50].tolist())
    unaligned = numpy.frombuffer(b"x" + keys.tobytes(), dtype, offset=1)
    assert_batch(unaligned, keys.tolist())


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 1_023, 1_024, 1_025, 4_095, 4_096, 40_000])
def test_batches_of_any_length_are_answered(length):
    keys = numpy.arange(length, dtype="int32")
    f = trommel.Filter(keys=50_000)
    f.update(keys)
    assert len(f) == length
    answers = f.contains(keys)
    assert answers.shape == (length,) and answers.all()
    f.contains(keys)[:] = False  # the caller may change the answers
    assert f.contains(keys.tolist()).all()


def test_more_keys_than_are_hashed_at_a_time():
    keys = numpy.arange(2_500_000)
    f = trommel.Filter(keys=2_500_000)
    f.update(keys)
    assert len(f) == len(keys) and f.contains(keys).all()
    mixed = numpy.arange(2_500_000 - 1000, 2 * 2_500_000)
    answers = f.contains(mixed)
    picks = numpy.random.default_rng(2).integers(0, len(mixed), 3_000)
    assert answers[picks].tolist() == [int(key) in f for key in mixed[picks]]
    assert answers[:1000].all() and answers[1000:].mean() < 0.012


def test_filter_full_counts_the_keys_of_all_chunks():
    f = trommel.Filter("cuckoo", keys=1_500_000)
    keys = numpy.arange(4_000_000)
    with pytest.raises(trommel.FilterFull) as raised:
        f.update(keys)
    assert raised.value.inserted >= 1_500_000
    assert f.contains(keys[: raised.value.inserted]).all()


def test_text_and_bytes_of_numpy():
    keys = TEXTS[:300]
    assert_batch(numpy.array(keys), keys)
    assert_batch(numpy.array(keys)[::2], keys[::2])
    assert_batch(numpy.array(keys).astype(">U300"), keys)
    assert_batch(numpy.array(keys, dtype=object), keys)
    assert_batch(numpy.array(["a", None, 7, b"x"], dtype=object), ["a", None, 7, b"x"])
    data = [key.encode() for key in keys]
    assert_batch(numpy.array(data), data)
    # NumPy strips zeros at the end of an item of type S.
    assert_batch(numpy.array([b"a\0b", b"c\0\0", b"\0"]), [b"a\0b", b"c", b""])
    assert_batch(numpy.zeros(3, dtype="S0" if numpy.dtype("S0").itemsize == 0 else "S1"), [b""] * 3)


def test_iterables():
    keys = ["a", b"b", 3, None, 2**64 - 1, -1]
    assert_batch(keys, keys)
    assert_batch(tuple(keys), keys)
    assert_batch(dict.fromkeys(keys), keys)
    assert_batch(array.array("q", [1, -5]), [1, -5])
    f = trommel.Filter(keys=100)
    f.update(iter(keys))
    f.update(str(i) for i in range(3))
    f.update({"x", "y"})
    assert f == filter_of_100([key for key in keys if key is not None] + ["0", "1", "2", "x", "y"])
    assert f.contains(str(i) for i in itertools.islice(itertools.count(), 3)).all()


def filter_of_100(keys):
    f = trommel.Filter(keys=100)
    for key in keys:
        f.add(key)
    return f


@pytest.mark.parametrize(
    "batch",
    [
        "anvil",
        b"anvil",
        bytearray(b"anvil"),
        memoryview(b"anvil"),
        None,
        7,
        [1.5],
        ["a", True],
        [("a",)],
        numpy.zeros(3),
        numpy.zeros(3, dtype=bool),
        numpy.zeros(3, dtype=complex),
        numpy.zeros(3, dtype="datetime64[s]"),
        numpy.zeros(3, dtype=[("a", "i4")]),
        numpy.array([1.5, 2], dtype=object),
        numpy.ma.masked_array([1, 2], mask=[0, 1]),
    ],
)
def test_objects_that_are_not_batches_are_refused(batch):
    f = trommel.Filter(keys=100)
    for call in (f.update, f.contains, trommel.FilterView(f.to_bytes()).contains):
        with pytest.raises(TypeError):
            call(batch)
    assert f == trommel.Filter(keys=100)


def test_arrays_must_have_one_dimension():
    for wrong in (numpy.zeros((2, 2), dtype=int), numpy.array(5)):
        with pytest.raises(ValueError, match="dimension"):
            trommel.Filter(keys=10).contains(wrong)


def test_a_failing_iterator_does_not_change_the_filter():
    def keys():
        yield "a"
        raise RuntimeError("no more")

    f = trommel.Filter(keys=100)
    with pytest.raises(RuntimeError, match="no more"):
        f.update(keys())
    assert len(f) == 0


def test_an_iterator_may_use_the_filter():
    f = trommel.Filter(keys=100)

    def keys():
        for i in range(10):
            f.add(f"within {i}")
            yield i

    f.update(keys())
    assert len(f) == 20


def arrow_arrays(pa):
    texts = [None if i % 7 == 3 else text for i, text in enumerate(TEXTS)]
    data = [None if text is None else text.encode() for text in texts]
    for name in ("string", "large_string", "string_view"):
        yield pa.array(texts, getattr(pa, name)()), texts
        yield pa.array(TEXTS, getattr(pa, name)()), TEXTS
    for name in ("binary", "large_binary", "binary_view"):
        yield pa.array(data, getattr(pa, name)()), data
    for dtype in INTEGERS:
        keys = [None if i % 5 == 2 else key for i, key in enumerate(integers(dtype).tolist())]
        yield pa.array(keys, getattr(pa, dtype)()), keys
        yield pa.array(integers(dtype)), integers(dtype).tolist()
    fixed = [None if i % 3 == 1 else i.to_bytes(5, "big") for i in range(1_000)]
    yield pa.array(fixed, pa.binary(5)), fixed
    yield pa.array(texts).dictionary_encode(), texts
    yield pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["a", None, "b"])), ["a", None, None, "b"]
    yield pa.nulls(10), [None] * 10
    yield pa.array([], pa.string()), []


def test_arrays_of_arrow():
    pa = pytest.importorskip("pyarrow")
    for arrow, keys in arrow_arrays(pa):
        assert_batch(arrow, keys)
        for start, length in [(1, 7), (3, None), (len(keys) // 2, 70), (len(keys), 0)]:
            end = None if length is None else start + length
            assert_batch(arrow.slice(start, length), keys[start:end])
        chunked = pa.chunked_array([arrow.slice(0, 9), arrow.slice(9, 0), arrow.slice(9)])
        assert_batch(chunked, keys)


def test_other_types_of_arrow_are_refused():
    pa = pytest.importorskip("pyarrow")
    f = trommel.Filter(keys=100)
    for values in ([1.5], [True], [decimal.Decimal(1)], [[1]], [{"a": 1}]):
        for batch in (pa.array(values), pa.chunked_array([pa.array(values)])):
            with pytest.raises(TypeError, match="cast"):
                f.update(batch)
    with pytest.raises(TypeError, match="timestamp"):
        f.update(pa.array([1], pa.timestamp("s")))
    f.update(pa.array([1], pa.timestamp("s")).cast(pa.int64()))
    assert 1 in f


def test_damaged_arrays_of_arrow_are_refused():
    pa = pytest.importorskip("pyarrow")
    offsets = [[0, 5, 3], [0, 1, 99], [-1, 0, 1], [0, 2**31 - 1, 2**31 - 1]]
    f, refused = trommel.Filter(keys=100), 0
    for wrong in offsets:
        buffers = [None, pa.py_buffer(numpy.array(wrong, "int32")), pa.py_buffer(b"abcde")]
        try:
            bad = pa.Array.from_buffers(pa.string(), 2, buffers)
        except pa.ArrowInvalid:
            continue  # pyarrow itself refuses some offsets
        refused += 1
        for call in (f.update, f.contains):
            with pytest.raises(ValueError, match="offset"):
                call(bad)
    assert refused > 0
    view = (99).to_bytes(4, "little") + b"abcd" + (7).to_bytes(4, "little") * 2
    views = pa.Array.from_buffers(pa.string_view(), 1, [None, pa.py_buffer(view), pa.py_buffer(b"abcde")])
    indices = pa.DictionaryArray.from_arrays(pa.array([0, 9]), pa.array(["a"]), safe=False)
    for bad in (views, indices):
        with pytest.raises(ValueError, match="damaged"):
            f.update(bad)
    assert len(f) == 0


def test_columns_of_pandas():
    pd = pytest.importorskip("pandas")
    texts = TEXTS[:500]
    assert_batch(pd.Series(texts), texts)
    assert_batch(pd.Series(texts, dtype=object), texts)
    assert_batch(pd.Index(texts), texts)
    assert_batch(pd.Series(texts).astype("category"), texts)
    for dtype in INTEGERS:
        keys = integers(dtype)
        assert_batch(pd.Series(keys), keys.tolist())
        assert_batch(pd.Series(keys)[::2], keys[::2].tolist())
    assert_batch(pd.Index([5, 6]), [5, 6])
    assert_batch(pd.Series([5, None, 6], dtype="Int64"), [5, None, 6])
    assert_batch(pd.Series(["a", None, "b"], dtype="string"), ["a", None, "b"])
    with pytest.raises(TypeError):
        trommel.Filter(keys=10).update(pd.Series([1.5, 2]))


def test_columns_of_polars():
    pl = pytest.importorskip("polars")
    texts = [None if i % 7 == 3 else text for i, text in enumerate(TEXTS[:500])]
    assert_batch(pl.Series(texts), texts)
    assert_batch(pl.Series(texts)[10:20], texts[10:20])
    assert_batch(pl.Series(texts, dtype=pl.Categorical), texts)
    assert_batch(pl.Series([b"a", None, b"x" * 40]), [b"a", None, b"x" * 40])
    for dtype in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"):
        keys = [1, None, 2, 127]
        assert_batch(pl.Series(keys, dtype=getattr(pl, dtype)), keys)
    assert_batch(pl.concat([pl.Series(["a", "b"]), pl.Series(["c"])]), ["a", "b", "c"])
    with pytest.raises(TypeError):
        trommel.Filter(keys=10).update(pl.Series([1.5, 2]))
