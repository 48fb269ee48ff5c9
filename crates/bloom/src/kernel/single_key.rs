//! Lookups and inserts of one key.
//!
//! These functions are not called through pointers: code that is inlined into the caller branches on the instruction
//! set, and calls the function of that set directly. Most AVX2 functions of blocked filters, and the `Isa::Avx512`
//! functions of register-blocked filters, save even the direct call: they are in assembly, which is inlined
//! (`docs/decisions/0078-single-keys-in-assembly.md`). Times in ns per lookup in split-block filters on a Zen 4 core:
//!
//! | code | 140 KB | 1.4 MB | 14 MB |
//! |---|---:|---:|---:|
//! | direct call | 1.3 | 1.6 | 12.5 |
//! | call through a pointer | 1.5 | 1.8 | 14.1 |
//! | rejected: inlined SSE2 | 2.2 | 2.4 | 19 |
//! | rejected: inlined scalar code | 3.2 | 4.6 | 36 |
//!
//! The rejected code is slower, since a core overlaps fewer lookups if each lookup has more instructions.

use crate::geometry::Geometry;
use core::fmt::Debug;
use trommel_simd::Isa;

/// The lookup and the insert of one key, for every instruction set.
pub trait SingleKey: Copy + Debug + Send + Sync + 'static {
    /// Whether all bits of the key of a hash are set in the table.
    ///
    /// # Safety
    /// The caller must ensure that the machine has the instruction set, and that the table has the length that the
    /// geometry says.
    unsafe fn contains(isa: Isa, geometry: Geometry, table: *const u8, hash: u64) -> bool;

    /// Inserts the key of a hash; true if the insert changed the table.
    ///
    /// # Safety
    /// The caller must ensure what [`SingleKey::contains`] requires, and that the table is not borrowed elsewhere.
    unsafe fn insert(isa: Isa, geometry: Geometry, table: *mut u8, hash: u64) -> bool;
}

/// Implements [`SingleKey`] for a body. The methods call the functions of the same names in the first listed module
/// whose instruction set is `isa` or a lower set. If there is no such module, they call the portable functions.
macro_rules! single_key {
    ($body:ty: $($least:ident => $set:ident,)* _ => $contains:path, $insert:path) => {
        impl $crate::kernel::SingleKey for $body {
            #[inline(always)]
            unsafe fn contains(isa: Isa, geometry: Geometry, table: *const u8, hash: u64) -> bool {
                $crate::kernel::single_key::single_key!(
                    @call isa, [$($least => $set::contains,)* _ => $contains], (geometry, table, hash)
                )
            }

            #[inline(always)]
            unsafe fn insert(isa: Isa, geometry: Geometry, table: *mut u8, hash: u64) -> bool {
                $crate::kernel::single_key::single_key!(
                    @call isa, [$($least => $set::insert,)* _ => $insert], (geometry, table, hash)
                )
            }
        }
    };
    (@call $isa:ident, [$($least:ident => $set:ident::$function:ident,)* _ => $portable:path], $arguments:tt) => {{
        $(
            #[cfg(target_arch = "x86_64")]
            if $isa >= Isa::$least {
                // SAFETY: the caller promises that the machine has `isa`, and what the function requires of the table.
                return unsafe { $set::$function $arguments };
            }
        )*
        let _ = $isa;
        // SAFETY: the caller promises what the function requires of the table.
        unsafe { $portable $arguments }
    }};
}
pub(super) use single_key;
