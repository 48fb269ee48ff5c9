//! The eviction kernels in SIMD vectors. `evict::scalar_lanes` and `evict::window` compute the same steps lane by lane.
//!
//! Two vectors hold sixteen buckets. A lane of the first vector has a bucket's even slots, 0 and 2, as two fields of 16
//! bits, and the same lane of the second vector has the bucket's odd slots, 1 and 3. So the two slots of a class's pair
//! (see `bucket`) are in the same field of both vectors, and one minimum and one maximum of the vectors sort both pairs
//! of sixteen buckets at once. Fingerprints of 32 bits do not fit into fields, and are inserted lane by lane.
//!
//! Scalar code handles these cases:
//!
//! - blocks (groups of keys that are placed together) of fewer than sixteen keys;
//! - blocks in which two primary buckets, or two alternates, agree in their low 16 bits;
//! - chains that are in the same bucket;
//! - in batches, moves into a bucket with room: in each step, one lane in six makes such a move. Windowed eviction
//!   makes these moves in vectors unless two lanes might move into one bucket.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod fields;
#[cfg(target_arch = "aarch64")]
mod neon;
mod simd_lanes;
mod vector;
mod windowed_lanes;

use super::{InsertBatch, InsertWithin};
use crate::geometry::Geometry;
use crate::width::{Bits8, Bits12, Bits16};
use trommel_simd::Isa;

#[cfg(target_arch = "aarch64")]
use aarch64 as machine;
#[cfg(target_arch = "x86_64")]
use x86 as machine;

/// The kernels in vectors, if the instruction set has them for this geometry.
pub(super) fn vector_kernels(geometry: &Geometry, isa: Isa) -> Option<(InsertBatch, InsertWithin)> {
    if geometry.buckets > simd_lanes::MAX_VECTOR_BUCKETS {
        return None;
    }
    match geometry.fingerprint_bits {
        8 => machine::vector_kernels::<Bits8>(isa),
        12 => machine::vector_kernels::<Bits12>(isa),
        16 => machine::vector_kernels::<Bits16>(isa),
        _ => None,
    }
}

/// Defines the kernels of a vector type, compiled for an instruction set.
macro_rules! kernels_of {
    (#[$attribute:meta] $batch:ident, $within:ident: $vector:ty) => {
        #[$attribute]
        fn $batch<W: Fields>(
            parts: &mut Parts<'_>,
            hashes: &[u64],
            new: &mut [u64],
        ) -> Result<(), NoRoom> {
            parts.insert_batch::<W, SimdLanes<$vector>>(hashes, new)
        }

        #[$attribute]
        fn $within<W: Fields>(window: &mut Window<'_>, keys: &[u64], left: &mut Vec<u64>) {
            window.insert_within::<W, WindowedSimdLanes<$vector>>(keys, left);
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::avx2::Avx2;
    use super::avx512::Avx512;
    use super::fields::Fields;
    use super::simd_lanes::SimdLanes;
    use super::windowed_lanes::WindowedSimdLanes;
    use super::{InsertBatch, InsertWithin};
    use crate::evict::batch::NoRoom;
    use crate::evict::parts::Parts;
    use crate::evict::window::Window;
    use alloc::vec::Vec;
    use trommel_simd::Isa;

    pub(super) fn vector_kernels<W: Fields>(isa: Isa) -> Option<(InsertBatch, InsertWithin)> {
        match isa {
            Isa::Avx2 => Some((avx2_batch::<W>, avx2_insert_within::<W>)),
            Isa::Avx512Core | Isa::Avx512 => Some((avx512_batch::<W>, avx512_insert_within::<W>)),
            Isa::Avx512Gather => Some((gather_batch::<W>, gather_insert_within::<W>)),
            _ => None,
        }
    }

    kernels_of! {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        avx2_batch, avx2_insert_within: Avx2
    }

    kernels_of! {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
        avx512_batch, avx512_insert_within: Avx512<false>
    }

    kernels_of! {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
        gather_batch, gather_insert_within: Avx512<true>
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::fields::Fields;
    use super::neon::Neon;
    use super::simd_lanes::SimdLanes;
    use super::windowed_lanes::WindowedSimdLanes;
    use super::{InsertBatch, InsertWithin};
    use crate::evict::batch::NoRoom;
    use crate::evict::parts::Parts;
    use crate::evict::window::Window;
    use alloc::vec::Vec;
    use trommel_simd::Isa;

    pub(super) fn vector_kernels<W: Fields>(isa: Isa) -> Option<(InsertBatch, InsertWithin)> {
        (isa == Isa::Neon).then_some((insert_batch::<W>, insert_within::<W>))
    }

    kernels_of! {
        #[target_feature(enable = "neon")]
        insert_batch, insert_within: Neon
    }
}
