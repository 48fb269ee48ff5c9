//! The functions of each [`SharedBody`], compiled for the target's baseline and, on x86-64, a second time for AVX2. The
//! instruction sets above AVX2 use the functions for AVX2. (Register blocks use the functions for the baseline on every
//! instruction set.) Only the masks are computed in vectors: words that other threads can change are read one by one.

use super::{SharedBody, SharedKernels};
use trommel_simd::Isa;

/// A body's functions for one instruction set.
pub(in crate::kernel) fn kernels<S: SharedBody>(isa: Isa) -> SharedKernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        _ if isa >= Isa::Avx2 => SharedKernels {
            contains: avx2::contains::<S>,
            contains_batch: avx2::contains_batch::<S>,
            insert: avx2::insert::<S>,
            insert_batch: avx2::insert_batch::<S>,
        },
        _ => SharedKernels {
            contains: S::contains,
            contains_batch: S::contains_batch,
            insert: S::insert,
            insert_batch: S::insert_batch,
        },
    }
}

/// Declares `shared_kernels(isa)` of a layout with a [`SharedBody`].
macro_rules! shared_kernels {
    ($body:ty) => {
        // Never inlined, so that the kernels are compiled with this crate, and not again with each crate that uses it.
        #[inline(never)]
        pub(crate) fn shared_kernels(isa: Isa) -> $crate::kernel::shared::SharedKernels {
            $crate::kernel::shared::kernels::<$body>(isa)
        }
    };
}
pub(in crate::kernel) use shared_kernels;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::SharedBody;
    use crate::geometry::Geometry;
    use trommel_base::sync::AtomicU64;

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn contains<S: SharedBody>(
        geometry: Geometry,
        table: &[AtomicU64],
        hash: u64,
    ) -> bool {
        S::contains(geometry, table, hash)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn contains_batch<S: SharedBody>(
        geometry: Geometry,
        table: &[AtomicU64],
        hashes: &[u64],
        found: &mut [u64],
    ) {
        S::contains_batch(geometry, table, hashes, found);
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn insert<S: SharedBody>(
        geometry: Geometry,
        table: &[AtomicU64],
        hash: u64,
    ) -> bool {
        S::insert(geometry, table, hash)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn insert_batch<S: SharedBody>(
        geometry: Geometry,
        table: &[AtomicU64],
        hashes: &[u64],
    ) {
        S::insert_batch(geometry, table, hashes);
    }
}
