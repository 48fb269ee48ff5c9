//! One key of a cache-line filter with AVX2, in assembly. Why not in functions with intrinsics: see
//! `docs/decisions/0078-single-keys-in-assembly.md`.
//!
//! Times in ns per key on a Zen 3 core with tables of 125 KB and 1.25 MB, inlined here and called with intrinsics:
//! lookups 3.4 and 5.8 against 4.3 and 7.0, inserts 4.3 and 7.0 against 5.3 and 7.6.

use super::LINE_BYTES;
use crate::geometry::Geometry;
use crate::kernel::x86::{Operand, asm_on_vectors};
use crate::kernel::{PATTERN_SHIFT, PATTERN_STEP, pattern_positions};
use trommel_base::range::reduce;

/// The shifts that bring the position of each of a line's eight lanes to the bottom of the lane.
static FIELD_STARTS: Operand<[u64; 8]> = Operand({
    let mut starts = [0; 8];
    let mut lane = 0;
    while lane < 8 {
        starts[lane] = (PATTERN_SHIFT + PATTERN_STEP * lane as u32) as u64;
        lane += 1;
    }
    starts
});
static SIXTY_THREE: Operand<[u64; 4]> = Operand([63; 4]);

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx2`, and that the table has the length that the geometry says.
#[inline(always)]
pub(super) unsafe fn contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    let line = reduce(hash, geometry.units) as usize * LINE_BYTES;
    let set: u32;
    // SAFETY: the index of the line is below `geometry.units`, and the caller promises that the table has `units`
    // lines. The caller promises that the machine has the instructions. They read the 64 bytes of the line, without
    // need of an alignment, and the statics. All vector registers that `vzeroupper` changes are named.
    unsafe {
        asm_on_vectors!(
            "vpbroadcastq ymm0, xmm0",
            "vpsrlvq ymm1, ymm0, ymmword ptr [rip + {starts}]",      // a position in the low six bits of each lane
            "vpsrlvq ymm0, ymm0, ymmword ptr [rip + {starts} + 32]",
            "vmovdqa ymm2, ymmword ptr [rip + {sixty_three}]",
            "vpandn ymm1, ymm1, ymm2",                               // how far the bit is from the sign of the lane
            "vpandn ymm0, ymm0, ymm2",
            "vmovdqu ymm2, ymmword ptr [{line}]",
            "vmovdqu ymm3, ymmword ptr [{line} + 32]",
            "vpsllvq ymm1, ymm2, ymm1",
            "vpsllvq ymm0, ymm3, ymm0",
            "vpand ymm0, ymm0, ymm1",
            "vmovmskpd {set:e}, ymm0",
            options(pure, readonly, preserves_flags),
            line = in(reg) table.add(line),
            starts = sym FIELD_STARTS,
            sixty_three = sym SIXTY_THREE,
            set = lateout(reg) set,
            inlateout("xmm0") pattern_positions(hash) => _,
            out("xmm1") _,
            out("xmm2") _,
            out("xmm3") _,
        );
    }
    set == 0b1111
}

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx2`, and that the table has the length that the geometry says
/// and is not borrowed elsewhere.
#[inline(always)]
pub(super) unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    static ONE: Operand<[u64; 4]> = Operand([1; 4]);
    let line = reduce(hash, geometry.units) as usize * LINE_BYTES;
    let changed: u8;
    // SAFETY: as in `contains`. The 64 bytes of the line are written too; the caller promises that the table is not
    // borrowed elsewhere.
    unsafe {
        asm_on_vectors!(
            "vpbroadcastq ymm0, xmm0",
            "vpsrlvq ymm1, ymm0, ymmword ptr [rip + {starts}]",      // a position in the low six bits of each lane
            "vpsrlvq ymm0, ymm0, ymmword ptr [rip + {starts} + 32]",
            "vmovdqa ymm2, ymmword ptr [rip + {sixty_three}]",
            "vmovdqa ymm3, ymmword ptr [rip + {one}]",
            "vpand ymm1, ymm1, ymm2",
            "vpand ymm0, ymm0, ymm2",
            "vpsllvq ymm1, ymm3, ymm1",                              // the bit at the position
            "vpsllvq ymm0, ymm3, ymm0",
            "vpor ymm1, ymm1, ymmword ptr [{line}]",                 // its union with the line,
            "vpor ymm0, ymm0, ymmword ptr [{line} + 32]",
            "vpxor ymm2, ymm1, ymmword ptr [{line}]",                // and the bits that were clear
            "vpxor ymm3, ymm0, ymmword ptr [{line} + 32]",
            "vmovdqu ymmword ptr [{line}], ymm1",
            "vmovdqu ymmword ptr [{line} + 32], ymm0",
            "vpor ymm2, ymm2, ymm3",
            "vptest ymm2, ymm2",
            "setnz {changed}",
            options(),
            line = in(reg) table.add(line),
            starts = sym FIELD_STARTS,
            sixty_three = sym SIXTY_THREE,
            one = sym ONE,
            changed = lateout(reg_byte) changed,
            inlateout("xmm0") pattern_positions(hash) => _,
            out("xmm1") _,
            out("xmm2") _,
            out("xmm3") _,
        );
    }
    changed != 0
}
