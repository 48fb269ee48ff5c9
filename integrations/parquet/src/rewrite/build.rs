//! Makes new filters, from a chunk's values or by folding the old filter.

use crate::filter::ChunkFilter;
use crate::literal::HASHER;
use crate::rewrite::thrift_writer::StructWriter;
use crate::thrift::Kind;
use trommel::{KeyHash, SpecError, SplitBlockBloom};

/// The size in bytes of the largest bitset that is built from values. The `parquet` crate has the same limit. If a
/// bitset would be larger, building the filter fails with [`BuildError::TooLarge`].
pub(crate) const MAX_BITSET_BYTES: u64 = 128 << 20;

/// Why a filter could not be built.
pub(crate) enum BuildError {
    Spec(SpecError),
    TooLarge { bytes: u64 },
}

impl From<SpecError> for BuildError {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

/// Builds a filter from the hashes of distinct values, with a false-positive rate of at most `fpr`. If `any_size` is
/// true, the filter has the smallest size that suffices, otherwise the smallest power of two that suffices.
pub(crate) fn build(
    hashes: &[KeyHash],
    fpr: f64,
    any_size: bool,
) -> Result<SplitBlockBloom, BuildError> {
    const HEADER_BYTES: u64 = trommel::container::HEADER_BYTES as u64;
    let builder = SplitBlockBloom::builder().keys(hashes.len()).hasher(HASHER);
    let exact = builder.fpr(fpr).encoded_len()?.saturating_sub(HEADER_BYTES);
    let bytes = if any_size { exact } else { exact.checked_next_power_of_two().unwrap_or(exact) };
    if bytes > MAX_BITSET_BYTES {
        return Err(BuildError::TooLarge { bytes });
    }
    let mut filter = builder.memory_bytes(bytes as usize).build()?;
    filter.add_batch(hashes);
    Ok(filter)
}

/// Halves a filter repeatedly, as long as its number of blocks is even and its false-positive rate stays at most `fpr`.
/// The result is bit for bit the filter of its size that would have been built from the values. `None` if the
/// false-positive rate of the given filter is already higher than `fpr`, or if memory runs out.
pub(crate) fn fold(filter: &ChunkFilter<'_>, fpr: f64) -> Option<SplitBlockBloom> {
    filter.view().to_owned_filter().ok()?.fold_to_fpr(fpr).ok()?
}

/// Encodes a filter as it is stored in a file: its header and its bitset.
pub(crate) fn with_header(bitset: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bitset.len() + 20);
    let mut to = StructWriter::new(&mut out);
    to.integer(1, Kind::I32, bitset.len() as i64);
    // Algorithm, hash and compression are unions. In each union, the first field is set: an empty struct.
    const FIRST: [u8; 3] = [0x1C, 0, 0];
    (2..=4).for_each(|id| to.head(id, Kind::Struct).extend_from_slice(&FIRST));
    to.end();
    out.extend_from_slice(bitset);
    out
}
