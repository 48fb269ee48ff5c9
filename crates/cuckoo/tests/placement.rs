//! Tests which slot of a nearly full table each key gets. Other tests show that the slots are the same with all
//! instruction sets and numbers of threads. The tests of this file notice a change of the code that changes the slots
//! in the same way with all sets and numbers of threads. Such a change breaks no reader of frozen filters. But if it is
//! not intended, a part of the eviction probably no longer works: filters stay correct without that part, but inserts
//! take more time.

mod words;

use trommel_base::container::HEADER_BYTES;
use trommel_base::{Filter, Hasher, Insert, KeyHash};
use trommel_cuckoo::CuckooFilter;
use trommel_testkit::streams::distinct;

/// A few more buckets than the smallest table that is built in bulk has.
const BUCKETS: u64 = (1 << 12) + 6;

/// The digest of the table and the overflow area of a filter that `insert` has filled up to `load`.
fn digest(
    (buckets, bits, multiset): (u64, u32, bool),
    load: f64,
    insert: impl Fn(&mut CuckooFilter, &[KeyHash]),
) -> u64 {
    let mut filter = words::filter_of_buckets(buckets, bits, multiset);
    let hashes = distinct(u64::from(bits), 0..(load * (4 * buckets) as f64) as u64);
    insert(&mut filter, &hashes);
    let range = words::len_range(&filter, &hashes);
    assert!(range.contains(&filter.len()), "{filter:?} must hold all keys");
    Hasher::xxh3(0).hash_bytes(&filter.to_bytes()[HEADER_BYTES..]).raw()
}

fn one_by_one(filter: &mut CuckooFilter, hashes: &[KeyHash]) {
    for hash in hashes {
        filter.insert_hash(*hash).unwrap();
    }
}

/// Inserts in batches of 1000 keys. None is a bulk build: the first batch is too short for it, and the later ones find
/// a filter that is not empty.
fn in_batches(filter: &mut CuckooFilter, hashes: &[KeyHash]) {
    for batch in hashes.chunks(1000) {
        filter.insert_batch(batch).unwrap();
    }
}

fn in_bulk(filter: &mut CuckooFilter, hashes: &[KeyHash]) {
    filter.insert_batch(hashes).unwrap();
}

/// Widths of fingerprints in bits, and whether the filter is a multiset.
const SHAPES: [(u32, bool); 8] = [
    (8, false),
    (8, true),
    (12, false),
    (12, true),
    (16, false),
    (16, true),
    (32, false),
    (32, true),
];
/// For each of [`SHAPES`], the digests of tables that were filled one by one, in batches, and in bulk.
const DIGESTS: [[u64; 3]; 8] = [
    [0x207c_da31_92fa_2518, 0xf4ff_1258_9360_5675, 0x20d3_1cd2_d7f3_62a5],
    [0x5131_6597_2b08_24a5, 0x3916_80ec_d783_deab, 0xd979_bfa7_e8e1_7b31],
    [0xcfac_55f6_2d20_ee39, 0x18b8_16ef_07aa_0a5b, 0x0123_29d7_b64b_daa6],
    [0x7041_e3ed_4480_7dbd, 0xb462_387c_f415_f6b7, 0x04bc_a9b3_099a_0066],
    [0x0d76_cb85_475c_8950, 0xb85a_40c3_6b95_fef5, 0xd220_75f5_9055_ba7f],
    [0x0d76_cb85_475c_8950, 0x7332_825c_44ab_88ea, 0x3283_b359_5e6a_33cb],
    [0x0ef2_d8bc_711b_c975, 0xe654_cffc_d52a_9cf1, 0x63bb_fe8c_6157_3046],
    [0x0ef2_d8bc_711b_c975, 0x9b84_c179_97a4_79cb, 0x5b90_72c8_17ef_12ff],
];

#[test]
fn keys_of_a_nearly_full_table_keep_their_slots() {
    let digests = SHAPES.map(|(bits, multiset)| {
        let shape = (BUCKETS, bits, multiset);
        [
            digest(shape, 0.98, one_by_one),
            digest(shape, 0.98, in_batches),
            digest(shape, 0.95, in_bulk),
        ]
    });
    assert!(digests == DIGESTS, "the digests are now {digests:#018x?}");
}

/// A bulk build first fills units of 2^19 buckets, each on its own. Then, in windows around the borders of the units,
/// it inserts the keys that the units have no room for. Three units have two borders, so there are two windows. The
/// second window begins where the first ends, in the middle of the second unit.
#[test]
fn keys_near_the_border_of_two_units_keep_their_slots() {
    let digest = digest((3 << 19, 8, true), 0.95, in_bulk);
    assert!(digest == 0x050f_ac0d_c9fc_0863, "the digest is now {digest:#018x}");
}
