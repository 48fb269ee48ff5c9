//! Many small filters, arranged like those of a log-structured merge tree: every level is divided into the same parts,
//! by ranges of keys, and has a filter for each part. A key is stored in one level. A single lookup asks the filters of
//! the key's part, level by level, until one of them reports the key as present. A batched lookup asks all filters of
//! the part.
//!
//! In a real tree, the part and level of a key are independent of its hash. Here they must be computed from the hash,
//! whose high bits the filters use as positions. If the same bits chose the part, the keys of a filter would use only a
//! few of its positions. So the part and level are drawn from a product of the hash and a constant.
//!
//! Source of the arrangement: O'Neil, Cheng, Gawlick and O'Neil, "The log-structured merge-tree (LSM-tree)", Acta
//! Informatica 33 (1996).

use crate::measure::keys::Column;
use crate::measure::subject::{Scratch, Subject};
use anyhow::{Result, bail};
use std::slice;
use trommel::{Bitmap, Isa, KeyHash};

/// The number of levels. Each level has [`PARTS`] parts.
pub(crate) const LEVELS: usize = 10;
const PARTS: usize = 100;
/// The number of filters in the tree.
pub(crate) const FILTERS: usize = LEVELS * PARTS;

/// The number of probes that are split among the parts at a time: about eighty per part.
const SPLIT_AT_A_TIME: usize = 8192;

/// The filters of all levels and parts.
#[derive(Clone, Debug)]
pub(crate) struct Tree<F> {
    /// Ordered by part, and by level within a part.
    filters: Vec<F>,
}

/// Returns the number of keys for which each filter is sized. The keys are distributed at random, so a filter can get
/// more keys than the mean: the number allows for 4.5 standard deviations more.
pub(crate) fn keys_of_each(keys: usize) -> usize {
    let mean = keys as f64 / FILTERS as f64;
    (mean + 4.5 * mean.sqrt()).ceil() as usize + 1
}

/// Creates a single filter, or a tree of filters of its type.
pub(crate) fn boxed<F: Subject + Clone + 'static>(
    is_tree: bool,
    create: impl Fn() -> Result<F>,
) -> Result<Box<dyn Subject>> {
    if !is_tree {
        return Ok(Box::new(create()?));
    }
    let filters = (0..FILTERS).map(|_| create()).collect::<Result<_>>()?;
    Ok(Box::new(Tree::<F> { filters }))
}

/// Returns the part (of [`PARTS`]) to which the key of a hash belongs, and the level in which the key is stored.
fn part_and_level(hash: KeyHash) -> (usize, usize) {
    let mixed = hash.raw().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let drawn = |random: u64, count: usize| ((random * count as u64) >> 32) as usize;
    (drawn(mixed >> 32, PARTS), drawn(mixed & 0xFFFF_FFFF, LEVELS))
}

impl<F: Subject> Tree<F> {
    /// Returns the filters of a part, one per level.
    fn of_part(&self, part: usize) -> &[F] {
        &self.filters[part * LEVELS..][..LEVELS]
    }

    /// Whether any level reports the key as present. Looks the key up in one level after the other, with one call each,
    /// until a level reports it as present.
    #[inline]
    fn contains(&self, hash: &KeyHash) -> bool {
        let (part, _) = part_and_level(*hash);
        self.of_part(part).iter().any(|filter| filter.count_single(slice::from_ref(hash)) != 0)
    }

    /// Splits probes among parts, looks up the probes of each part in every level, and stores the answers in the order
    /// of the probes. `first` is the index of the first probe's answer.
    fn answer_split(&self, hashes: &[KeyHash], first: usize, answers: &mut Bitmap) {
        let mut starts = [0usize; PARTS + 1];
        let parts: Vec<usize> = hashes.iter().map(|hash| part_and_level(*hash).0).collect();
        parts.iter().for_each(|part| starts[part + 1] += 1);
        for part in 0..PARTS {
            starts[part + 1] += starts[part];
        }
        let mut next = starts;
        let mut split = vec![KeyHash::from_raw(0); hashes.len()];
        let mut origins = vec![0; hashes.len()];
        for (i, part) in parts.iter().enumerate() {
            split[next[*part]] = hashes[i];
            origins[next[*part]] = first + i;
            next[*part] += 1;
        }
        let mut found = Bitmap::new(0);
        for part in 0..PARTS {
            let range = starts[part]..starts[part + 1];
            for filter in self.of_part(part).iter().filter(|_| !range.is_empty()) {
                filter.answer_batch(&split[range.clone()], &mut found);
                found.iter_ones().for_each(|i| answers.set(origins[range.start + i]));
            }
        }
    }
}

impl<F: Subject + Clone + 'static> Subject for Tree<F> {
    fn memory_bytes(&self) -> usize {
        self.filters.iter().map(Subject::memory_bytes).sum()
    }

    fn probed_bytes(&self) -> usize {
        self.filters.iter().map(Subject::probed_bytes).sum()
    }

    fn hash_count(&self) -> Option<u32> {
        self.filters[0].hash_count()
    }

    fn load_factor(&self) -> Option<f64> {
        let loads = self.filters.iter().map(Subject::load_factor).sum::<Option<f64>>()?;
        Some(loads / self.filters.len() as f64)
    }

    fn isa(&self) -> Option<Isa> {
        self.filters[0].isa()
    }

    /// The probability that at least one of the levels reports an absent key as present.
    fn expected_fpr(&self, keys: usize) -> Option<f64> {
        let fpr = |filter: &F| filter.expected_fpr(keys / self.filters.len());
        let sum = self.filters.iter().map(fpr).sum::<Option<f64>>()?;
        Some(1.0 - (1.0 - sum / self.filters.len() as f64).powi(LEVELS as i32))
    }

    fn copy(&self) -> Box<dyn Subject> {
        Box::new(self.clone())
    }

    fn insert_single(&mut self, hashes: &[KeyHash]) -> Result<()> {
        let mut split = vec![Vec::new(); self.filters.len()];
        for hash in hashes {
            let (part, level) = part_and_level(*hash);
            split[part * LEVELS + level].push(*hash);
        }
        self.filters
            .iter_mut()
            .zip(&split)
            .try_for_each(|(filter, hashes)| filter.insert_batch(hashes))
    }

    fn count_single(&self, hashes: &[KeyHash]) -> usize {
        hashes.iter().filter(|hash| self.contains(hash)).count()
    }

    fn answer_single(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        crate::measure::subject::answer_each(hashes, answers, |hash| self.contains(hash));
    }

    fn answer_batch(&self, hashes: &[KeyHash], answers: &mut Bitmap) {
        answers.reset(hashes.len());
        for (i, slice) in hashes.chunks(SPLIT_AT_A_TIME).enumerate() {
            self.answer_split(slice, i * SPLIT_AT_A_TIME, answers);
        }
    }

    fn insert_keys(&mut self, _keys: &Column) -> Result<()> {
        bail!("a tree of filters takes only hashes")
    }

    fn count_keys(&self, _keys: &Column, _scratch: &mut Scratch) -> usize {
        0
    }

    fn answer_keys(&self, _keys: &Column, answers: &mut Bitmap) {
        answers.reset(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Caches;
    use crate::measure::factory::create;
    use crate::measure::keys::KeyStream;
    use crate::measure::plan::{SubjectSpec, every_point};
    use crate::model::Form;

    /// Returns the specs of all trees of the matrix, both those of our kinds and those of rivals.
    fn subject_specs() -> Vec<SubjectSpec> {
        let all = every_point(&Caches::default()).into_iter().flat_map(|(_, point)| point.specs);
        all.filter(|spec| spec.form == Form::Tree).collect()
    }

    #[test]
    fn a_tree_finds_its_keys_and_single_and_batched_answers_agree() {
        const KEYS: usize = 20_000;
        let stream = KeyStream::new(5);
        let keys = stream.hashes(0, KEYS);
        let absent = crate::measure::keys::as_hashes(&stream.absent(20_000));
        assert_eq!(subject_specs().len(), 10);
        for spec in subject_specs() {
            let mut tree = create(&spec, KEYS, None).unwrap();
            tree.insert_batch(&keys).unwrap();
            assert_eq!(tree.count_single(&keys), KEYS, "{spec:?}");
            let (mut single, mut batch) = (Bitmap::new(0), Bitmap::new(0));
            tree.answer_single(&absent, &mut single);
            tree.answer_batch(&absent, &mut batch);
            assert_eq!(single, batch, "{spec:?}");
            tree.answer_batch(&keys, &mut batch);
            assert_eq!(batch.count_ones(), KEYS);
            // A probe queries ten filters, so the tree's false-positive rate is about ten times
            // that of one filter.
            let fpr = single.count_ones() as f64 / absent.len() as f64;
            assert!(fpr <= 0.2, "{spec:?}: false-positive rate {fpr}");
        }
    }

    #[test]
    fn keys_are_spread_evenly_over_filters() {
        let mut counts = vec![0usize; FILTERS];
        for hash in KeyStream::new(9).hashes(0, 1_000_000) {
            let (part, level) = part_and_level(hash);
            counts[part * LEVELS + level] += 1;
        }
        assert_eq!(counts.iter().sum::<usize>(), 1_000_000);
        assert!(counts.iter().all(|count| *count <= keys_of_each(1_000_000)), "{counts:?}");
        assert!(counts.iter().all(|count| *count > 800));
    }
}
