"""A reader of frozen filters, filter blocks and lists of hashes, written from docs/FORMAT.md alone.

    from format_reader import read_frozen
    filter = read_frozen(open("words.trommel", "rb").read())
    print(filter.kind, b"anvil" in filter, filter.count(b"anvil"))

The reader makes all checks of the document's section "What a reader checks", and raises a
FormatError for bytes that fail a check. If the hash function has a secret key, pass the secret key
to the reader; without it, the filter can look up hashes but no keys. The reader exists to test the
document, and is not fast: a quotient table is decoded completely before the first lookup.
"""

from collections import Counter
from math import isqrt

from siphash import siphash13
from xxh import u64, xxh3_64, xxh64

VERSION = 1
XXH3, XXH64, SIPHASH13 = 1, 2, 3
# Functions of a key's bytes, and of the seed or the secret key.
HASHES = {XXH3: xxh3_64, XXH64: xxh64, SIPHASH13: siphash13}
POLICY_HASHES = {"xxh3": XXH3, "xxh64": XXH64, "siphash13": SIPHASH13}
BLOOM, COUNTING, REGISTER, SPLIT_BLOCK, CACHE_LINE, QUOTIENT, LINE_QUOTIENT, CUCKOO = range(1, 9)
KINDS = {
    BLOOM: "bloom",
    COUNTING: "counting-bloom",
    REGISTER: "register-bloom",
    SPLIT_BLOCK: "split-block-bloom",
    CACHE_LINE: "cache-line-bloom",
    QUOTIENT: "quotient",
    LINE_QUOTIENT: "cache-line-quotient",
    CUCKOO: "cuckoo",
}
# The ranges of p0 to p3.
RANGES = {
    BLOOM: ((1, 2**44), (1, 32), (0, 0), (0, 0)),
    COUNTING: ((1, 2**44), (1, 32), (2, 4), (0, 2**50)),
    REGISTER: ((1, 2**32 - 1), (1, 8), (0, 0), (0, 0)),
    SPLIT_BLOCK: ((1, 2**27), (8, 8), (0, 0), (0, 0)),
    CACHE_LINE: ((1, 2**29), (8, 8), (0, 0), (0, 0)),
    QUOTIENT: ((1, 2**42), (1, 32), (1, 2**62), (1, 255)),
    LINE_QUOTIENT: ((50, 2**42), (1, 8), (1, 2**62), (1, 255)),
    CUCKOO: ((2, 2**31), (8, 32), (0, 28), (0, 3)),
}
M16, M32, M64 = 2**16 - 1, 2**32 - 1, 2**64 - 1
SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


class FormatError(ValueError):
    """Why bytes are not a filter."""


def require(condition, message):
    if not condition:
        raise FormatError(message)


def bits(data, at, count):
    """The number that is stored in `count` bits from bit `at` on."""
    return int.from_bytes(data[at // 8 : (at + count + 7) // 8], "little") >> at % 8 & (1 << count) - 1


def up(number, unit):
    return -(-number // unit) * unit


def check_secret(hash_code, seed, secret):
    """If a secret key is given, requires that its key check is stored as the seed."""
    if secret is not None:
        require(hash_code == SIPHASH13, f"a secret key was given, and hash function {hash_code} has none")
        check = siphash13(b"trommel.keycheck", secret)
        require(check == seed, f"the check of the secret key is {check:016x}, {seed:016x} is stored")


class Filter:
    """A filter of any kind. Keys are bytes; `contains_hash` and `count_hash` take 64-bit hashes."""

    def __init__(self, kind, hash_code, seed, length, table, secret=None):
        self.kind, self.hash_code, self.seed, self.len, self.table = KINDS[kind], hash_code, seed, length, table
        self.secret = secret

    def hash(self, key):
        if self.hash_code != SIPHASH13:
            return HASHES[self.hash_code](key, self.seed)
        require(self.secret is not None, "keys are hashed with a secret key, which was not given")
        return siphash13(key, self.secret)

    def contains_hash(self, h):
        return self.table.count(h) > 0

    def count_hash(self, h):
        return self.table.count(h)

    def __contains__(self, key):
        return self.contains_hash(self.hash(key))

    def count(self, key):
        return self.count_hash(self.hash(key))


class Everything:
    """The table of a filter block that holds no filter: every key may be there."""

    def count(self, _):
        return 1


class Bloom:
    """Kinds 1 to 5. In kinds 1 and 2, `units` is not used: a hash selects bits of the whole table."""

    def __init__(self, kind, units, k, table):
        self.kind, self.units, self.k, self.table = kind, units, k, table

    def positions(self, h):
        low, high = h & M32, h >> 32
        g = low * 0x9E3779B9
        if self.kind in (BLOOM, COUNTING):
            for _ in range(self.k):
                yield h * 8 * len(self.table) >> 64
                h = h * 0xF1357AEA2E62A9C5 & M64
        elif self.kind == REGISTER:
            yield from (64 * (h * self.units >> 64) + (g >> 8 + 6 * j & 63) for j in range(self.k))
        elif self.kind == SPLIT_BLOCK:
            block = high * self.units >> 32
            yield from (256 * block + 32 * i + ((low * salt & M32) >> 27) for i, salt in enumerate(SALTS))
        else:
            yield from (512 * (h * self.units >> 64) + 64 * i + (g >> 8 + 6 * i & 63) for i in range(8))

    def count(self, h):
        return int(all(self.table[p // 8] >> p % 8 & 1 for p in self.positions(h)))


class Counting(Bloom):
    """Kind 2: the count of a key is the least of the counts of its bits."""

    def __init__(self, words, k, width, entries, payload):
        super().__init__(COUNTING, words, k, payload[: 8 * words])
        counters, overflow = payload[8 * words :][: 8 * width * words], payload[8 * (1 + width) * words :]
        right = width == 2 or width == 4 and entries == 0
        require(right, f"counters of {width} bits, {entries} overflow entries")
        self.counts = [bits(counters, width * p, width) for p in range(64 * words)]
        set_bits = [bits(self.table, p, 1) for p in range(64 * words)]
        require(set_bits == [int(count > 0) for count in self.counts], "bits and counters differ")
        pairs = [(u64(overflow, 16 * i), u64(overflow, 16 * i + 8)) for i in range(entries)]
        if width == 2:
            overflowing = [p for p, count in enumerate(self.counts) if count == 3]
            require([p for p, _ in pairs] == overflowing, "the overflow table has other positions than the counters")
            require(all(count >= 3 for _, count in pairs), "an overflow entry counts less than 3")
            for p, count in pairs:
                self.counts[p] = count

    def count(self, h):
        return min(self.counts[p] for p in self.positions(h))


def quotient_blocks(kind, n):
    return -(-(n + min(320, 32 + 4 * isqrt(n))) // (64 if kind == QUOTIENT else 50))


def quotient_bytes(kind, b, r):
    return up(16 * b, 64) + up(8 * r * b, 64) + up(b, 64) if kind == QUOTIENT else 64 * b


class Quotient:
    """Kinds 6 and 7: `places` counts the copies at each place, `quotient << r | remainder`."""

    def __init__(self, kind, n, r, fingerprints, copies, payload, length=None):
        self.kind, self.n, self.r, self.fingerprints = kind, n, r, fingerprints
        self.unit, self.range = 2**64 // fingerprints, n << r
        require(n % 50 == 0 or kind == QUOTIENT, f"{n} slots are no multiple of 50")
        require(copies in (1, 255), f"{copies} copies, neither 1 nor 255")
        require(self.range <= 2**62, f"{n} slots of {r} bits are too many")
        least = self.range * self.unit >= 2**64 > self.range // 2 * self.unit
        right = fingerprints == self.range or (n < fingerprints and least)
        require(right, f"{r} bits are wrong for {n} slots and {fingerprints} fingerprints")
        if kind == LINE_QUOTIENT:
            first, rest = divmod(fingerprints, 256)
            right = rest == 0 and first % 50 == 0 and (n == first if r == 8 else n >= 2 * first)
            require(right, f"{fingerprints} fingerprints are wrong for {n} slots of {r} bits")
        size, most = (64, 255) if kind == QUOTIENT else (50, 63)
        b = quotient_blocks(kind, n)
        occupieds, runends, offsets, slots = self.sections(payload, b) if kind == QUOTIENT else self.lines(payload, b)
        self.places, end, last = Counter(), 0, -1
        for quotient in range(b * size):
            if quotient % size == 0:
                require(offsets[quotient // size] == min(max(end - quotient, 0), most), "an offset is wrong")
            if end <= quotient:
                # No earlier run reaches slot `quotient`: it is free unless this quotient has a run.
                end = quotient
                taken = occupieds >> quotient & 1
                require(taken or (not slots[quotient] and not runends >> quotient & 1), "a free slot is not zero")
            if occupieds >> quotient & 1:
                require(quotient < n, "a quotient beyond the slots")
                more = True
                while more:
                    require(end < b * size and slots[end] is not None, "a run without an end")
                    place = quotient << r | slots[end]
                    require(place >= last, "remainders do not ascend")
                    self.places[place], last = self.places[place] + 1, place
                    more = not runends >> end & 1
                    end += 1
        require(all(count <= copies for count in self.places.values()), "too many copies")
        for place in self.places:
            fingerprint = -(-place * 2**64 // (self.unit * self.range)) if fingerprints != self.range else place
            require(fingerprint < fingerprints and self.place(fingerprint) == place, "no fingerprint has this place")
            require(kind == QUOTIENT or fingerprint % 256, "a fingerprint whose low 8 bits are zero")
        held = sum(self.places.values())
        require(length in (None, held), f"{held} fingerprints in the table, {length} in the header")

    def sections(self, payload, b):
        words, rest = payload[: 16 * b], payload[up(16 * b, 64) :]
        remainders, offsets = rest[: self.r * 8 * b], rest[up(self.r * 8 * b, 64) :]
        zeros = payload[16 * b : -len(rest)] + rest[len(remainders) : -len(offsets)] + offsets[b:]
        require(not any(zeros), "padding is not zero")
        occupieds = b"".join(words[16 * i : 16 * i + 8] for i in range(b))
        runends = b"".join(words[16 * i + 8 : 16 * i + 16] for i in range(b))
        slots = [bits(remainders, self.r * slot, self.r) for slot in range(64 * b)]
        return int.from_bytes(occupieds, "little"), int.from_bytes(runends, "little"), offsets, slots

    def lines(self, payload, b):
        occupieds, runends, offsets, slots = 0, 0, [], []
        for i in range(b):
            line = payload[64 * i : 64 * (i + 1)]
            require(bits(line, 450, 6) == 0, "padding is not zero")
            occupieds |= bits(line, 400, 50) << 50 * i
            runends |= bits(line, 456, 50) << 50 * i
            offsets.append(bits(line, 506, 6))
            for byte in line[:50]:
                remainder = byte >> 8 - self.r
                stored = remainder if self.r == 8 else (remainder * 2 + 1) << 7 - self.r
                require(byte in (0, stored), f"{byte:#x} is no remainder of {self.r} bits")
                slots.append(remainder if byte else None)
        return occupieds, runends, offsets, slots

    def place(self, fingerprint):
        return fingerprint if self.fingerprints == self.range else fingerprint * self.unit * self.range >> 64

    def count(self, h):
        fingerprint = h * self.fingerprints >> 64
        if self.kind == LINE_QUOTIENT and fingerprint % 256 == 0:
            fingerprint += 1
        return self.places[self.place(fingerprint)]


class Cuckoo:
    """Kind 8: `buckets` has the four fingerprints of each bucket; 0 is an empty slot."""

    def __init__(self, m, f, d, flags, payload, length=None):
        require(f in (8, 12, 16, 32), f"fingerprints of {f} bits")
        require(d <= f - 4, f"{d} doublings are too many for fingerprints of {f} bits")
        require(m % 2 ** (d + 1) == 0, f"{m} buckets after {d} doublings")
        self.m, self.f, self.d, self.flags = m, f, d, flags
        size, padding = f * m // 2, 2 if f == 12 else 0
        table, overflow = payload[:size], payload[size + padding :]
        require(len(payload) >= size + padding and len(overflow) % 8 == 0, f"{len(payload)} bytes for {m} buckets")
        require(not any(payload[size : size + padding]), "padding is not zero")
        slots = [bits(table, f * i, f) for i in range(4 * m)]
        self.buckets = [slots[4 * b : 4 * b + 4] for b in range(m)]
        self.overflow = [u64(overflow, 8 * i) for i in range(len(overflow) // 8)]
        require(len(self.overflow) <= max(2, min(64, 4 * m // 256)), f"{len(self.overflow)} overflow entries")
        require(self.overflow == sorted(self.overflow), "overflow entries do not ascend")
        for entry in self.overflow:
            bucket, fingerprint = entry >> 32, entry & M32
            right = bucket < m and 0 < fingerprint < 2**f and self.fits(bucket, fingerprint)
            require(right, "an impossible overflow entry")
            require(bucket < self.other(bucket, fingerprint), "an overflow entry with the higher of its buckets")
        for b, bucket in enumerate(self.buckets):
            right = all(self.fits(b, fingerprint) for fingerprint in bucket if fingerprint)
            require(right, "a fingerprint of another bucket")
        held = len(self.overflow) + sum(1 for slot in slots if slot)
        require(length in (None, held), f"{held} fingerprints in the table, {length} in the header")

    def fits(self, bucket, fingerprint):
        return fingerprint >> self.f - self.d == bucket % 2**self.d

    def other(self, bucket, fingerprint):
        made_with = self.m >> self.d
        once = (fingerprint >> 16 ^ fingerprint) * 0x9E37 & M16
        mixed = (once ^ once >> 7) * 0xC2B3 & M16
        offset = 2 * (mixed * (min(made_with, 2**16) // 2) >> 16) + 1
        i = bucket >> self.d
        j = (i + offset if i % 2 == 0 else i - offset) % made_with
        return (j << self.d) + bucket % 2**self.d

    def is_set(self, bucket, parity):
        a, c = bucket[2 * parity : 2 * parity + 2]
        return a >= c and (a >= 1 or self.flags & 2 != 0)

    def count(self, h):
        x = h * (self.m >> self.d)
        y = (x & M64) >> 64 - self.f
        fingerprint, primary = y or 1, (x >> 64 << self.d) + (y >> self.f - self.d)
        other = self.other(primary, fingerprint)
        count = self.buckets[primary].count(fingerprint)
        if self.is_set(self.buckets[primary], fingerprint % 2):
            count += self.buckets[other].count(fingerprint)
        return count + self.overflow.count(min(primary, other) << 32 | fingerprint)


def table_of(kind, p, payload, length=None):
    """A kind's table. Requires parameters in range, and a payload of the length that they give."""
    require(kind != CUCKOO or p[3] <= 3, f"flags {p[3]}; this reader knows the flags 0 to 3")
    for i, (value, (low, high)) in enumerate(zip(p, RANGES[kind])):
        require(low <= value <= high, f"parameter p{i} of {KINDS[kind]} is {value}, allowed are {low} to {high}")
    unit = {BLOOM: 8, COUNTING: 8 + 8 * p[2], REGISTER: 8, SPLIT_BLOCK: 32, CACHE_LINE: 64}.get(kind)
    if kind == CUCKOO:
        return Cuckoo(*p, payload, length)
    size = quotient_bytes(kind, quotient_blocks(kind, p[0]), p[1]) if unit is None else unit * p[0]
    size += 16 * p[3] if kind == COUNTING else 0
    require(len(payload) == size, f"{len(payload)} bytes of payload, {size} by the parameters")
    if kind == COUNTING:
        return Counting(*p, payload)
    return Bloom(kind, p[0], p[1], payload) if unit else Quotient(kind, *p, payload, length)


def read_frozen(data, secret=None):
    """Reads a frozen filter. If a secret key is given, the keys must have been hashed with it."""
    require(len(data) >= 128, f"{len(data)} bytes are no header")
    require(data[:8] == b"TROMMEL\0", "not a Trommel filter")
    version, kind, hash_code, reserved = (bits(data, at, 16) for at in (64, 80, 96, 112))
    require(version == VERSION, f"version {version} of the format; this reader reads version {VERSION}")
    require(u64(data, 120) == xxh3_64(data[:120]), "the header checksum is wrong")
    payload = data[128:]
    require(len(payload) == u64(data, 64), f"{len(payload)} bytes of payload, {u64(data, 64)} by the header")
    require(kind in KINDS, f"kind {kind}; this reader knows {KINDS}")
    require(hash_code in HASHES, f"hash function {hash_code}; this reader knows {list(HASHES)}")
    require(reserved == 0 and not any(data[80:120]), "reserved bytes are not zero")
    check_secret(hash_code, u64(data, 16), secret)
    require(u64(data, 72) == xxh3_64(payload), "the payload checksum is wrong")
    p = [u64(data, at) for at in (32, 40, 48, 56)]
    return Filter(kind, hash_code, u64(data, 16), u64(data, 24), table_of(kind, p, payload, u64(data, 24)), secret)


def read_block(data, policy, secret=None):
    """Reads a filter block. `policy`, the name of its policy, contains the seed or key check."""
    parts = policy.split(".")
    require(len(parts) == 5 and parts[0] == "trommel", f"{policy} is no name of a policy")
    require(parts[1] == str(VERSION), f"version {parts[1]} of the block form; this reader reads version {VERSION}")
    kind = next((code for code, name in KINDS.items() if name == parts[2]), None)
    require(kind not in (None, COUNTING), f"kind {parts[2]} is unknown, or has no block form")
    require(parts[3] in POLICY_HASHES, f"hash function {parts[3]}; this reader knows {list(POLICY_HASHES)}")
    hash_code, seed = POLICY_HASHES[parts[3]], int(parts[4], 16)
    check_secret(hash_code, seed, secret)
    require(len(data) > 0, "a filter block has no bytes")
    if data == b"\0":
        return Filter(kind, hash_code, seed, None, Everything(), secret)
    if kind == BLOOM and hash_code == XXH3:
        require(1 <= data[-1] <= 32, f"code {data[-1]} is not one of this policy")
        parameter, table = data[-1], data[:-1]
    else:
        require(data[-1] == 128 + 32 * hash_code + kind and len(data) > 1, f"code {data[-1]} is not one of this policy")
        parameter, table = data[-2], data[:-2]
    return Filter(kind, hash_code, seed, None, block_table(kind, parameter, table), secret)


def block_table(kind, parameter, table):
    t = len(table)
    if kind == BLOOM:
        require(t >= 1 and 1 <= parameter <= 32, f"{t} bytes, {parameter} bits set by a key")
        return Bloom(BLOOM, None, parameter, table)
    if kind in (QUOTIENT, LINE_QUOTIENT):
        require(1 <= parameter <= 32 if kind == QUOTIENT else parameter == 8, f"remainders of {parameter} bits")
        b = t // (17 + 8 * parameter if kind == QUOTIENT else 64)
        while b > 0 and quotient_bytes(kind, b, parameter) > t:
            b -= 1
        size, step = (64, 1) if kind == QUOTIENT else (50, 50)
        n = b * size
        while n > 0 and quotient_blocks(kind, n) > b:
            n -= step
        require(n > 0 and quotient_blocks(kind, n) == b, f"no table has {t} bytes")
        return table_of(kind, (n, parameter, n << parameter, 1), table)
    if kind == CUCKOO:
        require(parameter in (8, 12, 16, 32), f"fingerprints of {parameter} bits")
        m = (t - (2 if parameter == 12 else 0)) * 2 // parameter
        cuckoo = table_of(kind, (m, parameter, 0, 0), table)
        require(not cuckoo.overflow, f"no table has {t} bytes")
        return cuckoo
    units = t // {REGISTER: 8, SPLIT_BLOCK: 32, CACHE_LINE: 64}[kind]
    return table_of(kind, (units, parameter, 0, 0), table)


def read_hashes(data, secret=None):
    """Returns the code of a list's hash function, the seed or key check, and the hashes."""
    require(len(data) >= 40 and data[:8] == b"TrmlHash", "not a list of hashes")
    require(bits(data, 64, 16) == VERSION, f"version {bits(data, 64, 16)} of the list; this reader reads {VERSION}")
    require(len(data) == 40 + 8 * u64(data, 24), f"{len(data)} bytes for {u64(data, 24)} hashes")
    require(u64(data, len(data) - 8) == xxh3_64(data[:-8]), "the checksum is wrong")
    require(not any(data[12:16]), "reserved bytes are not zero")
    hash_code = bits(data, 80, 16)
    require(hash_code in HASHES, f"hash function {hash_code}; this reader knows {list(HASHES)}")
    check_secret(hash_code, u64(data, 16), secret)
    return hash_code, u64(data, 16), [u64(data, 32 + 8 * i) for i in range(u64(data, 24))]
