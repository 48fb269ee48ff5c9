//! Tests of forged tables with right checksums. Tables that break a rule of docs/FORMAT.md are refused. All other
//! tables, even those that no writer writes, are accepted. The accepted filters answer lookups, take inserts and
//! removals, and can be doubled and merged, like unforged ones.

mod words;

use trommel_base::container::{self, Header};
use trommel_base::{Bitmap, Count, Filter, FormatError, Insert, KeyHash, Merge, Remove};
use trommel_cuckoo::CuckooFilter;
use trommel_simd::Isa;
use trommel_testkit::Splitmix;
use trommel_testkit::streams::distinct;

const WIDTHS: [u32; 4] = [8, 12, 16, 32];

/// Asserts that `parse` and `from_bytes` refuse the bytes with the same error, and returns this error.
#[track_caller]
fn refused(bytes: &[u8]) -> FormatError {
    let error = CuckooFilter::parse(bytes).expect_err("the view must refuse the bytes");
    assert_eq!(
        CuckooFilter::from_bytes(bytes).expect_err("`from_bytes` must refuse the bytes"),
        error
    );
    assert!(!error.to_string().is_empty());
    error
}

#[track_caller]
fn assert_structure(bytes: &[u8], expected: &str) {
    match refused(bytes) {
        FormatError::Structure { name, .. } => assert_eq!(name, expected),
        FormatError::Field { name, .. } => assert_eq!(name, expected),
        error => panic!("an error about {expected} was expected: {error}"),
    }
}

/// Looks keys up in a filter of accepted bytes, merges it with a clone, removes and inserts keys, doubles it, and reads
/// its bytes again. The filter can answer anything about keys that this function did not insert. But nothing panics,
/// and the keys that this function inserts are found.
fn exercise(bytes: &[u8], random: &mut Splitmix) {
    let view = CuckooFilter::parse(bytes).unwrap();
    let mut filter = CuckooFilter::from_bytes(bytes).unwrap();
    assert!(filter.to_bytes() == bytes);
    let hashes: Vec<KeyHash> = (0..300).map(|_| KeyHash::from_raw(random.word())).collect();
    let (mut found, mut of_view) = (Bitmap::new(0), Bitmap::new(0));
    filter.contains_batch(&hashes, &mut found);
    view.contains_batch(&hashes, &mut of_view);
    assert_eq!(found, of_view);
    for (i, hash) in hashes.iter().enumerate() {
        assert_eq!(filter.contains_hash(*hash), found.get(i));
        assert_eq!(filter.count_hash(*hash) > 0, found.get(i));
    }
    assert!((0.0..=1.0).contains(&filter.expected_fpr()));
    let twin = filter.clone();
    let before = filter.to_bytes();
    if filter.merge(&twin).is_err() {
        assert!(filter.is_multiset() && filter.to_bytes() == before);
    }
    filter = twin;
    for (i, hash) in hashes.iter().enumerate() {
        match i % 5 {
            0 => {
                let (there, len) = (filter.contains_hash(*hash), filter.len());
                assert_eq!(filter.remove_hash(*hash), there);
                assert_eq!(filter.len(), len - usize::from(there));
            }
            _ => {
                let (before, len) = (filter.to_bytes(), filter.len());
                match filter.insert_hash(*hash) {
                    Ok(new) => {
                        assert!(filter.contains_hash(*hash));
                        assert_eq!(filter.len(), len + usize::from(new));
                    }
                    Err(_) => assert!(filter.to_bytes() == before),
                }
            }
        }
    }
    let taken = match filter.insert_batch(&hashes) {
        Ok(()) => hashes.len(),
        Err(full) => full.inserted,
    };
    assert!(hashes[..taken].iter().all(|hash| filter.contains_hash(*hash)));
    if filter.grow().is_ok() {
        assert!(hashes[..taken].iter().all(|hash| filter.contains_hash(*hash)));
    }
    let again = filter.to_bytes();
    assert!(CuckooFilter::from_bytes(&again).unwrap().to_bytes() == again);
}

/// A random filter: any width, up to 80 buckets, then no, one or two doublings, and any load up to overflow.
fn sample(random: &mut Splitmix) -> CuckooFilter {
    let bits = WIDTHS[random.below(4) as usize];
    let buckets = 2 + 2 * random.below(40);
    let mut filter = words::filter_of_buckets(buckets, bits, random.below(2) == 0);
    (0..random.below(3)).for_each(|_| filter.grow().unwrap());
    let keys = random.below(filter.geometry().slots() * 6 / 5 + 1);
    for hash in distinct(random.word(), 0..keys) {
        let _ = filter.insert_hash(hash);
        if random.below(6) == 0 {
            filter.remove_hash(hash);
        }
    }
    filter
}

/// Slots are allowed to have any content, as long as the header has the right number of fingerprints, and each
/// fingerprint of a doubled filter is in a bucket where it belongs.
#[test]
fn any_table_with_the_right_count_is_accepted() {
    let mut random = Splitmix::new(1);
    let mut accepted = 0;
    for round in 0..2000 {
        let filter = sample(&mut random);
        let bytes = filter.to_bytes();
        let parsed = container::parse(&bytes).unwrap();
        let mut payload = parsed.payload().to_vec();
        let table = filter.memory_bytes();
        let mut header = parsed.header();
        let most = 1 << random.below(8);
        for _ in 0..=random.below(most) {
            let at = random.below(table as u64) as usize;
            payload[at] = [0, 0xFF, random.word() as u8][random.below(3) as usize];
        }
        if filter.geometry().fingerprint_bits == 12 {
            payload[table - 2..table].fill(0);
        }
        // The header has the number of fingerprints in the forged filter or, in every eighth round, a wrong number.
        header.parameters[3] = random.below(4);
        let bits = filter.geometry().fingerprint_bits as usize;
        let slot = |s: usize| {
            (0..bits).any(|i| payload[(s * bits + i) / 8] >> ((s * bits + i) % 8) & 1 == 1)
        };
        let held = (0..filter.geometry().slots() as usize).filter(|s| slot(*s)).count();
        header.len = (held + filter.overflowing()) as u64;
        let is_count_right = round % 8 != 0;
        if !is_count_right {
            header.len ^= 1 << random.below(64);
        }
        let forged = header.to_bytes(&[&payload]);
        match CuckooFilter::parse(&forged) {
            Ok(_) => {
                assert!(is_count_right, "only the right count is accepted");
                accepted += 1;
                exercise(&forged, &mut random);
            }
            Err(error) => {
                let is_misplaced = filter.geometry().doublings > 0
                    && matches!(error, FormatError::Structure { name: "fingerprint", .. });
                assert!(is_misplaced || !is_count_right, "refused a valid table: {error}");
                refused(&forged);
            }
        }
    }
    assert!(accepted > 600, "only {accepted} tables accepted");
}

/// A table that consists of noise, or of one repeated byte, is accepted.
#[test]
fn noise_with_the_right_count_is_accepted() {
    let mut random = Splitmix::new(2);
    for round in 0..800 {
        let bits = WIDTHS[round % 4];
        let filter = words::filter_of_buckets(2 + 2 * random.below(30), bits, round % 3 == 0);
        let bytes = filter.to_bytes();
        let mut header = container::parse(&bytes).unwrap().header();
        let slots = filter.geometry().slots() as usize;
        let table = slots * bits as usize / 8;
        let mut payload = match round % 10 {
            0 => vec![0xFF; table],
            1 => vec![0x11; table],
            _ => random.bytes(table),
        };
        let bit = |at: usize| payload[at / 8] >> (at % 8) & 1 == 1;
        let is_taken = |s: &usize| (0..bits as usize).any(|i| bit(s * bits as usize + i));
        header.len = (0..slots).filter(is_taken).count() as u64;
        header.parameters[3] = random.below(4);
        payload.resize(filter.memory_bytes(), 0);
        exercise(&header.to_bytes(&[&payload]), &mut random);
    }
}

/// These are refused: overflow entries out of order; an entry with the higher of its two buckets, with fingerprint 0,
/// with a fingerprint that is too wide, with a bucket beyond the table, or, in a doubled filter (which has several
/// tables), with a bucket of one table and a fingerprint of another; too many entries; half an entry; and padding that
/// is not zero.
#[test]
fn overflow_and_padding_that_no_writer_writes_are_refused() {
    for bits in WIDTHS {
        for doublings in [0, 1] {
            let mut filter = words::filter_of_buckets(300, bits, true);
            (0..doublings).for_each(|_| filter.grow().unwrap());
            let mut keys = distinct(3, 0..10_000).into_iter();
            while filter.insert_hash(keys.next().unwrap()).is_ok() {}
            let bytes = filter.to_bytes();
            let Header { len, .. } = container::parse(&bytes).unwrap().header();
            let payload = container::parse(&bytes).unwrap().payload();
            let (table, overflow) = payload.split_at(filter.memory_bytes());
            let entries: Vec<u64> =
                overflow.as_chunks().0.iter().map(|entry| u64::from_le_bytes(*entry)).collect();
            assert!(entries.len() == filter.overflowing() && entries.len() >= 4);

            let forge = |table: &[u8], entries: &[u64], rest: &[u8]| {
                let header = Header {
                    len: len + entries.len() as u64 - filter.overflowing() as u64,
                    ..container::parse(&bytes).unwrap().header()
                };
                let entries: Vec<u8> = entries.iter().flat_map(|e| e.to_le_bytes()).collect();
                header.to_bytes(&[table, &entries, rest])
            };
            let changed = |change: &dyn Fn(&mut Vec<u64>)| {
                let mut entries = entries.clone();
                change(&mut entries);
                forge(table, &entries, &[])
            };
            assert!(changed(&|_| {}) == bytes);
            let geometry = filter.geometry();
            let mut random = Splitmix::new(4);
            // A second copy of an entry in place of another entry, or one entry fewer, gives another valid filter.
            exercise(&changed(&|entries| entries[1] = entries[0]), &mut random);
            exercise(&changed(&|entries| entries.truncate(entries.len() - 1)), &mut random);

            assert_structure(&changed(&|entries| entries.swap(0, 1)), "overflow");
            assert_structure(&changed(&|entries| entries.push(u64::MAX)), "overflow");
            let capacity = (geometry.slots() / 256).clamp(2, 64) as usize;
            let many =
                |entries: &mut Vec<u64>| entries.resize(capacity + 1, *entries.last().unwrap());
            assert_structure(&changed(&many), "overflow");
            for at in 0..entries.len() {
                let entry = entries[at];
                let (bucket, fingerprint) = (entry >> 32, entry & 0xFFFF_FFFF);
                let other = words::other_bucket(&geometry, bucket, fingerprint);
                assert!(bucket < other);
                let mut wrong = vec![
                    other << 32 | fingerprint,
                    bucket << 32,
                    geometry.buckets << 32 | fingerprint,
                    u64::from(u32::MAX) << 32 | fingerprint,
                ];
                if bits < 32 {
                    wrong.push(entry | 1 << bits);
                }
                if doublings > 0 {
                    wrong.push(entry ^ 1 << (bits - 1));
                    wrong.push((bucket ^ 1) << 32 | fingerprint);
                }
                for forged in wrong {
                    // The entries are sorted again, so that only the forged entry is wrong, and their order is right.
                    let forged = changed(&|entries| {
                        entries[at] = forged;
                        entries.sort_unstable();
                    });
                    assert_structure(&forged, "overflow");
                }
            }
            assert_structure(&forge(table, &entries, &[0; 4]), "overflow");
            if bits == 12 {
                for at in 1..=2 {
                    let mut table = table.to_vec();
                    let at = table.len() - at;
                    table[at] = 1;
                    assert_structure(&forge(&table, &entries, &[]), "padding");
                }
            }
            for wrong in [0, 1, len - 1, len + 1, u64::MAX, len | 1 << 63] {
                let header = Header { len: wrong, ..container::parse(&bytes).unwrap().header() };
                assert_structure(&header.to_bytes(&[payload]), "keys");
            }
        }
    }
}

/// Lookups follow the overflow flags of a table, even if the flags do not fit the table's fingerprints.
#[test]
fn lookups_follow_forged_flags() {
    let mut random = Splitmix::new(5);
    for bits in WIDTHS {
        let filter = words::filter_of_buckets(130, bits, true);
        let mut header = container::parse(&filter.to_bytes()).unwrap().header();
        let mut payload = random.bytes(filter.geometry().slots() as usize * bits as usize / 8);
        // Every third bucket is empty, and in the bucket after each of these, the second pair of slots is empty.
        let bucket = bits as usize / 2;
        payload.chunks_mut(bucket).step_by(3).for_each(|bucket| bucket.fill(0));
        payload.chunks_mut(bucket).skip(1).step_by(3).for_each(|b| b[bucket / 2..].fill(0));
        let is_taken = |s: &usize| {
            (0..bits as usize).any(|i| {
                let at = s * bits as usize + i;
                payload[at / 8] >> (at % 8) & 1 == 1
            })
        };
        header.len = (0..520).filter(is_taken).count() as u64;
        payload.resize(filter.memory_bytes(), 0);
        for flags in 0..4 {
            header.parameters[3] = flags;
            let bytes = header.to_bytes(&[&payload]);
            let filter = CuckooFilter::from_bytes(&bytes).unwrap();
            let table = words::buckets(&filter);
            for _ in 0..20_000 {
                let hash = KeyHash::from_raw(random.word());
                let place = words::Place::of(&filter.geometry(), hash);
                let primary = table[place.primary as usize];
                let pair = 2 * (place.fingerprint % 2) as usize;
                let (even, odd) = (primary[pair], primary[pair + 1]);
                let set = even >= odd && (even > 0 || flags & 2 != 0);
                let expected = primary.contains(&place.fingerprint)
                    || set && table[place.alternate as usize].contains(&place.fingerprint);
                assert_eq!(filter.contains_hash(hash), expected, "{hash:?} with {}", Isa::best());
            }
        }
    }
}

/// A flag in the header says that lookups must treat the overflow flags of empty pairs of slots as set. No writer sets
/// this flag for an empty filter. If a forged header has it, a bulk build into the filter still succeeds.
#[test]
fn an_empty_filter_with_a_forged_flag_can_be_built() {
    for bits in WIDTHS {
        let bytes = words::filter(250_000, bits, true).to_bytes();
        let parsed = container::parse(&bytes).unwrap();
        let mut header = parsed.header();
        header.parameters[3] |= 2;
        let mut filter = CuckooFilter::from_bytes(&header.to_bytes(&[parsed.payload()])).unwrap();
        let hashes = distinct(0xF1A6, 0..250_000);
        filter.insert_batch(&hashes).unwrap();
        assert_eq!(filter.len(), hashes.len());
        assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
    }
}
