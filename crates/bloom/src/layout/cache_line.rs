//! The cache-line layout.

use super::lanes::lane_layout;

/// Cache lines of 512 bits, each split into eight lanes of 64 bits; a key sets one bit in each lane of one cache line.
/// With the same number of bits per key, the false-positive rate is lower than that of split blocks, and a lookup still
/// reads one cache line (two in a view whose bytes are not aligned to 64 bytes).
///
/// In a table of `lines` cache lines, a hash `h` has its bits in cache line number `h · lines >> 64`. `g` is the 64-bit
/// product of the low 32 bits of `h` and an odd 32-bit constant. In lane `i` the key sets bit number
/// `(g >> (8 + 6i)) & 63`. The number of the cache line comes from the high bits of the hash, and the bit numbers come
/// from the low half, so a key's cache line and its bits in this cache line are independent.
///
/// Source: Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters" (2009), with
/// the lanes of the split-block filter.
#[derive(Clone, Copy, Debug)]
pub struct CacheLine;

lane_layout!(CacheLine {
    kind: CacheLineBloom,
    kernels: cache_line::CacheLineBody,
    lane_bits: 64,
    // The kernels keep the index of a word in 32 bits, which limits the table to 32 GiB.
    max_units: 1 << 29,
});
