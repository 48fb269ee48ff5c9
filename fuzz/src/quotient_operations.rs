//! Builds a quotient filter from a spec, runs operations on it, and compares the answers with those of a sorted
//! multiset of fingerprints.
//!
//! Short inputs must reach the hard cases. So the fingerprint of a key is often one of only a few fingerprints. In this
//! way, runs (the remainders of one home slot) become long, and clusters of runs reach the end of the table.

use super::input::{Input, isa};
use std::collections::BTreeMap;
use trommel::error::WhyFull;
use trommel::quotient::{Layout, LineBlock, Quotient, ResizeError, WideBlock};
use trommel::{Bitmap, Count, Filter, Full, Insert, KeyHash, Merge, MergeError, Remove, SpecError};
use trommel_base::{FromSpec, Spec};

/// A table with more slots than this is neither grown nor resized on request, so that an input takes little time.
const MOST_SLOTS: u64 = 2500;
/// The most operations per input.
const MOST_OPERATIONS: usize = 120;
/// An input ends when the filter holds more keys than this.
const MOST_KEYS: usize = 2500;

/// The load at which a filter grows, if it grows by itself.
const GROW_AT: f64 = 0.9;

/// Runs an input. Returns the number of its operations.
pub fn run(data: &[u8]) -> u64 {
    let mut input = Input(data);
    let flags = input.byte();
    let mut spec = Spec::default();
    spec.multiset = flags & 2 != 0;
    spec.grow_at = (flags & 4 != 0).then_some(GROW_AT);
    spec.isa = Some(isa(flags >> 4));
    spec.keys = usize::from(input.short()) % 600;
    let bits = u32::from(input.byte());
    if flags & 1 != 0 {
        Run::<LineBlock>::new(&spec).operations(&mut input)
    } else if flags & 8 != 0 {
        spec.fingerprint_bits = Some(12 + bits % 20);
        Run::<WideBlock>::new(&spec).operations(&mut input)
    } else {
        spec.remainder_bits = Some(1 + bits % 32);
        Run::<WideBlock>::new(&spec).operations(&mut input)
    }
}

struct Run<L: Layout> {
    filter: Quotient<L>,
    /// The number of copies that the filter must have of each fingerprint.
    held: BTreeMap<u64, u64>,
    /// Many fingerprints are the sum of this number and a byte that is shifted left by 0 to 15 bits, modulo the number
    /// of possible fingerprints.
    base: u64,
}

impl<L: Layout> Run<L> {
    fn new(spec: &Spec) -> Self {
        let mut spec = *spec;
        // If a filter that grows by itself would have too few fingerprint bits, builds one that never grows by itself.
        if matches!(Quotient::<L>::from_spec(&spec), Err(SpecError::GrowAt { .. })) {
            spec.grow_at = None;
        }
        let filter = Quotient::from_spec(&spec).expect("small filters can be built");
        Self { filter, held: BTreeMap::new(), base: 0 }
    }

    fn fingerprints(&self) -> u64 {
        self.filter.geometry().fingerprints
    }

    fn fingerprint(&self, hash: KeyHash) -> u64 {
        let f = ((u128::from(hash.raw()) * u128::from(self.fingerprints())) >> 64) as u64;
        if L::RESERVES_ZERO && f.is_multiple_of(256) { f + 1 } else { f }
    }

    fn hash_of(&self, f: u64) -> KeyHash {
        KeyHash::from_raw((u128::from(f) << 64).div_ceil(u128::from(self.fingerprints())) as u64)
    }

    fn count(&self, hash: KeyHash) -> u64 {
        self.held.get(&self.fingerprint(hash)).copied().unwrap_or(0)
    }

    /// Chooses a hash: a hash whose fingerprint is near `base`, a hash whose fingerprint is in the filter, or any hash.
    fn hash(&self, input: &mut Input<'_>) -> KeyHash {
        let kind = input.byte();
        match kind % 4 {
            0 => KeyHash::from_raw(input.word()),
            1 => match self.held.range(self.base + u64::from(input.short())..).next() {
                Some((f, _)) => self.hash_of(*f),
                None => KeyHash::from_raw(u64::MAX - u64::from(kind)),
            },
            _ => {
                let near = self.base.wrapping_add(u64::from(input.byte()) << (kind >> 4));
                self.hash_of(near % self.fingerprints())
            }
        }
    }

    /// Chooses some hashes: a few independent ones, or many that are derived from one hash.
    fn hashes(&self, input: &mut Input<'_>) -> Vec<KeyHash> {
        let count = usize::from(input.byte());
        if count % 2 == 0 {
            return (0..count / 2 % 20).map(|_| self.hash(input)).collect();
        }
        let (first, step) = (self.hash(input).raw(), input.word() >> (input.byte() % 64));
        let nth = |i: u64| first.wrapping_add((i * i % 37 + i).wrapping_mul(step));
        (0..count as u64).map(|i| KeyHash::from_raw(nth(i))).collect()
    }

    fn operations(&mut self, input: &mut Input<'_>) -> u64 {
        let mut done = 0;
        for _ in 0..MOST_OPERATIONS {
            if input.is_empty() || self.filter.len() > MOST_KEYS {
                break;
            }
            done += 1;
            match input.byte() % 16 {
                0..=2 => {
                    let hash = self.hash(input);
                    let outcome = self.filter.insert_hash(hash);
                    self.note(hash, outcome);
                }
                3 | 4 => self.remove(input),
                5 => self.ask(input),
                6 | 7 => self.insert_batch(input),
                8 => self.base = input.word() % self.fingerprints(),
                9 => self.resize(|filter| filter.grow().is_ok()),
                10 => {
                    let keys = usize::from(input.short()) % MOST_SLOTS as usize;
                    self.resize(|filter| filter.resize(keys).is_ok());
                }
                11 => self.resize(|filter| filter.shrink_to_fit().is_ok()),
                12 => self.merge(input),
                13 => self.thaw(),
                14 => {
                    for _ in 0..1 + input.byte() / 4 {
                        self.remove(input);
                    }
                }
                _ => {
                    self.filter.clear();
                    self.held.clear();
                }
            }
        }
        self.check();
        let held: Vec<u64> = self.held.keys().copied().collect();
        for f in held {
            let hash = self.hash_of(f);
            while self.count(hash) > 0 {
                self.remove_hash(hash);
            }
        }
        assert!(self.filter.is_empty() && self.filter.table().iter().all(|byte| *byte == 0));
        done
    }

    /// Checks the result of an insert, and counts the inserted copy.
    fn note(&mut self, hash: KeyHash, outcome: Result<bool, Full>) {
        let copies = u64::from(self.filter.geometry().copies);
        let (f, held) = (self.fingerprint(hash), self.count(hash));
        match outcome {
            Ok(new) => {
                assert_eq!(new, held < copies);
                self.held.insert(f, copies.min(held + 1));
                assert_eq!(self.filter.count_hash(hash), copies.min(held + 1));
            }
            Err(full) => {
                assert_eq!((full.inserted, full.len), (0, self.filter.len()));
                match full.why {
                    WhyFull::Copies { max } => assert!(copies > 1 && held == u64::from(max)),
                    // A filter that must grow cannot do so if the runs of the last home slots would extend beyond the
                    // end of the larger table.
                    WhyFull::Slots => {
                        assert!(
                            !self.fits(f) || self.cannot_grow(),
                            "refused for lack of slots, although the copy would fit"
                        );
                    }
                    WhyFull::Fingerprint => assert_eq!(self.filter.geometry().remainder_bits, 1),
                    other => panic!("an insert was refused for an unexpected reason: {other:?}"),
                }
                self.check();
            }
        }
    }

    /// Whether the filter must grow for one more key and cannot, because its runs would extend beyond the end of a
    /// table with twice the slots.
    fn cannot_grow(&self) -> bool {
        let must_grow =
            (self.filter.len() + 1) as f64 > GROW_AT * self.filter.geometry().slots as f64;
        must_grow && matches!(self.filter.clone().grow(), Err(ResizeError::TooSmall { .. }))
    }

    /// Whether the table has a slot for one more copy of a fingerprint. A run holds the fingerprints of one home slot.
    /// Runs are laid out one after another, and no run begins before its home slot.
    fn fits(&self, f: u64) -> bool {
        let geometry = self.filter.geometry();
        let mut held = self.held.clone();
        *held.entry(f).or_default() += 1;
        let unit = (1u128 << 64) / u128::from(geometry.fingerprints);
        let range = u128::from(geometry.slots) << geometry.remainder_bits;
        let is_whole_range = range == u128::from(geometry.fingerprints);
        let end = held.iter().fold(0, |end: u64, (f, copies)| {
            let f = u128::from(*f);
            let scaled = if is_whole_range { f } else { (f * unit * range) >> 64 };
            end.max((scaled >> geometry.remainder_bits) as u64) + copies
        });
        end <= geometry.blocks * u64::from(L::SLOTS)
    }

    fn remove(&mut self, input: &mut Input<'_>) {
        let hash = self.hash(input);
        self.remove_hash(hash);
    }

    fn remove_hash(&mut self, hash: KeyHash) {
        let held = self.count(hash);
        assert_eq!(self.filter.remove_hash(hash), held > 0);
        match held {
            0 => {}
            1 => drop(self.held.remove(&self.fingerprint(hash))),
            _ => drop(self.held.insert(self.fingerprint(hash), held - 1)),
        }
        assert_eq!(self.filter.count_hash(hash), held.saturating_sub(1));
    }

    /// Compares batched lookups, single lookups and counts with the numbers of copies in `held`.
    fn ask(&mut self, input: &mut Input<'_>) {
        let mut hashes = self.hashes(input);
        hashes.extend(self.held.keys().take(300).map(|f| self.hash_of(*f)));
        let mut found = Bitmap::new(0);
        self.filter.contains_batch(&hashes, &mut found);
        for (i, hash) in hashes.iter().enumerate() {
            let held = self.count(*hash);
            assert_eq!(found.get(i), held > 0);
            assert_eq!(self.filter.contains_hash(*hash), held > 0);
            assert_eq!(self.filter.count_hash(*hash), held);
        }
    }

    /// Inserts a batch, and compares the filter with a filter into which the same keys were inserted one by one.
    fn insert_batch(&mut self, input: &mut Input<'_>) {
        let hashes = self.hashes(input);
        let mut batch = self.filter.clone();
        let outcome = batch.insert_batch(&hashes);
        let mut expected = Ok(());
        for (i, hash) in hashes.iter().enumerate() {
            let one = self.filter.insert_hash(*hash);
            self.note(*hash, one);
            if let Err(full) = one {
                expected = Err(Full::new(i, full.len, full.capacity).because(full.why));
                break;
            }
        }
        assert_eq!(outcome, expected);
        assert!(batch.to_bytes() == self.filter.to_bytes());
    }

    /// Calls the closure `resize` if the table has at most [`MOST_SLOTS`] slots. The closure returns whether it
    /// succeeded. If it failed or was not called, the filter must be unchanged.
    fn resize(&mut self, resize: impl FnOnce(&mut Quotient<L>) -> bool) {
        let before = self.filter.to_bytes();
        if self.filter.geometry().slots > MOST_SLOTS || !resize(&mut self.filter) {
            assert!(self.filter.to_bytes() == before);
        }
        self.check();
    }

    /// Merges another filter, of the same size or of twice the size, into this one. Some fingerprints can be in both. A
    /// merge that fails must change nothing.
    fn merge(&mut self, input: &mut Input<'_>) {
        let mut other = self.filter.clone();
        other.clear();
        if input.byte() % 2 == 1 && other.geometry().slots <= MOST_SLOTS {
            let _ = other.grow();
        }
        for hash in self.hashes(input) {
            let _ = other.insert_hash(hash);
        }
        let theirs = other.to_bytes();
        let copies = u64::from(self.filter.geometry().copies);
        let before = self.filter.to_bytes();
        let mut held = self.held.clone();
        other.fingerprints().for_each(|f| *held.entry(f).or_default() += 1);
        let too_many = copies > 1 && held.values().any(|count| *count > copies);
        match self.filter.merge(&other) {
            Ok(()) => {
                assert!(!too_many);
                held.values_mut().for_each(|count| *count = copies.min(*count));
                self.held = held;
            }
            Err(error) => {
                assert!(
                    matches!(error, MergeError::Full(_)),
                    "a merge was refused, but not for lack of room: {error}"
                );
                assert!(self.filter.to_bytes() == before);
            }
        }
        assert!(other.to_bytes() == theirs);
        self.check();
    }

    /// Freezes the filter and reads it back.
    fn thaw(&mut self) {
        let bytes = self.filter.to_bytes();
        let thawed = Quotient::<L>::from_bytes(&bytes).expect("our own bytes are refused");
        assert!(thawed.to_bytes() == bytes);
        self.check();
        self.filter = thawed;
    }

    /// Compares all fingerprints of the filter, and those of a view of its bytes, with `held`.
    fn check(&self) {
        assert_eq!(self.filter.len() as u64, self.held.values().sum::<u64>());
        let expected = self.held.iter().flat_map(|(f, n)| std::iter::repeat_n(*f, *n as usize));
        assert!(self.filter.fingerprints().eq(expected));
        let bytes = self.filter.to_bytes();
        let view = Quotient::<L, &[u8]>::parse(&bytes).expect("our own bytes are refused");
        assert!(view.fingerprints().eq(self.filter.fingerprints()));
    }
}
