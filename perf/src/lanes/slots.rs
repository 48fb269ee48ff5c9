//! What can be done to filters with slots: bands of inserts below a load, removals, builds, merges,
//! enumerations. What a repetition changes is restored, off the clock, before the next.

use super::{Length, ensure_contains_all};
use crate::interleave::Repetition;
use crate::plan::Api;
use crate::slots::{FingerprintSet, Slots, Sum, is_full};
use anyhow::{Context as _, Result, ensure};
use std::hint::black_box;
use trommel::{Bitmap, KeyHash};

/// A filter just below a load, one at it, and the keys between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band<'a> {
    pub(crate) below: &'a dyn Slots,
    pub(crate) at_load: &'a dyn Slots,
    pub(crate) hashes: &'a [KeyHash],
}

/// Inserts the keys of a band, again and again from the same filter. Where inserts walk at random, one
/// may find the filter full that was not before: then the keys up to there count, and the filter, which
/// may have lost some, is asked nothing.
pub(crate) fn bands(band: Band<'_>, api: Api, length: Length) -> Repetition<'_> {
    let mut answers = Bitmap::new(0);
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let mut filter = band.below.copy_slots();
            let hashes = black_box(band.hashes);
            let outcome = meter.time(|| match api {
                Api::Single => filter.insert_single(hashes),
                Api::Batch | Api::BatchesOf(_) => filter.insert_batch(hashes),
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

/// What is due after the keys of a band were removed.
#[derive(Debug)]
pub(crate) struct Removal {
    /// Fingerprints that go.
    removed: usize,
    /// Other keys that go with them.
    denied: Bitmap,
    /// Whether none of the removed keys can be found.
    is_exact: bool,
}

impl Removal {
    /// From a set, which drops a fingerprint when the first of the keys that share it is removed. So what
    /// has to be left is known from a filter of the band's keys alone: those other keys that it denies.
    pub(crate) fn from_set(band_alone: &dyn Slots, others: &[KeyHash]) -> Self {
        let mut denied = Bitmap::new(0);
        band_alone.answer_batch(others, &mut denied);
        Self { removed: band_alone.held(), denied, is_exact: true }
    }

    /// From a filter with a fingerprint for every key: each takes its own away. The others are all left,
    /// and removed keys that share a fingerprint with one of them are found still.
    pub(crate) fn of_each(band: &[KeyHash], others: &[KeyHash]) -> Self {
        Self { removed: band.len(), denied: Bitmap::new(others.len()), is_exact: false }
    }
}

/// Removes the keys of a band one by one, again and again from the same filter.
pub(crate) fn removals<'a>(
    band: Band<'a>,
    due: Removal,
    others: &'a [KeyHash],
    length: Length,
) -> Repetition<'a> {
    let Removal { removed, denied: expected, is_exact } = due;
    let denied = expected.count_ones();
    let mut answers = Bitmap::new(0);
    let mut is_verified = false;
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let mut filter = band.at_load.copy_slots();
            let hashes = black_box(band.hashes);
            let found = meter.time(|| filter.remove_single(hashes));
            ensure!(found == removed, "{found} fingerprints removed, {removed} are held");
            ensure_holds(&*filter, band.at_load.held() - removed)?;
            filter.answer_batch(hashes, &mut answers);
            let found = answers.count_ones();
            ensure!(!is_exact || found == 0, "{found} removed keys found");
            if !is_verified {
                filter.answer_batch(others, &mut answers);
                let differ = answers.as_words().iter().zip(expected.as_words());
                // A key is found if it shares no fingerprint with a removed one.
                let wrong = others.len() as u32
                    - differ.map(|(found, shared)| (found ^ shared).count_ones()).sum::<u32>();
                ensure!(
                    wrong == 0,
                    "{wrong} keys wrong after others, {denied} of them alike, left"
                );
                is_verified = true;
            }
            ops += hashes.len() as u64;
        }
        Ok(ops)
    })
}

/// Makes a filter and fills it with all of `hashes` in its fastest way; a set has to be equal to one that
/// was filled from load to load, others have to hold as many fingerprints and deny no key. Where inserts
/// walk at random, a filter may be full as it is in [`bands`].
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
                    (Some(set), Some(due)) => ensure_lists_alike(set, due)?,
                    _ => ensure_contains_all(&*filter, hashes, &mut answers)?,
                }
                is_verified = true;
            }
            ops += hashes.len() as u64;
        }
        Ok(ops)
    })
}

/// Merges two filters that hold half of the keys each; what comes out has to be equal to a filter that
/// was given all of them.
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
                let due = at_load.as_set().context(NO_SET)?;
                ensure_lists_alike(filter.as_set().context(NO_SET)?, due)?;
                is_verified = true;
            }
            ops += filter.held() as u64;
        }
        Ok(ops)
    })
}

/// Lists all fingerprints: in order, each once, and as many as there are.
pub(crate) fn enumerations(filter: &dyn Slots, length: Length) -> Result<Repetition<'_>> {
    let set = filter.as_set().context(NO_SET)?;
    let digest = set.digest();
    ensure!(digest.is_ascending, "fingerprints are not listed in ascending order");
    let expected = Sum { count: filter.held() as u64, ..digest.sum };
    Ok(Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let sum = meter.time(|| black_box(black_box(set).sum()));
            ensure!(sum == expected, "{sum:?} listed, {expected:?} held");
            ops += sum.count;
        }
        Ok(ops)
    }))
}

/// Why a filter can be neither merged nor listed.
const NO_SET: &str = "the filter is no set of fingerprints";

fn ensure_holds(filter: &dyn Slots, expected: usize) -> Result<()> {
    let held = filter.held();
    ensure!(held == expected, "{held} fingerprints held where {expected} are due");
    Ok(())
}

fn ensure_lists_alike(filter: &dyn FingerprintSet, other: &dyn FingerprintSet) -> Result<()> {
    let (digest, expected) = (filter.digest(), other.digest());
    ensure!(digest == expected, "{digest:?} listed where {expected:?} is due");
    Ok(())
}
