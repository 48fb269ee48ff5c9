//! The algorithms in plain Rust, compiled for an instruction set.

use crate::bucket::EmptyPair;
use crate::geometry::Geometry;
use crate::table::{Entry, bucket_at, may_be_elsewhere};
use crate::width::Width;

/// Looks a key up, and reads both its buckets whether or not the first suffices.
///
/// A branch on the overflow flag in the primary bucket mispredicts too often: see
/// `docs/decisions/0073-both-buckets.md`, with figures and alternatives.
///
/// # Safety
/// The caller must ensure that the geometry has the width `W`, and that the table has the geometry's length.
#[inline(always)]
pub(super) unsafe fn contains<W: Width>(
    geometry: &Geometry,
    table: *const u8,
    empty: EmptyPair,
    hash: u64,
) -> bool {
    let geometry = geometry.with_width::<W>();
    let key = Entry::of_hash(&geometry, hash);
    let word = |bucket| {
        // SAFETY: both buckets of a key are below `geometry.buckets`, and the caller guarantees that the table has
        // them.
        let bytes = unsafe {
            core::slice::from_raw_parts(table.add(bucket_at::<W>(bucket)), W::BUCKET_BYTES)
        };
        W::load(bytes)
    };
    let primary = word(key.bucket);
    let elsewhere = word(key.alternate(&geometry).bucket);
    W::has(primary, key.fingerprint)
        | (may_be_elsewhere::<W>(primary, key, empty) & W::has(elsewhere, key.fingerprint))
}

/// Defines the module `$name` with all kernels, which compile the algorithms with the given target features.
macro_rules! scalar_kernels {
    ($(#[$attribute:meta])* $name:ident) => {
        pub(super) mod $name {
            use super::super::{Buckets, Kernels, columns};
            use crate::bucket::EmptyPair;
            use crate::build::fill::Filling;
            use crate::evict::window::Window;
            use crate::evict::parts::{Parts, Placed};
            use crate::evict::batch::NoRoom;
            use crate::evict::scalar_lanes::ScalarLanes;
            use crate::geometry::Geometry;
            use crate::width::Width;
            use alloc::vec::Vec;

            pub(in super::super) fn kernels<W: Width>() -> Kernels {
                Kernels {
                    contains: contains::<W>,
                    contains_batch: contains_batch::<W>,
                    insert: insert::<W>,
                    insert_batch: insert_batch::<W>,
                    remove: remove::<W>,
                    fill: fill::<W>,
                    insert_within: insert_within::<W>,
                }
            }

            $(#[$attribute])*
            pub(in super::super) unsafe fn contains<W: Width>(
                geometry: &Geometry,
                table: *const u8,
                empty: EmptyPair,
                hash: u64,
            ) -> bool {
                // SAFETY: the caller's duties are the same.
                unsafe { super::contains::<W>(geometry, table, empty, hash) }
            }

            $(#[$attribute])*
            pub(in super::super) fn contains_batch<W: Width>(
                buckets: Buckets<'_>,
                hashes: &[u64],
                found: &mut [u64],
            ) {
                columns::contains_batch::<W>(buckets, hashes, found);
            }

            $(#[$attribute])*
            pub(in super::super) fn insert<W: Width>(parts: &mut Parts<'_>, hash: u64) -> Placed {
                parts.insert::<W>(hash)
            }

            $(#[$attribute])*
            pub(in super::super) fn insert_batch<W: Width>(
                parts: &mut Parts<'_>,
                hashes: &[u64],
                new: &mut [u64],
            ) -> Result<(), NoRoom> {
                parts.insert_batch::<W, ScalarLanes<W>>(hashes, new)
            }

            $(#[$attribute])*
            pub(in super::super) fn remove<W: Width>(parts: &mut Parts<'_>, hash: u64) -> bool {
                parts.remove::<W>(hash)
            }

            $(#[$attribute])*
            pub(in super::super) fn fill<W: Width>(
                filling: &mut Filling<'_>,
                surplus: &mut Vec<u64>,
            ) -> Option<u64> {
                filling.fill::<W>(surplus)
            }

            $(#[$attribute])*
            pub(in super::super) fn insert_within<W: Width>(
                window: &mut Window<'_>,
                keys: &[u64],
                left: &mut Vec<u64>,
            ) {
                window.insert_within::<W, ScalarLanes<W>>(keys, left);
            }
        }
    };
}

scalar_kernels!(portable);
#[cfg(target_arch = "x86_64")]
scalar_kernels!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    avx2
);
#[cfg(target_arch = "x86_64")]
scalar_kernels!(
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
    )]
    avx512_core
);
