"""SipHash-1-3 in plain Python, written from "SipHash: a fast short-input PRF" by Aumasson and Bernstein, section 2.

For readers of the format that have no library with this function. A key of 100 bytes takes some tens of microseconds.
"""

from struct import iter_unpack, unpack

from xxh import MASK, rotate


def rounds(v0, v1, v2, v3, count):
    """The paper's SipRound, `count` times."""
    for _ in range(count):
        v0, v2 = v0 + v1 & MASK, v2 + v3 & MASK
        v1, v3 = rotate(v1, 13) ^ v0, rotate(v3, 16) ^ v2
        v0, v2 = rotate(v0, 32) + v3 & MASK, v2 + v1 & MASK
        v1, v3 = rotate(v1, 17) ^ v2, rotate(v3, 21) ^ v0
        v2 = rotate(v2, 32)
    return v0, v1, v2, v3


def siphash13(data, key):
    """The hash of bytes under a secret key of 16 bytes: one round per word of eight bytes, and three at the end."""
    k0, k1 = unpack("<2Q", key)
    v0, v1, v2, v3 = (word ^ k for word, k in zip(unpack(">4Q", b"somepseudorandomlygeneratedbytes"), (k0, k1, k0, k1)))
    # The last word has the bytes after the last whole word, zeros, and the length modulo 256.
    for (word,) in iter_unpack("<Q", data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])):
        v0, v1, v2, v3 = rounds(v0, v1, v2, v3 ^ word, 1)
        v0 ^= word
    v0, v1, v2, v3 = rounds(v0, v1, v2 ^ 0xFF, v3, 3)
    return v0 ^ v1 ^ v2 ^ v3
