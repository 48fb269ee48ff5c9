//! The filters under attack, and the hashes and keys that an adversary chooses for them.

use trommel::{AnyFilter, FilterKind, FilterSpec, Hasher, KeyHash};
use trommel_testkit::streams::mix;

/// Every kind, and whether its variant (compact counters or a multiset) is meant. A kind that has a variant is listed
/// twice, with `false` and with `true`.
pub(crate) const KINDS: [(FilterKind, bool); 12] = [
    (FilterKind::Bloom, false),
    (FilterKind::CountingBloom, false),
    (FilterKind::CountingBloom, true),
    (FilterKind::RegisterBloom, false),
    (FilterKind::SplitBlockBloom, false),
    (FilterKind::CacheLineBloom, false),
    (FilterKind::Quotient, false),
    (FilterKind::Quotient, true),
    (FilterKind::CacheLineQuotient, false),
    (FilterKind::CacheLineQuotient, true),
    (FilterKind::Cuckoo, false),
    (FilterKind::Cuckoo, true),
];

/// An empty filter for `keys` keys at a false-positive rate of 1 %.
pub(crate) fn built(kind: FilterKind, variant: bool, keys: usize, hasher: Hasher) -> AnyFilter {
    let spec = FilterSpec::new(kind).keys(keys).fpr(0.01).hasher(hasher);
    let spec = match kind {
        FilterKind::CountingBloom => spec.compact(variant),
        _ => spec.multiset(variant),
    };
    spec.build().unwrap()
}

/// The number of units, which are bits, words, blocks, cache lines, quotients or buckets. Each unit gets an equal range
/// of hashes.
pub(crate) fn units(filter: &AnyFilter) -> u64 {
    match filter {
        AnyFilter::Bloom(filter) => 64 * filter.geometry().units,
        AnyFilter::CountingBloom(filter) => 64 * filter.geometry().units,
        AnyFilter::RegisterBloom(filter) => filter.geometry().units,
        AnyFilter::SplitBlockBloom(filter) => filter.geometry().units,
        AnyFilter::CacheLineBloom(filter) => filter.geometry().units,
        AnyFilter::Quotient(filter) => filter.geometry().slots,
        AnyFilter::CacheLineQuotient(filter) => filter.geometry().slots,
        AnyFilter::Cuckoo(filter) => filter.geometry().buckets,
        other => panic!("a {} filter has no units here", other.kind()),
    }
}

/// The number `hash · n / 2^64`, rounded down.
pub(crate) fn scaled(hash: KeyHash, n: u64) -> u64 {
    ((u128::from(hash.raw()) * u128::from(n)) >> 64) as u64
}

/// Hashes that all belong to the middle one of `units` units, in random order.
pub(crate) fn of_one_unit(units: u64, count: usize) -> Vec<KeyHash> {
    let unit = units / 2;
    let width = (1u128 << 64) / u128::from(units);
    let first = (u128::from(unit) << 64).div_ceil(u128::from(units));
    // The outer eighths of the unit's range are left out. A split-block filter computes the block from only 32 bits of
    // the hash, so a hash at the edge of the range can belong to the neighbouring block.
    let (first, width) = (first + width / 8, width * 3 / 4);
    let hash = |i: u64| first + ((u128::from(mix(i)) * width) >> 64);
    let hashes: Vec<_> = (0..count as u64).map(|i| KeyHash::from_raw(hash(i) as u64)).collect();
    assert!(hashes.iter().all(|hash| scaled(*hash, units) == unit));
    hashes
}

/// The factor of XXH3 for keys of four to eight bytes.
const XXH3_FACTOR: u64 = 0x9FB2_1C65_1E98_DF25;

/// Inverts the mixing of XXH3 for keys of eight bytes: returns the number that the mixing turns into `hash`.
fn unmixed(hash: u64) -> u64 {
    // Newton's iteration for the inverse of the factor f: with x = 3f XOR 2, the lowest 5 bits of f · x are 00001.
    // Each step doubles the number of correct bits, so four steps are enough for 64 bits.
    let inverse = (0..4).fold(XXH3_FACTOR.wrapping_mul(3) ^ 2, |x, _| {
        x.wrapping_mul(2u64.wrapping_sub(XXH3_FACTOR.wrapping_mul(x)))
    });
    let x = hash ^ hash >> 28 ^ hash >> 56;
    let x = x.wrapping_mul(inverse);
    // This step of the mixing XORs a number below 2^30 into its input. The number depends only on the input's highest
    // 29 bits, and the step leaves the highest 34 bits unchanged, so the same XOR undoes the step.
    let x = x ^ ((x >> 35) + 8);
    let x = x.wrapping_mul(inverse);
    // The first step XORs a number with its rotations by 24 and 49 bits. That multiplies the number by the polynomial
    // 1 + t^24 + t^49 modulo t^64 + 1. The 64th power of this polynomial is 1, so its 63rd power is its inverse.
    (0..63).fold(x, |x, _| x ^ x.rotate_left(49) ^ x.rotate_left(24))
}

/// The keys that have these hashes under XXH3 with seed 0. Each hash has exactly one key of eight bytes.
pub(crate) fn keys_of(hashes: &[KeyHash]) -> Vec<u64> {
    let public = Hasher::xxh3(0);
    // Before XXH3 mixes a key, it swaps the key's halves and XORs them with a constant. For key 0, the result is the
    // constant.
    let constant = unmixed(public.hash_u64(0).raw());
    let keys = hashes.iter().map(|hash| (unmixed(hash.raw()) ^ constant).rotate_left(32));
    let keys: Vec<u64> = keys.collect();
    assert!(keys.iter().zip(hashes).all(|(key, hash)| public.hash_u64(*key) == *hash));
    keys
}

/// The payload of the frozen filter: its table, and then its overflow entries if it has any.
pub(crate) fn payload(filter: &AnyFilter) -> Vec<u8> {
    filter.to_bytes().split_off(128)
}

/// The smallest hash of each fingerprint whose quotient is in `quotients` and whose remainder is above 0. The filter
/// must not have been resized.
pub(crate) fn of_quotients(filter: &AnyFilter, quotients: core::ops::Range<u64>) -> Vec<KeyHash> {
    let (bits, slots) = match filter {
        AnyFilter::Quotient(filter) => (filter.geometry().remainder_bits, filter.geometry().slots),
        AnyFilter::CacheLineQuotient(filter) => {
            (filter.geometry().remainder_bits, filter.geometry().slots)
        }
        other => panic!("a {} filter has no quotients", other.kind()),
    };
    let places = u128::from(slots << bits);
    // Remainder 0 is left out, since a `CacheLineQuotient` stores it as 1.
    let remainders = 1..1 << bits;
    quotients
        .flat_map(|quotient| remainders.clone().map(move |remainder| quotient << bits | remainder))
        .map(|place| KeyHash::from_raw((u128::from(place) << 64).div_ceil(places) as u64))
        .collect()
}

/// The two buckets of a hash in a cuckoo filter that was not doubled, computed as docs/FORMAT.md specifies.
pub(crate) fn buckets_of(hash: KeyHash, buckets: u64, bits: u32) -> [u64; 2] {
    let x = u128::from(hash.raw()) * u128::from(buckets);
    let fingerprint = ((x as u64) >> (64 - bits)).max(1);
    let primary = (x >> 64) as u64;
    let fold = (fingerprint >> 16 ^ fingerprint) & 0xFFFF;
    let once = (fold * 0x9E37) & 0xFFFF;
    let mixed = ((once ^ once >> 7) * 0xC2B3) & 0xFFFF;
    let offset = 2 * ((mixed * (buckets.min(1 << 16) / 2)) >> 16) + 1;
    let other =
        if primary.is_multiple_of(2) { primary + offset } else { primary + buckets - offset };
    [primary, other % buckets]
}

/// The positions of the bits that a key sets in a standard Bloom filter of `m` bits, computed as docs/FORMAT.md
/// specifies.
pub(crate) fn bits_of(hash: KeyHash, m: u64, hashes: u32) -> impl Iterator<Item = u64> {
    let next = |x: &u64| Some(x.wrapping_mul(0xF135_7AEA_2E62_A9C5));
    let x = core::iter::successors(Some(hash.raw()), next).take(hashes as usize);
    x.map(move |x| scaled(KeyHash::from_raw(x), m))
}

/// The first `count` keys, in ascending order from `from`, whose hashes by `hasher` satisfy `is_chosen`.
pub(crate) fn keys_that(
    from: u64,
    count: usize,
    hasher: Hasher,
    mut is_chosen: impl FnMut(KeyHash) -> bool,
) -> Vec<u64> {
    (from..).filter(|key| is_chosen(hasher.hash_u64(*key))).take(count).collect()
}

/// Hashes in random order: one for each pair of an even primary bucket and a fingerprint of 16 bits, if the primary
/// bucket and the pair's other bucket are both below `few`. The other bucket is odd. So if two of the hashes have equal
/// fingerprints, they have different buckets.
pub(crate) fn of_few_buckets(buckets: u64, few: u64) -> Vec<KeyHash> {
    let mut hashes: Vec<KeyHash> = (0..few << 16)
        .filter(|bucket_and_fingerprint| bucket_and_fingerprint >> 16 & 1 == 0)
        .map(|fixed_point| (u128::from(fixed_point) << 48).div_ceil(u128::from(buckets)) as u64)
        .map(KeyHash::from_raw)
        .filter(|hash| buckets_of(*hash, buckets, 16).iter().all(|bucket| *bucket < few))
        .collect();
    hashes.sort_unstable_by_key(|hash| mix(hash.raw()));
    hashes
}
