//! Filter blocks: filters that a storage engine builds for each block or file of data, and stores as bytes only.

use crate::kinds::types::*;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use trommel_base::block::{BlockSpec, BlockTable, NO_FILTER, Trailer};
use trommel_base::storage::collected;
use trommel_base::{Bitmap, FilterKind, FormatError, Hasher, Key, KeyHash, PolicyError, SpecError};
use trommel_simd::{Hint, Isa, prefetch};

/// Builds and probes *filter blocks*. A storage engine keeps one filter block for each block or file of data.
///
/// A filter block is a table and a trailer of one or two bytes. Unlike a frozen filter it has no header, no checksum
/// and no seed: the engine's own checksum guards it, and the engine stores the policy's [name](FilterPolicy::name)
/// beside it. A lookup reads the bytes in place, at any alignment, with O(1) checks and no allocation.
///
/// If an adversary chooses keys, give the policy a hasher with a secret key, [`Hasher::siphash13`]. A filter block does
/// not record with which secret key it was built, but the policy's name contains the [key check](Hasher::seed), a
/// number that depends on the secret key. So read a filter block only with a policy that has the name of the policy
/// that built it.
///
/// A policy is immutable and cheap to clone, so threads can share one or have a clone each.
///
/// ```
/// use trommel::{FilterKind, FilterPolicy};
///
/// let policy = FilterPolicy::builder(FilterKind::Bloom).bits_per_key(10.0).build()?;
/// let hashes = ["anvil", "forge", "tongs"].map(|key| policy.hash(key));
/// let block = policy.build(&hashes);
/// assert_eq!(block.len(), policy.encoded_len(3));
///
/// assert!(policy.may_match(&block, policy.hash("anvil")));
/// assert!(!policy.may_match(&block, policy.hash("bellows")));
/// // Bytes that are not a block of this policy exclude no key.
/// assert!(policy.may_match(b"", policy.hash("bellows")));
/// # Ok::<(), trommel::SpecError>(())
/// ```
///
/// # Which kind
///
/// | kind | size of the table | cache lines per lookup |
/// |---|---|---:|
/// | `Bloom` | `bits_per_key` for each key, rounded up to a byte | up to the number of bits that a key sets |
/// | `RegisterBloom` | the same, rounded up to a multiple of 8 bytes | 1 to 2 |
/// | `SplitBlockBloom` | the same, rounded up to a multiple of 32 bytes | 1 to 2 |
/// | `CacheLineBloom` | the same, rounded up to a multiple of 64 bytes | 1 to 2 |
/// | `Quotient` | remainders of 1 to 32 bits at up to 95 % load, and at least 192 bytes | 2 to 3 |
/// | `CacheLineQuotient` | remainders of 8 bits at up to 95 % load, and at least 192 bytes | 1 to 2 |
/// | `Cuckoo` | fingerprints of 8, 12, 16 or 32 bits at up to 95 % load | 1 to 2 |
///
/// A filter block can have any alignment, so a word, block or bucket of its table can lie in two cache lines. In two
/// cases, a lookup reads more cache lines than the last column says: if a bucket of a cuckoo filter lies in two cache
/// lines, and if, in a quotient kind, the fingerprints of one quotient go on in the next block of the table.
///
/// Kinds with slots (quotient and cuckoo) are for large filter blocks: a filter block of fewer than some hundred keys
/// can take more than `bits_per_key` bits for each key. In a larger filter block, bits that do not suffice for a wider
/// fingerprint stay unused. A counting filter has no block form: filter blocks are made only for lookups, and lookups
/// do not read counters.
#[derive(Clone)]
pub struct FilterPolicy {
    kind: FilterKind,
    hasher: Hasher,
    trailer: Trailer,
    spec: BlockSpec,
    name: String,
}

impl FilterPolicy {
    /// The version of the block form, which is part of every name.
    const VERSION: u32 = 1;

    /// Returns a builder for a policy of a kind. By default, the policy hashes by XXH3 with seed 0, and has 10 bits per
    /// key, which are too few for `CacheLineQuotient`.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy, SpecError};
    /// let policy = FilterPolicy::builder(FilterKind::SplitBlockBloom).bits_per_key(12.0).seed(7).build()?;
    /// assert_eq!(policy.name(), "trommel.1.split-block-bloom.xxh3.0000000000000007");
    ///
    /// let none = FilterPolicy::builder(FilterKind::CountingBloom).build();
    /// assert!(matches!(none, Err(SpecError::Option { .. })));
    /// # Ok::<(), SpecError>(())
    /// ```
    pub fn builder(kind: FilterKind) -> FilterPolicyBuilder {
        FilterPolicyBuilder { kind, bits_per_key: 10.0, hasher: Hasher::default(), isa: None }
    }

    /// The policy's name, which states everything that decides whether the policy can read a block: format version,
    /// kind, hash function, and seed (or [key check](Hasher::seed), if the function has a secret key).
    ///
    /// Bits per key are not part of the name, since each block stores the parameter that its lookups need: policies
    /// that differ only in bits per key read each other's blocks. The name is ASCII without a space or a NUL, at most
    /// 64 bytes long.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::Bloom).build()?;
    /// assert_eq!(policy.name(), "trommel.1.bloom.xxh3.0000000000000000");
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of filter.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::Cuckoo).build()?;
    /// assert_eq!(policy.kind(), FilterKind::Cuckoo);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// How keys are hashed.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy, Hasher};
    /// let policy = FilterPolicy::builder(FilterKind::Bloom).seed(7).build()?;
    /// assert_eq!(policy.hasher(), Hasher::xxh3(7));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn hasher(&self) -> Hasher {
        self.hasher
    }

    /// The hash of a key, for [`FilterPolicy::build`] and [`FilterPolicy::may_match`]. Policies with equal hashers use
    /// the same hash, so a key needs to be hashed only once for many blocks.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let bloom = FilterPolicy::builder(FilterKind::Bloom).build()?;
    /// let cuckoo = FilterPolicy::builder(FilterKind::Cuckoo).build()?;
    /// assert_eq!(bloom.hash("anvil"), cuckoo.hash("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn hash<K: Key + ?Sized>(&self, key: &K) -> KeyHash {
        self.hasher.hash(key)
    }

    /// The exact size in bytes of a block of `keys` keys, trailer included; `usize::MAX` for more keys than one block
    /// can hold. (For that many keys, [`FilterPolicy::build`] returns a block without a filter, which is one byte.)
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::Bloom).bits_per_key(10.0).build()?;
    /// assert_eq!(policy.encoded_len(18), 18 * 10 / 8 + 1 + 1); // 22.5 bytes rounded up, and the trailer
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn encoded_len(&self, keys: usize) -> usize {
        let table =
            each_block_kind!(self.kind, Table => Table::table_len(&self.spec, keys), else None);
        table.map_or(usize::MAX, |bytes| bytes + self.trailer.bytes())
    }

    /// Writes the block of the keys with these hashes to the first [`FilterPolicy::encoded_len`] bytes of a buffer, and
    /// returns that length. Runs on the caller's thread. Bloom kinds allocate nothing.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::Bloom).build()?;
    /// let hashes = [policy.hash("anvil")];
    /// let mut page = [0; 4096];
    /// let len = policy.build_into(&hashes, &mut page)?;
    /// assert!(policy.may_match(&page[..len], hashes[0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PolicyError`] if the buffer is too short, there are more keys than one block can hold, a filter with slots has
    /// no room for a key, or memory is refused.
    pub fn build_into(&self, hashes: &[KeyHash], buffer: &mut [u8]) -> Result<usize, PolicyError> {
        let too_many = PolicyError::TooManyKeys { keys: hashes.len() };
        let (got, need) = (buffer.len(), self.encoded_len(hashes.len()));
        if need == usize::MAX {
            return Err(too_many);
        }
        let block = buffer.get_mut(..need).ok_or(PolicyError::BufferTooShort { need, got })?;
        let table_len = need - self.trailer.bytes();
        each_block_kind!(
            self.kind,
            Table => Table::fill(&self.spec, hashes, &mut block[..table_len])?,
            else return Err(too_many)
        );
        self.trailer.write(self.spec.parameter, block);
        Ok(need)
    }

    /// Returns the block of the keys with these hashes. If [`FilterPolicy::build_into`] would fail, or the system
    /// refuses the memory, returns a block without a filter, of one byte, which reports every key as present. If even
    /// this byte cannot be allocated, returns an empty vector, for which lookups report every key as present too.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::Bloom).build()?;
    /// let hashes = ["anvil", "forge"].map(|key| policy.hash(key));
    /// let block = policy.build(&hashes);
    /// assert!(hashes.iter().all(|hash| policy.may_match(&block, *hash)));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn build(&self, hashes: &[KeyHash]) -> Vec<u8> {
        self.try_build(hashes).unwrap_or_else(|_| collected(1, [NO_FILTER]).unwrap_or_default())
    }

    fn try_build(&self, hashes: &[KeyHash]) -> Result<Vec<u8>, PolicyError> {
        let len = self.encoded_len(hashes.len());
        let mut block = Vec::new();
        block.try_reserve_exact(len).map_err(|_| PolicyError::OutOfMemory { bytes: len as u64 })?;
        block.resize(len, 0);
        self.build_into(hashes, &mut block)?;
        Ok(block)
    }

    /// Whether the key of this hash may be among the keys of a block.
    ///
    /// Returns true for bytes that are not a block of this policy: an empty slice, a block of another kind or hash
    /// function, or bytes with a length or parameter that [`FilterPolicy::build`] never makes. But a block does not
    /// contain the seed of its hashes: for a block that was built with another seed, or whose table is damaged, the
    /// answer can be a false negative. So compare the policy's [name](FilterPolicy::name) with the stored name, and
    /// keep a checksum over the block. Whatever the bytes are, this method does not panic, allocate or read outside the
    /// block.
    ///
    /// Cost: the cache lines of one lookup, and the last cache line of the block, without prefetching.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::SplitBlockBloom).build()?;
    /// let block = policy.build(&[policy.hash("anvil")]);
    /// assert!(!policy.may_match(&block, policy.hash("forge")));
    /// assert!(policy.may_match(&block[1..], policy.hash("forge"))); // no block of this policy
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn may_match(&self, block: &[u8], hash: KeyHash) -> bool {
        let Some((parameter, table)) = self.trailer.open(block) else { return true };
        each_block_kind!(
            self.kind,
            Table => Table::may_match(self.spec.isa, parameter, table, hash),
            else true
        )
    }

    /// Looks up one hash in each block of a list: bit `i` of `found` becomes the answer of [`FilterPolicy::may_match`]
    /// for `probes[i]`. So for a point read, one call looks the key up in all blocks that may hold it. `found` gets the
    /// length of `probes`. The call allocates only if the memory of `found` is too small for this length.
    ///
    /// Cost: the cache lines of each lookup, and the last cache line of each block. These lines are prefetched, so that
    /// the latencies of some sixteen blocks overlap.
    ///
    /// ```
    /// use trommel::{Bitmap, FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::SplitBlockBloom).build()?;
    /// let tables = [["anvil", "forge"], ["hammer", "tongs"], ["anvil", "bellows"]];
    /// let blocks = tables.map(|keys| policy.build(&keys.map(|key| policy.hash(key))));
    /// let hash = policy.hash("anvil");
    /// let probes: Vec<_> = blocks.iter().map(|block| (&block[..], hash)).collect();
    /// let mut found = Bitmap::new(0);
    /// policy.may_match_many(&probes, &mut found);
    /// assert_eq!(found.iter_ones().collect::<Vec<_>>(), [0, 2]);
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn may_match_many(&self, probes: &[(&[u8], KeyHash)], found: &mut Bitmap) {
        let fetch_trailer = |at: usize| {
            if let Some((block, _)) = probes.get(at) {
                prefetch(block.as_ptr_range().end.wrapping_sub(1), Hint::T0);
            }
        };
        let fetch_table = |at: usize| {
            if let Some((block, hash)) = probes.get(at)
                && let Some((parameter, table)) = self.trailer.open(block)
            {
                each_block_kind!(
                    self.kind,
                    Table => Table::prefetch(parameter, table, *hash),
                    else ()
                );
            }
        };
        (0..TABLES_AHEAD + TRAILERS_AHEAD).for_each(fetch_trailer);
        (0..TABLES_AHEAD).for_each(fetch_table);
        found.reset(probes.len());
        for (i, (block, hash)) in probes.iter().enumerate() {
            fetch_trailer(i + TABLES_AHEAD + TRAILERS_AHEAD);
            fetch_table(i + TABLES_AHEAD);
            if self.may_match(block, *hash) {
                found.set(i);
            }
        }
    }

    /// Checks trailer, parameter and length, the padding of a cuckoo table, and the structure of a quotient table. A
    /// block without a filter passes. A block has no checksum, so other damage is not found. Cost: one pass over a
    /// quotient table; constant time for the other kinds.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::SplitBlockBloom).build()?;
    /// let block = policy.build(&[policy.hash("anvil")]);
    /// assert!(policy.verify(&block).is_ok());
    /// assert!(policy.verify(&block[1..]).is_err());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if one of the checks fails, in which case no policy of this name can have built the block. An
    /// empty slice fails too, although [`FilterPolicy::build`] returns an empty vector if the system refuses all
    /// memory.
    pub fn verify(&self, block: &[u8]) -> Result<(), FormatError> {
        if block == [NO_FILTER] {
            return Ok(());
        }
        let Some((parameter, table)) = self.trailer.open(block) else {
            return Err(match block.last() {
                None => FormatError::Truncated { need: 1, got: 0 },
                Some(last) => FormatError::Field { name: "trailer", value: (*last).into() },
            });
        };
        each_block_kind!(self.kind, Table => Table::check(parameter, table), else Ok(()))
    }
}

/// While [`FilterPolicy::may_match_many`] looks up block `i`, it prefetches the table of block `i + TABLES_AHEAD`: a
/// core can have about sixteen loads of cache lines into L1 in flight.
const TABLES_AHEAD: usize = 16;
/// While [`FilterPolicy::may_match_many`] prefetches the table of block `i`, it also prefetches the cache line with the
/// trailer of block `i + TRAILERS_AHEAD`.
const TRAILERS_AHEAD: usize = 16;

impl fmt::Debug for FilterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterPolicy")
            .field("name", &self.name)
            .field("bits_per_key", &self.spec.bits_per_key)
            .field("isa", &self.spec.isa)
            .finish_non_exhaustive()
    }
}

/// Makes a [`FilterPolicy`]; see [`FilterPolicy::builder`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct FilterPolicyBuilder {
    kind: FilterKind,
    bits_per_key: f64,
    hasher: Hasher,
    isa: Option<Isa>,
}

impl FilterPolicyBuilder {
    /// Sets the table's bits per key, at most 64. The number must be at least 1 for Bloom kinds, 3.29 for `Quotient`,
    /// 10.78 for `CacheLineQuotient`, and 8.43 for `Cuckoo`. (The last three numbers are rounded up.)
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy, SpecError};
    /// let builder = FilterPolicy::builder(FilterKind::Bloom);
    /// assert_eq!(builder.bits_per_key(16.0).build()?.encoded_len(1_000), 2_001);
    /// let refused = builder.bits_per_key(65.0).build();
    /// assert!(matches!(refused, Err(SpecError::BitsPerKeyOutOfRange { .. })));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn bits_per_key(self, bits_per_key: f64) -> Self {
        Self { bits_per_key, ..self }
    }

    /// Sets the seed of the hash function, and so the seed in the policy's name. If the hasher has a secret key,
    /// derives a new secret key from the old secret key and the seed instead: see [`Hasher::with_seed`].
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy};
    /// let policy = FilterPolicy::builder(FilterKind::Bloom).seed(0x2A).build()?;
    /// assert_eq!(policy.name(), "trommel.1.bloom.xxh3.000000000000002a");
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn seed(self, seed: u64) -> Self {
        Self { hasher: self.hasher.with_seed(seed), ..self }
    }

    /// Sets the hash function, and its seed or secret key.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy, Hasher};
    /// let policy = FilterPolicy::builder(FilterKind::Bloom).hasher(Hasher::PARQUET).build()?;
    /// assert_eq!(policy.hash("anvil"), Hasher::PARQUET.hash("anvil"));
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn hasher(self, hasher: Hasher) -> Self {
        Self { hasher, ..self }
    }

    /// Sets the instruction set. The default is [`Isa::active`].
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy, Isa};
    /// let builder = FilterPolicy::builder(FilterKind::SplitBlockBloom);
    /// let (best, portable) = (builder.build()?, builder.isa(Isa::Portable).build()?);
    /// let hashes = [best.hash("anvil")];
    /// assert_eq!(best.build(&hashes), portable.build(&hashes)); // the same blocks
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    pub fn isa(self, isa: Isa) -> Self {
        Self { isa: Some(isa), ..self }
    }

    /// Makes the policy.
    ///
    /// ```
    /// use trommel::{FilterKind, FilterPolicy, SpecError};
    /// assert!(FilterPolicy::builder(FilterKind::Cuckoo).build().is_ok());
    /// let none = FilterPolicy::builder(FilterKind::CountingBloom).build();
    /// assert!(matches!(none, Err(SpecError::Option { option: "block form", .. })));
    /// ```
    ///
    /// # Errors
    /// [`SpecError`] if the kind has no block form or cannot have this number of bits per key, if the instruction set
    /// cannot be used, or if the system refuses the memory for the name.
    pub fn build(self) -> Result<FilterPolicy, SpecError> {
        let Self { kind, bits_per_key, hasher, isa } = self;
        let parameter = each_block_kind!(
            kind,
            Table => Table::parameter(bits_per_key)?,
            else return Err(SpecError::Option { kind, option: "block form" })
        );
        let isa = match isa {
            Some(isa) => isa.require()?,
            None => Isa::active()?,
        };
        Ok(FilterPolicy {
            kind,
            hasher,
            trailer: Trailer::of(kind, hasher.id()),
            spec: BlockSpec { bits_per_key, parameter, isa },
            name: name(kind, hasher)?,
        })
    }
}

/// The most bytes of a name.
const MOST_NAME_BYTES: usize = 64;

fn name(kind: FilterKind, hasher: Hasher) -> Result<String, SpecError> {
    let mut name = String::new();
    let refused = SpecError::OutOfMemory { bytes: MOST_NAME_BYTES as u64 };
    name.try_reserve_exact(MOST_NAME_BYTES).map_err(|_| refused)?;
    let (version, hash, seed) = (FilterPolicy::VERSION, hasher.id(), hasher.seed());
    // Writing to a string never fails. The string has room for the name, so writing allocates nothing.
    let _ = write!(name, "trommel.{version}.{kind}.{hash}.{seed:016x}");
    Ok(name)
}
