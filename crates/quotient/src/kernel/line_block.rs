//! Kernels of [`LineBlock`].
//!
//! Everything about a run comes from two words of its line. In [`starts`](lines::starts), bit `i` says that a run may
//! begin at slot `i`: at slot 0, or after a runend. Those below the offset belong to earlier lines. So
//! the run of the `d`-th occupied quotient lies between the `d`-th start and the next, and one `pdep`
//! of `0b11 << d` finds both, without a scan back to where the run begins. Slots before its home that
//! are free hold no remainder, so it does no harm that the `d`-th start may come before the home.
//!
//! If the line has no next start, the run goes on in the line after it, as the run of the
//! `(d + 1 − starts)`-th start there, the offset counting as 0: the beginning of that line is a start
//! like others, of what comes over from the line before.

use super::Kernels;
use super::scalar::scalar_kernels;
use crate::geometry::Geometry;
use crate::layout::LineBlock;
use crate::words::Plain;
use trommel_simd::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_passes;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod insert;
#[cfg(target_arch = "x86_64")]
mod insert_avx2;
#[cfg(target_arch = "x86_64")]
mod lines;
#[cfg(target_arch = "x86_64")]
use super::words::Avx2;

scalar_kernels!(portable, LineBlock, Plain);
#[cfg(target_arch = "x86_64")]
scalar_kernels!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    bmi2,
    LineBlock,
    // SAFETY: a function that is compiled for AVX2 and BMI2 runs where they are.
    unsafe { Avx2::new() }
);

/// The kernels for an instruction set.
pub(crate) fn kernels(isa: Isa) -> Kernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx512Gather => Kernels {
            contains_batch: avx512::contains_batch::<true>,
            insert: insert::insert,
            insert_batch: insert::insert_batch,
            ..AVX2
        },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Core => Kernels { contains_batch: avx512::contains_batch::<false>, ..AVX2 },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => AVX2,
        _ => portable::KERNELS,
    }
}

#[cfg(target_arch = "x86_64")]
const AVX2: Kernels = Kernels {
    contains: avx2::contains,
    contains_batch: avx2_passes::contains_batch,
    insert: insert_avx2::insert,
    insert_batch: insert_avx2::insert_batch,
    ..bmi2::KERNELS
};
