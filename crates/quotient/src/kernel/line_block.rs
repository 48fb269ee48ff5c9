//! Kernels of [`LineBlock`].
//!
//! Two words of a line are enough to find a run. In [`starts`](lines::starts), bit `i` is set if a run can begin at
//! slot `i`: if `i` is 0, or if slot `i − 1` ends a run. The starts below the offset belong to runs of earlier lines;
//! the line's own starts are those from the offset on. So the run of the `d`-th occupied quotient (from 0) lies between
//! the `d`-th own start and the next one, and one `pdep` of `0b11 << d` finds both, without searching back for the
//! beginning of the run. The `d`-th own start can come before the quotient's home, but the slots between are free. Free
//! slots hold 0, which no stored remainder equals.
//!
//! If the line has no next start, the run goes on in the next line. There it begins at the `(d + 1 − n)`-th start (from
//! 0), where `n` is the number of own starts of the key's line. In the next line all starts count, whatever the offset:
//! slot 0 is the start of the run that comes from the line before.

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
#[cfg(target_arch = "x86_64")]
use super::words::Avx2;

scalar_kernels!(portable, LineBlock, Plain);
#[cfg(target_arch = "x86_64")]
scalar_kernels!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    bmi2,
    LineBlock,
    // SAFETY: a function that is compiled for AVX2 and BMI2 runs only on machines that have them.
    unsafe { Avx2::new() }
);

/// The kernels for an instruction set.
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
        _ => portable::KERNELS,
    }
}
