//! The crates that one would otherwise pick, and filters as they are taught. Each is reached from one
//! file of this folder and from nowhere else, and is measured in the form in which its own users call
//! it: none has a batched call.

mod fastbloom;
mod parquet;
mod qfilter;
mod sbbf_rs;
mod textbook_quotient;

use crate::plan::Filling;
use crate::slots::Slots;
use crate::subject::Subject;
use anyhow::{Result, bail};
use std::fmt;

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
    /// `trommel-textbook`: quotient filter with three metadata bits a slot.
    TextbookQuotient,
}

/// The size that a rival is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Keys that will be inserted.
    pub(crate) keys: usize,
    /// Whole bits a key, if the case is defined by them.
    pub(crate) bits_per_key: Option<usize>,
    /// The false-positive rate, if the case is defined by it.
    pub(crate) fpr: Option<f64>,
    /// Bytes of our filter in the same case.
    pub(crate) bytes: usize,
    /// Bits set a key by our filter in the same case.
    pub(crate) hash_count: Option<u32>,
}

impl Rival {
    /// Whether its API has calls that take a hash; if not, its hashing is always inside the timing.
    pub(crate) fn takes_hashes(self) -> bool {
        self != Self::Parquet
    }

    /// Makes an empty filter of it.
    pub(crate) fn create(self, size: &Size) -> Result<Box<dyn Subject>> {
        Ok(match self {
            Self::SbbfRs => Box::new(sbbf_rs::SbbfRs::new(size)?),
            Self::Fastbloom => Box::new(fastbloom::Fastbloom::new(size)),
            Self::Parquet => Box::new(parquet::Parquet::new(size)),
            Self::Qfilter => Box::new(qfilter::Qfilter::new(size)?),
            Self::TextbookQuotient => bail!("{self} is measured by slots only"),
        })
    }

    /// Makes an empty filter of so many slots of it.
    pub(crate) fn create_slots(self, filling: &Filling) -> Result<Box<dyn Slots>> {
        Ok(match self {
            Self::Qfilter => Box::new(qfilter::Qfilter::with_slots(filling)?),
            Self::TextbookQuotient => textbook_quotient::create(filling)?,
            other => bail!("{other} has no slots"),
        })
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
        })
    }
}
