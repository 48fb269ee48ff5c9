//! Inserts of sixteen keys side by side: what `walk.rs` says lane after lane, in vectors.
//!
//! A bucket is two fields of 16 bits in a lane, twice: the even slots, 0 and 2, in one vector, and the odd
//! slots, 1 and 3, in another. The pair of a class is then the same field of both, and a minimum and a
//! maximum put both pairs of sixteen buckets in order at once. Fingerprints of 32 bits have no room for that,
//! and are inserted in words.
//!
//! What is rare is done in words as well: lanes that are in one bucket, and the room that a walk found, which
//! is one lane in six.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod confined;
#[cfg(target_arch = "x86_64")]
mod fields;
#[cfg(target_arch = "x86_64")]
mod in_vectors;
#[cfg(target_arch = "x86_64")]
mod vector;

use super::{InsertGroup, Settle};
use crate::geometry::Geometry;
use trommel_simd::Isa;

/// Lanes of a vector, and keys side by side in words.
pub(crate) const LANES: usize = 16;
/// A number a lane.
pub(crate) type Lanes = [u32; LANES];

/// The kernels that insert and settle many keys in vectors, if the instruction set has them for this shape.
#[cfg(target_arch = "x86_64")]
pub(super) fn in_vectors(geometry: &Geometry, isa: Isa) -> Option<(InsertGroup, Settle)> {
    use crate::width::{Bits8, Bits12, Bits16};
    if geometry.buckets > in_vectors::MAX_VECTOR_BUCKETS {
        return None;
    }
    let kernels: (InsertGroup, Settle) = match (isa, geometry.fingerprint_bits) {
        (Isa::Avx2, 8) => (x86::avx2_group::<Bits8>, x86::avx2_settle::<Bits8>),
        (Isa::Avx2, 12) => (x86::avx2_group::<Bits12>, x86::avx2_settle::<Bits12>),
        (Isa::Avx2, 16) => (x86::avx2_group::<Bits16>, x86::avx2_settle::<Bits16>),
        (Isa::Avx512Core | Isa::Avx512, 8) => {
            (x86::avx512_group::<Bits8, false>, x86::avx512_settle::<Bits8, false>)
        }
        (Isa::Avx512Gather, 8) => {
            (x86::avx512_group::<Bits8, true>, x86::avx512_settle::<Bits8, true>)
        }
        (Isa::Avx512Core | Isa::Avx512, 12) => {
            (x86::avx512_group::<Bits12, false>, x86::avx512_settle::<Bits12, false>)
        }
        (Isa::Avx512Gather, 12) => {
            (x86::avx512_group::<Bits12, true>, x86::avx512_settle::<Bits12, true>)
        }
        (Isa::Avx512Core | Isa::Avx512, 16) => {
            (x86::avx512_group::<Bits16, false>, x86::avx512_settle::<Bits16, false>)
        }
        (Isa::Avx512Gather, 16) => {
            (x86::avx512_group::<Bits16, true>, x86::avx512_settle::<Bits16, true>)
        }
        _ => return None,
    };
    Some(kernels)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn in_vectors(_: &Geometry, _: Isa) -> Option<(InsertGroup, Settle)> {
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::avx2::Avx2;
    use super::avx512::Avx512;
    use super::confined::InWindow;
    use super::fields::Fields;
    use super::in_vectors::InVectors;
    use crate::build::settle::Window;
    use crate::place::Parts;
    use crate::walk::NoPlace;
    use alloc::vec::Vec;

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(in super::super) fn avx2_group<W: Fields>(
        parts: &mut Parts<'_>,
        hashes: &[u64],
        new: &mut [u64],
    ) -> Result<(), NoPlace> {
        parts.insert_group::<W, InVectors<Avx2>>(hashes, new)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(in super::super) fn avx512_group<W: Fields, const GATHERS: bool>(
        parts: &mut Parts<'_>,
        hashes: &[u64],
        new: &mut [u64],
    ) -> Result<(), NoPlace> {
        parts.insert_group::<W, InVectors<Avx512<GATHERS>>>(hashes, new)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(in super::super) fn avx2_settle<W: Fields>(
        window: &mut Window<'_>,
        keys: &[u64],
        left: &mut Vec<u64>,
    ) {
        window.settle::<W, InWindow<Avx2>>(keys, left);
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(in super::super) fn avx512_settle<W: Fields, const GATHERS: bool>(
        window: &mut Window<'_>,
        keys: &[u64],
        left: &mut Vec<u64>,
    ) {
        window.settle::<W, InWindow<Avx512<GATHERS>>>(keys, left);
    }
}
