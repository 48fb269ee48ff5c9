//! Lookups and inserts of one key in a register-blocked filter with AVX-512, in assembly.
//!
//! A function that is compiled for an instruction set cannot be inlined into a caller that is compiled without this
//! set: it must be called. In tables larger than L2, the call is a quarter to a third of the cost of a key. A core
//! overlaps the cache misses of only as many keys as its reorder buffer has room for, so the more instructions a key
//! takes, the fewer misses overlap. Times in ns per key on a Zen 4 core, by size of the table:
//!
//! | operation | code | 150 KB | 1.5 MB | 15 MB |
//! |---|---|---:|---:|---:|
//! | lookup | inlined assembly | 1.1 | 1.3 | 9.8 |
//! | lookup | a call | 1.2 | 1.9 | 15.1 |
//! | insert | inlined assembly | 1.1 | 2.0 | 12.6 |
//! | insert | a call | 1.6 | 2.6 | 17.4 |
//! | insert | rejected: shifts and ors without vectors, inlined | 2.1 | 3.6 | 28.8 |

use super::{FIELD_STARTS, set_pattern};
use crate::geometry::Geometry;
use crate::kernel::pattern_positions;
use core::arch::asm;
use trommel_base::range::reduce;

/// The operand that tells `vpmultishiftqb` which *fields* of a product to extract. A field is the six-bit position of a
/// bit that a key sets; `hashes` is the number of these bits. Byte `i` is the index of the product's bit at which field
/// `i` begins. The bytes that are left after the last field repeat byte 0.
#[inline(always)]
pub(super) fn field_starts(hashes: u32) -> u64 {
    static ROWS: [u64; 8] = {
        let mut rows = [0; 8];
        let mut row = 0;
        while row < 8 {
            let mut byte = 0;
            while byte < 8 {
                rows[row] |= FIELD_STARTS[row][byte] << (8 * byte);
                byte += 1;
            }
            row += 1;
        }
        rows
    };
    ROWS[hashes.wrapping_sub(1) as usize % 8]
}

/// Returns the product that holds a key's bit positions, and the result of [`field_starts`], which tells where in the
/// product they begin.
#[inline(always)]
fn product_and_starts(geometry: Geometry, hash: u64) -> (u64, u64) {
    (pattern_positions(hash), field_starts(geometry.hashes))
}

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx512`, and that the table has the length that the geometry says.
#[inline(always)]
pub(super) unsafe fn contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    let word = reduce(hash, geometry.units) as usize;
    let (product, starts) = product_and_starts(geometry, hash);
    let set: u32;
    // SAFETY: the index of the word is below `geometry.units`, and the caller promises that the table has `units`
    // words. The read of the eight bytes of the word needs no alignment. The caller promises that the machine has the
    // instructions, which change nothing but the named registers.
    unsafe {
        let word = table.cast::<u64>().add(word).read_unaligned();
        asm!(
            "vpmultishiftqb {fields}, {starts}, {product}", // each byte: a six-bit position, below two other bits
            "vpshufbitqmb k1, {word}, {fields}",            // the bit of the word at each position
            "kmovd {set:e}, k1",
            fields = out(xmm_reg) _,
            starts = in(xmm_reg) starts,
            product = in(xmm_reg) product,
            word = in(xmm_reg) word,
            set = lateout(reg) set,
            out("k1") _,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    set as u8 == 0xFF
}

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx512`, and that the table has the length that the geometry says
/// and is not borrowed elsewhere.
#[inline(always)]
pub(super) unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    // SAFETY: the caller promises that the machine has the instructions, and what `set_pattern` requires of the table.
    unsafe { set_pattern(geometry, table, hash, pattern(geometry, hash)) }
}

/// The bits of a key in its word.
///
/// # Safety
/// The caller must ensure that the machine has `Isa::Avx512`.
#[inline(always)]
unsafe fn pattern(geometry: Geometry, hash: u64) -> u64 {
    static ONE: u64 = 1;
    let (product, starts) = product_and_starts(geometry, hash);
    let pattern: u64;
    // SAFETY: the caller promises that the machine has the instructions. The only memory that they read is `ONE`; all
    // vector registers that `vzeroupper` changes are named.
    unsafe {
        asm!(
            "vpmultishiftqb xmm0, {starts}, xmm0",
            "vpmovzxbq zmm0, xmm0",                      // a position in each lane
            "vpbroadcastq zmm1, qword ptr [rip + {one}]",
            "vprolvq zmm0, zmm1, zmm0",                  // 1, rotated by the position modulo 64
            "vextracti64x4 ymm1, zmm0, 1",               // from here on: the OR of all lanes
            "vpor ymm0, ymm0, ymm1",
            "vextracti128 xmm1, ymm0, 1",
            "vpor xmm0, xmm0, xmm1",
            "vpunpckhqdq xmm1, xmm0, xmm0",
            "vpor xmm0, xmm0, xmm1",
            "vzeroupper",
            starts = in(xmm_reg) starts,
            one = sym ONE,
            inlateout("xmm0") product => pattern,
            lateout("xmm1") _, lateout("xmm2") _, lateout("xmm3") _, lateout("xmm4") _, lateout("xmm5") _,
            lateout("xmm6") _, lateout("xmm7") _, lateout("xmm8") _, lateout("xmm9") _, lateout("xmm10") _,
            lateout("xmm11") _, lateout("xmm12") _, lateout("xmm13") _, lateout("xmm14") _, lateout("xmm15") _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    pattern
}
