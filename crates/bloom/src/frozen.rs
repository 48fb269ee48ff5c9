//! Conversion of filters to bytes and back. docs/FORMAT.md describes the bytes.

use crate::filter::Bloom;
use crate::geometry::Geometry;
use crate::layout::{Layout, SplitBlock};
use trommel_base::container::{FrozenBytes, Header, Parsed};
use trommel_base::{FormatError, Hasher, Storage};
use trommel_simd::Isa;

impl<L: Layout, S: AsRef<[u8]>> Bloom<L, S> {
    fn header(&self) -> Header {
        Header {
            kind: L::KIND,
            hasher: self.hasher,
            len: self.len,
            parameters: [self.geometry.units, u64::from(self.geometry.hashes), 0, 0],
        }
    }

    /// Does nothing, since any bits are a valid table. In other kinds of filters, this method checks what was not
    /// checked when a trusted view was opened.
    ///
    /// ```
    /// use trommel::BloomFilter;
    /// let bytes = BloomFilter::with_capacity_and_fpr(100, 0.01)?.to_bytes();
    /// assert!(BloomFilter::parse_trusted(&bytes)?.check_structure().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Never. In other kinds of filters, this method can return an error.
    pub fn check_structure(&self) -> Result<(), FormatError> {
        Ok(())
    }

    trommel_base::filter_methods! {
        /// The frozen filter: header and table.
        ///
        /// Ends the program if the system refuses the memory for these bytes; [`write_to`](Self::write_to) needs no
        /// such memory.
        ///
        /// ```
        /// use trommel::{BloomFilter, Filter, Insert};
        /// let mut filter = BloomFilter::with_capacity_and_fpr(100, 0.01).unwrap();
        /// filter.insert("key").unwrap();
        /// let bytes = filter.to_bytes();
        ///
        /// let owned = BloomFilter::from_bytes(&bytes).unwrap();
        /// let view = BloomFilter::parse(&bytes).unwrap(); // no copy
        /// assert!(owned.contains("key") && view.contains("key"));
        /// ```
        to_bytes;

        /// The number of bytes that [`Bloom::to_bytes`] returns. Allocates nothing.
        ///
        /// ```
        /// use trommel::{BloomFilter, Filter};
        /// let filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
        /// assert_eq!(filter.encoded_len(), 128 + filter.memory_bytes()); // a header, and the table
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        encoded_len;

        /// Writes the frozen filter to `to`, without copying the table in memory.
        ///
        /// ```
        /// use trommel::BloomFilter;
        /// let filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
        /// let mut file = Vec::new();
        /// filter.write_to(&mut file)?;
        /// assert_eq!(file, filter.to_bytes());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// The writer's errors.
        write_to;
    }
}

impl<'a, L: Layout> Bloom<L, &'a [u8]> {
    trommel_base::filter_methods! {
        /// A zero-copy view of a frozen filter, at any alignment. Cost: one pass over the bytes, for the
        /// checksum; nothing is allocated.
        ///
        /// ```
        /// use trommel::{BloomFilter, CacheLineBloom, Filter, FormatError};
        /// let mut filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
        /// filter.add("anvil");
        /// let bytes = filter.to_bytes();
        /// assert!(BloomFilter::parse(&bytes)?.contains("anvil"));
        /// assert!(matches!(CacheLineBloom::parse(&bytes), Err(FormatError::WrongKind { .. })));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if the bytes are not exactly one frozen filter of this kind, or if its keys were hashed with
        /// a secret key: [`parse_with_hasher`](trommel_base::container::parse_with_hasher) reads such bytes.
        parse;

        /// Like [`Bloom::parse`], for bytes that were verified before: does not compute the checksum of the table.
        /// Still checks the table's length, which suffices, since any bits of the right length are a valid table. See
        /// [`container::parse_trusted`](trommel_base::container::parse_trusted).
        ///
        /// ```
        /// use trommel::{BloomFilter, Filter};
        /// let mut filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
        /// filter.add("anvil");
        /// let block = filter.to_bytes();
        /// assert!(BloomFilter::parse(&block).is_ok()); // once, when the block is read
        /// assert!(BloomFilter::parse_trusted(&block)?.contains("anvil")); // each time it is used
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if the header or the length is not valid for a frozen filter of this kind, or if its keys
        /// were hashed with a secret key.
        parse_trusted;
    }
}

impl<L: Layout, B: FrozenBytes> Bloom<L, B> {
    /// A view of a container that is parsed already.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, container};
    /// let bytes = BloomFilter::with_capacity_and_fpr(100, 0.01)?.to_bytes();
    /// let parsed = container::parse(&bytes)?;
    /// assert_eq!(parsed.header().len, 0);
    /// assert!(BloomFilter::from_container(parsed)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the container holds another kind of filter or invalid parameters.
    pub fn from_container(parsed: Parsed<B>) -> Result<Self, FormatError> {
        Self::from_header(&parsed.header(), parsed.payload())
    }

    pub(crate) fn from_header(header: &Header, table: B) -> Result<Self, FormatError> {
        if header.kind != L::KIND {
            return Err(FormatError::WrongKind { expected: L::KIND, found: header.kind });
        }
        let [units, hashes, rest @ ..] = header.parameters;
        if units == 0
            || units > L::MAX_UNITS
            || units.checked_mul(L::UNIT_BYTES as u64) != Some(table.as_ref().len() as u64)
        {
            return Err(FormatError::Field { name: "units", value: units });
        }
        let field = FormatError::Field { name: "hashes", value: hashes };
        let hashes = u32::try_from(hashes).map_err(|_| field)?;
        if !L::HASHES.contains(&hashes) {
            return Err(field);
        }
        if let Some(value) = rest.into_iter().find(|value| *value != 0) {
            return Err(FormatError::Field { name: "unused parameter", value });
        }
        let geometry = Geometry { units, hashes };
        Ok(Self::assemble(geometry, header.hasher, header.len, Isa::active_or_best(), table))
    }

    /// Copies the view into an owned filter.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter};
    /// let bytes = BloomFilter::with_capacity_and_fpr(100, 0.01)?.to_bytes();
    /// let mut filter = BloomFilter::parse(&bytes)?.to_owned_filter()?;
    /// filter.add("anvil"); // a view takes no keys
    /// assert!(filter.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the memory is refused.
    pub fn to_owned_filter(&self) -> Result<Bloom<L>, FormatError> {
        let table = Storage::copy_of(self.table.as_ref(), true)?;
        Ok(Bloom::assemble(self.geometry, self.hasher, self.len, self.isa(), table))
    }
}

impl<L: Layout> Bloom<L> {
    /// Reads an owned filter from frozen bytes. Everything is checked before memory is allocated.
    ///
    /// ```
    /// use trommel::{BloomFilter, FormatError};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// filter.add("anvil");
    /// assert_eq!(BloomFilter::from_bytes(&filter.to_bytes())?, filter);
    /// assert!(matches!(BloomFilter::from_bytes(b"anvil"), Err(FormatError::Truncated { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter of this kind, if its keys were hashed with a
    /// secret key, or if the memory is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        Bloom::<L, &[u8]>::parse(bytes)?.to_owned_filter()
    }
}

impl Bloom<SplitBlock> {
    /// Makes a filter that uses Parquet's hash from the bitset of a Parquet Bloom filter: the bytes after its header in
    /// the file. Parquet does not store the number of keys, so [`Filter::len`] is an estimate from the set bits.
    ///
    /// [`Filter::len`]: trommel_base::Filter::len
    ///
    /// ```
    /// use trommel::{Filter, Hasher, Insert, SplitBlockBloom};
    /// let mut ours =
    ///     SplitBlockBloom::builder().keys(100).fpr(0.01).hasher(Hasher::PARQUET).build().unwrap();
    /// ours.insert("value").unwrap();
    /// let read = SplitBlockBloom::from_parquet_bitset(ours.parquet_bitset()).unwrap();
    /// assert!(read.contains("value"));
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the length is 0, not a multiple of 32, or above 4 GiB, or if the memory is refused.
    pub fn from_parquet_bitset(bitset: &[u8]) -> Result<Self, FormatError> {
        let view = Bloom::<SplitBlock, &[u8]>::parse_parquet_bitset(bitset)?;
        let mut filter = view.to_owned_filter()?;
        filter.len = libm::round(filter.estimate_len()) as u64;
        Ok(filter)
    }
}

impl<B: FrozenBytes> Bloom<SplitBlock, B> {
    /// A zero-copy view of the bitset of a Parquet Bloom filter (the bytes after its header in the file), at any
    /// alignment. The view uses Parquet's hash. Cost: O(1); the bytes are not read. Parquet stores neither a checksum
    /// nor the number of keys: [`Filter::len`] of the view is 0, and [`Bloom::estimate_len`] estimates the number of
    /// keys from the set bits.
    ///
    /// [`Filter::len`]: trommel_base::Filter::len
    ///
    /// ```
    /// use trommel::{Filter, Hasher, SplitBlockBloom};
    /// let mut ours = SplitBlockBloom::builder().keys(100).hasher(Hasher::PARQUET).build()?;
    /// ours.add("value");
    /// let bitset = ours.parquet_bitset(); // in a file: a slice of its mapped bytes
    /// let view = SplitBlockBloom::parse_parquet_bitset(bitset)?;
    /// assert!(view.contains("value") && !view.contains("other"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the length is 0, not a multiple of 32, or above 4 GiB.
    pub fn parse_parquet_bitset(bitset: B) -> Result<Self, FormatError> {
        let got = bitset.as_ref().len() as u64;
        let units = got / SplitBlock::UNIT_BYTES as u64;
        if units == 0 || !got.is_multiple_of(SplitBlock::UNIT_BYTES as u64) {
            let need = (units + 1) * SplitBlock::UNIT_BYTES as u64;
            return Err(FormatError::Truncated { need, got });
        }
        if units > SplitBlock::MAX_UNITS {
            return Err(FormatError::Field { name: "units", value: units });
        }
        let geometry = Geometry { units, hashes: *SplitBlock::HASHES.start() };
        Ok(Self::assemble(geometry, Hasher::PARQUET, 0, Isa::active_or_best(), bitset))
    }
}

impl<S: AsRef<[u8]>> Bloom<SplitBlock, S> {
    /// The table as Parquet stores it: the bitset that follows the Bloom filter's header. Parquet readers find the keys
    /// if the filter was made with [`Hasher::PARQUET`], and if each key has the column's physical type. For example,
    /// the keys of a column of 8-bit integers must be `i32`.
    ///
    /// ```
    /// use trommel::{Hasher, SplitBlockBloom};
    /// let builder = SplitBlockBloom::builder().keys(100).hasher(Hasher::PARQUET);
    /// let bitset_len = builder.bits_per_key(12.0).build()?.parquet_bitset().len();
    /// assert_eq!(bitset_len, 160); // 150 bytes, rounded up to blocks of 32
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn parquet_bitset(&self) -> &[u8] {
        self.table.as_ref()
    }
}
