//! The split-block layout.

use super::lanes::lane_layout;

/// Blocks of 256 bits in eight lanes of 32; a key sets one bit in each lane of one block.
///
/// In a table of `blocks` blocks, a hash `h` has its bits in block number `(h >> 32) · blocks >> 32`. In lane `i` the
/// key sets bit number `((low 32 bits of h) · salt_i mod 2^32) >> 27`. The eight salts are odd constants of Parquet's
/// specification. The table is bit for bit that of Parquet's split-block filter.
///
/// Source: Apache Parquet format, "Parquet Bloom filter"; after Putze, Sanders and Singler (2009).
#[derive(Clone, Copy, Debug)]
pub struct SplitBlock;

lane_layout!(SplitBlock {
    kind: SplitBlockBloom,
    kernels: split_block::SplitBlockBody,
    lane_bits: 32,
    // Parquet computes the block from only 32 bits of the hash, so the blocks of a large table differ in how many of
    // the 2^32 values select them. With nearly 2^27 blocks (4 GiB), some blocks get 3 % more keys than others, which
    // raises the false-positive rate by less than 1 % of its value. With more blocks it would rise further.
    max_units: 1 << 27,
});
