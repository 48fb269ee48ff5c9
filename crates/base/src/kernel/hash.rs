//! XXH3-64 and XXH64 of eight bytes, one key or a column of them.
//!
//! The scalar form is one expression over `u64` without a branch, so the column is a plain loop that
//! the compiler turns into 8 (AVX-512) or 4 (AVX2) lanes when it is compiled for that set.
//!
//! Source: the xxHash specification, "XXH3 algorithm overview", inputs of 4 to 8 bytes, and "XXH64
//! algorithm description" for inputs below 32 bytes.

use crate::{HashId, KeyHash};
use trommel_simd::Isa;

/// Bytes 8–15 and 16–23 of XXH3's default secret, read as little-endian words and combined by xor.
const XXH3_BITFLIP: u64 = 0x1CAD_21F7_2C81_017C ^ 0xDB97_9083_E96D_D4DE;
const XXH3_PRIME_MX2: u64 = 0x9FB2_1C65_1E98_DF25;

const XXH64_PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
const XXH64_PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const XXH64_PRIME_3: u64 = 0x1656_67B1_9E37_79F9;
const XXH64_PRIME_4: u64 = 0x85EB_CA77_C2B2_AE63;
const XXH64_PRIME_5: u64 = 0x27D4_EB2F_1656_67C5;

/// XXH3-64 of the eight little-endian bytes of `key`.
#[inline(always)]
pub(crate) fn xxh3_u64(key: u64, seed: u64) -> u64 {
    let seed = seed ^ (u64::from((seed as u32).swap_bytes()) << 32);
    let mut h = key.rotate_left(32) ^ XXH3_BITFLIP.wrapping_sub(seed);
    h ^= h.rotate_left(49) ^ h.rotate_left(24);
    h = h.wrapping_mul(XXH3_PRIME_MX2);
    h ^= (h >> 35).wrapping_add(8);
    h = h.wrapping_mul(XXH3_PRIME_MX2);
    h ^ (h >> 28)
}

/// XXH64 of the eight little-endian bytes of `key`.
#[inline(always)]
pub(crate) fn xxh64_u64(key: u64, seed: u64) -> u64 {
    let round = key.wrapping_mul(XXH64_PRIME_2).rotate_left(31).wrapping_mul(XXH64_PRIME_1);
    let mut h = seed.wrapping_add(XXH64_PRIME_5).wrapping_add(8) ^ round;
    h = h.rotate_left(27).wrapping_mul(XXH64_PRIME_1).wrapping_add(XXH64_PRIME_4);
    h = (h ^ (h >> 33)).wrapping_mul(XXH64_PRIME_2);
    h = (h ^ (h >> 29)).wrapping_mul(XXH64_PRIME_3);
    h ^ (h >> 32)
}

/// Hashes a column with the machine's best instruction set. A column has nothing to keep an
/// instruction set in, and every set gives the same answer, so `TROMMEL_ISA` is not asked.
pub(crate) fn batch(id: HashId, seed: u64, keys: &[u64], hashes: &mut [KeyHash]) {
    batch_on(Isa::best(), id, seed, keys, hashes);
}

/// Hashes a column with one instruction set, or portably where the machine lacks it.
pub(crate) fn batch_on(isa: Isa, id: HashId, seed: u64, keys: &[u64], hashes: &mut [KeyHash]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        _ if isa >= Isa::Avx512Core && isa.is_available() => {
            // SAFETY: the machine has the instruction set, as the guard says.
            unsafe { body_avx512(id, seed, keys, hashes) }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 if isa.is_available() => {
            // SAFETY: as above.
            unsafe { body_avx2(id, seed, keys, hashes) }
        }
        _ => body(id, seed, keys, hashes),
    }
}

#[inline(always)]
fn body(id: HashId, seed: u64, keys: &[u64], hashes: &mut [KeyHash]) {
    match id {
        HashId::Xxh3 => {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = KeyHash::from_raw(xxh3_u64(*key, seed));
            }
        }
        HashId::Xxh64 => {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = KeyHash::from_raw(xxh64_u64(*key, seed));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn body_avx512(id: HashId, seed: u64, keys: &[u64], hashes: &mut [KeyHash]) {
    body(id, seed, keys, hashes);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi2")]
fn body_avx2(id: HashId, seed: u64, keys: &[u64], hashes: &mut [KeyHash]) {
    body(id, seed, keys, hashes);
}
