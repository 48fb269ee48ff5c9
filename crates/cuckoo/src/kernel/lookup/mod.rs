//! The kernels that use SIMD vectors to look up batches of keys.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
pub(super) mod portable;

#[cfg(target_arch = "x86_64")]
use trommel_base::batch::Ring;

/// The primary buckets and fingerprints of keys whose buckets are still to be read.
#[cfg(target_arch = "x86_64")]
#[derive(Default)]
struct Located {
    buckets: Ring,
    fingerprints: Ring,
}
