//! Kernels of [`LineBlock`].
//!
//! A *line* is a block of the table, which is one cache line. (`layout/mod.rs` defines runs, occupieds, runends and
//! offsets. A key's *home* is the slot whose number is the key's quotient, and the key's line is the line of its home.)
//!
//! Two words of a line are enough to find most runs. A *start* is a slot where a run can begin: slot 0, and each slot
//! after a runend. [`starts`](lines::starts) returns the starts of a line as bits. The starts below the offset belong
//! to runs of earlier lines; the line's *own starts* are those from the offset on. So the run of the line's `d`-th
//! occupied quotient (from 0) lies between the `d`-th own start and the next one, and one `pdep` of `0b11 << d` finds
//! both, without searching back for the beginning of the run. The `d`-th own start can come before the quotient's home.
//! The slots from there to the home are then free, and comparing them too does no harm: a free slot holds 0, which no
//! stored remainder equals.
//!
//! If the line has no next start, the run goes on in the next line, or lies there completely. In the next line, the
//! run's slots begin at the `(d + 1 − n)`-th start (from 0), where `n` is the number of own starts of the key's line.
//! All starts of the next line count, whatever that line's offset: slot 0 is the start of the run that comes from the
//! line before. If runs of earlier lines take the key's whole line and more, the key's run is left to the algorithms of
//! `table.rs`.

use super::Kernels;
use super::scalar::scalar_kernels;
use crate::geometry::Geometry;
use crate::layout::LineBlock;
use crate::words::Plain;
use trommel_simd::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod insert;
#[cfg(target_arch = "x86_64")]
mod insert_avx512;
mod insert_steps;
mod lines;
#[cfg(target_arch = "x86_64")]
mod located;
mod lookup;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
#[cfg(target_arch = "x86_64")]
use super::words::Avx2;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
use super::words_neon::Neon;

scalar_kernels!(portable, LineBlock, Plain);
#[cfg(target_arch = "x86_64")]
scalar_kernels!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    bmi2,
    LineBlock,
    // SAFETY: this is evaluated in functions that are compiled for AVX2, BMI1, BMI2 and POPCNT, so the machine has
    // them.
    unsafe { Avx2::new() }
);
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
scalar_kernels!(
    #[target_feature(enable = "neon")]
    neon_words,
    LineBlock,
    // SAFETY: this is evaluated in functions that are compiled for NEON, so the machine has it.
    unsafe { Neon::new() }
);

/// The kernels for an instruction set.
// Never inlined, so that the kernels are compiled with this crate, and not again with each crate that uses it.
#[inline(never)]
pub(crate) fn kernels(isa: Isa) -> Kernels {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx512Gather => Kernels {
            contains_batch: avx512::contains_batch::<true>,
            insert: insert_avx512::insert,
            insert_batch: insert_avx512::insert_batch,
            ..bmi2::KERNELS
        },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Core => {
            Kernels { contains_batch: avx512::contains_batch::<false>, ..bmi2::KERNELS }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => Kernels { contains_batch: avx2::contains_batch, ..bmi2::KERNELS },
        #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
        Isa::Neon => Kernels { contains_batch: neon::contains_batch, ..neon_words::KERNELS },
        _ => portable::KERNELS,
    }
}

#[cfg(test)]
mod tests;
