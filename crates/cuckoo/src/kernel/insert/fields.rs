//! Reads and writes the buckets of sixteen lanes, each slot in a field of 16 bits, for fingerprints of up to 16 bits.

use super::vector::Vector;
use crate::width::{Bits8, Bits12, Bits16, Width};

/// A fingerprint width for which two lanes, one in each of two vectors, hold a bucket. A lane has two 16-bit fields.
pub(super) trait Fields: Width {
    /// Reads the even and the odd slots of the buckets of all lanes or, if `some` is given, of the lanes whose sign is
    /// set in `some`.
    ///
    /// # Safety
    /// The caller must ensure that the buckets that are read are in the table, and that the table has at least one
    /// bucket and at most `MAX_VECTOR_BUCKETS`.
    unsafe fn read<V: Vector>(table: *const u8, buckets: V, some: Option<V>) -> (V, V);

    /// Writes the buckets of the lanes whose bits are set in `lanes`.
    ///
    /// # Safety
    /// The caller must ensure that these buckets are in the table, that it has at most `MAX_VECTOR_BUCKETS`, and that
    /// it is not borrowed elsewhere.
    unsafe fn write<V: Vector>(table: *mut u8, buckets: V, slots: (V, V), lanes: u32);
}

#[inline(always)]
unsafe fn gather<V: Vector, const SCALE: i32>(base: *const u8, index: V, some: Option<V>) -> V {
    // SAFETY: the caller promises that the bits of the lanes that are read are valid to read.
    unsafe {
        match some {
            None => V::gather::<SCALE>(base, index),
            Some(sign) => V::gather_some::<SCALE>(base, index, sign),
        }
    }
}

impl Fields for Bits8 {
    #[inline(always)]
    unsafe fn read<V: Vector>(table: *const u8, buckets: V, some: Option<V>) -> (V, V) {
        // SAFETY: reads the four bytes of each bucket, which the caller promises to be in the table.
        let word = unsafe { gather::<V, 4>(table, buckets, some) };
        let field = V::splat(0x00FF_00FF);
        (word.and(field), word.right_16::<8>())
    }

    #[inline(always)]
    unsafe fn write<V: Vector>(table: *mut u8, buckets: V, (even, odd): (V, V), lanes: u32) {
        // SAFETY: writes the bytes that `read` reads, of buckets that the caller promises to be in the table.
        unsafe { even.or(odd.left::<8>()).scatter::<4>(table, buckets, lanes) }
    }
}

impl Fields for Bits12 {
    #[inline(always)]
    unsafe fn read<V: Vector>(table: *const u8, buckets: V, some: Option<V>) -> (V, V) {
        let index = buckets.add(buckets).add(buckets);
        // SAFETY: reads the first four and the last four of the six bytes of each bucket, which the caller promises to
        // be in the table.
        let (low, high) = unsafe {
            (gather::<V, 2>(table, index, some), gather::<V, 2>(table.wrapping_add(2), index, some))
        };
        let (first, second) = (V::splat(0x0FFF), V::splat(0x0FFF_0000));
        let even = low.and(first).or(high.left::<8>().and(second));
        let odd = low.right::<12>().and(first).or(high.right::<4>().and(second));
        (even, odd)
    }

    #[inline(always)]
    unsafe fn write<V: Vector>(table: *mut u8, buckets: V, (even, odd): (V, V), lanes: u32) {
        let index = buckets.add(buckets).add(buckets);
        let field = V::splat(0xFFFF);
        // Each pair of slots has 24 bits.
        let first = even.and(field).or(odd.and(field).left::<12>());
        let second = even.right::<16>().or(odd.right::<16>().left::<12>());
        let low = first.or(second.left::<24>());
        let high = first.right::<16>().or(second.left::<8>());
        // SAFETY: writes the bytes that `read` reads, of buckets that the caller promises to be in the table.
        unsafe {
            low.scatter::<2>(table, index, lanes);
            high.scatter::<2>(table.wrapping_add(2), index, lanes);
        }
    }
}

impl Fields for Bits16 {
    #[inline(always)]
    unsafe fn read<V: Vector>(table: *const u8, buckets: V, some: Option<V>) -> (V, V) {
        // SAFETY: reads both halves of the eight bytes of each bucket, which the caller promises to be in the table.
        let (low, high) = unsafe {
            (
                gather::<V, 8>(table, buckets, some),
                gather::<V, 8>(table.wrapping_add(4), buckets, some),
            )
        };
        let field = V::splat(0xFFFF);
        (low.and(field).or(high.left::<16>()), low.right::<16>().or(high.and_not(field)))
    }

    #[inline(always)]
    unsafe fn write<V: Vector>(table: *mut u8, buckets: V, (even, odd): (V, V), lanes: u32) {
        let field = V::splat(0xFFFF);
        let low = even.and(field).or(odd.left::<16>());
        let high = even.right::<16>().or(odd.and_not(field));
        // SAFETY: writes the bytes that `read` reads, of buckets that the caller promises to be in the table.
        unsafe {
            low.scatter::<8>(table, buckets, lanes);
            high.scatter::<8>(table.wrapping_add(4), buckets, lanes);
        }
    }
}
