//! Packs bytes, each 0 or 1, into bits.

/// Packs up to 64 bytes, each 0 or 1, into the bits of a word. The first byte becomes the lowest bit.
///
/// One multiplication gathers eight bytes in the highest byte of the product. Callers write the answers for keys or the
/// flags of slots as bytes first, since setting one bit of a word would read and write the whole word each time.
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
        // Byte j is 0 or 1, in bit 8j of the word. The product with 2^(56 - 7j) has it in bit 56 + j. All other
        // products are below bit 56 or above bit 63. No two products share a bit, so nothing carries.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= gathered << (8 * i);
    }
    for (i, byte) in rest.iter().enumerate() {
        bits |= u64::from(*byte) << (8 * eights.len() + i);
    }
    bits
}
