//! Tests filters at 95 % load, and measures their false-positive rates, after many rounds of replacing keys. Each round
//! replaces a sixteenth of the keys.
//!
//! In a set, an insert returns false for a key that a lookup finds already. Such a key does not count as held, and is
//! not removed later. So every held key has a stored fingerprint of its own. In a cuckoo filter, two held keys can have
//! equal fingerprints in the same two buckets, even in a set: a lookup skips one of the two buckets if an overflow flag
//! is clear, so the lookup before the insert of the later key can skip the bucket with the earlier key's fingerprint.
//! If one of the two keys is removed, the removal can take either of the two fingerprints.

use super::{Counted, Effort, Outcome, Subject, false_positives, relative_spread};
use trommel::{
    AnyFilter, Bitmap, CuckooFilter, Filter, FilterKind, FilterSpec, Insert, Isa, KeyHash,
};
use trommel_testkit::Splitmix;

/// The number of keys in the filter before and after each round: 95 % of the slots.
const KEYS: usize = 62_000;
/// Each round replaces `KEYS / REPLACED` keys.
const REPLACED: usize = 16;
/// The load that every filter must reach after the rounds, before it refuses an insert.
const GUARANTEED: f64 = super::FULL;

/// The columns of the CSV file. `keys` is the number of keys in the filter. In all `rounds` rounds together, `replaced`
/// keys were removed, and other keys inserted in their place. `refused` counts the inserts that failed in these rounds.
/// `lost` counts how often a check did not find a held key, and how often a held key could not be removed. `hits` is
/// the number of false positives of `probes` lookups, `expected` the filter's `expected_fpr`, and `deviations` the
/// distance of `hits` from its expectation in standard deviations. `fresh` is the `expected_fpr` of a *fresh* filter:
/// one that got the same keys, and from which no key was removed. For a cuckoo filter, `bound` is the false-positive
/// rate that it approaches if its keys are replaced again and again. For other kinds, `bound` equals `fresh`. After the
/// rounds, keys are inserted until one is refused: `full` is the load at that moment, and `fresh_full` is that of the
/// fresh filter.
pub const COLUMNS: &str = "kind,bits,multiset,isa,keys,rounds,replaced,refused,lost,probes,hits,expected,fresh,bound,\
                           deviations,full,fresh_full";

/// Runs every case. Reports each filter to `progress` when it is done.
///
/// # Errors
/// The text of the library's error, if a filter cannot be made, or if the keys of a filter do not fit into a fresh one.
pub fn run(effort: &Effort, mut progress: impl FnMut(&str)) -> Result<Outcome, String> {
    let mut outcome = Outcome::new(COLUMNS);
    for (number, subject) in Subject::SLOTTED.into_iter().enumerate() {
        for multiset in [false, true] {
            for isa in effort.sets() {
                let spec = subject.spec(KEYS, 101 + number as u64, isa).multiset(multiset);
                let line = case(effort, subject, multiset, isa, &spec, &mut outcome)
                    .map_err(|error| format!("{} on {isa}: {error}", subject.kind))?;
                progress(&line);
                outcome.lines.push(line);
            }
        }
    }
    Ok(outcome)
}

/// A filter and the keys that it holds.
struct Held {
    filter: AnyFilter,
    hashes: Vec<KeyHash>,
    multiset: bool,
    /// The lowest key that was not drawn yet. Keys are drawn in ascending order to be inserted.
    next: u64,
    /// The number of inserts that were refused.
    refused: u64,
    /// The number of keys that were not found or could not be removed.
    lost: u64,
    /// The number of keys that were removed.
    replaced: u64,
}

impl Held {
    fn new(spec: &FilterSpec, multiset: bool) -> Result<Self, String> {
        let filter = spec.build().map_err(|error| error.to_string())?;
        Ok(Self { filter, hashes: Vec::new(), multiset, next: 0, refused: 0, lost: 0, replaced: 0 })
    }

    /// Inserts new keys until the filter has `count` keys or refuses a key. If `batch` is true, a multiset gets the new
    /// keys in one batch; a set always gets them one by one.
    fn fill_to(&mut self, count: usize, batch: bool) {
        let mut drawn = Vec::new();
        while self.hashes.len() < count {
            let missing = (count - self.hashes.len()) as u64;
            let keys: Vec<u64> = (self.next..self.next + missing).collect();
            self.next += missing;
            self.filter.hasher().hash_batch(&keys, &mut drawn);
            if batch && self.multiset {
                match self.filter.insert_batch(&drawn) {
                    Ok(()) => self.hashes.extend(&drawn),
                    Err(full) => {
                        self.hashes.extend(&drawn[..full.inserted]);
                        self.refused += 1;
                        return;
                    }
                }
                continue;
            }
            for hash in &drawn {
                match self.filter.insert_hash(*hash) {
                    Ok(true) => self.hashes.push(*hash),
                    Ok(false) => {}
                    Err(_) => {
                        self.refused += 1;
                        return;
                    }
                }
            }
        }
    }

    /// Removes `count` keys, drawn at random.
    fn remove(&mut self, count: usize, random: &mut Splitmix) {
        for _ in 0..count.min(self.hashes.len()) {
            let at = random.below(self.hashes.len() as u64) as usize;
            let hash = self.hashes.swap_remove(at);
            match self.filter.remove_hash(hash) {
                Ok(true) => self.replaced += 1,
                _ => self.lost += 1,
            }
        }
    }

    /// Counts the keys that are held but not found.
    fn count_lost(&mut self) {
        let mut found = Bitmap::new(0);
        self.filter.contains_batch(&self.hashes, &mut found);
        self.lost += (self.hashes.len() - found.count_ones()) as u64;
    }

    /// Inserts keys until one is refused, and returns the load at that moment. Does not count this refusal.
    fn load_when_full(&mut self) -> f64 {
        let refused = self.refused;
        while self.refused == refused {
            self.fill_to(self.hashes.len() + 1, false);
        }
        self.refused = refused;
        self.filter.load_factor().unwrap_or_default()
    }
}

/// Returns the false-positive rate that a cuckoo filter approaches if its keys are replaced again and again, so that
/// every lookup searches two buckets.
///
/// For a multiset, the rate is [`fpr_with`](CuckooFilter::fpr_with) of the number of its keys. Filters are sized by the
/// same equation. A set does not store the fingerprint of a key that a lookup finds already. So once all overflow flags
/// are set, and every key from the time before has been replaced, at most one of the fingerprints in the two buckets
/// of a lookup equals the fingerprint that is looked up. The two buckets have 8 slots together, so the average number
/// of fingerprints in them is 8 times the load. The rate of a set is this number times the probability that the
/// fingerprint of an absent key equals a given stored fingerprint.
fn rate_of_replaced(filter: &CuckooFilter, subject: Subject, multiset: bool) -> f64 {
    match subject.bits {
        Some(bits) if !multiset => {
            let one_value = (-f64::from(bits)).exp2();
            8.0 * filter.load_factor() * one_value * (1.0 + 2.0 * one_value)
        }
        _ => filter.fpr_with(filter.len()),
    }
}

/// Returns the relative standard deviation of the rate of a cuckoo filter with `keys` fingerprints; 0 for other kinds.
/// A fingerprint of 0 is stored as 1. So an absent key has the fingerprint 1 with twice the probability of any other
/// fingerprint, and a stored 1 is found twice as often. The number of stored fingerprints of 1 is binomial.
fn spread_of_ones(subject: Subject, keys: usize) -> f64 {
    match (subject.kind, subject.bits) {
        (FilterKind::Cuckoo, Some(bits)) => (2.0 * (-f64::from(bits)).exp2() / keys as f64).sqrt(),
        _ => 0.0,
    }
}

/// Replaces the keys of one filter, checks every claim, and returns the filter's line of the CSV file.
fn case(
    effort: &Effort,
    subject: Subject,
    multiset: bool,
    isa: Isa,
    spec: &FilterSpec,
    outcome: &mut Outcome,
) -> Result<String, String> {
    let what = |claim: &str| {
        let form = if multiset { "multiset" } else { "set" };
        format!("{} {} as a {form} on {isa}: {claim}", subject.kind, subject.bits_field())
    };
    let mut random = Splitmix::new(0xC4);
    let mut held = Held::new(spec, multiset)?;
    let empty = held.filter.to_bytes();
    held.fill_to(KEYS, false);
    for round in 0..effort.rounds {
        held.remove(KEYS / REPLACED, &mut random);
        held.fill_to(KEYS, round % 2 == 1);
        if round % 64 == 0 {
            held.count_lost();
        }
    }
    held.count_lost();
    outcome.claim(held.refused == 0, || what("an insert below 95 % load was refused"));
    outcome.claim(held.lost == 0, || what("a held key was not found or could not be removed"));
    outcome.claim(held.filter.len() == held.hashes.len(), || what("the count of keys is wrong"));

    // The same keys, inserted one by one in another order, without removals.
    let mut fresh = Held::new(spec, multiset)?;
    for hash in &held.hashes {
        fresh.filter.insert_hash(*hash).map_err(|full| full.to_string())?;
    }
    fresh.hashes.clone_from(&held.hashes);
    fresh.next = held.next;
    let (expected, fresh_rate) = (held.filter.expected_fpr(), fresh.filter.expected_fpr());
    let bound = match &held.filter {
        AnyFilter::Cuckoo(filter) => rate_of_replaced(filter, subject, multiset),
        // The keys of a quotient filter determine its table.
        _ => {
            let same = held.filter.to_bytes() == fresh.filter.to_bytes();
            outcome.claim(same, || what("the table is not that of a fresh filter"));
            fresh_rate
        }
    };
    let limit = bound * (1.000_001 + effort.sigmas * spread_of_ones(subject, held.hashes.len()));
    outcome.claim(expected <= limit, || what("expected_fpr is above its bound"));
    let counted = Counted {
        hits: false_positives(core::slice::from_ref(&held.filter), effort.probes)[0],
        probes: effort.probes,
        expected,
        relative_spread: relative_spread(&held.filter),
    };
    let deviations = counted.deviations();
    // The `expected_fpr` of a quotient multiset counts every copy of a fingerprint, so it is an upper bound.
    let is_bound = multiset && !matches!(held.filter, AnyFilter::Cuckoo(_));
    let fits = counted.is_within(effort.sigmas) || (is_bound && deviations < 0.0);
    outcome.claim(fits, || what("the measured false-positive rate is not expected_fpr"));

    let full = held.load_when_full();
    let fresh_full = fresh.load_when_full();
    outcome.claim(full >= GUARANTEED, || what("fewer keys fit than are guaranteed"));
    held.count_lost();
    outcome.claim(held.lost == 0, || what("a key is lost in a filter that was full"));
    let (refused, replaced, keys) = (held.refused, held.replaced, KEYS);
    held.remove(usize::MAX, &mut random);
    outcome.claim(held.lost == 0, || what("a key that is held cannot be removed"));
    let is_empty = held.filter.is_empty() && held.filter.to_bytes() == empty;
    outcome.claim(is_empty, || what("the filter is not empty after all keys were removed"));

    Ok(format!(
        "{},{},{multiset},{isa},{keys},{},{replaced},{refused},{},{},{},{expected:e},{fresh_rate:e},{bound:e},\
         {deviations:.2},{full:.4},{fresh_full:.4}",
        subject.kind,
        subject.bits_field(),
        effort.rounds,
        held.lost,
        effort.probes,
        counted.hits,
    ))
}
