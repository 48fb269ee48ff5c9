//! Prefetch instructions.
#![allow(unsafe_code)]

use crate::Hint;

/// Asks the processor to load the cache line at `address`, for reading, into the levels of cache that `hint` names.
///
/// This is only a hint: any address is allowed, mapped or not, and the program cannot observe any effect except on its
/// speed. Does nothing on architectures other than x86-64 and aarch64.
///
/// Cost: one instruction. Processors limit how many cache lines can be on their way to a core at the same time: on
/// Sapphire Rapids, for example, 16 to L1 and 48 to L2.
#[inline(always)]
pub fn prefetch<T>(address: *const T, hint: Hint) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_NTA, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let address = address.cast::<i8>();
        // SAFETY: a prefetch never faults and has no effect that the program can observe, whatever
        // the address.
        unsafe {
            match hint {
                Hint::T0 => _mm_prefetch::<_MM_HINT_T0>(address),
                Hint::T1 => _mm_prefetch::<_MM_HINT_T1>(address),
                Hint::Nta => _mm_prefetch::<_MM_HINT_NTA>(address),
            }
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        macro_rules! prfm {
            ($instruction:literal) => {
                // SAFETY: PRFM never faults and writes no register or memory, whatever the address.
                unsafe {
                    core::arch::asm!(
                        $instruction,
                        in(reg) address,
                        options(nostack, readonly, preserves_flags)
                    );
                }
            };
        }
        match hint {
            Hint::T0 => prfm!("prfm pldl1keep, [{}]"),
            Hint::T1 => prfm!("prfm pldl2keep, [{}]"),
            Hint::Nta => prfm!("prfm pldl1strm, [{}]"),
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = (address, hint);
}
