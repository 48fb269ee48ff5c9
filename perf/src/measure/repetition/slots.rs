//! The repetitions of cases for filters with slots: inserts and removals of a band of keys, builds, merges and
//! enumerations. A band is a range in the sequence of keys. Filled up to the end of its band, a filter has the load of
//! the case or a little less. Inserts, removals and merges change a fresh copy of their filter in each timed section.
//! The copy is made outside the section.

use super::{Length, ensure_contains_all};
use crate::measure::interleave::Repetition;
use crate::measure::slots::{FingerprintSet, Slots, Sum, is_full};
use crate::model::Api;
use anyhow::{Context as _, Result, ensure};
use std::hint::black_box;
use trommel::{Bitmap, KeyHash};

/// A band of keys, a filter that holds all keys before the band, and a filter that also holds the keys of the band.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band<'a> {
    pub(crate) below: &'a dyn Slots,
    /// The filter that holds all keys up to the end of the band. Its load is the load of the case or, if the band had
    /// too many keys to measure and was cut to the keys in its middle, a lower load.
    pub(crate) at_load: &'a dyn Slots,
    pub(crate) hashes: &'a [KeyHash],
}

/// Inserts the keys of a band, each time into a copy of the same filter. If the evictions of a filter are random, an
/// insert can report that the filter is full although the same keys fitted before. In this case, only the keys inserted
/// so far count, and the filter is not verified, since the crate `cuckoofilter` loses an accepted key when it refuses
/// another one.
pub(crate) fn band_inserts(band: Band<'_>, api: Api, length: Length) -> Repetition<'_> {
    let mut answers = Bitmap::new(0);
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let mut filter = band.below.copy_slots();
            let hashes = black_box(band.hashes);
            let outcome = meter.time(|| match api {
                Api::Single => filter.insert_single(hashes),
                _ => filter.insert_batch(hashes),
            });
            if outcome.as_ref().is_err_and(is_full) {
                ops += (filter.held() - band.below.held()) as u64;
                continue;
            }
            outcome?;
            ensure_contains_all(&*filter, hashes, &mut answers)?;
            ensure_holds(&*filter, band.at_load.held())?;
            ops += hashes.len() as u64;
        }
        Ok(ops)
    })
}

/// The expected result of removing the keys of a band.
#[derive(Debug)]
pub(crate) struct Removal {
    /// The number of fingerprints that the removal deletes.
    removed: usize,
    /// A bitmap that marks, among the keys outside the band, the keys that share a deleted fingerprint and so are no
    /// longer found.
    shared: Bitmap,
    /// Whether it is an error if a removed key is still found afterwards.
    is_exact: bool,
}

impl Removal {
    /// The expectation for a set, which deletes a fingerprint when the first of the keys that share it is removed.
    /// `band_alone` is a filter that holds only the band's keys. If it finds a key of `others`, this key shares a
    /// fingerprint with a key of the band, so the filter of the case no longer finds this key after the removal.
    pub(crate) fn from_set(band_alone: &dyn Slots, others: &[KeyHash]) -> Self {
        let mut shared = Bitmap::new(0);
        band_alone.answer_batch(others, &mut shared);
        Self { removed: band_alone.held(), shared, is_exact: true }
    }

    /// The expectation for a filter with one fingerprint per key: each removal deletes one fingerprint. All other keys
    /// must still be found. A removed key can still be found too, if it shares a fingerprint with another key.
    pub(crate) fn of_each(band: &[KeyHash], others: &[KeyHash]) -> Self {
        Self { removed: band.len(), shared: Bitmap::new(others.len()), is_exact: false }
    }
}

/// Removes the keys of a band one by one, each time from a copy of the same filter.
pub(crate) fn removals<'a>(
    band: Band<'a>,
    expected: Removal,
    others: &'a [KeyHash],
    length: Length,
) -> Repetition<'a> {
    let Removal { removed, shared, is_exact } = expected;
    let mut answers = Bitmap::new(0);
    let mut is_verified = false;
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let mut filter = band.at_load.copy_slots();
            let hashes = black_box(band.hashes);
            let found = meter.time(|| filter.remove_single(hashes));
            ensure!(found == removed, "{found} fingerprints removed, expected {removed}");
            ensure_holds(&*filter, band.at_load.held() - removed)?;
            filter.answer_batch(hashes, &mut answers);
            let found = answers.count_ones();
            ensure!(!is_exact || found == 0, "{found} removed keys are still found");
            if !is_verified {
                filter.answer_batch(others, &mut answers);
                let words = answers.as_words().iter().zip(shared.as_words());
                // A key of `others` must not be found if it is marked in `shared`, and must be found if it is not
                // marked.
                let wrong = others.len() as u32
                    - words.map(|(found, shared)| (found ^ shared).count_ones()).sum::<u32>();
                ensure!(wrong == 0, "{wrong} other keys have wrong answers after the removals");
                is_verified = true;
            }
            ops += hashes.len() as u64;
        }
        Ok(ops)
    })
}

/// Creates a filter and fills it with all of `hashes` in its fastest way. The filter must hold as many fingerprints as
/// `at_load`. In addition, a filter that is a set must list the same fingerprints as `at_load`, and any other filter
/// must find all keys. A filter whose evictions are random can report that it is full, with the same consequences as in
/// [`band_inserts`].
pub(crate) fn bulk_builds<'a>(
    create: impl Fn() -> Result<Box<dyn Slots>> + 'a,
    hashes: &'a [KeyHash],
    at_load: &'a dyn Slots,
    length: Length,
) -> Repetition<'a> {
    let mut is_verified = false;
    let mut answers = Bitmap::new(0);
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let (filter, outcome) = meter.time(|| {
                let mut filter = create()?;
                let outcome = filter.bulk(black_box(hashes));
                anyhow::Ok((filter, outcome))
            })?;
            if outcome.as_ref().is_err_and(is_full) {
                ops += filter.held() as u64;
                continue;
            }
            outcome?;
            ensure_holds(&*filter, at_load.held())?;
            if !is_verified {
                match (filter.as_set(), at_load.as_set()) {
                    (Some(set), Some(expected)) => ensure_same_fingerprints(set, expected)?,
                    _ => ensure_contains_all(&*filter, hashes, &mut answers)?,
                }
                is_verified = true;
            }
            ops += hashes.len() as u64;
        }
        Ok(ops)
    })
}

/// Merges two filters that hold half of the keys each. The result must list the same fingerprints as `at_load`, which
/// holds all keys.
pub(crate) fn merges<'a>(
    halves: [Box<dyn Slots>; 2],
    at_load: &'a dyn Slots,
    length: Length,
) -> Repetition<'a> {
    let mut is_verified = false;
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let mut filter = halves[0].copy_slots();
            let set = filter.as_set_mut().context(NO_SET)?;
            meter.time(|| set.merge(black_box(&*halves[1])))?;
            ensure_holds(&*filter, at_load.held())?;
            if !is_verified {
                let expected = at_load.as_set().context(NO_SET)?;
                ensure_same_fingerprints(filter.as_set().context(NO_SET)?, expected)?;
                is_verified = true;
            }
            ops += filter.held() as u64;
        }
        Ok(ops)
    })
}

/// Lists all fingerprints. The list must be in ascending order, without repetition, and must have as many fingerprints
/// as the filter holds.
pub(crate) fn enumerations(filter: &dyn Slots, length: Length) -> Result<Repetition<'_>> {
    let set = filter.as_set().context(NO_SET)?;
    let digest = set.digest();
    ensure!(digest.is_ascending, "fingerprints are not listed in ascending order");
    let expected = Sum { count: filter.held() as u64, ..digest.sum };
    Ok(Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let sum = meter.time(|| black_box(black_box(set).sum()));
            ensure!(sum == expected, "the filter lists {sum:?}, expected {expected:?}");
            ops += sum.count;
        }
        Ok(ops)
    }))
}

/// The message of the error for a filter that can be neither merged nor listed.
const NO_SET: &str = "the filter is not a set of fingerprints";

fn ensure_holds(filter: &dyn Slots, expected: usize) -> Result<()> {
    let held = filter.held();
    ensure!(held == expected, "{held} fingerprints held, expected {expected}");
    Ok(())
}

fn ensure_same_fingerprints(filter: &dyn FingerprintSet, other: &dyn FingerprintSet) -> Result<()> {
    let (digest, expected) = (filter.digest(), other.digest());
    ensure!(digest == expected, "the filter lists {digest:?}, expected {expected:?}");
    Ok(())
}
