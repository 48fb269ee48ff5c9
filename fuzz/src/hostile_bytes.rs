//! Checks that bytes from an untrusted source are either refused, or give a filter that behaves like any other filter.
//!
//! The first byte of an input selects one of three uses of the other bytes:
//!
//! - the other bytes are parsed as a frozen filter;
//! - the other bytes get a correct magic, version, length and checksums, and are then parsed as a frozen filter;
//! - the other bytes give the options, the number of keys and the table of a frozen quotient filter, whose other parts
//!   are valid, and this filter is parsed.

use super::input::Input;
use trommel::container::{self, HEADER_BYTES, Header};
use trommel::quotient::{Layout, Quotient};
use trommel::{
    AnyFilter, Bitmap, Count, Filter, FilterKind, FilterSpec, FilterView, Hasher, Insert, KeyHash,
    Merge, Remove,
};

/// Longer inputs are cut to this number of bytes, so that an input takes little time.
const MOST_BYTES: usize = 1 << 14;

/// Runs an input. Returns 1 if its bytes were accepted as a filter, otherwise 0.
pub fn run(data: &[u8]) -> u64 {
    let Some((mode, data)) = data.split_first() else { return 0 };
    let data = &data[..data.len().min(MOST_BYTES)];
    let accepted = match mode % 3 {
        0 => judge(data),
        1 => judge(&repaired(data)),
        _ => judge(&with_table(data)),
    };
    accepted.into()
}

/// Gives the bytes a correct magic, version, length and checksums, as an attacker could do.
fn repaired(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    bytes.resize(bytes.len().max(HEADER_BYTES), 0);
    let checksum = |bytes: &[u8]| Hasher::xxh3(0).hash_bytes(bytes).raw().to_le_bytes();
    let (head, payload) = bytes.split_at_mut(HEADER_BYTES);
    head[..8].copy_from_slice(&container::MAGIC);
    head[8..10].copy_from_slice(&container::VERSION.to_le_bytes());
    head[64..72].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    head[72..80].copy_from_slice(&checksum(payload));
    let header = checksum(&head[..120]);
    head[120..].copy_from_slice(&header);
    bytes
}

/// A frozen quotient filter with few slots. The first bytes of `data` choose its options, its size, and the number of
/// keys that its header states. The other bytes of `data`, cut or extended by zeros to the right length, are its table.
/// So the frozen filter is valid, except perhaps for its table and the number of keys in its header.
fn with_table(data: &[u8]) -> Vec<u8> {
    let mut input = Input(data);
    let flags = input.byte();
    let keys = usize::from(input.byte());
    let bits = 1 + u32::from(input.byte()) % 32;
    let line = flags & 1 != 0;
    let kind = if line { FilterKind::CacheLineQuotient } else { FilterKind::Quotient };
    let spec = FilterSpec::new(kind).keys(keys).multiset(flags & 2 != 0);
    let spec = if line { spec } else { spec.remainder_bits(bits) };
    let mut filter = spec.build().expect("small filters can be built");
    let size = usize::from(input.byte());
    match &mut filter {
        AnyFilter::Quotient(filter) => resize(filter, flags, size),
        AnyFilter::CacheLineQuotient(filter) => resize(filter, flags, size),
        other => panic!("a quotient filter was asked for, but this is {}", other.kind()),
    }
    let bytes = filter.to_bytes();
    let parsed = container::parse(&bytes).expect("our own bytes are refused");
    let len = u64::from(input.short());
    let mut payload = input.0.to_vec();
    payload.resize(parsed.payload().len(), 0);
    Header { len, ..parsed.header() }.to_bytes(&[&payload])
}

fn resize<L: Layout>(filter: &mut Quotient<L>, flags: u8, size: usize) {
    // If the fingerprints are too short or too long for the new size, the filter stays as it is.
    let _ = match flags >> 2 & 3 {
        0 => Ok(()),
        1 => filter.grow(),
        _ => filter.resize(4 * size),
    };
}

/// Parses the bytes as a view and as an owned filter. Both must be refused with the same error, or both be accepted.
/// Returns whether they were accepted.
fn judge(bytes: &[u8]) -> bool {
    let view = FilterView::parse(bytes);
    let owned = AnyFilter::from_bytes(bytes);
    match (view, owned) {
        (Ok(view), Ok(owned)) => {
            exercise(bytes, &view, owned);
            true
        }
        (Err(one), Err(other)) => {
            assert_eq!(one, other);
            assert!(!one.to_string().is_empty());
            false
        }
        (view, owned) => panic!("the view is {view:?}, but the owned filter {owned:?}"),
    }
}

fn probes() -> Vec<KeyHash> {
    let spread = (0..200u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let ends = (0..40).flat_map(|i| [i, u64::MAX - i, 1 << i, u64::MAX << i]);
    spread.chain(ends).map(KeyHash::from_raw).collect()
}

/// Looks up the hashes in a batch and one by one, checks that the answers are equal, and returns them.
fn answers(filter: &impl Filter, hashes: &[KeyHash]) -> Bitmap {
    let mut found = Bitmap::new(0);
    filter.contains_batch(hashes, &mut found);
    for (i, hash) in hashes.iter().enumerate() {
        assert_eq!(filter.contains_hash(*hash), found.get(i));
    }
    found
}

/// Uses an accepted filter: looks up, counts, removes and inserts keys, merges and freezes it.
fn exercise(bytes: &[u8], view: &FilterView<'_>, mut filter: AnyFilter) {
    assert!(filter.to_bytes() == bytes, "accepted bytes are changed when they are written back");
    assert!(filter.memory_bytes() <= 16 * bytes.len() + 4096);
    let hashes = probes();
    assert_eq!(answers(view, &hashes), answers(&filter, &hashes));
    assert!((0.0..=1.0).contains(&filter.expected_fpr()));
    match &filter {
        AnyFilter::Quotient(filter) => exercise_fingerprints(bytes, filter),
        AnyFilter::CacheLineQuotient(filter) => exercise_fingerprints(bytes, filter),
        // The merge with its clone doubles the copies of each fingerprint, for which a multiset can lack room.
        AnyFilter::Cuckoo(cuckoo) if cuckoo.is_multiset() => {
            let twin = filter.clone();
            if filter.merge(&twin).is_err() {
                assert!(filter.to_bytes() == bytes);
            }
        }
        _ => {
            let twin = filter.clone();
            filter.merge(&twin).expect("a filter merges with its own copy");
        }
    }
    for hash in &hashes[..100] {
        let _ = filter.remove_hash(*hash);
        let _ = filter.count_hash(*hash);
    }
    let inserted = match filter.insert_batch(&hashes) {
        Ok(()) => hashes.len(),
        Err(full) => full.inserted,
    };
    assert_eq!(answers(&filter, &hashes[..inserted]).count_ones(), inserted);
    AnyFilter::from_bytes(&filter.to_bytes()).expect("our own bytes are refused");
}

/// Uses an accepted quotient filter in more ways. Lists its fingerprints, removes them from a copy and inserts them
/// again. Inserts keys into a second copy, which can become full. Merges the second copy into the first, in which there
/// can be too little room. Resizes further copies.
fn exercise_fingerprints<L: Layout>(bytes: &[u8], filter: &Quotient<L>) {
    let geometry = filter.geometry();
    let fingerprints: Vec<u64> = filter.fingerprints().collect();
    assert!(fingerprints.len() == filter.len() && fingerprints.is_sorted());
    let hash_of = |f: u64| {
        let fingerprints = u128::from(geometry.fingerprints);
        KeyHash::from_raw((u128::from(f) << 64).div_ceil(fingerprints) as u64)
    };
    let mut emptied = filter.clone();
    for f in fingerprints.iter().rev() {
        assert!(*f < geometry.fingerprints && filter.contains_hash(hash_of(*f)));
        assert!((1..=u64::from(geometry.copies)).contains(&filter.count_hash(hash_of(*f))));
        assert!(emptied.remove_hash(hash_of(*f)));
    }
    assert!(emptied.is_empty() && emptied.table().iter().all(|byte| *byte == 0));
    for f in &fingerprints {
        assert_eq!(emptied.insert_hash(hash_of(*f)), Ok(true));
    }
    assert!(emptied.to_bytes() == bytes, "inserting the fingerprints again gives other bytes");

    let mut full = filter.clone();
    for i in 0..2000u64 {
        let hash = KeyHash::from_raw(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let is_inserted = full.insert_hash(hash).is_ok();
        assert!(!is_inserted || full.contains_hash(hash));
    }
    Quotient::<L>::from_bytes(&full.to_bytes()).expect("our own bytes are refused");
    let before = emptied.to_bytes();
    if emptied.merge(&full).is_err() {
        assert!(emptied.to_bytes() == before);
    }
    for resize in [Quotient::grow, Quotient::shrink_to_fit] {
        let mut resized = filter.clone();
        if resize(&mut resized).is_ok() {
            assert!(resized.fingerprints().eq(fingerprints.iter().copied()));
            Quotient::<L>::from_bytes(&resized.to_bytes()).expect("our own bytes are refused");
        }
    }
}
