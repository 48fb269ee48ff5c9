//! Tables for the tests of both layouts' kernels.

use super::Kernels;
use crate::geometry::Geometry;
use crate::layout::Layout;
use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;
use trommel_simd::Isa;
use trommel_testkit::Splitmix;

pub(super) fn geometry<L: Layout>(slots: u64, remainder_bits: u32, copies: u32) -> Geometry {
    let blocks = Geometry::blocks_for::<L>(slots);
    Geometry { slots, blocks, remainder_bits, copies, fingerprints: slots << remainder_bits }
}

/// A hash with a given quotient; `fraction` determines its remainder.
pub(super) fn hash(geometry: &Geometry, quotient: u64, fraction: u64) -> u64 {
    let unit = u64::MAX / geometry.slots;
    (u128::from(quotient) << 64).div_ceil(geometry.slots.into()) as u64 + fraction % unit
}

/// A table, and hashes to look up in it: those of its keys, one other hash per key with a quotient from the same range
/// as the keys' quotients, and 200 random hashes.
pub(super) struct Sample<L> {
    geometry: Geometry,
    pub(super) table: Vec<u8>,
    hashes: Vec<u64>,
    layout: PhantomData<L>,
}

impl<L: Layout> Sample<L> {
    /// Fills a table with up to `keys` keys, whose quotients come from `draw`, until one is refused.
    pub(super) fn new(
        geometry: Geometry,
        keys: usize,
        mut draw: impl FnMut(&mut Splitmix) -> u64,
    ) -> Self {
        let mut table = vec![0; geometry.table_bytes::<L>() as usize];
        let mut random = Splitmix::new(keys as u64 + u64::from(geometry.remainder_bits));
        let mut hashes = Vec::new();
        for _ in 0..keys {
            let in_table = hash(&geometry, draw(&mut random), random.word());
            // This hash has a quotient from the same range as the keys' quotients. With wide remainders, the table
            // rarely holds it.
            let other = hash(&geometry, draw(&mut random), random.word());
            let inserted = Kernels::of::<L>(Isa::Portable).insert(&geometry, &mut table, in_table);
            if inserted.is_err() {
                break;
            }
            hashes.extend([in_table, other]);
        }
        hashes.extend((0..200).map(|_| random.word()));
        Self { geometry, table, hashes, layout: PhantomData }
    }

    /// Asserts that every instruction set gives the same answers as portable code: in single lookups, in batches of 0
    /// to 191 hashes, and in a batch of all hashes.
    pub(super) fn agree(&self) {
        let Self { geometry, table, hashes, .. } = self;
        let expected: Vec<bool> = hashes
            .iter()
            .map(|hash| Kernels::of::<L>(Isa::Portable).contains(geometry, table, *hash))
            .collect();
        for isa in Isa::available() {
            let kernels = Kernels::of::<L>(isa);
            for (hash, expected) in hashes.iter().zip(&expected) {
                assert_eq!(
                    kernels.contains(geometry, table, *hash),
                    *expected,
                    "a single lookup of {hash:x} with {isa}"
                );
            }
            let check = |hashes: &[u64], expected: &[bool]| {
                let mut found = vec![0; hashes.len().div_ceil(64)];
                kernels.contains_batch(geometry, table, hashes, &mut found);
                for (i, expected) in expected.iter().enumerate() {
                    assert_eq!(
                        found[i / 64] >> (i % 64) & 1 == 1,
                        *expected,
                        "key {i} of a batch with {isa}"
                    );
                }
                assert!(
                    hashes.len().is_multiple_of(64)
                        || found[hashes.len() / 64] >> (hashes.len() % 64) == 0
                );
            };
            check(hashes, &expected);
            for len in 0..192.min(hashes.len()) {
                check(&hashes[..len], &expected[..len]);
            }
        }
    }
}
