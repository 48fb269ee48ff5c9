//! Consecutive blocks of a table, for code that writes whole blocks.

use super::{Layout, Metadata, Shape};
use core::marker::PhantomData;

/// The largest number of sections that a table of any layout has; see [`Section`].
pub(super) const SECTIONS: usize = 3;

/// A part of the table that has the same number of bytes for each block, in the order of the blocks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The byte of the table at which the section begins.
    pub(super) begin: usize,
    /// The number of bytes for each block.
    pub(super) block_bytes: usize,
}

/// Consecutive blocks of a table, to be written. They can be split into pieces that share no byte, so that several
/// threads can write them.
#[derive(Debug)]
pub(crate) struct Blocks<'t, L> {
    sections: [&'t mut [u8]; SECTIONS],
    shape: Shape,
    layout: PhantomData<L>,
}

impl<'t, L: Layout> Blocks<'t, L> {
    /// All blocks of a table.
    pub(crate) fn of_table(shape: Shape, table: &'t mut [u8]) -> Self {
        let (mut rest, mut at) = (table, 0);
        let sections = L::sections(&shape).map(|Section { begin, block_bytes }| {
            let after_padding = core::mem::take(&mut rest).split_at_mut(begin - at).1;
            let (section, after) = after_padding.split_at_mut(shape.blocks * block_bytes);
            at = begin + section.len();
            rest = after;
            section
        });
        Self { sections, shape, layout: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.shape.blocks
    }

    /// Takes the first `blocks` blocks out, and returns them.
    ///
    /// # Panics
    /// If fewer than `blocks` blocks are left.
    pub(crate) fn split_off_front(&mut self, blocks: usize) -> Self {
        let block_bytes = L::sections(&self.shape).map(|section| section.block_bytes);
        let mut bytes = block_bytes.into_iter();
        let sections = self.sections.each_mut().map(|section| {
            let (front, rest) =
                core::mem::take(section).split_at_mut(blocks * bytes.next().unwrap_or(0));
            *section = rest;
            front
        });
        self.shape.blocks -= blocks;
        Self { sections, shape: Shape { blocks, ..self.shape }, layout: PhantomData }
    }

    /// Writes a block: its metadata, and a stored remainder for every slot (0 for a free slot).
    #[inline(always)]
    pub(crate) fn write<T: Copy + Into<u32>>(
        &mut self,
        block: usize,
        metadata: Metadata,
        stored: &[T],
    ) {
        L::set_block(&self.shape, &mut self.sections, block, metadata, stored);
    }
}
