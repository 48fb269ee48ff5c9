//! Computes the geometry that a spec asks for.

use crate::fingerprint::remainder_bits_for;
use crate::geometry::{GUARANTEED_LOAD, Geometry, MAX_COPIES, MAX_FINGERPRINT_BITS, MAX_SLOTS};
use crate::layout::Layout;
use trommel_base::sizing::{quotient_fpr, quotient_load};
use trommel_base::spec::{Size, checked_load};
use trommel_base::storage::MAX_BYTES;
use trommel_base::{Spec, SpecError};

/// The lowest load that is chosen to reach a false-positive rate. A load is chosen only in a layout whose new filters
/// all have remainders of the same width: there, a lower rate needs more free slots. A rate that would need a load
/// below this one is refused.
const LOWEST_LOAD: f64 = 1.0 / 16.0;

/// The false-positive rate of a layout at a load, with the effect of a reserved remainder 0.
pub(crate) fn fpr_at<L: Layout>(load: f64, remainder_bits: u32) -> f64 {
    quotient_fpr(load * reserved_factor::<L>(), remainder_bits)
}

/// The false-positive rate of a layout, divided by the rate that it would have if it did not reserve remainder 0.
/// Remainder 0 becomes 1, so the stored byte 1 is twice as likely as each of the 254 others. The factor is
/// `256 · Σ p² = (254 + 4) / 256`, where `p` is the probability of a stored byte, and the sum is over all stored bytes.
pub(crate) fn reserved_factor<L: Layout>() -> f64 {
    if L::RESERVES_ZERO { 258.0 / 256.0 } else { 1.0 }
}

/// The geometry that a spec asks for.
pub(crate) fn geometry<L: Layout>(spec: &Spec) -> Result<Geometry, SpecError> {
    spec.refuse_bloom_options(L::KIND)?;
    let spec = &spec.in_bytes(0)?;
    if let Some(bits) = spec.remainder_bits {
        let (min, max) = (*L::REMAINDER_BITS.start(), *L::REMAINDER_BITS.end());
        // In a layout that reserves remainder 0, every new filter has remainders of the largest width.
        check_bits("remainder_bits", bits, if L::RESERVES_ZERO { max } else { min }, max)?;
    }
    if let Some(bits) = spec.fingerprint_bits {
        if L::RESERVES_ZERO {
            return Err(SpecError::Option { kind: L::KIND, option: "fingerprint_bits" });
        }
        check_bits("fingerprint_bits", bits, 1, MAX_FINGERPRINT_BITS)?;
    }
    spec.grow_at.map(checked_load).transpose()?;
    // A filter that grows by itself is sized for at least one key. If it were sized for zero keys, remainders of one
    // bit would be enough for any false-positive rate, but a filter with such remainders cannot grow.
    let mut spec = *spec;
    spec.keys = spec.keys.max(usize::from(spec.grow_at.is_some()));
    let geometry = sized::<L>(&spec)?;
    spec.check_growth(most_slots::<L>(geometry))?;
    Ok(geometry)
}

/// The geometry `old`, but with `slots` slots. The possible fingerprints stay the same. `None` if there can be no such
/// table.
pub(crate) fn with_slots<L: Layout>(old: &Geometry, slots: u64) -> Option<Geometry> {
    if slots > MAX_SLOTS {
        return None;
    }
    let remainder_bits = remainder_bits_for(slots, old.fingerprints)
        .filter(|bits| L::REMAINDER_BITS.contains(bits))
        .filter(|bits| fits(slots, *bits))?;
    Some(Geometry { slots, blocks: Geometry::blocks_for::<L>(slots), remainder_bits, ..*old })
}

/// The number of slots of a filter of this geometry after as many doublings as possible.
fn most_slots<L: Layout>(mut geometry: Geometry) -> u64 {
    while let Some(doubled) = with_slots::<L>(&geometry, geometry.slots.saturating_mul(2))
        && doubled.table_bytes::<L>() <= MAX_BYTES
    {
        geometry = doubled;
    }
    geometry.slots
}

/// The geometry for the keys and the size that a spec asks for.
fn sized<L: Layout>(spec: &Spec) -> Result<Geometry, SpecError> {
    let load = checked_load(spec.load.unwrap_or(GUARANTEED_LOAD))?;
    let geometry = match spec.size()? {
        Size::Fpr(fpr) => for_fpr::<L>(spec, load, fpr)?,
        Size::Bytes(bytes) => return for_bytes::<L>(spec, load, bytes),
        Size::FprWithin(fpr, limit) => {
            let geometry = for_fpr::<L>(spec, load, fpr)?;
            let bytes = geometry.table_bytes::<L>();
            if bytes > limit as u64 {
                return Err(SpecError::TooSmall { bytes: limit as u64, min_bytes: bytes });
            }
            geometry
        }
    };
    Ok(geometry)
}

fn check_bits(name: &'static str, value: u32, min: u32, max: u32) -> Result<(), SpecError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    let [value, min, max] = [value, min, max].map(u64::from);
    Err(SpecError::Parameter { name, value, min, max })
}

/// The fewest slots, a multiple of `SLOTS_STEP`, that `keys` keys fill to at most `load`; `u64::MAX` if that number is
/// larger than 64 bits can hold.
pub(crate) fn slots_for<L: Layout>(keys: usize, load: f64) -> u64 {
    let slots = (libm::ceil(keys as f64 / load) as u64).max(1);
    slots.checked_next_multiple_of(L::SLOTS_STEP).unwrap_or(u64::MAX)
}

fn for_fpr<L: Layout>(spec: &Spec, load: f64, fpr: f64) -> Result<Geometry, SpecError> {
    let widest = *L::REMAINDER_BITS.end();
    let mut slots = slots_for::<L>(spec.keys, load);
    if L::RESERVES_ZERO && spec.load.is_none() {
        // Remainders of a new filter can have only one width, so a lower false-positive rate needs more slots.
        let load_for_fpr = quotient_load(fpr, widest) / reserved_factor::<L>();
        slots = slots_for::<L>(spec.keys, load_for_fpr.clamp(LOWEST_LOAD, load));
    }
    let reached = |bits| fpr_at::<L>(spec.keys as f64 / slots as f64, bits);
    let enough = |bits: u32| reached(bits) <= fpr && fits(slots, bits);
    let bits = if let Some(fingerprint_bits) = spec.fingerprint_bits {
        let reached_fpr = spec.keys as f64 / libm::exp2(f64::from(fingerprint_bits));
        if spec.fpr.is_some() && reached_fpr > fpr {
            return Err(SpecError::FprUnreachable { fpr, floor: reached_fpr.min(1.0) });
        }
        remainder_bits_of(slots, fingerprint_bits)?
    } else if let Some(bits) = spec.remainder_bits {
        if spec.fpr.is_some() && reached(bits) > fpr {
            return Err(SpecError::FprUnreachable { fpr, floor: reached(bits) });
        }
        bits
    } else if L::RESERVES_ZERO {
        widest
    } else {
        // If no width reaches the rate, the widest that fits tells the lowest rate that can be reached.
        let longest = L::REMAINDER_BITS.filter(|bits| fits(slots, *bits)).max();
        L::REMAINDER_BITS.into_iter().find(|bits| enough(*bits)).or(longest).unwrap_or(widest)
    };
    let geometry = checked::<L>(spec, slots, bits)?;
    if spec.fingerprint_bits.is_none() && spec.remainder_bits.is_none() && reached(bits) > fpr {
        return Err(SpecError::FprUnreachable { fpr, floor: reached(bits) });
    }
    Ok(geometry)
}

/// The remainder bits with which `slots` slots can store fingerprints of `fingerprint_bits` bits.
fn remainder_bits_of(slots: u64, fingerprint_bits: u32) -> Result<u32, SpecError> {
    if slots > MAX_SLOTS {
        // Any width will do here: `checked` then refuses this number of slots.
        return Ok(1);
    }
    let kept = |width: u32| remainder_bits_for(slots, 1 << width).filter(|bits| fits(slots, *bits));
    kept(fingerprint_bits).ok_or_else(|| {
        let is_kept = |width: &u32| kept(*width).is_some();
        let min = (1..=MAX_FINGERPRINT_BITS).find(is_kept).unwrap_or(1);
        let max = (min..=MAX_FINGERPRINT_BITS).rev().find(is_kept).unwrap_or(min);
        let [value, min, max] = [fingerprint_bits, min, max].map(u64::from);
        SpecError::Parameter { name: "fingerprint_bits", value, min, max }
    })
}

/// Whether quotient and remainder together have at most `MAX_FINGERPRINT_BITS` bits.
pub(crate) fn fits(slots: u64, remainder_bits: u32) -> bool {
    u128::from(slots) << remainder_bits <= 1 << MAX_FINGERPRINT_BITS
}

fn for_bytes<L: Layout>(spec: &Spec, load: f64, bytes: usize) -> Result<Geometry, SpecError> {
    let bytes = bytes as u64;
    if bytes > MAX_BYTES {
        return Err(SpecError::TooLarge { bytes: bytes.into(), max_bytes: MAX_BYTES });
    }
    let fewest = slots_for::<L>(spec.keys, load);
    if let Some(fingerprint_bits) = spec.fingerprint_bits {
        return for_fingerprints_in_bytes::<L>(spec, fingerprint_bits, fewest, bytes);
    }
    let size = |slots, bits| table_bytes::<L>(slots, bits);
    let narrowest = spec.remainder_bits.unwrap_or(if L::RESERVES_ZERO {
        *L::REMAINDER_BITS.end()
    } else {
        *L::REMAINDER_BITS.start()
    });
    let widest = spec.remainder_bits.unwrap_or(*L::REMAINDER_BITS.end());
    let room = |slots, bits| fits(slots, bits) && size(slots, bits) <= u128::from(bytes);
    let Some(bits) = (narrowest..=widest).rev().find(|bits| room(fewest, *bits)) else {
        let min_bytes = u64::try_from(size(fewest, narrowest)).unwrap_or(u64::MAX);
        return Err(SpecError::TooSmall { bytes, min_bytes });
    };
    if fewest > MAX_SLOTS {
        return checked::<L>(spec, fewest, bits);
    }
    // Searches for the most slots that fit into the bytes, between `fewest`, which fit, and `MAX_SLOTS`. In every
    // iteration, a table of `least · SLOTS_STEP` slots fits, and a table of `most · SLOTS_STEP` slots does not fit or
    // has more than `MAX_SLOTS` slots.
    let (mut least, mut most) = (fewest / L::SLOTS_STEP, MAX_SLOTS / L::SLOTS_STEP + 1);
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        if room(middle * L::SLOTS_STEP, bits) {
            least = middle;
        } else {
            most = middle;
        }
    }
    let slots = least * L::SLOTS_STEP;
    checked::<L>(spec, slots, bits)
}

/// The geometry for a spec with both `fingerprint_bits` and a number of bytes. The bytes are only a limit: more slots
/// than the keys need would take memory without lowering the false-positive rate.
fn for_fingerprints_in_bytes<L: Layout>(
    spec: &Spec,
    fingerprint_bits: u32,
    slots: u64,
    bytes: u64,
) -> Result<Geometry, SpecError> {
    let bits = remainder_bits_of(slots, fingerprint_bits)?;
    let geometry = checked::<L>(spec, slots, bits)?;
    let min_bytes = geometry.table_bytes::<L>();
    if min_bytes > bytes { Err(SpecError::TooSmall { bytes, min_bytes }) } else { Ok(geometry) }
}

/// The number of bytes of a table. If the table has more slots than a filter can have, offsets and padding are not
/// counted.
fn table_bytes<L: Layout>(slots: u64, remainder_bits: u32) -> u128 {
    if slots <= MAX_SLOTS {
        return L::table_bytes(Geometry::blocks_for::<L>(slots), remainder_bits).into();
    }
    let bits_per_slot = u128::from(remainder_bits) + 2;
    u128::from(slots) * bits_per_slot / 8
}

/// The geometry for a spec, with the given numbers of slots and of remainder bits. Refuses tables that are too large
/// for any machine, and fingerprints (quotient and remainder together) that are too long. Allocates nothing.
fn checked<L: Layout>(spec: &Spec, slots: u64, remainder_bits: u32) -> Result<Geometry, SpecError> {
    let bytes = table_bytes::<L>(slots, remainder_bits);
    if slots > MAX_SLOTS || bytes > u128::from(MAX_BYTES) {
        let most = table_bytes::<L>(MAX_SLOTS, remainder_bits).min(u128::from(MAX_BYTES));
        let max_bytes = most as u64;
        return Err(SpecError::TooLarge { bytes: bytes.max(most + 1), max_bytes });
    }
    if !fits(slots, remainder_bits) {
        let longest = (1..remainder_bits).rev().find(|bits| fits(slots, *bits));
        let max = u64::from(longest.unwrap_or(1));
        let value = u64::from(remainder_bits);
        return Err(SpecError::Parameter { name: "remainder_bits", value, min: 1, max });
    }
    let fingerprints = match spec.fingerprint_bits {
        Some(bits) => 1 << bits,
        None => slots << remainder_bits,
    };
    let copies = if spec.multiset { MAX_COPIES } else { 1 };
    let blocks = Geometry::blocks_for::<L>(slots);
    Ok(Geometry { slots, blocks, remainder_bits, copies, fingerprints })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{LineBlock, WideBlock};
    use trommel_testkit::sizes::{checks_growth, spec, spec_within};

    fn within<L: Layout>(bytes: u64, spec: Spec) -> Result<Geometry, SpecError> {
        geometry::<L>(&spec_within(bytes, spec))
    }

    /// Counts the pairs of remainders that have the same stored form.
    #[test]
    fn a_reserved_remainder_raises_the_rate_by_the_pairs_that_become_equal() {
        let stored = |remainder: u32| LineBlock::stored(8, remainder);
        let equal = (0..256).flat_map(|a| (0..256).map(move |b| (a, b)));
        let pairs = equal.filter(|(a, b)| stored(*a) == stored(*b)).count();
        let factor = pairs as f64 / 256.0;
        assert_eq!(fpr_at::<LineBlock>(0.5, 8), quotient_fpr(0.5 * factor, 8));
        assert_eq!(fpr_at::<WideBlock>(0.5, 8), quotient_fpr(0.5, 8));
    }

    #[test]
    fn the_remainders_are_the_shortest_that_reach_the_rate() {
        for keys in [1, 60, 1_000, 123_456] {
            for tenths in 1..80 {
                let target = libm::exp10(-f64::from(tenths) / 10.0);
                let found =
                    geometry::<WideBlock>(&spec(keys, |spec| spec.fpr = Some(target))).unwrap();
                assert_eq!(found.slots, slots_for::<WideBlock>(keys as usize, GUARANTEED_LOAD));
                let load = keys as f64 / found.slots as f64;
                let rate = |bits| fpr_at::<WideBlock>(load, bits);
                assert!(rate(found.remainder_bits) <= target);
                assert!(found.remainder_bits == 1 || rate(found.remainder_bits - 1) > target);
            }
        }
    }

    #[test]
    fn a_layout_with_one_width_reaches_the_rate_by_more_slots() {
        for keys in [100, 1_000, 123_456] {
            for target in [0.1, 0.0037, 0.002, 0.001, 0.0004] {
                let spec = spec(keys, |spec| spec.fpr = Some(target));
                let found = geometry::<LineBlock>(&spec).unwrap();
                let rate = |slots: u64| fpr_at::<LineBlock>(keys as f64 / slots as f64, 8);
                assert_eq!(found.remainder_bits, 8);
                assert!(rate(found.slots) <= target);
                let fewer = found.slots - LineBlock::SLOTS_STEP;
                let is_full = keys as f64 > GUARANTEED_LOAD * fewer as f64;
                assert!(is_full || rate(fewer) > target, "{keys} keys at {target}: {fewer} slots");
            }
            let spec = spec(keys, |spec| spec.fpr = Some(1e-6));
            let Err(SpecError::FprUnreachable { fpr, floor }) = geometry::<LineBlock>(&spec) else {
                panic!("a rate of 1e-6 was reached")
            };
            assert!(fpr == 1e-6 && floor <= fpr_at::<LineBlock>(LOWEST_LOAD, 8));
        }
    }

    /// If the table has between 2^30 and 2^31 slots, remainders of at most 31 bits fit, although the layout has
    /// remainders of 32 bits. If the spec gives no width, the error names the rate, not a width.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_rate_that_no_fitting_width_reaches_is_unreachable() {
        let keys = 2_000_000_000;
        let slots = slots_for::<WideBlock>(keys as usize, GUARANTEED_LOAD);
        let longest = 31;
        assert!(fits(slots, longest) && !fits(slots, longest + 1));
        let floor = fpr_at::<WideBlock>(keys as f64 / slots as f64, longest);
        let with = |fpr| geometry::<WideBlock>(&spec(keys, |spec| spec.fpr = Some(fpr)));
        assert_eq!(with(floor).map(|geometry| geometry.remainder_bits), Ok(longest));
        let fpr = floor * 0.999;
        assert_eq!(with(fpr), Err(SpecError::FprUnreachable { fpr, floor }));
    }

    /// A load that the spec gives is kept, even in a layout that could reach the false-positive rate with more slots.
    #[test]
    fn a_given_load_must_reach_a_given_rate() {
        let with = |fpr| {
            let spec = spec(1_000, |spec| (spec.fpr, spec.load) = (Some(fpr), Some(0.5)));
            geometry::<LineBlock>(&spec).map(|geometry| geometry.slots)
        };
        let slots = slots_for::<LineBlock>(1_000, 0.5);
        let floor = fpr_at::<LineBlock>(1_000.0 / slots as f64, 8);
        assert_eq!([with(0.5), with(floor)], [Ok(slots), Ok(slots)]);
        let fpr = floor * 0.999;
        assert_eq!(with(fpr), Err(SpecError::FprUnreachable { fpr, floor }));
    }

    #[test]
    fn a_given_width_must_reach_a_given_rate() {
        let load = 1_000.0 / slots_for::<WideBlock>(1_000, GUARANTEED_LOAD) as f64;
        let reached = fpr_at::<WideBlock>(load, 6);
        let with = |fpr| {
            let spec = spec(1_000, |spec| (spec.fpr, spec.remainder_bits) = (fpr, Some(6)));
            geometry::<WideBlock>(&spec).map(|geometry| geometry.remainder_bits)
        };
        assert_eq!([with(None), with(Some(reached)), with(Some(0.5))], [Ok(6), Ok(6), Ok(6)]);
        let fpr = reached * 0.999;
        assert_eq!(with(Some(fpr)), Err(SpecError::FprUnreachable { fpr, floor: reached }));

        let floor = 1_000.0 / f64::from(1 << 20);
        let with = |fpr| {
            let spec = spec(1_000, |spec| (spec.fpr, spec.fingerprint_bits) = (fpr, Some(20)));
            geometry::<WideBlock>(&spec).map(|geometry| geometry.fingerprints)
        };
        assert_eq!([with(None), with(Some(floor)), with(Some(0.5))], [Ok(1 << 20); 3]);
        let fpr = floor * 0.999;
        assert_eq!(with(Some(fpr)), Err(SpecError::FprUnreachable { fpr, floor }));
    }

    #[test]
    fn a_rate_within_bytes_needs_the_bytes_of_the_rate_alone() {
        fn check<L: Layout>(options: impl Fn(&mut Spec)) {
            for keys in [0, 1, 100, 9_999] {
                let spec = spec(keys, &options);
                let alone = geometry::<L>(&spec).unwrap();
                let min_bytes = alone.table_bytes::<L>();
                assert_eq!(within::<L>(min_bytes, spec), Ok(alone));
                assert_eq!(within::<L>(min_bytes + 1, spec), Ok(alone));
                let bytes = min_bytes - 1;
                assert_eq!(within::<L>(bytes, spec), Err(SpecError::TooSmall { bytes, min_bytes }));
            }
        }
        check::<WideBlock>(|spec| spec.fpr = Some(0.001));
        check::<LineBlock>(|spec| spec.fpr = Some(0.001));
        // If the width of fingerprints is given, the bytes are in the same way only a limit.
        check::<WideBlock>(|spec| spec.fingerprint_bits = Some(24));
    }

    #[test]
    fn bytes_alone_give_the_widest_remainders_and_then_the_most_slots() {
        fn check<L: Layout>(keys: u64, bytes: u64, remainder_bits: Option<u32>) {
            let spec = spec(keys, |spec| spec.remainder_bits = remainder_bits);
            let fewest = slots_for::<L>(keys as usize, GUARANTEED_LOAD);
            let size = |slots, bits| table_bytes::<L>(slots, bits);
            let fits = |slots, bits| fits(slots, bits) && size(slots, bits) <= bytes.into();
            match within::<L>(bytes, spec) {
                Ok(Geometry { slots, remainder_bits: bits, .. }) => {
                    assert!(fits(slots, bits) && !fits(slots + L::SLOTS_STEP, bits));
                    assert!(slots >= fewest);
                    let widest = remainder_bits.unwrap_or(*L::REMAINDER_BITS.end());
                    assert!(bits == widest || !fits(fewest, bits + 1), "{keys}, {bytes}");
                }
                Err(error) => {
                    let narrowest = if L::RESERVES_ZERO { 8 } else { remainder_bits.unwrap_or(1) };
                    let min_bytes = size(fewest, narrowest) as u64;
                    assert_eq!(error, SpecError::TooSmall { bytes, min_bytes });
                    assert!(min_bytes > bytes, "{keys}, {bytes}");
                }
            }
        }
        for bytes in [1, 63, 64, 191, 192, 193, 1_000, 4_096, 100_000] {
            for keys in [0, 1, 10, 49, 50, 51, 500, 5_000, 50_000] {
                check::<WideBlock>(keys, bytes, None);
                check::<WideBlock>(keys, bytes, Some(7));
                check::<LineBlock>(keys, bytes, None);
            }
        }
    }

    #[test]
    fn an_error_about_fingerprint_bits_has_the_bounds_that_are_allowed() {
        for keys in [0, 1, 1_000, 1 << 20] {
            let with = |bits| {
                geometry::<WideBlock>(&spec(keys, |spec| spec.fingerprint_bits = Some(bits)))
            };
            let slots = slots_for::<WideBlock>(keys as usize, GUARANTEED_LOAD);
            let allowed: std::vec::Vec<u32> =
                (1..=MAX_FINGERPRINT_BITS).filter(|bits| with(*bits).is_ok()).collect();
            let (first, last) = (allowed[0], allowed[allowed.len() - 1]);
            // Remainders have at least one bit, and at most 32 bits.
            assert_eq!(first, slots.ilog2() + 1, "{keys} keys");
            assert_eq!(last, slots.ilog2() + 32, "{keys} keys");
            for bits in [1, first.saturating_sub(1).max(1), (last + 1).min(MAX_FINGERPRINT_BITS)] {
                if !allowed.contains(&bits) {
                    let [value, min, max] = [bits, first, last].map(u64::from);
                    let refused =
                        SpecError::Parameter { name: "fingerprint_bits", value, min, max };
                    assert_eq!(with(bits), Err(refused), "{keys} keys");
                }
            }
            for bits in [0, MAX_FINGERPRINT_BITS + 1] {
                let [value, max] = [bits, MAX_FINGERPRINT_BITS].map(u64::from);
                let refused = SpecError::Parameter { name: "fingerprint_bits", value, min: 1, max };
                assert_eq!(with(bits), Err(refused), "{keys} keys");
            }
        }
    }

    #[test]
    fn a_spec_that_cannot_grow_to_its_keys_is_refused() {
        let first =
            geometry::<WideBlock>(&spec(1_000, |spec| spec.remainder_bits = Some(4))).unwrap();
        // After three doublings, one of the four remainder bits is left.
        let most_slots = first.slots << 3;
        let growing = |load| {
            geometry::<WideBlock>(&spec(1_000, |spec| {
                (spec.remainder_bits, spec.grow_at) = (Some(4), Some(load));
            }))
        };
        assert_eq!(checks_growth(most_slots, growing), Ok(first));
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_largest_table_is_allowed_and_a_larger_one_is_refused() {
        let with = |slots: u64, bits: u32| {
            let spec = spec(slots / 2, |spec| {
                (spec.remainder_bits, spec.load) = (Some(bits), Some(0.5));
            });
            geometry::<WideBlock>(&spec)
        };
        let largest = with(MAX_SLOTS, 1).unwrap();
        assert_eq!((largest.slots, largest.remainder_bits), (MAX_SLOTS, 1));
        assert_eq!(
            with_slots::<WideBlock>(&Geometry { fingerprints: 1 << 60, ..largest }, MAX_SLOTS)
                .unwrap()
                .slots,
            MAX_SLOTS
        );
        assert_eq!(
            with_slots::<WideBlock>(&Geometry { fingerprints: 1 << 60, ..largest }, MAX_SLOTS + 1),
            None
        );
        let max_bytes = largest.table_bytes::<WideBlock>();
        for slots in [MAX_SLOTS + 2, 1 << 60] {
            let bytes = (u128::from(slots) * 3 / 8).max(u128::from(max_bytes) + 1);
            assert_eq!(with(slots, 1), Err(SpecError::TooLarge { bytes, max_bytes }));
        }
        // `MAX_SLOTS` is 2^42, so 20 bits of remainder make fingerprints of 62 bits, the longest that are allowed.
        assert_eq!(
            with(MAX_SLOTS, 20).map(|geometry| geometry.fingerprints),
            Ok(1 << MAX_FINGERPRINT_BITS)
        );
        let refused = SpecError::Parameter { name: "remainder_bits", value: 21, min: 1, max: 20 };
        assert_eq!(with(MAX_SLOTS, 21), Err(refused));
        let fingerprints = |slots| {
            let widest = Some(MAX_FINGERPRINT_BITS);
            let options =
                |spec: &mut Spec| (spec.fingerprint_bits, spec.load) = (widest, Some(0.5));
            geometry::<WideBlock>(&spec(slots / 2, options)).map(|geometry| geometry.remainder_bits)
        };
        assert_eq!(fingerprints(MAX_SLOTS), Ok(20));
        assert!(matches!(fingerprints(MAX_SLOTS + 2), Err(SpecError::TooLarge { .. })));
        let (bytes, max_bytes) = (MAX_BYTES + 1, MAX_BYTES);
        let refused = SpecError::TooLarge { bytes: bytes.into(), max_bytes };
        assert_eq!(within::<WideBlock>(bytes, spec(0, |_| ())), Err(refused));
        assert!(within::<WideBlock>(MAX_BYTES, spec(0, |_| ())).is_ok());
        // `MAX_BYTES` bytes would hold more than `MAX_SLOTS` slots.
        let most = within::<LineBlock>(MAX_BYTES, spec(0, |_| ())).map(|geometry| geometry.slots);
        assert_eq!(most, Ok(MAX_SLOTS / LineBlock::SLOTS_STEP * LineBlock::SLOTS_STEP));
    }
}
