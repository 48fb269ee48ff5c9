//! The standard filter's kernels over whole words, whose indices are not checked. The loops of the layout are compiled
//! for portable code, and for AVX2 with `mulx` and `shlx`.

use super::WORD_BITS;

/// The word of a position.
///
/// # Safety
/// The caller must ensure that the position is below the table's number of bits.
#[inline(always)]
pub(super) unsafe fn word_of(table: *const u8, position: u64) -> u64 {
    // SAFETY: the caller promises that the table has this position. The read needs no alignment.
    let word = unsafe { table.cast::<u64>().add((position / WORD_BITS) as usize).read_unaligned() };
    u64::from_le(word)
}

/// Sets the bit of a position; true if it was clear.
///
/// # Safety
/// The caller must ensure that the position is below the table's number of bits, and that the table is not borrowed
/// elsewhere.
#[inline(always)]
pub(super) unsafe fn set_bit(table: *mut u8, position: u64) -> bool {
    let bit = 1 << (position % WORD_BITS);
    // SAFETY: the caller promises that the table has this position and is not borrowed elsewhere. The accesses need no
    // alignment.
    unsafe {
        let before = word_of(table, position);
        let word = table.cast::<u64>().add((position / WORD_BITS) as usize);
        word.write_unaligned((before | bit).to_le());
        before & bit == 0
    }
}

/// Declares the module `$name` with the layout's kernels, compiled with the given attributes. The closures are in these
/// functions, so that they are compiled for the same instruction set.
macro_rules! word_kernels {
    ($(#[$attribute:meta])* $name:ident) => {
        pub(super) mod $name {
            use super::super::{WORD_BITS, contains_batch_bits, contains_bits, insert_batch_body, positions};
            use super::{set_bit, word_of};
            use crate::geometry::Geometry;
            use crate::kernel::BatchKernels;

            pub(in super::super) const KERNELS: BatchKernels =
                BatchKernels { contains: contains_batch, insert: insert_batch };

            /// # Safety
            /// The caller must ensure that the table has the length that the geometry says.
            #[inline]
            $(#[$attribute])*
            pub(in super::super) unsafe fn contains(
                geometry: Geometry,
                table: *const u8,
                hash: u64,
            ) -> bool {
                contains_bits(geometry, hash, |position| {
                    // SAFETY: `reduce` returns a position below `geometry.units * WORD_BITS`, and the caller promises
                    // that the table has `geometry.units` words.
                    let word = unsafe { word_of(table, position) };
                    word >> (position % WORD_BITS)
                })
            }

            $(#[$attribute])*
            pub(in super::super) fn contains_batch(geometry: Geometry, table: &[u8], hashes: &[u64], found: &mut [u64]) {
                assert!(table.len() as u64 == geometry.units * (WORD_BITS / 8));
                contains_batch_bits(geometry, table.as_ptr(), hashes, found, |position| {
                    // SAFETY: as in `contains`; the length was checked above.
                    let word = unsafe { word_of(table.as_ptr(), position) };
                    word >> (position % WORD_BITS)
                });
            }

            /// # Safety
            /// The caller must ensure that the table has the length that the geometry says, and is not borrowed
            /// elsewhere.
            #[inline]
            $(#[$attribute])*
            pub(in super::super) unsafe fn insert(
                geometry: Geometry,
                table: *mut u8,
                hash: u64,
            ) -> bool {
                let mut changed = false;
                for position in positions(geometry, hash) {
                    // SAFETY: as in `contains`, and the caller promises that the table is not borrowed elsewhere.
                    changed |= unsafe { set_bit(table, position) };
                }
                changed
            }

            $(#[$attribute])*
            pub(in super::super) fn insert_batch(geometry: Geometry, table: &mut [u8], hashes: &[u64]) {
                insert_batch_body(geometry, table, hashes);
            }
        }
    };
}

word_kernels!(portable);
#[cfg(target_arch = "x86_64")]
word_kernels!(
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    avx2
);
