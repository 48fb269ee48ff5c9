//! What can be done to filters with slots: bands of inserts below a load, removals, builds, merges,
//! enumerations. What a repetition changes is restored, off the clock, before the next.

use super::{Length, ensure_contains_all};
use crate::interleave::Repetition;
use crate::plan::Api;
use crate::slots::{Slots, Sum};
use anyhow::{Result, ensure};
use std::hint::black_box;
use trommel::{Bitmap, KeyHash};

/// A filter just below a load, one at it, and the keys between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band<'a> {
    pub(crate) below: &'a dyn Slots,
    pub(crate) at_load: &'a dyn Slots,
    pub(crate) hashes: &'a [KeyHash],
}

/// Inserts the keys of a band, again and again from the same filter.
pub(crate) fn bands(band: Band<'_>, api: Api, length: Length) -> Repetition<'_> {
    let mut answers = Bitmap::new(0);
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let mut filter = band.below.copy_slots();
            let hashes = black_box(band.hashes);
            meter.time(|| match api {
                Api::Single => filter.insert_single(hashes),
                Api::Batch => filter.insert_batch(hashes),
            })?;
            ensure_contains_all(&*filter, hashes, &mut answers)?;
            ensure_holds(&*filter, band.at_load.held())?;
            ops += hashes.len() as u64;
        }
        Ok(ops)
    })
}

/// Removes the keys of a band one by one, again and again from the same filter.
///
/// A set drops a fingerprint when the first of the keys that share it is removed. So what has to be
/// left is known from a filter of the band's keys alone: exactly those other keys that it denies.
pub(crate) fn removals<'a>(
    band: Band<'a>,
    band_alone: &dyn Slots,
    others: &'a [KeyHash],
    length: Length,
) -> Repetition<'a> {
    let mut expected = Bitmap::new(0);
    band_alone.answer_batch(others, &mut expected);
    let denied = expected.count_ones();
    let removed = band_alone.held();
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
            ensure!(answers.count_ones() == 0, "{} removed keys found", answers.count_ones());
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

/// Makes a filter and fills it with all of `hashes` in its fastest way; it has to be equal to one that
/// was filled from load to load.
pub(crate) fn bulk_builds<'a>(
    create: impl Fn() -> Result<Box<dyn Slots>> + 'a,
    hashes: &'a [KeyHash],
    at_load: &'a dyn Slots,
    length: Length,
) -> Repetition<'a> {
    let mut is_verified = false;
    Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let filter = meter.time(|| {
                let mut filter = create()?;
                filter.bulk(black_box(hashes))?;
                anyhow::Ok(filter)
            })?;
            ensure_holds(&*filter, at_load.held())?;
            if !is_verified {
                ensure_lists_alike(&*filter, at_load)?;
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
            meter.time(|| filter.merge(black_box(&*halves[1])))?;
            ensure_holds(&*filter, at_load.held())?;
            if !is_verified {
                ensure_lists_alike(&*filter, at_load)?;
                is_verified = true;
            }
            ops += filter.held() as u64;
        }
        Ok(ops)
    })
}

/// Lists all fingerprints: in order, each once, and as many as there are.
pub(crate) fn enumerations(filter: &dyn Slots, length: Length) -> Result<Repetition<'_>> {
    let digest = filter.digest();
    ensure!(digest.is_ascending, "fingerprints are not listed in ascending order");
    let expected = Sum { count: filter.held() as u64, ..digest.sum };
    Ok(Box::new(move |meter| {
        let mut ops = 0;
        while meter.elapsed() < length.0 {
            let sum = meter.time(|| black_box(black_box(filter).sum()));
            ensure!(sum == expected, "{sum:?} listed, {expected:?} held");
            ops += sum.count;
        }
        Ok(ops)
    }))
}

fn ensure_holds(filter: &dyn Slots, expected: usize) -> Result<()> {
    let held = filter.held();
    ensure!(held == expected, "{held} fingerprints held where {expected} are due");
    Ok(())
}

fn ensure_lists_alike(filter: &dyn Slots, other: &dyn Slots) -> Result<()> {
    let (digest, expected) = (filter.digest(), other.digest());
    ensure!(digest == expected, "{digest:?} listed where {expected:?} is due");
    Ok(())
}
