//! SipHash-1-3, a pseudo-random function with a key of 128 bits.
//!
//! SipHash-c-d compresses a message in words of eight bytes, with `c` rounds per word, and ends with `d` rounds. The
//! authors' paper proposes SipHash-2-4. The hash tables of Rust's standard library use SipHash-1-3.
//! docs/decisions/0074-siphash-1-3.md says why our filters use it too.
//!
//! The code branches on the length of the message, but never on its bytes or on the key. An integer is hashed without
//! a loop over words or bytes, so the compiler vectorises a loop over a column of integers.
//!
//! Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2. The variant with 128
//! bits of output follows the authors' reference code.

/// The words `k0` and `k1` of the paper: the key's bytes as little-endian numbers.
pub(crate) type SipKey = [u64; 2];

/// SipHash-1-3.
pub(crate) type Sip13 = SipHash<1, 3>;

/// The state of SipHash with `C` rounds per word and `D` rounds at the end: `v0` to `v3` of the paper.
#[derive(Clone, Copy)]
pub(crate) struct SipHash<const C: u32, const D: u32>([u64; 4]);

impl<const C: u32, const D: u32> SipHash<C, D> {
    /// The 64-bit hash of a message.
    #[inline(always)]
    pub(crate) fn of_bytes(key: SipKey, message: &[u8]) -> u64 {
        let (words, rest) = message.as_chunks::<8>();
        let mut state = Self::new(key);
        for word in words {
            state = state.compress(u64::from_le_bytes(*word));
        }
        // The bytes after the last whole word. In a message of at least eight bytes, they are the high bytes of the
        // number that the message's last eight bytes form.
        let rest = match message.last_chunk::<8>() {
            Some(last) => u64::from_le_bytes(*last) >> 8 >> (56 - 8 * rest.len()),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        state.finish(rest, message.len() as u64)
    }

    /// The hash of the low bytes of `word`, in little-endian order. `bytes` is their number. The caller must ensure
    /// that `bytes` is at most 8, and that all other bytes of `word` are zero.
    #[inline(always)]
    pub(crate) fn of_word(key: SipKey, word: u64, bytes: u64) -> u64 {
        match bytes {
            8 => Self::new(key).compress(word).finish(0, 8),
            _ => Self::new(key).finish(word, bytes),
        }
    }

    /// The hash of the 16 bytes of two words, each in little-endian order.
    #[inline(always)]
    pub(crate) const fn of_two_words(key: SipKey, words: [u64; 2]) -> u64 {
        Self::new(key).compress(words[0]).compress(words[1]).finish(0, 16)
    }

    /// The 128-bit hash of the eight bytes of a word. SipHash with 128 bits of output starts from a different state, so
    /// this hash is independent of the 64-bit hash of the same message.
    pub(crate) const fn wide_of_word(key: SipKey, word: u64) -> [u64; 2] {
        let Self([v0, v1, v2, v3]) = Self::new(key);
        let state = Self([v0, v1 ^ 0xEE, v2, v3]).compress(word);
        let Self([v0, v1, v2, v3]) = state.compress(8 << 56);
        let low = Self([v0, v1, v2 ^ 0xEE, v3]).rounds(D);
        let Self([v0, v1, v2, v3]) = low;
        let high = Self([v0, v1 ^ 0xDD, v2, v3]).rounds(D);
        [low.folded(), high.folded()]
    }

    #[inline(always)]
    const fn new([k0, k1]: SipKey) -> Self {
        // The constants spell "somepseudorandomlygeneratedbytes" in ASCII.
        Self([
            k0 ^ 0x736F_6D65_7073_6575,
            k1 ^ 0x646F_7261_6E64_6F6D,
            k0 ^ 0x6C79_6765_6E65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    /// Takes in the next word of the message.
    #[inline(always)]
    const fn compress(self, word: u64) -> Self {
        let Self([v0, v1, v2, v3]) = self;
        let Self([v0, v1, v2, v3]) = Self([v0, v1, v2, v3 ^ word]).rounds(C);
        Self([v0 ^ word, v1, v2, v3])
    }

    /// Takes in the final word, made of `rest` (the bytes after the last whole word) and the message's length modulo
    /// 256, and returns the hash.
    #[inline(always)]
    const fn finish(self, rest: u64, bytes: u64) -> u64 {
        let Self([v0, v1, v2, v3]) = self.compress(rest | bytes << 56);
        Self([v0, v1, v2 ^ 0xFF, v3]).rounds(D).folded()
    }

    /// SipRound, `count` times.
    #[inline(always)]
    const fn rounds(self, count: u32) -> Self {
        let Self([mut v0, mut v1, mut v2, mut v3]) = self;
        let mut round = 0;
        while round < count {
            v0 = v0.wrapping_add(v1);
            v2 = v2.wrapping_add(v3);
            v1 = v1.rotate_left(13) ^ v0;
            v3 = v3.rotate_left(16) ^ v2;
            v0 = v0.rotate_left(32).wrapping_add(v3);
            v2 = v2.wrapping_add(v1);
            v1 = v1.rotate_left(17) ^ v2;
            v3 = v3.rotate_left(21) ^ v0;
            v2 = v2.rotate_left(32);
            round += 1;
        }
        Self([v0, v1, v2, v3])
    }

    #[inline(always)]
    const fn folded(self) -> u64 {
        let Self([v0, v1, v2, v3]) = self;
        v0 ^ v1 ^ v2 ^ v3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hasher as _;
    use siphasher::sip128::Hasher128 as _;
    use std::vec::Vec;

    /// The key of the paper's test vectors: the bytes 0 to 15.
    const KEY_OF_THE_PAPER: SipKey = [0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908];

    const KEYS: [SipKey; 5] = [
        [0, 0],
        KEY_OF_THE_PAPER,
        [1, 0],
        [0, 1 << 63],
        [0x9E37_79B9_7F4A_7C15, 0xF135_7AEA_2E62_A9C5],
    ];

    fn message(bytes: usize) -> Vec<u8> {
        (0..bytes as u64).map(|i| (i * i + 3 * i) as u8).collect()
    }

    /// Appendix A of the paper: SipHash-2-4 of the bytes 0 to 14.
    #[test]
    fn the_papers_example_has_the_published_hash() {
        let message: Vec<u8> = (0..15).collect();
        let hash = SipHash::<2, 4>::of_bytes(KEY_OF_THE_PAPER, &message);
        assert_eq!(hash, 0xA129_CA61_49BE_45E5);
    }

    #[test]
    fn hashes_under_key_0_are_those_of_the_standard_library() {
        for bytes in (0..300).chain([1000, 65_536]) {
            let message = message(bytes);
            let mut oracle = std::hash::DefaultHasher::new();
            oracle.write(&message);
            assert_eq!(Sip13::of_bytes([0, 0], &message), oracle.finish(), "{bytes} bytes");
        }
    }

    #[test]
    fn hashes_under_every_key_are_those_of_another_implementation() {
        // All lengths would take Miri too long. Multiples of 7 have all remainders modulo 8.
        let step = if cfg!(miri) { 7 } else { 1 };
        for [k0, k1] in KEYS {
            for bytes in (0..300).step_by(step).chain([1000]) {
                let message = message(bytes);
                let oracle = siphasher::sip::SipHasher13::new_with_keys(k0, k1).hash(&message);
                assert_eq!(Sip13::of_bytes([k0, k1], &message), oracle, "{bytes} bytes");
                let oracle = siphasher::sip::SipHasher24::new_with_keys(k0, k1).hash(&message);
                assert_eq!(SipHash::<2, 4>::of_bytes([k0, k1], &message), oracle, "{bytes} bytes");
            }
        }
    }

    #[test]
    fn words_hash_as_their_bytes() {
        for key in KEYS {
            for word in [0, 1, 0x0123_4567_89AB_CDEF, u64::MAX] {
                for bytes in 1..=8 {
                    let word = word & u64::MAX >> (64 - 8 * bytes);
                    let expected = Sip13::of_bytes(key, &word.to_le_bytes()[..bytes]);
                    assert_eq!(Sip13::of_word(key, word, bytes as u64), expected, "{bytes} bytes");
                }
                let bytes = [word.to_le_bytes(), (!word).to_le_bytes()].concat();
                let expected = Sip13::of_bytes(key, &bytes);
                assert_eq!(Sip13::of_two_words(key, [word, !word]), expected);
            }
        }
    }

    #[test]
    fn wide_hashes_are_those_of_another_implementation() {
        for [k0, k1] in KEYS {
            for word in [0, 7, u64::MAX] {
                let mut oracle = siphasher::sip128::SipHasher13::new_with_keys(k0, k1);
                oracle.write(&word.to_le_bytes());
                let oracle = oracle.finish128();
                assert_eq!(Sip13::wide_of_word([k0, k1], word), [oracle.h1, oracle.h2]);
            }
        }
    }
}
