//! Bytes as bits.

/// Up to 64 bytes of 0 or 1 as bits, the first byte as the lowest.
///
/// A product of eight of them has them side by side in its highest byte. Inlined into loops that answer a byte a
/// key, or a byte a slot, so that these become vectors.
///
/// ```
/// assert_eq!(trommel_simd::bits_of(&[1, 0, 0, 1]), 0b1001);
/// assert_eq!(trommel_simd::bits_of(&[1; 64]), u64::MAX);
/// ```
#[inline(always)]
#[must_use]
pub fn bits_of(bytes: &[u8]) -> u64 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut bits = 0;
    for (i, eight) in eights.iter().enumerate() {
        // Byte j, times 2^(56 - 7j), adds to bit 56 + j; no two of the other terms meet there.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= gathered << (8 * i);
    }
    for (i, byte) in rest.iter().enumerate() {
        bits |= u64::from(*byte) << (8 * eights.len() + i);
    }
    bits
}
