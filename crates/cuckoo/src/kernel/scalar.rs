//! The algorithms of a filter in plain Rust, compiled for each of several instruction sets.

use super::Removed;
use crate::bucket::{self, EmptyPair};
use crate::geometry::Geometry;
use crate::table::{Entry, bucket_at, may_be_elsewhere};
use crate::width::Width;
use core::hint::select_unpredictable;

/// Looks a key up, and reads both its buckets even if the first bucket holds the fingerprint.
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
    let key = Entry::of_one_hash(&geometry, hash);
    let alternate = key.alternate(&geometry);
    // SAFETY: both buckets of a key are below `geometry.buckets`. The caller guarantees the length of the table, which
    // includes all buckets and the padding.
    let [primary, elsewhere] =
        [key, alternate].map(|entry| unsafe { word::<W>(table, entry.bucket) });
    W::has(primary, key.fingerprint)
        | (may_be_elsewhere::<W>(primary, key, empty) & W::has(elsewhere, key.fingerprint))
}

/// Reads a bucket.
///
/// # Safety
/// The caller must ensure that the table has the bucket, and the padding after its last bucket.
#[inline(always)]
unsafe fn word<W: Width>(table: *const u8, bucket: u32) -> W::Word {
    // SAFETY: the caller guarantees that the table has these bytes. A word is as long as a bucket, or two bytes longer
    // if a bucket has six bytes. In that case, two bytes of padding follow the last bucket.
    W::first(unsafe { table.add(bucket_at::<W>(bucket)).cast::<W::Word>().read_unaligned() })
}

/// Finds a copy of a key's fingerprint: in the primary bucket or, if the flag of the fingerprint's class is set there,
/// in the alternate. Removes the copy, unless this would leave its pair of slots (0 and 1, or 2 and 3) empty and unable
/// to encode the pair's flag. Returns `None` if there is no copy.
///
/// The processor cannot predict which bucket has the copy, so both are read, and one is chosen without a branch.
///
/// # Safety
/// The caller must ensure that the geometry has the width `W`, that the table has the geometry's length, and that it is
/// valid for writes and not borrowed elsewhere.
#[inline(always)]
pub(super) unsafe fn remove<W: Width>(
    geometry: &Geometry,
    table: *mut u8,
    empty: EmptyPair,
    hash: u64,
) -> Option<Removed> {
    let geometry = geometry.with_width::<W>();
    let key = Entry::of_one_hash(&geometry, hash);
    let alternate = key.alternate(&geometry);
    // SAFETY: both buckets of a key are below `geometry.buckets`. The caller guarantees the length of the table, which
    // includes all buckets and the padding.
    let [primary, elsewhere] =
        [key, alternate].map(|entry| unsafe { word::<W>(table, entry.bucket) });
    let is_here = W::has(primary, key.fingerprint);
    let bucket = select_unpredictable(is_here, key.bucket, alternate.bucket);
    let before = select_unpredictable(is_here, primary, elsewhere);
    let may_be_in_it = is_here | may_be_elsewhere::<W>(primary, key, empty);
    if !(may_be_in_it & W::has(before, key.fingerprint)) {
        return None;
    }
    let Some(after) = bucket::remove::<W>(before, key.fingerprint, empty) else {
        return Some(Removed::OnlyFound { bucket });
    };
    // SAFETY: the bucket is one of the two above, and the caller guarantees that the table can be written to.
    let bytes = unsafe {
        core::slice::from_raw_parts_mut(table.add(bucket_at::<W>(bucket)), W::BUCKET_BYTES)
    };
    W::store(after, bytes);
    Some(Removed::From { bucket })
}

/// Defines the module `$name` with all kernels: the algorithms, compiled with the given target features.
macro_rules! scalar_kernels {
    ($(#[$attribute:meta])* $name:ident) => {
        pub(super) mod $name {
            use super::super::{Buckets, Kernels, Removed, columns};
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
            pub(in super::super) unsafe fn remove<W: Width>(
                geometry: &Geometry,
                table: *mut u8,
                empty: EmptyPair,
                hash: u64,
            ) -> Option<Removed> {
                // SAFETY: the caller's duties are the same.
                unsafe { super::remove::<W>(geometry, table, empty, hash) }
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
