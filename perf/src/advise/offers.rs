//! Lists the filters that meet the constraints of a question, from a grid over kinds and parameters. The library sizes
//! each filter. A whole grid is searched because the cost of a probe has several local minima, at the sizes of the
//! caches: a descent could end in a local minimum that is not the lowest.

use super::{Need, Question};
use crate::base::failure::bad_input;
use crate::base::format::human_bytes;
use crate::measure::environment::Caches;
use anyhow::Result;
use serde::Serialize;
use std::fmt;
use trommel::bloom::{CacheLine, Geometry, Layout, Register, SplitBlock, Standard};
use trommel::{AnyFilter, Filter as _, FilterKind, FilterSpec, Isa, SpecError};
use trommel_base::sizing::hash_floor;

/// A filter that could be taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) kind: FilterKind,
    /// The spec from which the library builds the filter.
    pub(crate) spec: FilterSpec,
    pub(crate) shape: Shape,
    /// Bytes of the filter's memory.
    pub(crate) bytes: u64,
    /// Bytes of the part of the memory that lookups read.
    pub(crate) probed_bytes: u64,
    /// The expected false-positive rate with all keys inserted.
    pub(crate) fpr: f64,
}

/// The parameters of an offer apart from its size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// A Bloom filter: the number of bits that a key sets, and whether the filter has counters of 2 bits.
    Bits { hashes: u32, compact: bool },
    /// A filter with slots: the bits of a remainder or fingerprint, and the share of slots that the keys occupy.
    Slots { width: u32, load: f64 },
}

impl Shape {
    /// The share of slots that the keys occupy, if there are slots.
    pub(crate) fn load(self) -> Option<f64> {
        match self {
            Self::Bits { .. } => None,
            Self::Slots { load, .. } => Some(load),
        }
    }
}

impl Offer {
    /// Bits of memory for each of `keys` keys.
    pub(crate) fn bits_per_key(&self, keys: usize) -> f64 {
        self.bytes as f64 * 8.0 / keys as f64
    }

    /// Describes the parameters in words.
    pub(crate) fn parameters(&self, keys: usize) -> String {
        let bits = format!("{:.1} bits per key", self.bits_per_key(keys));
        match self.shape {
            Shape::Bits { hashes, compact } => {
                let counters = if compact { ", 2-bit counters" } else { "" };
                format!("{bits}, k = {hashes}{counters}")
            }
            Shape::Slots { width, load } => {
                let stored =
                    if self.kind == FilterKind::Cuckoo { "fingerprints" } else { "remainders" };
                format!("{bits}, {stored} of {width} bits, load {:.0} %", load * 100.0)
            }
        }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.kind, human_bytes(self.bytes))
    }
}

/// The false-positive rates for which Bloom filters are sized.
const RATES: [f64; 16] =
    [0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 1e-5, 1e-6, 1e-8];
/// Remainder widths of quotient filters, in bits.
const REMAINDERS: [u32; 18] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 26];
/// Fingerprint widths of cuckoo filters, in bits.
const FINGERPRINTS: [u32; 4] = [8, 12, 16, 32];
/// The loads, besides the default of the kind, for which each kind of filter with slots is planned.
const LOADS: [f64; 2] = [0.8, 0.5];
/// The most bits per key of a filter that is sized for a cache or for the memory limit, except that a filter of up to
/// one cache line can have more. Filters that are sized in other ways (for a false-positive rate, or by slot width and
/// load) have no such limit.
const MOST_BITS: u128 = 48;
/// The library's error [`SpecError::FprUnreachable`] states the lowest rate that a filter can reach. A filter is
/// then built for that rate, increased by this share, because rounding could make the stated rate itself unreachable.
const ROUNDING: f64 = 1e-6;
/// Bits per hash.
const HASH_BITS: u32 = 64;
/// The share of a cache that a filter takes if it is sized for this cache. The rest is left to other data.
const SHARE_OF_CACHE: f64 = 0.8;

/// Returns all filters of the grid that meet the constraints of a question, each once.
///
/// # Errors
/// Bad input if no filter meets the constraints; the message names the nearest filter, if one could be sized.
pub(crate) fn offers(asked: &Question, caches: &Caches, isa: Option<Isa>) -> Result<Vec<Offer>> {
    let mut kept: Vec<Offer> = Vec::new();
    let mut refused = Refused::default();
    for kind in FilterKind::ALL.iter().copied() {
        let unmet = asked.unmet(kind);
        if !unmet.is_empty() {
            refused.unable.push((kind, unmet));
            continue;
        }
        // Without deletes or counts, a counting Bloom filter is a standard one whose counters serve no purpose.
        if kind == FilterKind::CountingBloom && !asked.wants_copies() {
            continue;
        }
        for spec in specs(kind, asked, caches) {
            let spec = isa.map_or(spec, |isa| spec.isa(isa));
            match offer(spec, asked.keys) {
                Ok(offer) if !asked.allows(offer.bytes, offer.fpr) => refused.note(offer, asked),
                Ok(offer) if !kept.iter().any(|old| is_same(old, &offer)) => kept.push(offer),
                Ok(_) => {}
                Err(error) => {
                    if let SpecError::FprUnreachable { floor, .. } = error {
                        // The filter of this kind with the lowest false-positive rate.
                        let lowest = offer(spec.fpr(floor * (1.0 + ROUNDING)), asked.keys).ok();
                        lowest.into_iter().for_each(|offer| refused.note(offer, asked));
                    }
                    refused.error = Some((kind, error));
                }
            }
        }
    }
    if kept.is_empty() { Err(refused.explain(asked)) } else { Ok(kept) }
}

/// Describes the filter that a spec builds, in the state after all keys are inserted. The function computes this state
/// from an empty filter, without inserting keys.
///
/// # Errors
/// If the library cannot build the filter, or if its kind is unknown to [`fpr_with_keys`].
pub(crate) fn offer(spec: FilterSpec, keys: usize) -> Result<Offer, SpecError> {
    let filter = spec.build()?;
    let kind = filter.kind();
    let fpr = fpr_with_keys(&filter, keys).ok_or(SpecError::UnknownKind { kind })?;
    let bytes = filter.memory_bytes() as u64;
    let shape = shape_with_keys(&filter, keys);
    let probed_bytes = match &filter {
        AnyFilter::CountingBloom(filter) => filter.bits().memory_bytes() as u64,
        _ => bytes,
    };
    Ok(Offer { kind, spec, shape, bytes, probed_bytes, fpr })
}

/// The false-positive rate that is expected of `filter`, which is still empty, after `keys` keys are inserted. `None`
/// if this function does not know the kind.
fn fpr_with_keys(filter: &AnyFilter, keys: usize) -> Option<f64> {
    fn of_layout<L: Layout>(geometry: Geometry, keys: usize) -> f64 {
        L::fpr(geometry.hashes, keys as f64 / geometry.units as f64) + hash_floor(keys, HASH_BITS)
    }
    Some(match filter {
        AnyFilter::Bloom(filter) => of_layout::<Standard>(filter.geometry(), keys),
        AnyFilter::CountingBloom(filter) => of_layout::<Standard>(filter.geometry(), keys),
        AnyFilter::RegisterBloom(filter) => of_layout::<Register>(filter.geometry(), keys),
        AnyFilter::SplitBlockBloom(filter) => of_layout::<SplitBlock>(filter.geometry(), keys),
        AnyFilter::CacheLineBloom(filter) => of_layout::<CacheLine>(filter.geometry(), keys),
        AnyFilter::Quotient(filter) => filter.fpr_with(keys),
        AnyFilter::CacheLineQuotient(filter) => filter.fpr_with(keys),
        AnyFilter::Cuckoo(filter) => filter.fpr_with(keys),
        _ => return None,
    })
}

fn shape_with_keys(filter: &AnyFilter, keys: usize) -> Shape {
    let slots = |width, slots: u64| Shape::Slots { width, load: keys as f64 / slots as f64 };
    match filter {
        AnyFilter::Quotient(filter) => {
            let geometry = filter.geometry();
            slots(geometry.remainder_bits, geometry.slots)
        }
        AnyFilter::CacheLineQuotient(filter) => {
            let geometry = filter.geometry();
            slots(geometry.remainder_bits, geometry.slots)
        }
        AnyFilter::Cuckoo(filter) => {
            let geometry = filter.geometry();
            slots(geometry.fingerprint_bits, geometry.slots())
        }
        AnyFilter::CountingBloom(filter) => Shape::Bits {
            hashes: filter.hash_count(),
            compact: filter.counter_width() == trommel::bloom::CounterWidth::Two,
        },
        bits => Shape::Bits { hashes: bits.hash_count().unwrap_or_default(), compact: false },
    }
}

/// Returns the spec of a filter that has the kind `kind`, holds `keys` keys, and has the operations that the question
/// needs.
fn spec_of(kind: FilterKind, keys: usize, asked: &Question) -> FilterSpec {
    let mut spec = FilterSpec::new(kind).keys(keys);
    if has_slots(kind) {
        if asked.wants_copies() {
            spec = spec.multiset(true);
        }
        if asked.needs.contains(&Need::Grow) {
            spec = spec.grow_at(GROWN_AT);
        }
    }
    spec
}

fn has_slots(kind: FilterKind) -> bool {
    matches!(kind, FilterKind::Quotient | FilterKind::CacheLineQuotient | FilterKind::Cuckoo)
}

/// Returns the part of the grid that belongs to one kind.
fn specs(kind: FilterKind, asked: &Question, caches: &Caches) -> Vec<FilterSpec> {
    let spec = spec_of(kind, asked.keys, asked);
    match kind {
        _ if has_slots(kind) => slot_specs(kind, spec, asked),
        FilterKind::CountingBloom => [false, true]
            .into_iter()
            .flat_map(|compact| bloom_specs(spec.compact(compact), asked, caches))
            .collect(),
        _ => bloom_specs(spec, asked, caches),
    }
}

/// The load at which a filter grows, if the question asks for a filter that can grow.
const GROWN_AT: f64 = 0.96;

/// The specs of Bloom filters: for each false-positive rate, for [`SHARE_OF_CACHE`] of each cache, and for the memory
/// limit. A size for a cache or for the memory limit is left out if it is below 2 bits per key, or above both
/// [`MOST_BITS`] bits per key and one cache line.
fn bloom_specs(spec: FilterSpec, asked: &Question, caches: &Caches) -> Vec<FilterSpec> {
    let rates = RATES.into_iter().chain(asked.fpr);
    let mut specs: Vec<FilterSpec> = rates.map(|rate| spec.fpr(rate)).collect();
    let most = (asked.keys as u128 * MOST_BITS / 8).max(u128::from(LINE_BYTES));
    let least = asked.keys as u64 / 4;
    let edges = [caches.l1d, caches.l2, caches.l3].into_iter().flatten();
    let edges = edges.map(|bytes| (bytes as f64 * SHARE_OF_CACHE) as u64);
    for bytes in edges.chain(asked.bytes) {
        if bytes >= least && u128::from(bytes) <= most {
            specs.extend(usize::try_from(bytes).map(|bytes| spec.memory_bytes(bytes)));
        }
    }
    specs
}

/// The size of a cache line in bytes. A filter for few keys may be sized for one cache line, even if that is more than
/// [`MOST_BITS`] bits per key.
const LINE_BYTES: u64 = 64;

/// The specs of filters with slots: for each slot width and load, for the requested false-positive rate, and for the
/// memory limit.
fn slot_specs(kind: FilterKind, spec: FilterSpec, asked: &Question) -> Vec<FilterSpec> {
    let mut specs = Vec::new();
    let with_loads = |specs: &mut Vec<FilterSpec>, spec: FilterSpec| {
        specs.push(spec);
        specs.extend(LOADS.map(|load| spec.load(load)));
    };
    match kind {
        FilterKind::Quotient => {
            REMAINDERS.iter().for_each(|bits| with_loads(&mut specs, spec.remainder_bits(*bits)));
        }
        FilterKind::Cuckoo => {
            FINGERPRINTS
                .iter()
                .for_each(|bits| with_loads(&mut specs, spec.fingerprint_bits(*bits)));
        }
        _ => {
            with_loads(&mut specs, spec.remainder_bits(8));
            // The remainders of this kind always have 8 bits, so a lower false-positive rate needs more slots.
            specs.extend([0.25, 0.125].map(|load| spec.remainder_bits(8).load(load)));
        }
    }
    specs.extend(asked.fpr.map(|rate| spec.fpr(rate)));
    specs.extend(asked.bytes.and_then(|bytes| {
        let most = (asked.keys as u128 * MOST_BITS / 8).max(u128::from(LINE_BYTES));
        let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes as u128 <= most)?;
        Some(spec.memory_bytes(bytes))
    }));
    specs
}

/// Whether two offers are the same filter.
fn is_same(a: &Offer, b: &Offer) -> bool {
    (a.kind, a.bytes, a.shape) == (b.kind, b.bytes, b.shape)
}

/// The kinds that lack a needed operation, and the filter that comes nearest to the limits of the question.
#[derive(Default)]
struct Refused {
    unable: Vec<(FilterKind, Vec<Need>)>,
    /// The smallest filter that meets the false-positive rate but not the memory limit; if no filter meets the rate,
    /// the filter with the lowest rate.
    nearest: Option<Offer>,
    error: Option<(FilterKind, SpecError)>,
}

impl Refused {
    fn note(&mut self, offer: Offer, asked: &Question) {
        // The amount by which the false-positive rate exceeds the limit. Among filters within the limit, the smallest
        // is nearest.
        let excess = |offer: &Offer| asked.fpr.map_or(0.0, |most| (offer.fpr - most).max(0.0));
        let key = |offer: &Offer| (excess(offer), offer.bytes);
        if self.nearest.as_ref().is_none_or(|nearest| key(&offer) < key(nearest)) {
            self.nearest = Some(offer);
        }
    }

    fn explain(&self, asked: &Question) -> anyhow::Error {
        let mut limits = vec![format!("{:e} keys", asked.keys)];
        limits.extend(asked.fpr.map(|fpr| format!("a false-positive rate of at most {fpr:e}")));
        limits.extend(asked.bytes.map(|bytes| format!("at most {bytes} bytes")));
        limits.extend(asked.needs.iter().map(|need| format!("need {need}")));
        let why = match (&self.nearest, &self.error) {
            (Some(nearest), _) => {
                let rate = nearest.fpr;
                let named =
                    format!("the nearest is a {nearest} with a false-positive rate of {rate:.2e}");
                match asked.fpr.filter(|most| rate > *most) {
                    Some(most) => format!("{named}; {}", advice_to_reach(most, asked)),
                    None => named,
                }
            }
            (None, Some((kind, error))) => format!("{kind}: {error}"),
            (None, None) => {
                let unable = self.unable.iter().map(|(kind, _)| kind.to_string());
                format!(
                    "kinds without the needed operations: {}",
                    unable.collect::<Vec<_>>().join(", ")
                )
            }
        };
        bad_input(format!("no filter meets {}: {why}", limits.join(", ")))
    }
}

/// Describes how to reach a false-positive rate that no filter of the grid has for the question's number of keys, or
/// why it cannot be reached.
fn advice_to_reach(rate: f64, asked: &Question) -> String {
    let refusals = |keys: usize| {
        let able = FilterKind::ALL.iter().copied().filter(|kind| asked.unmet(*kind).is_empty());
        able.map(move |kind| (kind, offer(spec_of(kind, keys, asked).fpr(rate), keys).err()))
    };
    let (mut memory, mut lowest, mut other) = (None, f64::INFINITY, String::new());
    for (kind, error) in refusals(asked.keys) {
        match error {
            Some(SpecError::OutOfMemory { bytes }) => {
                memory = [memory, Some((bytes, kind))].into_iter().flatten().min_by_key(|it| it.0);
            }
            Some(SpecError::FprUnreachable { floor, .. }) => lowest = lowest.min(floor),
            Some(error) => other = format!("{kind}: {error}"),
            None => {}
        }
    }
    if let Some((bytes, kind)) = memory {
        let size = human_bytes(bytes);
        return format!("a {kind} of {size} reaches it, if the system gives that much memory");
    }
    if lowest.is_infinite() {
        return other;
    }
    let (keys, lowest_of_hashes) = (asked.keys, hash_floor(asked.keys, HASH_BITS));
    let is_limited_by_hashes = rate <= lowest_of_hashes;
    let why = if is_limited_by_hashes {
        format!(
            "64-bit hashes of {keys:e} keys allow no false-positive rate below {lowest_of_hashes:.2e}"
        )
    } else {
        format!("no kind has a false-positive rate below {lowest:.2e} for {keys:e} keys")
    };
    if refusals(1).all(|(_, error)| error.is_some()) {
        format!("{why}, and no kind reaches {rate:e} for a single key")
    } else if is_limited_by_hashes {
        let most = rate * f64::from(HASH_BITS).exp2();
        format!("{why}; {rate:e} needs fewer than {most:.2e} keys")
    } else {
        format!("{why}; filters for fewer keys reach {rate:e}")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::question::tests::question;
    use super::*;
    use crate::base::failure::BadInput;

    /// A made-up offer of this kind, size and false-positive rate.
    pub(crate) fn named(kind: FilterKind, bytes: u64, fpr: f64) -> Offer {
        let shape = Shape::Bits { hashes: 8, compact: false };
        let spec = FilterSpec::new(kind);
        Offer { kind, spec, shape, bytes, probed_bytes: bytes, fpr }
    }

    const CACHES: Caches = Caches { l1d: Some(32 << 10), l2: Some(1 << 20), l3: Some(32 << 20) };

    fn kinds(offers: &[Offer]) -> Vec<FilterKind> {
        let all = FilterKind::ALL.iter().copied();
        all.filter(|kind| offers.iter().any(|offer| offer.kind == *kind)).collect()
    }

    #[test]
    fn every_offer_meets_the_constraints() {
        let free = question(100_000, 100.0, 0.0);
        let all = offers(&free, &CACHES, None).unwrap();
        // A counting Bloom filter is offered only if its counters are needed.
        assert_eq!(kinds(&all).len(), FilterKind::ALL.len() - 1);
        let asked = Question { fpr: Some(0.006), bytes: Some(150_000), ..free };
        let few = offers(&asked, &CACHES, None).unwrap();
        assert!(!few.is_empty() && few.len() < all.len());
        for offer in &few {
            assert!(offer.fpr <= 0.006 && offer.bytes <= 150_000, "{offer:?}");
        }
        // The limit of 150,000 bytes is 12 bits per key. At 12 bits, split-block filters reach a false-positive rate of
        // 0.6 %, and register filters do not.
        assert!(kinds(&few).contains(&FilterKind::SplitBlockBloom));
        assert!(!kinds(&few).contains(&FilterKind::RegisterBloom));
    }

    #[test]
    fn offers_state_the_rate_and_bytes_of_the_filled_filter() {
        use trommel::Insert as _;
        let asked = question(20_000, 100.0, 0.0);
        let hashes = crate::measure::keys::KeyStream::new(1).hashes(0, asked.keys);
        let mut seen = Vec::new();
        for offer in offers(&asked, &CACHES, None).unwrap() {
            if offer.fpr < 0.002 || seen.contains(&offer.kind) {
                continue;
            }
            seen.push(offer.kind);
            let mut filter = offer.spec.build().unwrap();
            filter.insert_batch(&hashes).unwrap();
            assert_eq!(filter.memory_bytes() as u64, offer.bytes);
            // In a cuckoo filter, flags tell many lookups to read only one bucket, so the false-positive rate is below
            // the rate for which the filter is sized.
            let ratio = filter.expected_fpr() / offer.fpr;
            let least = if offer.kind == FilterKind::Cuckoo { 0.5 } else { 0.9 };
            assert!((least..1.1).contains(&ratio), "{offer:?}: {ratio}");
        }
        assert_eq!(seen.len(), 7);
    }

    #[test]
    fn needs_exclude_kinds_and_make_filters_multisets() {
        let asked = Question { needs: vec![Need::Delete], ..question(10_000, 100.0, 0.0) };
        let able = offers(&asked, &CACHES, None).unwrap();
        use FilterKind as Kind;
        let removing = [Kind::CountingBloom, Kind::Quotient, Kind::CacheLineQuotient, Kind::Cuckoo];
        assert_eq!(kinds(&able), removing);
        for offer in able {
            match offer.spec.build().unwrap() {
                AnyFilter::Quotient(filter) => assert!(filter.is_multiset()),
                AnyFilter::Cuckoo(filter) => assert!(filter.is_multiset()),
                _ => {}
            }
        }
        let growing = Question { needs: vec![Need::Grow], ..asked };
        assert_eq!(kinds(&offers(&growing, &CACHES, None).unwrap()).len(), 3);
    }

    #[test]
    fn a_question_without_offers_is_explained() {
        let free = question(1_000_000, 100.0, 0.0);
        for (asked, part) in [
            (Question { fpr: Some(1e-3), bytes: Some(1000), ..free.clone() }, "the nearest is"),
            (
                Question { bytes: Some(1), ..free.clone() },
                "no filter meets 1e6 keys, at most 1 bytes",
            ),
            (Question { fpr: Some(1e-300), ..free }, "false-positive rate of at most 1e-300"),
        ] {
            let error = offers(&asked, &CACHES, None).unwrap_err();
            assert!(error.is::<BadInput>(), "{error}");
            let text = error.to_string();
            assert!(text.contains(part) && text.lines().count() == 1, "{text}");
        }
    }

    #[test]
    fn the_nearest_filter_to_an_unreachable_rate_has_the_lowest_rate() {
        let free = question(1_000_000, 100.0, 0.0);
        let all = offers(&free, &CACHES, None).unwrap();
        let lowest = all.iter().map(|offer| offer.fpr).fold(1.0, f64::min);
        for (fpr, needs) in [(1e-18, vec![]), (1e-18, vec![Need::Delete]), (1e-13, vec![])] {
            let asked = Question { fpr: Some(fpr), needs, ..free.clone() };
            let text = offers(&asked, &CACHES, None).unwrap_err().to_string();
            let nearest = text.split("the nearest is a ").nth(1).unwrap();
            let named = nearest.split("rate of ").nth(1).unwrap();
            let named: f64 = named.split(';').next().unwrap().parse().unwrap();
            assert!(named > fpr && named <= lowest * 1.01, "{text}");
            // The rate of the named filter is not below the lowest rate that the message states for all filters.
            let below = text.split("rate below ").nth(1).unwrap();
            let below: f64 = below.split([' ', ',', ';']).next().unwrap().parse().unwrap();
            assert!(named >= below, "{text}");
        }
    }

    #[test]
    fn a_requested_rate_below_the_grid_is_offered_if_reachable() {
        // No remainder of the grid is wide enough for this rate, so the quotient filter that is offered is sized for
        // the rate itself.
        let needs = vec![Need::Grow];
        let asked = Question { fpr: Some(1e-9), needs, ..question(1000, 100.0, 0.0) };
        let all = offers(&asked, &CACHES, None).unwrap();
        assert!(kinds(&all).contains(&FilterKind::Quotient));
    }

    #[test]
    fn every_number_of_keys_has_offers_or_an_error() {
        for keys in [1, 2, 63, 10_000_000_000] {
            let asked = question(keys, 100.0, 0.0);
            match offers(&asked, &CACHES, None) {
                Ok(all) => assert!(all.iter().all(|offer| offer.fpr < 1.0 && offer.bytes > 0)),
                Err(error) => assert!(error.is::<BadInput>(), "{error}"),
            }
        }
    }
}
