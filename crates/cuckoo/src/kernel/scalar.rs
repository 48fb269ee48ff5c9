//! The algorithms of the table, key by key, with the lines of a batch prefetched.

use super::Buckets;
use crate::table::{Entry, Table};
use crate::width::Width;
use trommel_base::batch::{Fetch, RING_KEYS, Window, roll};
use trommel_base::with_fetch;

#[inline(always)]
pub(super) fn contains<W: Width>(buckets: Buckets<'_>, hash: u64) -> bool {
    let Buckets { geometry, table, empty } = buckets;
    Table::<W, _>::new(geometry, table, empty).contains(Entry::of_hash(geometry, hash))
}

/// Keys of a group that is located, fetched and probed together.
const GROUP: usize = 8;

#[inline(always)]
pub(super) fn contains_batch<W: Width>(buckets: Buckets<'_>, hashes: &[u64], found: &mut [u64]) {
    let Buckets { geometry, table: bytes, empty } = buckets;
    let table = Table::<W, _>::new(geometry, bytes, empty);
    let window = Window::for_table(bytes.len());
    if window.hint.is_none() {
        for (i, hash) in hashes.iter().enumerate() {
            found[i / 64] |= u64::from(contains::<W>(buckets, *hash)) << (i % 64);
        }
        return;
    }
    let keys_of = |group: usize| group * GROUP..hashes.len().min((group + 1) * GROUP);
    let nowhere = Entry { bucket: 0, fingerprint: 0 };
    with_fetch!(window, F => roll::<GROUP, _>(
        hashes.len().div_ceil(GROUP),
        window,
        &mut [nowhere; RING_KEYS],
        |located, group| {
            for key in keys_of(group) {
                located[key % RING_KEYS] = Entry::of_hash(geometry, hashes[key]);
            }
        },
        |located, group| {
            for key in keys_of(group) {
                let at = Table::<W, &[u8]>::at(located[key % RING_KEYS].bucket);
                F::line(bytes.as_ptr().wrapping_add(at));
            }
        },
        |located, group| {
            for key in keys_of(group) {
                found[key / 64] |= u64::from(table.contains(located[key % RING_KEYS])) << (key % 64);
            }
        },
    ));
}

/// The module `$name` with all kernels of a width, the algorithms compiled with features.
macro_rules! scalar_kernels {
    ($(#[$attribute:meta])* $name:ident) => {
        pub(super) mod $name {
            use super::super::{Buckets, Kernels};
            use crate::place::{Parts, Placed};
            use crate::walk::NoPlace;
            use crate::width::Width;

            pub(in super::super) fn kernels<W: Width>() -> Kernels {
                Kernels {
                    contains: contains::<W>,
                    contains_batch: contains_batch::<W>,
                    insert: insert::<W>,
                    insert_group: insert_group::<W>,
                }
            }

            $(#[$attribute])*
            pub(in super::super) fn contains<W: Width>(buckets: Buckets<'_>, hash: u64) -> bool {
                super::contains::<W>(buckets, hash)
            }

            $(#[$attribute])*
            pub(in super::super) fn contains_batch<W: Width>(
                buckets: Buckets<'_>,
                hashes: &[u64],
                found: &mut [u64],
            ) {
                super::contains_batch::<W>(buckets, hashes, found);
            }

            $(#[$attribute])*
            pub(in super::super) fn insert<W: Width>(parts: &mut Parts<'_>, hash: u64) -> Placed {
                parts.insert::<W>(hash)
            }

            $(#[$attribute])*
            pub(in super::super) fn insert_group<W: Width>(
                parts: &mut Parts<'_>,
                hashes: &[u64],
                new: &mut [u64],
            ) -> Result<(), NoPlace> {
                parts.insert_group::<W>(hashes, new)
            }
        }
    };
}

scalar_kernels!(portable);
#[cfg(target_arch = "x86_64")]
scalar_kernels!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    bmi2
);
