//! Hashes grouped by region, each thread its share of them.

use super::Inputs;
use super::plan::{LocalFingerprint, Plan};
use crate::fingerprint::Rounding;
use crate::layout::Layout;
use alloc::vec::Vec;
use trommel_base::partition::{MAX_HASHES, Partitioned, Partitioner};
use trommel_base::storage::OutOfMemory;
use trommel_base::{KeyHash, Workers};

/// The most shares, however many threads there are.
const MOST_SHARES: usize = 256;
/// The fewest hashes of a share for each region: with fewer, to go from region to region costs more than to
/// share.
const FEWEST_HASHES_PER_REGION: usize = 64;

/// The hashes of a share, and who groups them.
struct Share<'a, R> {
    hashes: &'a [KeyHash],
    partitioner: Partitioner<R>,
}

/// All shares, in the order of the hashes.
pub(super) struct Shares<'a, R> {
    shares: Vec<Share<'a, R>>,
}

impl<'a, R: LocalFingerprint> Shares<'a, R> {
    /// A share for each thread; `None` if there is no memory to say so, or there are too many hashes.
    pub(super) fn new(hashes: &'a [KeyHash], plan: &Plan, threads: usize) -> Option<Self> {
        let worthwhile = hashes.len() / (FEWEST_HASHES_PER_REGION * plan.regions);
        let fewest = hashes.len().div_ceil(MAX_HASHES);
        let count = threads.min(worthwhile).min(MOST_SHARES).max(fewest).max(1);
        if count > MOST_SHARES {
            return None;
        }
        let mut shares = Vec::new();
        shares.try_reserve_exact(count).ok()?;
        let chunks = hashes.chunks(hashes.len().div_ceil(count).max(1));
        shares.extend(chunks.map(|hashes| Share { hashes, partitioner: Partitioner::new() }));
        Some(Self { shares })
    }

    /// Bytes that it takes to group them.
    pub(super) fn scratch_bytes(&self, plan: &Plan) -> usize {
        let bytes = self
            .shares
            .iter()
            .map(|share| Partitioner::<R>::scratch_bytes_for(share.hashes.len(), plan.regions));
        bytes.fold(0, usize::saturating_add)
    }

    /// Groups every share; `None` if there is no memory.
    pub(super) fn group<L: Layout, W: Workers>(
        &mut self,
        inputs: &Inputs<'_>,
        plan: &Plan,
        workers: &W,
    ) -> Option<Vec<Partitioned<'_, R>>> {
        let count = self.shares.len();
        let (mut grouped, mut items) = (Vec::new(), Vec::new());
        grouped.try_reserve_exact(count).ok()?;
        items.try_reserve_exact(count).ok()?;
        grouped.resize_with(count, || Err(OutOfMemory { bytes: 0 }));
        items.extend(self.shares.iter_mut().zip(&mut grouped));
        workers.for_each(items, |(share, grouped)| {
            *grouped = group::<L, R>(inputs, plan, share);
        });
        let mut parts = Vec::new();
        parts.try_reserve_exact(count).ok()?;
        for share in grouped {
            parts.push(share.ok()?);
        }
        Some(parts)
    }
}

fn group<'a, L: Layout, R: LocalFingerprint>(
    inputs: &Inputs<'_>,
    plan: &Plan,
    share: &'a mut Share<'_, R>,
) -> Result<Partitioned<'a, R>, OutOfMemory> {
    let Inputs { geometry, rounding, .. } = *inputs;
    let plan = *plan;
    let Share { hashes, partitioner } = share;
    // Two closures: with the code of rounding in it, one is not inlined into the partitioner's loops.
    if rounding == Rounding::None {
        partitioner.partition(hashes, plan.regions, |hash| plan.split::<L, R>(hash))
    } else {
        partitioner.partition(hashes, plan.regions, |hash| {
            plan.split::<L, R>(rounding.apply::<L>(geometry, hash))
        })
    }
}
