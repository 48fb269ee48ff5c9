//! One face for everything that is measured. Calls are made through it once a batch, never once a
//! key: the loop over keys is inside, on the concrete type.

use crate::keys::Column;
use crate::ours;
use crate::plan::{Form, Sizing, SubjectSpec};
use crate::rivals::Size;
use crate::slots::Slots;
use crate::tree;
use anyhow::{Context as _, Result, bail, ensure};
use std::fmt;
use trommel::{Bitmap, Isa, KeyHash};

/// A filter under measurement.
pub(crate) trait Subject: fmt::Debug {
    /// Bytes of the filter's table.
    fn memory_bytes(&self) -> usize;

    /// Bytes of it that lookups read: the working set that limits them.
    fn probed_bytes(&self) -> usize {
        self.memory_bytes()
    }

    /// Bits set per key, where the filter is a Bloom filter that says so.
    fn hash_count(&self) -> Option<u32> {
        None
    }

    /// The share of its slots that are in use, if it has slots.
    fn load_factor(&self) -> Option<f64> {
        None
    }

    /// The instruction set of its kernels, if it says.
    fn isa(&self) -> Option<Isa> {
        None
    }

    /// The false-positive rate by the filter's own equation, now that it holds `keys` keys.
    fn expected_fpr(&self, keys: usize) -> Option<f64>;

    /// A copy in memory of its own, every page of which has been written: of an empty filter, one
    /// whose first inserts pay for no page faults.
    fn copy(&self) -> Box<dyn Subject>;

    /// Inserts one by one.
    fn insert_single(&mut self, hashes: &[KeyHash]) -> Result<()>;

    /// Inserts in one call, where the filter has such a call.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<()> {
        self.insert_single(hashes)
    }

    /// Looks up one by one and counts what is found: the least that a caller can do with answers.
    fn count_single(&self, hashes: &[KeyHash]) -> usize;

    /// Looks up one by one and keeps the answers: the reference for all others.
    fn answer_single(&self, hashes: &[KeyHash], answers: &mut Bitmap);

    /// Looks up in one call, where the filter has such a call.
    fn answer_batch(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        self.answer_single(hashes, answers);
    }

    /// Looks up in calls for `keys` keys each and counts what is found.
    fn count_batches(&self, hashes: &[KeyHash], keys: usize, answers: &mut Bitmap) -> usize {
        let count = |hashes: &[KeyHash]| {
            self.answer_batch(hashes, answers);
            answers.count_ones()
        };
        hashes.chunks(keys).map(count).sum()
    }

    /// Hashes keys in its own way and inserts them.
    fn insert_keys(&mut self, keys: &Column) -> Result<()>;

    /// Hashes keys in its own way, looks them up in its fastest way, and counts what is found.
    fn count_keys(&self, keys: &Column, scratch: &mut Scratch) -> usize;

    /// Hashes keys in its own way, looks them up one by one, and keeps the answers.
    fn answer_keys(&self, keys: &Column, answers: &mut Bitmap);
}

/// Buffers that lookups with hashing reuse.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) hashes: Vec<KeyHash>,
    pub(crate) answers: Bitmap,
}

/// Fills `answers` with one answer for each item.
pub(crate) fn answer_each<T>(items: &[T], answers: &mut Bitmap, contains: impl Fn(&T) -> bool) {
    answers.reset(items.len());
    for (i, item) in items.iter().enumerate() {
        if contains(item) {
            answers.set(i);
        }
    }
}

/// Makes the empty filter of a subject for `keys` keys. A rival takes the bytes, and the hash count
/// where it has one, of our filter of the same kind and sizing.
pub(crate) fn create(
    spec: &SubjectSpec,
    keys: usize,
    isa: Option<Isa>,
) -> Result<Box<dyn Subject>> {
    let kind = spec.kind.context("a rival that takes the size of no kind of ours")?;
    let is_tree = spec.form == Form::Tree;
    let keys = if is_tree { tree::keys_of_each(keys) } else { keys };
    let ours = ours::create(kind, spec.sizing, keys, spec.isa.or(isa), spec.form)?;
    let Some(rival) = spec.rival else { return Ok(ours) };
    let bits_per_key = match spec.sizing {
        Sizing::BitsPerKey(bits) => Some(bits),
        Sizing::Fpr(_) | Sizing::Bytes(_) | Sizing::Slots(_) => None,
    };
    let fpr = match spec.sizing {
        Sizing::Fpr(fpr) => Some(fpr),
        Sizing::BitsPerKey(_) | Sizing::Bytes(_) | Sizing::Slots(_) => None,
    };
    let bytes = ours.memory_bytes();
    // That of one of the filters of a tree.
    let bytes = if is_tree { bytes / tree::FILTERS } else { bytes };
    let size = Size { keys, bits_per_key, fpr, bytes, hash_count: ours.hash_count() };
    rival.create(&size, is_tree)
}

/// Makes the empty filter of a subject that is defined by its slots.
pub(crate) fn create_slots(spec: &SubjectSpec, isa: Option<Isa>) -> Result<Box<dyn Slots>> {
    let Sizing::Slots(filling) = spec.sizing else {
        bail!("{} is not sized by slots", spec.sizing)
    };
    match (spec.rival, spec.kind) {
        (Some(rival), _) => rival.create_slots(&filling),
        (None, Some(kind)) => ours::create_slots(kind, &filling, spec.isa.or(isa)),
        (None, None) => bail!("neither a rival nor a kind of ours"),
    }
}

/// Checks that no key was denied.
pub(crate) fn ensure_no_key_denied(members: &Bitmap, answers: &Bitmap, whose: &str) -> Result<()> {
    let denied = members
        .as_words()
        .iter()
        .zip(answers.as_words())
        .map(|(m, a)| (m & !a).count_ones())
        .sum::<u32>();
    ensure!(
        denied == 0,
        "{whose}: {denied} of {} keys denied (false negatives)",
        members.count_ones()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_key_is_an_error() {
        let mut members = Bitmap::new(100);
        members.set(70);
        let error = ensure_no_key_denied(&members, &Bitmap::new(100), "it").unwrap_err();
        assert!(error.to_string().contains("1 of 1 keys denied"), "{error}");
        assert!(ensure_no_key_denied(&members, &members, "it").is_ok());
    }
}
