//! The predicted cost of a batch with each strategy.

use trommel_base::partition::{FEWEST_PASSED_PER_PART, chunk_bytes};

/// How a batch is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The filter's own batch methods process the batch. Lookups run on all threads if the batch is large enough to be
    /// worth it. Inserts run on the caller's thread. If the filter takes
    /// [slices](trommel_base::InsertBulk::insert_slices), and the cost model predicts that several threads are faster,
    /// inserts run on several threads instead, except for sorted keys and keys that often repeat. Each thread then
    /// inserts a slice of the batch into a table of its own, and the tables are united.
    Direct,
    /// The keys are grouped by the piece of the table that they access. All threads process pieces, each piece in the
    /// cache of one core. In a filter with slots, some batches are still inserted by the caller's thread alone: see the
    /// filter type's `insert_bulk`.
    Partitioned,
}

/// The table sizes, in bytes, for which [`LineCost::direct_ns`] has values. The largest is 4 GiB; if addresses have 32
/// bits, it is one byte less than 4 GiB.
pub const TABLE_BYTES: [usize; 6] =
    [512 << 10, 4 << 20, 16 << 20, 128 << 20, 1 << 30, (1usize << 30).saturating_mul(4)];

/// The numbers of memory accesses per cache line of the table for which [`LineCost::grouped_ns`] has values.
pub const ACCESSES_PER_LINE: [f64; 5] = [0.0625, 0.25, 1.0, 4.0, 16.0];

/// The size of a cache line in bytes.
const LINE_BYTES: f64 = 64.0;
/// The bytes of scratch memory that a grouped batch needs per memory access. Standard filters need only about half of
/// that (4.5 bytes), but the model uses one number for all kinds.
const GROUPED_BYTES: f64 = 8.5;
/// Lookups are grouped by piece of the table. A piece has at most this size in bytes, unless the table would then have
/// more than [`MOST_PIECES`] pieces: in such a table, pieces are larger.
const PIECE_BYTES: usize = 128 << 10;
/// The most pieces that lookups are grouped by. With more pieces, the pass that groups the keys would lose more time
/// than the lookups in smaller pieces would save.
const MOST_PIECES: usize = 1024;
/// The time to clear and to unite the tables of a batch that is inserted in slices, each into a table of its own, in
/// nanoseconds per byte of the filter's table. Measured with split blocks on two cores of Zen 4, as the total time
/// minus the time that this model predicts for the inserts: 0.2 for a table of 1.3 MB, 0.3 for 4 MB, 0.35 for 13 MB and
/// 0.4 for 39 MB.
const UNITED_BYTE_NS: f64 = 0.3;
/// Use several threads for lookups only if the model predicts that they take less than 75 % of the single-thread time.
/// The margin is for tables in a cache: in such a table, a lookup can take half of the time that the model predicts.
const WORTH_THREADS: f64 = 0.75;
/// The number of times that threads are started for slices: to insert them, and to unite their tables.
const STARTS_OF_SLICES: f64 = 2.0;
/// The number of times that threads are started for a grouped insert: to group keys, and to insert them.
const STARTS_OF_INSERT: f64 = 2.0;
/// The number of times that threads are started for grouped lookups: to group keys, to look them up, and to put the
/// answers into the order of the keys.
const STARTS_OF_LOOKUP: f64 = 3.0;

/// The cost of an access to a random cache line, in nanoseconds on one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineCost {
    /// The cost with the filter's own batch methods, for each table size in [`TABLE_BYTES`].
    pub direct_ns: [f64; TABLE_BYTES.len()],
    /// The cost in a batch that is first grouped by piece of the table, for each number in [`ACCESSES_PER_LINE`].
    /// Includes the cost of grouping.
    pub grouped_ns: [f64; ACCESSES_PER_LINE.len()],
}

/// The costs from which strategies are chosen, in nanoseconds on one core of a machine.
///
/// The direct cost depends on the size of the table, which decides in which cache a cache line of the table is. The
/// grouped cost depends mainly on the number of accesses per line, since all accesses to a line share one transfer of
/// that line into the cache. The cost for a size or number that was not measured is interpolated over the logarithm of
/// the size or number.
///
/// The model divides these costs by the number of threads, except for direct inserts into filters that take no slices.
/// Each start of the threads adds `start_ns`. The default costs were measured on an EPYC of the Zen 4 generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// The cost of a lookup in a blocked filter.
    pub lookup: LineCost,
    /// The cost of an insert into a blocked filter, or into a standard filter in which a key sets one bit.
    pub insert: LineCost,
    /// The cost of each bit that an insert sets in a standard filter with two or more bits per key, and of each bit and
    /// each counter that an insert accesses in a counting filter.
    pub insert_bit: LineCost,
    /// The cost of an insert into a filter that groups large batches by itself, such as a quotient filter.
    pub bulk_ns: f64,
    /// The cost of starting the threads and waiting for the last one.
    pub start_ns: f64,
}

impl LineCost {
    /// Nanoseconds per access to a random line of a table of `bytes` bytes.
    ///
    /// ```
    /// use trommel::engine::CostModel;
    /// let cost = CostModel::default().lookup;
    /// assert_eq!(cost.direct_ns(512 << 10), cost.direct_ns[0]); // the smallest table measured
    /// assert!(cost.direct_ns(1 << 30) > cost.direct_ns(4 << 20));
    /// ```
    #[must_use]
    pub fn direct_ns(&self, bytes: usize) -> f64 {
        interpolate(TABLE_BYTES.map(|bytes| bytes as f64), self.direct_ns, bytes as f64)
    }

    /// Nanoseconds per access if the batch is grouped first and accesses each line `accesses_per_line` times.
    ///
    /// ```
    /// use trommel::engine::CostModel;
    /// let cost = CostModel::default().lookup;
    /// assert_eq!(cost.grouped_ns(1.0), cost.grouped_ns[2]);
    /// ```
    #[must_use]
    pub fn grouped_ns(&self, accesses_per_line: f64) -> f64 {
        interpolate(ACCESSES_PER_LINE, self.grouped_ns, accesses_per_line)
    }

    /// Nanoseconds for a grouped batch with `accesses` accesses to a table of `bytes` bytes on `threads` threads,
    /// without the starts of the threads. Infinite if pieces would get too few keys to be worth the grouping.
    fn grouped_batch_ns(&self, accesses: f64, bytes: usize, threads: usize) -> f64 {
        let pieces = bytes.div_ceil(PIECE_BYTES).min(MOST_PIECES);
        if accesses < (FEWEST_PASSED_PER_PART * pieces) as f64 {
            return f64::INFINITY;
        }
        let lines = (bytes as f64 / LINE_BYTES).max(1.0);
        let chunk_accesses = accesses.min(chunk_bytes(bytes) as f64 / GROUPED_BYTES);
        accesses * self.grouped_ns(chunk_accesses / lines) / threads as f64
    }
}

/// Interpolates between `values`, which are given at ascending `points`, over the logarithm of `x`. Returns the first
/// value if `x` is below the first point, and the last value if `x` is above the last point.
fn interpolate<const N: usize>(points: [f64; N], values: [f64; N], x: f64) -> f64 {
    let above = points.partition_point(|point| *point < x);
    match above {
        0 => values[0],
        above if above == N => values[N - 1],
        above => {
            let (low, high) = (libm::log2(points[above - 1]), libm::log2(points[above]));
            let share = (libm::log2(x) - low) / (high - low);
            values[above - 1] + share * (values[above] - values[above - 1])
        }
    }
}

impl CostModel {
    /// The strategy to insert `keys` keys into a table of `bytes` bytes on `threads` threads, if each key writes
    /// `lines` cache lines. `slices` is the number of slices that the batch can be split into, one for each of several
    /// threads; 1 if the filter takes no slices.
    ///
    /// ```
    /// use trommel::engine::{CostModel, Strategy};
    /// let cost = CostModel::default();
    /// // A million keys into 1 MiB, with one cache line per key, on two threads that could take a slice each.
    /// assert_eq!(cost.of_insert(1_000_000, 1 << 20, 1, 2, 2), Strategy::Direct);
    /// assert_eq!(cost.of_insert(500_000_000, 1 << 30, 1, 2, 1), Strategy::Partitioned);
    /// ```
    #[must_use]
    pub fn of_insert(
        &self,
        keys: usize,
        bytes: usize,
        lines: u32,
        threads: usize,
        slices: usize,
    ) -> Strategy {
        let (cost, accesses) = self.accesses_of_insert(keys, lines);
        let grouped = cost.grouped_batch_ns(accesses, bytes, threads);
        let starts = STARTS_OF_INSERT * self.start(threads);
        let direct = |slices| self.sliced_inserts(keys, bytes, lines, slices);
        cheaper(direct(1).min(direct(slices)), grouped + starts)
    }

    /// Whether direct inserts are cheaper on several threads, each with a slice of the batch, than on one thread.
    pub(super) fn is_worth_slices(
        &self,
        keys: usize,
        bytes: usize,
        lines: u32,
        slices: usize,
    ) -> bool {
        let on = |slices| self.sliced_inserts(keys, bytes, lines, slices);
        on(slices) < on(1)
    }

    /// Nanoseconds for direct inserts in `slices` slices. Each slice has a table of its own, and these tables share
    /// caches. So the model takes the cost of an access to one table that is as large as all of them together.
    fn sliced_inserts(&self, keys: usize, bytes: usize, lines: u32, slices: usize) -> f64 {
        let (cost, accesses) = self.accesses_of_insert(keys, lines);
        let inserts = accesses * cost.direct_ns(bytes.saturating_mul(slices)) / slices as f64;
        let unite = if slices > 1 { bytes as f64 * UNITED_BYTE_NS } else { 0.0 };
        inserts + unite + STARTS_OF_SLICES * self.start(slices)
    }

    /// The costs of a memory access, and the number of accesses.
    fn accesses_of_insert(&self, keys: usize, lines: u32) -> (&LineCost, f64) {
        let cost = if lines > 1 { &self.insert_bit } else { &self.insert };
        (cost, keys as f64 * f64::from(lines))
    }

    /// The strategy to insert `keys` keys into a filter that groups them by itself. [`Strategy::Partitioned`] means to
    /// insert the keys on all `threads` threads, [`Strategy::Direct`] to insert them on the caller's thread.
    ///
    /// ```
    /// use trommel::engine::{CostModel, Strategy};
    /// let cost = CostModel::default();
    /// assert_eq!(cost.of_bulk(1_000, 2), Strategy::Direct);
    /// assert_eq!(cost.of_bulk(100_000_000, 2), Strategy::Partitioned);
    /// ```
    #[must_use]
    pub fn of_bulk(&self, keys: usize, threads: usize) -> Strategy {
        let alone = keys as f64 * self.bulk_ns;
        cheaper(alone, alone / threads as f64 + STARTS_OF_INSERT * self.start(threads))
    }

    /// The strategy to look up `keys` keys in a table of `bytes` bytes on `threads` threads.
    ///
    /// ```
    /// use trommel::engine::{CostModel, Strategy};
    /// let far = [40.0; 6]; // ns per lookup, at every table size, on a machine with slow memory
    /// let mut cost = CostModel::default();
    /// assert_eq!(cost.of_lookup(100_000, 128 << 10, 2), Strategy::Direct);
    /// cost.lookup.direct_ns = far;
    /// assert_eq!(cost.of_lookup(100_000_000, 1 << 30, 2), Strategy::Partitioned);
    /// ```
    #[must_use]
    pub fn of_lookup(&self, keys: usize, bytes: usize, threads: usize) -> Strategy {
        let grouped = self.lookup.grouped_batch_ns(keys as f64, bytes, threads);
        let direct = self.direct_lookups(keys, bytes, threads);
        cheaper(direct, grouped + STARTS_OF_LOOKUP * self.start(threads))
    }

    /// Whether direct lookups of `keys` keys are worth starting several threads.
    pub(super) fn is_worth_threads(&self, keys: usize, bytes: usize, threads: usize) -> bool {
        let on = |threads| self.direct_lookups(keys, bytes, threads);
        on(threads) < WORTH_THREADS * on(1)
    }

    fn direct_lookups(&self, keys: usize, bytes: usize, threads: usize) -> f64 {
        keys as f64 * self.lookup.direct_ns(bytes) / threads as f64 + self.start(threads)
    }

    fn start(&self, threads: usize) -> f64 {
        if threads > 1 { self.start_ns } else { 0.0 }
    }
}

impl Default for CostModel {
    fn default() -> Self {
        let lookup = LineCost {
            direct_ns: [1.16, 1.19, 1.79, 4.16, 5.74, 8.77],
            grouped_ns: [5.45, 7.34, 6.68, 6.11, 5.81],
        };
        let insert = LineCost {
            direct_ns: [1.21, 1.19, 1.67, 4.30, 5.84, 8.13],
            grouped_ns: [4.80, 11.1, 9.55, 5.70, 4.63],
        };
        let insert_bit = LineCost {
            direct_ns: [0.958, 1.44, 2.02, 4.72, 6.41, 9.28],
            grouped_ns: [3.45, 11.7, 11.0, 7.58, 3.57],
        };
        Self { lookup, insert, insert_bit, bulk_ns: 12.3, start_ns: 51_400.0 }
    }
}

fn cheaper(direct: f64, partitioned: f64) -> Strategy {
    if partitioned < direct { Strategy::Partitioned } else { Strategy::Direct }
}

/// The binary logarithm of the number of pieces that lookups in a table of `bytes` bytes are grouped by.
pub(super) fn pieces_log2(bytes: usize) -> u32 {
    bytes.div_ceil(PIECE_BYTES).clamp(2, MOST_PIECES).next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The costs on one core of Cascade Lake, whose memory is slow.
    const FAR_MEMORY: CostModel = CostModel {
        lookup: LineCost {
            direct_ns: [1.94, 7.45, 8.95, 12.3, 18.4, 40.4],
            grouped_ns: [16.5, 15.2, 10.6, 8.05, 7.73],
        },
        insert: LineCost {
            direct_ns: [1.89, 6.97, 9.26, 11.9, 18.3, 31.0],
            grouped_ns: [15.8, 18.3, 12.6, 8.47, 7.78],
        },
        insert_bit: LineCost {
            direct_ns: [1.80, 3.73, 6.87, 12.1, 23.2, 42.6],
            grouped_ns: [15.8, 16.6, 12.9, 7.52, 5.81],
        },
        bulk_ns: 11.1,
        start_ns: 35_600.0,
    };

    #[test]
    fn costs_are_the_measured_values_and_are_interpolated_between_them() {
        let cost = CostModel::default().lookup;
        for (bytes, ns) in TABLE_BYTES.into_iter().zip(cost.direct_ns) {
            assert!((cost.direct_ns(bytes) - ns).abs() < 1e-9, "a table of {bytes} bytes");
        }
        for (accesses, ns) in ACCESSES_PER_LINE.into_iter().zip(cost.grouped_ns) {
            assert!((cost.grouped_ns(accesses) - ns).abs() < 1e-9, "{accesses} accesses per line");
        }
        assert_eq!(cost.direct_ns(0), cost.direct_ns[0]);
        assert_eq!(cost.direct_ns(usize::MAX), cost.direct_ns[TABLE_BYTES.len() - 1]);
        assert_eq!(cost.grouped_ns(0.0), cost.grouped_ns[0]);
        assert_eq!(cost.grouped_ns(f64::INFINITY), cost.grouped_ns[ACCESSES_PER_LINE.len() - 1]);
        // On the logarithmic scale, 2 GiB is halfway between 1 and 4 GiB, and 2 accesses are halfway between 1 and 4.
        let middle = (cost.direct_ns[4] + cost.direct_ns[5]) / 2.0;
        assert!((cost.direct_ns(2 << 30) - middle).abs() < 1e-9);
        let middle = (cost.grouped_ns[2] + cost.grouped_ns[3]) / 2.0;
        assert!((cost.grouped_ns(2.0) - middle).abs() < 1e-9);
    }

    #[test]
    fn large_tables_with_many_keys_are_partitioned_and_small_batches_are_not() {
        let cost = FAR_MEMORY;
        for threads in [1, 2, 64] {
            assert_eq!(
                cost.of_insert(100_000_000, 1 << 30, 1, threads, threads),
                Strategy::Partitioned
            );
            assert_eq!(cost.of_insert(100_000_000, 1 << 30, 7, threads, 1), Strategy::Partitioned);
            assert_eq!(cost.of_lookup(100_000_000, 1 << 30, threads), Strategy::Partitioned);
            assert_eq!(cost.of_insert(1000, 1 << 30, 1, threads, threads), Strategy::Direct);
            assert_eq!(cost.of_lookup(100_000, 128 << 10, threads), Strategy::Direct);
            assert!(!cost.is_worth_threads(1000, 1 << 20, threads));
        }
        assert_eq!(cost.of_bulk(100_000_000, 1), Strategy::Direct);
        assert_eq!(cost.of_bulk(100_000_000, 2), Strategy::Partitioned);
        assert_eq!(cost.of_bulk(1000, 2), Strategy::Direct);
        assert!(cost.is_worth_threads(10_000_000, 1 << 20, 2));
        // Two threads are predicted to be faster, but by less than the margin [`WORTH_THREADS`].
        let cost = CostModel::default();
        assert!(
            cost.direct_lookups(100_000, 150 << 10, 2) < cost.direct_lookups(100_000, 150 << 10, 1)
        );
        assert!(!cost.is_worth_threads(100_000, 150 << 10, 2));
        assert!(cost.is_worth_threads(200_000, 150 << 10, 2));
    }

    /// Slices are used for many keys per byte of the table, and not for few keys or by a single thread.
    #[test]
    fn slices_are_used_only_if_they_save_more_than_their_tables_cost() {
        let cost = CostModel::default();
        assert!(cost.is_worth_slices(1_000_000, 1 << 20, 1, 2));
        assert!(cost.is_worth_slices(3_000_000, 4 << 20, 1, 2));
        assert!(cost.is_worth_slices(300_000, 400 << 10, 7, 2));
        assert!(!cost.is_worth_slices(3_000_000, 4 << 20, 1, 1));
        assert!(!cost.is_worth_slices(10_000, 10 << 10, 1, 2));
        assert!(!cost.is_worth_slices(100_000, 4 << 20, 1, 2));
        assert!(!cost.is_worth_slices(usize::MAX, 4 << 20, 1, 1));
    }

    /// For sizes of 0 and of `usize::MAX`, the model returns a strategy and does not panic.
    #[test]
    fn extreme_sizes_have_a_strategy() {
        let cost = CostModel::default();
        for keys in [0, 1, usize::MAX] {
            for bytes in [0, 1, usize::MAX] {
                let lookup = cost.of_lookup(keys, bytes, 2);
                let insert = cost.of_insert(keys, bytes, 1, 2, 2);
                if keys == 0 {
                    assert_eq!([lookup, insert], [Strategy::Direct; 2], "no keys, {bytes} bytes");
                }
            }
        }
    }

    #[test]
    fn pieces_are_a_power_of_two_within_bounds() {
        assert_eq!(pieces_log2(0), 1);
        assert_eq!(pieces_log2(PIECE_BYTES * 5), 3);
        assert_eq!(pieces_log2(usize::MAX), MOST_PIECES.ilog2());
    }
}
