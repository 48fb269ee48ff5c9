//! Lookups of one key in a cache-line filter with AVX2, in assembly. `docs/decisions/0078-single-keys-in-assembly.md`
//! says why functions with intrinsics are not used.
//!
//! Times in ns per key on a Zen 3 core, by size of the table:
//!
//! | code | 125 KB | 1.25 MB |
//! |---|---:|---:|
//! | inlined assembly | 3.4 | 5.8 |
//! | a call of a function with intrinsics | 4.3 | 7.0 |
//!
//! Rejected: inserts in assembly. In a loop that runs only the kernel, they take 0.8 (at 125 KB) and 0.9 (at 1.25 MB)
//! of the time of inserts by a function call. But in a loop of inserts into a filter, they take 0.98 and 1.07 of that
//! time.

use super::LINE_BYTES;
pub(super) use super::avx2::insert;
use crate::geometry::Geometry;
use crate::kernel::x86::{Operand, asm_on_vectors};
use crate::kernel::{PATTERN_SHIFT, PATTERN_STEP, pattern_positions};
use trommel_base::range::reduce;

/// For each of the eight lanes of a line, the right shift that brings the lane's position to the bottom of the lane. It
/// is applied to the product that [`pattern_positions`] returns.
static FIELD_STARTS: Operand<[u64; 8]> = Operand({
    let mut starts = [0; 8];
    let mut lane = 0;
    while lane < 8 {
        starts[lane] = (PATTERN_SHIFT + PATTERN_STEP * lane as u32) as u64;
        lane += 1;
    }
    starts
});

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx2`, and that the table has the length that the geometry says.
#[inline(always)]
pub(super) unsafe fn contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    static SIXTY_THREE: Operand<[u64; 4]> = Operand([63; 4]);
    let line = reduce(hash, geometry.units) as usize * LINE_BYTES;
    let set: u32;
    // SAFETY: the index of the line is below `geometry.units`, and the caller promises that the table has `units`
    // lines. The caller promises that the machine has the instructions. They read the statics and the 64 bytes of
    // the line, which need no alignment. `asm_on_vectors` ends with `vzeroupper`, and all vector registers that this
    // instruction changes are named.
    unsafe {
        asm_on_vectors!(
            "vpbroadcastq ymm0, xmm0",
            "vpsrlvq ymm1, ymm0, ymmword ptr [rip + {starts}]",      // a position in the low six bits of each lane
            "vpsrlvq ymm0, ymm0, ymmword ptr [rip + {starts} + 32]",
            "vmovdqa ymm2, ymmword ptr [rip + {sixty_three}]",
            "vpandn ymm1, ymm1, ymm2",                               // how far the bit is from the lane's sign bit
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
