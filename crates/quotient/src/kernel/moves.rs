//! Moves one-byte remainders up by one slot, for inserts.

#[cfg(target_arch = "x86_64")]
use super::words::Avx2;
use crate::words::{Plain, Words};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use wide::{i8x16, u8x16};

/// The number of bytes of a cache line.
pub(super) const LINE_BYTES: usize = 64;
/// [`Moves::insert_byte`] reads and writes fewer than this number of bytes after the byte at `free`.
pub(super) const BEHIND: usize = 32;

/// Moves of bytes, made with the vectors of an instruction set.
pub(super) trait Moves: Words {
    /// Moves bytes `at..free` up by one, and stores `byte` at `at`.
    ///
    /// # Safety
    /// The caller must ensure that `at` is at most `free`, that the bytes from `at` to `free` and the [`BEHIND`] − 1
    /// bytes after `free` can be read and written, and that the byte before `at` can be read.
    unsafe fn insert_byte(self, bytes: *mut u8, at: usize, free: usize, byte: u8);

    /// `slots` is a mask of adjacent bytes of a line. Gives each of these bytes the value of the byte before it, except
    /// the first of them, which gets `incoming`. The value of the last is lost. The line's other bytes keep their
    /// values; if `slots` is 0, all bytes keep their values.
    fn move_up(self, line: &mut [u8; LINE_BYTES], slots: u64, incoming: u8);
}

/// The number of bytes of a portable vector.
const VECTOR: usize = 16;
/// The index of each byte of a vector.
const INDICES: [i8; VECTOR] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Returns a vector with `incoming` at index `first`, the bytes of `up` at the indices after `first` up to `last`, and
/// the bytes of `old` elsewhere. If `last` is below `first`, all bytes are those of `old`.
#[inline(always)]
fn moved(old: u8x16, up: u8x16, first: i8, last: i8, incoming: u8) -> u8x16 {
    let indices = i8x16::from(INDICES);
    let bits = |mask: i8x16| -> u8x16 { bytes_of(mask) };
    let from_first = bits(indices.simd_gt(i8x16::splat(first.wrapping_sub(1))));
    let after_last = bits(indices.simd_gt(i8x16::splat(last)));
    let is_first = bits(indices.simd_eq(i8x16::splat(first)));
    let up = is_first.bitselect(u8x16::splat(incoming), up);
    (from_first & !after_last).bitselect(up, old)
}

#[inline(always)]
fn bytes_of(mask: i8x16) -> u8x16 {
    let mask = mask.to_array();
    u8x16::from(core::array::from_fn(|i| mask[i] as u8))
}

impl Moves for Plain {
    #[inline(always)]
    unsafe fn insert_byte(self, bytes: *mut u8, at: usize, free: usize, byte: u8) {
        let mut end = free;
        // SAFETY: all reads and writes are within the bytes that the caller guarantees.
        unsafe {
            let vector = |at: usize| bytes.add(at).cast::<[u8; VECTOR]>();
            let there = u8x16::from(vector(at).read());
            let before = u8x16::from(vector(at).byte_sub(1).read());
            // Copies from the end backwards, so that no byte is read after it was overwritten.
            while end - at >= VECTOR {
                let moved = vector(end - VECTOR).read();
                vector(end - VECTOR + 1).write(moved);
                end -= VECTOR;
            }
            let last = (free - at).min(VECTOR - 1) as i8;
            vector(at).write(moved(there, before, 0, last, byte).to_array());
        }
    }

    #[inline(always)]
    fn move_up(self, line: &mut [u8; LINE_BYTES], slots: u64, incoming: u8) {
        // If `slots` is 0, `first` is 64 and `last` is −1, so no byte changes.
        let (first, last) = (slots.trailing_zeros() as i8, 63 - slots.leading_zeros() as i8);
        let old: [[u8; VECTOR]; 4] = core::array::from_fn(|i| {
            let (chunks, _) = line.as_chunks();
            chunks[i]
        });
        let up: [[u8; VECTOR]; 4] = core::array::from_fn(|i| match i {
            0 => (u128::from_le_bytes(old[0]) << 8).to_le_bytes(),
            _ => *line[i * VECTOR - 1..].first_chunk().unwrap(),
        });
        let (chunks, _) = line.as_chunks_mut::<VECTOR>();
        for (i, chunk) in chunks.iter_mut().enumerate() {
            let begin = (i * VECTOR) as i8;
            let vectors = (u8x16::from(old[i]), u8x16::from(up[i]));
            let moved = moved(vectors.0, vectors.1, first - begin, last - begin, incoming);
            *chunk = moved.to_array();
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Moves for Avx2 {
    #[inline(always)]
    unsafe fn insert_byte(self, bytes: *mut u8, at: usize, free: usize, byte: u8) {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has AVX2. The caller of `insert_byte` guarantees
        // the bytes.
        unsafe { insert_byte_avx2(bytes, at, free, byte) }
    }

    #[inline(always)]
    fn move_up(self, line: &mut [u8; LINE_BYTES], slots: u64, incoming: u8) {
        // SAFETY: the caller of `Avx2::new` ensured that the machine has AVX2 and BMI1.
        unsafe { move_up_avx2(line, slots, incoming) }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn insert_byte_avx2(bytes: *mut u8, at: usize, free: usize, byte: u8) {
    const VECTOR: usize = 32;
    let places = _mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
        25, 26, 27, 28, 29, 30, 31,
    );
    // SAFETY: all reads and writes are within the bytes that the caller guarantees.
    unsafe {
        let there = _mm256_loadu_si256(bytes.add(at).cast());
        let before = _mm256_loadu_si256(bytes.add(at).sub(1).cast());
        // Copies from the end backwards, so that no byte is read after it was overwritten.
        let mut end = free;
        while end - at >= VECTOR {
            let moved = _mm256_loadu_si256(bytes.add(end - VECTOR).cast());
            _mm256_storeu_si256(bytes.add(end - VECTOR + 1).cast(), moved);
            end -= VECTOR;
        }
        let moved = (free - at).min(VECTOR) as i8;
        let stays = _mm256_cmpgt_epi8(places, _mm256_set1_epi8(moved));
        let up = _mm256_blendv_epi8(before, there, stays);
        let first = _mm256_cmpeq_epi8(places, _mm256_setzero_si256());
        let up = _mm256_blendv_epi8(up, _mm256_set1_epi8(byte as i8), first);
        _mm256_storeu_si256(bytes.add(at).cast(), up);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,bmi1")]
fn move_up_avx2(line: &mut [u8; LINE_BYTES], slots: u64, incoming: u8) {
    let line = line.as_mut_ptr();
    // SAFETY: all reads and writes are within the line.
    unsafe {
        let low = _mm256_loadu_si256(line.cast());
        let high = _mm256_loadu_si256(line.add(32).cast());
        // The 32 bytes that begin one byte before the upper half. If stored to the upper half, each moves up by one.
        let high_up = _mm256_loadu_si256(line.add(31).cast());
        let below = _mm256_permute2x128_si256::<0x08>(low, low);
        let low_up = _mm256_alignr_epi8::<15>(low, below);
        let incoming = _mm256_set1_epi8(incoming as i8);
        let first = _blsi_u64(slots);
        let merged = |old, up, shift: u32| {
            let up = _mm256_blendv_epi8(up, incoming, spread_avx2((first >> shift) as u32));
            _mm256_blendv_epi8(old, up, spread_avx2((slots >> shift) as u32))
        };
        _mm256_storeu_si256(line.cast(), merged(low, low_up, 0));
        _mm256_storeu_si256(line.add(32).cast(), merged(high, high_up, 32));
    }
}

/// A byte for every bit: 0xFF if the bit is set, else 0.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn spread_avx2(bits: u32) -> __m256i {
    let byte_of_bit =
        _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let bit_of_byte = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), byte_of_bit);
    _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit_of_byte), bit_of_byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::words::for_all_words;
    use alloc::vec::Vec;
    use trommel_testkit::Splitmix;

    /// Compares each kind of move with `copy_within`, for every first and last slot.
    fn agree<M: Moves>(moves: M) {
        let mut random = Splitmix::new(67);
        let step = if cfg!(miri) { 9 } else { 1 };
        for at in (0..64).step_by(step) {
            for free in at..64 + 3 * VECTOR {
                // A byte before byte 0, the bytes 0 to `free`, and `BEHIND - 1` bytes after `free`.
                let count = 1 + free + BEHIND;
                let mut bytes: Vec<u8> = (0..count).map(|_| random.word() as u8).collect();
                let mut expected = bytes.clone();
                expected.copy_within(1 + at..1 + free, 2 + at);
                expected[1 + at] = 7;
                // SAFETY: `bytes` has the byte before `at`, and everything up to `BEHIND - 1` bytes after `free`.
                unsafe { moves.insert_byte(bytes.as_mut_ptr().add(1), at, free, 7) };
                assert_eq!(bytes, expected, "bytes {at} to {free} were moved");
            }
        }
        for first in (0..64).step_by(step) {
            for last in first..64 {
                let mut line: [u8; LINE_BYTES] = core::array::from_fn(|_| random.word() as u8);
                let mut expected = line;
                expected.copy_within(first..last, first + 1);
                expected[first] = 7;
                moves.move_up(&mut line, (u64::MAX >> (63 - last)) & (u64::MAX << first), 7);
                assert_eq!(line, expected, "slots {first} to {last} were moved");
                let unmoved = line;
                moves.move_up(&mut line, 0, 9);
                assert_eq!(line, unmoved);
            }
        }
    }

    #[test]
    fn bytes_move_as_one_by_one() {
        for_all_words!(agree);
    }
}
