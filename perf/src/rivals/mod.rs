//! Competing crates, and textbook filters. Each is called from only one file of this folder, through the calls that its
//! own users make. None of them has a batched call that is more than a loop over keys.

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

use crate::model::{Api, Filling};
use crate::slots::Slots;
use crate::subject::Subject;
use crate::tree::boxed;
use anyhow::{Result, bail};
use parallel::{Sharded, Together};
use rayon::ThreadPool;
use std::fmt;
use std::sync::Arc;

/// A crate with which our filters are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    /// `sbbf-rs-safe`: split-block filter, which chooses AVX2 at run time.
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
    /// `autoscale_cuckoo_filter`: growing cuckoo filter with fingerprints of any width.
    AutoscaleCuckoo,
    /// `atomic-cuckoo-filter`: cuckoo filter of atomic words, with fingerprints of 8 or 16 bits.
    AtomicCuckoo,
}

/// The requested size of a rival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// The number of keys that will be inserted.
    pub(crate) keys: usize,
    /// Bits per key, if the case is sized by them.
    pub(crate) bits_per_key: Option<usize>,
    /// The false-positive rate, if the case is sized by it.
    pub(crate) fpr: Option<f64>,
    /// Bytes of our filter in the same case.
    pub(crate) bytes: usize,
    /// Bits set per key by our filter in the same case.
    pub(crate) hash_count: Option<u32>,
}

impl Rival {
    /// Returns the crates with which a kind of ours is compared. If there are several, the fastest one counts.
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

    /// Whether the crate has calls that take a hash. If not, every timed section includes its hashing.
    pub(crate) fn takes_hashes(self) -> bool {
        self != Self::Parquet
    }

    /// Creates an empty filter of this crate. With `is_tree`, creates a tree of filters if the matrix has trees of this
    /// crate.
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

    /// Creates an empty filter of this crate with the number and width of slots of `filling`.
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

    /// Creates an empty filter, or one for each thread of the pool. Without a pool, only the caller's thread uses the
    /// filter.
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

    /// Who passes keys to the rival's filter: one filter per thread, or one that threads share.
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
    use crate::model::Family;
    use trommel::{Bitmap, Full};

    /// Inserts keys until 64 are refused. Returns the number of accepted keys that are no longer found.
    fn lost_after_refusals(rival: Rival, bits: u32) -> usize {
        let filling = Filling { family: Family::Cuckoo, slots: 4096, bits, load: 0 };
        let mut filter = rival.create_slots(&filling).unwrap();
        let (mut accepted, mut refusals) = (Vec::new(), 0);
        for hash in KeyStream::new(3).hashes(0, 2 * filling.slots) {
            match filter.insert_single(&[hash]) {
                Ok(()) => accepted.push(hash),
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
        filter.answer_single(&accepted, &mut answers);
        accepted.len() - answers.count_ones()
    }

    #[test]
    fn only_cuckoofilter_loses_another_key_when_it_refuses_one() {
        // Each refusal drops one fingerprint, and few of the remaining keys share it.
        let lost = lost_after_refusals(Rival::Cuckoofilter, 8);
        assert!((1..=64).contains(&lost), "{lost}");
        assert_eq!(lost_after_refusals(Rival::SubmsCuckoo, 8), 0);
        for bits in [8, 16] {
            assert_eq!(lost_after_refusals(Rival::AutoscaleCuckoo, bits), 0);
            assert_eq!(lost_after_refusals(Rival::AtomicCuckoo, bits), 0);
        }
    }

    #[test]
    fn a_copy_is_independent_of_later_inserts() {
        let stream = KeyStream::new(4);
        for (rival, bits) in [
            (Rival::SubmsCuckoo, 8),
            (Rival::Cuckoofilter, 8),
            (Rival::AutoscaleCuckoo, 12),
            (Rival::AtomicCuckoo, 16),
        ] {
            let filling = Filling { family: Family::Cuckoo, slots: 4096, bits, load: 0 };
            let mut filter = rival.create_slots(&filling).unwrap();
            filter.insert_single(&stream.hashes(0, 2000)).unwrap();
            let copy = filter.copy_slots();
            filter.insert_single(&stream.hashes(2000, 1000)).unwrap();
            assert_eq!((copy.held(), filter.held()), (2000, 3000), "{rival}");
            assert_eq!(copy.count_single(&stream.hashes(0, 2000)), 2000, "{rival}");
            assert!(copy.count_single(&stream.hashes(2000, 1000)) < 100, "{rival}");
        }
    }
}
