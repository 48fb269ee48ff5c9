//! Trommel's filters that have slots.

use super::{Ours, build};
use crate::measure::slots::{Digest, FingerprintSet, Slots, Sum};
use crate::model::{Filling, Form, Sizing};
use anyhow::{Context as _, Result, anyhow, ensure};
use std::any::Any;
use std::fmt::Debug;
use trommel::quotient::{Layout, LineBlock, Quotient, WideBlock};
use trommel::{CuckooFilter, Filter, FilterKind, Insert, Isa, KeyHash, Merge, Remove};

/// A filter that has slots. The methods return the filter as a [`FingerprintSet`] if it is a set of fingerprints, and
/// `None` if it is not.
pub(crate) trait Slotted: Sized {
    fn as_set(_filter: &Ours<Self>) -> Option<&dyn FingerprintSet> {
        None
    }

    fn as_set_mut(_filter: &mut Ours<Self>) -> Option<&mut dyn FingerprintSet> {
        None
    }
}

impl<F> Slotted for F
where
    F: Fingerprinted + Filter + Insert + Remove + Clone + Debug + Send + 'static,
{
    fn as_set(filter: &Ours<Self>) -> Option<&dyn FingerprintSet> {
        Some(filter)
    }

    fn as_set_mut(filter: &mut Ours<Self>) -> Option<&mut dyn FingerprintSet> {
        Some(filter)
    }
}

/// A filter that can list its fingerprints, and that needs no keys when it is merged with another filter.
pub(crate) trait Fingerprinted: Sized {
    /// Lists the fingerprints in ascending order.
    fn list(&self) -> impl Iterator<Item = u64>;

    /// Merges a filter of the same shape into this filter.
    fn take_in(&mut self, other: &Self) -> Result<()>;
}

impl<L: Layout> Fingerprinted for Quotient<L> {
    fn list(&self) -> impl Iterator<Item = u64> {
        self.fingerprints()
    }

    fn take_in(&mut self, other: &Self) -> Result<()> {
        Ok(self.merge(other)?)
    }
}

/// Creates the empty filter of a kind with the requested number of slots. If the kind has only whole cache lines of
/// slots, the number of slots can differ from the requested number by less than the slots of one cache line.
pub(crate) fn create_slots(
    kind: FilterKind,
    filling: &Filling,
    isa: Option<Isa>,
) -> Result<Box<dyn Slots>> {
    fn of<L: Layout>(filling: &Filling, isa: Option<Isa>) -> Result<Box<dyn Slots>> {
        let filter: Quotient<L> = build(Sizing::Slots(*filling), filling.keys(), isa, Form::Usual)?;
        let (slots, step) = (filter.geometry().slots, L::SLOTS_STEP);
        ensure!(
            slots.abs_diff(filling.slots as u64) < step,
            "{slots} slots, but {} were requested",
            filling.slots
        );
        Ok(Box::new(Ours::quotient(filter)))
    }
    match kind {
        FilterKind::Quotient => of::<WideBlock>(filling, isa),
        FilterKind::CacheLineQuotient => of::<LineBlock>(filling, isa),
        FilterKind::Cuckoo => {
            let filter: CuckooFilter =
                build(Sizing::Slots(*filling), filling.keys(), isa, Form::Usual)?;
            let slots = filter.geometry().slots();
            ensure!(
                slots == filling.slots as u64,
                "{slots} slots, but {} were requested",
                filling.slots
            );
            Ok(Box::new(Ours::cuckoo(filter)))
        }
        other => Err(anyhow!("the harness does not know how to make a {other} by slots")),
    }
}

impl<L: Layout> Ours<Quotient<L>> {
    pub(super) fn quotient(filter: Quotient<L>) -> Self {
        let (isa, slots) = (Some(filter.isa()), filter.geometry().slots);
        Self::with_slots(filter, isa, slots)
    }
}

/// A cuckoo filter is not a set of fingerprints: it cannot list them, and if it is sized by slots, it is a multiset,
/// which can hold the same fingerprint several times.
impl Slotted for CuckooFilter {}

impl Ours<CuckooFilter> {
    pub(super) fn cuckoo(filter: CuckooFilter) -> Self {
        let (isa, slots) = (Some(filter.isa()), filter.geometry().slots());
        Self::with_slots(filter, isa, slots)
    }
}

impl<F: Filter> Ours<F> {
    /// Wraps a filter that has slots.
    pub(crate) fn with_slots(filter: F, isa: Option<Isa>, slots: u64) -> Self {
        let probed_bytes = filter.memory_bytes();
        Self { filter, isa, hash_count: None, slots: Some(slots), probed_bytes }
    }
}

impl<F> Slots for Ours<F>
where
    F: Slotted + Filter + Insert + Remove + Clone + Debug + Send + 'static,
{
    fn held(&self) -> usize {
        self.filter.len()
    }

    fn copy_slots(&self) -> Box<dyn Slots> {
        Box::new(self.clone())
    }

    fn remove_single(&mut self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.filter.remove_hash(*hash))).sum()
    }

    fn as_set(&self) -> Option<&dyn FingerprintSet> {
        F::as_set(self)
    }

    fn as_set_mut(&mut self) -> Option<&mut dyn FingerprintSet> {
        F::as_set_mut(self)
    }
}

impl<F> FingerprintSet for Ours<F>
where
    F: Fingerprinted + Filter + Insert + Remove + Clone + Debug + Send + 'static,
{
    fn merge(&mut self, other: &dyn Slots) -> Result<()> {
        let other =
            (other as &dyn Any).downcast_ref::<Self>().context("filters of different types")?;
        self.filter.take_in(&other.filter)
    }

    fn sum(&self) -> Sum {
        Sum::of(self.filter.list())
    }

    fn digest(&self) -> Digest {
        Digest::of(self.filter.list())
    }
}
