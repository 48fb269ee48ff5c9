//! Repetitions of lookups. The probes come in batches that are in the cache, as database engines hand them over, or
//! from a long column in memory.

use super::{Length, Repeater};
use crate::measure::interleave::{Repetition, ShortSections};
use crate::measure::keys::Column;
use crate::measure::subject::{Scratch, Subject};
use crate::model::{Api, Calls, Case, KEYS_OF_BATCH};
use anyhow::{Result, ensure};
use std::hint::black_box;
use trommel::{Bitmap, KeyHash};

/// Repeats lookups of all of `hashes` with the calls of the case. Every repetition compares the number of hits with the
/// number of set bits in `reference`.
pub(crate) fn lookups<'a>(
    subject: &'a dyn Subject,
    case: &Case,
    hashes: &'a [KeyHash],
    reference: &Bitmap,
    length: Length,
) -> Repetition<'a> {
    let expected = reference.count_ones();
    if case.reads_column() {
        from_column(subject, case.calls.api, hashes, expected, length)
    } else {
        from_cache(subject, case.calls, hashes, expected, length)
    }
}

/// Looks all hashes up in one batched call or in one loop of single calls. The time includes reading the hashes from
/// memory.
fn from_column<'a>(
    subject: &'a dyn Subject,
    api: Api,
    hashes: &'a [KeyHash],
    expected: usize,
    length: Length,
) -> Repetition<'a> {
    let mut answers = Bitmap::new(hashes.len());
    let mut repeater = Repeater::new(length);
    Box::new(move |meter| {
        let mut found = 0;
        let passes = repeater.run_whole(meter, || {
            if api == Api::Single {
                found = black_box(subject.count_single(black_box(hashes)));
            } else {
                subject.answer_batch(black_box(hashes), &mut answers);
                black_box(answers.as_words());
            }
        });
        if api != Api::Single {
            found = answers.count_ones();
        }
        verified(passes, found, expected, hashes.len())
    })
}

/// Looks up hashes that were written just before, so that they are in the cache. Before each section, the next hashes
/// are copied to the same buffer: [`KEYS_OF_BATCH`] hashes or, if a call has more hashes, the hashes of one call.
fn from_cache<'a>(
    subject: &'a dyn Subject,
    calls: Calls,
    hashes: &'a [KeyHash],
    expected: usize,
    length: Length,
) -> Repetition<'a> {
    let copied = calls.keys_per_call.unwrap_or(0).max(KEYS_OF_BATCH);
    let mut buffer = vec![KeyHash::from_raw(0); copied.min(hashes.len())];
    let mut answers = Bitmap::new(0);
    let mut pass = move |sections: &mut ShortSections<'_>| -> usize {
        let answer = |fresh: &[KeyHash]| {
            let cached = &mut buffer[..fresh.len()];
            cached.copy_from_slice(fresh);
            let cached = black_box(&*cached);
            match calls {
                Calls { api: Api::Single, .. } => {
                    sections.time(|| black_box(subject.count_single(cached)))
                }
                Calls { keys_per_call: Some(keys), .. } if keys < copied => {
                    sections.time(|| black_box(subject.count_batches(cached, keys, &mut answers)))
                }
                _ => {
                    sections.time(|| {
                        subject.answer_batch(cached, &mut answers);
                        black_box(answers.as_words());
                    });
                    answers.count_ones()
                }
            }
        };
        hashes.chunks(copied).map(answer).sum()
    };
    let mut repeater = Repeater::new(length);
    Box::new(move |meter| {
        let mut found = 0;
        let passes = repeater.run(meter, |meter, count| {
            let mut all = |sections: &mut ShortSections<'_>| {
                (0..count).for_each(|_| found = pass(sections));
            };
            match meter {
                Some(meter) => meter.time_short_sections(all),
                None => all(&mut ShortSections::untimed()),
            }
        });
        verified(passes, found, expected, hashes.len())
    })
}

/// Repeats lookups of all probes of a column. Each timed pass also hashes the probes.
pub(crate) fn hashed_lookups<'a>(
    subject: &'a dyn Subject,
    probes: &'a Column,
    reference: &Bitmap,
    length: Length,
) -> Repetition<'a> {
    let expected = reference.count_ones();
    let mut scratch = Scratch::default();
    let mut repeater = Repeater::new(length);
    Box::new(move |meter| {
        let mut found = 0;
        let passes = repeater.run_whole(meter, || {
            found = black_box(subject.count_keys(black_box(probes), &mut scratch));
        });
        verified(passes, found, expected, probes.len())
    })
}

/// Checks the number of probes that the last pass found, and returns the number of lookups in all passes.
fn verified(passes: u64, found: usize, expected: usize, probes: usize) -> Result<u64> {
    ensure!(found == expected, "{found} of {probes} probes found, the reference found {expected}");
    Ok(passes * probes as u64)
}
