"""XXH3-64 and XXH64 in plain Python, written from https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.

For readers of the format that have no library with these hashes. A short key takes some microseconds, and a payload of
1 MB takes a tenth of a second.
"""

from functools import lru_cache
from struct import unpack_from

MASK = 2**64 - 1
# The primes are numbered as in the specification, from 1.
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
STRIPES_PER_BLOCK = (len(SECRET) - 64) // 8


def u32(data, at):
    return int.from_bytes(data[at : at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at : at + 8], "little")


def swap64(x):
    return int.from_bytes(x.to_bytes(8, "little"), "big")


def rotate(x, bits):
    return (x << bits | x >> (64 - bits)) & MASK


def fold(a, b):
    """The two halves of a product of 128 bits, xored."""
    product = a * b
    return (product ^ product >> 64) & MASK


def avalanche(x):
    x = (x ^ x >> 37) * 0x165667919E3779F9 & MASK
    return x ^ x >> 32


def avalanche_xxh64(x):
    x = (x ^ x >> 33) * P64_2 & MASK
    x = (x ^ x >> 29) * P64_3 & MASK
    return x ^ x >> 32


def xxh3_64(data, seed=0):
    """The XXH3-64 hash of bytes, with the default secret and a seed."""
    n = len(data)
    if n == 0:
        return avalanche_xxh64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))
    if n <= 3:
        word = data[n - 1] | n << 8 | data[0] << 16 | data[n >> 1] << 24
        return avalanche_xxh64(word ^ (u32(SECRET, 0) ^ u32(SECRET, 4)) + seed & MASK)
    if n <= 8:
        seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
        word = u32(data, n - 4) + (u32(data, 0) << 32)
        x = word ^ (u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & MASK
        x ^= rotate(x, 49) ^ rotate(x, 24)
        x = x * 0x9FB21C651E98DF25 & MASK
        x = (x ^ (x >> 35) + n) * 0x9FB21C651E98DF25 & MASK
        return x ^ x >> 28
    if n <= 16:
        low = u64(data, 0) ^ (u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & MASK
        high = u64(data, n - 8) ^ (u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & MASK
        return avalanche(n + swap64(low) + high + fold(low, high) & MASK)
    if n <= 240:
        return xxh3_64_medium(data, seed)
    return xxh3_64_long(data, seed)


def xxh3_64_medium(data, seed):
    """The hash of 17 to 240 bytes."""

    def mix(at, key):
        low, high = u64(SECRET, key) + seed & MASK, u64(SECRET, key + 8) - seed & MASK
        return fold(u64(data, at) ^ low, u64(data, at + 8) ^ high)

    n = len(data)
    x = n * P64_1
    if n <= 128:
        for i in range((n - 1) // 32 + 1):
            x += mix(16 * i, 32 * i) + mix(n - 16 * (i + 1), 32 * i + 16)
        return avalanche(x & MASK)
    x = avalanche(x + sum(mix(16 * i, 16 * i) for i in range(8)) & MASK)
    x += sum(mix(16 * i, 16 * (i - 8) + 3) for i in range(8, n // 16)) + mix(n - 16, 136 - 17)
    return avalanche(x & MASK)


@lru_cache
def seeded_secret(seed):
    words = unpack_from("<24Q", SECRET)
    return b"".join((word + (-seed if i % 2 else seed) & MASK).to_bytes(8, "little") for i, word in enumerate(words))


def xxh3_64_long(data, seed):
    """The hash of more than 240 bytes."""
    secret = seeded_secret(seed)
    n, keys = len(data), [unpack_from("<8Q", secret, 8 * i) for i in range(STRIPES_PER_BLOCK)]
    lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]

    def accumulate(at, key):
        words = unpack_from("<8Q", data, at)
        for i in range(8):
            x = words[i] ^ key[i]
            lanes[i] += words[i ^ 1] + (x & 0xFFFFFFFF) * (x >> 32)

    for stripe in range((n - 1) // 64):
        accumulate(64 * stripe, keys[stripe % STRIPES_PER_BLOCK])
        if stripe % STRIPES_PER_BLOCK == STRIPES_PER_BLOCK - 1:
            for i, key in enumerate(unpack_from("<8Q", secret, len(secret) - 64)):
                x = lanes[i] & MASK
                lanes[i] = (x ^ x >> 47 ^ key) * P32_1 & MASK
    accumulate(n - 64, unpack_from("<8Q", secret, len(secret) - 71))
    keys = unpack_from("<8Q", secret, 11)
    folded = (fold(lanes[i] & MASK ^ keys[i], lanes[i + 1] & MASK ^ keys[i + 1]) for i in range(0, 8, 2))
    return avalanche(n * P64_1 + sum(folded) & MASK)


def xxh64(data, seed=0):
    """The XXH64 hash of bytes."""

    def round64(lane, word):
        return rotate(lane + word * P64_2 & MASK, 31) * P64_1 & MASK

    n, at = len(data), 0
    if n < 32:
        x = seed + P64_5
    else:
        lanes = [seed + P64_1 + P64_2, seed + P64_2, seed, seed - P64_1]
        while at + 32 <= n:
            lanes = [round64(lane, u64(data, at + 8 * i)) for i, lane in enumerate(lanes)]
            at += 32
        x = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18)))
        for lane in lanes:
            x = (x ^ round64(0, lane)) * P64_1 + P64_4 & MASK
    x = x + n & MASK
    for at in range(at, n - 7, 8):
        x = rotate(x ^ round64(0, u64(data, at)), 27) * P64_1 + P64_4 & MASK
    at = n - n % 8
    if n - at >= 4:
        x = rotate(x ^ u32(data, at) * P64_1 & MASK, 23) * P64_2 + P64_3 & MASK
        at += 4
    for byte in data[at:]:
        x = rotate(x ^ byte * P64_5 & MASK, 11) * P64_1 & MASK
    return avalanche_xxh64(x)
