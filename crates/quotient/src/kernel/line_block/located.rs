//! The positions of a block of keys, for the kernels that look up 64 keys at once.

use crate::kernel::vectors::Column;
use trommel_base::batch::Fetch;

/// The positions and remainders of a block of keys.
#[derive(Clone, Copy)]
pub(super) struct LocatedBlock {
    /// The byte of the table at which the line begins.
    pub(super) line: Column,
    pub(super) slot: Column,
    /// The remainder's byte, repeated four times: a broadcast of 32 bits from memory needs no shuffle, but a broadcast
    /// of one byte does.
    pub(super) remainder: Column,
}

impl LocatedBlock {
    pub(super) const NOWHERE: Self =
        Self { line: Column::ZERO, slot: Column::ZERO, remainder: Column::ZERO };

    /// Prefetches the keys' lines.
    #[inline(always)]
    pub(super) fn fetch<F: Fetch>(&self, table: &[u8]) {
        for line in &self.line.0 {
            F::line(table.as_ptr().wrapping_add(*line as usize));
        }
    }
}
