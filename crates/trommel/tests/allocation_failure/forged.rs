//! `AnyFilter` and `FilterView` allocate nothing if they refuse frozen bytes with a forged number in the header.

use crate::allocator::counted;
use trommel::container::{HEADER_BYTES, OwnedView};
use trommel::{AnyFilter, FilterKind, FilterSpec, FilterView, Hasher, Insert, KeyHash};
use trommel_testkit::streams::mix;

/// Offsets of the fields that state numbers: the number of keys, the four parameters, and the length of the payload.
const NUMBERS_AT: [usize; 6] = [24, 32, 40, 48, 56, 64];
const HEADER_CHECKSUM_AT: usize = 120;

/// Replaces a number in the header, and corrects the header's checksum, as an attacker can.
fn forge(bytes: &[u8], at: usize, number: u64) -> Vec<u8> {
    let mut forged = bytes.to_vec();
    forged[at..at + 8].copy_from_slice(&number.to_le_bytes());
    let checksum = Hasher::xxh3(0).hash_bytes(&forged[..HEADER_CHECKSUM_AT]).raw();
    forged[HEADER_CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    forged
}

#[test]
fn refused_bytes_allocate_nothing() {
    let hashes: Vec<KeyHash> = (0..500).map(|key| KeyHash::from_raw(mix(key))).collect();
    let compact = FilterSpec::new(FilterKind::CountingBloom).compact(true);
    let specs = FilterKind::ALL.iter().map(|kind| FilterSpec::new(*kind)).chain([compact]);
    let mut refused = 0;
    for spec in specs {
        let mut filter = spec.keys(500).build().unwrap();
        filter.insert_batch(&hashes).unwrap();
        let bytes = filter.to_bytes();
        for at in NUMBERS_AT {
            for number in [0, 1, 2, 1 << 20, 1 << 31, 1 << 47, 1 << 60, 1 << 63, u64::MAX] {
                let forged = forge(&bytes, at, number);
                let what = format!("{}: {number} at byte {at}", filter.kind());
                let (owned, allocations) = counted(|| AnyFilter::from_bytes(&forged));
                assert!(owned.is_ok() || allocations == 0, "{what}: {allocations} allocations");
                let (view, allocations) = counted(|| FilterView::parse(&forged));
                assert_eq!((view.is_ok(), allocations), (owned.is_ok(), 0), "{what}");
                refused += usize::from(owned.is_err());
            }
        }
        // An owned view moves the vector into an `Arc`, which is one allocation. If the view then refuses the bytes,
        // it allocates nothing more.
        let forged = forge(&bytes, 64, 1 << 60);
        let (view, allocations) = counted(|| OwnedView::parse(forged));
        assert!(view.is_err() && allocations == 1);
    }
    assert!(refused > 300, "only {refused} of the forged filters were refused");
}
