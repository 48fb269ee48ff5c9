//! Detects keys that are so far from random that most of their cache lines are in the caches even if the keys are not
//! grouped by the piece of the table that they access.

use trommel_base::KeyHash;

/// The number of samples, which are spread evenly over a batch, and the number of consecutive keys in each sample.
const SAMPLES: usize = 64;
const KEYS_PER_SAMPLE: usize = 16;
/// Two consecutive keys are *near* each other if their hashes agree in this number of high bits. One in 1024 pairs of
/// random keys is near.
const NEAR_BITS: u32 = 10;
/// A batch is skewed if at least one in this number of sampled keys repeats another sampled key: such a batch has few
/// distinct keys, or some keys that are far more frequent than others. If the keys follow Zipf's law with exponent 1,
/// 29 % of the sampled keys repeat another if there are two million distinct keys, and 24 % if there are twenty
/// million. Rejected: a batch counts as skewed only if half of the sampled keys repeat another. Batches by Zipf's law
/// were then grouped, and two threads took 1.5 times as long to insert such a batch as one thread without grouping.
const REPEATS_ONE_IN: usize = 5;

/// Whether a batch is skewed, which means that at least one of two conditions holds:
///
/// - at least half of the sampled pairs of consecutive keys are near each other, as in sorted batches;
/// - at least one in [`REPEATS_ONE_IN`] sampled keys repeats another, as in batches of few distinct keys, or of keys
///   that follow Zipf's law.
///
/// False for batches of fewer than 1024 keys, which are too short for the sample.
pub(super) fn is_skewed(hashes: &[KeyHash]) -> bool {
    let step = hashes.len() / SAMPLES;
    if step < KEYS_PER_SAMPLE {
        return false;
    }
    let mut sample = [0; SAMPLES * KEYS_PER_SAMPLE];
    for (i, keys) in sample.as_chunks_mut::<KEYS_PER_SAMPLE>().0.iter_mut().enumerate() {
        let hashes = &hashes[i * step..];
        keys.iter_mut().zip(hashes).for_each(|(key, hash)| *key = hash.raw());
    }
    let is_near = |pair: &[u64]| (pair[0] ^ pair[1]).leading_zeros() >= NEAR_BITS;
    let near: usize = sample
        .as_chunks::<KEYS_PER_SAMPLE>()
        .0
        .iter()
        .map(|keys| keys.windows(2).filter(|pair| is_near(pair)).count())
        .sum();
    sample.sort_unstable();
    let repeats = sample.windows(2).filter(|pair| pair[0] == pair[1]).count();
    2 * near >= SAMPLES * (KEYS_PER_SAMPLE - 1) || REPEATS_ONE_IN * repeats >= sample.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use trommel_testkit::Splitmix;

    fn hashes(keys: impl Iterator<Item = u64>) -> Vec<KeyHash> {
        let hasher = trommel_base::Hasher::default();
        keys.map(|key| hasher.hash(&key)).collect()
    }

    #[test]
    fn sorted_and_repeated_keys_are_skewed_and_uniform_keys_are_not() {
        let uniform = hashes(0..100_000);
        assert!(!is_skewed(&uniform));
        let mut sorted = uniform.clone();
        sorted.sort_unstable();
        assert!(is_skewed(&sorted));
        assert!(is_skewed(&hashes((0..100_000).map(|i| i % 100))));
        assert!(is_skewed(&hashes((0..100_000).map(|_| 7))));
        // Keys that follow Zipf's law: the logarithms of their ranks are uniformly distributed.
        let mut random = Splitmix::new(1);
        for count in [2e6_f64, 2e7] {
            let rank = |_| count.powf(random.word() as f64 / u64::MAX as f64) as u64;
            assert!(is_skewed(&hashes((0..100_000).map(rank))));
        }
        // Each key occurs twice, but far apart, so the sample looks random.
        assert!(!is_skewed(&hashes((0..100_000).map(|i| i % 50_000))));
        assert!(!is_skewed(&hashes((0..100).map(|_| 7))), "100 keys were called skewed");
        assert!(!is_skewed(&[]));
    }
}
