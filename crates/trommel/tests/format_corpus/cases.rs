//! Makes the files of the corpus. A case is never changed: readers of version 1 have to read its file for ever.

mod blocks;
mod bloom;
mod slots;

use crate::corpus::{Entry, Form, Keys, Rule, SECRET_KEY, digest, summary};
use trommel::container::{self, Trust};
use trommel::{
    AnyFilter, Filter, FilterAccumulator, FilterKind, FilterPolicy, FilterSpec, FilterView, Hasher,
    Insert, Isa, KeyHash,
};

/// The hasher of the files that have a secret key.
const SIPHASH13: Hasher = Hasher::siphash13(SECRET_KEY);

/// For each file, the manifest records the counts of the first keys, at most this number of them.
const COUNTED: u64 = 8;

/// Every file that the present code makes, with its entry for the manifest.
pub(crate) fn all(isa: Isa) -> Vec<(Entry, Vec<u8>)> {
    let mut made = Made { isa, files: Vec::new() };
    bloom::add(&mut made);
    slots::add(&mut made);
    blocks::add(&mut made);
    made.files
}

struct Made {
    isa: Isa,
    files: Vec<(Entry, Vec<u8>)>,
}

impl Made {
    /// A spec with the seed that most files have.
    fn spec(&self, kind: FilterKind) -> FilterSpec {
        FilterSpec::new(kind).isa(self.isa).seed(42)
    }

    /// Adds the frozen form of a filter.
    fn frozen(&mut self, name: &str, keys: Keys, filter: &AnyFilter, how: &str) {
        let bytes = filter.to_bytes();
        let hasher = filter.hasher();
        let parsed = container::parse_with_hasher(&&bytes[..], Trust::Verify, &hasher);
        let header = parsed.unwrap().header();
        let view = FilterView::parse_with_hasher(&bytes, &hasher).unwrap();
        let first = (0..keys.count.min(COUNTED)).map(|i| keys.rule.hash(header.hasher, i));
        // For a kind that does not count, the list is empty.
        let counts = first.filter_map(|hash| view.count_hash(hash).ok()).collect();
        let absent = keys.absent(header.hasher);
        let answers: Vec<bool> = absent.iter().map(|hash| view.contains_hash(*hash)).collect();
        let entry = Entry {
            file: format!("{}-{name}.trommel", header.kind),
            form: Form::Frozen,
            kind: Some(header.kind),
            parameters: header.parameters.to_vec(),
            len: header.len,
            counts,
            ..entry_of_hashes(name, keys, header.hasher, &bytes, &answers, how)
        };
        self.files.push((entry, bytes));
    }

    /// Adds a filter of some keys.
    fn filled(&mut self, name: &str, keys: Keys, spec: FilterSpec, how: &str) {
        let filter = filled(&keys, spec);
        self.frozen(name, keys, &filter, how);
    }

    /// Adds a filter block.
    fn block(&mut self, name: &str, keys: Keys, policy: &FilterPolicy, block: Vec<u8>, how: &str) {
        let absent = keys.absent(policy.hasher());
        let answers: Vec<bool> =
            absent.iter().map(|hash| policy.may_match(&block, *hash)).collect();
        let parameters = match block[..] {
            [0] => Vec::new(),
            [.., code] if code < 128 => vec![code.into()],
            [.., parameter, _] => vec![parameter.into()],
            _ => panic!("{name}: the block has no whole trailer"),
        };
        let entry = Entry {
            file: format!("{}-{name}.block", policy.kind()),
            form: Form::Block,
            kind: Some(policy.kind()),
            parameters,
            ..entry_of_hashes(name, keys, policy.hasher(), &block, &answers, how)
        };
        self.files.push((entry, block));
    }

    /// Adds a list of hashes.
    fn hashes(&mut self, name: &str, keys: Keys, hasher: Hasher, how: &str) {
        let spec = FilterSpec::new(FilterKind::Bloom).keys(1000).hasher(hasher).isa(self.isa);
        let mut part = FilterAccumulator::new(spec, 1000).unwrap();
        part.insert_batch(&inserts(&keys, hasher)).unwrap();
        let bytes = part.to_bytes();
        // A list of hashes has no false positives.
        let answers = [false; crate::corpus::ABSENT as usize];
        let len = part.len() as u64;
        let entry = Entry { len, ..entry_of_hashes(name, keys, hasher, &bytes, &answers, how) };
        self.files.push((entry, bytes));
    }
}

/// The entry of a list of hashes, one for each key, with a reader's answers for the absent keys.
fn entry_of_hashes(
    name: &str,
    keys: Keys,
    hasher: Hasher,
    bytes: &[u8],
    answers: &[bool],
    how: &str,
) -> Entry {
    let (reported, answers) = summary(answers);
    Entry {
        file: format!("{name}.hashes"),
        form: Form::Hashes,
        kind: None,
        hasher,
        parameters: Vec::new(),
        len: keys.count,
        bytes: bytes.len() as u64,
        digest: digest(bytes),
        keys,
        reported,
        answers,
        counts: Vec::new(),
        how: how.to_owned(),
    }
}

/// The first `count` keys of splitmix64, each once.
fn numbers(count: u64) -> Keys {
    Keys { rule: Rule::U64(1), count, copies: vec![1] }
}

/// The first `count` keys of splitmix64. The key of index `i` is inserted `copies[i % copies.len()]` times.
fn copies(count: u64, copies: &[u64]) -> Keys {
    Keys { copies: copies.to_vec(), ..numbers(count) }
}

/// The first `count` texts, each once.
fn texts(count: u64) -> Keys {
    Keys { rule: Rule::Text("key-".to_owned()), count, copies: vec![1] }
}

/// The hashes of the keys in the order of their inserts, copies included.
fn inserts(keys: &Keys, hasher: Hasher) -> Vec<KeyHash> {
    let times = keys.copies.iter().cycle();
    let hashes = keys.hashes(hasher).into_iter().zip(times);
    hashes.flat_map(|(hash, times)| (0..*times).map(move |_| hash)).collect()
}

/// Inserts the keys one by one.
fn insert(filter: &mut AnyFilter, keys: &Keys) {
    for hash in inserts(keys, filter.hasher()) {
        filter.insert_hash(hash).unwrap();
    }
}

fn filled(keys: &Keys, spec: FilterSpec) -> AnyFilter {
    let mut filter = spec.build().unwrap();
    insert(&mut filter, keys);
    filter
}

/// A filter that was merged from two halves of the keys.
fn merged(keys: &Keys, spec: FilterSpec) -> AnyFilter {
    let hashes = inserts(keys, spec.build().unwrap().hasher());
    let halves = [&hashes[..hashes.len() / 2], &hashes[hashes.len() / 2..]].map(|half| {
        let mut filter = spec.build().unwrap();
        for hash in half {
            filter.insert_hash(*hash).unwrap();
        }
        filter
    });
    let [mut merged, other] = halves;
    merged.merge(&other).unwrap();
    merged
}

/// A filter into which `keys` and then some further keys were inserted. Then the further keys were removed again;
/// `removed` is their number.
fn removed(keys: &Keys, removed: u64, spec: FilterSpec) -> AnyFilter {
    let all = Keys { count: keys.count + removed, ..keys.clone() };
    let mut filter = filled(&all, spec);
    for i in keys.count..all.count {
        let hash = all.rule.hash(filter.hasher(), i);
        for _ in 0..all.copies[i as usize % all.copies.len()] {
            assert!(filter.remove_hash(hash).unwrap());
        }
    }
    filter
}
