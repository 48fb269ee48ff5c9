//! Lookups of batches in vectors.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;

use trommel_base::batch::RING_KEYS;

/// Primary buckets and fingerprints of the keys between locating and probing.
#[repr(align(64))]
struct Located {
    buckets: [u32; RING_KEYS],
    fingerprints: [u32; RING_KEYS],
}

impl Located {
    const fn new() -> Self {
        Self { buckets: [0; RING_KEYS], fingerprints: [0; RING_KEYS] }
    }
}

/// The `KEYS` places of a group in one of the two rings.
#[inline(always)]
fn places<const KEYS: usize>(ring: &[u32; RING_KEYS], group: usize) -> &[u32; KEYS] {
    let (groups, _) = ring.as_chunks::<KEYS>();
    &groups[group % (RING_KEYS / KEYS)]
}

/// The places of a group, to be written.
#[inline(always)]
fn places_mut<const KEYS: usize>(ring: &mut [u32; RING_KEYS], group: usize) -> &mut [u32; KEYS] {
    let (groups, _) = ring.as_chunks_mut::<KEYS>();
    &mut groups[group % (RING_KEYS / KEYS)]
}
