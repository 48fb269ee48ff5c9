//! Words of a table, and rank and select on them, as the function that they are inlined into can compute them.

use super::balance;

/// Rank and select on a 64-bit word. A value of such a type is the proof that the machine has what it
/// takes.
pub(crate) trait Words: Copy {
    /// Ones of `word` below bit `index`; all of them from 64 on.
    fn rank(self, word: u64, index: u32) -> u32;
    /// The place of the one that comes after `skip` others. There is one.
    fn select(self, word: u64, skip: u32) -> u32;
    /// The slots of a block where no run is open any more: see [`balance`].
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64;
}

/// Whatever the target has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl Words for Plain {
    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        trommel_simd::rank(word, index)
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        trommel_simd::select(word, skip)
    }

    #[inline(always)]
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64 {
        balance::balanced(begun, ended, open)
    }
}

/// POPCNT, BMI1, BMI2 and AVX2: inside functions that are compiled for them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// # Safety
    /// The machine has POPCNT, BMI1, BMI2 and AVX2.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Words for Avx2 {
    #[inline(always)]
    fn rank(self, word: u64, index: u32) -> u32 {
        // SAFETY: whoever made this value knew that the machine has BMI2.
        let below = unsafe { core::arch::x86_64::_bzhi_u64(word, index) };
        below.count_ones()
    }

    #[inline(always)]
    fn select(self, word: u64, skip: u32) -> u32 {
        // SAFETY: as in `rank`.
        let one = unsafe { core::arch::x86_64::_pdep_u64(1 << skip, word) };
        one.trailing_zeros()
    }

    #[inline(always)]
    fn balanced(self, begun: u64, ended: u64, open: u32) -> u64 {
        // SAFETY: whoever made this value knew that the machine has AVX2 and BMI2.
        unsafe { balance::balanced_avx2(begun, ended, open) }
    }
}

/// A word of a table.
///
/// # Safety
/// The word lies within the table.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn word(table: *const u8, at: usize) -> u64 {
    // SAFETY: the caller's duty.
    u64::from_le(unsafe { table.add(at).cast::<u64>().read_unaligned() })
}
