//! The operations whose instructions are counted, for every kind, with portable code and with AVX2.

use crate::{empty, filled, hashes, verify};
use std::fmt;
use trommel::{AnyFilter, Bitmap, Filter, FilterKind, Insert, Isa, KeyHash};

/// The number of keys in the filter, and of the lookups or inserts that are counted. The number is small, since
/// Callgrind slows a program down by a factor of about fifty.
pub const KEYS: usize = 8192;

/// The instruction sets for which instructions are counted. Valgrind does not support AVX-512.
pub const ISAS: [Isa; 2] = [Isa::Portable, Isa::Avx2];

/// An operation whose instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// One batch of lookups, present and absent keys in alternation.
    ContainsBatch,
    /// The same lookups, with one call per hash.
    Contains,
    /// Inserts of all keys into an empty filter, in one batch.
    InsertBatch,
    /// The same inserts, with one call per key.
    Insert,
}

impl Op {
    /// All operations.
    pub const ALL: [Self; 4] =
        [Self::ContainsBatch, Self::Contains, Self::InsertBatch, Self::Insert];

    /// The operation's name: the first part of a bench's name, and the name of its function in
    /// `benches/instructions.rs`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContainsBatch => "contains_batch",
            Self::Contains => "contains",
            Self::InsertBatch => "insert_batch",
            Self::Insert => "insert",
        }
    }

    /// Makes the filter and the hashes for [`Op::run`]. Checks a filled filter of this kind first, by [`verify`].
    ///
    /// # Panics
    /// If the machine lacks the instruction set, or the check fails.
    #[must_use]
    pub fn prepare(self, kind: FilterKind, isa: Isa) -> Prepared {
        let (keys, absent) = (hashes(1, KEYS), hashes(2, KEYS));
        let full = filled(kind, isa, &keys);
        verify(&full, &keys, &absent);
        let found = Bitmap::new(KEYS);
        match self {
            Self::InsertBatch | Self::Insert => {
                Prepared { filter: empty(kind, isa, KEYS), hashes: keys, found, hits: 0 }
            }
            Self::ContainsBatch | Self::Contains => {
                let mixed = keys.iter().zip(&absent).enumerate();
                let mixed = mixed.map(|(i, (key, other))| if i % 2 == 0 { *key } else { *other });
                Prepared { filter: full, hashes: mixed.collect(), found, hits: 0 }
            }
        }
    }

    /// Runs the operation. The caller counts the instructions of this call.
    ///
    /// # Panics
    /// If the filter is full. The filter that [`Op::prepare`] makes is not full when all its keys are inserted once.
    #[inline(always)]
    pub fn run(self, on: &mut Prepared) {
        let Prepared { filter, hashes, found, hits } = on;
        match self {
            Self::ContainsBatch => filter.contains_batch(hashes, found),
            Self::Contains => {
                *hits = hashes.iter().filter(|hash| filter.contains_hash(**hash)).count();
            }
            Self::InsertBatch => assert!(filter.insert_batch(hashes).is_ok(), "the filter is full"),
            Self::Insert => {
                let all = hashes.iter().all(|hash| filter.insert_hash(*hash).is_ok());
                assert!(all, "the filter is full");
            }
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A filter, the hashes to look up or insert, and memory for the answers.
#[derive(Clone, Debug)]
pub struct Prepared {
    filter: AnyFilter,
    hashes: Vec<KeyHash>,
    found: Bitmap,
    hits: usize,
}

/// All cases that are counted on this machine, always in the same order.
pub fn all() -> impl Iterator<Item = (Op, FilterKind, Isa)> {
    let isas = || ISAS.into_iter().filter(|isa| isa.is_available());
    let cases = move |op, kind: FilterKind| isas().map(move |isa| (op, kind, isa));
    Op::ALL
        .into_iter()
        .flat_map(move |op| FilterKind::ALL.iter().flat_map(move |kind| cases(op, *kind)))
}

/// The name of a bench, for example `contains_batch/split-block-bloom`.
#[must_use]
pub fn bench_name(op: Op, kind: FilterKind) -> String {
    format!("{op}/{kind}")
}
