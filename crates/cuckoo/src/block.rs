//! Cuckoo filters as filter blocks ([`BlockTable`]). A block is the table of a filter, without a header. The filter is
//! a set, and its keys were inserted as one batch.

use crate::bucket::EmptyPair;
use crate::filter::{CuckooFilter, prefetch_buckets};
use crate::geometry::{GUARANTEED_LOAD, Geometry, SLOTS, WIDTHS};
use crate::kernel::{Buckets, Kernels};
use crate::sizing::{buckets_for, shape};
use trommel_base::block::{BlockSpec, BlockTable, PolicyError};
use trommel_base::sizing::MAX_BITS_PER_KEY;
use trommel_base::spec::check_bits_per_key;
use trommel_base::{Filter, FormatError, Hasher, Insert, KeyHash, SpecError, Storage, WhyFull};
use trommel_simd::Isa;

impl BlockTable for CuckooFilter {
    /// The number of bits of a fingerprint: the largest width with which a table at 95 % load takes at most
    /// `bits_per_key` bits per key.
    fn parameter(bits_per_key: f64) -> Result<u8, SpecError> {
        let bits_at_load = |width: u32| f64::from(width) / GUARANTEED_LOAD;
        check_bits_per_key(bits_per_key, bits_at_load(WIDTHS[0]), MAX_BITS_PER_KEY)?;
        let fitting = WIDTHS.into_iter().filter(|width| bits_at_load(*width) <= bits_per_key);
        Ok(fitting.max().unwrap_or(WIDTHS[0]) as u8)
    }

    /// The number of bytes of the table that is planned for `keys` keys. If the table takes fewer than `bits_per_key`
    /// bits per key, the difference is not used. A small table is planned for a lower load, so it can take more than
    /// `bits_per_key` bits per key.
    fn table_len(spec: &BlockSpec, keys: usize) -> Option<usize> {
        let geometry = shape(buckets_for(keys, None), spec.parameter.into());
        geometry.is_possible().then(|| geometry.table_bytes() as usize)
    }

    /// Fails if the overflow area is needed, or if an empty pair of slots does not encode a clear overflow flag (see
    /// `EmptyPair`): a block stores neither the overflow area nor the meaning of empty pairs. None of 138,110 tables of
    /// 8 to 1,000,000 random keys needed the overflow area.
    fn fill(spec: &BlockSpec, hashes: &[KeyHash], table: &mut [u8]) -> Result<(), PolicyError> {
        let Some(geometry) = geometry_of(spec.parameter, table) else {
            return Err(PolicyError::TooManyKeys { keys: hashes.len() });
        };
        assert!(spec.isa.is_available());
        // Any hasher will do, since the keys are hashed already.
        let zeroed = Storage::zeroed(table.len(), true)?;
        let mut filter = Self::assemble(geometry, Hasher::default(), spec.isa, zeroed);
        filter.insert_batch(hashes)?;
        if filter.overflowing() > 0 || filter.empty != EmptyPair::Clear {
            let inserted = filter.len() - filter.overflowing();
            // If there was no memory for a search, a key can be in the overflow area although the table has room. The
            // error then names the memory, not the slots.
            let why = if filter.scratch.is_none() { filter.why_no_room() } else { WhyFull::Slots };
            return Err(filter.full(inserted, why).into());
        }
        table.copy_from_slice(filter.table());
        Ok(())
    }

    #[inline(always)]
    fn may_match(isa: Isa, parameter: u8, table: &[u8], hash: KeyHash) -> bool {
        geometry_of(parameter, table).is_none_or(|geometry| {
            let buckets = Buckets { geometry: &geometry, table, empty: EmptyPair::Clear };
            Kernels::contains_in(buckets, isa, hash.raw())
        })
    }

    #[inline(always)]
    fn prefetch(parameter: u8, table: &[u8], hash: KeyHash) {
        if let Some(geometry) = geometry_of(parameter, table) {
            prefetch_buckets(&geometry, table, hash.raw());
        }
    }

    fn check(parameter: u8, table: &[u8]) -> Result<(), FormatError> {
        let Some(geometry) = geometry_of(parameter, table) else {
            return Err(if WIDTHS.contains(&parameter.into()) {
                FormatError::Field { name: "table length", value: table.len() as u64 }
            } else {
                FormatError::Field { name: "fingerprint bits", value: parameter.into() }
            });
        };
        let padding = &table[geometry.buckets_bytes() as usize..];
        if padding.iter().any(|byte| *byte != 0) {
            return Err(FormatError::Structure { name: "padding", block: geometry.buckets });
        }
        Ok(())
    }
}

/// The geometry of a table, from its length; `None` if no table has this length, or if `fingerprint_bits` is not one of
/// the four widths.
#[inline(always)]
fn geometry_of(fingerprint_bits: u8, table: &[u8]) -> Option<Geometry> {
    // `bits` is one of the four widths, so the division below is never by zero.
    let bits = WIDTHS.into_iter().find(|width| *width == u32::from(fingerprint_bits))?;
    let buckets = table.len() as u64 / (SLOTS * u64::from(bits) / 8);
    let geometry = shape(buckets, bits);
    (geometry.is_possible() && geometry.table_bytes() == table.len() as u64).then_some(geometry)
}
