//! Non-temporal stores, which bypass the caches.
#![allow(unsafe_code)]

use crate::partition::record::Record;
use crate::storage::LINE_BYTES;

/// Copies whole cache lines to memory that will not be read soon.
///
/// An ordinary store first reads its cache line into the cache. A cache line that is overwritten as a whole need not be
/// read: on x86-64, non-temporal stores send the line to memory without this read, which halves the memory traffic. On
/// other architectures, and under Miri, which lacks non-temporal stores, the streamer makes an ordinary copy.
///
/// Until a fence, non-temporal stores are not ordered with other memory accesses. The streamer issues the fence when it
/// is dropped. So a loop has one streamer, and drops the streamer before any code reads what was stored. A panic in the
/// loop drops the streamer too.
pub(crate) struct Streamer(());

impl Streamer {
    pub(crate) const fn new() -> Self {
        Self(())
    }

    /// Copies a run of whole cache lines.
    ///
    /// # Panics
    /// On x86-64, except under Miri, if `from` or `to` is not aligned to cache lines.
    #[inline(always)]
    pub(crate) fn copy<R: Record, const RUN: usize>(&self, from: &[R; RUN], to: &mut [R; RUN]) {
        const { assert!(size_of::<[R; RUN]>().is_multiple_of(LINE_BYTES)) };
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use core::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
            let (from, to) = (from.as_ptr().cast::<__m128i>(), to.as_mut_ptr().cast::<__m128i>());
            assert!((from.addr() | to.addr()).is_multiple_of(LINE_BYTES), "runs must be aligned");
            for i in 0..size_of::<[R; RUN]>() / size_of::<__m128i>() {
                // SAFETY: SSE2 is part of x86-64. Both pointers come from references to as many bytes as the loop
                // covers, and the `assert` above checks their alignment. Records are plain integers. `drop` issues the
                // fence that must come before the next access to the copy.
                unsafe { _mm_stream_si128(to.add(i), _mm_load_si128(from.add(i))) };
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        to.copy_from_slice(from);
    }
}

impl Drop for Streamer {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: SSE is part of x86-64, and a fence reads and writes no memory.
        unsafe {
            core::arch::x86_64::_mm_sfence();
        }
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use super::Streamer;

    #[repr(align(64))]
    struct Lines([u64; 24]);

    #[test]
    fn runs_that_are_not_aligned_to_cache_lines_are_refused() {
        let refused = |from: usize, to: usize| {
            let copied = std::panic::catch_unwind(|| {
                let (source, mut target) = (Lines([7; 24]), Lines([0; 24]));
                let (run, _) = source.0[from..].as_chunks::<8>();
                let (runs, _) = target.0[to..].as_chunks_mut::<8>();
                Streamer::new().copy(&run[0], &mut runs[0]);
                assert_eq!(runs[0], [7; 8]);
            });
            copied.is_err_and(|message| message.downcast_ref() == Some(&"runs must be aligned"))
        };
        assert!(!refused(0, 0) && !refused(8, 16));
        // A run at an address divisible by 16 is aligned for the store instruction, but not always to cache lines.
        for misaligned in [1, 2, 4] {
            assert!(refused(misaligned, 0), "from {misaligned}");
            assert!(refused(0, misaligned), "to {misaligned}");
        }
    }
}
