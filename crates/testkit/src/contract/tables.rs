//! Forged tables, with right checksums.
//!
//! A multiset of fingerprints has exactly one table of a given size. So a forged table is either refused, or it is the
//! table of other fingerprints. An accepted table can be enumerated, emptied, filled, grown and merged like any other
//! table.

use super::{fill_up, forgery};
use crate::Splitmix;
use crate::streams::{Stream, distinct};
use crate::subject::{Exact, Resize, built, spec};
use std::collections::BTreeMap;
use trommel_base::container::{self, Header};
use trommel_base::{Count, Filter, Insert, KeyHash, Merge, Remove};
use trommel_simd::Isa;

/// Hashes in clusters. One quarter are copies of one hash. One half are above that hash by up to 1/32 of the range of
/// all hashes: they make clusters that span blocks, and have different fingerprints even in a small filter. The last
/// quarter are anywhere.
fn clustered(seed: u64, keys: usize) -> Vec<KeyHash> {
    let mut random = Splitmix::new(seed);
    let centre = random.word();
    (0..keys)
        .map(|i| match i % 4 {
            0 => KeyHash::from_raw(random.word()),
            1 => KeyHash::from_raw(centre),
            _ => KeyHash::from_raw(centre.wrapping_add(random.word() >> 5)),
        })
        .collect()
}

/// A filter of few blocks that is highly loaded.
fn highly_loaded<S: Exact>(keys: usize) -> S::Filter {
    let mut filter = built::<S>(&spec(keys, 0.03, Isa::Portable));
    fill_up::<S>(&mut filter, &clustered(keys as u64, keys * 3 / 2));
    filter
}

/// Enumerates, empties, fills up, merges and resizes the filter of an accepted table. Asserts that the filter holds the
/// fingerprints that it enumerates, and that inserting these fingerprints into an empty filter makes the same bytes.
fn exercise<S: Resize>(bytes: &[u8]) {
    forgery::exercise::<S>(bytes);
    let filter = S::from_bytes(bytes).expect("bytes that were accepted are now refused");
    let fingerprints = S::fingerprints(&filter);
    assert!(fingerprints.len() == filter.len() && fingerprints.is_sorted());
    let mut held: BTreeMap<u64, u64> = BTreeMap::new();
    fingerprints.iter().for_each(|f| *held.entry(*f).or_default() += 1);
    for (f, copies) in &held {
        let hash = S::hash_of(&filter, *f);
        assert_eq!(S::fingerprint(&filter, hash), *f, "an enumerated fingerprint has no hash");
        assert!(*copies <= S::copies() && filter.count_hash(hash) == *copies);
    }

    let mut emptied = filter.clone();
    for f in fingerprints.iter().rev() {
        assert!(emptied.remove_hash(S::hash_of(&filter, *f)));
    }
    assert!(emptied.is_empty() && S::fingerprints(&emptied).is_empty());
    let mut again = emptied.clone();
    for f in &fingerprints {
        assert_eq!(again.insert_hash(S::hash_of(&filter, *f)), Ok(true));
    }
    assert!(S::to_bytes(&again) == bytes, "inserting the fingerprints makes another table");

    let mut full = filter.clone();
    let more = distinct(0xF0, 0..2 * S::slots(&filter).min(5000) + 600);
    fill_up::<S>(&mut full, &more);
    assert!(S::from_bytes(&S::to_bytes(&full)).is_ok());

    let mut merged = emptied;
    merged.merge(&filter).expect("a filter does not merge into its empty copy");
    assert!(S::to_bytes(&merged) == bytes);

    for resize in [S::grow, |filter: &mut S::Filter| S::resize(filter, filter.len() + 77)] {
        let mut resized = filter.clone();
        // If the numbers of slots and fingerprints in the header are forged, a larger table may have no bit left for
        // remainders.
        if resize(&mut resized).is_ok() {
            assert!(S::fingerprints(&resized) == fingerprints);
            resized.insert_hash(KeyHash::from_raw(12_345)).expect("no room after a resize");
            assert!(S::from_bytes(&S::to_bytes(&resized)).is_ok());
        }
    }
}

/// Reads a forged filter, and exercises the filter if it is accepted. Returns whether it is accepted.
fn judge<S: Resize>(header: Header, payload: &[u8]) -> bool {
    let forged = header.to_bytes(&[payload]);
    let owned = S::from_bytes(&forged);
    assert_eq!(owned.is_ok(), S::view(&forged).is_ok());
    match owned {
        Ok(_) => exercise::<S>(&forged),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    S::from_bytes(&forged).is_ok()
}

/// Flips every bit of the table and of the numbers in the header, one at a time, and exercises the filters that are
/// accepted. Fails if a changed number of keys is accepted, or a changed seed is refused. Returns how many flips in the
/// table were accepted.
fn flip_each<S: Resize>(filter: &S::Filter) -> usize {
    let bytes = S::to_bytes(filter);
    let parsed = container::parse(&bytes).expect("our own bytes are refused");
    let (header, payload) = (parsed.header(), parsed.payload());
    let mut payload = payload.to_vec();
    for bit in 0..64 {
        let mut forged = header;
        forged.len ^= 1 << bit;
        assert!(
            !judge::<S>(forged, &payload),
            "a header with {} keys was accepted for a table of {}",
            forged.len,
            header.len
        );
        for parameter in 0..forged.parameters.len() {
            let mut forged = header;
            forged.parameters[parameter] ^= 1 << bit;
            judge::<S>(forged, &payload);
        }
        let mut forged = header;
        forged.hasher = header.hasher.with_seed(header.hasher.seed() ^ 1 << bit);
        assert!(judge::<S>(forged, &payload), "a filter with another seed was refused");
    }
    let mut accepted = 0;
    for bit in 0..payload.len() * 8 {
        payload[bit / 8] ^= 1 << (bit % 8);
        accepted += usize::from(judge::<S>(header, &payload));
        payload[bit / 8] ^= 1 << (bit % 8);
    }
    accepted
}

/// A table with one flipped bit is refused or makes another filter. The header keeps its number of keys, so an
/// accepted table has one fingerprint in place of another.
pub fn a_flipped_bit_is_refused_or_makes_another_filter<S: Resize>() {
    assert_eq!(
        flip_each::<S>(&highly_loaded::<S>(0)),
        0,
        "flipped bits of an empty table were accepted"
    );
    for keys in [1, 20, 90] {
        let accepted = flip_each::<S>(&highly_loaded::<S>(keys));
        assert!(accepted > 0, "no flip was accepted: the reader is too strict, or none is valid");
    }
}

/// A table with one flipped bit is refused or makes another filter, even if the filter was doubled, or resized to a
/// size that is not a multiple of its first size.
pub fn flipped_bits_of_resized_filters_are_refused_or_make_another_filter<S: Resize>() {
    for (doublings, keys) in [(1, None), (3, None), (0, Some(90)), (0, Some(133)), (1, Some(201))] {
        let mut filter = highly_loaded::<S>(40);
        (0..doublings).for_each(|_| S::grow(&mut filter).unwrap());
        if let Some(keys) = keys {
            S::resize(&mut filter, keys).unwrap();
        }
        assert!(flip_each::<S>(&filter) > 0);
    }
}

/// A table with two flipped bits is refused or makes another filter. The bits are near each other or anywhere, and the
/// header's number of keys stays the same or changes by one. So the end of a run (the sorted remainders of one
/// quotient) can move, a quotient can be exchanged for its neighbour, or a slot can be taken or freed.
pub fn two_flipped_bits_are_refused_or_make_another_filter<S: Resize>() {
    let mut random = Splitmix::new(0xF1);
    for keys in [20, 90, 400] {
        let bytes = S::to_bytes(&highly_loaded::<S>(keys));
        let parsed = container::parse(&bytes).expect("our own bytes are refused");
        let (header, payload) = (parsed.header(), parsed.payload());
        let bits = payload.len() as u64 * 8;
        let mut accepted = 0;
        for round in 0..20_000 {
            let mut forged = payload.to_vec();
            let first = random.below(bits);
            let second = match round % 3 {
                0 => random.below(bits),
                1 => (first + 1 + random.below(8)) % bits,
                _ => (first + 1 + random.below(600)) % bits,
            };
            for bit in [first, second] {
                forged[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            let len = (header.len + random.below(3)).wrapping_sub(1);
            accepted += usize::from(judge::<S>(Header { len, ..header }, &forged));
        }
        assert!(
            accepted > 0,
            "no two flips accepted for {keys} keys: the reader is too strict, or none is valid"
        );
    }
}

/// An interrupted write can leave a table that contains a part of another filter's table. With the header of either
/// filter, such a table is refused or makes another filter.
pub fn a_torn_table_is_refused_or_makes_another_filter<S: Resize>() {
    let mut random = Splitmix::new(0xF2);
    for keys in [0, 20, 90, 400] {
        let empty = built::<S>(&spec(keys, 0.03, Isa::Portable));
        let mut other = empty.clone();
        fill_up::<S>(&mut other, &Stream::Random.hashes(7, keys / 2 + 1));
        let tables =
            [S::to_bytes(&highly_loaded::<S>(keys)), S::to_bytes(&other), S::to_bytes(&empty)];
        let parsed = tables.each_ref().map(|bytes| container::parse(bytes).expect("our own bytes"));
        for _ in 0..3000 {
            let [a, b] = [0, 0].map(|_| parsed[random.below(3) as usize]);
            let mut torn = a.payload().to_vec();
            let [from, to] = [0, 0].map(|_| random.below(torn.len() as u64 + 1) as usize);
            let (from, to) = (from.min(to), from.max(to));
            torn[from..to].copy_from_slice(&b.payload()[from..to]);
            judge::<S>(a.header(), &torn);
            judge::<S>(b.header(), &torn);
        }
        // The whole tables are accepted.
        assert!(parsed.iter().all(|parsed| judge::<S>(parsed.header(), parsed.payload())));
    }
}
