"""Writes pyarrow.parquet and duckdb.parquet to this script's folder, with Bloom filters of values that the tests know.

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1 duckdb==2.0.1 && venv/bin/python make.py

Row i is in row group i // 2048. The values of row i are computed from the number
k = i % 40 + 40 * (i // 2048). But in the column `name`, every seventh row is NULL.
"""
import datetime
import decimal
import pathlib
import uuid

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS, GROUPS, DISTINCT = 2048, 3, 40
FOLDER = pathlib.Path(__file__).parent

numbers = [i % DISTINCT + DISTINCT * (i // GROUP_ROWS) for i in range(GROUP_ROWS * GROUPS)]
table = pa.table({
    "id": pa.array([k * k * 7919 + k for k in numbers], pa.int64()),
    "small": pa.array([k * 31 - 500 for k in numbers], pa.int32()),
    "ratio": pa.array([k * 0.25 - 3 for k in numbers], pa.float32()),
    "price": pa.array([k * 1.5 - 20 for k in numbers], pa.float64()),
    "name": pa.array([None if i % 7 == 0 else f"customer-{k}" for i, k in enumerate(numbers)]),
    "day": pa.array([datetime.date(2026, 1, 1) + datetime.timedelta(k) for k in numbers]),
    "amount": pa.array([decimal.Decimal(k * 101 - 1000).scaleb(-2) for k in numbers], pa.decimal128(9, 2)),
    "key": pa.array([bytes(k + j for j in range(16)) for k in numbers], pa.binary(16)),
    "tags": pa.array([[f"tag-{k}", f"tag-{k + 1000}"] for k in numbers]),
    # pyarrow writes no filter for this column.
    "plain": pa.array([k * 3 for k in numbers], pa.int64()),
})

filtered = [name for name in table.column_names if name not in ("plain", "tags")] + ["tags.list.element"]
pq.write_table(
    table,
    FOLDER / "pyarrow.parquet",
    row_group_size=GROUP_ROWS,
    compression="zstd",
    write_page_index=True,
    data_page_size=2048,
    store_decimal_as_integer=True,
    store_schema=False,
    sorting_columns=[pq.SortingColumn(0)],
    bloom_filter_options={name: {"ndv": 2 * DISTINCT, "fpp": 0.01} for name in filtered},
)

connection = duckdb.connect()
connection.execute(f"""
    COPY (SELECT id, small, ratio, price, name, day, amount::DECIMAL(9, 2) AS amount,
                 (substr(hex(key), 1, 8) || '-' || substr(hex(key), 9, 4) || '-' || substr(hex(key), 13, 4)
                  || '-' || substr(hex(key), 17, 4) || '-' || substr(hex(key), 21))::UUID AS key, tags, plain
          FROM "table")
    TO '{FOLDER / "duckdb.parquet"}' (
        FORMAT parquet, ROW_GROUP_SIZE {GROUP_ROWS}, COMPRESSION snappy, PARQUET_VERSION V1, WRITE_BLOOM_FILTER true,
        BLOOM_FILTER_FALSE_POSITIVE_RATIO 0.01, DICTIONARY_SIZE_LIMIT 100000,
        KV_METADATA {{written_by: 'make.py'}})
""")
for name in ("pyarrow", "duckdb"):
    path = FOLDER / f"{name}.parquet"
    print(name, path.stat().st_size, "bytes")
    for row in connection.execute(f"""
        SELECT row_group_id, path_in_schema, type, encodings, bloom_filter_offset, bloom_filter_length
        FROM parquet_metadata('{path}') WHERE row_group_id = 0""").fetchall():
        print(" ", row)
