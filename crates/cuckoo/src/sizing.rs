//! From what is asked for to a geometry.

use crate::geometry::{
    FEWEST_BITS, GUARANTEED_LOAD, Geometry, MAX_BUCKETS, SLOTS, SMALL_BUCKETS, WIDTHS,
};
use trommel_base::sizing::cuckoo_fpr;
use trommel_base::spec::Size;
use trommel_base::storage::MAX_BYTES;
use trommel_base::{FilterKind, Spec, SpecError};

/// Loads that small tables are planned for: in a few buckets, chance leaves a key without a place, and even
/// the overflow area, long before the last slot is taken.
const SMALL_LOADS: [(u64, f64); 3] = [(8, 0.5), (64, 0.8), (SMALL_BUCKETS, 0.9)];

/// The rate with `keys` fingerprints, if every lookup reads two buckets.
pub(crate) fn fpr(geometry: &Geometry, keys: f64) -> f64 {
    let Geometry { fingerprint_bits, doublings, .. } = *geometry;
    cuckoo_fpr(keys / geometry.slots() as f64, fingerprint_bits, doublings)
}

/// Refuses a load that is not strictly between 0 and 1.
fn checked_load(load: f64) -> Result<f64, SpecError> {
    // NaN is in no range.
    if load > 0.0 && load < 1.0 { Ok(load) } else { Err(SpecError::LoadOutOfRange { load }) }
}

/// The load that a table of so many buckets is planned for unless another is asked for.
fn planned_load(buckets: u64) -> f64 {
    SMALL_LOADS
        .into_iter()
        .find(|(most, _)| buckets <= *most)
        .map_or(GUARANTEED_LOAD, |(_, load)| load)
}

/// Keys that a table of so many buckets is planned for.
fn planned_keys(buckets: u64, load: Option<f64>) -> u64 {
    (load.unwrap_or_else(|| planned_load(buckets)) * (buckets * SLOTS) as f64) as u64
}

/// The fewest buckets that are planned for so many keys. Saturates.
fn buckets_for(keys: usize, load: Option<f64>) -> u64 {
    let even = |load: f64| {
        let slots = libm::ceil(keys as f64 / load) as u64;
        slots.div_ceil(SLOTS).checked_next_multiple_of(2).unwrap_or(u64::MAX).max(2)
    };
    let Some(load) = load else {
        // Planned loads rise with the table, so the first that is consistent gives the smallest.
        let small = SMALL_LOADS.into_iter().find_map(|(most, load)| {
            let buckets = even(load);
            (buckets <= most).then_some(buckets)
        });
        return small.unwrap_or_else(|| even(GUARANTEED_LOAD).max(SMALL_BUCKETS + 2));
    };
    even(load)
}

/// The geometry that a spec asks for.
pub(crate) fn geometry(spec: &Spec) -> Result<Geometry, SpecError> {
    if spec.foldable_by != 1 {
        // Fingerprints of a folded table would fall on one another.
        let value = u64::from(spec.foldable_by);
        return Err(SpecError::Parameter { name: "foldable_by", value, min: 1, max: 1 });
    }
    if spec.compact {
        return Err(SpecError::Parameter { name: "compact", value: 1, min: 0, max: 0 });
    }
    if spec.remainder_bits.is_some() {
        return Err(SpecError::Option { kind: FilterKind::Cuckoo, option: "remainder_bits" });
    }
    if let Some(bits) = spec.fingerprint_bits.filter(|bits| !WIDTHS.contains(bits)) {
        let [value, min, max] = [bits, WIDTHS[0], WIDTHS[3]].map(u64::from);
        return Err(SpecError::Parameter { name: "fingerprint_bits", value, min, max });
    }
    spec.grow_at.map(checked_load).transpose()?;
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

fn for_fpr(spec: &Spec, load: Option<f64>, rate: f64) -> Result<Geometry, SpecError> {
    let buckets = buckets_for(spec.keys, load);
    let reached = |bits| fpr(&shape(buckets, bits), spec.keys as f64);
    // A width that was asked for is taken as it is, unless a rate was asked for as well.
    let enough = |bits: &u32| {
        (spec.fpr.is_none() && spec.fingerprint_bits.is_some()) || reached(*bits) <= rate
    };
    let Some(bits) = widths(spec).find(enough) else {
        let floor = widths(spec).map(reached).fold(1.0, f64::min);
        return Err(SpecError::FprUnreachable { fpr: rate, floor });
    };
    checked(shape(buckets, bits))
}

fn for_bytes(spec: &Spec, load: Option<f64>, bytes: u64) -> Result<Geometry, SpecError> {
    let largest = |bits: u32| {
        let geometry = shape(2, bits);
        let spare = bytes.checked_sub(geometry.table_bytes())?;
        let more = spare / (SLOTS * u64::from(bits) / 8);
        let buckets = (2 + more / 2 * 2).min(MAX_BUCKETS);
        (planned_keys(buckets, load) >= spec.keys as u64 || spec.keys == 0)
            .then(|| shape(buckets, bits))
    };
    // Wider fingerprints in fewer slots: the rate falls by the bits, and rises with the load.
    let rate = |geometry: &Geometry| fpr(geometry, spec.keys as f64);
    let best = widths(spec)
        .rev()
        .filter_map(largest)
        .reduce(|best, other| if rate(&other) < rate(&best) { other } else { best });
    let Some(geometry) = best else {
        let narrowest = widths(spec).next().unwrap_or(WIDTHS[0]);
        let smallest = checked(shape(buckets_for(spec.keys, load), narrowest))?;
        return Err(SpecError::TooSmall { bytes, min_bytes: smallest.table_bytes() });
    };
    checked(geometry)
}

const fn shape(buckets: u64, fingerprint_bits: u32) -> Geometry {
    Geometry { buckets, fingerprint_bits, doublings: 0 }
}

/// Refuses what no filter can be, before anything is allocated.
fn checked(geometry: Geometry) -> Result<Geometry, SpecError> {
    if geometry.buckets <= MAX_BUCKETS && geometry.table_bytes() <= MAX_BYTES {
        return Ok(geometry);
    }
    let bucket_bytes = u128::from(SLOTS * u64::from(geometry.fingerprint_bits) / 8);
    let bytes = u128::from(geometry.buckets) * bucket_bytes;
    let most = shape(MAX_BUCKETS, geometry.fingerprint_bits).table_bytes();
    Err(SpecError::TooLarge { bytes, max_bytes: most.min(MAX_BYTES) })
}

const _: () = assert!(FEWEST_BITS < WIDTHS[0]);
