//! Kernels of [`WideBlock`].
//!
//! Everything about a run comes from the words of its block and of the next. The runends below the
//! offset are earlier blocks'; of the others, the `d`-th ends the run of the block's `d`-th occupied
//! quotient. Where the block has no `d`-th, it is in the next block, after as many fewer as this one
//! has. The run begins after the runend before, which is in the same word, or, for the first of the
//! next block, in this block again; and never before the offset or its home.
//!
//! So one `pdep` of one bit finds a run that ends in its block or in the next, without a scan and
//! without a branch on which of both it is. At 95 % load 14 of 100 do end in the next, but only one
//! in a thousand ends later, and those are left to the algorithms of the table.
//!
//! A run is compared the same way for every width: eight bytes from its first remainder on
//! are a word of packed fields (`places::Fields`).

use super::Kernels;
use super::scalar::scalar_kernels;
use crate::geometry::Geometry;
use crate::layout::WideBlock;
use crate::words::Plain;
use trommel_simd::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod insert;
#[cfg(target_arch = "x86_64")]
mod places;
#[cfg(target_arch = "x86_64")]
use super::words::Avx2;

scalar_kernels!(portable, WideBlock, Plain);
#[cfg(target_arch = "x86_64")]
scalar_kernels!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    bmi2,
    WideBlock,
    // SAFETY: a function that is compiled for AVX2 and BMI2 runs where they are.
    unsafe { Avx2::new() }
);

/// The kernels for an instruction set.
pub(crate) fn kernels(isa: Isa) -> Kernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx512Gather => {
            Kernels { contains_batch: avx512::contains_batch::<true>, ..AVX2 }
        }
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
    contains_batch: avx2::contains_batch,
    insert: insert::insert,
    insert_batch: insert::insert_batch,
    ..bmi2::KERNELS
};

#[cfg(test)]
mod tests;
