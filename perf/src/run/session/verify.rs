//! Verifies the answers of a case before it is timed.

use crate::measure::interleave::Repetition;
use crate::measure::plan::Planned;
use crate::measure::repetition::{self, Length};
use crate::measure::subject::{Subject, ensure_no_false_negatives};
use crate::model::{Api, KEYS_OF_BATCH};
use anyhow::{Result, ensure};
use trommel::{Bitmap, KeyHash};

/// Verifies the answers of a case, and returns its repetition.
pub(super) fn verified_lookups<'a>(
    subject: &'a dyn Subject,
    planned: &Planned,
    hashes: &'a [KeyHash],
    members: &Bitmap,
    length: Length,
) -> Result<Repetition<'a>> {
    let Planned { case, name, .. } = planned;
    let reference = reference_answers(subject, hashes, members, name)?;
    if case.calls.api == Api::Batch && !case.reads_column() {
        let keys = case.calls.keys_per_call.unwrap_or(KEYS_OF_BATCH);
        ensure_same_answers(subject, hashes, keys, &reference, name)?;
    }
    Ok(repetition::lookups(subject, case, hashes, &reference, length))
}

/// Returns the answers of single lookups. Checks that these answers have no false negatives and equal the answers of
/// one batch.
fn reference_answers(
    subject: &dyn Subject,
    hashes: &[KeyHash],
    members: &Bitmap,
    name: &str,
) -> Result<Bitmap> {
    let (mut single, mut batch) = (Bitmap::new(0), Bitmap::new(0));
    subject.answer_single(hashes, &mut single);
    subject.answer_batch(hashes, &mut batch);
    ensure!(single == batch, "{name}: the batch and single calls answer differently");
    ensure_no_false_negatives(members, &single, name)?;
    Ok(single)
}

/// The most probes that are looked up again by calls with a fixed number of keys.
const VERIFIED_IN_CALLS: usize = 100_000;

/// Checks that calls with `keys` keys per call give the answers in `reference`.
fn ensure_same_answers(
    subject: &dyn Subject,
    hashes: &[KeyHash],
    keys: usize,
    reference: &Bitmap,
    name: &str,
) -> Result<()> {
    let mut answers = Bitmap::new(0);
    let verified = &hashes[..hashes.len().min(VERIFIED_IN_CALLS)];
    for (call, slice) in verified.chunks(keys).enumerate() {
        subject.answer_batch(slice, &mut answers);
        for i in 0..slice.len() {
            ensure!(
                answers.get(i) == reference.get(call * keys + i),
                "{name}: calls with {keys} keys and single calls answer differently"
            );
        }
    }
    Ok(())
}
