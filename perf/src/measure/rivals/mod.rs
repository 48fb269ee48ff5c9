//! Competing crates, and the textbook quotient filter. Each crate is called from only one file of this folder, through
//! the calls that its own users make. No crate has a batched lookup or insert that is more than a loop over keys.

mod atomic_cuckoo;
mod autoscale_cuckoo;
mod cuckoo;
mod cuckoofilter;
mod fastbloom;
mod parallel;
#[cfg(feature = "parquet")]
mod parquet;
mod qfilter;
mod sbbf_rs;
mod subms_cuckoo;
mod textbook_quotient;

pub(crate) use parallel::Parallel;

use crate::measure::slots::Slots;
use crate::measure::subject::Subject;
use crate::measure::tree::boxed;
use crate::model::{Filling, ParallelRival, Rival};
use anyhow::{Result, bail};
use parallel::{Sharded, Together};
use rayon::ThreadPool;
use std::sync::Arc;

/// The requested size of a rival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// The number of keys that will be inserted.
    pub(crate) keys: usize,
    /// Bits per key, if the case is sized by them.
    pub(crate) bits_per_key: Option<usize>,
    /// The false-positive rate, if the case is sized by it.
    pub(crate) fpr: Option<f64>,
    /// The number of bytes of our filter in the same case.
    pub(crate) bytes: usize,
    /// Bits set per key by our filter in the same case.
    pub(crate) hash_count: Option<u32>,
}

/// Creates an empty filter of the rival's crate. If `is_tree` is true, creates a tree of filters, but only for crates
/// whose trees the matrix measures.
pub(crate) fn create(rival: Rival, size: &Size, is_tree: bool) -> Result<Box<dyn Subject>> {
    Ok(match rival {
        Rival::SbbfRs => boxed(is_tree, || sbbf_rs::SbbfRs::new(size))?,
        Rival::Fastbloom => boxed(is_tree, || Ok(fastbloom::Fastbloom::new(size)))?,
        #[cfg(feature = "parquet")]
        Rival::Parquet => Box::new(parquet::Parquet::new(size)),
        #[cfg(not(feature = "parquet"))]
        Rival::Parquet => bail!("the harness was compiled without its feature `parquet`"),
        Rival::Qfilter => Box::new(qfilter::Qfilter::new(size)?),
        Rival::TextbookQuotient
        | Rival::SubmsCuckoo
        | Rival::Cuckoofilter
        | Rival::AutoscaleCuckoo
        | Rival::AtomicCuckoo => bail!("{rival} is sized by slots except in the engine's groups"),
    })
}

/// Creates an empty filter of the rival's crate. `filling` gives the number and the width of its slots.
pub(crate) fn create_slots(rival: Rival, filling: &Filling) -> Result<Box<dyn Slots>> {
    Ok(match rival {
        Rival::Qfilter => Box::new(qfilter::Qfilter::with_slots(filling)?),
        Rival::TextbookQuotient => textbook_quotient::create(filling)?,
        Rival::SubmsCuckoo => subms_cuckoo::create(filling)?,
        Rival::Cuckoofilter => cuckoofilter::create(filling)?,
        Rival::AutoscaleCuckoo => autoscale_cuckoo::create(filling)?,
        Rival::AtomicCuckoo => atomic_cuckoo::create(filling)?,
        other => bail!("{other} has no slots"),
    })
}

/// Creates the empty filters of a rival for the threads of the pool: one filter that they share, or one per thread,
/// depending on the rival. Without a pool, there is one filter, which only the caller's thread uses.
pub(crate) fn create_parallel(
    rival: ParallelRival,
    size: &Size,
    pool: Option<Arc<ThreadPool>>,
) -> Result<Box<dyn Parallel>> {
    let part = |keys| {
        let bytes = (size.bytes as u128 * keys as u128 / size.keys.max(1) as u128) as usize;
        Size { keys, bytes, ..*size }
    };
    Ok(match (rival, pool) {
        (ParallelRival::SbbfRs, pool) => {
            Box::new(Sharded::new(size.keys, pool, |keys| sbbf_rs::SbbfRs::new(&part(keys)))?)
        }
        (ParallelRival::Qfilter, pool) => {
            Box::new(Sharded::new(size.keys, pool, |keys| qfilter::Qfilter::new(&part(keys)))?)
        }
        (ParallelRival::Fastbloom, None) => {
            Box::new(Sharded::new(size.keys, None, |_| Ok(fastbloom::Fastbloom::new(size)))?)
        }
        (ParallelRival::Fastbloom | ParallelRival::FastbloomAtomic, pool) => {
            Box::new(Together { filter: fastbloom::Atomic::new(size), pool })
        }
        (ParallelRival::AtomicCuckoo, pool) => {
            Box::new(Together { filter: atomic_cuckoo::shared(size)?, pool })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::keys::KeyStream;
    use crate::model::Family;
    use trommel::{Bitmap, Full};

    /// Inserts keys until 64 are refused. Returns the number of accepted keys that are no longer found.
    fn lost_after_refusals(rival: Rival, bits: u32) -> usize {
        let filling = Filling { family: Family::Cuckoo, slots: 4096, bits, load: 0 };
        let mut filter = create_slots(rival, &filling).unwrap();
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
        // Each of the 64 refusals drops one fingerprint, so at most 64 accepted keys are lost. Fewer are lost if a
        // dropped fingerprint belongs to a refused key, or if the filter holds an equal fingerprint of another key.
        let lost = lost_after_refusals(Rival::Cuckoofilter, 8);
        assert!((1..=64).contains(&lost), "{lost} keys were lost in 64 refusals");
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
            let mut filter = create_slots(rival, &filling).unwrap();
            filter.insert_single(&stream.hashes(0, 2000)).unwrap();
            let copy = filter.copy_slots();
            filter.insert_single(&stream.hashes(2000, 1000)).unwrap();
            assert_eq!((copy.held(), filter.held()), (2000, 3000), "{rival}");
            assert_eq!(copy.count_single(&stream.hashes(0, 2000)), 2000, "{rival}");
            assert!(copy.count_single(&stream.hashes(2000, 1000)) < 100, "{rival}");
        }
    }
}
