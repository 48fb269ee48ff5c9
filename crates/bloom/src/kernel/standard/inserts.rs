//! Batches of inserts, in portable code and with AVX2. If the table is larger than 1.5 times L2, the cache lines of
//! later keys are prefetched.

use super::{GROUP, fetch_bits, positions};
use crate::geometry::Geometry;
use core::marker::PhantomData;
use trommel_base::batch::{BatchPipeline, Fetch, Window, run_pipeline};
use trommel_base::with_fetch;

/// The prefetch distance in keys. The `k` bits of a key are in up to `k` cache lines, so even a short distance keeps
/// many cache lines in flight.
const DISTANCE_KEYS: usize = 32;

/// A table, and a function that sets a bit of it.
pub(super) struct BatchInserts<S> {
    pub(super) geometry: Geometry,
    /// The address of the table.
    pub(super) start: *const u8,
    /// The length of the table.
    pub(super) bytes: usize,
    /// Sets the table's bit at a position. It is called with results of [`positions`] only, which are below the number
    /// of bits of the table.
    pub(super) set: S,
}

impl<S: FnMut(u64)> BatchInserts<S> {
    #[inline(always)]
    pub(super) fn insert(&mut self, hashes: &[u64]) {
        let window = Window { distance_keys: DISTANCE_KEYS, ..super::window(self.bytes) };
        if window.hint.is_none() {
            return self.insert_keys(hashes);
        }
        let (groups, rest) = hashes.as_chunks::<GROUP>();
        with_fetch!(window, F => run_pipeline::<GROUP>(
            hashes,
            groups.len(),
            window,
            &mut Stages { inserts: self, groups, fetch: PhantomData::<F> },
        ));
        self.insert_keys(rest);
    }

    #[inline(always)]
    fn insert_keys(&mut self, hashes: &[u64]) {
        for hash in hashes {
            for position in positions(self.geometry, *hash) {
                (self.set)(position);
            }
        }
    }
}

struct Stages<'a, S, F> {
    inserts: &'a mut BatchInserts<S>,
    groups: &'a [[u64; GROUP]],
    fetch: PhantomData<F>,
}

impl<S: FnMut(u64), F: Fetch> BatchPipeline for Stages<'_, S, F> {
    #[inline(always)]
    fn locate(&mut self, _: usize) {}

    #[inline(always)]
    fn fetch(&mut self, group: usize) {
        for hash in &self.groups[group] {
            fetch_bits::<F>(self.inserts.start, self.inserts.geometry, *hash, usize::MAX);
        }
    }

    #[inline(always)]
    fn probe(&mut self, group: usize) {
        self.inserts.insert_keys(&self.groups[group]);
    }
}
