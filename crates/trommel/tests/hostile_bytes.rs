//! Tests that read mutated containers of every kind. A reader must never panic, and must refuse mutated bytes. If the
//! test corrects the checksums after the mutation, a reader may also accept the bytes as another valid filter.

use proptest::prelude::*;
use trommel::quotient::{Layout, Quotient};
use trommel::{
    AnyFilter, Bitmap, Filter, FilterKind, FilterSpec, FilterView, Insert, KeyHash, Remove,
};
use trommel_testkit::Stream;

const HEADER_BYTES: usize = 128;

/// Offsets of the header's own checksum, and of the payload's length and checksum.
const HEADER_CHECKSUM_AT: usize = 120;
const PAYLOAD_LEN_AT: usize = 64;
const PAYLOAD_CHECKSUM_AT: usize = 72;

/// The frozen bytes of a filter. `variant` chooses compact counters or a multiset, if the kind has such an option.
/// `keys % 3` says how the filter is resized: a quotient filter is left as it is (0), doubled (1), or resized to
/// `2 * keys + 47` keys (2); a cuckoo filter is doubled `keys % 3` times.
fn container(kind: FilterKind, variant: bool, keys: usize) -> Vec<u8> {
    let spec = FilterSpec::new(kind).keys(keys).fpr(0.02);
    let spec = match kind {
        FilterKind::CountingBloom => spec.compact(variant),
        FilterKind::Quotient | FilterKind::CacheLineQuotient | FilterKind::Cuckoo => {
            spec.multiset(variant)
        }
        _ => spec,
    };
    let mut filter = spec.build().unwrap();
    let hashes = Stream::Zipf.hashes(keys as u64, 2 * keys);
    if kind == FilterKind::Cuckoo {
        // Inserts one by one and ignores errors, since some keys, or copies of keys, do not fit.
        for hash in &hashes {
            let _ = filter.insert_hash(*hash);
        }
    } else {
        filter.insert_batch(&hashes).unwrap();
    }
    match &mut filter {
        AnyFilter::Quotient(quotient) => resize(quotient, keys),
        AnyFilter::CacheLineQuotient(quotient) => resize(quotient, keys),
        AnyFilter::Cuckoo(cuckoo) => {
            // Removes keys, so that some buckets hold too few fingerprints to encode their flags.
            for hash in hashes.iter().step_by(2 + keys % 5) {
                cuckoo.remove_hash(*hash);
            }
            (0..keys % 3).for_each(|_| cuckoo.grow().unwrap());
        }
        _ => {}
    }
    filter.to_bytes()
}

fn resize<L: Layout>(filter: &mut Quotient<L>, keys: usize) {
    match keys % 3 {
        0 => {}
        1 => filter.grow().unwrap(),
        _ => filter.resize(2 * keys + 47).unwrap(),
    }
}

/// A single change of bytes.
#[derive(Clone, Debug)]
enum Mutation {
    Flip { at: usize, bit: u8 },
    Set { at: usize, byte: u8 },
    Word { at: usize, word: u64 },
    Cut { at: usize },
    Repeat { from: usize, len: usize },
    Swap { a: usize, b: usize },
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = || prop_oneof![2 => 0..HEADER_BYTES, 1 => any::<usize>()];
    let word = prop_oneof![
        any::<u64>(),
        0..100u64,
        Just(u64::MAX),
        (0..64u32).prop_map(|shift| 1 << shift),
        (0..64u32).prop_map(|shift| (1u64 << shift) - 1),
    ];
    prop_oneof![
        (at(), 0..8u8).prop_map(|(at, bit)| Mutation::Flip { at, bit }),
        (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set { at, byte }),
        // Overwrites an aligned word of the header.
        (0..16usize, word).prop_map(|(field, word)| Mutation::Word { at: field * 8, word }),
        any::<usize>().prop_map(|at| Mutation::Cut { at }),
        (at(), 0..200usize).prop_map(|(from, len)| Mutation::Repeat { from, len }),
        (at(), at()).prop_map(|(a, b)| Mutation::Swap { a, b }),
    ]
}

fn mutate(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let Some(last) = bytes.len().checked_sub(1) else { return };
    let within = |at: usize| at % (last + 1);
    match *mutation {
        Mutation::Flip { at, bit } => bytes[within(at)] ^= 1 << bit,
        Mutation::Set { at, byte } => bytes[within(at)] = byte,
        Mutation::Word { at, word } => {
            if let Some(field) = bytes.get_mut(at..at + 8) {
                field.copy_from_slice(&word.to_le_bytes());
            }
        }
        Mutation::Cut { at } => bytes.truncate(within(at)),
        Mutation::Repeat { from, len } => {
            let from = within(from);
            let copy = bytes[from..(from + len).min(last + 1)].to_vec();
            bytes.extend(copy);
        }
        Mutation::Swap { a, b } => bytes.swap(within(a), within(b)),
    }
}

/// Corrects the payload's length and both checksums, as an attacker can.
fn repair(bytes: &mut [u8]) {
    use trommel::Hasher;
    let Some(payload_len) = bytes.len().checked_sub(HEADER_BYTES) else { return };
    let checksum = |bytes: &[u8]| Hasher::xxh3(0).hash_bytes(bytes).raw().to_le_bytes();
    let payload = checksum(&bytes[HEADER_BYTES..]);
    bytes[PAYLOAD_LEN_AT..PAYLOAD_CHECKSUM_AT].copy_from_slice(&(payload_len as u64).to_le_bytes());
    bytes[PAYLOAD_CHECKSUM_AT..PAYLOAD_CHECKSUM_AT + 8].copy_from_slice(&payload);
    let header = checksum(&bytes[..HEADER_CHECKSUM_AT]);
    bytes[HEADER_CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&header);
}

fn kinds() -> impl Strategy<Value = FilterKind> {
    proptest::sample::select(FilterKind::ALL)
}

/// Makes a filter from bytes that were accepted, and uses it like any other filter.
fn exercise(bytes: &[u8]) -> Result<(), TestCaseError> {
    let view = FilterView::parse(bytes).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut filter = AnyFilter::from_bytes(bytes).unwrap();
    prop_assert_eq!(view.kind(), filter.kind());
    let hashes: Vec<KeyHash> = Stream::ALL.iter().flat_map(|stream| stream.hashes(3, 30)).collect();
    let (mut of_view, mut of_filter) = (Bitmap::new(0), Bitmap::new(0));
    view.contains_batch(&hashes, &mut of_view);
    filter.contains_batch(&hashes, &mut of_filter);
    prop_assert_eq!(&of_view, &of_filter);
    prop_assert!(
        hashes.iter().enumerate().all(|(i, hash)| view.contains_hash(*hash) == of_view.get(i))
    );
    prop_assert!((0.0..=1.0).contains(&filter.expected_fpr()));
    prop_assert!(!filter.estimate_len().is_nan());
    let _ = (filter.len(), filter.memory_bytes(), filter.bits_per_key(), filter.hash_count());
    for hash in &hashes[..20] {
        let _ = filter.remove_hash(*hash);
        let _ = filter.count_hash(*hash);
    }
    let twin = filter.clone();
    if filter.merge(&twin).is_err() {
        // A merge of a filter with its own copy can fail only for a multiset, which can lack slots for the copies of
        // keys, or get too many copies of a key.
        prop_assert!(is_multiset(&filter));
        prop_assert_eq!(filter.to_bytes(), twin.to_bytes());
    }
    let taken = match filter.insert_batch(&hashes) {
        Ok(()) => hashes.len(),
        Err(full) => {
            prop_assert!(filter.hash_count().is_none(), "{full}");
            full.inserted
        }
    };
    filter.contains_batch(&hashes[..taken], &mut of_filter);
    prop_assert_eq!(of_filter.count_ones(), taken);
    prop_assert!(AnyFilter::from_bytes(&filter.to_bytes()).is_ok());
    Ok(())
}

fn is_multiset(filter: &AnyFilter) -> bool {
    match filter {
        AnyFilter::Quotient(filter) => filter.is_multiset(),
        AnyFilter::CacheLineQuotient(filter) => filter.is_multiset(),
        AnyFilter::Cuckoo(filter) => filter.is_multiset(),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn damaged_bytes_are_refused(
        kind in kinds(),
        variant: bool,
        keys in 0..40usize,
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let good = container(kind, variant, keys);
        let mut bytes = good.clone();
        mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
        prop_assert_eq!(FilterView::parse(&bytes).is_ok(), bytes == good);
        prop_assert_eq!(AnyFilter::from_bytes(&bytes).is_ok(), bytes == good);
    }

    #[test]
    fn forged_bytes_are_refused_or_give_a_filter(
        kind in kinds(),
        variant: bool,
        keys in 0..40usize,
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let mut bytes = container(kind, variant, keys);
        mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
        repair(&mut bytes);
        let owned = AnyFilter::from_bytes(&bytes).is_ok();
        prop_assert_eq!(FilterView::parse(&bytes).is_ok(), owned);
        if owned {
            exercise(&bytes)?;
        }
    }

    #[test]
    fn noise_is_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..600),
        with_magic: bool,
    ) {
        if with_magic && bytes.len() >= 10 {
            bytes[..10].copy_from_slice(b"TROMMEL\0\x01\0");
        }
        prop_assert!(FilterView::parse(&bytes).is_err());
        prop_assert!(AnyFilter::from_bytes(&bytes).is_err());
    }
}
