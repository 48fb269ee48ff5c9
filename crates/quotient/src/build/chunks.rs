//! Places the regions of a table, using several threads.
//!
//! To place a region is to find the slot of each of its remainders. Remainders for which the region has no slot left
//! *spill* into the next region. A region depends on the regions before it only through the remainders that spill into
//! it. Nearly always, the region right before it alone determines these remainders: a spill into a region changes the
//! spill out of that region only if adjacent runs take all of its slots. So the regions are split into *chunks*. A
//! thread first places, but does not write, the region before a chunk, assuming that nothing spills into that region.
//! In this way the thread finds what spills into the chunk. When all chunks are placed, the spill that was found for a
//! chunk is compared with the spill that the previous chunk really left. If the two differ, the chunk is placed again.

use super::plan::{LocalFingerprint, Plan, Stored};
use super::region::{Region, Spill};
use crate::kernel::{self, Job};
use crate::layout::{Blocks, Layout, Shape};
use alloc::vec::Vec;
use core::ops::Range;
use trommel_base::Workers;
use trommel_base::partition::Partitioned;
use trommel_simd::Isa;

/// The number of chunks per thread, if there are several threads. It is above 1, so that a slower thread can take fewer
/// chunks.
const CHUNKS_PER_THREAD: usize = 4;
/// The fewest regions of a chunk, except the last chunk. Each chunk but the first costs the time of one more region,
/// since the region before it is placed too.
const FEWEST_REGIONS: usize = 32;

/// The inputs from which a table is placed.
pub(super) struct Placing<'a, R> {
    pub(super) plan: &'a Plan,
    pub(super) shares: &'a [Partitioned<'a, R>],
    pub(super) isa: Isa,
    /// The number of chunks that are placed at the same time.
    pub(super) threads: usize,
}

/// The result of placing a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Placed {
    /// The number of fingerprints in the table.
    pub(super) len: u64,
    /// The number of chunks that were placed again.
    pub(super) again: usize,
}

impl<R: LocalFingerprint> Placing<'_, R> {
    /// Fills a table. `None` if too many fingerprints belong to few slots, if they have too many copies or do not fit,
    /// or if there is no memory; the table has arbitrary bytes then.
    pub(super) fn run<L: Layout, T: Stored>(
        &self,
        shape: Shape,
        table: &mut [u8],
        workers: &dyn Workers,
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
        let placed = workers
            .for_each(count, items, |(chunk, outcome)| *outcome = kernel::run(self.isa, chunk));
        placed.ok()?;

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

    /// The chunk of at most `regions` regions from region `first` on. Takes their blocks out of `left`, the blocks that
    /// no chunk has yet.
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

/// Consecutive regions, and the blocks that they are written to.
struct Chunk<'a, 't, L, R, T> {
    placing: &'a Placing<'a, R>,
    regions: Range<usize>,
    blocks: Blocks<'t, L>,
    /// What spills into the chunk, if that is known already.
    before: Option<Spill<T>>,
}

/// The result of placing a chunk.
struct Outcome<T> {
    /// What was assumed to spill into the chunk.
    before: Spill<T>,
    /// What spills out of the chunk.
    after: Spill<T>,
    /// The number of fingerprints in the chunk.
    len: u64,
}

impl<L: Layout, R: LocalFingerprint, T: Stored> Job for Chunk<'_, '_, L, R, T> {
    type Output = Option<Outcome<T>>;

    #[inline(always)]
    fn run(mut self) -> Self::Output {
        let Placing { plan, shares, .. } = *self.placing;
        let Range { start, end } = self.regions;
        // If the spill into the chunk is not known, start with the region before the chunk, if there is one.
        let mut at = if self.before.is_none() { start.saturating_sub(1) } else { start };
        let mut region = Region::<L, T>::after(&self.before.take().unwrap_or_default(), plan)?;
        let (mut before, mut len) = (Spill::default(), 0);
        let mut parts = Vec::new();
        parts.try_reserve_exact(shares.len()).ok()?;
        // What spills out of the table's last region is placed in further regions, which have no fingerprints of their
        // own.
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
