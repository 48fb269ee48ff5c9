//! Lookups of batches in vectors.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;

use trommel_base::batch::Ring;

/// Primary buckets and fingerprints of the keys between locating and probing.
#[derive(Default)]
struct Located {
    buckets: Ring,
    fingerprints: Ring,
}
