//! The block form of Bloom filters: the bare table, without a header.

use crate::filter::Bloom;
use crate::layout::Layout;
use trommel_base::block::{BlockSpec, BlockTable, PolicyError};
use trommel_base::sizing::MAX_BITS_PER_KEY;
use trommel_base::spec::check_bits_per_key;
use trommel_base::{FormatError, KeyHash, SpecError};
use trommel_simd::Isa;

/// The fewest bits per key. With fewer bits, a filter would report more than 63 % of the absent keys as present, and in
/// split blocks and cache-line blocks nearly all absent keys.
const MIN_BITS_PER_KEY: f64 = 1.0;

impl<L: Layout> BlockTable for Bloom<L> {
    /// The number of bits that each key sets.
    fn parameter(bits_per_key: f64) -> Result<u8, SpecError> {
        check_bits_per_key(bits_per_key, MIN_BITS_PER_KEY, MAX_BITS_PER_KEY)?;
        Ok(L::best_hashes(L::UNIT_BYTES as f64 * 8.0 / bits_per_key) as u8)
    }

    fn table_len(spec: &BlockSpec, keys: usize) -> Option<usize> {
        let step = L::BLOCK_STEP_BYTES;
        let bytes = spec.bytes_for(keys)?.max(1).checked_next_multiple_of(step)?;
        ((bytes / step) as u64 <= L::MAX_UNITS).then_some(bytes)
    }

    fn fill(spec: &BlockSpec, hashes: &[KeyHash], table: &mut [u8]) -> Result<(), PolicyError> {
        table.fill(0);
        L::fill_block(spec.isa, spec.parameter, hashes, table);
        Ok(())
    }

    #[inline(always)]
    fn may_match(isa: Isa, parameter: u8, table: &[u8], hash: KeyHash) -> bool {
        !is_table::<L>(parameter, table) || L::block_contains(isa, parameter, table, hash)
    }

    #[inline(always)]
    fn prefetch(parameter: u8, table: &[u8], hash: KeyHash) {
        if is_table::<L>(parameter, table) {
            L::prefetch_block(parameter, table, hash);
        }
    }

    fn check(parameter: u8, table: &[u8]) -> Result<(), FormatError> {
        if is_table::<L>(parameter, table) {
            return Ok(());
        }
        Err(if L::HASHES.contains(&parameter.into()) {
            FormatError::Field { name: "table length", value: table.len() as u64 }
        } else {
            FormatError::Field { name: "hashes", value: parameter.into() }
        })
    }
}

/// Whether the layout allows this number of `hashes` (bits that a key sets), and a table of this length. The content of
/// the table does not matter.
#[inline(always)]
fn is_table<L: Layout>(hashes: u8, table: &[u8]) -> bool {
    L::HASHES.contains(&hashes.into())
        && !table.is_empty()
        && table.len().is_multiple_of(L::BLOCK_STEP_BYTES)
        && (table.len() / L::BLOCK_STEP_BYTES) as u64 <= L::MAX_UNITS
}
