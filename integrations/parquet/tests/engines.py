"""Tests that pyarrow and DuckDB read files to which trommel-parquet has added filters.

    engines.py REWRITE [KILLS]

REWRITE is the path of trommel-parquet's example program `rewrite`. KILLS is the number of rewritings to kill,
20 by default. DuckDB shows that it uses the filters: `parquet_bloom_probe` returns for each row group whether its
filter excludes a value, and EXPLAIN ANALYZE shows the number of row groups that were scanned. pyarrow cannot read
filters in Python; it reads the data and shows the offsets and lengths of filters.
"""
import datetime
import decimal
import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import uuid

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

REWRITE, KILLS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
GROUPS, ROWS = 8, 2048
random.seed(7)
connection = duckdb.connect()


def say(text):
    print(f"-- {text}", flush=True)


def rewrite(*words):
    subprocess.run([REWRITE, *map(str, words)], check=True, timeout=60, stdout=subprocess.DEVNULL)


def table():
    """A table of even numbers, shuffled so that minimum and maximum cannot exclude a row group."""
    numbers = [2 * i for i in range(GROUPS * ROWS)]
    random.shuffle(numbers)
    day = datetime.date(1990, 1, 1)
    return pa.table({
        "i64": pa.array([n * 7919 for n in numbers], pa.int64()),
        "i32": pa.array(numbers, pa.int32()),
        "f64": pa.array([n / 4 for n in numbers], pa.float64()),
        "f32": pa.array([n / 4 for n in numbers], pa.float32()),
        "text": pa.array([None if i % 11 == 0 else f"customer-{n}" for i, n in enumerate(numbers)]),
        "day": pa.array([day + datetime.timedelta(n) for n in numbers]),
        "moment": pa.array([datetime.datetime(1990, 1, 1) + datetime.timedelta(seconds=n) for n in numbers],
                           pa.timestamp("us")),
        "amount": pa.array([decimal.Decimal(n).scaleb(-2) for n in numbers], pa.decimal128(15, 2)),
        "tags": pa.array([[f"tag-{n}"] for n in numbers]),
    })


def literal(kind, number):
    """The value that the column `kind` of `table()` has for `number`, as an SQL literal."""
    return {
        "i64": f"{number * 7919}",
        "i32": f"{number}",
        "f64": f"{number / 4}::DOUBLE",
        "f32": f"{number / 4}::FLOAT",
        "text": f"'customer-{number}'",
        "day": f"DATE '{datetime.date(1990, 1, 1) + datetime.timedelta(number)}'",
        "moment": f"TIMESTAMP '{datetime.datetime(1990, 1, 1) + datetime.timedelta(seconds=number)}'",
        "amount": f"{decimal.Decimal(number).scaleb(-2)}::DECIMAL(15, 2)",
    }[kind]


def scanned(path, where):
    """The number of row groups that DuckDB scanned, the number of all row groups, and the number of rows found."""
    plan = connection.execute(f"EXPLAIN ANALYZE SELECT * FROM '{path}' WHERE {where}").fetchall()[0][1]
    groups = re.search(r"Row Groups Scanned:\s*(\d+)\s*/\s*(\d+)", plan)
    assert groups, plan
    rows = connection.execute(f"SELECT count(*) FROM '{path}' WHERE {where}").fetchall()[0][0]
    return int(groups[1]), int(groups[2]), rows


def excluded(path, column, value):
    """Returns, for each row group, whether its filter excludes the value."""
    rows = connection.execute(f"SELECT * FROM parquet_bloom_probe('{path}', '{column}', {value})").fetchall()
    return [row[-1] for row in rows]


def check_pruning(path, columns):
    """Checks that present values are found, and that few row groups are scanned without need."""
    for column in columns:
        asked = read = 0
        for present in random.sample(range(0, 2 * GROUPS * ROWS, 2), 12):
            if column == "text" and scanned(path, f"text = {literal('text', present)}")[2] == 0:
                continue
            groups, all_groups, rows = scanned(path, f"{column} = {literal(column, present)}")
            assert all_groups == GROUPS and rows == 1 and groups >= 1, (column, present, groups, rows)
            asked, read = asked + GROUPS - 1, read + groups - 1
            assert not all(excluded(path, column, literal(column, present)))
        for absent in random.sample(range(1, 2 * GROUPS * ROWS, 2), 12):
            groups, _, rows = scanned(path, f"{column} = {literal(column, absent)}")
            assert rows == 0
            asked, read = asked + GROUPS, read + groups
        # Filters can exclude at most 180 row groups: 12 * 7 for the present values and 12 * 8 for the absent ones. At
        # most 1 % of them are expected to be read. The probability that 10 or more are read is below 1 in 10,000.
        assert read < 10, (column, read, asked)


def check_same(path, original):
    assert pq.read_table(path).equals(original), path
    rows = connection.execute(f"SELECT count(*), sum(i32), count(text) FROM '{path}'").fetchall()[0]
    numbers = original["i32"].to_pylist()
    assert rows == (len(numbers), sum(numbers), len(numbers) - original["text"].null_count)


def filter_bytes(path):
    rows = connection.execute(f"""
        SELECT path_in_schema, sum(bloom_filter_length) FROM parquet_metadata('{path}') GROUP BY ALL""").fetchall()
    return {name.replace(", ", "."): int(length or 0) for name, length in rows}


COLUMNS = ["i64", "i32", "f64", "f32", "text", "day", "moment", "amount"]
ADDED = COLUMNS + ["tags.list.element"]


def main():
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
    original = table()
    plain, filtered, other = (str(folder / name) for name in ("plain.parquet", "filtered.parquet", "other.parquet"))

    say("files of pyarrow, with filters added")
    for options in (
        {"compression": "snappy"},
        {"compression": "zstd", "write_page_index": True, "data_page_size": 4096},
        {"compression": "gzip", "use_dictionary": False, "data_page_version": "2.0"},
        {"compression": "brotli", "store_schema": False},
        {"compression": "lz4", "store_decimal_as_integer": True, "write_page_checksum": True},
    ):
        pq.write_table(original, plain, row_group_size=ROWS, **options)
        metadata = pq.read_metadata(plain)
        assert scanned(plain, f"i64 = {literal('i64', 1001)}")[0] == GROUPS
        # Without the option `store_decimal_as_integer`, the decimal is a byte array of fixed length, and DuckDB does
        # not use filters for it.
        columns = COLUMNS if "store_decimal_as_integer" in options else COLUMNS[:-1]
        rewrite(plain, filtered, *(word for column in ADDED for word in ("add", column, 0.01)))
        check_same(filtered, original)
        check_pruning(filtered, columns)
        after = pq.read_metadata(filtered)
        # 2048 values with 10.5 bits each take 2,688 bytes, rounded up to 4,096 bytes. The header has 16 bytes.
        assert after.row_group(0).column(0).bloom_filter_length == 4096 + 16
        assert (after.created_by, after.metadata) == (metadata.created_by, metadata.metadata)
        assert after.schema.equals(metadata.schema)
        for group in range(GROUPS):
            for column in range(after.num_columns):
                old, new = metadata.row_group(group).column(column), after.row_group(group).column(column)
                assert old.statistics == new.statistics and old.total_compressed_size == new.total_compressed_size

    say("files of DuckDB, with filters added")
    connection.register("original", original)
    connection.execute(f"""COPY original TO '{plain}' (FORMAT parquet, ROW_GROUP_SIZE {ROWS}, WRITE_BLOOM_FILTER false)""")
    rewrite(plain, filtered, *(word for column in ADDED for word in ("add", column, 0.01)))
    check_same(filtered, pq.read_table(plain))
    check_pruning(filtered, COLUMNS)

    say("filters of other sizes than powers of two")
    rewrite(plain, other, "any-size", *(word for column in ADDED for word in ("add", column, 0.01)))
    # A filter of 2048 values with 10.5 bits each has about 2,688 bytes.
    assert 2600 < filter_bytes(other)["i64"] / GROUPS < 2800
    check_pruning(other, COLUMNS)

    say("filters folded, replaced and removed")
    rewrite(plain, other, "add", "i64", 0.0001, "add", "text", 0.01)
    rewrite(other, filtered, "fold", "i64", 0.01, "replace", "text", 0.0001, "add", "day", 0.01)
    before, after = filter_bytes(other), filter_bytes(filtered)
    # Folding halves the bitsets, but not the headers.
    assert after["i64"] * 1.9 < before["i64"] and after["text"] > before["text"] and after["day"] > 0, (before, after)
    check_pruning(filtered, ["i64", "text", "day"])
    rewrite(filtered, other, "remove", "i64", "remove", "text", "remove", "day")
    assert open(other, "rb").read() == open(plain, "rb").read()

    say("filters of pyarrow and DuckDB removed, replaced and folded")
    options = {column: {"ndv": ROWS, "fpp": 0.0001} for column in ("i64", "text")}
    pq.write_table(original, plain, row_group_size=ROWS, bloom_filter_options=options, write_page_index=True)
    assert filter_bytes(plain)["i64"] > 0
    rewrite(plain, filtered, "fold", "i64", 0.01, "replace", "text", 0.01)
    assert filter_bytes(filtered)["i64"] * 1.9 < filter_bytes(plain)["i64"]
    check_same(filtered, original)
    check_pruning(filtered, ["i64", "text"])
    connection.execute(f"""COPY original TO '{plain}' (FORMAT parquet, ROW_GROUP_SIZE {ROWS}, WRITE_BLOOM_FILTER true,
        DICTIONARY_SIZE_LIMIT 100000)""")
    rewrite(plain, filtered, "remove", "i64", "replace", "text", 0.01, "fold", "i32", 0.1)
    assert filter_bytes(filtered)["i64"] == 0 < filter_bytes(filtered)["i32"]
    assert scanned(filtered, f"i64 = {literal('i64', 1001)}")[0] == GROUPS
    check_same(filtered, pq.read_table(plain))
    check_pruning(filtered, ["text"])

    if KILLS:
        kill(folder, original)


def kill(folder, original):
    """Rewrites a file in place and kills the process with SIGKILL at a random moment, KILLS times. Checks after each
    kill that the file is the old or the new file."""
    file, old, new = (str(folder / name) for name in ("killed.parquet", "old.parquet", "new.parquet"))
    big = pa.concat_tables([original] * 12)
    pq.write_table(big, old, row_group_size=ROWS)
    words = [word for column in ADDED for word in ("add", column, "0.01")]
    begin = time.monotonic()
    rewrite(old, new, *words)
    whole = time.monotonic() - begin
    digest = lambda path: hashlib.sha256(open(path, "rb").read()).digest()
    states = {digest(old): "old", digest(new): "new"}
    counts = {"old": 0, "new": 0}
    for _ in range(KILLS):
        subprocess.run(["cp", old, file], check=True)
        process = subprocess.Popen([REWRITE, file, file, *words], stdout=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 1.2 * whole))
        process.kill()
        process.wait(timeout=60)
        counts[states[digest(file)]] += 1
    say(f"{KILLS} rewritings killed: {counts['old']} left the old file, {counts['new']} the new file")


main()
