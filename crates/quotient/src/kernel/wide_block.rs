//! Kernels of [`WideBlock`].
//!
//! (`layout/mod.rs` defines runs, occupieds, runends and offsets. A key's *home* is the slot whose number is the key's
//! quotient, and the key's block is the block of its home.)
//!
//! Nearly every run can be found from the occupieds, runends and offset of the key's block, and from the runends of the
//! next block. The runends below the offset belong to runs of earlier blocks. Among the other runends, the `d`-th (from
//! 0) ends the run of the block's `d`-th occupied quotient. If the block has only `n ≤ d` other runends, the run ends
//! at the `(d − n)`-th runend of the next block. The run begins after the previous runend, but never before the offset
//! or the home. The previous runend is in the same word as the run's own runend or, if the run's own runend is the
//! first of the next block, in the word of the key's block.
//!
//! So one `pdep` of one bit finds the end of a run in the key's block or in the next, without a search, and without a
//! branch that depends on which of the two blocks has the end. At 95 % load, 15 of 100 runs end in the next block.
//! About one run in a thousand is left to the algorithms of `table.rs`: the run ends after the next block, or runs of
//! earlier blocks take the key's whole block and more.
//!
//! Lookups compare a run in the same way for every width of remainders except 8 bits: from the run's first remainder
//! on, eight bytes at a time are read as a word of packed fields (`places::Fields`). If remainders have 8 bits, lookups
//! compare the whole block, and do not look for the run (`equal_slots.rs`); only the batch kernel for AVX-512 compares
//! the run for this width too. Inserts compare remainders of 8 bits in vectors, and remainders of any other width one
//! by one.

use super::Kernels;
use super::scalar::scalar_kernels;
use crate::geometry::Geometry;
use crate::layout::WideBlock;
use crate::words::Plain;
use trommel_simd::Isa;

#[cfg(target_arch = "x86_64")]
mod avx512;
mod equal_slots;
mod insert;
mod lookup;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
mod places;
#[cfg(target_arch = "x86_64")]
use super::words::Avx2;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
use super::words_neon::Neon;

scalar_kernels!(portable, WideBlock, Plain);
#[cfg(target_arch = "x86_64")]
scalar_kernels!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    bmi2,
    WideBlock,
    // SAFETY: this is evaluated in functions that are compiled for AVX2, BMI1, BMI2 and POPCNT, so the machine has
    // them.
    unsafe { Avx2::new() }
);
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
scalar_kernels!(
    #[target_feature(enable = "neon")]
    neon_words,
    WideBlock,
    // SAFETY: this is evaluated in functions that are compiled for NEON, so the machine has it.
    unsafe { Neon::new() }
);

/// The kernels for an instruction set.
// Never inlined, so that the kernels are compiled with this crate, and not again with each crate that uses it.
#[inline(never)]
pub(crate) fn kernels(isa: Isa) -> Kernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx512Gather => {
            Kernels { contains_batch: avx512::contains_batch::<true>, ..bmi2::KERNELS }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Core => {
            Kernels { contains_batch: avx512::contains_batch::<false>, ..bmi2::KERNELS }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => bmi2::KERNELS,
        #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
        Isa::Neon => Kernels { contains_batch: neon::contains_batch, ..neon_words::KERNELS },
        _ => portable::KERNELS,
    }
}

#[cfg(test)]
mod tests;
