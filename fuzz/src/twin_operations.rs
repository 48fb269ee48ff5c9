//! Runs the same operations on two filters of one kind, one in portable code and one on any instruction set. Their
//! bytes must stay equal, all keys must be found, and the count of a key must not be too low.

use super::bloom_model::FOUR_BITS;
use super::input::{Input, isa};
use std::collections::BTreeMap;
use trommel::engine::ShardedFilter;
use trommel::quotient::{Layout, Quotient};
use trommel::{
    AnyFilter, Bitmap, Filter as _, FilterKind, FilterPolicy, FilterSpec, FilterView, Insert as _,
    InsertShared as _, Isa, KeyHash,
};

/// The most operations per input.
const MOST_OPERATIONS: usize = 100;
/// An input ends when the filters hold more keys than this.
const MOST_KEYS: u64 = 4000;
/// A filter of more bytes than this is not grown on request, so that an input takes little time.
const MOST_BYTES: usize = 64 << 10;
/// The load at which a filter grows, if it grows by itself.
const GROW_AT: f64 = 0.85;

/// Runs an input. Returns the number of keys that its operations used. The lookups after freezing or folding do not
/// count.
pub fn run(data: &[u8]) -> u64 {
    let mut input = Input(data);
    let kind = FilterKind::ALL[usize::from(input.byte()) % FilterKind::ALL.len()];
    let flags = input.byte();
    let isa = isa(flags >> 2);
    let fpr = [0.3, 0.03, 0.004, 0.000_1][usize::from(flags & 3)];
    let keys = usize::from(input.short()) % 800;
    let mut spec = FilterSpec::new(kind).keys(keys).fpr(fpr).seed(u64::from(flags));
    let has_slots =
        matches!(kind, FilterKind::Quotient | FilterKind::CacheLineQuotient | FilterKind::Cuckoo);
    let is_multiset = has_slots && flags & 0x40 != 0;
    if has_slots {
        spec = spec.multiset(is_multiset);
    }
    let growing = spec.grow_at(GROW_AT);
    let grows = has_slots && flags & 0x80 != 0 && growing.build().is_ok();
    if grows {
        spec = growing;
    }
    if kind == FilterKind::CountingBloom {
        spec = spec.compact(flags & 0x80 != 0);
    }
    let [portable, other] = [Isa::Portable, isa].map(|isa| spec.isa(isa).build());
    assert_eq!(
        portable.is_ok(),
        other.is_ok(),
        "{kind} at {fpr} is built on only one of the two instruction sets"
    );
    let (Ok(portable), Ok(other)) = (portable, other) else { return 0 };
    let counts_copies = is_multiset || kind == FilterKind::CountingBloom;
    let twins = Twins { portable, other };
    let keys = BTreeMap::new();
    let mut run = Run { spec, isa, twins, grows, counts_copies, keys, operations: 0 };
    run.operations(&mut input);
    run.operations
}

/// Two filters with the same keys.
struct Twins {
    portable: AnyFilter,
    other: AnyFilter,
}

impl Twins {
    /// Calls `change` once with each filter, and returns the result. Panics unless both calls give the same result and
    /// the filters then have the same bytes.
    fn both<R: PartialEq + std::fmt::Debug>(
        &mut self,
        mut change: impl FnMut(&mut AnyFilter) -> R,
    ) -> R {
        let (expected, result) = (change(&mut self.portable), change(&mut self.other));
        assert_eq!(
            result, expected,
            "an operation on {:?} gives another result than in portable code",
            self.other
        );
        self.assert_equal();
        result
    }

    fn assert_equal(&self) {
        assert!(
            self.portable.to_bytes() == self.other.to_bytes(),
            "{:?} has other bytes than portable code makes",
            self.other
        );
    }
}

struct Run {
    spec: FilterSpec,
    isa: Isa,
    twins: Twins,
    /// Whether the filters grow by themselves.
    grows: bool,
    /// Whether the filters count the copies of a key, so that keys can be removed.
    counts_copies: bool,
    /// The hashes of the keys that must be found, each with the number of copies that were inserted and not removed.
    keys: BTreeMap<u64, u64>,
    operations: u64,
}

impl Run {
    fn operations(&mut self, input: &mut Input<'_>) {
        for _ in 0..MOST_OPERATIONS {
            if input.is_empty() || self.keys.values().sum::<u64>() > MOST_KEYS {
                break;
            }
            match input.byte() % 17 {
                0..=2 => self.insert(input),
                3..=5 => self.insert_batch(input),
                6 | 7 => self.remove(input),
                8 | 9 => self.ask(input),
                10 => self.merge(input),
                11 => self.thaw(),
                12 => self.block(input),
                13 => self.fold(),
                14 => self.shard(input),
                15 => self.resize(input),
                _ => {
                    self.twins.both(AnyFilter::clear);
                    self.keys.clear();
                }
            }
        }
        self.check();
    }

    /// Chooses a hash: any hash, one of 256 hashes, or the hash of a key in the filters.
    fn hash(&self, input: &mut Input<'_>) -> KeyHash {
        KeyHash::from_raw(match input.byte() % 3 {
            0 => input.word(),
            1 => u64::from(input.byte()).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            _ => match self.keys.range(u64::from(input.short()) << 48..).next() {
                Some((hash, _)) => *hash,
                None => u64::MAX,
            },
        })
    }

    /// Chooses some hashes that are derived from one hash, and counts them as operations.
    fn hashes(&mut self, input: &mut Input<'_>) -> Vec<KeyHash> {
        let count = u64::from(input.byte()) * 2;
        let first = self.hash(input).raw();
        let step = 0x9E37_79B9_7F4A_7C15 >> (input.byte() % 64);
        self.operations += count;
        (0..count).map(|i| KeyHash::from_raw(first.wrapping_add(i.wrapping_mul(step)))).collect()
    }

    fn note(&mut self, hashes: &[KeyHash]) {
        for hash in hashes {
            *self.keys.entry(hash.raw()).or_default() += 1;
        }
    }

    fn insert(&mut self, input: &mut Input<'_>) {
        let hash = self.hash(input);
        self.operations += 1;
        let before = self.twins.portable.to_bytes();
        match self.twins.both(|filter| filter.insert_hash(hash)) {
            Ok(_) => self.note(&[hash]),
            Err(full) => {
                assert_eq!(full.inserted, 0);
                // A filter that grows by itself can have doubled, and still have found no room.
                assert!(
                    self.grows || self.twins.portable.to_bytes() == before,
                    "a refused insert changed the filter: {full}"
                );
            }
        }
    }

    fn insert_batch(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        let outcome = self.twins.both(|filter| filter.insert_batch(&hashes));
        let inserted = outcome.map_or_else(|full| full.inserted, |()| hashes.len());
        self.note(&hashes[..inserted]);
    }

    /// Removes an inserted key, if the filters count copies. If they do not, removes no key, since a removal could make
    /// them lose another key.
    fn remove(&mut self, input: &mut Input<'_>) {
        let from = u64::from(input.short()) << 48;
        let Some(key) = self.keys.range(from..).next().map(|(key, _)| *key) else { return };
        if self.counts_copies {
            self.operations += 1;
            let removed = self.twins.both(|filter| filter.remove_hash(KeyHash::from_raw(key)).ok());
            assert_eq!(removed, Some(true), "a key that is held is not found");
            self.keys.entry(key).and_modify(|copies| *copies -= 1);
            self.keys.retain(|_, copies| *copies > 0);
        }
    }

    /// Compares batches on both instruction sets with single lookups in portable code.
    fn ask(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        let mut found = Bitmap::new(0);
        for filter in [&self.twins.portable, &self.twins.other] {
            filter.contains_batch(&hashes, &mut found);
            for (i, hash) in hashes.iter().enumerate() {
                let single = self.twins.portable.contains_hash(*hash);
                assert_eq!(found.get(i), single, "the answer of a batch in {filter:?}");
                assert!(single || !self.keys.contains_key(&hash.raw()), "a key is not found");
            }
        }
    }

    /// Inserts some keys into a third filter, and merges it into both filters. If the merge fails, both filters must be
    /// as before.
    fn merge(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        let mut others = self.spec.isa(Isa::Portable).build().expect("the spec was built before");
        let outcome = others.insert_batch(&hashes);
        let inserted = outcome.map_or_else(|full| full.inserted, |()| hashes.len());
        let before = self.twins.portable.to_bytes();
        match self.twins.both(|filter| filter.merge(&others)) {
            Ok(()) => self.note(&hashes[..inserted]),
            Err(error) => {
                assert!(
                    self.twins.portable.to_bytes() == before,
                    "a refused merge changed the filter: {error}"
                );
            }
        }
    }

    /// Doubles both filters, resizes them to a number of keys, or shrinks them. After an error, both filters must be as
    /// before.
    fn resize(&mut self, input: &mut Input<'_>) {
        let (how, keys) = (input.byte() % 3, usize::from(input.short()) % 4000);
        if how == 0 && self.twins.portable.memory_bytes() > MOST_BYTES {
            return;
        }
        self.operations += self.keys.len() as u64;
        let before = self.twins.portable.to_bytes();
        let outcome = self.twins.both(|filter| change_size(filter, how, keys));
        if let Err(error) = outcome {
            assert!(
                self.twins.portable.to_bytes() == before,
                "a refused change of size changed the filter: {error}"
            );
        }
        self.check();
    }

    /// Freezes `other`, and reads it back as a view and as an owned filter.
    fn thaw(&mut self) {
        let bytes = self.twins.other.to_bytes();
        let view = FilterView::parse(&bytes).expect("our own bytes are refused");
        for key in self.keys.keys() {
            assert!(view.contains_hash(KeyHash::from_raw(*key)), "a key is not found in a view");
        }
        let thawed = AnyFilter::from_bytes(&bytes).expect("our own bytes are refused");
        assert!(thawed.to_bytes() == bytes);
    }

    /// Builds the filter block of all keys on both instruction sets, which must give the same bytes, and looks the keys
    /// up. Then flips a bit of the block, and looks some keys up again, which must not panic.
    fn block(&mut self, input: &mut Input<'_>) {
        let bits = 8.0 + f64::from(input.byte() % 16);
        let policy = FilterPolicy::builder(self.spec.kind()).bits_per_key(bits);
        let [portable, other] = [Isa::Portable, self.isa].map(|isa| policy.isa(isa).build());
        let (Ok(portable), Ok(other)) = (portable, other) else { return };
        let hashes: Vec<KeyHash> = self.keys.keys().map(|key| KeyHash::from_raw(*key)).collect();
        self.operations += hashes.len() as u64;
        let mut block = portable.build(&hashes);
        assert!(
            other.build(&hashes) == block,
            "{}: the block differs by instruction set",
            other.name()
        );
        assert_eq!(other.verify(&block), Ok(()));
        assert!(hashes.iter().all(|hash| other.may_match(&block, *hash)), "a block lacks a key");
        let at = usize::from(input.short()) % block.len().max(1);
        if let Some(byte) = block.get_mut(at) {
            *byte ^= 1 << (input.byte() % 8);
            // A block has no checksum of its table, so a damaged block can be accepted, and can give any answer.
            let _ = other.verify(&block);
            hashes.iter().take(64).for_each(|hash| _ = other.may_match(&block, *hash));
        }
    }

    /// Folds both filters to half their size. Either both folds are refused, or the results must be equal and have all
    /// keys.
    fn fold(&mut self) {
        let [portable, other] = [&self.twins.portable, &self.twins.other].map(|it| it.fold(2));
        assert_eq!(portable.is_ok(), other.is_ok());
        if let (Ok(portable), Ok(other)) = (portable, other) {
            assert!(portable.to_bytes() == other.to_bytes());
            for key in self.keys.keys() {
                assert!(other.contains_hash(KeyHash::from_raw(*key)), "folding lost a key");
            }
        }
    }

    /// Inserts all keys into a filter of one, two, four or eight shards, if such a filter can be built from the spec. A
    /// shard can become full, since keys are not spread evenly over the shards.
    fn shard(&mut self, input: &mut Input<'_>) {
        let shards = 1 << (input.byte() % 4);
        let Ok(sharded) = ShardedFilter::build(&self.spec.isa(self.isa), shards) else { return };
        for key in self.keys.keys() {
            let hash = KeyHash::from_raw(*key);
            self.operations += 1;
            if sharded.insert_hash(hash).is_ok() {
                assert!(sharded.contains_hash(hash), "a key is not found in its shard");
            }
        }
    }

    /// Checks that all keys are found, that their counts are not too low, and that the two filters are equal.
    fn check(&mut self) {
        let hashes: Vec<KeyHash> = self.keys.keys().map(|key| KeyHash::from_raw(*key)).collect();
        self.operations += hashes.len() as u64;
        let mut found = Bitmap::new(0);
        self.twins.other.contains_batch(&hashes, &mut found);
        assert_eq!(found.count_ones(), hashes.len(), "a batch does not find a key");
        if self.counts_copies {
            let is_bloom = self.twins.other.kind() == FilterKind::CountingBloom;
            let highest = if is_bloom { FOUR_BITS } else { u64::MAX };
            for (key, copies) in &self.keys {
                let count = self.twins.other.count_hash(KeyHash::from_raw(*key));
                let count = count.expect("the filter counts");
                assert!(count >= (*copies).min(highest), "{count} of {copies} copies");
            }
        }
        self.twins.assert_equal();
    }
}

/// If `how` is 0, doubles a filter with slots. If `how` is 1, gives a quotient filter room for `keys` keys; if it is 2,
/// shrinks a quotient filter. Does nothing with other filters.
fn change_size(filter: &mut AnyFilter, how: u8, keys: usize) -> Result<(), String> {
    match filter {
        AnyFilter::Quotient(filter) => change_slots(filter, how, keys),
        AnyFilter::CacheLineQuotient(filter) => change_slots(filter, how, keys),
        AnyFilter::Cuckoo(filter) if how == 0 => filter.grow().map_err(|error| error.to_string()),
        _ => Ok(()),
    }
}

fn change_slots<L: Layout>(filter: &mut Quotient<L>, how: u8, keys: usize) -> Result<(), String> {
    let outcome = match how {
        0 => filter.grow(),
        1 => filter.resize(keys),
        _ => filter.shrink_to_fit(),
    };
    outcome.map_err(|error| error.to_string())
}
