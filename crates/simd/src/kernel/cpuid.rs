//! The instruction CPUID, by which a processor describes itself.
#![allow(unsafe_code)]

use core::arch::x86_64::{__cpuid_count, CpuidResult};

/// Queries a leaf of CPUID. If the leaf has several answers, `index` selects one.
pub(crate) fn cpuid(leaf: u32, index: u32) -> CpuidResult {
    // `__cpuid_count` is unsafe in the oldest supported compiler, and safe in newer ones.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction, and a query of any leaf is allowed.
    unsafe {
        __cpuid_count(leaf, index)
    }
}
