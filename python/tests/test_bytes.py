"""Tests frozen bytes: views without a copy, files, and bytes that are not a filter."""

import array
import gc
import mmap
import os
import random
import stat
import sys

import pytest
import trommel


def frozen(kind="split-block-bloom"):
    f = trommel.Filter(kind, keys=500)
    f.update(range(400))
    return f.to_bytes()


@pytest.mark.parametrize("kind", trommel.KINDS)
def test_a_view_answers_like_its_filter(kind):
    data = frozen(kind)
    f, view = trommel.Filter.from_bytes(data), trommel.FilterView(data)
    keys = list(range(-500, 5_000))
    assert (view.contains(keys) == f.contains(keys)).all()
    assert all((key in view) == (key in f) for key in keys)
    for name in ("kind", "seed", "expected_fpr", "memory_bytes"):
        assert getattr(view, name) == getattr(f, name)
    assert len(view) == len(f) and view.to_bytes() == data and view.to_filter() == f
    assert not hasattr(view, "add")


def test_a_view_keeps_its_memory_map_open(tmp_path):
    path = tmp_path / "filter"
    trommel.Filter.from_bytes(frozen()).save(path)
    with open(path, "rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    view = trommel.FilterView(memory)
    with pytest.raises(BufferError):
        memory.close()
    assert view.contains(range(400)).all()
    del view
    gc.collect()
    memory.close()


def test_views_work_at_any_alignment():
    for shift in range(9):
        data = memoryview(b"x" * shift + frozen())[shift:]
        assert trommel.FilterView(data).contains(range(400)).all()


def test_a_view_keeps_its_bytes_alive():
    view = trommel.FilterView(bytes(bytearray(frozen())))
    gc.collect()
    junk = [bytes(len(frozen())) for _ in range(100)]
    assert view.contains(range(400)).all() and junk


def test_writable_buffers_are_refused_without_toreadonly():
    data = bytearray(frozen())
    with pytest.raises(BufferError, match="toreadonly"):
        trommel.FilterView(data)
    view = trommel.FilterView(memoryview(data).toreadonly())
    with pytest.raises(BufferError):
        data.extend(b"x")  # a bytearray that a view reads cannot be resized
    assert 1 in view
    assert trommel.Filter.from_bytes(data) == trommel.Filter.from_bytes(memoryview(data))


def test_objects_without_a_contiguous_buffer_are_refused():
    for wrong in (None, 1, "text", [1]):
        for read in (trommel.Filter.from_bytes, trommel.FilterView):
            with pytest.raises(TypeError):
                read(wrong)
    for read in (trommel.Filter.from_bytes, trommel.FilterView):
        with pytest.raises(BufferError):
            read(memoryview(frozen() * 2)[::2])
    with pytest.raises(trommel.FormatError):
        trommel.Filter.from_bytes(array.array("q", range(100)))


@pytest.mark.parametrize("kind", trommel.KINDS)
def test_damaged_and_foreign_bytes_are_refused(kind):
    data = frozen(kind)
    source = random.Random(kind)
    wrong = [b"", b"x", data[:-1], data + b"x", data[:64], data[1:], bytes(len(data)), source.randbytes(len(data))]
    wrong += [data[:end] for end in range(0, len(data), 37)]
    for _ in range(300):
        at, bit = source.randrange(len(data)), 1 << source.randrange(8)
        wrong.append(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
    for bad in wrong:
        with pytest.raises(trommel.FormatError):
            trommel.Filter.from_bytes(bad)
        with pytest.raises(trommel.FormatError):
            trommel.FilterView(bad)


def test_saved_files_are_whole_and_can_be_loaded(tmp_path):
    f = trommel.Filter.from_bytes(frozen("quotient"))
    path = tmp_path / "filter"
    f.save(path)
    f.save(str(path))
    assert path.read_bytes() == f.to_bytes()
    assert trommel.Filter.load(path) == f == trommel.Filter.load(str(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["filter"]
    with pytest.raises(FileNotFoundError):
        trommel.Filter.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        f.save(tmp_path / "none" / "filter")
    with pytest.raises(OSError):
        f.save(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["filter"]
    path.write_bytes(b"no filter")
    with pytest.raises(trommel.FormatError):
        trommel.Filter.load(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no module `resource`")
def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    import resource

    path = tmp_path / "filter"
    trommel.Filter.from_bytes(frozen()).save(path)
    f = trommel.Filter("bloom", keys=1_000_000)
    f.update(range(1_000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, limits[1]))
    try:
        with pytest.raises(OSError, match="large"):
            f.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == frozen()
    assert [entry.name for entry in tmp_path.iterdir()] == ["filter"]
    f.save(path)
    assert trommel.Filter.load(path) == f


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permissions for groups, and no named pipes")
def test_a_save_keeps_permissions_links_and_pipes(tmp_path):
    f = trommel.Filter.from_bytes(frozen())
    path = tmp_path / "filter"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("filter")
    f.save(link)
    assert link.is_symlink()
    assert path.read_bytes() == frozen()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        f.save(pipe)
        assert os.read(reader, 2 * len(frozen())) == frozen()
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["filter", "link", "pipe"]
