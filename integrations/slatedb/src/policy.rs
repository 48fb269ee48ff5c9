//! The filter policy that a program gives to a database.

use crate::builder::BlockBuilder;
use crate::encoding;
use crate::filter::{BlockFilter, CorruptFilter};
use crate::hashing::Hashing;
use slatedb::bytes::Bytes;
use slatedb::{Filter, FilterBuilder, PrefixExtractor};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trommel::{FilterKind, FilterPolicy, SpecError};

/// A [`slatedb::FilterPolicy`] that keeps a Trommel filter block for each table of at least `Settings::min_filter_keys`
/// rows.
///
/// Like [`slatedb::BloomFilterPolicy`], the policy adds whole keys to the filter unless
/// [`TrommelFilterPolicy::with_whole_key_filtering`] turns this off, and adds prefixes if the policy has an extractor.
/// Clones share the counter of corrupt blocks, so a program can give one clone to the database and read the counter
/// from another.
///
/// ```
/// use slatedb::FilterPolicy as _;
/// use trommel_slatedb::TrommelFilterPolicy;
///
/// let policy = TrommelFilterPolicy::with_bits_per_key(10.0)?;
/// assert_eq!(policy.name(), "trommel.1.bloom.xxh3.0000000000000000:slatedb.1");
/// # Ok::<(), trommel_slatedb::trommel::SpecError>(())
/// ```
#[derive(Clone)]
pub struct TrommelFilterPolicy {
    hashing: Arc<Hashing>,
    name: Arc<str>,
    corrupt_blocks: Arc<AtomicU64>,
}

impl TrommelFilterPolicy {
    /// The kind that [`TrommelFilterPolicy::with_bits_per_key`] uses. Among the kinds with faster lookups than
    /// SlateDB's own filter, this kind has the lowest false-positive rate for the same size: 0.82 % at 10 bits per key.
    /// Rejected: split-block, whose lookups take 0.5 to 0.7 times as long as lookups of this kind, but whose
    /// false-positive rate is 1.5 times as high (1.26 %); quotient, whose rate is 0.75 %, but whose lookups of absent
    /// keys are slower than in SlateDB's own filter. README.md has the measurements.
    pub const DEFAULT_KIND: FilterKind = FilterKind::Bloom;

    /// The version of the encoding of filters in tables. The policy's name contains this version.
    const VERSION: u32 = 1;

    /// Makes a policy of the kind [`TrommelFilterPolicy::DEFAULT_KIND`], with seed 0.
    ///
    /// ```
    /// use trommel_slatedb::TrommelFilterPolicy;
    /// assert!(TrommelFilterPolicy::with_bits_per_key(10.0).is_ok());
    /// assert!(TrommelFilterPolicy::with_bits_per_key(f64::NAN).is_err());
    /// ```
    ///
    /// # Errors
    /// [`SpecError::BitsPerKeyOutOfRange`] if the bits per key are not between 1 and 64, [`SpecError::Isa`] if the
    /// variable `TROMMEL_ISA` names an instruction set that cannot be used, and [`SpecError::OutOfMemory`] if the
    /// system refuses the memory for the policy's name.
    pub fn with_bits_per_key(bits_per_key: f64) -> Result<Self, SpecError> {
        FilterPolicy::builder(Self::DEFAULT_KIND).bits_per_key(bits_per_key).build().map(Self::new)
    }

    /// Makes a policy for filter blocks of any kind, hash, seed and instruction set.
    ///
    /// ```
    /// use slatedb::FilterPolicy as _;
    /// use trommel_slatedb::TrommelFilterPolicy;
    /// use trommel_slatedb::trommel::{FilterKind, FilterPolicy};
    ///
    /// let blocks = FilterPolicy::builder(FilterKind::CacheLineBloom).bits_per_key(12.0).seed(7).build()?;
    /// let policy = TrommelFilterPolicy::new(blocks);
    /// assert_eq!(policy.name(), "trommel.1.cache-line-bloom.xxh3.0000000000000007:slatedb.1");
    /// # Ok::<(), trommel_slatedb::trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn new(blocks: FilterPolicy) -> Self {
        Self::of(Hashing { blocks, whole_keys: true, extractor: None }, Arc::default())
    }

    fn of(hashing: Hashing, corrupt_blocks: Arc<AtomicU64>) -> Self {
        Self { name: name(&hashing).into(), hashing: Arc::new(hashing), corrupt_blocks }
    }

    /// Adds the prefixes of keys to the filter too, so that prefix scans skip tables.
    ///
    /// The policy's name ends with the extractor's name. SlateDB can store names of at most 65,535 bytes. If the
    /// policy's name is longer, SlateDB 0.18 panics when it writes a table with a filter.
    ///
    /// ```
    /// use slatedb::{FilterPolicy as _, PrefixExtractor, PrefixTarget};
    /// use std::sync::Arc;
    /// use trommel_slatedb::TrommelFilterPolicy;
    ///
    /// struct FourBytes;
    /// impl PrefixExtractor for FourBytes {
    ///     fn name(&self) -> &str {
    ///         "four-bytes"
    ///     }
    ///     fn prefix_len(&self, target: &PrefixTarget) -> Option<usize> {
    ///         let (PrefixTarget::Point(bytes) | PrefixTarget::Prefix(bytes)) = target;
    ///         (bytes.len() >= 4).then_some(4)
    ///     }
    /// }
    /// let policy = TrommelFilterPolicy::with_bits_per_key(10.0)?.with_prefix_extractor(Arc::new(FourBytes));
    /// assert_eq!(policy.name(), "trommel.1.bloom.xxh3.0000000000000000:slatedb.1:p=four-bytes");
    /// assert!(policy.supports_prefix_queries());
    /// # Ok::<(), trommel_slatedb::trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn with_prefix_extractor(self, extractor: Arc<dyn PrefixExtractor>) -> Self {
        let extractor = Some(extractor);
        Self::of(Hashing { extractor, ..Hashing::clone(&self.hashing) }, self.corrupt_blocks)
    }

    /// Sets whether whole keys are in the filter. Without whole keys, the filter is smaller, and a get looks up only
    /// the key's prefix. Without whole keys and without a prefix extractor, the filter excludes nothing.
    ///
    /// ```
    /// use slatedb::FilterPolicy as _;
    /// use trommel_slatedb::TrommelFilterPolicy;
    /// let policy = TrommelFilterPolicy::with_bits_per_key(10.0)?.with_whole_key_filtering(false);
    /// assert_eq!(policy.name(), "trommel.1.bloom.xxh3.0000000000000000:slatedb.1:wh=0");
    /// # Ok::<(), trommel_slatedb::trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn with_whole_key_filtering(self, whole_keys: bool) -> Self {
        Self::of(Hashing { whole_keys, ..Hashing::clone(&self.hashing) }, self.corrupt_blocks)
    }

    /// The filter blocks that this policy builds and reads.
    ///
    /// ```
    /// use trommel_slatedb::TrommelFilterPolicy;
    /// let policy = TrommelFilterPolicy::with_bits_per_key(10.0)?;
    /// assert_eq!(policy.blocks().kind(), TrommelFilterPolicy::DEFAULT_KIND);
    /// # Ok::<(), trommel_slatedb::trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn blocks(&self) -> &FilterPolicy {
        &self.hashing.blocks
    }

    /// How often this policy or a clone of it had to decode bytes that are not a filter of the policy. SlateDB reads
    /// a table with such bytes as if the table had no filter, so answers stay right. Bytes that are decoded repeatedly
    /// count each time.
    ///
    /// ```
    /// use slatedb::{FilterPolicy as _, FilterQuery};
    /// use trommel_slatedb::TrommelFilterPolicy;
    /// let policy = TrommelFilterPolicy::with_bits_per_key(10.0)?;
    /// let filter = policy.decode(b"no filter");
    /// assert!(filter.might_match(&FilterQuery::point("anvil".into())));
    /// assert_eq!(policy.corrupt_blocks(), 1);
    /// # Ok::<(), trommel_slatedb::trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn corrupt_blocks(&self) -> u64 {
        self.corrupt_blocks.load(Relaxed)
    }
}

impl slatedb::FilterPolicy for TrommelFilterPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(BlockBuilder::new(self.hashing.clone()))
    }

    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        if !encoding::is_valid(&self.hashing.blocks, data) {
            self.corrupt_blocks.fetch_add(1, Relaxed);
            return Arc::new(CorruptFilter);
        }
        Arc::new(BlockFilter::new(self.hashing.clone(), Bytes::copy_from_slice(data)))
    }

    fn estimate_size(&self, num_keys: usize) -> usize {
        encoding::encoded_len(&self.hashing.blocks, num_keys)
    }

    fn supports_prefix_queries(&self) -> bool {
        self.hashing.extractor.is_some()
    }
}

/// Returns the policy's name. It states everything that decides whether the policy can read a filter's bytes: kind,
/// hash function, seed (or [key check](trommel::Hasher::seed), if the function has a secret key), whether whole keys
/// are added, and the name of the extractor. The extractor's name comes last, so no text in it can be taken for another
/// part. Two policies have the same name only if they agree in all these parts. An extractor is represented by its name
/// alone, so extractors that find different prefixes must have different names.
fn name(hashing: &Hashing) -> String {
    let mut name = format!("{}:slatedb.{}", hashing.blocks.name(), TrommelFilterPolicy::VERSION);
    if !hashing.whole_keys {
        name.push_str(":wh=0");
    }
    if let Some(extractor) = &hashing.extractor {
        name.push_str(":p=");
        name.push_str(extractor.name());
    }
    name
}

impl fmt::Debug for TrommelFilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrommelFilterPolicy")
            .field("name", &self.name)
            .field("blocks", self.blocks())
            .field("corrupt_blocks", &self.corrupt_blocks())
            .finish_non_exhaustive()
    }
}
