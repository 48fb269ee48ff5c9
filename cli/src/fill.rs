//! The fill of a filter's table: the share of bits or slots in use, overall and by region.

use trommel::{Filter as _, FilterView};

/// The number of regions into which a table is divided. If a table has fewer bytes (Bloom kinds) or fewer slots (the
/// other kinds) than this number, each byte or slot is a region.
const REGIONS: usize = 64;

/// The share of a table that is in use: of the whole table, and of each region from first to last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fill {
    pub(crate) unit: Unit,
    /// The share of the whole table. For a table of slots, this is the filter's load factor.
    pub(crate) fraction: f64,
    pub(crate) regions: Vec<f64>,
}

/// The unit in which a table's fill is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bits,
    Slots,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bits => "bits",
            Self::Slots => "slots",
        }
    }
}

impl Fill {
    /// The fill of a filter's table. `None` if the table takes no memory, or if this program does not know the filter's
    /// kind.
    pub(crate) fn of(view: &FilterView<'_>) -> Option<Self> {
        match view {
            FilterView::Bloom(filter) => Some(Self::of_bits(filter.table())),
            FilterView::CountingBloom(filter) => Some(Self::of_bits(filter.bits().table())),
            FilterView::RegisterBloom(filter) => Some(Self::of_bits(filter.table())),
            FilterView::SplitBlockBloom(filter) => Some(Self::of_bits(filter.table())),
            FilterView::CacheLineBloom(filter) => Some(Self::of_bits(filter.table())),
            FilterView::Quotient(filter) => {
                let (geometry, keys) = (filter.geometry(), filter.fingerprints());
                let fill = Self::of_fingerprints(geometry.slots, geometry.fingerprints, keys);
                Some(Self { fraction: filter.load_factor(), ..fill })
            }
            FilterView::CacheLineQuotient(filter) => {
                let (geometry, keys) = (filter.geometry(), filter.fingerprints());
                let fill = Self::of_fingerprints(geometry.slots, geometry.fingerprints, keys);
                Some(Self { fraction: filter.load_factor(), ..fill })
            }
            FilterView::Cuckoo(filter) => {
                let geometry = filter.geometry();
                let bits = geometry.fingerprint_bits as usize;
                let fill = Self::of_slots(filter.table(), geometry.slots() as usize, bits);
                Some(Self { fraction: filter.load_factor(), ..fill })
            }
            _ => None,
        }
        .filter(|_| view.memory_bytes() > 0)
    }

    /// The fill of a table of bits: the share of bits that are set.
    fn of_bits(table: &[u8]) -> Self {
        let regions = regions(table.len());
        let set: Vec<(u64, u64)> = regions
            .map(|(begin, end)| {
                let bytes = &table[begin..end];
                let (words, rest) = bytes.as_chunks::<8>();
                let set: u64 = words
                    .iter()
                    .map(|word| u64::from(u64::from_le_bytes(*word).count_ones()))
                    .chain(rest.iter().map(|byte| u64::from(byte.count_ones())))
                    .sum();
                (set, 8 * bytes.len() as u64)
            })
            .collect();
        Self::of_counts(Unit::Bits, &set)
    }

    /// The fill of a cuckoo table whose slots have `bits` bits: the share of slots whose fingerprint is not zero.
    fn of_slots(table: &[u8], slots: usize, bits: usize) -> Self {
        let is_used = |slot: &usize| match bits {
            // Two slots of 12 bits share three bytes.
            12 => {
                let at = slot / 2 * 3;
                let byte = |i: usize| table.get(at + i).copied().unwrap_or(0);
                if slot.is_multiple_of(2) {
                    byte(0) != 0 || byte(1) & 15 != 0
                } else {
                    byte(1) >> 4 != 0 || byte(2) != 0
                }
            }
            _ => {
                let bytes = bits / 8;
                table
                    .get(slot * bytes..(slot + 1) * bytes)
                    .is_some_and(|slot| slot != &[0; 4][..bytes])
            }
        };
        let used: Vec<(u64, u64)> = regions(slots)
            .map(|(begin, end)| ((begin..end).filter(is_used).count() as u64, (end - begin) as u64))
            .collect();
        Self::of_counts(Unit::Slots, &used)
    }

    /// The fill of a quotient table of `slots` slots. The fingerprints that the filter holds are numbers below
    /// `fingerprints`. Each fingerprint counts in the region of its home slot, even if it was shifted out of that
    /// region. There is one exception: if the number of regions does not divide `slots`, the exact border between two
    /// regions can be inside a slot. This slot belongs to the region after the border, but the fingerprints with this
    /// home slot that are below the border count in the region before it.
    fn of_fingerprints(slots: u64, fingerprints: u64, held: impl Iterator<Item = u64>) -> Self {
        let mut used: Vec<(u64, u64)> =
            regions(slots as usize).map(|(begin, end)| (0, (end - begin) as u64)).collect();
        let count = used.len() as u128;
        for fingerprint in held {
            let region = u128::from(fingerprint) * count / u128::from(fingerprints.max(1));
            if let Some(region) = used.get_mut(region as usize) {
                region.0 += 1;
            }
        }
        Self::of_counts(Unit::Slots, &used)
    }

    /// The fill of a table. For each region, `counts` has the number of used units and the number of all units.
    fn of_counts(unit: Unit, counts: &[(u64, u64)]) -> Self {
        let share = |(used, all): (u64, u64)| if all == 0 { 0.0 } else { used as f64 / all as f64 };
        let sum = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        Self {
            unit,
            fraction: share(sum),
            regions: counts.iter().map(|count| share(*count)).collect(),
        }
    }
}

/// Divides `units` units, which are bytes or slots, into [`REGIONS`] regions, or fewer if there are fewer units.
/// Returns the first unit of each region and the first unit after the region. The sizes of the regions differ by at
/// most one unit.
fn regions(units: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = units.min(REGIONS);
    let bound = move |i: usize| (units as u128 * i as u128 / count as u128) as usize;
    (0..count).map(move |i| (bound(i), bound(i + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trommel::{FilterKind, FilterSpec, Hasher, KeyHash};

    #[test]
    fn the_regions_of_every_kind_average_to_its_fill() {
        let mut hashes = Vec::new();
        Hasher::default().hash_batch(&(0..10_000u64).collect::<Vec<_>>(), &mut hashes);
        for kind in FilterKind::ALL {
            for fpr in [0.03, 0.002, 0.0004] {
                let spec = FilterSpec::new(*kind).keys(10_000).fpr(fpr);
                let Ok(filter) = spec.build_from(&hashes) else { continue };
                let bytes = filter.to_bytes();
                let fill = Fill::of(&FilterView::parse(&bytes).unwrap()).unwrap();
                assert_eq!(fill.regions.len(), 64, "{kind}");
                let mean = fill.regions.iter().sum::<f64>() / 64.0;
                assert!(
                    (mean - fill.fraction).abs() < 0.02,
                    "{kind}: the regions have the mean {mean}: {fill:?}"
                );
                let expected = filter.load_factor();
                assert_eq!(fill.unit == Unit::Slots, expected.is_some(), "{kind}");
                assert!(
                    expected.is_none_or(|load| load == fill.fraction),
                    "{kind}: the fill is not the load factor: {fill:?}"
                );
                // A Bloom filter is sized so that about half of its bits are set, or fewer if its blocks are small.
                let is_near_half = (0.2..0.7).contains(&fill.fraction);
                assert!(
                    expected.is_some() || is_near_half,
                    "{kind}: {} of the bits are set",
                    fill.fraction
                );
            }
        }
    }

    #[test]
    fn a_region_without_keys_is_empty() {
        for kind in FilterKind::ALL {
            let spec = FilterSpec::new(*kind).keys(10_000);
            let mut hashes = Vec::new();
            Hasher::default().hash_batch(&(0..1_000u64).collect::<Vec<_>>(), &mut hashes);
            // The highest bit of these hashes is zero. Most kinds choose a key's block or home slot by the highest bits
            // of its hash, so all keys are in the first half of the table.
            let low: Vec<_> =
                hashes.iter().map(|hash| KeyHash::from_raw(hash.raw() >> 1)).collect();
            let bytes = spec.build_from(&low).unwrap().to_bytes();
            let fill = Fill::of(&FilterView::parse(&bytes).unwrap()).unwrap();
            // Three kinds spread all keys over the table: standard and counting Bloom filters multiply the hash to get
            // positions, and each key of a cuckoo filter also has an alternate bucket.
            let is_spread =
                matches!(kind, FilterKind::Bloom | FilterKind::CountingBloom | FilterKind::Cuckoo);
            let is_second_half_empty = fill.regions[33..].iter().all(|region| *region == 0.0);
            assert!(
                is_spread || is_second_half_empty,
                "{kind}: the second half of the table is not empty: {fill:?}"
            );
        }
    }

    #[test]
    fn an_empty_filter_has_no_fill_in_any_region() {
        for kind in FilterKind::ALL {
            let bytes = FilterSpec::new(*kind).build().unwrap().to_bytes();
            let fill = Fill::of(&FilterView::parse(&bytes).unwrap());
            assert!(fill.is_none_or(|fill| fill.regions.iter().all(|region| *region == 0.0)));
        }
    }
}
