//! Shared Bloom filters: each thread inserts a slice of the keys through a shared reference.

use crate::measure::rivals::Parallel;
use anyhow::{Context as _, Result, bail};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::Arc;
use trommel::bloom::{Bloom, Layout, SharedBloom};
use trommel::{AnyFilter, Bitmap, Filter, InsertShared as _, KeyHash};

/// Turns a filter into a filter that threads share. With a pool, each thread inserts one slice of the keys; without a
/// pool, the calling thread inserts all keys.
///
/// # Errors
///
/// If shared filters of this kind are not measured.
pub(super) fn share(filter: AnyFilter, pool: Option<Arc<ThreadPool>>) -> Result<Box<dyn Parallel>> {
    Ok(match filter {
        AnyFilter::Bloom(filter) => Shared::boxed(filter, pool),
        AnyFilter::SplitBlockBloom(filter) => Shared::boxed(filter, pool),
        other => bail!("the harness cannot share a {}", other.kind()),
    })
}

struct Shared<L: Layout> {
    /// `None` while the filter is being cleared.
    filter: Option<SharedBloom<L>>,
    pool: Option<Arc<ThreadPool>>,
}

impl<L: Layout> Shared<L> {
    fn boxed(filter: Bloom<L>, pool: Option<Arc<ThreadPool>>) -> Box<dyn Parallel> {
        Box::new(Self { filter: Some(filter.into_shared()), pool })
    }
}

impl<L: Layout> Parallel for Shared<L> {
    fn memory_bytes(&self) -> usize {
        self.filter.as_ref().map_or(0, Filter::memory_bytes)
    }

    fn load_factor(&self) -> Option<f64> {
        None
    }

    fn insert(&mut self, hashes: &[KeyHash]) -> Result<()> {
        let filter = self.filter.as_ref().context("the filter is being cleared")?;
        let insert = |hashes: &[KeyHash]| filter.insert_batch(hashes);
        match &self.pool {
            None => insert(hashes),
            Some(pool) => {
                let slice = hashes.len().div_ceil(pool.current_num_threads()).max(1);
                pool.install(|| hashes.par_chunks(slice).try_for_each(insert))
            }
        }
        .context("the filter has no room for all keys")
    }

    fn answer(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        if let Some(filter) = &self.filter {
            filter.contains_batch(hashes, answers);
        }
    }

    fn clear(&mut self) {
        self.filter = self.filter.take().map(|shared| {
            let mut filter = shared.into_filter();
            filter.clear();
            filter.into_shared()
        });
    }
}
