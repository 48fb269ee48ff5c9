//! Builds a table from hashes in any order, region by region, on any number of threads.
//!
//! Hashes are partitioned by regions of the table that fit into the nearest caches ([`shares`]). The fingerprints of a
//! region are given their slots and sorted within runs ([`region`], [`order`]), and the region is written. Threads work
//! on different chunks of regions ([`chunks`]).
//!
//! With 2^20 slots at 95 % load, on a Cascade Lake core with AVX2, a build takes:
//!
//! | layout | bits of a remainder | ns per key |
//! |---|---:|---:|
//! | blocks of 64 slots | 8 | 10.8 |
//! | blocks of 64 slots | 16 | 12.3 |
//! | blocks of 64 slots | 18 | 15.7 |
//! | cache lines | 8 | 11.7 |
//!
//! About 3 ns of these are for partitioning, and 1 ns is for the system, which zeroes the memory for partitioning.
//!
//! Rejected, at a time when a build took 15.5 ns per key:
//! - to sort by remainder, then by quotient, and to append (20.4 ns);
//! - to sort two neighbours by packing: one number has them in their order, another in exchanged order, and the larger
//!   number is the sorted pair (24 ns, of which 11 are for taking the larger numbers, since this step compiles to
//!   scalar code).
//!
//! Each run of more than 5 remainders is sorted on its own. The shorter runs of a region are sorted together
//! ([`order`]). With a limit of 4, 6 or 7 remainders instead of 5, a build takes 0.2 ns more per key.

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
use crate::layout::{Layout, LineBlock, WideBlock};
use alloc::vec::Vec;
use chunks::{Placed, Placing};
use plan::{LocalFingerprint, Plan, Stored};
use region::Region;
use trommel_base::partition::{Partitioned, SharePlan};
use trommel_base::{Bulk, FilterKind, KeyHash, ScratchRequest};
use trommel_simd::Isa;

/// The inputs from which a table is built.
pub(crate) struct Inputs<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) rounding: Rounding,
    pub(crate) hashes: &'a [KeyHash],
    pub(crate) isa: Isa,
}

/// Fills an empty table, and returns how many fingerprints it holds then. `None` if the fingerprints do not fit or have
/// too many copies, if regions would be too large, or if `bulk.scratch_bytes` or the system's memory does not suffice
/// for the build; the table has arbitrary bytes then.
///
/// Scratch memory:
/// - for the partition, [`SharePlan::bytes_for`]: a local fingerprint for each hash, of four bytes if the remainder and
///   the quotient within a region have at most 32 bits together, and of eight otherwise; and slack for regions that get
///   more hashes than others;
/// - for each thread [`Region::scratch_bytes`].
///
/// The documentation of `Quotient::insert_bulk` gives both amounts.
///
/// Not generic, so that the code is compiled with this crate, and not again with each crate that uses a filter.
#[inline(never)]
pub(crate) fn build(
    kind: FilterKind,
    inputs: &Inputs<'_>,
    table: &mut [u8],
    bulk: Bulk<'_>,
) -> Option<u64> {
    match kind {
        FilterKind::CacheLineQuotient => build_layout::<LineBlock>(inputs, table, bulk),
        _ => build_layout::<WideBlock>(inputs, table, bulk),
    }
}

fn build_layout<L: Layout>(inputs: &Inputs<'_>, table: &mut [u8], bulk: Bulk<'_>) -> Option<u64> {
    let plan = Plan::new::<L>(inputs.geometry)?;
    let stored_bits =
        if L::RESERVES_ZERO { *L::REMAINDER_BITS.end() } else { inputs.geometry.remainder_bits };
    let placed = match (plan.local_bits::<L>(), stored_bits) {
        (0..=32, 0..=8) => build_of::<L, u32, u8>(inputs, &plan, table, bulk),
        (0..=32, 0..=16) => build_of::<L, u32, u16>(inputs, &plan, table, bulk),
        (0..=32, _) => build_of::<L, u32, u32>(inputs, &plan, table, bulk),
        _ => build_of::<L, u64, u32>(inputs, &plan, table, bulk),
    };
    placed.map(|placed| placed.len)
}

fn build_of<L: Layout, R: LocalFingerprint, T: Stored>(
    inputs: &Inputs<'_>,
    plan: &Plan,
    table: &mut [u8],
    bulk: Bulk<'_>,
) -> Option<Placed> {
    let threads = bulk.workers.threads().max(1);
    let hashes = inputs.hashes.len();
    let share_plan = SharePlan::new(bulk.workers, hashes, 1, plan.regions);
    let region_bytes = Region::<L, T>::scratch_bytes(plan).checked_mul(threads)?;
    let most_bytes = bulk.scratch_bytes.checked_sub(region_bytes)?;
    if share_plan.bytes_for::<R>(hashes) > most_bytes {
        return None;
    }
    let mut shares = share_plan.take::<R>(bulk.workers, hashes, most_bytes).ok()?;
    let left = bulk.scratch_bytes.saturating_sub(shares.memory_bytes());
    let grouped = shares::group::<L, R>(inputs, plan, &mut shares, bulk.workers)?;
    let shape = inputs.geometry.shape();
    let placing = Placing { plan, shares: &grouped, isa: inputs.isa, threads };
    let placed = placing.run::<L, T>(shape, table, bulk.workers).or_else(|| {
        table.fill(0);
        append_sorted::<L, R>(
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

/// Sorts and appends the fingerprints region by region, in time that does not depend on how they cluster.
///
/// A region is sorted in memory that counts towards `bulk.scratch_bytes`. The memory that the workers keep counts
/// towards this limit too. So the workers first free kept memory, until the memory that they still keep and the memory
/// for sorting are within the limit together.
fn append_sorted<L: Layout, R: LocalFingerprint>(
    geometry: &Geometry,
    plan: &Plan,
    table: &mut [u8],
    shares: &[Partitioned<'_, R>],
    bulk: Bulk<'_>,
) -> Option<Placed> {
    let parts_of = |region: usize| shares.iter().map(move |share| share.part(region));
    let most = (0..plan.regions)
        .map(|region| parts_of(region).map(<[R]>::len).sum::<usize>())
        .max()
        .unwrap_or(0);
    let kept_bytes = bulk.scratch_bytes.checked_sub(most.checked_mul(size_of::<R>())?)?;
    bulk.workers.take_memory(ScratchRequest { pieces: 0, piece_bytes: 0, most_bytes: kept_bytes });
    let mut sorted = Vec::new();
    sorted.try_reserve_exact(most).ok()?;
    let mut appender = Appender::<L>::new(geometry, table).ok()?;
    let bits = plan.remainder_bits;
    for region in 0..plan.regions {
        let first = (region * plan.region_slots::<L>()) as u64;
        sorted.clear();
        parts_of(region).for_each(|fingerprints| sorted.extend_from_slice(fingerprints));
        sorted.sort_unstable();
        let fingerprints = sorted.iter().map(|fingerprint| {
            let stored = L::stored(bits, fingerprint.remainder(bits));
            (first + fingerprint.quotient(bits) as u64, stored)
        });
        appender.extend(fingerprints).ok()?;
    }
    Some(Placed { len: appender.finish(), again: 0 })
}
