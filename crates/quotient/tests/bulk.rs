//! Tests that large batches make the same filter as single inserts, bit for bit, even if a batch does not fit. In an
//! empty filter, a batch can build the whole table. Otherwise, the keys of the batch are inserted into one region of
//! the table after another.

use trommel_base::{Filter, FromSpec, Full, Insert, KeyHash, Spec, WhyFull};
use trommel_quotient::{Layout, LineBlock, MAX_COPIES, Quotient, WideBlock};
use trommel_simd::Isa;
use trommel_testkit::streams::distinct;
use trommel_testkit::{Splitmix, Stream};

/// Makes a filter of one kind for any instruction set.
struct Maker<L: Layout> {
    spec: Spec,
    resize: fn(&mut Quotient<L>),
}

impl<L: Layout> Maker<L> {
    fn new(keys: usize, bits: Option<u32>, multiset: bool) -> Self {
        let mut spec = Spec::default();
        spec.keys = keys;
        spec.remainder_bits = bits;
        spec.multiset = multiset;
        Self { spec, resize: |_| {} }
    }

    fn make(&self, isa: Isa) -> Quotient<L> {
        let mut spec = self.spec;
        spec.isa = Some(isa);
        let mut filter = Quotient::from_spec(&spec).unwrap();
        (self.resize)(&mut filter);
        filter
    }

    /// Inserts a batch into a filter that holds the keys `held`, on every instruction set. Fails if the result differs
    /// from the result of single inserts in portable code. Returns the outcome of the batch.
    fn assert_same(&self, held: &[KeyHash], batch: &[KeyHash], what: &str) -> Result<(), Full> {
        let mut singly = self.make(Isa::Portable);
        insert_singly(&mut singly, held).unwrap();
        let expected = insert_singly(&mut singly, batch);
        let bytes = singly.to_bytes();
        for isa in Isa::available() {
            let mut filter = self.make(isa);
            insert_singly(&mut filter, held).unwrap();
            assert_eq!(
                filter.insert_batch(batch),
                expected,
                "{what} on {isa}: outcome of the batch"
            );
            assert_eq!(filter.len(), singly.len(), "{what} on {isa}: number of fingerprints");
            assert!(
                filter.to_bytes() == bytes,
                "{what}, {} held, on {isa}: other bytes than single inserts make",
                held.len()
            );
        }
        expected
    }
}

/// Inserts hashes one by one, in their order, until a hash is refused.
fn insert_singly<L: Layout>(filter: &mut Quotient<L>, hashes: &[KeyHash]) -> Result<(), Full> {
    for (i, hash) in hashes.iter().enumerate() {
        if let Err(full) = filter.insert_hash(*hash) {
            return Err(Full::new(i, full.len, full.capacity).because(full.why));
        }
    }
    Ok(())
}

/// Inserts batches into tables from empty to nearly full. The batches contain repeated keys, and keys that the filter
/// holds already. Some batches do not fit.
fn assert_same_at_every_load<L: Layout>(maker: &Maker<L>, what: &str) {
    let slots = maker.make(Isa::Portable).geometry().slots;
    let mut random = Splitmix::new(slots);
    // The number of batches that fitted, and the number of batches that did not.
    let mut outcomes = [0, 0];
    for held_percent in [0, 1, 40, 90] {
        for batch_percent in [2, 30, 94 - held_percent, 130] {
            let held = distinct(1, 0..slots * held_percent / 100);
            let fresh = distinct(2, 0..slots * batch_percent / 100);
            let batch: Vec<KeyHash> = fresh
                .iter()
                .map(|hash| match random.below(16) {
                    0 if !held.is_empty() => held[random.below(held.len() as u64) as usize],
                    1 => fresh[random.below(fresh.len() as u64) as usize],
                    _ => *hash,
                })
                .collect();
            let outcome = maker.assert_same(&held, &batch, what);
            outcomes[usize::from(outcome.is_err())] += 1;
        }
    }
    assert!(
        outcomes[0] >= 8 && outcomes[1] >= 4,
        "{what}: too few batches fitted, or too few did not: {outcomes:?}"
    );
}

#[test]
fn a_batch_makes_the_same_wide_blocks_as_single_inserts() {
    for (keys, bits) in [(70_001, 4), (50_000, 8), (30_000, 14), (40_000, 17), (33_333, 32)] {
        for multiset in [false, true] {
            let maker = Maker::<WideBlock>::new(keys, Some(bits), multiset);
            assert_same_at_every_load(&maker, &format!("{keys} keys, {bits} bits"));
        }
    }
}

#[test]
fn a_batch_makes_the_same_line_blocks_as_single_inserts() {
    for keys in [55_000, 120_011] {
        for multiset in [false, true] {
            let maker = Maker::<LineBlock>::new(keys, None, multiset);
            assert_same_at_every_load(&maker, &format!("{keys} keys in lines"));
        }
    }
}

/// Resized filters replace hashes by numbers that the hashes' fingerprints determine. The exception is a filter with
/// blocks of 64 slots whose only resizes were doublings: it uses the hashes themselves.
#[test]
fn a_batch_makes_the_same_resized_filter_as_single_inserts() {
    fn resized<L: Layout>(bits: Option<u32>, multiset: bool, resize: fn(&mut Quotient<L>)) {
        let maker = Maker { resize, ..Maker::<L>::new(25_000, bits, multiset) };
        assert_same_at_every_load(&maker, "resized");
    }
    resized::<WideBlock>(Some(11), false, |filter| filter.grow().unwrap());
    resized::<WideBlock>(Some(11), true, |filter| filter.resize(61_000).unwrap());
    resized::<LineBlock>(None, true, |filter| filter.grow().unwrap());
    resized::<LineBlock>(None, false, |filter| filter.resize(61_000).unwrap());
}

/// Skewed streams, for instance with all keys in one region, in one run, or with one fingerprint.
#[test]
fn batches_of_hostile_streams_make_the_same_filter_as_single_inserts() {
    for stream in Stream::ALL {
        let hashes = stream.hashes(3, 40_000);
        let (held, batch) = hashes.split_at(5);
        for held in [&[][..], held] {
            let what = stream.to_string();
            let _ = Maker::<WideBlock>::new(60_000, Some(9), false).assert_same(held, batch, &what);
            let _ = Maker::<LineBlock>::new(60_000, None, false).assert_same(held, batch, &what);
        }
        // A multiset refuses the first key that has too many copies, wherever in the batch it is.
        for outcome in [
            Maker::<WideBlock>::new(80_000, Some(24), true).assert_same(&[], batch, "copies"),
            Maker::<LineBlock>::new(80_000, None, true).assert_same(&[], batch, "copies in lines"),
        ] {
            let repeats = matches!(
                stream,
                Stream::AllEqual
                    | Stream::LowByte
                    | Stream::Extremes
                    | Stream::SmallIntegers
                    | Stream::Zipf
            );
            let why = outcome.err().map(|full| full.why);
            assert_eq!(
                why,
                repeats.then_some(WhyFull::Copies { max: MAX_COPIES }),
                "{stream}: why a batch with copies is refused"
            );
        }
    }
}

/// All keys belong to the first third of the table. This third has fewer slots than there are keys, so nearly all keys
/// are in one cluster. One key in twenty repeats another. With so few copies, a build first stores every key, and then
/// removes the copies. But here, each removal would move the rest of the cluster. This would take too long, so the
/// build sorts and appends the fingerprints instead.
#[test]
fn copies_in_a_long_cluster_are_dropped_as_by_single_inserts() {
    fn dropped<L: Layout>(bits: u32) {
        let mut random = Splitmix::new(7);
        let mut batch: Vec<KeyHash> = Vec::new();
        for _ in 0..30_000 {
            let hash = match random.below(20) {
                0 if !batch.is_empty() => batch[random.below(batch.len() as u64) as usize],
                _ => KeyHash::from_raw(random.word() / 3),
            };
            batch.push(hash);
        }
        let outcome = Maker::<L>::new(60_000, Some(bits), false).assert_same(&[], &batch, "copies");
        assert_eq!(outcome, Ok(()));
    }
    dropped::<WideBlock>(8);
    dropped::<WideBlock>(20);
    dropped::<LineBlock>(8);
}

/// A batch from which no table is built is inserted in chunks, and the keys of each chunk are grouped by region of the
/// table. The error says how many keys of the whole batch were inserted, whichever chunk had the key that failed.
#[test]
fn a_batch_of_several_chunks_ends_at_the_right_key() {
    let maker = Maker::<WideBlock>::new(140_000, Some(6), false);
    let hashes = distinct(4, 0..190_000);
    for held in [0, 3, 100_000] {
        let full = maker.assert_same(&hashes[..held], &hashes[held..], "too many").unwrap_err();
        assert!(
            full.why == WhyFull::Slots && held + full.inserted >= 140_000,
            "refused for the wrong reason, or too early: {full}"
        );
    }
    let maker = Maker::<WideBlock>::new(1_100_000, Some(6), false);
    let hashes = distinct(4, 0..1_100_000);
    for held in [0, 3] {
        assert_eq!(maker.assert_same(&hashes[..held], &hashes[held..], "a million"), Ok(()));
    }
}

/// The table is so large that, with regions of the usual size, it would have more than 4096 regions, the most that a
/// build can have.
#[test]
fn a_large_table_is_built_in_larger_regions() {
    let mut spec = Spec::default();
    (spec.keys, spec.remainder_bits) = (34_000_000, Some(1));
    let mut batch = Quotient::<WideBlock>::from_spec(&spec).unwrap();
    let mut singly = batch.clone();
    let hashes = distinct(5, 0..4_600_000);
    batch.insert_batch(&hashes).unwrap();
    insert_singly(&mut singly, &hashes).unwrap();
    assert!(batch.table() == singly.table() && batch.len() == singly.len());
}
