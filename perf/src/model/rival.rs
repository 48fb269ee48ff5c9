//! The names of competing crates.

use super::Api;
use std::fmt;

/// A crate with which our filters are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    /// `sbbf-rs-safe`: split-block filter, which uses AVX2 if the processor has it.
    SbbfRs,
    /// `fastbloom`: standard Bloom filter.
    Fastbloom,
    /// `parquet`: the split-block filter of Parquet files.
    Parquet,
    /// `qfilter`: rank-and-select quotient filter.
    Qfilter,
    /// `trommel-textbook`: quotient filter with three metadata bits per slot.
    TextbookQuotient,
    /// `subms-cuckoo-filter`: cuckoo filter with fingerprints of 8 bits.
    SubmsCuckoo,
    /// `cuckoofilter`: cuckoo filter with fingerprints of 8 bits.
    Cuckoofilter,
    /// `autoscale_cuckoo_filter`: growing cuckoo filter, measured with fingerprints of 8, 12 and 16 bits.
    AutoscaleCuckoo,
    /// `atomic-cuckoo-filter`: cuckoo filter of atomic words, measured with fingerprints of 8 and 16 bits.
    AtomicCuckoo,
}

impl Rival {
    pub(crate) const ALL: [Self; 9] = [
        Self::SbbfRs,
        Self::Fastbloom,
        Self::Qfilter,
        Self::SubmsCuckoo,
        Self::Cuckoofilter,
        Self::AutoscaleCuckoo,
        Self::AtomicCuckoo,
        Self::Parquet,
        Self::TextbookQuotient,
    ];

    /// Returns the crates with which the tables and the report can compare a kind of ours. For each row, the module
    /// `analyse::rival` chooses one of them. In the cases of a user's file (`--cases`), only the first of these crates
    /// is measured. `parquet` and `trommel-textbook` are not in the lists: they are measured, but no ratio to their
    /// speeds is computed.
    pub(crate) fn of_kind(kind: &str) -> &'static [Self] {
        match kind {
            "bloom" | "counting-bloom" => &[Self::Fastbloom],
            "quotient" | "cache-line-quotient" => &[Self::Qfilter],
            "cuckoo" => {
                &[Self::SubmsCuckoo, Self::Cuckoofilter, Self::AutoscaleCuckoo, Self::AtomicCuckoo]
            }
            _ => &[Self::SbbfRs],
        }
    }

    /// Whether the crate is measured on hashes. If not, it is measured only in groups that hash keys inside the timed
    /// section.
    pub(crate) fn takes_hashes(self) -> bool {
        self != Self::Parquet
    }
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SbbfRs => "sbbf-rs-safe",
            Self::Fastbloom => "fastbloom",
            Self::Parquet => "parquet",
            Self::Qfilter => "qfilter",
            Self::TextbookQuotient => "trommel-textbook",
            Self::SubmsCuckoo => "subms-cuckoo-filter",
            Self::Cuckoofilter => "cuckoofilter",
            Self::AutoscaleCuckoo => "autoscale_cuckoo_filter",
            Self::AtomicCuckoo => "atomic-cuckoo-filter",
        })
    }
}

/// A crate that is measured on several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParallelRival {
    /// `sbbf-rs-safe`, one filter per thread.
    SbbfRs,
    /// `fastbloom`: one atomic filter for all threads; on one thread the plain filter, which is faster.
    Fastbloom,
    /// `fastbloom`: one atomic filter, on any number of threads.
    FastbloomAtomic,
    /// `qfilter`, one filter per thread.
    Qfilter,
    /// `atomic-cuckoo-filter`, one filter for all threads.
    AtomicCuckoo,
}

impl ParallelRival {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 5] =
        [Self::SbbfRs, Self::Fastbloom, Self::FastbloomAtomic, Self::Qfilter, Self::AtomicCuckoo];

    /// Returns how keys are passed to the rival on this number of threads: to one filter per thread, or to one filter
    /// that all threads share. On one thread, all rivals but [`Self::FastbloomAtomic`] have plain single calls.
    pub(crate) fn api(self, threads: usize) -> Api {
        match self {
            Self::FastbloomAtomic => Api::Shared,
            _ if threads == 1 => Api::Single,
            Self::SbbfRs | Self::Qfilter => Api::Sharded,
            Self::Fastbloom | Self::AtomicCuckoo => Api::Shared,
        }
    }
}

impl fmt::Display for ParallelRival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SbbfRs => Rival::SbbfRs,
            Self::Fastbloom | Self::FastbloomAtomic => Rival::Fastbloom,
            Self::Qfilter => Rival::Qfilter,
            Self::AtomicCuckoo => Rival::AtomicCuckoo,
        }
        .fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trommel::FilterKind;

    #[test]
    fn the_list_of_rivals_has_those_of_every_kind() {
        for kind in FilterKind::ALL {
            let mut rivals = Rival::of_kind(&kind.to_string()).iter();
            assert!(rivals.all(|rival| Rival::ALL.contains(rival)), "{kind}");
        }
    }
}
