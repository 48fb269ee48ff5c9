//! Computes a geometry from a spec.

use crate::geometry::{
    FEWEST_BITS, GUARANTEED_LOAD, Geometry, MAX_BUCKETS, SLOTS, SMALL_BUCKETS, WIDTHS,
};
use trommel_base::sizing::cuckoo_fpr;
use trommel_base::spec::{Size, checked_load};
use trommel_base::storage::MAX_BYTES;
use trommel_base::{FilterKind, Spec, SpecError};

/// The loads that small tables are planned for. Each pair is a number of buckets, and the load for tables of up to this
/// number of buckets. In a table of few buckets, chance fills a key's two buckets and the overflow area long before the
/// last slot is taken.
///
/// The numbers of filters that failed to take all keys up to a load, added up over fingerprints of 8, 12 and 16 bits:
///
/// | buckets | filters | failed |
/// |---|---|---|
/// | 4 | 60,000 | 0 at 75 % load, 5 at 80 % |
/// | 10 | 60,000 | 0 at 80 %, 2 at 85 % |
/// | 16 | 60,000 | 0 at 85 %, 10 at 88 % |
/// | 34 | 30,000 | 0 at 88 %, 4 at 90 % |
/// | 66 | 18,000 | 0 at 92 % |
/// | 1024 | 3000 | 0 at 96 % |
const SMALL_LOADS: [(u64, f64); 5] =
    [(8, 0.5), (32, 0.7), (64, 0.8), (128, 0.85), (SMALL_BUCKETS, 0.9)];

/// The widths of fingerprints, in the type in which an error lists them.
const ALLOWED_WIDTHS: [u64; 4] = {
    let [a, b, c, d] = WIDTHS;
    [a as u64, b as u64, c as u64, d as u64]
};

/// The false-positive rate with `keys` fingerprints, if every lookup searches two buckets.
pub(crate) fn fpr(geometry: &Geometry, keys: f64) -> f64 {
    let Geometry { fingerprint_bits, doublings, .. } = *geometry;
    // In floating point: no table is made of a geometry that is too large, but its number of slots can exceed `u64`.
    let slots = geometry.buckets as f64 * SLOTS as f64;
    cuckoo_fpr(keys / slots, fingerprint_bits, doublings)
}

/// The load that a table of `buckets` buckets is planned for, unless the spec sets a load.
fn planned_load(buckets: u64) -> f64 {
    SMALL_LOADS
        .into_iter()
        .find(|(most, _)| buckets <= *most)
        .map_or(GUARANTEED_LOAD, |(_, load)| load)
}

/// The number of keys that a table of `buckets` buckets is planned for.
fn planned_keys(buckets: u64, load: Option<f64>) -> u64 {
    (load.unwrap_or_else(|| planned_load(buckets)) * (buckets * SLOTS) as f64) as u64
}

/// The number of buckets of the smallest table that is planned for `keys` keys, but at most 2^62. The result can be
/// more than [`MAX_BUCKETS`]; the callers refuse such a table.
pub(crate) fn buckets_for(keys: usize, load: Option<f64>) -> u64 {
    let even = |load: f64| {
        let slots = libm::ceil(keys as f64 / load) as u64;
        slots.div_ceil(SLOTS).checked_next_multiple_of(2).unwrap_or(u64::MAX).max(2)
    };
    if let Some(load) = load {
        return even(load);
    }
    // Planned loads rise with the size of the table, so the first size class that fits gives the smallest table.
    let mut fewest = 2;
    for (most, load) in SMALL_LOADS {
        let buckets = even(load).max(fewest);
        if buckets <= most {
            return buckets;
        }
        fewest = most + 2;
    }
    even(GUARANTEED_LOAD).max(fewest)
}

/// The geometry that a spec asks for.
pub(crate) fn geometry(spec: &Spec) -> Result<Geometry, SpecError> {
    spec.refuse_bloom_options(FilterKind::Cuckoo)?;
    let spec = &spec.in_bytes(0)?;
    if spec.remainder_bits.is_some() {
        return Err(SpecError::Option { kind: FilterKind::Cuckoo, option: "remainder_bits" });
    }
    if let Some(bits) = spec.fingerprint_bits.filter(|bits| !WIDTHS.contains(bits)) {
        let (value, allowed) = (bits.into(), &ALLOWED_WIDTHS);
        return Err(SpecError::Choice { name: "fingerprint_bits", value, allowed });
    }
    spec.grow_at.map(checked_load).transpose()?;
    let geometry = sized(spec)?;
    spec.check_growth(most_slots(geometry))?;
    Ok(geometry)
}

/// The number of slots of the largest filter that doublings can make from this geometry.
fn most_slots(mut geometry: Geometry) -> u64 {
    while geometry.doubled().is_possible() {
        geometry = geometry.doubled();
    }
    geometry.slots()
}

/// The geometry for the keys and the size that a spec asks for.
fn sized(spec: &Spec) -> Result<Geometry, SpecError> {
    let load = spec.load.map(checked_load).transpose()?;
    match spec.size()? {
        Size::Fpr(fpr) => for_fpr(spec, load, fpr),
        Size::Bytes(bytes) => for_bytes(spec, load, bytes as u64),
        Size::FprWithin(fpr, limit) => {
            let geometry = for_fpr(spec, load, fpr)?;
            let (bytes, min_bytes) = (limit as u64, geometry.table_bytes());
            if min_bytes > bytes {
                Err(SpecError::TooSmall { bytes, min_bytes })
            } else {
                Ok(geometry)
            }
        }
    }
}

/// The widths that a spec allows.
fn widths(spec: &Spec) -> impl DoubleEndedIterator<Item = u32> {
    let asked = spec.fingerprint_bits;
    WIDTHS.into_iter().filter(move |bits| asked.is_none_or(|asked| asked == *bits))
}

fn for_fpr(spec: &Spec, load: Option<f64>, target: f64) -> Result<Geometry, SpecError> {
    let buckets = buckets_for(spec.keys, load);
    let reached = |bits| fpr(&shape(buckets, bits), spec.keys as f64);
    // If the spec has a width but no false-positive rate, any rate will do.
    let enough = |bits: &u32| {
        (spec.fpr.is_none() && spec.fingerprint_bits.is_some()) || reached(*bits) <= target
    };
    let Some(bits) = widths(spec).find(enough) else {
        let floor = widths(spec).map(reached).fold(1.0, f64::min);
        return Err(SpecError::FprUnreachable { fpr: target, floor });
    };
    checked(shape(buckets, bits))
}

fn for_bytes(spec: &Spec, load: Option<f64>, bytes: u64) -> Result<Geometry, SpecError> {
    let max_bytes = widths(spec).map(most_bytes).fold(0, u64::max);
    if bytes > max_bytes {
        return Err(SpecError::TooLarge { bytes: bytes.into(), max_bytes });
    }
    let largest = |bits: u32| {
        let geometry = shape(2, bits);
        let spare = bytes.checked_sub(geometry.table_bytes())?;
        let more = spare / (SLOTS * u64::from(bits) / 8);
        let buckets = (2 + more / 2 * 2).min(MAX_BUCKETS);
        (planned_keys(buckets, load) >= spec.keys as u64).then(|| shape(buckets, bits))
    };
    // Wider fingerprints lower the false-positive rate. But they leave fewer slots, and the higher load raises the
    // rate. So all widths are compared.
    let expected = |geometry: &Geometry| fpr(geometry, spec.keys as f64);
    let best = widths(spec)
        .rev()
        .filter_map(largest)
        .reduce(|best, other| if expected(&other) < expected(&best) { other } else { best });
    let Some(geometry) = best else {
        let narrowest = widths(spec).next().unwrap_or(WIDTHS[0]);
        let min_bytes = table_bytes(buckets_for(spec.keys, load), narrowest);
        let min_bytes = u64::try_from(min_bytes).unwrap_or(u64::MAX);
        return Err(SpecError::TooSmall { bytes, min_bytes });
    };
    checked(geometry)
}

/// The geometry of a table that has not grown.
pub(crate) const fn shape(buckets: u64, fingerprint_bits: u32) -> Geometry {
    Geometry { buckets, fingerprint_bits, doublings: 0 }
}

/// The number of bytes of a table, which may have more than [`MAX_BUCKETS`] buckets.
fn table_bytes(buckets: u64, fingerprint_bits: u32) -> u128 {
    let bucket_bytes = u128::from(SLOTS * u64::from(fingerprint_bits) / 8);
    u128::from(buckets) * bucket_bytes
        + u128::from(shape(buckets, fingerprint_bits).padding_bytes())
}

/// The number of bytes of the largest table with fingerprints of this width.
fn most_bytes(fingerprint_bits: u32) -> u64 {
    shape(MAX_BUCKETS, fingerprint_bits).table_bytes().min(MAX_BYTES)
}

/// Refuses a geometry that is too large, before anything is allocated.
fn checked(geometry: Geometry) -> Result<Geometry, SpecError> {
    let Geometry { buckets, fingerprint_bits, .. } = geometry;
    let (bytes, max_bytes) = (table_bytes(buckets, fingerprint_bits), most_bytes(fingerprint_bits));
    if bytes > max_bytes.into() {
        Err(SpecError::TooLarge { bytes, max_bytes })
    } else {
        Ok(geometry)
    }
}

const _: () = assert!(FEWEST_BITS < WIDTHS[0]);

#[cfg(test)]
mod tests {
    use super::*;
    use trommel_testkit::sizes::{checks_growth, spec, spec_within};

    fn within(bytes: u64, spec: Spec) -> Result<Geometry, SpecError> {
        geometry(&spec_within(bytes, spec))
    }

    /// A table that is sized for `keys` keys is planned for at least `keys`. A table with two buckets fewer is planned
    /// for fewer than `keys` or, because of rounding, for exactly `keys`.
    #[test]
    fn tables_are_the_smallest_that_are_planned_for_their_keys() {
        for keys in (0..6000).chain([100_000, 1_000_003]) {
            let buckets = buckets_for(keys, None);
            assert!(planned_keys(buckets, None) >= keys as u64, "{keys} keys, {buckets} buckets");
            let fewer = buckets - 2;
            assert!(fewer == 0 || planned_keys(fewer, None) <= keys as u64, "{keys}, {fewer}");
        }
        for load in [0.1, 0.5, 0.9, 0.97] {
            for keys in 0..3000 {
                let buckets = buckets_for(keys, Some(load));
                assert!(planned_keys(buckets, Some(load)) >= keys as u64, "{keys} keys at {load}");
            }
        }
    }

    #[test]
    fn a_rate_within_bytes_needs_the_bytes_of_the_rate_alone() {
        for keys in [0, 1, 100, 9_999] {
            let spec = spec(keys, |spec| spec.fpr = Some(0.001));
            let alone = geometry(&spec).unwrap();
            let min_bytes = alone.table_bytes();
            assert_eq!(within(min_bytes, spec), Ok(alone));
            assert_eq!(within(min_bytes + 1, spec), Ok(alone));
            let bytes = min_bytes - 1;
            assert_eq!(within(bytes, spec), Err(SpecError::TooSmall { bytes, min_bytes }));
        }
    }

    #[test]
    fn an_error_about_too_few_bytes_has_the_number_of_bytes_that_suffice() {
        for bits in [None, Some(8), Some(12), Some(16), Some(32)] {
            for keys in [1, 10, 1_000, 123_456] {
                let spec = spec(keys, |spec| spec.fingerprint_bits = bits);
                let Err(SpecError::TooSmall { bytes: 1, min_bytes }) = within(1, spec) else {
                    panic!("{keys} keys in one byte")
                };
                assert_eq!(within(min_bytes, spec).unwrap().table_bytes(), min_bytes);
                assert!(within(min_bytes - 1, spec).is_err());
            }
        }
    }

    #[test]
    fn the_width_is_the_smallest_that_reaches_the_rate() {
        let width = |fpr: Option<f64>, bits: Option<u32>| {
            let spec = spec(1_000, |spec| (spec.fpr, spec.fingerprint_bits) = (fpr, bits));
            geometry(&spec).map(|geometry| geometry.fingerprint_bits)
        };
        // By default, the rate is at most 1 %. If only the width is given, any rate will do.
        assert_eq!(width(None, None), Ok(12));
        assert_eq!(width(None, Some(8)), Ok(8));
        for (fpr, bits) in [(0.1, 8), (0.02, 12), (1e-3, 16), (1e-6, 32)] {
            assert_eq!(width(Some(fpr), None), Ok(bits));
        }
        let floor = fpr(&shape(buckets_for(1_000, None), 8), 1_000.0);
        assert_eq!(width(Some(0.02), Some(8)), Err(SpecError::FprUnreachable { fpr: 0.02, floor }));
    }

    /// Compares the rate of the chosen width with the rates of all widths. With 0 keys, all rates are equal, and the
    /// widest fingerprints are chosen.
    #[test]
    fn the_width_in_given_bytes_has_the_lowest_rate() {
        let mut chosen = [0; WIDTHS.len()];
        for bytes in [32, 100, 1_000, 4_096] {
            assert_eq!(within(bytes, spec(0, |_| ())).unwrap().fingerprint_bits, 32);
            for keys in 1..=bytes {
                let Ok(best) = within(bytes, spec(keys, |_| ())) else { continue };
                let rate = |geometry: &Geometry| fpr(geometry, keys as f64);
                for bits in WIDTHS {
                    let other =
                        within(bytes, spec(keys, |spec| spec.fingerprint_bits = Some(bits)));
                    let is_better = other.is_ok_and(|other| rate(&other) < rate(&best));
                    assert!(!is_better, "{keys} keys, {bytes} bytes, {bits} bits");
                }
                let index = WIDTHS.iter().position(|bits| *bits == best.fingerprint_bits);
                chosen[index.unwrap()] += 1;
            }
        }
        assert!(chosen.iter().all(|times| *times > 0), "{chosen:?}");
    }

    #[test]
    fn a_spec_that_cannot_grow_to_its_keys_is_refused() {
        let most_slots = (buckets_for(1_000, None) * SLOTS) << (8 - FEWEST_BITS);
        let growing = |load| {
            geometry(&spec(1_000, |spec| {
                (spec.fingerprint_bits, spec.grow_at) = (Some(8), Some(load));
            }))
        };
        assert!(checks_growth(most_slots, growing).is_ok());
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_largest_table_is_allowed_and_a_larger_one_is_refused() {
        for (bits, padding) in [(8, 0), (12, 2), (16, 0), (32, 0)] {
            let bucket_bytes = u128::from(bits) / 2;
            let max_bytes = MAX_BUCKETS * u64::from(bits) / 2 + padding;
            // A spec that needs exactly this number of buckets: its keys fill half of the buckets' slots.
            let with = |buckets: u64| {
                let half =
                    |spec: &mut Spec| (spec.fingerprint_bits, spec.load) = (Some(bits), Some(0.5));
                spec(buckets * SLOTS / 2, half)
            };
            let largest = shape(MAX_BUCKETS, bits);
            assert_eq!(geometry(&with(MAX_BUCKETS)), Ok(largest));
            assert_eq!(within(max_bytes, with(MAX_BUCKETS)), Ok(largest));
            for buckets in [MAX_BUCKETS + 2, 1 << 60] {
                let bytes = u128::from(buckets) * bucket_bytes + u128::from(padding);
                assert_eq!(geometry(&with(buckets)), Err(SpecError::TooLarge { bytes, max_bytes }));
            }
            let bytes = max_bytes + 1;
            let refused = SpecError::TooLarge { bytes: bytes.into(), max_bytes };
            assert_eq!(within(bytes, with(MAX_BUCKETS)), Err(refused));
        }
    }

    #[test]
    fn huge_numbers_of_keys_do_not_wrap() {
        for load in [None, Some(1e-300), Some(0.5), Some(0.99)] {
            for keys in [usize::MAX, usize::MAX - 1, usize::MAX / 4] {
                let buckets = buckets_for(keys, load);
                assert!(buckets >= keys as u64 / SLOTS, "{keys} keys, {buckets} buckets");
                assert!(usize::BITS < 64 || buckets > MAX_BUCKETS);
            }
        }
    }
}
