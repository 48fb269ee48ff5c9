//! Lookups and inserts of one key in a register-blocked filter with AVX2, in assembly.
//! `docs/decisions/0078-single-keys-in-assembly.md` says why functions with intrinsics are not used.
//!
//! Times in ns per key on a Zen 3 core, by size of the table. The assembly replaced *the intrinsics used before*:
//!
//! | operation | code | 150 KB | 1.5 MB | 15 MB |
//! |---|---|---:|---:|---:|
//! | lookup | inlined assembly | 1.6 | 2.3 | 4.9 |
//! | lookup | a call of the intrinsics used before | 3.1 | 4.0 | 8.4 |
//! | lookup | rejected: a call of the same instructions as intrinsics | 2.4 | 3.4 | 7.4 |
//! | lookup | rejected: shifts and ors without vectors | 5.0 | 5.4 | 9.9 |
//! | insert | inlined assembly | 2.0 | 4.8 | 11.4 |
//! | insert | a call of the intrinsics used before | 3.5 | 8.4 | 18.6 |
//! | insert | rejected: shifts and ors without vectors | 5.3 | 10.8 | 20.2 |

use super::{field_starts, set_pattern};
use crate::geometry::Geometry;
use crate::kernel::x86::{Operand, asm_on_vectors};
use crate::kernel::{PATTERN_SHIFT, PATTERN_STEP, pattern_positions};
use trommel_base::range::reduce;

/// For each of the bits that a key sets, the lane in which the bit is tested. A product of [`pattern_positions`] has a
/// *field* of six bits for each of these bits: its position in the word. The product is broadcast, so all even lanes
/// have the low half of the product, with the fields of the key's bits 0 to 3, and all odd lanes have the high half,
/// with the fields of the key's bits 4 to 7.
const LANE_OF_BIT: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

/// For each lane, the shift that brings the field of its bit to the bottom of the lane.
static FIELD_STARTS_IN_LANES: Operand<[u32; 8]> = Operand({
    let mut starts = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        starts[LANE_OF_BIT[bit]] = (PATTERN_SHIFT + PATTERN_STEP * bit as u32) % u32::BITS;
        bit += 1;
    }
    starts
});

/// A mask of the lanes whose bit must be set, for filters with this number of `hashes` (bits that a key sets), 1 to 8.
#[inline(always)]
fn needed_lanes(hashes: u32) -> u8 {
    static MASKS: [u8; 8] = {
        let mut masks = [0; 8];
        let mut row = 0;
        while row < 8 {
            let mut bit = 0;
            while bit <= row {
                masks[row] |= 1 << LANE_OF_BIT[bit];
                bit += 1;
            }
            row += 1;
        }
        masks
    };
    MASKS[hashes.wrapping_sub(1) as usize % 8]
}

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx2`, and that the table has the length that the geometry says.
#[inline(always)]
pub(super) unsafe fn contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    static THIRTY_ONE: Operand<[u32; 8]> = Operand([31; 8]);
    let word = reduce(hash, geometry.units) as usize;
    let set: u32;
    // SAFETY: the index of the word is below `geometry.units`, and the caller promises that the table has `units`
    // words. The read needs no alignment. The caller promises that the machine has the instructions. They read only
    // the statics. `asm_on_vectors` ends with `vzeroupper`, and all vector registers that this instruction changes are
    // named.
    unsafe {
        let word = table.cast::<u64>().add(word).read_unaligned();
        asm_on_vectors!(
            "vpbroadcastq ymm0, xmm0",
            "vpsrlvd ymm0, ymm0, ymmword ptr [rip + {starts}]",    // a position in the low six bits of each lane
            "vpbroadcastq ymm1, xmm1",
            "vpsrld ymm2, ymm0, 5",                                // the highest bit of the position chooses
            "vpermilps ymm1, ymm1, ymm2",                          // the half of the word that has the key's bit,
            "vpandn ymm0, ymm0, ymmword ptr [rip + {thirty_one}]", // and the other five tell
            "vpsllvd ymm1, ymm1, ymm0",                            // how far the bit is from the lane's sign bit
            "vmovmskps {set:e}, ymm1",
            options(pure, readonly, preserves_flags),
            starts = sym FIELD_STARTS_IN_LANES,
            thirty_one = sym THIRTY_ONE,
            set = lateout(reg) set,
            inlateout("xmm0") pattern_positions(hash) => _,
            inlateout("xmm1") word => _,
            out("xmm2") _,
            lateout("xmm3") _,
        );
    }
    !(set as u8) & needed_lanes(geometry.hashes) == 0
}

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx2`, and that the table has the length that the geometry says
/// and is not borrowed elsewhere.
#[inline(always)]
pub(super) unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    // SAFETY: the caller promises that the machine has the instructions, and what `set_pattern` requires of the table.
    unsafe { set_pattern(geometry, table, hash, pattern(geometry, hash)) }
}

/// The bits of a key in its word.
///
/// # Safety
/// The caller must ensure that the machine has `Isa::Avx2`.
#[inline(always)]
unsafe fn pattern(geometry: Geometry, hash: u64) -> u64 {
    static ONE: Operand<[u64; 4]> = Operand([1; 4]);
    static SIXTY_THREE: Operand<[u64; 4]> = Operand([63; 4]);
    let pattern: u64;
    // SAFETY: the caller promises that the machine has the instructions. They read the statics and a row of field
    // starts, which has 64 bytes. `asm_on_vectors` ends with `vzeroupper`, and all vector registers that this
    // instruction changes are named.
    unsafe {
        asm_on_vectors!(
            "vpbroadcastq ymm0, xmm0",
            "vpsrlvq ymm1, ymm0, ymmword ptr [{starts}]",      // a position in the low six bits of each lane
            "vpsrlvq ymm0, ymm0, ymmword ptr [{starts} + 32]",
            "vmovdqa ymm2, ymmword ptr [rip + {sixty_three}]",
            "vmovdqa ymm3, ymmword ptr [rip + {one}]",
            "vpand ymm1, ymm1, ymm2",
            "vpand ymm0, ymm0, ymm2",
            "vpsllvq ymm1, ymm3, ymm1",                        // the bit at the position
            "vpsllvq ymm0, ymm3, ymm0",
            "vpor ymm0, ymm0, ymm1",                           // and the union of all lanes
            "vextracti128 xmm1, ymm0, 1",
            "vpor xmm0, xmm0, xmm1",
            "vpunpckhqdq xmm1, xmm0, xmm0",
            "vpor xmm0, xmm0, xmm1",
            options(pure, readonly, preserves_flags),
            starts = in(reg) field_starts(geometry.hashes).as_ptr(),
            one = sym ONE,
            sixty_three = sym SIXTY_THREE,
            inlateout("xmm0") pattern_positions(hash) => pattern,
            out("xmm1") _,
            out("xmm2") _,
            out("xmm3") _,
        );
    }
    pattern
}
