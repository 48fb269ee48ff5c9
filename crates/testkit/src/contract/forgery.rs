//! Forged containers, with right checksums.
//!
//! A checksum protects from accidents, not from people. So every field must also be checked for values that no writer
//! writes, and bytes that are accepted must be a filter that can be used like any other filter.

use super::{answers, answers_singly, assert_all_found, fill_up};
use crate::Splitmix;
use crate::streams::{Disjoint, Stream};
use crate::subject::{Room, Subject, built, spec};
use trommel_base::container::{self, HEADER_BYTES, Header, PARAMETERS};
use trommel_base::{Filter, FilterKind, Hasher, Insert, KeyHash};
use trommel_simd::Isa;

/// A value that is more likely to break arithmetic than a random value is.
fn awkward(random: &mut Splitmix, original: u64) -> u64 {
    let power = 1u64 << random.below(64);
    match random.below(12) {
        0 => 0,
        1 => u64::MAX,
        2 => power,
        3 => power - 1,
        4 => power.wrapping_add(1),
        5 => original.wrapping_add(1),
        6 => original.wrapping_sub(1),
        7 => original.wrapping_mul(2),
        8 => original / 2,
        9 => random.below(70),
        10 => random.word(),
        // The original number with random high bits.
        _ => original ^ random.word() << 32,
    }
}

/// Reads accepted bytes as a view and as an owned filter, looks keys up in both, inserts keys into the owned filter,
/// and freezes it. The answers to lookups can be whatever the forger wanted, so they are only compared with each other.
/// Fails if the filter takes too much memory, has an impossible false-positive rate, does not find a key that was
/// inserted, or writes other bytes than it was read from.
pub(super) fn exercise<S: Subject>(bytes: &[u8]) {
    let view = S::view(bytes).expect("bytes that an owned filter accepts are refused as a view");
    let mut filter = S::from_bytes(bytes).expect("bytes accepted before are refused");
    assert!(S::to_bytes(&filter) == bytes, "accepted bytes were written again as other bytes");
    let payload = bytes.len() - HEADER_BYTES;
    assert!(filter.memory_bytes() <= 16 * payload + 4096, "too much memory for these bytes");
    let hashes: Vec<KeyHash> = Stream::ALL.iter().flat_map(|stream| stream.hashes(1, 40)).collect();
    let expected = answers(&view, &hashes);
    assert_eq!(answers(&filter, &hashes), expected);
    assert_eq!(answers_singly(&filter, &hashes), expected);
    let fpr = filter.expected_fpr();
    assert!((0.0..=1.0).contains(&fpr), "a false-positive rate of {fpr}");
    let _ = (filter.len(), filter.is_empty(), filter.bits_per_key());
    let taken = fill_up::<S>(&mut filter, &hashes);
    assert_all_found(&filter, &hashes[..taken], "a batch");
    for hash in &hashes {
        let taken = filter.insert_hash(*hash).is_ok();
        assert!(taken || S::ROOM != Room::Endless);
        assert!(!taken || filter.contains_hash(*hash));
    }
    let again = S::to_bytes(&filter);
    assert!(S::to_bytes(&S::from_bytes(&again).expect("our own bytes are refused")) == again);
}

/// Forges containers by one to three changes: a field of the header gets an awkward value, the payload is shortened,
/// lengthened or emptied, or the number of units and the payload's length are changed together. Both checksums are
/// right.
pub fn forged_parameters_never_panic_hang_or_allocate<S: Subject>() {
    let mut accepted = 0;
    for keys in [0, 1, 30] {
        let mut filter = built::<S>(&spec(keys, 0.01, Isa::Portable));
        super::fill::<S>(&mut filter, &Disjoint::new(4, keys, 0).members);
        let bytes = S::to_bytes(&filter);
        let parsed = container::parse(&bytes).expect("our own bytes are refused");
        let mut random = Splitmix::new(0xF0 + keys as u64);
        for _ in 0..3000 {
            let (header, payload) = forge(&mut random, parsed.header(), parsed.payload());
            let forged = header.to_bytes(&[&payload]);
            let owned = S::from_bytes(&forged);
            assert_eq!(
                owned.is_ok(),
                S::view(&forged).is_ok(),
                "a filter and a view disagree on {header:?}"
            );
            if owned.is_ok() {
                accepted += 1;
                exercise::<S>(&forged);
            }
        }
    }
    assert!(accepted > 100, "only {accepted} forgeries were accepted: too few to tell");
}

fn forge(random: &mut Splitmix, mut header: Header, payload: &[u8]) -> (Header, Vec<u8>) {
    let mut payload = payload.to_vec();
    for _ in 0..=random.below(3) {
        match random.below(9) {
            field @ 0..4 => {
                const { assert!(PARAMETERS == 4) };
                let parameter = &mut header.parameters[field as usize];
                *parameter = awkward(random, *parameter);
            }
            4 => header.len = awkward(random, header.len),
            5 => header.hasher = Hasher::xxh64(awkward(random, 0)),
            6 => {
                let kinds = FilterKind::ALL;
                header.kind = kinds[random.below(kinds.len() as u64) as usize];
            }
            7 => {
                let sizes = [0, 1, 7, 8, 16, 31, 32, 64, 65, 128, 320, payload.len() + 8];
                payload.resize(sizes[random.below(sizes.len() as u64) as usize], 0xFF);
            }
            _ => {
                // The payload's length fits the number of units, so that a check of the length does not refuse it.
                let units = 1 + random.below(40);
                header.parameters[0] = units;
                let unit_bytes = 8 << random.below(4);
                payload.resize((units * unit_bytes) as usize, random.word() as u8);
            }
        }
    }
    (header, payload)
}

/// The checksums are right, but the payload is noise, ones or zeros, or has one damaged byte. The bytes are refused, or
/// they are a filter like any other.
pub fn a_forged_payload_is_only_another_filter<S: Subject>() {
    let mut random = Splitmix::new(0xFA);
    let mut filter = built::<S>(&spec(100, 0.01, Isa::Portable));
    super::fill::<S>(&mut filter, &Disjoint::new(4, 100, 0).members);
    let bytes = S::to_bytes(&filter);
    let parsed = container::parse(&bytes).expect("our own bytes are refused");
    let len = parsed.payload().len();
    for round in 0..200 {
        let payload = match round {
            0 => vec![0; len],
            1 => vec![0xFF; len],
            2..100 => random.bytes(len),
            _ => {
                let mut payload = parsed.payload().to_vec();
                let at = random.below(len as u64) as usize;
                payload[at] ^= random.word() as u8;
                payload
            }
        };
        let forged = parsed.header().to_bytes(&[&payload]);
        let owned = S::from_bytes(&forged);
        assert_eq!(owned.is_ok(), S::view(&forged).is_ok());
        if owned.is_ok() {
            exercise::<S>(&forged);
        }
    }
}
