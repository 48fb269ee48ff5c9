//! Regions placed by several threads.
//!
//! A region depends on its predecessors only through the remainders that spill into it, and nearly always those
//! follow from the last predecessor alone: only if one cluster takes all slots of that does it matter what spilled
//! into it. So the regions are cut into *chunks*, and a chunk begins with the region before its first,
//! into which it assumes that nothing is pushed, and which it does not write. When all are done, what each
//! assumed is compared with what the one before it came to. Where that differs, the chunk is placed again.

use super::plan::{LocalFingerprint, Plan, Stored};
use super::region::{Region, Spill};
use crate::kernel::{self, Job};
use crate::layout::{Blocks, Layout, Shape};
use alloc::vec::Vec;
use core::ops::Range;
use trommel_base::Workers;
use trommel_base::partition::Partitioned;
use trommel_simd::Isa;

/// Chunks for each of several threads, so that one that is slower takes fewer.
const CHUNKS_PER_THREAD: usize = 4;
/// The fewest regions of a chunk: each costs one more.
const FEWEST_REGIONS: usize = 32;

/// The inputs of a table.
pub(super) struct Placing<'a, R> {
    pub(super) plan: &'a Plan,
    pub(super) shares: &'a [Partitioned<'a, R>],
    pub(super) isa: Isa,
    /// How many chunks are placed at the same time.
    pub(super) threads: usize,
}

/// How a table was placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Placed {
    /// Fingerprints in it.
    pub(super) len: u64,
    /// Chunks that were placed again.
    pub(super) again: usize,
}

impl<R: LocalFingerprint> Placing<'_, R> {
    /// Fills a table; `None`, with any bytes in its blocks, if fingerprints cluster too much, do not fit, or there is
    /// no memory.
    pub(super) fn run<L: Layout, T: Stored, W: Workers>(
        &self,
        shape: Shape,
        table: &mut [u8],
        workers: &W,
    ) -> Option<Placed> {
        let regions = self.regions_per_chunk();
        let count = self.plan.regions.div_ceil(regions);
        let (mut outcomes, mut items) = (Vec::new(), Vec::new());
        outcomes.try_reserve_exact(count).ok()?;
        items.try_reserve_exact(count).ok()?;
        outcomes.resize_with(count, || None);
        let mut blocks = Blocks::<L>::of_table(shape, table);
        for (i, outcome) in outcomes.iter_mut().enumerate() {
            items.push((self.chunk(i * regions, regions, &mut blocks), outcome));
        }
        workers.for_each(items, |(chunk, outcome)| *outcome = kernel::run(self.isa, chunk));

        let mut placed = Placed::default();
        let mut blocks = Blocks::<L>::of_table(shape, table);
        let mut before = Spill::<T>::default();
        for (i, outcome) in outcomes.into_iter().enumerate() {
            let mut outcome = outcome?;
            let mut chunk = self.chunk(i * regions, regions, &mut blocks);
            if outcome.before != before {
                chunk.before = Some(before);
                outcome = kernel::run(self.isa, chunk)?;
                placed.again += 1;
            }
            placed.len += outcome.len;
            before = outcome.after;
        }
        Some(placed)
    }

    fn regions_per_chunk(&self) -> usize {
        if self.threads == 1 {
            return self.plan.regions;
        }
        let chunks = self.threads.saturating_mul(CHUNKS_PER_THREAD);
        self.plan.regions.div_ceil(chunks).max(FEWEST_REGIONS)
    }

    /// A chunk of the first `regions` that are left, and of their blocks.
    fn chunk<'a, 't, L: Layout, T: Stored>(
        &'a self,
        first: usize,
        regions: usize,
        left: &mut Blocks<'t, L>,
    ) -> Chunk<'a, 't, L, R, T> {
        let end = self.plan.regions.min(first + regions);
        let blocks =
            if end == self.plan.regions { left.len() } else { regions * self.plan.region_blocks() };
        let blocks = left.split_off_front(blocks);
        Chunk { placing: self, regions: first..end, blocks, before: None }
    }
}

/// Some regions, and the blocks that they are written to.
struct Chunk<'a, 't, L, R, T> {
    placing: &'a Placing<'a, R>,
    regions: Range<usize>,
    blocks: Blocks<'t, L>,
    /// The slots that spill into it, where they are known.
    before: Option<Spill<T>>,
}

/// The slots that spill into a chunk, as far as it knows, and out of it; and its number of fingerprints.
struct Outcome<T> {
    before: Spill<T>,
    after: Spill<T>,
    len: u64,
}

impl<L: Layout, R: LocalFingerprint, T: Stored> Job for Chunk<'_, '_, L, R, T> {
    type Output = Option<Outcome<T>>;

    #[inline(always)]
    fn run(mut self) -> Self::Output {
        let Placing { plan, shares, .. } = *self.placing;
        let Range { start, end } = self.regions;
        // The region before the first, where there is one, and it is not known what that comes to.
        let mut at = if self.before.is_none() { start.saturating_sub(1) } else { start };
        let mut region = Region::<L, T>::after(&self.before.take().unwrap_or_default(), plan)?;
        let (mut before, mut len) = (Spill::default(), 0);
        let mut parts = Vec::new();
        parts.try_reserve_exact(shares.len()).ok()?;
        // After the last region of all comes what is pushed beyond it.
        while at < end || end == plan.regions && region.spills() {
            if at == start {
                before = region.spill()?;
            }
            parts.clear();
            if at < end {
                parts.extend(shares.iter().map(|share| share.part(at)));
            }
            let fingerprints = region.place(&parts)?;
            if at >= start {
                region.write(&mut self.blocks)?;
                len += fingerprints as u64;
            }
            region.go_on();
            at += 1;
        }
        Some(Outcome { before, after: region.spill()?, len })
    }
}
