//! The algorithms in plain Rust, compiled for an instruction set.

use super::Buckets;
use crate::table::{Entry, Table};
use crate::width::Width;

#[inline(always)]
pub(super) fn contains<W: Width>(buckets: Buckets<'_>, hash: u64) -> bool {
    let Buckets { geometry, table, empty } = buckets;
    Table::<W, _>::new(geometry, table, empty).contains(Entry::of_hash(geometry, hash))
}

/// Defines the module `$name` with all kernels, which compile the algorithms with the given target features.
macro_rules! scalar_kernels {
    ($(#[$attribute:meta])* $name:ident) => {
        pub(super) mod $name {
            use super::super::{Buckets, Kernels, columns};
            use crate::build::fill::Filling;
            use crate::evict::window::Window;
            use crate::evict::parts::{Parts, Placed};
            use crate::evict::batch::NoRoom;
            use crate::evict::scalar_lanes::ScalarLanes;
            use crate::width::Width;
            use alloc::vec::Vec;

            pub(in super::super) fn kernels<W: Width>() -> Kernels {
                Kernels {
                    contains: contains::<W>,
                    contains_batch: contains_batch::<W>,
                    insert: insert::<W>,
                    insert_batch: insert_batch::<W>,
                    fill: fill::<W>,
                    insert_within: insert_within::<W>,
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
