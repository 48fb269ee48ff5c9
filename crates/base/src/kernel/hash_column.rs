//! Functions that hash a column of integers, compiled for each instruction set.
//!
//! `words_body` is a plain loop that calls the functions of [`super::hash`]. For integers of up to 64 bits, the
//! compiler vectorises this loop to 8 (AVX-512) or 4 (AVX2) lanes. XXH3 of a 128-bit integer computes the 128-bit
//! product of two words; only AVX-512 makes this multiplication faster.

use super::hash::Word;
use crate::{HashId, Hasher, KeyHash};
#[cfg(target_arch = "x86_64")]
use trommel_simd::Isa;

/// Hashes integers on the hasher's instruction set, up to the end of the shorter slice.
pub(crate) fn words<W: Word>(hasher: &Hasher, keys: &[W], hashes: &mut [KeyHash]) {
    let isa = hasher.isa();
    match isa {
        #[cfg(target_arch = "x86_64")]
        _ if isa >= Isa::Avx512Core && isa.is_available() => {
            // SAFETY: the guard checks that the machine has the instruction set.
            unsafe { words_avx512(hasher, keys, hashes) }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 if isa.is_available() => {
            // SAFETY: the guard checks that the machine has the instruction set.
            unsafe { words_avx2(hasher, keys, hashes) }
        }
        _ => words_body(hasher, keys, hashes),
    }
}

#[inline(always)]
fn words_body<W: Word>(hasher: &Hasher, keys: &[W], hashes: &mut [KeyHash]) {
    let seed = hasher.seed();
    match hasher.id() {
        HashId::Xxh3 => {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = KeyHash::from_raw(key.xxh3(seed));
            }
        }
        HashId::Xxh64 => {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = KeyHash::from_raw(key.xxh64(seed));
            }
        }
        HashId::SipHash13 => {
            let key_of_hasher = hasher.key();
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = KeyHash::from_raw(key.siphash13(key_of_hasher));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
fn words_avx512<W: Word>(hasher: &Hasher, keys: &[W], hashes: &mut [KeyHash]) {
    words_body(hasher, keys, hashes);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi2")]
fn words_avx2<W: Word>(hasher: &Hasher, keys: &[W], hashes: &mut [KeyHash]) {
    words_body(hasher, keys, hashes);
}
