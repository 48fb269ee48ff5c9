//! Runs the algorithms of [`Table`] key by key, and prefetches the cache lines of keys that are to be inserted or
//! removed. A macro declares the kernels of a layout.

use super::Progress;
use crate::geometry::Geometry;
use crate::layout::{Layout, Position};
use crate::table::Table;
use crate::words::Words;
use trommel_base::WhyFull;
use trommel_base::batch::{Fetch, FetchT0, Window};

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

/// The cache lines of a key are prefetched this number of keys before that key is inserted.
const INSERT_DISTANCE_KEYS: usize = 8;

/// Inserts hashes in order by calling `one` for each, until `one` refuses a hash. Sets bit `i` of `new` if hash `i`
/// added a fingerprint. If the table is larger than half of L2, prefetches the cache lines of each key
/// [`INSERT_DISTANCE_KEYS`] keys before that key is inserted.
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

/// The number of blocks, from the key's block on, in which a removal prefetches cache lines. At high loads, a removal
/// moves remainders in about this number of blocks.
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

/// Declares the module `$name` with all kernels of `$layout`, compiled with the given attributes. The kernels use the
/// [`Words`] that `$words` makes. Lookups and inserts, of single keys and of batches, use the modules `lookup` and
/// `insert`, which must be declared where the macro is called. The kernels pass a closure `rest` to the functions of
/// these modules, which call it for each key that their inlined code cannot decide. The closure calls a function that
/// is not inlined. Removals use the algorithms of [`Table`], and checks those of `check.rs`.
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
                let rest = |geometry: &_, table: &_, hash, rest| contains_rest(geometry, table, hash, rest);
                lookup::contains($words, geometry, table, hash, rest)
            }

            #[inline(never)]
            $(#[$attribute])*
            fn contains_rest(
                geometry: &Geometry,
                table: &[u8],
                hash: u64,
                rest: lookup::Rest,
            ) -> bool {
                lookup::contains_rest($words, geometry, table, hash, rest)
            }

            $(#[$attribute])*
            pub(super) fn contains_batch(
                geometry: &Geometry,
                table: &[u8],
                hashes: &[u64],
                found: &mut [u64],
            ) {
                let rest = |geometry: &_, table: &_, hash, rest| contains_rest(geometry, table, hash, rest);
                lookup::contains_batch($words, geometry, table, hashes, found, rest);
            }

            $(#[$attribute])*
            pub(super) fn insert(
                geometry: &Geometry,
                table: &mut [u8],
                hash: u64,
            ) -> Result<bool, WhyFull> {
                let rest = |geometry: &_, table: &mut _, hash| insert_rest(geometry, table, hash);
                let (words, prepared) = ($words, insert::prepare(geometry, table));
                // SAFETY: the line above made `prepared` for this table.
                unsafe { insert::insert(words, geometry, &prepared, table, hash, rest) }
            }

            #[inline(never)]
            $(#[$attribute])*
            fn insert_rest(
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
                let rest = |geometry: &_, table: &mut _, hash| insert_rest(geometry, table, hash);
                let (words, prepared) = ($words, insert::prepare(geometry, table));
                // The closure is written here, so that it is compiled for the instruction set of this function.
                scalar::insert_batch::<$layout>(geometry, table, hashes, new, |table, hash| {
                    // SAFETY: `prepared` was made for this table, which keeps its length.
                    unsafe { insert::insert(words, geometry, &prepared, table, hash, rest) }
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
