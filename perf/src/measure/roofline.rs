//! The roofline of a working set: the number of random 64-byte cache lines that one core reads from it per second.
//!
//! A lookup in a filter that exceeds the caches takes at least the time to read its cache lines. So a throughput is
//! also given as a fraction of the roofline, if the number of lines per operation is known:
//! `fraction = operations/s × lines per operation / lines/s`. Both speeds are measured in the same rounds, with working
//! sets whose sizes differ by at most 5 %. In the groups of cases that measure the engine, the roofline's working set
//! has the size of our filter, even for rivals of another size.
//!
//! An operation on a blocked filter reads one line. A lookup in a quotient filter with one block per line is counted as
//! one line too, although about a fifth of these lookups read a second line.
//! In a standard filter that sets `k` bits per key, a hit and an insert read `k` lines. A miss ends at its first zero
//! bit, so on average it reads `1 + fill + fill² + … + fill^(k−1)` lines, where `fill` is the share of bits that are
//! set.
//!
//! In the L1 and L2 caches, the roofline is the speed of scalar loads. A filter that gathers several keys per vector
//! can exceed this speed. Both the filter and the roofline are then bound by computation and not by memory.

use crate::base::clock::Stopwatch;
use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hint::black_box;
use std::time::Duration;
use trommel_base::Storage;
use trommel_simd::{Hint, prefetch};

const LINE_BYTES: usize = 64;

/// The number of random line numbers that are drawn in advance. The table of these numbers is small compared with the
/// L2 cache. Every pass over the table combines all its numbers with a new random number, so that the passes cover any
/// working set.
const DRAWN: usize = 1 << 14;

/// The number of lines that are read between the prefetch of a line and the read of this line. When the number was
/// chosen, 64 to 256 lines gave the same speed.
const AHEAD: usize = 128;

/// A way to read cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Access {
    /// Independent loads without prefetches. Only out-of-order execution overlaps these loads.
    NoPrefetch,
    /// Prefetches into all levels of cache.
    T0,
    /// Prefetches into the L2 cache and beyond.
    T1,
    /// Prefetches that bypass the outer levels of cache.
    Nta,
}

impl Access {
    pub(crate) const ALL: [Self; 4] = [Self::NoPrefetch, Self::T0, Self::T1, Self::Nta];

    fn hint(self) -> Option<Hint> {
        match self {
            Self::NoPrefetch => None,
            Self::T0 => Some(Hint::T0),
            Self::T1 => Some(Hint::T1),
            Self::Nta => Some(Hint::Nta),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPrefetch => "no prefetch",
            Self::T0 => "T0",
            Self::T1 => "T1",
            Self::Nta => "NTA",
        })
    }
}

/// The roofline at one size: million cache lines per second for each way of reading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) bytes: u64,
    pub(crate) no_prefetch: f64,
    pub(crate) t0: f64,
    pub(crate) t1: f64,
    pub(crate) nta: f64,
}

impl Point {
    /// Returns each way of reading and its speed.
    pub(crate) fn by_access(&self) -> [(Access, f64); 4] {
        [
            (Access::NoPrefetch, self.no_prefetch),
            (Access::T0, self.t0),
            (Access::T1, self.t1),
            (Access::Nta, self.nta),
        ]
    }

    /// Returns the size, and the nanoseconds per line with the fastest way of reading.
    pub(crate) fn line_ns(&self) -> (u64, f64) {
        let fastest = self.by_access().into_iter().map(|(_, speed)| speed).fold(0.0, f64::max);
        (self.bytes, 1e3 / fastest)
    }

    /// Returns the two fastest ways of reading, the best one first.
    pub(crate) fn two_best(&self) -> [Access; 2] {
        let mut ways = self.by_access();
        ways.sort_by(|a, b| b.1.total_cmp(&a.1));
        [ways[0].0, ways[1].0]
    }
}

/// Memory to read. It is allocated like the tables of our filters: in huge pages if it is large.
pub(crate) struct Arena {
    storage: Storage,
    drawn: Box<[u32; DRAWN]>,
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("bytes", &self.storage.len()).finish_non_exhaustive()
    }
}

impl Arena {
    /// Allocates `bytes` and writes every page.
    pub(crate) fn new(bytes: usize) -> Result<Self> {
        let bytes = bytes.next_multiple_of(LINE_BYTES).max(LINE_BYTES);
        let mut storage = Storage::zeroed(bytes, true).map_err(|refused| {
            anyhow!("cannot allocate {} bytes for the roofline", refused.bytes)
        })?;
        storage.fill(1);
        let mut state = 0x2545_F491_4F6C_DD1Du64;
        let mut drawn = Box::new([0; DRAWN]);
        drawn.fill_with(|| xorshift(&mut state) as u32);
        Ok(Self { storage, drawn })
    }

    /// Reads `lines_read` random cache lines of the first `bytes` bytes. The number of lines is rounded up to whole
    /// passes of [`DRAWN`] lines. Returns the number of lines that were read. `shift` is the state of a generator of
    /// random numbers. Each pass takes one number from it, so that the passes read different lines.
    pub(crate) fn read_lines(
        &self,
        bytes: usize,
        access: Access,
        lines_read: usize,
        shift: &mut u64,
    ) -> u64 {
        let lines = (bytes.min(self.storage.len()) / LINE_BYTES).max(1);
        let passes = lines_read.div_ceil(DRAWN).max(1);
        for _ in 0..passes {
            let shift = xorshift(shift) as u32;
            let sum = match access.hint() {
                None => self.pass::<0>(lines, shift),
                Some(Hint::T0) => self.pass::<1>(lines, shift),
                Some(Hint::T1) => self.pass::<2>(lines, shift),
                Some(Hint::Nta) => self.pass::<3>(lines, shift),
            };
            black_box(sum);
        }
        (passes * DRAWN) as u64
    }

    /// Reads the lines of one pass. `HINT` is a constant, so that each way of reading is a loop without a branch.
    /// `HINT` is 0 if nothing is prefetched.
    #[inline(never)]
    fn pass<const HINT: u8>(&self, lines: usize, shift: u32) -> u64 {
        let base = self.storage.as_ptr();
        // Maps a random 32-bit number to a line as a blocked filter does, by a multiplication and `>> 32`.
        let offset =
            |drawn: u32| ((u64::from(drawn ^ shift) * lines as u64) >> 32) as usize * LINE_BYTES;
        let mut sum = 0u64;
        for (i, drawn) in self.drawn.iter().enumerate() {
            if HINT != 0 {
                let later = base.wrapping_add(offset(self.drawn[(i + AHEAD) % DRAWN]));
                match HINT {
                    1 => prefetch(later, Hint::T0),
                    2 => prefetch(later, Hint::T1),
                    _ => prefetch(later, Hint::Nta),
                }
            }
            sum = sum.wrapping_add(u64::from(self.storage[offset(*drawn)]));
        }
        sum
    }

    /// Measures the roofline at `bytes`: for each way of reading, the median speed of short interleaved repetitions.
    pub(crate) fn measure(&self, bytes: usize, repetition: Duration, rounds: usize) -> Point {
        let mut shift = 0x9E37_79B9_7F4A_7C15;
        let line_counts =
            Access::ALL.map(|access| self.calibrate(bytes, access, repetition, &mut shift));
        let mut speeds = [const { Vec::new() }; 4];
        for _ in 0..rounds {
            for (i, access) in Access::ALL.into_iter().enumerate() {
                let stopwatch = Stopwatch::start();
                let read = self.read_lines(bytes, access, line_counts[i], &mut shift);
                speeds[i].push(read as f64 / stopwatch.stop().busy.as_secs_f64() / 1e6);
            }
        }
        let [no_prefetch, t0, t1, nta] = speeds.map(|speeds| crate::base::stats::median(&speeds));
        Point { bytes: bytes as u64, no_prefetch, t0, t1, nta }
    }

    /// Returns the number of lines that can be read in about the time `repetition`.
    pub(crate) fn calibrate(
        &self,
        bytes: usize,
        access: Access,
        repetition: Duration,
        shift: &mut u64,
    ) -> usize {
        let lines = bytes / LINE_BYTES;
        // Brings a small working set into the cache first.
        self.read_lines(bytes, access, lines.min(1 << 18), shift);
        let stopwatch = Stopwatch::start();
        let read = self.read_lines(bytes, access, 1 << 17, shift);
        let seconds = stopwatch.stop().busy.as_secs_f64();
        (read as f64 * repetition.as_secs_f64() / seconds) as usize
    }
}

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 16
}

/// Returns the sizes of the curve: powers of two from 16 KiB to `largest`.
pub(crate) fn curve_sizes(largest: usize) -> Vec<usize> {
    (14..usize::BITS - 1).map(|power| 1 << power).take_while(|bytes| *bytes <= largest).collect()
}

/// Measures the roofline at all sizes up to `largest` bytes. `progress` receives the share that is done.
pub(crate) fn curve(largest: usize, mut progress: impl FnMut(f64)) -> Result<Vec<Point>> {
    let arena = Arena::new(largest)?;
    let sizes = curve_sizes(largest);
    let count = sizes.len() as f64;
    let measured = sizes.into_iter().enumerate().map(|(i, bytes)| {
        progress(i as f64 / count);
        arena.measure(bytes, REPETITION, ROUNDS)
    });
    Ok(measured.collect())
}

/// The length and the number of the repetitions at each size of the curve.
const REPETITION: Duration = Duration::from_millis(3);
const ROUNDS: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_reading_reports_the_lines_it_read() {
        let arena = Arena::new(100_000).unwrap();
        let mut shift = 1;
        for access in Access::ALL {
            assert_eq!(
                arena.read_lines(100_000, access, DRAWN + 1, &mut shift),
                2 * DRAWN as u64,
                "{access}"
            );
        }
    }

    #[test]
    fn the_first_of_the_two_best_ways_is_the_fastest() {
        let point = Arena::new(1 << 16).unwrap().measure(1 << 16, Duration::from_micros(100), 3);
        let best = point
            .by_access()
            .into_iter()
            .find(|(access, _)| *access == point.two_best()[0])
            .unwrap()
            .1;
        assert!(point.by_access().iter().all(|(_, speed)| *speed > 0.0 && *speed <= best));
    }

    #[test]
    fn sizes_of_the_curve_end_at_the_largest() {
        let sizes = curve_sizes(1 << 20);
        assert_eq!((sizes[0], sizes[sizes.len() - 1], sizes.len()), (1 << 14, 1 << 20, 7));
    }
}
