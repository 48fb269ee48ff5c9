//! The code for each instruction set. No other module of this crate has code for a particular instruction set or uses
//! `unsafe`.
//!
//! The algorithms of [`Table`](crate::table::Table) are generic over the functions that count and select a word's bits
//! ([`Words`](crate::words::Words)); [`scalar`] compiles them for an instruction set. Each layout also has kernels with
//! vectors, for those operations that were measured to be faster with them.
#![allow(unsafe_code)]

mod balance;
mod equal_slots;
mod line_block;
mod moves;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
#[cfg(test)]
mod samples;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod wide_block;
mod words;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod words_neon;

use crate::check::Extent;
use crate::geometry::Geometry;
use crate::layout::Layout;
use trommel_base::{FilterKind, FormatError, WhyFull};
use trommel_simd::Isa;

/// Portable work that is compiled for the instructions that the build target guarantees and, on x86-64, also for AVX2.
/// Compilers vectorize its loops over arrays. `run` must always be inlined, and so must each function that it calls
/// and that is to be compiled for AVX2.
pub(crate) trait Job {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a job: the code for AVX2 if `isa` includes AVX2, else the code for the build target.
///
/// # Panics
/// On x86-64, if `isa` includes AVX2 and the machine does not have it.
#[inline(always)]
pub(crate) fn run<J: Job>(isa: Isa, job: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn run_avx2<J: Job>(job: J) -> J::Output {
        job.run()
    }
    match isa {
        #[cfg(target_arch = "x86_64")]
        _ if isa >= Isa::Avx2 => {
            assert!(Isa::Avx2.is_available());
            // SAFETY: the line above checks that the machine has AVX2, with all that `Isa::Avx2` stands for.
            unsafe { run_avx2(job) }
        }
        _ => job.run(),
    }
}

/// The outcome of a batch of inserts. If a hash was refused: the number of hashes before it, and why it was refused. If
/// none was refused: the number of all hashes, and `None`. The number also counts hashes that were in the table already
/// and that a set therefore did not add.
pub(crate) type Progress = (usize, Option<WhyFull>);

/// The functions of one layout for one instruction set. The caller must apply
/// [`Rounding`](crate::fingerprint::Rounding) to the hashes that these functions take.
///
/// The caller of a function pointer must ensure that the machine has the instruction set, and that the table has the
/// geometry's length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    contains: unsafe fn(&Geometry, &[u8], u64) -> bool,
    contains_batch: unsafe fn(&Geometry, &[u8], &[u64], &mut [u64]),
    insert: unsafe fn(&Geometry, &mut [u8], u64) -> Result<bool, WhyFull>,
    insert_batch: unsafe fn(&Geometry, &mut [u8], &[u64], &mut [u64]) -> Progress,
    remove: unsafe fn(&Geometry, &mut [u8], u64) -> bool,
    check: unsafe fn(&Geometry, &[u8], Extent) -> Result<u64, FormatError>,
}

impl Kernels {
    /// The kernels of a layout for an instruction set.
    #[inline]
    pub(crate) fn of<L: Layout>(isa: Isa) -> Self {
        match L::KIND {
            FilterKind::CacheLineQuotient => line_block::kernels(isa),
            _ => wide_block::kernels(isa),
        }
    }

    #[inline(always)]
    pub(crate) fn contains(&self, geometry: &Geometry, table: &[u8], hash: u64) -> bool {
        // SAFETY: the machine has the instruction set: it comes from `Spec::usable_isa` or `Isa::active_or_best`, or
        // `block.rs` asserts that it is available. `Quotient::assemble` asserts that the table has the geometry's
        // length, and table and geometry are only replaced together; `block.rs` computes the geometry from the length.
        unsafe { (self.contains)(geometry, table, hash) }
    }

    /// Sets bit `i` of `found` if the table holds hash `i`. The caller must ensure that all bits of `found` are zero.
    ///
    /// # Panics
    /// If `found` does not have a bit for every hash.
    #[inline]
    pub(crate) fn contains_batch(
        &self,
        geometry: &Geometry,
        table: &[u8],
        hashes: &[u64],
        found: &mut [u64],
    ) {
        assert!(found.len() >= hashes.len().div_ceil(64));
        // SAFETY: the instruction set and the table's length are right for the reasons given in `contains`.
        unsafe { (self.contains_batch)(geometry, table, hashes, found) }
    }

    #[inline(always)]
    pub(crate) fn insert(
        &self,
        geometry: &Geometry,
        table: &mut [u8],
        hash: u64,
    ) -> Result<bool, WhyFull> {
        // SAFETY: the instruction set and the table's length are right for the reasons given in `contains`.
        unsafe { (self.insert)(geometry, table, hash) }
    }

    /// Inserts hashes in order until one is refused, and sets bit `i` of `new` if inserting hash `i` added a
    /// fingerprint. The caller must ensure that all bits of `new` are zero.
    ///
    /// # Panics
    /// If `new` does not have a bit for every hash.
    #[inline]
    pub(crate) fn insert_batch(
        &self,
        geometry: &Geometry,
        table: &mut [u8],
        hashes: &[u64],
        new: &mut [u64],
    ) -> Progress {
        assert!(new.len() >= hashes.len().div_ceil(64));
        // SAFETY: the instruction set and the table's length are right for the reasons given in `contains`.
        unsafe { (self.insert_batch)(geometry, table, hashes, new) }
    }

    #[inline(always)]
    pub(crate) fn remove(&self, geometry: &Geometry, table: &mut [u8], hash: u64) -> bool {
        // SAFETY: the instruction set and the table's length are right for the reasons given in `contains`.
        unsafe { (self.remove)(geometry, table, hash) }
    }

    /// See [`check`](crate::check::check).
    pub(crate) fn check(
        &self,
        geometry: &Geometry,
        table: &[u8],
        extent: Extent,
    ) -> Result<u64, FormatError> {
        // SAFETY: the instruction set is right for the reasons given in `contains`. `Quotient::from_container` compares
        // the table's length with the geometry before it calls this function; the tables of other callers have the
        // right length for the reasons given in `contains`. Besides, a check reads slices by index, so a table of
        // another length could only make it panic.
        unsafe { (self.check)(geometry, table, extent) }
    }
}
