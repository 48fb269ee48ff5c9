//! The records that a partition stores for keys.

use core::fmt;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// The value that a partition stores for a key: `u32` or `u64`.
pub trait Record: sealed::Sealed + Copy + fmt::Debug + Send + Sync + 'static {}
impl Record for u32 {}
impl Record for u64 {}
