"""Joins a large table with a small one in polars. Before the join, a filter of the small table's
keys drops most rows of the large table.

    python join.py [ROWS]

The large table has ROWS rows (default: five million). About one row in twenty has a partner in the small table. The
results of the joins with and without the filter must be equal.
"""

import sys
import time

import numpy
import polars
import trommel


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    random = numpy.random.default_rng(7)
    orders = polars.DataFrame({"order": numpy.arange(rows // 20), "price": random.random(rows // 20)})
    items = polars.DataFrame({"order": random.integers(0, rows, rows), "amount": random.integers(1, 50, rows)})

    start = time.perf_counter()
    plain = items.join(orders, on="order")
    between = time.perf_counter()
    f = trommel.Filter(keys=len(orders), fpr=0.01)
    f.update(orders["order"])
    fewer = items.filter(polars.Series(f.contains(items["order"])))
    filtered = fewer.join(orders, on="order")
    end = time.perf_counter()

    assert filtered.sort("order", "amount").equals(plain.sort("order", "amount"))
    print(f"{len(items):,} rows, {len(fewer):,} after the filter of {f.memory_bytes:,} bytes, {len(plain):,} joined")
    print(f"join {between - start:.3f} s, filter and join {end - between:.3f} s")


main()
