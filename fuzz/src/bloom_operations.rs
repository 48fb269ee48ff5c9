//! Builds a Bloom filter, with or without counters, runs operations on it, and compares all answers and bytes with
//! those of a [`Model`], which counts how often each bit was set.
//!
//! Short inputs must reach the hard cases. So filters have from one to some hundred units ([`unit_bits`]), and get more
//! keys than they are made for. Many hashes differ in only a few bits, so that they share units, and batches have many
//! copies of a key, so that counters stick or overflow.

use super::bloom_model::{BITS, FOUR_BITS, Model, TWO_BITS, unit_bits};
use super::input::{Input, isa};
use trommel::bloom::{Bloom, Layout};
use trommel::{
    AnyFilter, Bitmap, Filter, FilterKind, FilterPolicy, FilterSpec, FilterView, Insert, KeyHash,
};
use trommel_base::container::HEADER_BYTES;

/// The most operations per input.
const MOST_OPERATIONS: usize = 100;
/// The highest number of bits of a table. It is low, so that an input takes little time.
const MOST_BITS: usize = 1 << 14;
/// An input ends when more keys than this were inserted.
const MOST_KEYS: usize = 5000;

/// The kinds, each with the highest count that a position of the [`Model`] can have.
const KINDS: [(FilterKind, u64); 6] = [
    (FilterKind::Bloom, BITS),
    (FilterKind::RegisterBloom, BITS),
    (FilterKind::SplitBlockBloom, BITS),
    (FilterKind::CacheLineBloom, BITS),
    (FilterKind::CountingBloom, FOUR_BITS),
    (FilterKind::CountingBloom, TWO_BITS),
];

/// Runs an input. Returns the number of its operations.
pub fn run(data: &[u8]) -> u64 {
    let mut input = Input(data);
    let flags = input.byte();
    let (kind, limit) = KINDS[usize::from(flags & 15) % KINDS.len()];
    let isa = isa(flags >> 4);
    let most_units = MOST_BITS / unit_bits(kind);
    let units = 1 + ((usize::from(input.short()) % most_units) >> (input.byte() % 9));
    let bits = units * unit_bits(kind);
    // The size per key determines how many bits each key sets.
    let keys = bits / (1 + usize::from(input.byte()) % 50);
    let counter_bits = match limit {
        BITS => 0,
        FOUR_BITS => 4,
        _ => 2,
    };
    let mut spec = FilterSpec::new(kind).keys(keys).memory_bytes(bits / 8 * (1 + counter_bits));
    if kind == FilterKind::CountingBloom {
        spec = spec.compact(limit == TWO_BITS);
    }
    let filter = spec.isa(isa).build().expect("small filters can be built");
    let hashes = filter.hash_count().expect("keys of a Bloom filter have bits");
    let model = Model::new(kind, limit, hashes, bits);
    let mut run = Run { spec, filter, model, keys: Vec::new(), base: 0 };
    run.operations(&mut input)
}

struct Run {
    spec: FilterSpec,
    filter: AnyFilter,
    model: Model,
    /// Hashes of inserted keys, some of which were removed since.
    keys: Vec<KeyHash>,
    /// A number from which hashes are often derived, by adding a shifted byte.
    base: u64,
}

impl Run {
    fn operations(&mut self, input: &mut Input<'_>) -> u64 {
        let mut done = 0;
        for _ in 0..MOST_OPERATIONS {
            if input.is_empty() || self.keys.len() > MOST_KEYS {
                break;
            }
            done += 1;
            match input.byte() % 20 {
                0..=2 => self.insert(input),
                3..=5 => self.insert_batch(input),
                6 | 7 => self.ask(input),
                8 => self.base = input.word(),
                9..=11 => self.remove(input),
                12 | 13 => self.combine(input),
                14 => self.thaw(input),
                15 => self.change_isa(input),
                16 => self.insert_shared(input),
                17 => self.fold(input),
                18 => self.build_block(input),
                _ => {
                    self.filter.clear();
                    self.model.clear();
                }
            }
        }
        self.check();
        done
    }

    /// Chooses a hash: any hash, the hash of an inserted key, or the sum of `base` and a shifted byte.
    fn hash(&self, input: &mut Input<'_>) -> KeyHash {
        let kind = input.byte();
        match kind % 4 {
            0 => KeyHash::from_raw(input.word()),
            1 => match self.keys.len() {
                0 => KeyHash::from_raw(u64::MAX - u64::from(kind / 4)),
                len => self.keys[usize::from(input.short()) % len],
            },
            _ => {
                let near = u64::from(input.byte()) << (kind >> 2);
                KeyHash::from_raw(self.base.wrapping_add(near))
            }
        }
    }

    /// Chooses some hashes: a few independent ones, or many that are derived from one hash, with up to 24 copies of
    /// each.
    fn hashes(&self, input: &mut Input<'_>) -> Vec<KeyHash> {
        let count = u64::from(input.byte());
        if count % 4 == 0 {
            return (0..count / 4 % 20).map(|_| self.hash(input)).collect();
        }
        let (first, step) = (self.hash(input).raw(), 0x9E37_79B9_7F4A_7C15 >> (input.byte() % 64));
        let copies = 1 + u64::from(input.byte()) % 24;
        (0..2 * count + copies % 2)
            .map(|i| KeyHash::from_raw(first.wrapping_add((i / copies).wrapping_mul(step))))
            .collect()
    }

    fn insert(&mut self, input: &mut Input<'_>) {
        let hash = self.hash(input);
        assert_eq!(
            self.filter.insert_hash(hash),
            Ok(self.model.insert(hash)),
            "whether an insert changed the filter"
        );
        assert!(self.filter.contains_hash(hash));
        self.keys.push(hash);
    }

    fn insert_batch(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        assert_eq!(self.filter.insert_batch(&hashes), Ok(()));
        self.model.insert_all(&hashes);
        self.keys.extend(&hashes);
        self.check();
    }

    /// Looks up some hashes and the keys that were inserted last, each alone and all in one batch. Compares counts too.
    fn ask(&self, input: &mut Input<'_>) {
        let mut hashes = self.hashes(input);
        hashes.extend(self.keys.iter().rev().take(4 * usize::from(input.byte())));
        assert_same_answers(&self.filter, &self.model, &hashes);
        for hash in hashes {
            let count = self.filter.count_hash(hash).ok();
            assert_eq!(
                count,
                self.has_counters().then(|| self.model.count(hash)),
                "the count of a key"
            );
        }
    }

    /// Whether the filter has counters.
    fn has_counters(&self) -> bool {
        self.filter.kind() == FilterKind::CountingBloom
    }

    /// Removes a key up to 24 times, even if it was not inserted.
    fn remove(&mut self, input: &mut Input<'_>) {
        let hash = self.hash(input);
        for _ in 0..1 + input.byte() % 24 {
            let expected = self.has_counters().then(|| self.model.remove(hash));
            assert_eq!(self.filter.remove_hash(hash).ok(), expected, "whether a key is removed");
        }
        self.check();
    }

    /// Makes another filter with some keys, and merges it into this filter or intersects this filter with it. The other
    /// filter can begin as a copy of this filter, and can be folded. If the two filters then differ in size, the
    /// operation must be refused.
    fn combine(&mut self, input: &mut Input<'_>) {
        let how = input.byte();
        let (mut other, mut model) = (self.filter.clone(), self.model.clone());
        if how & 3 != 0 {
            other.clear();
            model.clear();
        }
        let hashes = self.hashes(input);
        assert_eq!(other.insert_batch(&hashes), Ok(()));
        model.insert_all(&hashes);
        if how & 16 != 0
            && let Some(folded) = model.fold(2)
        {
            (other, model) = (other.fold(2).expect("the model can be folded"), folded);
        }
        let bytes = other.to_bytes();
        let fits = model.units() == self.model.units();
        if how & 4 != 0 {
            let outcome = self.filter.intersect(&other);
            assert_eq!(outcome.is_ok(), fits && !self.has_counters());
            if outcome.is_ok() {
                self.model.intersect(&model);
            }
        } else {
            let view = FilterView::parse(&bytes).expect("our own bytes are refused");
            let outcome = match how & 8 {
                0 => self.filter.merge(&other),
                _ => self.filter.merge_view(&view),
            };
            assert_eq!(outcome.is_ok(), fits, "whether a merge is refused");
            if fits {
                self.model.merge(&model);
                self.keys.extend(&hashes);
            }
        }
        assert!(other.to_bytes() == bytes);
        self.check();
    }

    /// Freezes the filter, looks keys up in a view of bytes at any alignment, and sometimes goes on with a filter that
    /// is read from these bytes.
    fn thaw(&mut self, input: &mut Input<'_>) {
        let (how, hashes) = (input.byte(), self.hashes(input));
        let bytes = self.filter.to_bytes();
        let start = usize::from(how % 64);
        let moved = [&vec![0; start][..], &bytes].concat();
        let view = FilterView::parse(&moved[start..]).expect("our own bytes are refused");
        assert!(view.to_bytes() == bytes);
        assert_same_answers(&view, &self.model, &hashes);
        assert_same_numbers(&view, &self.model);
        for hash in &hashes {
            let count = view.count_hash(*hash).ok();
            assert_eq!(
                count,
                self.has_counters().then(|| self.model.count(*hash)),
                "a count in a view"
            );
        }
        let thawed = view.to_owned_filter().expect("our own bytes are refused");
        assert!(thawed.to_bytes() == bytes);
        if how & 64 != 0 {
            self.filter = thawed;
        }
    }

    /// Chooses an instruction set, builds a new filter from the spec for it, merges this filter into the new one, and
    /// goes on with the new filter. If this filter was folded, the two differ in size, and the merge must be refused.
    fn change_isa(&mut self, input: &mut Input<'_>) {
        let isa = isa(input.byte());
        let mut other = self.spec.isa(isa).build().expect("the spec was built before");
        let is_same_size = other.memory_bytes() / unit_bytes(&other) == self.model.units();
        let bytes = self.filter.to_bytes();
        let view = FilterView::parse(&bytes).expect("our own bytes are refused");
        let empty = other.to_bytes();
        assert_eq!(other.merge_view(&view).is_ok(), is_same_size);
        if is_same_size {
            assert_eq!(other.isa(), isa);
            self.filter = other;
            self.check();
        } else {
            assert!(other.to_bytes() == empty);
        }
    }

    /// Converts the filter to the form that threads can share, inserts keys into it, and converts it back.
    fn insert_shared(&mut self, input: &mut Input<'_>) {
        let (one, hashes) = (self.hash(input), self.hashes(input));
        self.filter = match self.filter.clone() {
            AnyFilter::Bloom(filter) => add_shared(filter, &mut self.model, one, &hashes).into(),
            AnyFilter::RegisterBloom(filter) => {
                add_shared(filter, &mut self.model, one, &hashes).into()
            }
            AnyFilter::SplitBlockBloom(filter) => {
                add_shared(filter, &mut self.model, one, &hashes).into()
            }
            AnyFilter::CacheLineBloom(filter) => {
                add_shared(filter, &mut self.model, one, &hashes).into()
            }
            _ => return,
        };
        self.keys.push(one);
        self.keys.extend(&hashes);
        self.check();
    }

    /// Folds the filter by a factor, or to a false-positive rate, and sometimes goes on with the folded filter.
    fn fold(&mut self, input: &mut Input<'_>) {
        let (how, number) = (input.byte(), input.byte());
        let (filter, model) = if how & 1 == 0 {
            let factor = number % 8;
            let folded = self.filter.fold(factor.into());
            (folded.ok(), self.model.fold(factor.into()))
        } else {
            // In a table of so few units, no false-positive rate is so close to `fpr` that rounding would decide which
            // of the two is higher.
            let fpr = (f64::from(number) + 0.5) / 257.0;
            (self.filter.fold_to_fpr(fpr).ok().flatten(), self.fold_model_to_fpr(fpr))
        };
        assert_eq!(filter.is_some(), model.is_some(), "whether a fold is refused");
        let (Some(filter), Some(model)) = (filter, model) else { return };
        assert_same(&filter, &model);
        if how & 2 != 0 {
            (self.filter, self.model) = (filter, model);
        }
    }

    fn fold_model_to_fpr(&self, fpr: f64) -> Option<Model> {
        let folds = (0..).map_while(|halvings| self.model.fold(1 << halvings));
        folds.take_while(|folded| folded.expected_fpr() <= fpr).last()
    }

    /// Builds a filter block of some keys, and compares its bytes and answers with those of a model.
    fn build_block(&self, input: &mut Input<'_>) {
        let kind = self.filter.kind();
        let (bits_per_key, hashes) = (1 + usize::from(input.byte()) % 60, self.hashes(input));
        let policy = FilterPolicy::builder(kind).bits_per_key(bits_per_key as f64);
        let policy = policy.isa(self.filter.isa()).build();
        assert_eq!(policy.is_err(), self.has_counters(), "whether a kind has a block form");
        let Ok(policy) = policy else { return };
        let block = policy.build(&hashes);
        let (parameter, table) = parameter_and_table(kind, &block);
        // The table of a standard filter can have any number of bytes.
        let step = if kind == FilterKind::Bloom { 1 } else { unit_bits(kind) / 8 };
        let bytes = (hashes.len() * bits_per_key).div_ceil(8).max(1).next_multiple_of(step);
        assert_eq!(table.len(), bytes, "the length of the table of a block");
        let mut model = Model::new(kind, BITS, parameter.into(), 8 * bytes);
        model.insert_all(&hashes);
        assert!(model.payload() == table, "the table of a block has other bits than the model");
        let asked: Vec<KeyHash> = self.hashes(input).into_iter().chain(hashes).collect();
        let probes: Vec<(&[u8], KeyHash)> = asked.iter().map(|hash| (&block[..], *hash)).collect();
        let mut found = Bitmap::new(0);
        policy.may_match_many(&probes, &mut found);
        for (i, hash) in asked.iter().enumerate() {
            let expected = model.contains(*hash);
            assert_eq!(policy.may_match(&block, *hash), expected, "a lookup in a block");
            assert_eq!(found.get(i), expected, "a lookup in many blocks");
        }
    }

    fn check(&self) {
        assert_same(&self.filter, &self.model);
    }
}

/// The number of bytes of a unit, including its counters.
fn unit_bytes(filter: &AnyFilter) -> usize {
    let with_counters = match filter {
        AnyFilter::CountingBloom(filter) => 1 + filter.counter_width().bits() as usize,
        _ => 1,
    };
    unit_bits(filter.kind()) / 8 * with_counters
}

/// The parameter (the first byte after the table) and the table of a block whose keys are hashed by XXH3.
fn parameter_and_table(kind: FilterKind, block: &[u8]) -> (u8, &[u8]) {
    let (table, trailer) =
        block.split_at(block.len() - if kind == FilterKind::Bloom { 1 } else { 2 });
    if let [_, code] = trailer {
        assert_eq!(*code, 128 + 32 + kind as u8, "the code of a block");
    }
    (trailer[0], table)
}

/// Inserts keys into the shared form of a filter: `one` by a call of its own, the others in a batch. Returns the filter
/// in its usual form.
fn add_shared<L: Layout>(
    filter: Bloom<L>,
    model: &mut Model,
    one: KeyHash,
    batch: &[KeyHash],
) -> Bloom<L> {
    let shared = filter.into_shared();
    assert_eq!(shared.add_hash(one), model.insert(one), "whether an insert changed the filter");
    assert_same_answers(&shared, model, batch);
    shared.add_batch(batch);
    model.insert_all(batch);
    assert_same_answers(&shared, model, batch);
    assert_same_numbers(&shared, model);
    shared.into_filter()
}

/// Compares the answers of a filter with those of the model.
fn assert_same_answers(filter: &impl Filter, model: &Model, hashes: &[KeyHash]) {
    let mut found = Bitmap::new(0);
    filter.contains_batch(hashes, &mut found);
    assert_eq!(found.len(), hashes.len());
    for (i, hash) in hashes.iter().enumerate() {
        let expected = model.contains(*hash);
        assert_eq!(filter.contains_hash(*hash), expected, "a single lookup of {hash:?}");
        assert_eq!(found.get(i), expected, "a lookup of {hash:?} in a batch");
    }
}

/// Compares all bytes and numbers of a filter with those of the model.
fn assert_same(filter: &AnyFilter, model: &Model) {
    let (bytes, payload) = (filter.to_bytes(), model.payload());
    assert!(
        bytes[HEADER_BYTES..] == payload,
        "{filter:?} has other bits or counters than the model"
    );
    assert_eq!((filter.encoded_len(), filter.memory_bytes()), (bytes.len(), payload.len()));
    assert!(is_close(filter.estimate_len(), model.estimate_len()), "the estimate of the keys");
    assert_same_numbers(filter, model);
}

/// Compares the numbers that every filter states with those of the model.
fn assert_same_numbers(filter: &impl Filter, model: &Model) {
    assert_eq!(filter.len(), usize::try_from(model.len).unwrap_or(usize::MAX));
    assert_eq!(filter.is_empty(), model.is_empty());
    let (fpr, expected) = (filter.expected_fpr(), model.expected_fpr());
    assert!(is_close(fpr, expected), "the rate of a table: {fpr}, but {expected} in the model");
}

/// Whether two numbers are equal, except for rounding errors.
fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}
