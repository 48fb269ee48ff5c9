//! Register-blocked kernels: a key sets up to eight bits of one 64-bit word.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_single;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_core;
#[cfg(target_arch = "x86_64")]
mod avx512_single;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2;

use super::portable::{self, Body, batch_kernels};
use super::single_key::single_key;
use super::{PATTERN_SHIFT, PATTERN_STEP, pattern_positions};
use crate::geometry::Geometry;
use trommel_simd::Isa;

#[derive(Clone, Copy, Debug)]
pub struct RegisterBody;

/// Row `n - 1` is for filters in which a key sets `n` bits. Entry `i` is the right shift that brings the
/// six-bit position of the key's bit number `i`, counted from 0, to the bottom of the product that
/// [`pattern_positions`] returns. The entries from `n` on repeat entry 0.
#[cfg(target_arch = "x86_64")]
const FIELD_STARTS: [[u64; 8]; 8] = {
    let mut starts = [[PATTERN_SHIFT as u64; 8]; 8];
    let mut count = 1;
    while count <= 8 {
        let mut bit = 1;
        while bit < count {
            starts[count - 1][bit] += (PATTERN_STEP as usize * bit) as u64;
            bit += 1;
        }
        count += 1;
    }
    starts
};

/// The row of [`FIELD_STARTS`] for filters with this number of `hashes` (bits that a key sets), 1 to 8.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn field_starts(hashes: u32) -> &'static [u64; 8] {
    /// Each row is one cache line, so that a load of half a row never reads two cache lines.
    #[repr(align(64))]
    struct Rows([[u64; 8]; 8]);
    static ROWS: Rows = Rows(FIELD_STARTS);
    &ROWS.0[hashes.wrapping_sub(1) as usize % 8]
}

/// Sets the bits of a pattern in the word of a hash; true if one of these bits was clear.
///
/// # Safety
/// The caller must ensure that the table has the length that the geometry says, and is not borrowed elsewhere.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn set_pattern(geometry: Geometry, table: *mut u8, hash: u64, pattern: u64) -> bool {
    use trommel_base::range::reduce;
    let word = reduce(hash, geometry.units) as usize;
    // SAFETY: `reduce` returns an index below `geometry.units`, and the caller promises that the table has `units`
    // words. The accesses need no alignment.
    unsafe {
        let word = table.cast::<u64>().add(word);
        let before = word.read_unaligned();
        word.write_unaligned(before | pattern);
        pattern & !before != 0
    }
}

/// Returns the *pattern* of a hash: the mask of the bits, at most `count`, that the hash sets in its word.
#[inline(always)]
fn pattern(hash: u64, count: u32) -> u64 {
    let mut positions = pattern_positions(hash) >> PATTERN_SHIFT;
    let mut pattern = 0;
    for _ in 0..count {
        pattern |= 1 << (positions & 63);
        positions >>= PATTERN_STEP;
    }
    pattern
}

impl Body for RegisterBody {
    type Mask = [u64; 1];

    #[inline(always)]
    fn mask(geometry: Geometry, hash: u64) -> [u64; 1] {
        [pattern(hash, geometry.hashes)]
    }

    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    super::sse2::group_methods!(
        test_group = |geometry, table, group| sse2::test_group(geometry, table, group),
        unite_group = |geometry, table, group| sse2::unite_group(geometry, table, group),
    );
}

single_key! { RegisterBody:
    Avx512 => avx512_single,
    Avx512Core => avx512_core,
    Avx2 => avx2_single,
    _ => portable_contains, portable_insert
}

/// [`RegisterBody`] for one number of bits that a key sets. This number is a constant, so that the compiler unrolls the
/// loop over these bits.
struct ConstHashes<const HASHES: u32>;

impl<const HASHES: u32> Body for ConstHashes<HASHES> {
    type Mask = [u64; 1];

    #[inline(always)]
    fn mask(_: Geometry, hash: u64) -> [u64; 1] {
        [pattern(hash, HASHES)]
    }
}

/// Calls `portable::$function` with the `ConstHashes` for the number of bits that a key sets in this geometry.
macro_rules! by_hashes {
    ($function:ident, $geometry:ident, $table:ident, $hash:ident) => {
        // SAFETY: the caller promises what `portable::$function` requires of the table.
        unsafe {
            match $geometry.hashes {
                1 => portable::$function::<ConstHashes<1>>($geometry, $table, $hash),
                2 => portable::$function::<ConstHashes<2>>($geometry, $table, $hash),
                3 => portable::$function::<ConstHashes<3>>($geometry, $table, $hash),
                4 => portable::$function::<ConstHashes<4>>($geometry, $table, $hash),
                5 => portable::$function::<ConstHashes<5>>($geometry, $table, $hash),
                6 => portable::$function::<ConstHashes<6>>($geometry, $table, $hash),
                7 => portable::$function::<ConstHashes<7>>($geometry, $table, $hash),
                _ => portable::$function::<ConstHashes<8>>($geometry, $table, $hash),
            }
        }
    };
}

/// # Safety
/// The caller must ensure that the table has the length that the geometry says.
unsafe fn portable_contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    by_hashes!(contains_at, geometry, table, hash)
}

/// # Safety
/// The caller must ensure that the table has the length that the geometry says, and is not borrowed elsewhere.
unsafe fn portable_insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    by_hashes!(insert_at, geometry, table, hash)
}

batch_kernels! {
    RegisterBody: Avx512Gather => avx512, Avx512Core => avx512_core, Avx2 => avx2; Neon => neon
}

/// Returns the portable functions on every instruction set. Rejected: the same code compiled for AVX2. For AVX2, the
/// compiler vectorises the loop over the bits that a key sets, and an insert takes 17 ns instead of 12 on Cascade Lake.
#[cfg(target_has_atomic = "64")]
pub(crate) fn shared_kernels(_: Isa) -> super::shared::SharedKernels {
    super::shared::kernels::<super::shared::Blocks<RegisterBody>>(Isa::Portable)
}
