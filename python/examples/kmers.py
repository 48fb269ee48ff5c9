"""Finds which reads (sequenced fragments) of a sample come from a genome. Looks up the k-mers of
each read in a filter of the genome's k-mers. The k-mers of a sequence are its substrings of K
letters.

    python kmers.py [BASES]

First writes two FASTA files: one with a random genome of BASES letters (default: a million), and
one with reads from this genome and from another.
"""

import pathlib
import random
import sys
import tempfile

import numpy
import trommel

K = 31
READ_BASES = 150
CODES = numpy.full(256, 255, "uint8")
CODES[list(b"ACGT")] = range(4)


def write_fasta(path, records):
    with open(path, "w") as file:
        for name, sequence in records:
            file.write(f">{name}\n")
            file.writelines(sequence[i : i + 80] + "\n" for i in range(0, len(sequence), 80))


def read_fasta(path):
    """Yields the name and the sequence of each record."""
    name, lines = None, []
    with open(path) as file:
        for line in file:
            if line.startswith(">"):
                if name is not None:
                    yield name, "".join(lines)
                name, lines = line[1:].strip(), []
            else:
                lines.append(line.strip())
    if name is not None:
        yield name, "".join(lines)


def kmers(sequence):
    """The k-mers of a sequence as integers, with two bits per letter."""
    codes = CODES[numpy.frombuffer(sequence.encode(), "uint8")].astype("uint64")
    if len(codes) < K:
        return numpy.empty(0, "uint64")
    windows = numpy.zeros(len(codes) - K + 1, "uint64")
    for i in range(K):
        windows = windows << numpy.uint64(2) | codes[i : i + len(windows)]
    return windows


def main():
    bases = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    letters = random.Random(7)
    genome, other = ("".join(letters.choices("ACGT", k=bases)) for _ in range(2))

    def reads(name, source):
        starts = [letters.randrange(bases - READ_BASES) for _ in range(200)]
        return [(f"{name}-{i}", source[start : start + READ_BASES]) for i, start in enumerate(starts)]

    with tempfile.TemporaryDirectory() as folder:
        genome_file, reads_file = pathlib.Path(folder, "genome.fa"), pathlib.Path(folder, "reads.fa")
        write_fasta(genome_file, [("genome", genome)])
        write_fasta(reads_file, reads("genome", genome) + reads("other", other))

        f = trommel.Filter(keys=bases, fpr=0.01)
        for _, sequence in read_fasta(genome_file):
            f.update(kmers(sequence))
        share = {name: f.contains(kmers(sequence)).mean() for name, sequence in read_fasta(reads_file)}

    found = {name for name, value in share.items() if value > 0.5}
    expected = {name for name in share if name.startswith("genome")}
    assert found == expected
    absent = [value for name, value in share.items() if name.startswith("other")]
    print(f"{bases:,} bases in {f.memory_bytes:,} bytes; {len(found)} of {len(share)} reads are from the genome")
    print(f"other k-mers that are reported as present: {100 * numpy.mean(absent):.2f} %, expected {100 * f.expected_fpr:.2f} %")


main()
