use super::*;
use crate::{LineBlock, WideBlock};
use alloc::vec;
use trommel_testkit::{ScopedThreads, Splitmix};

/// Builds a table of 80 regions, and returns it with the result of placing it.
fn placed<L: Layout>(hashes: &[KeyHash], threads: usize) -> (Vec<u8>, Placed) {
    let slots = 80 * 128 * u64::from(L::SLOTS);
    let blocks = Geometry::blocks_for::<L>(slots);
    let (remainder_bits, copies, fingerprints) = (8, 1, slots << 8);
    let geometry = Geometry { slots, blocks, remainder_bits, copies, fingerprints };
    let inputs = Inputs { geometry: &geometry, rounding: Rounding::None, hashes, isa: Isa::best() };
    let mut table = vec![0; geometry.table_bytes::<L>() as usize];
    let bulk = Bulk { workers: &ScopedThreads(threads), scratch_bytes: usize::MAX };
    let plan = Plan::new::<L>(&geometry).unwrap();
    assert_eq!(plan.regions, 80);
    let placed = build_of::<L, u32, u8>(&inputs, &plan, &mut table, bulk).unwrap();
    (table, placed)
}

/// Adds `load` fingerprints per slot of a region, at random positions in it.
fn fill_region(
    hashes: &mut Vec<KeyHash>,
    random: &mut Splitmix,
    region: u64,
    load: f64,
    slots: u64,
) {
    for _ in 0..(slots as f64 * load) as u64 {
        let fraction = (region << 32 | random.word() >> 32) as u128;
        hashes.push(KeyHash::from_raw(((fraction << 32) / 80) as u64));
    }
}

/// Chunks have 32 regions, the last chunk 16. To place a chunk, a thread assumes that nothing spills into the region
/// right before the chunk. So the thread computes a wrong spill into the chunk if the second region before the chunk is
/// overfull and adjacent runs take every slot of the region right before the chunk.
#[test]
fn a_chunk_that_assumed_a_wrong_spill_is_placed_again() {
    fn assert_again<L: Layout>(full_regions: &[u64], again: usize) {
        let slots = 128 * u64::from(L::SLOTS);
        let mut random = Splitmix::new(11);
        let mut hashes = Vec::new();
        for region in 0..80 {
            let load = if full_regions.contains(&region) {
                1.3
            } else if full_regions.contains(&(region.wrapping_sub(1))) {
                0.95
            } else {
                0.7
            };
            fill_region(&mut hashes, &mut random, region, load, slots);
        }
        let (expected, alone) = placed::<L>(&hashes, 1);
        assert_eq!(alone.again, 0);
        for threads in [2, 5] {
            let (table, placed) = placed::<L>(&hashes, threads);
            assert!(
                table == expected,
                "{full_regions:?}: {threads} threads make another table than one thread"
            );
            assert_eq!(placed, Placed { again, ..alone }, "{full_regions:?}, {threads} threads");
        }
    }
    // An overfull region 30 or 62 spills through region 31 or 63, the last region before the second or the third chunk.
    // An overfull region 31 or 63 is itself the region that the thread places before the chunk, so its spill is known.
    for (full_regions, again) in
        [(vec![30], 1), (vec![62], 1), (vec![30, 62], 2), (vec![31, 63], 0)]
    {
        assert_again::<WideBlock>(&full_regions, again);
        assert_again::<LineBlock>(&full_regions, again);
    }
}
