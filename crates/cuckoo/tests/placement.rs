//! Which slot of a nearly full table each key gets. All instruction sets and numbers of threads choose the same slots,
//! as other tests show; this one notices if a change of the code makes all of them choose others. Such a change breaks
//! no reader of frozen filters. But if it is not intended, a part of the eviction probably no longer works: filters
//! stay correct without it, and only need more time.

mod words;

use trommel_base::{Filter, Hasher, Insert, KeyHash};
use trommel_cuckoo::CuckooFilter;
use trommel_testkit::streams::distinct;

/// A few more buckets than the fewest that are built in bulk.
const BUCKETS: u64 = (1 << 12) + 6;

/// The digest of the bytes of a filter that `insert` has filled up to `load`.
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
    Hasher::xxh3(0).hash_bytes(&filter.to_bytes()).raw()
}

fn one_by_one(filter: &mut CuckooFilter, hashes: &[KeyHash]) {
    for hash in hashes {
        filter.insert_hash(*hash).unwrap();
    }
}

/// The first batch is too short for a bulk build.
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
    [0xe68f_0957_865b_822c, 0x32ad_30a1_ec5e_9940, 0x431c_3cba_cb78_83ad],
    [0xd405_3a7a_c309_e8a7, 0xffbb_c523_0d51_c77b, 0x15b0_a961_1b61_f40d],
    [0xc262_0d6d_48a5_9a02, 0x3229_0fc3_e967_559b, 0xe6a2_1ba0_0419_3c1a],
    [0xedf6_04d2_b5f5_9c31, 0xbc07_8f1a_534e_7ce3, 0xb83d_0463_f066_f87d],
    [0x2388_d3c4_6b79_a67c, 0x93dc_f728_e81f_27b2, 0xf800_c80a_bad4_413a],
    [0xb621_d350_68cb_46b3, 0xf908_776c_cdb7_686c, 0x3573_d172_d60e_9584],
    [0xad50_1d19_df63_4d09, 0xb666_92e0_12c9_fe9a, 0x7ca7_22df_d02f_2900],
    [0x8756_81b9_8ed3_4521, 0x3889_0afb_0e85_3dd0, 0x750a_54c4_f35f_4360],
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

/// Each of the three units of the bulk build has 2^19 buckets, so a window begins in the middle of the second.
#[test]
fn keys_near_the_border_of_two_units_keep_their_slots() {
    let digest = digest((3 << 19, 8, true), 0.95, in_bulk);
    assert!(digest == 0xb607_8e59_e507_ec41, "the digest is now {digest:#018x}");
}
