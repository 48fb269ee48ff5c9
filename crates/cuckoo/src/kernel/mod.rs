//! The code per instruction set. No other module of this crate has code for particular instruction sets, or `unsafe`
//! code.
//!
//! [`scalar`] compiles the algorithms of a filter, in plain Rust, for several instruction sets. The other kernels use
//! SIMD vectors, for the operations that were measured to be faster in vectors, or, with NEON, counted to take fewer
//! instructions.
#![allow(unsafe_code)]

mod columns;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
mod insert;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
mod lookup;
mod scalar;

use crate::bucket::EmptyPair;
use crate::build::fill::Filling;
use crate::evict::batch::NoRoom;
use crate::evict::parts::{Parts, Placed};
use crate::evict::window::Window;
use crate::geometry::Geometry;
use crate::width::{Width, with_width};
use alloc::vec::Vec;
use trommel_simd::Isa;

/// The parts of a filter, or of a filter block, that a lookup in the table reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buckets<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) table: &'a [u8],
    pub(crate) empty: EmptyPair,
}

/// What a removal from the table did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    /// It removed a fingerprint from this bucket.
    From { bucket: u32 },
    /// It found the fingerprint in this bucket, but left it there. Without the fingerprint, its pair of slots would be
    /// empty, and would not encode the pair's flag: see [`bucket::remove`](crate::bucket::remove).
    OnlyFound { bucket: u32 },
}

/// Sets bit `i` of the last argument if hash `i` is in the table.
type ContainsBatch = unsafe fn(Buckets<'_>, &[u64], &mut [u64]);
/// See [`Parts::insert_batch`].
type InsertBatch = unsafe fn(&mut Parts<'_>, &[u64], &mut [u64]) -> Result<(), NoRoom>;

/// See [`Filling::fill`].
type Fill = unsafe fn(&mut Filling<'_>, &mut Vec<u64>) -> Option<u64>;
/// See [`Window::insert_within`].
type InsertWithin = unsafe fn(&mut Window<'_>, &[u64], &mut Vec<u64>);

/// The functions for one fingerprint width on one instruction set. Some of these functions may be those that were
/// compiled for a less capable instruction set.
///
/// The caller of a function must ensure that the machine has the instruction set, that the width is the geometry's,
/// and that a slice for answers has a bit for every hash. The table must have the geometry's length, except in `fill`
/// and `insert_within`, which work on a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    contains: unsafe fn(&Geometry, *const u8, EmptyPair, u64) -> bool,
    contains_batch: ContainsBatch,
    insert: unsafe fn(&mut Parts<'_>, u64) -> Placed,
    insert_batch: InsertBatch,
    remove: unsafe fn(&Geometry, *mut u8, EmptyPair, u64) -> Option<Removed>,
    fill: Fill,
    insert_within: InsertWithin,
}

impl Kernels {
    /// The kernels for an instruction set that the machine has.
    pub(crate) fn of(geometry: &Geometry, isa: Isa) -> Self {
        let kernels = with_width!(geometry, W => match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Gather => {
                let kernels = Self::avx512_core::<W>();
                let contains_batch = lookup::avx512::contains_batch::<W>();
                Self { contains_batch: contains_batch.unwrap_or(kernels.contains_batch), ..kernels }
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Core | Isa::Avx512 => Self::avx512_core::<W>(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => scalar::avx2::kernels::<W>(),
            #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
            Isa::Neon => {
                let kernels = Self::portable::<W>();
                let contains_batch = lookup::neon::contains_batch::<W>();
                Self { contains_batch: contains_batch.unwrap_or(kernels.contains_batch), ..kernels }
            }
            _ => Self::portable::<W>(),
        });
        #[cfg(any(
            target_arch = "x86_64",
            all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
        ))]
        if let Some((insert_batch, insert_within)) = insert::vector_kernels(geometry, isa) {
            return Self { insert_batch, insert_within, ..kernels };
        }
        kernels
    }

    /// The kernels in portable code, with batched lookups in vectors where those were measured to take fewer
    /// instructions.
    fn portable<W: Width>() -> Self {
        let kernels = scalar::portable::kernels::<W>();
        #[cfg(any(
            target_arch = "x86_64",
            all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
        ))]
        let kernels = Self {
            contains_batch: lookup::portable::contains_batch::<W>()
                .unwrap_or(kernels.contains_batch),
            ..kernels
        };
        kernels
    }

    /// The kernels for AVX-512, with single inserts compiled for AVX2. Compiled for AVX-512, single inserts took 1.17
    /// to 1.22 times as long (93 to 95 % load, 2^20 slots, a Cascade Lake core), since the compiler then uses vectors
    /// of four slots where one integer register is enough.
    #[cfg(target_arch = "x86_64")]
    fn avx512_core<W: Width>() -> Self {
        let insert = scalar::avx2::kernels::<W>().insert;
        Self { insert, ..scalar::avx512_core::kernels::<W>() }
    }

    /// Looks up one hash: by the kernel for AVX2 if `isa` includes AVX2, else by the portable one. All kernels give the
    /// same answer.
    ///
    /// # Panics
    /// If the table does not have the geometry's length. On x86-64 also if `isa` includes AVX2 and the machine does not
    /// have `isa`.
    #[inline(always)]
    pub(crate) fn contains_in(buckets: Buckets<'_>, isa: Isa, hash: u64) -> bool {
        let Buckets { geometry, table, empty } = buckets;
        assert_eq!(table.len() as u64, geometry.table_bytes());
        let table = table.as_ptr();
        with_width!(*geometry, W => match isa {
            #[cfg(target_arch = "x86_64")]
            _ if isa >= Isa::Avx2 => {
                assert!(isa.is_available());
                // SAFETY: the assertions checked that the machine has `isa`, and that the table has the geometry's
                // length. Every instruction set from `Isa::Avx2` on includes AVX2.
                unsafe { scalar::avx2::contains::<W>(geometry, table, empty, hash) }
            }
            // SAFETY: the table has the geometry's length, as asserted above.
            _ => unsafe { scalar::portable::contains::<W>(geometry, table, empty, hash) },
        })
    }

    #[inline(always)]
    pub(crate) fn contains(&self, buckets: Buckets<'_>, hash: u64) -> bool {
        let Buckets { geometry, table, empty } = buckets;
        // SAFETY: the machine has the instruction set: callers of `CuckooFilter::assemble` take it from
        // `Spec::usable_isa`, from `Isa::active_or_best` or from another filter, or assert that it is available
        // (`block.rs`). `assemble` asserts that the table has the geometry's length, and takes the kernels for the
        // geometry's width. Table, geometry and kernels are only replaced together.
        unsafe { (self.contains)(geometry, table.as_ptr(), empty, hash) }
    }

    /// Sets bit `i` of `found` if hash `i` is in the table. The caller must ensure that `found` is zero.
    ///
    /// # Panics
    /// If `found` does not have a bit for every hash, or if the length of the table or the width of the kernels is not
    /// the geometry's.
    #[inline]
    pub(crate) fn contains_batch(&self, buckets: Buckets<'_>, hashes: &[u64], found: &mut [u64]) {
        assert!(found.len() >= hashes.len().div_ceil(64));
        // SAFETY: the instruction set, the width and the length of the table are right for the reasons given in
        // `contains`. The length of `found` is checked above.
        unsafe { (self.contains_batch)(buckets, hashes, found) }
    }

    #[inline(always)]
    pub(crate) fn insert(&self, parts: &mut Parts<'_>, hash: u64) -> Placed {
        // SAFETY: the instruction set and the length of the table are right for the reasons given in `contains`.
        unsafe { (self.insert)(parts, hash) }
    }

    /// See [`Parts::insert_batch`]. The caller must ensure that `new` is zero.
    ///
    /// # Panics
    /// If `new` does not have a bit for every hash. The vector kernels also panic if the length of the table or the
    /// width of the kernels is not the geometry's.
    #[inline]
    pub(crate) fn insert_batch(
        &self,
        parts: &mut Parts<'_>,
        hashes: &[u64],
        new: &mut [u64],
    ) -> Result<(), NoRoom> {
        assert!(new.len() >= hashes.len().div_ceil(64));
        // SAFETY: the instruction set, the width and the length of the table are right for the reasons given in
        // `contains`. The length of `new` is checked above.
        unsafe { (self.insert_batch)(parts, hashes, new) }
    }

    /// Removes one copy of a fingerprint from the table, or only finds it: see [`Removed`]. Returns `None` if a lookup
    /// would find the fingerprint in neither bucket.
    #[inline(always)]
    pub(crate) fn remove(
        &self,
        geometry: &Geometry,
        table: &mut [u8],
        empty: EmptyPair,
        hash: u64,
    ) -> Option<Removed> {
        // SAFETY: the instruction set, the width and the length of the table are right for the reasons given in
        // `contains`. The pointer comes from the only reference to the table.
        unsafe { (self.remove)(geometry, table.as_mut_ptr(), empty, hash) }
    }

    /// See [`Filling::fill`].
    pub(crate) fn fill(&self, filling: &mut Filling<'_>, surplus: &mut Vec<u64>) -> Option<u64> {
        // SAFETY: the instruction set and the width are right for the reasons given in `contains`. The kernels take
        // their bounds from the length of the slice that is to be filled, not from the geometry.
        unsafe { (self.fill)(filling, surplus) }
    }

    /// See [`Window::insert_within`].
    pub(crate) fn insert_within(&self, window: &mut Window<'_>, keys: &[u64], left: &mut Vec<u64>) {
        // SAFETY: the reasons given in `fill` hold here too.
        unsafe { (self.insert_within)(window, keys, left) }
    }
}
