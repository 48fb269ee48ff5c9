//! Groups hashes by region of the table. The hashes are divided into shares, which the threads group.

use super::Inputs;
use super::plan::{LocalFingerprint, Plan};
use crate::fingerprint::Rounding;
use crate::layout::Layout;
use alloc::vec::Vec;
use trommel_base::Workers;
use trommel_base::partition::{Partitioned, Shares, partition_shares};

/// Groups the hashes of every share by region of the table; `None` if there is no memory.
pub(super) fn group<'s, L: Layout, R: LocalFingerprint>(
    inputs: &Inputs<'_>,
    plan: &Plan,
    shares: &'s mut Shares<R>,
    workers: &dyn Workers,
) -> Option<Vec<Partitioned<'s, R>>> {
    let Inputs { geometry, rounding, hashes, .. } = *inputs;
    let plan = *plan;
    // A closure that contains the code of rounding is not inlined into the partitioner's loops. So if hashes are not
    // rounded, the closure does not contain that code.
    let grouped = if rounding == Rounding::None {
        let split = |hash| [plan.split::<L, R>(hash)];
        partition_shares(workers, shares, hashes, split)
    } else {
        let split = |hash| [plan.split::<L, R>(rounding.apply::<L>(geometry, hash))];
        partition_shares(workers, shares, hashes, split)
    };
    grouped.ok()
}
