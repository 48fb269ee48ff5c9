//! Implements [`Subject`] for Trommel's own filters, through the calls that a user makes.

mod slots;

pub(crate) use slots::{Fingerprinted, create_slots};

use crate::base::failure::bad_input;
use crate::measure::keys::Column;
use crate::measure::subject::{Scratch, Subject, answer_each};
use crate::measure::tree::boxed;
use crate::model::{Family, Form, Sizing};
use anyhow::Result;
use std::fmt::Debug;
use trommel::{
    Bitmap, BloomFilter, CacheLineBloom, CacheLineQuotient, CountingBloomFilter, CuckooFilter,
    Filter, FilterKind, Insert, Isa, KeyHash, QuotientFilter, RegisterBloom, SplitBlockBloom,
};
use trommel_base::{FromSpec, Spec};

/// A filter, and properties of it that the traits do not offer.
#[derive(Clone, Debug)]
pub(crate) struct Ours<F> {
    filter: F,
    isa: Option<Isa>,
    /// The number of bits that a key sets; `None` if the filter is not a Bloom filter.
    hash_count: Option<u32>,
    /// The number of slots that keys hash to, if the filter has slots.
    slots: Option<u64>,
    /// The bytes of the part of the memory that lookups read.
    probed_bytes: usize,
}

/// Creates the empty filter of a kind, for `keys` keys. If `form` is [`Form::Tree`], creates a tree of many small
/// filters instead, each of them for `keys` keys.
pub(crate) fn create(
    kind: FilterKind,
    sizing: Sizing,
    keys: usize,
    isa: Option<Isa>,
    form: Form,
) -> Result<Box<dyn Subject>> {
    let is_tree = form == Form::Tree;
    // The filters have concrete types instead of `AnyFilter`, so that a loop of single calls does not match on the kind
    // for each key.
    macro_rules! of {
        ($type:ident) => {
            of!($type, |filter: &$type| filter.memory_bytes())
        };
        ($type:ident, $probed_bytes:expr) => {
            boxed(is_tree, || {
                let filter: $type = build(sizing, keys, isa, form)?;
                let (isa, hash_count) = (Some(filter.isa()), Some(filter.hash_count()));
                let probed_bytes = $probed_bytes(&filter);
                Ok(Ours { filter, isa, hash_count, slots: None, probed_bytes })
            })
        };
    }
    match kind {
        FilterKind::Bloom => of!(BloomFilter),
        // Lookups read the filter's bits, but not its counters.
        FilterKind::CountingBloom => of!(CountingBloomFilter, |filter: &CountingBloomFilter| {
            filter.memory_bytes() / (1 + filter.counter_width().bits() as usize)
        }),
        FilterKind::RegisterBloom => of!(RegisterBloom),
        FilterKind::SplitBlockBloom => of!(SplitBlockBloom),
        FilterKind::CacheLineBloom => of!(CacheLineBloom),
        FilterKind::Quotient => {
            boxed(is_tree, || build::<QuotientFilter>(sizing, keys, isa, form).map(Ours::quotient))
        }
        FilterKind::CacheLineQuotient => boxed(is_tree, || {
            build::<CacheLineQuotient>(sizing, keys, isa, form).map(Ours::quotient)
        }),
        FilterKind::Cuckoo => {
            boxed(is_tree, || build::<CuckooFilter>(sizing, keys, isa, form).map(Ours::cuckoo))
        }
        other => Err(anyhow::anyhow!("the harness does not know how to make a {other}")),
    }
}

/// The size of a cache line in bytes. A filter that is sized by bits per key has at least this much memory.
const LINE_BYTES: usize = 64;

fn build<F: FromSpec>(sizing: Sizing, keys: usize, isa: Option<Isa>, form: Form) -> Result<F> {
    let mut spec = Spec::default();
    (spec.keys, spec.isa, spec.huge_pages) = (keys, isa, form != Form::SmallPages);
    match sizing {
        Sizing::BitsPerKey(bits) => {
            spec.memory_bytes = Some((keys * bits).div_ceil(8).max(LINE_BYTES));
        }
        Sizing::Fpr(fpr) => spec.fpr = Some(fpr),
        Sizing::Bytes(bytes) => spec.memory_bytes = Some(bytes),
        // The library divides the number of keys by the load to get the number of slots. So `slots / 2`
        // keys at a load of 0.5 give the wanted number of slots. Some kinds round this number to whole cache lines.
        Sizing::Slots(filling) => {
            (spec.keys, spec.load) = (filling.slots / 2, Some(0.5));
            set_width(&mut spec, filling.family, filling.bits);
        }
        Sizing::Full { family, bits } => {
            spec.load = Some(Sizing::FULL_LOAD);
            set_width(&mut spec, family, bits);
        }
    }
    F::from_spec(&spec).map_err(|error| bad_input(format!("{keys} keys, {sizing}: {error}")))
}

/// Sets the number of bits per slot.
fn set_width(spec: &mut Spec, family: Family, bits: u32) {
    match family {
        Family::Quotient => spec.remainder_bits = Some(bits),
        // The filter is a multiset because its rivals are multisets: they keep every copy of a key.
        Family::Cuckoo => (spec.fingerprint_bits, spec.multiset) = (Some(bits), true),
    }
}

/// The number of keys that lookups hash at a time: few enough that the hashes stay in the L1 or L2 cache until they are
/// used.
const HASHED_AT_A_TIME: usize = 8192;

impl<F: Filter + Insert + Clone + Debug + Send + 'static> Subject for Ours<F> {
    fn memory_bytes(&self) -> usize {
        self.filter.memory_bytes()
    }

    fn probed_bytes(&self) -> usize {
        self.probed_bytes
    }

    fn hash_count(&self) -> Option<u32> {
        self.hash_count
    }

    fn load_factor(&self) -> Option<f64> {
        self.slots.map(|slots| self.filter.len() as f64 / slots as f64)
    }

    fn isa(&self) -> Option<Isa> {
        self.isa
    }

    fn expected_fpr(&self, _keys: usize) -> Option<f64> {
        Some(self.filter.expected_fpr())
    }

    fn copy(&self) -> Box<dyn Subject> {
        Box::new(self.clone())
    }

    fn insert_single(&mut self, hashes: &[KeyHash]) -> Result<()> {
        for hash in hashes {
            self.filter.insert_hash(*hash)?;
        }
        Ok(())
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<()> {
        Ok(self.filter.insert_batch(hashes)?)
    }

    fn count_single(&self, hashes: &[KeyHash]) -> usize {
        hashes.iter().map(|hash| usize::from(self.filter.contains_hash(*hash))).sum()
    }

    fn answer_single(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        answer_each(hashes, answers, |hash| self.filter.contains_hash(*hash));
    }

    fn answer_batch(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        self.filter.contains_batch(hashes, answers);
    }

    fn insert_keys(&mut self, keys: &Column) -> Result<()> {
        let hasher = self.filter.hasher();
        let mut hashes = Vec::new();
        match keys {
            Column::Integers(keys) => hasher.hash_batch(keys, &mut hashes),
            Column::Strings(keys) => hashes.extend(keys.iter().map(|key| hasher.hash_bytes(key))),
        }
        self.insert_batch(&hashes)
    }

    fn count_keys(&self, keys: &Column, scratch: &mut Scratch) -> usize {
        let hasher = self.filter.hasher();
        let Scratch { hashes, answers } = scratch;
        let mut found = 0;
        let mut look_up = |hashes: &[KeyHash]| {
            self.filter.contains_batch(hashes, answers);
            found += answers.count_ones();
        };
        match keys {
            Column::Integers(keys) => {
                for keys in keys.chunks(HASHED_AT_A_TIME) {
                    hasher.hash_batch(keys, hashes);
                    look_up(hashes);
                }
            }
            Column::Strings(keys) => {
                for keys in keys.chunks(HASHED_AT_A_TIME) {
                    hashes.clear();
                    hashes.extend(keys.iter().map(|key| hasher.hash_bytes(key)));
                    look_up(hashes);
                }
            }
        }
        found
    }

    fn answer_keys(&self, keys: &Column, answers: &mut Bitmap) {
        match keys {
            Column::Integers(keys) => answer_each(keys, answers, |key| self.filter.contains(key)),
            Column::Strings(keys) => answer_each(keys, answers, |key| self.filter.contains(&**key)),
        }
    }
}
