//! The buckets and the fingerprint of a key, computed in exact arithmetic as docs/FORMAT.md defines them. Tests compare
//! filters with the results.

#![allow(dead_code)]

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use trommel_base::{FromSpec, KeyHash, Spec};
use trommel_cuckoo::{CuckooFilter, Geometry};

/// The fingerprint of a key, and the two buckets that it can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) primary: u64,
    pub(crate) alternate: u64,
    pub(crate) fingerprint: u64,
}

/// The lower bucket, the higher bucket and the fingerprint of a key. If two keys have the same pair, a filter can
/// mistake one for the other.
pub(crate) type Pair = (u64, u64, u64);

impl Place {
    pub(crate) fn of(geometry: &Geometry, hash: KeyHash) -> Self {
        let (bits, doublings) = (geometry.fingerprint_bits, geometry.doublings);
        let product = u128::from(hash.raw()) * u128::from(geometry.buckets >> doublings);
        let (bucket, fraction) = ((product >> 64) as u64, product as u64);
        let first_bits = fraction >> (64 - bits);
        let primary = bucket << doublings | first_bits >> (bits - doublings);
        let fingerprint = first_bits.max(1);
        Self { primary, alternate: other_bucket(geometry, primary, fingerprint), fingerprint }
    }

    pub(crate) fn pair(&self) -> Pair {
        let (a, b) = (self.primary, self.alternate);
        (a.min(b), a.max(b), self.fingerprint)
    }
}

/// The other bucket of a fingerprint.
pub(crate) fn other_bucket(geometry: &Geometry, bucket: u64, fingerprint: u64) -> u64 {
    let doublings = geometry.doublings;
    let first = geometry.buckets >> doublings;
    let (i, table) = (bucket >> doublings, bucket & ((1 << doublings) - 1));
    let x = (fingerprint ^ fingerprint >> 16) & 0xFFFF;
    let y = (x * 0x9E37) & 0xFFFF;
    let z = ((y ^ y >> 7) * 0xC2B3) & 0xFFFF;
    let offset = 2 * ((z * (first.min(1 << 16) / 2)) >> 16) + 1;
    let there = if i % 2 == 0 { i + offset } else { i + first - offset } % first;
    there << doublings | table
}

/// The slots of every bucket of a filter's table.
pub(crate) fn buckets(filter: &CuckooFilter<impl AsRef<[u8]>>) -> Vec<[u64; 4]> {
    let Geometry { buckets, fingerprint_bits: bits, .. } = filter.geometry();
    let bit = |at: u64| u64::from(filter.table()[(at / 8) as usize] >> (at % 8) & 1);
    let number = |from: u64| (0..u64::from(bits)).rev().fold(0, |n, i| n << 1 | bit(from + i));
    (0..buckets).map(|b| [0, 1, 2, 3].map(|s| number((4 * b + s) * u64::from(bits)))).collect()
}

/// The possible values of `len` for a filter with these keys. A multiset holds every copy. A set holds one
/// fingerprint for every pair; it can hold two if keys of the pair have different primary buckets.
pub(crate) fn len_range(
    filter: &CuckooFilter<impl AsRef<[u8]>>,
    hashes: &[KeyHash],
) -> RangeInclusive<usize> {
    if filter.is_multiset() {
        return hashes.len()..=hashes.len();
    }
    let places: BTreeSet<Place> =
        hashes.iter().map(|hash| Place::of(&filter.geometry(), *hash)).collect();
    let pairs: BTreeSet<Pair> = places.iter().map(Place::pair).collect();
    pairs.len()..=places.len()
}

/// A filter for `keys` keys with fingerprints of `bits` bits.
pub(crate) fn filter(keys: usize, bits: u32, multiset: bool) -> CuckooFilter {
    let mut spec = Spec::default();
    spec.keys = keys;
    spec.fingerprint_bits = Some(bits);
    spec.multiset = multiset;
    CuckooFilter::from_spec(&spec).unwrap()
}

/// A filter of exactly `buckets` buckets, with fingerprints of `bits` bits.
pub(crate) fn filter_of_buckets(buckets: u64, bits: u32, multiset: bool) -> CuckooFilter {
    let mut spec = Spec::default();
    // Keys for half of the slots, at a load of one half, give exactly this number of buckets: no division is rounded.
    spec.keys = 2 * buckets as usize;
    spec.load = Some(0.5);
    spec.fingerprint_bits = Some(bits);
    spec.multiset = multiset;
    let filter = CuckooFilter::from_spec(&spec).unwrap();
    assert_eq!(filter.geometry().buckets, buckets);
    filter
}
