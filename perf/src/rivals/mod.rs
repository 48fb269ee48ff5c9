//! The crates that one would otherwise pick, and filters as they are taught. Each is reached from one
//! file of this folder and from nowhere else, and is measured in the form in which its own users call
//! it: none has a batched call, or none that is more than a loop.

mod atomic_cuckoo;
mod autoscale_cuckoo;
mod cuckoo;
mod cuckoofilter;
mod fastbloom;
mod parallel;
mod parquet;
mod qfilter;
mod sbbf_rs;
mod subms_cuckoo;
mod textbook_quotient;

pub(crate) use parallel::Parallel;

use crate::plan::Filling;
use crate::slots::Slots;
use crate::subject::Subject;
use crate::tree::boxed;
use anyhow::{Result, bail};
use parallel::{Sharded, Together};
use rayon::ThreadPool;
use std::fmt;
use std::sync::Arc;

/// A crate to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    /// `sbbf-rs-safe`: split-block filter, AVX2 at run time.
    SbbfRs,
    /// `fastbloom`: standard Bloom filter.
    Fastbloom,
    /// `parquet`: the split-block filter of Parquet files.
    Parquet,
    /// `qfilter`: rank-and-select quotient filter.
    Qfilter,
    /// `trommel-textbook`: quotient filter with three metadata bits per slot.
    TextbookQuotient,
    /// `subms-cuckoo-filter`: cuckoo filter of 8 bits.
    SubmsCuckoo,
    /// `cuckoofilter`: cuckoo filter of 8 bits.
    Cuckoofilter,
    /// `autoscale_cuckoo_filter`: cuckoo filter of any width, which grows.
    AutoscaleCuckoo,
    /// `atomic-cuckoo-filter`: cuckoo filter of 8 or 16 bits, of atomic words.
    AtomicCuckoo,
}

/// The size that a rival is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Keys that will be inserted.
    pub(crate) keys: usize,
    /// Whole bits per key, if the case is defined by them.
    pub(crate) bits_per_key: Option<usize>,
    /// The false-positive rate, if the case is defined by it.
    pub(crate) fpr: Option<f64>,
    /// Bytes of our filter in the same case.
    pub(crate) bytes: usize,
    /// Bits set per key by our filter in the same case.
    pub(crate) hash_count: Option<u32>,
}

impl Rival {
    /// The crates that a kind of ours is compared with; the fastest of them, where there are several.
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

    /// Whether its API has calls that take a hash; if not, its hashing is always inside the timing.
    pub(crate) fn takes_hashes(self) -> bool {
        self != Self::Parquet
    }

    /// Makes an empty filter of it, or as many as a tree has where the matrix has trees of it.
    pub(crate) fn create(self, size: &Size, is_tree: bool) -> Result<Box<dyn Subject>> {
        Ok(match self {
            Self::SbbfRs => boxed(is_tree, || sbbf_rs::SbbfRs::new(size))?,
            Self::Fastbloom => boxed(is_tree, || Ok(fastbloom::Fastbloom::new(size)))?,
            Self::Parquet => Box::new(parquet::Parquet::new(size)),
            Self::Qfilter => Box::new(qfilter::Qfilter::new(size)?),
            Self::TextbookQuotient
            | Self::SubmsCuckoo
            | Self::Cuckoofilter
            | Self::AutoscaleCuckoo
            | Self::AtomicCuckoo => bail!("{self} is measured by slots only"),
        })
    }

    /// Makes an empty filter of this crate with the slots of `filling`.
    pub(crate) fn create_slots(self, filling: &Filling) -> Result<Box<dyn Slots>> {
        Ok(match self {
            Self::Qfilter => Box::new(qfilter::Qfilter::with_slots(filling)?),
            Self::TextbookQuotient => textbook_quotient::create(filling)?,
            Self::SubmsCuckoo => subms_cuckoo::create(filling)?,
            Self::Cuckoofilter => cuckoofilter::create(filling)?,
            Self::AutoscaleCuckoo => autoscale_cuckoo::create(filling)?,
            Self::AtomicCuckoo => atomic_cuckoo::create(filling)?,
            other => bail!("{other} has no slots"),
        })
    }
}

/// A crate that is measured on several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParallelRival {
    /// `sbbf-rs-safe`, a filter for every thread.
    SbbfRs,
    /// `fastbloom`, its atomic filter for all threads; on one thread its plain one, which is faster.
    Fastbloom,
    /// `fastbloom`, its atomic filter on any number of threads.
    FastbloomAtomic,
    /// `qfilter`, a filter for every thread.
    Qfilter,
    /// `atomic-cuckoo-filter`, one for all threads.
    AtomicCuckoo,
}

impl ParallelRival {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 5] =
        [Self::SbbfRs, Self::Fastbloom, Self::FastbloomAtomic, Self::Qfilter, Self::AtomicCuckoo];

    /// Makes an empty filter, or one for every thread of the pool; none is for the thread of the caller.
    pub(crate) fn create(
        self,
        size: &Size,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Box<dyn Parallel>> {
        let part = |keys| {
            let bytes = (size.bytes as u128 * keys as u128 / size.keys.max(1) as u128) as usize;
            Size { keys, bytes, ..*size }
        };
        Ok(match (self, pool) {
            (Self::SbbfRs, pool) => {
                Box::new(Sharded::new(size.keys, pool, |keys| sbbf_rs::SbbfRs::new(&part(keys)))?)
            }
            (Self::Qfilter, pool) => {
                Box::new(Sharded::new(size.keys, pool, |keys| qfilter::Qfilter::new(&part(keys)))?)
            }
            (Self::Fastbloom, None) => {
                Box::new(Sharded::new(size.keys, None, |_| Ok(fastbloom::Fastbloom::new(size)))?)
            }
            (Self::Fastbloom | Self::FastbloomAtomic, pool) => {
                Box::new(Together { filter: fastbloom::Atomic::new(size), pool })
            }
            (Self::AtomicCuckoo, pool) => {
                Box::new(Together { filter: atomic_cuckoo::shared(size)?, pool })
            }
        })
    }

    /// The api column of its rows: a call per key, on shards, or on a filter that threads share.
    pub(crate) fn api(self, threads: usize) -> &'static str {
        match self {
            Self::FastbloomAtomic => "shared",
            _ if threads == 1 => "single",
            Self::SbbfRs | Self::Qfilter => "sharded",
            Self::Fastbloom | Self::AtomicCuckoo => "shared",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyStream;
    use crate::plan::Family;
    use trommel::{Bitmap, Full};

    /// Keys denied of those that a filter said it took, after it refused others.
    fn denied_after_refusals(rival: Rival, bits: u32) -> usize {
        let filling = Filling { family: Family::Cuckoo, slots: 4096, bits, load: 0 };
        let mut filter = rival.create_slots(&filling).unwrap();
        let (mut taken, mut refusals) = (Vec::new(), 0);
        for hash in KeyStream::new(3).hashes(0, 2 * filling.slots) {
            match filter.insert_single(&[hash]) {
                Ok(()) => taken.push(hash),
                Err(error) => {
                    assert!(error.is::<Full>(), "{rival}: {error}");
                    refusals += 1;
                }
            }
            if refusals == 64 {
                break;
            }
        }
        assert_eq!(refusals, 64, "{rival}");
        let mut answers = Bitmap::new(0);
        filter.answer_single(&taken, &mut answers);
        taken.len() - answers.count_ones()
    }

    #[test]
    fn a_refused_key_costs_another_one_in_cuckoofilter_alone() {
        // Each drops one fingerprint, which few of the keys left share.
        let lost = denied_after_refusals(Rival::Cuckoofilter, 8);
        assert!((1..=64).contains(&lost), "{lost}");
        assert_eq!(denied_after_refusals(Rival::SubmsCuckoo, 8), 0);
        for bits in [8, 16] {
            assert_eq!(denied_after_refusals(Rival::AutoscaleCuckoo, bits), 0);
            assert_eq!(denied_after_refusals(Rival::AtomicCuckoo, bits), 0);
        }
    }

    #[test]
    fn a_copy_holds_what_was_inserted_and_no_more() {
        let kept = KeyStream::new(4);
        for (rival, bits) in [
            (Rival::SubmsCuckoo, 8),
            (Rival::Cuckoofilter, 8),
            (Rival::AutoscaleCuckoo, 12),
            (Rival::AtomicCuckoo, 16),
        ] {
            let filling = Filling { family: Family::Cuckoo, slots: 4096, bits, load: 0 };
            let mut filter = rival.create_slots(&filling).unwrap();
            filter.insert_single(&kept.hashes(0, 2000)).unwrap();
            let copy = filter.copy_slots();
            filter.insert_single(&kept.hashes(2000, 1000)).unwrap();
            assert_eq!((copy.held(), filter.held()), (2000, 3000), "{rival}");
            assert_eq!(copy.count_single(&kept.hashes(0, 2000)), 2000, "{rival}");
            assert!(copy.count_single(&kept.hashes(2000, 1000)) < 100, "{rival}");
        }
    }
}
