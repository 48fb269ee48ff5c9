//! Keys that an adversary has chosen, for every kind. Under a seed that the adversary knows, these keys raise the
//! false-positive rate or fill slots early. Under a secret key, the chosen keys do neither. docs/security.md states
//! these claims.
//!
//! Some tests choose hashes directly, as if the adversary could invert the hash function. Other tests use real keys,
//! which are computed from chosen hashes or found by trying. The work of an insert is measured as the number of bytes
//! of the table that the insert changes. No test fails because it is slow. The ignored tests print times.

mod hostile;

use hostile::{
    KINDS, bits_of, buckets_of, built, keys_of, keys_that, of_few_buckets, of_one_unit,
    of_quotients, payload, scaled, units,
};
use std::hint::black_box;
use std::time::Instant;
use trommel::error::WhyFull;
use trommel::{
    AnyFilter, Bitmap, Filter, FilterKind, FilterSpec, Full, Hasher, Insert, Isa, KeyHash,
};
use trommel_testkit::stats::assert_binomial;
use trommel_testkit::streams::distinct;

const MILLION: usize = 1_000_000;
/// The most slots that a table needs after the slot of its last quotient. Rounding up to whole blocks can add up to 63.
const OVERHANG_SLOTS: u64 = 320;
/// The hasher that the adversary knows.
const PUBLIC: Hasher = Hasher::xxh3(0);
/// The hasher that the adversary does not know.
const SECRET: Hasher = Hasher::siphash13(*b"kqV9:secret!byte");

#[track_caller]
fn assert_all_found(filter: &impl Filter, hashes: &[KeyHash]) {
    let mut found = Bitmap::new(0);
    filter.contains_batch(hashes, &mut found);
    assert_eq!(found.count_ones(), hashes.len(), "a key was lost");
    assert!(hashes.iter().step_by(97).all(|hash| filter.contains_hash(*hash)));
}

/// Inserts a batch. Returns the number of its keys that were inserted, and the error if there was one.
fn insert_what_fits(filter: &mut AnyFilter, hashes: &[KeyHash]) -> (usize, Option<Full>) {
    match filter.insert_batch(hashes) {
        Ok(()) => (hashes.len(), None),
        Err(full) => {
            assert!(filter.hash_count().is_none(), "a Bloom filter is never full: {full}");
            (full.inserted, Some(full))
        }
    }
}

/// Random hashes whose highest four bits are in the range `sixteenths`.
fn in_sixteenths(sixteenths: core::ops::Range<u64>) -> Vec<KeyHash> {
    let hashes = distinct(1, 0..100_000).into_iter();
    hashes.filter(|hash| sixteenths.contains(&(hash.raw() >> 60))).collect()
}

/// The most bytes by which the frozen filter gets longer if `inserts` keys are inserted.
fn most_growth(filter: &AnyFilter, inserts: usize) -> usize {
    match filter {
        // An overflow entry of 16 bytes for each counter above 2. A key has one counter for each of its bits.
        AnyFilter::CountingBloom(filter) => 16 * filter.hash_count() as usize * inserts,
        // The overflow area: at most 64 entries of 8 bytes.
        AnyFilter::Cuckoo(_) => 8 * inserts.min(64),
        _ => 0,
    }
}

#[test]
fn a_million_hashes_of_one_unit_lose_no_key_and_take_bounded_memory() {
    for (kind, variant) in KINDS {
        let empty = built(kind, variant, MILLION, PUBLIC);
        let hashes = of_one_unit(units(&empty), MILLION);
        let mut filter = empty.clone();
        let (taken, full) = insert_what_fits(&mut filter, &hashes);
        // In filters with slots, the hashes of one unit have few distinct fingerprints. A set ignores a fingerprint
        // that it holds already. A multiset stores a copy, until it has no room for more copies.
        let is_multiset = variant && filter.hash_count().is_none();
        assert_eq!(full.is_some(), is_multiset, "{kind}: {taken} keys, {full:?}");
        assert!(taken > 250, "{kind}: {taken} keys inserted");
        assert_all_found(&filter, &hashes[..taken]);
        assert!(filter.encoded_len() <= empty.encoded_len() + most_growth(&empty, taken));

        // A refused key changes nothing.
        if full.is_some() {
            let before = filter.to_bytes();
            assert!(filter.insert_hash(hashes[taken]).is_err(), "{kind} took the key");
            assert!(filter.to_bytes() == before, "{kind}: a refused key changed bytes");
        }
        // Keys of other units can still be inserted.
        let elsewhere = [in_sixteenths(0..2), in_sixteenths(14..16)].concat();
        filter.insert_batch(&elsewhere).unwrap();
        assert_all_found(&filter, &hashes[..taken]);
        assert_all_found(&filter, &elsewhere);
    }
}

/// Inserts keys whose hashes under the public hasher all belong to one unit, as in the test above.
#[test]
fn a_million_keys_of_one_unit_behave_as_random_under_a_secret_key() {
    let absent = keys_of(&of_one_unit(1_000, MILLION + 20_000)[MILLION..]);
    for (kind, variant) in KINDS {
        let mut filter = built(kind, variant, MILLION, SECRET);
        let keys = keys_of(&of_one_unit(units(&filter), MILLION));
        let hashes = hashes_of(SECRET, &keys);
        filter.insert_batch(&hashes).unwrap();
        assert_all_found(&filter, &hashes);
        behaves_as_planned(&filter, &absent);
    }
}

/// The most bytes of the table that an insert can change.
fn most_bytes_changed(filter: &AnyFilter) -> usize {
    // An insert moves the rest of a cluster by one slot. This changes the remainders in these slots, and the occupieds,
    // runends and offsets of their blocks, at most 17 bytes per block. All slots of a cluster are taken, so a cluster
    // has at most as many slots as the filter has fingerprints.
    let cluster = |slots: usize, bits: u32, slots_per_block: usize| {
        (slots + 1) * bits as usize / 8 + 2 + (slots / slots_per_block + 3) * 17
    };
    match filter {
        // For each bit of the key, a byte with the bit and a byte with its counter.
        AnyFilter::CountingBloom(filter) => 2 * filter.hash_count() as usize,
        AnyFilter::Quotient(filter) => cluster(filter.len(), filter.geometry().remainder_bits, 64),
        AnyFilter::CacheLineQuotient(filter) => cluster(filter.len(), 8, 50),
        // The search for a free slot looks at no more than 4096 buckets. These buckets form a tree whose levels have 2,
        // 8, 32 buckets and so on, so a path to a free slot has at most 7 buckets. One more bucket can get a flag. So
        // at most 8 buckets of four fingerprints change.
        AnyFilter::Cuckoo(filter) => 8 * filter.geometry().fingerprint_bits as usize / 2,
        bits => bits.hash_count().unwrap() as usize,
    }
}

#[test]
fn an_insert_changes_a_bounded_part_of_the_table() {
    for (kind, variant) in KINDS {
        let mut filter = built(kind, variant, 10_000, PUBLIC);
        let table_bytes = payload(&filter).len();
        let mut before = payload(&filter);
        for hash in &of_one_unit(units(&filter), 1_500) {
            let outcome = filter.insert_hash(*hash);
            let after = payload(&filter);
            let tables = before[..table_bytes].iter().zip(&after[..table_bytes]);
            let changed = tables.filter(|(old, new)| old != new).count();
            let bound = most_bytes_changed(&filter);
            assert!(
                changed <= bound,
                "{kind}, variant {variant}: {changed} bytes changed, at most {bound} expected"
            );
            assert!(
                after.len() <= before.len() + most_growth(&filter, 1),
                "{kind}: an insert lengthened the payload too far"
            );
            assert!(outcome.is_ok() || after == before, "{kind}: a refused key changed bytes");
            before = after;
        }
    }
}

/// The filter holds all fingerprints of many neighbouring quotients, except one or two per quotient. These fingerprints
/// make one cluster of hundreds of thousands of slots. Lookups, inserts and removals in it end, and are right.
#[test]
fn a_cluster_of_most_of_the_table_gives_right_answers() {
    for kind in [FilterKind::Quotient, FilterKind::CacheLineQuotient] {
        let mut filter = built(kind, false, MILLION, PUBLIC);
        let slots = units(&filter);
        let per_quotient = of_quotients(&filter, 0..1).len() as u64;
        let quotients = slots * 9 / 10 / per_quotient;
        let hashes = of_quotients(&filter, 0..quotients);
        // Leaves one fingerprint of each quotient out.
        let (kept, last): (Vec<_>, Vec<_>) =
            hashes.iter().enumerate().partition(|(i, _)| !(*i as u64).is_multiple_of(per_quotient));
        let kept: Vec<KeyHash> = kept.into_iter().map(|(_, hash)| *hash).collect();
        let left_out: Vec<KeyHash> = last.into_iter().map(|(_, hash)| *hash).collect();
        filter.insert_batch(&kept).unwrap();
        assert_eq!(filter.len(), kept.len());
        let some: Vec<KeyHash> = kept.iter().step_by(499).copied().collect();
        assert_all_found(&filter, &some);
        assert!(
            left_out.iter().step_by(31).all(|hash| !filter.contains_hash(*hash)),
            "{kind}: an absent key is found"
        );
        for hash in left_out.iter().step_by(71) {
            assert_eq!(filter.insert_hash(*hash), Ok(true), "{kind}");
            assert!(filter.contains_hash(*hash));
        }
        for hash in left_out.iter().step_by(71) {
            assert_eq!(filter.remove_hash(*hash), Ok(true), "{kind}");
            assert!(!filter.contains_hash(*hash));
        }
        assert_all_found(&filter, &some);
        assert_eq!(filter.len(), kept.len());
    }
}

/// The highest hashes have the last quotients. After the slots of these quotients, the table has only the overhang:
/// slots that are not the slot of any quotient.
#[test]
fn hashes_of_the_last_quotients_fill_a_quotient_filter_early_and_lose_nothing() {
    for kind in [FilterKind::Quotient, FilterKind::CacheLineQuotient] {
        let mut filter = built(kind, false, MILLION, PUBLIC);
        let slots = units(&filter);
        let hashes = of_quotients(&filter, slots - 10..slots);
        let (taken, full) = insert_what_fits(&mut filter, &hashes);
        assert_eq!(full.map(|full| full.why), Some(WhyFull::Slots), "{kind}");
        let most = (OVERHANG_SLOTS + 64 + 10) as usize;
        assert!((300..=most).contains(&taken), "{kind}: {taken} keys taken, not in 300..={most}");
        assert_refuses_and_goes_on(&mut filter, &hashes, taken);
    }
}

/// In the end, the buckets that the adversary chose are full. All other buckets still take keys.
#[test]
fn hashes_of_few_buckets_fill_a_cuckoo_filter_early_and_lose_nothing() {
    let spec = FilterSpec::new(FilterKind::Cuckoo).keys(MILLION).fingerprint_bits(16);
    for multiset in [false, true] {
        let mut filter = spec.multiset(multiset).build().unwrap();
        let buckets = units(&filter);
        let few = 64;
        let hashes = of_few_buckets(buckets, few);
        assert!(hashes.len() > 800, "{} hashes", hashes.len());
        let (taken, full) = insert_what_fits(&mut filter, &hashes);
        assert_eq!(full.map(|full| full.why), Some(WhyFull::Slots));
        // The four slots of each of the chosen buckets, and the 64 entries of the overflow area.
        let most = 4 * few as usize + 64;
        assert!(
            (most * 3 / 4..=most).contains(&taken),
            "{taken} keys taken, expected three quarters of {most} to {most}"
        );
        assert_refuses_and_goes_on(&mut filter, &hashes, taken);
    }
}

/// Checks a filter that holds the first `taken` hashes and refuses the next one. The refused hash must change nothing,
/// and keys elsewhere can still be inserted.
#[track_caller]
fn assert_refuses_and_goes_on(filter: &mut AnyFilter, hashes: &[KeyHash], taken: usize) {
    assert_all_found(filter, &hashes[..taken]);
    let before = filter.to_bytes();
    assert!(filter.insert_hash(hashes[taken]).is_err());
    assert!(filter.to_bytes() == before);
    let elsewhere = in_sixteenths(2..14);
    filter.insert_batch(&elsewhere).unwrap();
    assert_all_found(filter, &elsewhere);
    assert_all_found(filter, &hashes[..taken]);
}

/// A filter with `grow_at` grows only because of its load, so an adversary cannot make it larger than its keys need.
#[test]
fn hostile_hashes_do_not_make_a_filter_grow_beyond_its_keys() {
    for kind in [FilterKind::Quotient, FilterKind::Cuckoo] {
        let spec = FilterSpec::new(kind).keys(1_000).fingerprint_bits(32).grow_at(0.85);
        let mut filter = spec.build().unwrap();
        let hashes = of_one_unit(units(&filter), 20_000);
        let (taken, _) = insert_what_fits(&mut filter, &hashes);
        assert_all_found(&filter, &hashes[..taken]);
        let slots = units(&filter) * if kind == FilterKind::Cuckoo { 4 } else { 1 };
        let needed = filter.len() as f64 / 0.85;
        assert!(slots as f64 <= (2.0 * needed + 64.0).max(2_500.0), "{kind}: {slots} slots");
    }
}

fn hashes_of(hasher: Hasher, keys: &[u64]) -> Vec<KeyHash> {
    let mut hashes = Vec::new();
    hasher.hash_batch(keys, &mut hashes);
    hashes
}

fn count_found(filter: &AnyFilter, keys: &[u64]) -> u64 {
    let mut found = Bitmap::new(0);
    filter.contains_batch(&hashes_of(filter.hasher(), keys), &mut found);
    found.count_ones() as u64
}

/// The keys of an attack: the keys that the adversary has inserted, and absent keys that the adversary looks up.
struct Attack {
    inserted: Vec<u64>,
    absent: Vec<u64>,
}

/// Keys that all belong to one word, block or cache line of the filter.
fn attack_on_a_unit(filter: &AnyFilter) -> Attack {
    let units = units(filter);
    let unit_of = |hash: KeyHash| match filter.kind() {
        FilterKind::SplitBlockBloom => ((hash.raw() >> 32) * units) >> 32,
        _ => scaled(hash, units),
    };
    let keys = keys_that(0, 2_500, PUBLIC, |hash| unit_of(hash) == units / 3);
    Attack { inserted: keys[..1_000].to_vec(), absent: keys[1_000..].to_vec() }
}

/// The inserted keys set as many bits as possible: each of them sets only bits that no earlier key has set. The absent
/// keys are keys whose bits are all set after these inserts.
fn attack_on_all_bits(filter: &AnyFilter) -> Attack {
    let (m, hashes) = (units(filter), filter.hash_count().unwrap());
    let mut is_set = vec![false; m as usize];
    let inserted = keys_that(0, 2_000, PUBLIC, |hash| {
        let mut bits: Vec<u64> = bits_of(hash, m, hashes).collect();
        bits.sort_unstable();
        bits.dedup();
        let all_new =
            bits.len() == hashes as usize && bits.iter().all(|bit| !is_set[*bit as usize]);
        if all_new {
            bits.iter().for_each(|bit| is_set[*bit as usize] = true);
        }
        all_new
    });
    let is_found = |hash: KeyHash| bits_of(hash, m, hashes).all(|bit| is_set[bit as usize]);
    Attack { inserted, absent: keys_that(1 << 40, 2_000, PUBLIC, is_found) }
}

#[test]
fn real_keys_chosen_under_the_seed_make_a_bloom_filter_useless_and_under_a_secret_key_they_do_not()
{
    for (kind, variant) in KINDS {
        let empty = built(kind, variant, 2_000, PUBLIC);
        if empty.hash_count().is_none() {
            continue;
        }
        let Attack { inserted, absent } = match kind {
            FilterKind::Bloom | FilterKind::CountingBloom => attack_on_all_bits(&empty),
            _ => attack_on_a_unit(&empty),
        };
        let mut filter = empty;
        filter.insert_batch(&hashes_of(PUBLIC, &inserted)).unwrap();
        let found = count_found(&filter, &absent);
        assert!(found * 100 >= absent.len() as u64 * 99, "{kind}: {found} false positives");
        if matches!(kind, FilterKind::Bloom | FilterKind::CountingBloom) {
            // Even for keys that the adversary has not chosen, the false-positive rate is over eight times the planned
            // rate.
            assert!(filter.expected_fpr() > 0.08, "{kind}: rate {}", filter.expected_fpr());
        }

        let mut filter = built(kind, variant, 2_000, SECRET);
        filter.insert_batch(&hashes_of(SECRET, &inserted)).unwrap();
        // With these further keys, the filter has as many keys as it was made for.
        let others: Vec<u64> = (1 << 50..(1 << 50) + 2_000 - inserted.len() as u64).collect();
        filter.insert_batch(&hashes_of(SECRET, &others)).unwrap();
        assert_eq!(count_found(&filter, &inserted), inserted.len() as u64);
        behaves_as_planned(&filter, &absent);
    }
}

/// Asserts that absent keys are found at the filter's expected false-positive rate, and that this rate is below 1.25 %,
/// where 1 % was planned.
#[track_caller]
fn behaves_as_planned(filter: &AnyFilter, absent: &[u64]) {
    let fpr = filter.expected_fpr();
    assert!(fpr < 0.0125, "{}: false-positive rate {fpr}", filter.kind());
    let what = filter.kind().name();
    assert_binomial(what, count_found(filter, absent), absent.len() as u64, fpr, 5.0);
    let many: Vec<u64> = (1 << 60..(1 << 60) + 200_000).collect();
    assert_binomial(what, count_found(filter, &many), many.len() as u64, fpr, 5.0);
}

#[test]
fn real_keys_chosen_under_the_seed_fill_slots_early_and_under_a_secret_key_they_do_not() {
    for (kind, variant) in KINDS {
        let mut filter = built(kind, variant, 2_000, PUBLIC);
        if filter.hash_count().is_some() {
            continue;
        }
        let units = units(&filter);
        let hostile = match &filter {
            // Both buckets of each of these keys are among the first 40.
            AnyFilter::Cuckoo(cuckoo) => {
                let bits = cuckoo.geometry().fingerprint_bits;
                let is_near = |hash| buckets_of(hash, units, bits).iter().all(|b| *b < 40);
                keys_that(0, 600, PUBLIC, is_near)
            }
            _ => keys_that(0, 600, PUBLIC, |hash| scaled(hash, units) >= units - 12),
        };
        let hashes = hashes_of(PUBLIC, &hostile);
        let (taken, full) = insert_what_fits(&mut filter, &hashes);
        let full = full.unwrap();
        assert!(taken < 350 && full.len < 350, "{kind}, variant {variant}: {full}");
        assert_all_found(&filter, &hashes[..taken]);

        let mut filter = built(kind, variant, 2_000, SECRET);
        let all: Vec<u64> = hostile.iter().copied().chain(1 << 50..(1 << 50) + 1_400).collect();
        filter.insert_batch(&hashes_of(SECRET, &all)).unwrap();
        assert_eq!(count_found(&filter, &all), 2_000, "{kind}");
        let absent = match &filter {
            AnyFilter::Cuckoo(_) => keys_that(1 << 40, 2_000, PUBLIC, |hash| scaled(hash, 100) < 7),
            _ => keys_that(1 << 40, 2_000, PUBLIC, |hash| scaled(hash, 100) == 99),
        };
        behaves_as_planned(&filter, &absent);
    }
}

/// `cargo test -p trommel --test hostile_keys -- --ignored --nocapture prints`
#[test]
#[ignore = "prints the time of inserts for docs/security.md"]
fn prints_the_time_of_inserts_of_hostile_and_of_random_hashes() {
    let ns_per_insert = |filter: &AnyFilter, hashes: &[KeyHash]| {
        let mut filter = filter.clone();
        let begin = Instant::now();
        hashes.iter().for_each(|hash| _ = black_box(filter.insert_hash(*hash)));
        begin.elapsed().as_nanos() as f64 / hashes.len() as f64
    };
    for (kind, variant) in KINDS {
        let filter = built(kind, variant, MILLION, PUBLIC);
        let hostile = ns_per_insert(&filter, &of_one_unit(units(&filter), 100_000));
        let usual = ns_per_insert(&filter, &distinct(1, 0..100_000));
        let name = if variant { " (compact or multiset)" } else { "" };
        println!(
            "{kind}{name}: {hostile:.0} ns per insert into one unit, {usual:.0} for random keys"
        );
    }
    for kind in [FilterKind::Quotient, FilterKind::CacheLineQuotient] {
        let empty = built(kind, false, MILLION, PUBLIC);
        let per_quotient = of_quotients(&empty, 0..1).len() as u64;
        let hashes = of_quotients(&empty, 0..units(&empty) * 9 / 10 / per_quotient);
        let (mut cluster, mut random) = (empty.clone(), empty);
        let (first, rest) = hashes.split_at(per_quotient as usize);
        cluster.insert_batch(rest).unwrap();
        random.insert_batch(&distinct(1, 0..rest.len() as u64)).unwrap();
        let (hostile, usual) =
            (ns_per_insert(&cluster, first), ns_per_insert(&random, &distinct(2, 0..10_000)));
        let begin = Instant::now();
        hashes.iter().step_by(997).for_each(|hash| _ = black_box(cluster.contains_hash(*hash)));
        let lookup = begin.elapsed().as_nanos() as f64 / (hashes.len() / 997) as f64;
        println!(
            "{kind}: {hostile:.0} ns per insert in front of a cluster of {} slots, {usual:.0} at the same load; \
             {lookup:.0} ns per lookup in the cluster",
            rest.len()
        );
    }
    let spec = FilterSpec::new(FilterKind::Cuckoo).keys(MILLION).fingerprint_bits(16);
    let mut filter = spec.build().unwrap();
    let hashes = of_few_buckets(units(&filter), 64);
    let (taken, _) = insert_what_fits(&mut filter, &hashes);
    let refused = ns_per_insert(&filter, &hashes[taken..]);
    println!("cuckoo: {refused:.0} ns per refused insert into 64 full buckets");
}

/// `cargo test -p trommel --test hostile_keys -- --ignored --nocapture prints`
#[test]
#[ignore = "prints the time of hashes for docs/decisions/0074-siphash-1-3.md"]
fn prints_the_time_of_hashes() {
    const ROUNDS: usize = 15;
    let integers: Vec<u64> = (0..1 << 14).map(|i| i * 32 + i % 8).collect();
    let strings = |bytes: usize| -> Vec<Vec<u8>> {
        integers.iter().map(|key| key.to_le_bytes().repeat(bytes / 8)).collect()
    };
    let (short, long) = (strings(8), strings(64));
    let mut hashes = vec![KeyHash::default(); integers.len()];
    let mut batch = Vec::new();
    println!("{}", Isa::active_or_best());
    let mut times = vec![[[0.0; ROUNDS]; 4]; 2];
    // The rounds of the two hash functions are interleaved.
    for round in 0..ROUNDS {
        for (times, hasher) in times.iter_mut().zip([PUBLIC, SECRET]) {
            let mut time = |form: usize, hash: &mut dyn FnMut()| {
                let begin = Instant::now();
                hash();
                let ns = begin.elapsed().as_nanos() as f64 / integers.len() as f64;
                times[form][round] = ns;
            };
            for (form, keys) in [(0, &short), (1, &long)] {
                time(form, &mut || {
                    for (hash, key) in hashes.iter_mut().zip(black_box(keys)) {
                        *hash = hasher.hash_bytes(key);
                    }
                });
            }
            time(2, &mut || {
                for (hash, key) in hashes.iter_mut().zip(black_box(&integers)) {
                    *hash = hasher.hash_u64(*key);
                }
            });
            time(3, &mut || hasher.hash_batch(black_box(&integers), &mut batch));
            black_box((&hashes, &batch));
        }
    }
    for (forms, hasher) in times.iter_mut().zip([PUBLIC, SECRET]) {
        let names = ["8 bytes", "64 bytes", "u64", "u64 in a batch"];
        for (times, name) in forms.iter_mut().zip(names) {
            times.sort_unstable_by(f64::total_cmp);
            let [low, median, high] = [0, ROUNDS / 2, ROUNDS - 1].map(|i| times[i]);
            println!("{} of {name}: {median:.2} ns ({low:.2} to {high:.2})", hasher.id());
        }
    }
}
