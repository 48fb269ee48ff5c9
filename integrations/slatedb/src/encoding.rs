//! The bytes of a filter in a table of SlateDB: a filter block, then a checksum of four bytes.
//!
//! ```text
//! block, see docs/FORMAT.md | the low 32 bits of the block's hash, little-endian
//! ```
//!
//! A filter block itself has no checksum, and a flipped bit in the block can hide keys. SlateDB's checksum detects
//! damage to bytes from the object store. The checksum of this encoding also detects damage to bytes that a cache, a
//! codec or another program gives to the policy. This checksum is computed with the hash function and the seed of the
//! policy.

use trommel::{FilterPolicy, KeyHash};

/// The block that is written if no filter can be built. It excludes no key.
const NO_FILTER: [u8; 1] = [0];
const CHECKSUM_BYTES: usize = 4;

fn checksum(policy: &FilterPolicy, block: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (policy.hash(block).raw() as u32).to_le_bytes()
}

/// The exact size in bytes of a filter of `keys` distinct keys, with its checksum. The filter is smaller only if
/// `encode` writes `NO_FILTER` because memory runs out or the keys do not fit.
pub(crate) fn encoded_len(policy: &FilterPolicy, keys: usize) -> usize {
    match policy.encoded_len(keys) {
        // No block can hold this number of keys, so `encode` writes `NO_FILTER`.
        usize::MAX => NO_FILTER.len() + CHECKSUM_BYTES,
        block => block + CHECKSUM_BYTES,
    }
}

/// Builds the filter of some keys. Returns `NO_FILTER` with its checksum if memory runs out or the keys do not fit.
pub(crate) fn encode(policy: &FilterPolicy, hashes: &[KeyHash]) -> Vec<u8> {
    try_encode(policy, hashes).unwrap_or_else(|| {
        let mut bytes = NO_FILTER.to_vec();
        bytes.extend(checksum(policy, &NO_FILTER));
        bytes
    })
}

fn try_encode(policy: &FilterPolicy, hashes: &[KeyHash]) -> Option<Vec<u8>> {
    let len = encoded_len(policy, hashes.len());
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).ok()?;
    bytes.resize(len, 0);
    let (block, end) = bytes.split_last_chunk_mut::<CHECKSUM_BYTES>()?;
    policy.build_into(hashes, block).ok()?;
    *end = checksum(policy, block);
    Some(bytes)
}

/// The filter block at the beginning of encoded bytes. Does not verify the block.
#[inline]
pub(crate) fn block(bytes: &[u8]) -> Option<&[u8]> {
    bytes.split_last_chunk::<CHECKSUM_BYTES>().map(|(block, _)| block)
}

/// Whether the checksum is right and the block is well-formed. If not, neither `policy` nor another policy of the same
/// name has encoded the bytes. Reads all bytes.
pub(crate) fn is_valid(policy: &FilterPolicy, bytes: &[u8]) -> bool {
    bytes
        .split_last_chunk::<CHECKSUM_BYTES>()
        .is_some_and(|(block, end)| checksum(policy, block) == *end && policy.verify(block).is_ok())
}
