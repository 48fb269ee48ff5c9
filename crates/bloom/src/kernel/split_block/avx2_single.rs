//! Lookups and inserts of one key in a split-block filter with AVX2, in assembly.
//! `docs/decisions/0078-single-keys-in-assembly.md` says why functions with intrinsics are not used.
//!
//! Times in ns per key on a Zen 3 core, by size of the table:
//!
//! | operation | code | 140 KB | 1.4 MB | 14 MB |
//! |---|---|---:|---:|---:|
//! | lookup | inlined assembly | 1.5 | 2.5 | 20 |
//! | lookup | a call of a function with intrinsics | 2.0 | 3.0 | 24 |
//! | insert | inlined assembly | 1.7 | 2.9 | 22 |
//! | insert | a call of a function with intrinsics | 2.3 | 3.3 | 25 |

use super::{BLOCK_BYTES, SALTS};
use crate::geometry::Geometry;
use crate::kernel::x86::{Operand, asm_on_vectors};
use trommel_base::range::reduce_high;

static LANE_SALTS: Operand<[u32; 8]> = Operand(SALTS);
static ONE: Operand<[u32; 8]> = Operand([1; 8]);

/// Assembly for the key of a hash. The lines of the macro load the key's block into `ymm2`, and make the key's mask in
/// `ymm0`. The lines of the caller follow. They write `{result}`, which the macro returns as a bool.
macro_rules! asm_on_block {
    ($geometry:expr, $table:expr, $hash:expr, $($line:literal,)+ options($($option:ident),*)) => {{
        let block = reduce_high($hash, $geometry.units as u32) as usize * BLOCK_BYTES;
        let result: u8;
        asm_on_vectors!(
            "vpbroadcastd ymm0, xmm0",
            "vpmulld ymm0, ymm0, ymmword ptr [rip + {salts}]",
            "vmovdqa ymm1, ymmword ptr [rip + {one}]",
            "vpsrld ymm0, ymm0, 27",                 // a position in each lane
            "vmovdqu ymm2, ymmword ptr [{block}]",
            "vpsllvd ymm0, ymm1, ymm0",              // the bit at the position
            $($line,)+
            options($($option),*),
            block = in(reg) $table.add(block),
            salts = sym LANE_SALTS,
            one = sym ONE,
            result = lateout(reg_byte) result,
            inlateout("xmm0") $hash as u32 => _,
            out("xmm1") _,
            out("xmm2") _,
            lateout("xmm3") _,
        );
        result != 0
    }};
}

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx2`, and that the table has the length that the geometry says.
#[inline(always)]
pub(super) unsafe fn contains(geometry: Geometry, table: *const u8, hash: u64) -> bool {
    // SAFETY: the index of the block is below `geometry.units`, and the caller promises that the table has `units`
    // blocks. The caller promises that the machine has the instructions. They read the statics and the 32 bytes of
    // the block, which needs no alignment. All vector registers that `vzeroupper` changes are named.
    unsafe {
        asm_on_block!(
            geometry,
            table,
            hash,
            "vptest ymm2, ymm0", // carry: the block has all bits of the key
            "setc {result}",
            options(pure, readonly)
        )
    }
}

/// # Safety
/// The caller must ensure that the machine has `Isa::Avx2`, and that the table has the length that the geometry says
/// and is not borrowed elsewhere.
#[inline(always)]
pub(super) unsafe fn insert(geometry: Geometry, table: *mut u8, hash: u64) -> bool {
    // SAFETY: as in `contains`. The 32 bytes of the block are written too; the caller promises that the table is not
    // borrowed elsewhere.
    unsafe {
        asm_on_block!(
            geometry,
            table,
            hash,
            "vpor ymm1, ymm2, ymm0",
            "vmovdqu ymmword ptr [{block}], ymm1",
            "vptest ymm2, ymm0", // no carry: the block lacked a bit of the key
            "setnc {result}",
            options()
        )
    }
}
