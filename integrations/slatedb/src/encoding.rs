//! What a table of SlateDB holds of a filter: a filter block, then a checksum of four bytes.
//!
//! ```text
//! block, see docs/FORMAT.md | the low 32 bits of the block's hash, little-endian
//! ```
//!
//! A filter block has no checksum of its own, and a bit that is lost in its table would hide keys. SlateDB's checksum
//! guards what it reads from the object store; this one also guards what a cache, a codec or another program hands to
//! the policy. The hash is the policy's, with its seed.

use trommel::{FilterPolicy, KeyHash};

/// The block of a filter that holds no keys and excludes none.
const NO_FILTER: [u8; 1] = [0];
const CHECKSUM_BYTES: usize = 4;

fn checksum(policy: &FilterPolicy, block: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (policy.hash(block).raw() as u32).to_le_bytes()
}

/// The exact bytes of the filter of `keys` keys.
pub(crate) fn encoded_len(policy: &FilterPolicy, keys: usize) -> usize {
    match policy.encoded_len(keys) {
        // More keys than one block holds get the block without a filter.
        usize::MAX => NO_FILTER.len() + CHECKSUM_BYTES,
        block => block + CHECKSUM_BYTES,
    }
}

/// Builds the filter of some keys. Where it cannot be built, for want of memory or room, this is one that excludes no
/// key.
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

/// The filter block in some bytes, unchecked.
#[inline]
pub(crate) fn block(bytes: &[u8]) -> Option<&[u8]> {
    bytes.split_last_chunk::<CHECKSUM_BYTES>().map(|(block, _)| block)
}

/// Whether a policy of this name encodes such bytes: the checksum is right, and so is the structure of the block. Cost:
/// one pass.
pub(crate) fn is_valid(policy: &FilterPolicy, bytes: &[u8]) -> bool {
    bytes
        .split_last_chunk::<CHECKSUM_BYTES>()
        .is_some_and(|(block, end)| checksum(policy, block) == *end && policy.verify(block).is_ok())
}
