//! Caches that Callgrind's simulator accepts: the number of sets of each cache is a power of two.

use std::fmt;

/// The number of bytes in a cache line.
const LINE_BYTES: u64 = 64;

/// A cache that can be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    sets: u64,
    ways: u64,
}

impl Cache {
    /// A cache that can be simulated in place of a cache of `bytes` bytes with `ways` lines per set. The number of sets
    /// is rounded down to a power of two, and the number of lines per set is increased, so that the size stays nearly
    /// the same. If `bytes` is a whole number of lines, from one line to 256 GiB, the sizes of the two caches differ by
    /// at most half a line for each set of the simulated cache.
    ///
    /// ```
    /// use trommel_callgrind::Cache;
    ///
    /// assert_eq!(Cache::nearest(48 << 10, 12).to_string(), "49152,12,64");
    /// // 35.75 MiB in 11 ways are 53,248 sets, which is no power of two.
    /// assert_eq!(Cache::nearest(37_486_592, 11).to_string(), "37748736,18,64");
    /// ```
    #[must_use]
    pub fn nearest(bytes: u64, ways: u64) -> Self {
        let lines = (bytes / LINE_BYTES).clamp(1, 1 << 32);
        let sets = (lines / ways.clamp(1, lines)).max(1);
        let sets = 1 << sets.ilog2();
        // The number of lines per set is rounded to the nearest integer, but is at least 1, as the simulator requires.
        Self { sets, ways: ((lines + sets / 2) / sets).max(1) }
    }

    /// The size of the cache in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sets * self.ways * LINE_BYTES
    }
}

/// Writes the cache as in Callgrind's options: its size in bytes, its ways, the size of a line in bytes.
impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{LINE_BYTES}", self.bytes(), self.ways)
    }
}

/// The two levels of cache that are simulated for data. The last level also holds instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// The first level.
    pub d1: Cache,
    /// The last level.
    pub ll: Cache,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_with_a_power_of_two_of_sets_are_exact() {
        for (bytes, ways) in [(32 << 10, 8), (48 << 10, 12), (64 << 10, 4), (8 << 20, 16), (64, 1)]
        {
            let cache = Cache::nearest(bytes, ways);
            assert_eq!((cache.bytes(), cache.ways), (bytes, ways));
        }
    }

    #[test]
    fn other_caches_are_near_and_extreme_arguments_give_valid_ones() {
        for bytes in [100_000, 37_486_592, 27_262_976, 45 << 20, 105 << 20] {
            for ways in [4, 11, 12, 15, 20] {
                let off = Cache::nearest(bytes, ways).bytes().abs_diff(bytes);
                assert!(
                    off * ways * 2 <= bytes + bytes / 8,
                    "a cache of {bytes} bytes in {ways} ways: off by {off} bytes"
                );
            }
        }
        for (bytes, ways) in [(0, 0), (u64::MAX, 1), (1, u64::MAX), (64, 0)] {
            let cache = Cache::nearest(bytes, ways);
            assert!(
                cache.sets.is_power_of_two() && cache.ways > 0,
                "{bytes} bytes in {ways} ways give {cache:?}"
            );
        }
    }
}
