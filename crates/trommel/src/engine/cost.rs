//! What a batch costs in one way and in another.

use trommel_base::partition::FEWEST_PASSED_PER_PART;

/// How a batch is worked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The filter's own batch: inserts on the thread of the caller, lookups on all, if they are enough.
    Direct,
    /// Keys grouped by piece of the table, each piece worked on in the cache of a core, on all threads.
    Partitioned,
}

/// The sizes of a table, in bytes, at which [`CostModel::touch_ns`] is given.
pub const TOUCH_BYTES: [usize; 6] = [512 << 10, 4 << 20, 16 << 20, 128 << 20, 1 << 30, 4 << 30];

/// Bytes of a line.
const LINE_BYTES: f64 = 64.0;
/// A piece of a table that lookups are grouped by, in tables with few enough of them.
const PIECE_BYTES: usize = 128 << 10;
/// The most pieces of a table that lookups are grouped by: more of them cost the pass over the keys more than
/// lookups in smaller pieces save.
const MOST_PIECES: usize = 1024;

/// What work costs on a machine, in nanoseconds on one core.
///
/// With `d` keys a line of the table, in a batch or as much of it as is grouped at a time:
///
/// - direct: `touch` a line a key;
/// - partitioned: `pass + work + load / d` a key: to group it, to work on it in the cache, and to bring its line
///   there. Lookups pay `replay` besides, which puts answers back in the order of the keys.
///
/// More threads divide all of this, but for direct inserts, and pay `start` for each time that they are set to
/// work. The default is what a Xeon of the Sapphire Rapids generation measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// A key whose line is anywhere in a table of [`TOUCH_BYTES`], by the filter's own batch; between them, by
    /// interpolation over the logarithm.
    pub touch_ns: [f64; TOUCH_BYTES.len()],
    /// To group a key.
    pub pass_ns: f64,
    /// To insert a key into a piece in the cache.
    pub insert_ns: f64,
    /// To bring a line of a piece into the cache, and back.
    pub insert_load_ns: f64,
    /// To insert a key into a filter that groups large batches by itself, such as a quotient filter.
    pub bulk_ns: f64,
    /// To look a key up in a piece in the cache.
    pub lookup_ns: f64,
    /// To bring a line of a piece into the cache.
    pub lookup_load_ns: f64,
    /// To put an answer where it belongs.
    pub replay_ns: f64,
    /// To set threads to work, and to wait for the last.
    pub start_ns: f64,
}

impl Default for CostModel {
    fn default() -> Self {
        Self {
            touch_ns: [1.0, 1.9, 3.5, 9.5, 19.0, 27.0],
            pass_ns: 2.6,
            insert_ns: 1.2,
            insert_load_ns: 6.8,
            bulk_ns: 8.0,
            lookup_ns: 1.4,
            lookup_load_ns: 4.5,
            replay_ns: 1.5,
            start_ns: 15_000.0,
        }
    }
}

impl CostModel {
    /// What a random line costs in a table of so many bytes.
    #[must_use]
    pub fn touch_ns(&self, bytes: usize) -> f64 {
        let above = TOUCH_BYTES.partition_point(|size| *size < bytes);
        if above == 0 {
            return self.touch_ns[0];
        }
        let above = above.min(TOUCH_BYTES.len() - 1);
        let log = |bytes: usize| libm::log2(bytes as f64);
        let (low, high) = (log(TOUCH_BYTES[above - 1]), log(TOUCH_BYTES[above]));
        let share = ((log(bytes) - low) / (high - low)).min(1.0);
        self.touch_ns[above - 1] + share * (self.touch_ns[above] - self.touch_ns[above - 1])
    }

    /// How to insert so many keys into a table of so many bytes, `lines` of which each touches.
    #[must_use]
    pub fn of_insert(&self, keys: usize, bytes: usize, lines: u32, threads: usize) -> Strategy {
        let touches = keys as f64 * f64::from(lines);
        let direct = touches * self.touch_ns(bytes);
        let work = self.pass_ns + self.insert_ns;
        let partitioned = self.partitioned(touches, bytes, work, self.insert_load_ns, threads);
        cheaper(direct, partitioned)
    }

    /// Whether to insert so many keys on several threads, into a filter that groups them by itself.
    #[must_use]
    pub fn of_bulk(&self, keys: usize, threads: usize) -> Strategy {
        let alone = keys as f64 * self.bulk_ns;
        cheaper(alone, alone / threads as f64 + 2.0 * self.start(threads))
    }

    /// How to look so many keys up in a table of so many bytes.
    #[must_use]
    pub fn of_lookup(&self, keys: usize, bytes: usize, threads: usize) -> Strategy {
        let keys = keys as f64;
        let direct = keys * self.touch_ns(bytes) / threads as f64 + self.start(threads);
        let work = self.pass_ns + self.lookup_ns + self.replay_ns;
        let partitioned = self.partitioned(keys, bytes, work, self.lookup_load_ns, threads);
        cheaper(direct, partitioned)
    }

    /// Whether lookups that take so long on one thread are worth setting several to work.
    pub(super) fn is_worth_threads(&self, keys: usize, bytes: usize, threads: usize) -> bool {
        let alone = keys as f64 * self.touch_ns(bytes);
        threads > 1 && alone / threads as f64 + self.start(threads) < alone
    }

    fn partitioned(
        &self,
        records: f64,
        bytes: usize,
        work_ns: f64,
        load_ns: f64,
        threads: usize,
    ) -> f64 {
        let pieces = bytes.div_ceil(PIECE_BYTES).min(MOST_PIECES);
        if records < (FEWEST_PASSED_PER_PART * pieces) as f64 {
            return f64::INFINITY;
        }
        let lines = bytes as f64 / LINE_BYTES;
        // A line that no key belongs to is not brought into the cache.
        let loads = lines.min(records) * load_ns;
        (records * work_ns + loads) / threads as f64 + 2.0 * self.start(threads)
    }

    fn start(&self, threads: usize) -> f64 {
        if threads > 1 { self.start_ns } else { 0.0 }
    }
}

fn cheaper(direct: f64, partitioned: f64) -> Strategy {
    if partitioned < direct { Strategy::Partitioned } else { Strategy::Direct }
}

/// Into how many pieces of hashes, as a power of two, a table of so many bytes falls for lookups.
pub(super) fn pieces_log2(bytes: usize) -> u32 {
    bytes.div_ceil(PIECE_BYTES).clamp(2, MOST_PIECES).next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_touch_costs_what_was_measured_and_something_between_elsewhere() {
        let cost = CostModel::default();
        for (bytes, ns) in TOUCH_BYTES.into_iter().zip(cost.touch_ns) {
            assert!((cost.touch_ns(bytes) - ns).abs() < 1e-9, "{bytes}");
        }
        assert_eq!(cost.touch_ns(1), cost.touch_ns[0]);
        assert_eq!(cost.touch_ns(1 << 45), cost.touch_ns[TOUCH_BYTES.len() - 1]);
        // Half way in the logarithm.
        assert!((cost.touch_ns(2 << 30) - 23.0).abs() < 1e-9);
        assert!(cost.touch_ns(0).is_finite());
    }

    #[test]
    fn large_tables_with_many_keys_are_partitioned_and_small_batches_are_not() {
        let cost = CostModel::default();
        for threads in [1, 2, 64] {
            assert_eq!(cost.of_insert(100_000_000, 1 << 30, 1, threads), Strategy::Partitioned);
            assert_eq!(cost.of_lookup(100_000_000, 1 << 30, threads), Strategy::Partitioned);
            assert_eq!(cost.of_insert(1000, 1 << 30, 1, threads), Strategy::Direct);
            assert_eq!(cost.of_lookup(1_000_000, 128 << 10, threads), Strategy::Direct);
            assert!(!cost.is_worth_threads(1000, 1 << 20, threads));
        }
        assert_eq!(cost.of_bulk(100_000_000, 1), Strategy::Direct);
        assert_eq!(cost.of_bulk(100_000_000, 2), Strategy::Partitioned);
        assert_eq!(cost.of_bulk(1000, 2), Strategy::Direct);
        assert!(cost.is_worth_threads(10_000_000, 1 << 20, 2));
    }

    #[test]
    fn pieces_are_a_power_of_two_within_bounds() {
        assert_eq!(pieces_log2(0), 1);
        assert_eq!(pieces_log2(PIECE_BYTES * 5), 3);
        assert_eq!(pieces_log2(usize::MAX), MOST_PIECES.ilog2());
    }
}
