//! Runs the algorithms of [`Table`] key by key, and prefetches the cache lines of the keys of a batch.

use super::Progress;
use crate::geometry::Geometry;
use crate::layout::{Layout, Position};
use crate::table::Table;
use crate::words::Words;
use trommel_base::WhyFull;
use trommel_base::batch::{Fetch, FetchT0, RING_KEYS, Window, run_stages};
use trommel_base::with_fetch;

#[inline(always)]
pub(super) fn contains<L: Layout, W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hash: u64,
) -> bool {
    let (quotient, stored) = geometry.split::<L>(hash);
    let home = Position::of_slot::<L>(quotient);
    Table::<L, _>::new(geometry, table).contains(words, home, stored)
}

/// The number of keys in a group. They are located, fetched and probed together.
const GROUP: usize = 8;

/// Homes and stored remainders of the keys that are located but not probed yet.
struct Located {
    homes: [Position; RING_KEYS],
    stored: [u32; RING_KEYS],
}

impl Located {
    const NOWHERE: Position = Position { block: 0, slot: 0 };

    fn new() -> Self {
        Self { homes: [Self::NOWHERE; RING_KEYS], stored: [0; RING_KEYS] }
    }

    #[inline(always)]
    fn locate<L: Layout>(&mut self, geometry: &Geometry, key: usize, hash: u64) {
        let (quotient, stored) = geometry.split::<L>(hash);
        self.homes[key % RING_KEYS] = Position::of_slot::<L>(quotient);
        self.stored[key % RING_KEYS] = stored;
    }
}

#[inline(always)]
pub(super) fn contains_batch<L: Layout, W: Words>(
    words: W,
    geometry: &Geometry,
    bytes: &[u8],
    hashes: &[u64],
    found: &mut [u64],
) {
    let table = Table::<L, _>::new(geometry, bytes);
    let window = Window::for_table(bytes.len());
    if window.hint.is_none() {
        for (i, hash) in hashes.iter().enumerate() {
            found[i / 64] |= u64::from(contains::<L, W>(words, geometry, bytes, *hash)) << (i % 64);
        }
        return;
    }
    let keys_of = |group: usize| group * GROUP..hashes.len().min((group + 1) * GROUP);
    with_fetch!(window, F => run_stages::<GROUP, _>(
        hashes, hashes.len().div_ceil(GROUP),
        window,
        &mut Located::new(),
        |located, group| {
            for key in keys_of(group) {
                located.locate::<L>(geometry, key, hashes[key]);
            }
        },
        |located, group| {
            for key in keys_of(group) {
                fetch::<L, F>(&table, located.homes[key % RING_KEYS]);
            }
        },
        |located, group| {
            for key in keys_of(group) {
                let (home, stored) = (located.homes[key % RING_KEYS], located.stored[key % RING_KEYS]);
                found[key / 64] |= u64::from(table.contains(words, home, stored)) << (key % 64);
            }
        },
    ));
}

#[inline(always)]
fn fetch<L: Layout, F: Fetch>(table: &Table<L, impl AsRef<[u8]>>, home: Position) {
    L::lines(&table.shape, home).into_iter().flatten().for_each(|at| {
        F::line(table.bytes.as_ref().as_ptr().wrapping_add(at));
    });
}

#[inline(always)]
pub(super) fn insert<L: Layout, W: Words>(
    words: W,
    geometry: &Geometry,
    table: &mut [u8],
    hash: u64,
) -> Result<bool, WhyFull> {
    let (quotient, stored) = geometry.split::<L>(hash);
    let home = Position::of_slot::<L>(quotient);
    Table::<L, _>::new(geometry, table).insert(words, home, stored)
}

/// The cache lines of a key are prefetched this number of keys before it is inserted.
const INSERT_DISTANCE_KEYS: usize = 8;

/// Inserts hashes in order by calling `one` for each, and prefetches the cache lines of a key some keys ahead.
#[inline(always)]
pub(super) fn insert_batch<L: Layout>(
    geometry: &Geometry,
    bytes: &mut [u8],
    hashes: &[u64],
    new: &mut [u64],
    mut one: impl FnMut(&mut [u8], u64) -> Result<bool, WhyFull>,
) -> Progress {
    let window = Window::for_table(bytes.len());
    for (i, hash) in hashes.iter().enumerate() {
        if window.hint.is_some()
            && let Some(ahead) = hashes.get(i + INSERT_DISTANCE_KEYS)
        {
            let home = Position::of_slot::<L>(geometry.split::<L>(*ahead).0);
            fetch::<L, FetchT0>(&Table::new(geometry, &*bytes), home);
        }
        match one(bytes, *hash) {
            Ok(inserted) => new[i / 64] |= u64::from(inserted) << (i % 64),
            Err(why) => return (i, Some(why)),
        }
    }
    (hashes.len(), None)
}

/// The number of blocks whose cache lines a removal prefetches. At high loads, a removal moves slots of about this many
/// blocks.
const REMOVAL_BLOCKS: usize = 4;

#[inline(always)]
pub(super) fn remove<L: Layout, W: Words>(
    words: W,
    geometry: &Geometry,
    table: &mut [u8],
    hash: u64,
) -> bool {
    let (quotient, stored) = geometry.split::<L>(hash);
    let home = Position::of_slot::<L>(quotient);
    let mut table = Table::<L, _>::new(geometry, table);
    for block in home.block..home.block + REMOVAL_BLOCKS {
        fetch::<L, FetchT0>(&table, Position { block, ..home });
    }
    table.remove(words, home, stored)
}

/// Declares the module `$name` with all kernels of a layout: the scalar algorithms, compiled with the given attributes.
macro_rules! scalar_kernels {
    ($(#[$attribute:meta])* $name:ident, $layout:ty, $words:expr) => {
        mod $name {
            use super::*;
            use crate::check::{self, Extent};
            use crate::kernel::{Kernels, Progress, scalar};
            use trommel_base::{FormatError, WhyFull};

            pub(super) const KERNELS: Kernels =
                Kernels { contains, contains_batch, insert, insert_batch, remove, check };

            $(#[$attribute])*
            pub(super) fn check(
                geometry: &Geometry,
                table: &[u8],
                extent: Extent,
            ) -> Result<u64, FormatError> {
                check::check::<$layout, _>($words, geometry, table, extent)
            }

            $(#[$attribute])*
            pub(super) fn contains(geometry: &Geometry, table: &[u8], hash: u64) -> bool {
                scalar::contains::<$layout, _>($words, geometry, table, hash)
            }

            $(#[$attribute])*
            pub(super) fn contains_batch(
                geometry: &Geometry,
                table: &[u8],
                hashes: &[u64],
                found: &mut [u64],
            ) {
                scalar::contains_batch::<$layout, _>($words, geometry, table, hashes, found);
            }

            $(#[$attribute])*
            pub(super) fn insert(
                geometry: &Geometry,
                table: &mut [u8],
                hash: u64,
            ) -> Result<bool, WhyFull> {
                scalar::insert::<$layout, _>($words, geometry, table, hash)
            }

            $(#[$attribute])*
            pub(super) fn insert_batch(
                geometry: &Geometry,
                table: &mut [u8],
                hashes: &[u64],
                new: &mut [u64],
            ) -> Progress {
                let words = $words;
                scalar::insert_batch::<$layout>(geometry, table, hashes, new, |table, hash| {
                    scalar::insert::<$layout, _>(words, geometry, table, hash)
                })
            }

            $(#[$attribute])*
            pub(super) fn remove(geometry: &Geometry, table: &mut [u8], hash: u64) -> bool {
                scalar::remove::<$layout, _>($words, geometry, table, hash)
            }
        }
    };
}
pub(super) use scalar_kernels;
