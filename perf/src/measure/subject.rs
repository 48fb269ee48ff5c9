//! The common interface of the filters that are measured, ours and rivals. The methods that insert keys or look them up
//! take a slice of keys, so that the loop over keys runs inside the call, on the concrete type.

use crate::measure::keys::Column;
use anyhow::{Result, ensure};
use std::fmt;
use trommel::{Bitmap, Isa, KeyHash};

/// A filter under measurement.
pub(crate) trait Subject: fmt::Debug + Send {
    /// Bytes of the filter's table.
    fn memory_bytes(&self) -> usize;

    /// Bytes of that part of the table that lookups read: their working set.
    fn probed_bytes(&self) -> usize {
        self.memory_bytes()
    }

    /// Bits set per key, if the filter is a Bloom filter that reports them.
    fn hash_count(&self) -> Option<u32> {
        None
    }

    /// The share of slots that are in use, if the filter has slots.
    fn load_factor(&self) -> Option<f64> {
        None
    }

    /// The instruction set of the filter's kernels, if the filter reports it.
    fn isa(&self) -> Option<Isa> {
        None
    }

    /// The false-positive rate according to an equation for this design of filter; `None` if the rate is unknown.
    /// `keys` is the number of keys that the filter now holds.
    fn expected_fpr(&self, keys: usize) -> Option<f64>;

    /// Returns a copy whose memory pages have all been written, so that inserts into a copy of an empty filter cause no
    /// page faults.
    fn copy(&self) -> Box<dyn Subject>;

    /// Inserts hashes one by one.
    fn insert_single(&mut self, hashes: &[KeyHash]) -> Result<()>;

    /// Inserts hashes in one call, if the filter has such a call.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<()> {
        self.insert_single(hashes)
    }

    /// Looks up hashes one by one and counts the hits, which is the least that a caller can do with answers.
    fn count_single(&self, hashes: &[KeyHash]) -> usize;

    /// Looks up hashes one by one and stores the answers: the reference for all other lookups of hashes.
    fn answer_single(&self, hashes: &[KeyHash], answers: &mut Bitmap);

    /// Looks up hashes in one call, if the filter has such a call, and stores the answers.
    fn answer_batch(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        self.answer_single(hashes, answers);
    }

    /// Looks up hashes, `keys` of them per call, and counts the hits.
    fn count_batches(&self, hashes: &[KeyHash], keys: usize, answers: &mut Bitmap) -> usize {
        let count = |hashes: &[KeyHash]| {
            self.answer_batch(hashes, answers);
            answers.count_ones()
        };
        hashes.chunks(keys).map(count).sum()
    }

    /// Hashes keys in the filter's own way and inserts them.
    fn insert_keys(&mut self, keys: &Column) -> Result<()>;

    /// Hashes keys in the filter's own way, looks them up in its fastest way, and counts the hits.
    fn count_keys(&self, keys: &Column, scratch: &mut Scratch) -> usize;

    /// Hashes keys in the filter's own way, looks them up one by one, and stores the answers.
    fn answer_keys(&self, keys: &Column, answers: &mut Bitmap);
}

/// Buffers that are reused by lookups with hashing.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) hashes: Vec<KeyHash>,
    pub(crate) answers: Bitmap,
}

/// Fills `answers` with the answer of `contains` for each item.
pub(crate) fn answer_each<T>(items: &[T], answers: &mut Bitmap, contains: impl Fn(&T) -> bool) {
    answers.reset(items.len());
    for (i, item) in items.iter().enumerate() {
        if contains(item) {
            answers.set(i);
        }
    }
}

/// Checks that the answers have no false negatives. `members` marks the probes that are keys, and `whose` names the
/// subject in the error.
pub(crate) fn ensure_no_false_negatives(
    members: &Bitmap,
    answers: &Bitmap,
    whose: &str,
) -> Result<()> {
    let false_negatives = members
        .as_words()
        .iter()
        .zip(answers.as_words())
        .map(|(m, a)| (m & !a).count_ones())
        .sum::<u32>();
    ensure!(
        false_negatives == 0,
        "{whose}: {false_negatives} of {} keys are reported absent (false negatives)",
        members.count_ones()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_negative_is_an_error() {
        let mut members = Bitmap::new(100);
        members.set(70);
        let error = ensure_no_false_negatives(&members, &Bitmap::new(100), "a filter").unwrap_err();
        assert!(error.to_string().contains("1 of 1 keys are reported absent"), "{error}");
        assert!(ensure_no_false_negatives(&members, &members, "a filter").is_ok());
    }
}
