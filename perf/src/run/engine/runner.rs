//! Builds the filters of a group, ours and those of rivals, and calls them through one trait.

use super::plan::{Group, Participant, Runner};
use super::shared;
use super::threads::ThreadSet;
use crate::measure::rivals;
use crate::measure::rivals::Parallel;
use crate::model::Sizing;
use anyhow::{Context as _, Result};
use rayon::ThreadPool;
use std::sync::Arc;
use trommel::{AnyFilter, Bitmap, Engine, Filter as _, FilterSpec, Insert as _, Isa, KeyHash};

/// Builds and fills filters for a [`Runner`], which is a participant of a group and its number of threads.
pub(super) struct Maker<'a> {
    pub(super) runner: Runner,
    spec: FilterSpec,
    size: rivals::Size,
    thread_set: &'a ThreadSet,
}

impl<'a> Maker<'a> {
    /// Creates the maker for a runner of the group. A rival gets the group's bits per key or false-positive rate. It
    /// also gets the size in bytes and the number of hashes per key that our filter, `like`, has. The rival's file in
    /// `measure/rivals` determines which of these numbers the rival uses.
    pub(super) fn new(
        group: &Group,
        runner: Runner,
        like: &AnyFilter,
        thread_set: &'a ThreadSet,
        isa: Option<Isa>,
    ) -> Self {
        let size = rivals::Size {
            keys: group.keys,
            bits_per_key: group.sized_filter.sizing.bits_per_key(),
            fpr: match group.sized_filter.sizing {
                Sizing::Full { bits, .. } => Some(2f64.powi(-(bits as i32))),
                sizing => sizing.fpr(),
            },
            bytes: like.memory_bytes(),
            hash_count: like.hash_count(),
        };
        Self { runner, spec: group.sized_filter.spec(group.keys, isa), size, thread_set }
    }

    /// Builds an empty filter.
    pub(super) fn empty(&self) -> Result<Box<dyn Parallel>> {
        let ours = |engine| -> Result<Box<dyn Parallel>> {
            Ok(Box::new(Ours { filter: self.spec.build()?, engine }))
        };
        match self.runner.participant {
            Participant::Batch => ours(None),
            Participant::Engine => ours(Some(self.thread_set.engine.clone())),
            Participant::Shared => shared::share(self.spec.build()?, self.pool()),
            Participant::Rival(rival) => rivals::create_parallel(rival, &self.size, self.pool()),
        }
    }

    /// The thread pool; `None` for a runner on one thread, even if its thread set has more threads.
    fn pool(&self) -> Option<Arc<ThreadPool>> {
        self.thread_set.pool.clone().filter(|_| self.runner.threads > 1)
    }

    /// Builds a filter of these keys. The engine builds it in one call. For any other participant, the keys are
    /// inserted into an empty filter.
    pub(super) fn build(&self, hashes: &[KeyHash]) -> Result<Box<dyn Parallel>> {
        if self.runner.participant == Participant::Engine {
            let engine = self.thread_set.engine.clone();
            let filter = engine.build(&self.spec, hashes)?;
            return Ok(Box::new(Ours { filter, engine: Some(engine) }));
        }
        let mut filter = self.empty()?;
        filter.insert(hashes)?;
        Ok(filter)
    }
}

/// A filter of ours. The engine, if there is one, inserts and looks up; otherwise the filter's own batch calls do.
struct Ours {
    filter: AnyFilter,
    engine: Option<Engine>,
}

impl Parallel for Ours {
    fn memory_bytes(&self) -> usize {
        self.filter.memory_bytes()
    }

    fn load_factor(&self) -> Option<f64> {
        load_factor(&self.filter)
    }

    fn insert(&mut self, hashes: &[KeyHash]) -> Result<()> {
        match &self.engine {
            Some(engine) => engine.insert_batch(&mut self.filter, hashes),
            None => self.filter.insert_batch(hashes),
        }
        .context("the filter has no room for all keys")
    }

    fn answer(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        match &self.engine {
            Some(engine) => engine.contains_batch(&self.filter, hashes, answers),
            None => self.filter.contains_batch(hashes, answers),
        }
    }

    fn clear(&mut self) {
        clear(&mut self.filter);
    }

    fn frozen(&self) -> Option<Vec<u8>> {
        Some(self.filter.to_bytes())
    }
}

/// The share of slots in use.
fn load_factor(filter: &AnyFilter) -> Option<f64> {
    let slots = match filter {
        AnyFilter::Quotient(filter) => filter.geometry().slots,
        AnyFilter::CacheLineQuotient(filter) => filter.geometry().slots,
        AnyFilter::Cuckoo(filter) => filter.geometry().slots(),
        _ => return None,
    };
    Some(filter.len() as f64 / slots as f64)
}

/// Removes all keys from a filter, whose kind must be one that is measured here. The filter's memory stays allocated.
fn clear(filter: &mut AnyFilter) {
    match filter {
        AnyFilter::Bloom(filter) => filter.clear(),
        AnyFilter::RegisterBloom(filter) => filter.clear(),
        AnyFilter::SplitBlockBloom(filter) => filter.clear(),
        AnyFilter::CacheLineBloom(filter) => filter.clear(),
        AnyFilter::Quotient(filter) => filter.clear(),
        AnyFilter::CacheLineQuotient(filter) => filter.clear(),
        AnyFilter::Cuckoo(filter) => filter.clear(),
        other => unreachable!("the harness cannot clear a {}", other.kind()),
    }
}
