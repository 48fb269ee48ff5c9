//! The code per instruction set: the only place in this crate that names one, or needs
//! `unsafe`.
//!
//! The algorithms of [`Table`](crate::table::Table) are generic over how a word's bits are counted and
//! selected ([`Words`](crate::words::Words)); [`scalar`] compiles them for a set. Beside it stand, for each layout, the
//! kernels that vectors were measured to make faster.
#![allow(unsafe_code)]

mod balance;
mod line_block;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod vectors;
mod wide_block;
mod words;

use crate::check::Extent;
use crate::geometry::Geometry;
use crate::layout::Layout;
use trommel_base::{FilterKind, FormatError, WhyFull};
use trommel_simd::Isa;

/// Work that is compiled for each instruction set without a line of code for it: its loops over arrays
/// become the set's vectors. `run` is always inlined, and so is what it calls.
pub(crate) trait Job {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a job, compiled for an instruction set that the machine has.
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
            // SAFETY: the machine has the set, as was just checked.
            unsafe { run_avx2(job) }
        }
        _ => job.run(),
    }
}

/// How far a batch of inserts came: how many keys went in, and what stopped the next.
pub(crate) type Progress = (usize, Option<WhyFull>);

/// The functions of one layout for one instruction set. Hashes are those that
/// [`Rounding`](crate::fingerprint::Rounding) has been applied to.
///
/// Duties of the caller of the pointers: the machine has the instruction set, and the table
/// has the geometry's length.
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
        // SAFETY: `Quotient::assemble` is given an instruction set that `Isa::require` let pass, and a
        // table of the geometry's length, which never changes without the geometry.
        unsafe { (self.contains)(geometry, table, hash) }
    }

    /// Writes bit `i` of `found` for hash `i`; `found` is zero and has a bit for every hash.
    #[inline]
    pub(crate) fn contains_batch(
        &self,
        geometry: &Geometry,
        table: &[u8],
        hashes: &[u64],
        found: &mut [u64],
    ) {
        assert!(found.len() >= hashes.len().div_ceil(64));
        // SAFETY: as in `contains`; the length of `found` was checked above.
        unsafe { (self.contains_batch)(geometry, table, hashes, found) }
    }

    #[inline(always)]
    pub(crate) fn insert(
        &self,
        geometry: &Geometry,
        table: &mut [u8],
        hash: u64,
    ) -> Result<bool, WhyFull> {
        // SAFETY: as in `contains`.
        unsafe { (self.insert)(geometry, table, hash) }
    }

    /// Inserts in order until one does not fit, and sets bit `i` of `new` if hash `i` was not there.
    #[inline]
    pub(crate) fn insert_batch(
        &self,
        geometry: &Geometry,
        table: &mut [u8],
        hashes: &[u64],
        new: &mut [u64],
    ) -> Progress {
        assert!(new.len() >= hashes.len().div_ceil(64));
        // SAFETY: as in `contains`; the length of `new` was checked above.
        unsafe { (self.insert_batch)(geometry, table, hashes, new) }
    }

    #[inline(always)]
    pub(crate) fn remove(&self, geometry: &Geometry, table: &mut [u8], hash: u64) -> bool {
        // SAFETY: as in `contains`.
        unsafe { (self.remove)(geometry, table, hash) }
    }

    /// See [`check`](crate::check::check).
    pub(crate) fn check(
        &self,
        geometry: &Geometry,
        table: &[u8],
        extent: Extent,
    ) -> Result<u64, FormatError> {
        // SAFETY: as in `contains`. A check reads by index, so that a table of another length panics.
        unsafe { (self.check)(geometry, table, extent) }
    }
}
