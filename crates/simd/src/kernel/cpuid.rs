//! The processor's description of itself.
#![allow(unsafe_code)]

use core::arch::x86_64::{__cpuid_count, CpuidResult};

/// A leaf of CPUID, of which some have several answers.
pub(crate) fn cpuid(leaf: u32, index: u32) -> CpuidResult {
    // A safe function in newer compilers, not in the oldest that is supported.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction, and any leaf may be asked for.
    unsafe {
        __cpuid_count(leaf, index)
    }
}
