//! A table from hashes in any order, region by region, on any number of threads.
//!
//! Hashes are partitioned by regions of the table that fit into the nearest caches ([`shares`]); a region is
//! worked through ([`region`], [`order`]) and written; and several threads work on regions that are far from
//! each other ([`chunks`]).
//!
//! At 95 % load of 2^20 slots a key takes 10.8 ns with remainders of 8 bits, 11.7 in lines, 12.3 with 16 bits
//! and 15.7 with 18, on a Cascade Lake core with AVX2: about 3 of them to partition, and 1 for the system to
//! zero the memory for that.
//!
//! Lost, where it took 15.5 then: to sort by remainder, then by quotient, and append one after another (20.4);
//! pairs of neighbours as one number, the larger of it and of its halves exchanged, which stays scalar code
//! (24, of them 11 to exchange). Runs of more than 4, 6 or 7 remainders sorted one by one, not of more than 5:
//! 0.2 more each.

mod chunks;
mod order;
mod plan;
mod region;
mod shares;
#[cfg(test)]
mod tests;

pub(crate) use plan::MOST_REGIONS;

use crate::append::Appender;
use crate::fingerprint::Rounding;
use crate::geometry::Geometry;
use crate::layout::Layout;
use alloc::vec::Vec;
use chunks::{Placed, Placing};
use plan::{LocalFingerprint, Plan, Stored};
use region::Region;
use trommel_base::partition::{Partitioned, SharePlan};
use trommel_base::{Bulk, KeyHash, ScratchRequest, Workers};
use trommel_simd::Isa;

/// The inputs of a table.
pub(crate) struct Inputs<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) rounding: Rounding,
    pub(crate) hashes: &'a [KeyHash],
    pub(crate) isa: Isa,
}

/// Fills an empty table, and says how many fingerprints it holds; `None`, with any bytes in the table, if
/// they do not fit, or if there is no memory to sort them in.
///
/// Memory: a local fingerprint a hash, of four bytes as long as quotient in its region and remainder have up
/// to 32 bits, and else of eight; 1100 bytes a region and thread; and the slots of a few regions a thread.
pub(crate) fn build<L: Layout, W: Workers>(
    inputs: &Inputs<'_>,
    table: &mut [u8],
    bulk: Bulk<'_, W>,
) -> Option<u64> {
    let plan = Plan::new::<L>(inputs.geometry)?;
    let stored_bits =
        if L::RESERVES_ZERO { *L::REMAINDER_BITS.end() } else { inputs.geometry.remainder_bits };
    let placed = match (plan.local_bits::<L>(), stored_bits) {
        (0..=32, 0..=8) => build_of::<L, u32, u8, W>(inputs, &plan, table, bulk),
        (0..=32, 0..=16) => build_of::<L, u32, u16, W>(inputs, &plan, table, bulk),
        (0..=32, _) => build_of::<L, u32, u32, W>(inputs, &plan, table, bulk),
        _ => build_of::<L, u64, u32, W>(inputs, &plan, table, bulk),
    };
    placed.map(|placed| placed.len)
}

fn build_of<L: Layout, R: LocalFingerprint, T: Stored, W: Workers>(
    inputs: &Inputs<'_>,
    plan: &Plan,
    table: &mut [u8],
    bulk: Bulk<'_, W>,
) -> Option<Placed> {
    let threads = bulk.workers.threads().max(1);
    let hashes = inputs.hashes.len();
    let share_plan = SharePlan::new(bulk.workers, hashes, 1, plan.regions);
    let region_bytes = Region::<L, T>::scratch_bytes(plan).checked_mul(threads)?;
    let most_bytes = bulk.scratch_bytes.checked_sub(region_bytes)?;
    if share_plan.bytes_for::<R>(hashes) > most_bytes {
        return None;
    }
    let mut shares = share_plan.take::<R, W>(bulk.workers, hashes, most_bytes).ok()?;
    let left = bulk.scratch_bytes.saturating_sub(shares.memory_bytes());
    let grouped = shares::group::<L, R, W>(inputs, plan, &mut shares, bulk.workers)?;
    let shape = inputs.geometry.shape();
    let placing = Placing { plan, shares: &grouped, isa: inputs.isa, threads };
    let placed = placing.run::<L, T, W>(shape, table, bulk.workers).or_else(|| {
        table.fill(0);
        append_sorted::<L, R, W>(
            inputs.geometry,
            plan,
            table,
            &grouped,
            Bulk { scratch_bytes: left, ..bulk },
        )
    });
    shares.give_back(bulk.workers);
    placed
}

/// Appends any fingerprints, in time that does not depend on how they cluster. Those of a region are sorted in
/// `bulk.scratch_bytes`.
fn append_sorted<L: Layout, R: LocalFingerprint, W: Workers>(
    geometry: &Geometry,
    plan: &Plan,
    table: &mut [u8],
    shares: &[Partitioned<'_, R>],
    bulk: Bulk<'_, W>,
) -> Option<Placed> {
    let of_region = |region: usize| shares.iter().map(move |share| share.part(region));
    let most = (0..plan.regions)
        .map(|region| of_region(region).map(<[R]>::len).sum::<usize>())
        .max()
        .unwrap_or(0);
    let kept_bytes = bulk.scratch_bytes.checked_sub(most.checked_mul(size_of::<R>())?)?;
    bulk.workers.take_memory(ScratchRequest { pieces: 0, piece_bytes: 0, most_bytes: kept_bytes });
    let mut sorted = Vec::new();
    sorted.try_reserve_exact(most).ok()?;
    let mut appender = Appender::<L>::new(geometry, table);
    let bits = plan.remainder_bits;
    for region in 0..plan.regions {
        let first = (region * plan.region_slots::<L>()) as u64;
        sorted.clear();
        of_region(region).for_each(|fingerprints| sorted.extend_from_slice(fingerprints));
        sorted.sort_unstable();
        let fingerprints = sorted.iter().map(|fingerprint| {
            let stored = L::stored(bits, fingerprint.remainder(bits));
            (first + fingerprint.quotient(bits) as u64, stored)
        });
        appender.extend(fingerprints).ok()?;
    }
    Some(Placed { len: appender.finish(), again: 0 })
}
