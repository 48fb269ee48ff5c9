"""Compares measured false-positive rates with the expected ones while filters fill.

    python rates.py [KEYS [PICTURE.svg]]

The filters are made for KEYS keys (default: 100,000) and a false-positive rate of 1 %. Prints a table. With PICTURE.svg
it also draws a plot, which needs matplotlib.
"""

import sys

import numpy
import trommel

PROBES = 1_000_000


def measure(kind, keys):
    """Returns a row for each load from 0.1 to 1: the load, the measured and the expected false-positive rate."""
    f = trommel.Filter(kind, keys=keys, fpr=0.01)
    absent = numpy.arange(2**62, 2**62 + PROBES)
    rows = []
    for tenth in range(1, 11):
        f.update(numpy.arange((tenth - 1) * keys // 10, tenth * keys // 10))
        rows.append((tenth / 10, f.contains(absent).mean(), f.expected_fpr))
    return rows


def main():
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    curves = {kind: measure(kind, keys) for kind in trommel.KINDS}
    print(f"{'kind':22} " + " ".join(f"{'at ' + format(load, '.0%'):>15}" for load in (0.5, 1.0)))
    for kind, rows in curves.items():
        cells = [f"{100 * rows[i][1]:.3f} / {100 * rows[i][2]:.3f} %" for i in (4, 9)]
        print(f"{kind:22} " + " ".join(f"{cell:>15}" for cell in cells))
        for _, measured, expected in rows:
            # The allowed difference is a sum: five standard deviations of the measured rate, 10 %
            # of the expected rate (which for some kinds is a mean or an estimate), and five false
            # positives (for rates near zero).
            bound = 5 * (expected / PROBES) ** 0.5 + 0.1 * expected
            assert abs(measured - expected) < bound + 5 / PROBES, (kind, measured, expected)
    if len(sys.argv) > 2:
        from matplotlib import pyplot

        for kind, rows in curves.items():
            load, measured, expected = zip(*rows)
            (line,) = pyplot.plot(load, measured, ".", label=kind)
            pyplot.plot(load, expected, "-", color=line.get_color(), linewidth=1)
        pyplot.xlabel("load: keys as a share of those that the filter was made for")
        pyplot.ylabel("false-positive rate (points measured, lines expected)")
        pyplot.yscale("log")
        pyplot.legend()
        pyplot.savefig(sys.argv[2])


main()
