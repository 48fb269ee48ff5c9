//! XXH3-64, XXH64 and SipHash-1-3 of an integer's bytes, for each width.
//!
//! Each hash is computed without a branch, so that the compiler vectorises the plain loop of [`super::hash_column`].
//! XXH3 and XXH64 of strings of bytes are computed by functions of the crate `xxhash-rust`, which the compiler inlines.
//! Rejected: hashing short strings by functions written here (on an AMD EPYC with AVX-512, 1.67 ns instead of 1.43 per
//! key of 8 bytes, and 1.36 instead of 1.27 per key of 16 bytes).
//!
//! Source: the xxHash specification, "XXH3 algorithm overview" for inputs of 1 to 16 bytes, and "XXH64 algorithm
//! description" for inputs below 32 bytes. [`super::siphash`] names the source of SipHash.

use crate::kernel::siphash::{Sip13, SipKey};
use crate::{HashId, Hasher};

/// The name of each constant `BITFLIP_…` has the lengths of the inputs that use it, in bytes. The constant is the
/// xor of two little-endian words of XXH3's default secret, as in the specification. Here, the words are bytes 0 to 3
/// and bytes 4 to 7 of the secret.
const BITFLIP_1_TO_3: u64 = 0x396C_FEB8 ^ 0xBE4B_A423;
/// From bytes 8 to 15 and bytes 16 to 23 of the secret.
const BITFLIP_4_TO_8: u64 = 0x1CAD_21F7_2C81_017C ^ 0xDB97_9083_E96D_D4DE;
/// From bytes 24 to 31 and bytes 32 to 39.
const BITFLIP_9_TO_16_LOW: u64 = 0x1F67_B3B7_A4A4_4072 ^ 0x78E5_C0CC_4EE6_79CB;
/// From bytes 40 to 47 and bytes 48 to 55.
const BITFLIP_9_TO_16_HIGH: u64 = 0x2172_FFCC_7DD0_5A82 ^ 0x8E24_43F7_7446_08B8;
const XXH3_PRIME_MX1: u64 = 0x1656_6791_9E37_79F9;
const XXH3_PRIME_MX2: u64 = 0x9FB2_1C65_1E98_DF25;

const XXH64_PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
const XXH64_PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const XXH64_PRIME_3: u64 = 0x1656_67B1_9E37_79F9;
const XXH64_PRIME_4: u64 = 0x85EB_CA77_C2B2_AE63;
const XXH64_PRIME_5: u64 = 0x27D4_EB2F_1656_67C5;

/// An integer, whose hash is that of its little-endian bytes.
pub(crate) trait Word: Copy {
    /// XXH3-64 of the bytes.
    fn xxh3(self, seed: u64) -> u64;
    /// XXH64 of the bytes.
    fn xxh64(self, seed: u64) -> u64;
    /// SipHash-1-3 of the bytes.
    fn siphash13(self, key: SipKey) -> u64;

    /// The hash of the bytes.
    #[inline(always)]
    fn hash(self, hasher: &Hasher) -> u64 {
        match hasher.id() {
            HashId::Xxh3 => self.xxh3(hasher.seed()),
            HashId::Xxh64 => self.xxh64(hasher.seed()),
            HashId::SipHash13 => siphash13_of(self, hasher.key()),
        }
    }
}

/// Not inlined, to keep SipHash out of code that hashes single integers by XXH3.
#[inline(never)]
fn siphash13_of<W: Word>(word: W, key: SipKey) -> u64 {
    word.siphash13(key)
}

/// Implements [`Word`]. A row has the names of the word, the seed and the secret key, and then the three hashes:
/// XXH3-64, XXH64 and SipHash-1-3.
macro_rules! words {
    ($($type:ty: |$word:ident, $seed:ident, $key:ident| $xxh3:expr, $xxh64:expr, $siphash13:expr;)*) => {$(
        impl Word for $type {
            #[inline(always)]
            fn xxh3(self, $seed: u64) -> u64 {
                let $word = self;
                $xxh3
            }

            #[inline(always)]
            fn xxh64(self, $seed: u64) -> u64 {
                let $word = self;
                $xxh64
            }

            #[inline(always)]
            fn siphash13(self, $key: SipKey) -> u64 {
                let $word = self;
                $siphash13
            }
        }
    )*};
}

words! {
    u8: |word, seed, key|
        xxh3_1_to_3(word, word, word, 1, seed),
        xxh64_avalanche(xxh64_byte(xxh64_start(1, seed), word)),
        Sip13::of_word(key, word.into(), 1);
    u16: |word, seed, key|
        xxh3_1_to_3(word as u8, (word >> 8) as u8, (word >> 8) as u8, 2, seed),
        xxh64_avalanche(xxh64_byte(xxh64_byte(xxh64_start(2, seed), word as u8), (word >> 8) as u8)),
        Sip13::of_word(key, word.into(), 2);
    u32: |word, seed, key|
        xxh3_4_to_8(u64::from(word) << 32 | u64::from(word), 4, seed),
        xxh64_avalanche(xxh64_half(xxh64_start(4, seed), word)),
        Sip13::of_word(key, word.into(), 4);
    u64: |word, seed, key|
        xxh3_4_to_8(word.rotate_left(32), 8, seed),
        xxh64_avalanche(xxh64_word(xxh64_start(8, seed), word)),
        Sip13::of_word(key, word, 8);
    u128: |word, seed, key|
        xxh3_9_to_16(word as u64, (word >> 64) as u64, 16, seed),
        xxh64_avalanche(xxh64_word(xxh64_word(xxh64_start(16, seed), word as u64), (word >> 64) as u64)),
        Sip13::of_two_words(key, [word as u64, (word >> 64) as u64]);
}

/// Implements [`Word`] for signed integers, which hash as the unsigned ones of the same bytes.
macro_rules! as_unsigned {
    ($($signed:ty: $unsigned:ty),*) => {
        words! {$(
            $signed: |word, seed, key|
                (word as $unsigned).xxh3(seed),
                (word as $unsigned).xxh64(seed),
                (word as $unsigned).siphash13(key);
        )*}
    };
}
as_unsigned!(i8: u8, i16: u16, i32: u32, i64: u64, i128: u128);

#[inline(always)]
fn xxh3_1_to_3(first: u8, middle: u8, last: u8, len: u64, seed: u64) -> u64 {
    let combined = u64::from(first) << 16 | u64::from(middle) << 24 | u64::from(last) | len << 8;
    xxh64_avalanche(combined ^ BITFLIP_1_TO_3.wrapping_add(seed))
}

#[inline(always)]
fn xxh3_4_to_8(first_above_last: u64, len: u64, seed: u64) -> u64 {
    let seed = seed ^ (u64::from((seed as u32).swap_bytes()) << 32);
    let mut h = first_above_last ^ BITFLIP_4_TO_8.wrapping_sub(seed);
    h ^= h.rotate_left(49) ^ h.rotate_left(24);
    h = h.wrapping_mul(XXH3_PRIME_MX2);
    h ^= (h >> 35).wrapping_add(len);
    h = h.wrapping_mul(XXH3_PRIME_MX2);
    h ^ (h >> 28)
}

#[inline(always)]
fn xxh3_9_to_16(first: u64, last: u64, len: u64, seed: u64) -> u64 {
    let low = first ^ BITFLIP_9_TO_16_LOW.wrapping_add(seed);
    let high = last ^ BITFLIP_9_TO_16_HIGH.wrapping_sub(seed);
    let product = u128::from(low) * u128::from(high);
    let mut h = len
        .wrapping_add(low.swap_bytes())
        .wrapping_add(high)
        .wrapping_add(product as u64 ^ (product >> 64) as u64);
    h = (h ^ (h >> 37)).wrapping_mul(XXH3_PRIME_MX1);
    h ^ (h >> 32)
}

#[inline(always)]
fn xxh64_start(len: u64, seed: u64) -> u64 {
    seed.wrapping_add(XXH64_PRIME_5).wrapping_add(len)
}

#[inline(always)]
fn xxh64_word(h: u64, word: u64) -> u64 {
    let round = word.wrapping_mul(XXH64_PRIME_2).rotate_left(31).wrapping_mul(XXH64_PRIME_1);
    (h ^ round).rotate_left(27).wrapping_mul(XXH64_PRIME_1).wrapping_add(XXH64_PRIME_4)
}

#[inline(always)]
fn xxh64_half(h: u64, half: u32) -> u64 {
    let h = h ^ u64::from(half).wrapping_mul(XXH64_PRIME_1);
    h.rotate_left(23).wrapping_mul(XXH64_PRIME_2).wrapping_add(XXH64_PRIME_3)
}

#[inline(always)]
fn xxh64_byte(h: u64, byte: u8) -> u64 {
    (h ^ u64::from(byte).wrapping_mul(XXH64_PRIME_5)).rotate_left(11).wrapping_mul(XXH64_PRIME_1)
}

#[inline(always)]
fn xxh64_avalanche(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(XXH64_PRIME_2);
    h = (h ^ (h >> 29)).wrapping_mul(XXH64_PRIME_3);
    h ^ (h >> 32)
}
