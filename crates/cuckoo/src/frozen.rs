//! Converts filters to bytes and back. docs/FORMAT.md describes the bytes.

use crate::bucket::EmptyPair;
use crate::filter::CuckooFilter;
use crate::geometry::Geometry;
use crate::overflow::{ENTRY_BYTES, Overflow};
use crate::width::{Width, with_width};
use alloc::vec::Vec;
use trommel_base::container::{FrozenBytes, HEADER_BYTES, Header, Parsed, Trust};
use trommel_base::{FilterKind, FormatError, Storage};
use trommel_simd::Isa;

/// The flag for a multiset, in the last parameter of the header.
const MULTISET: u64 = 1;
/// The flag for [`EmptyPair::Unknown`], in the last parameter of the header.
const EMPTY_UNKNOWN: u64 = 2;
const KNOWN_FLAGS: u64 = MULTISET | EMPTY_UNKNOWN;

impl<S: AsRef<[u8]>> CuckooFilter<S> {
    fn header(&self) -> Header {
        let Geometry { buckets, fingerprint_bits, doublings } = self.geometry;
        let multiset = if self.multiset { MULTISET } else { 0 };
        let empty = if self.empty == EmptyPair::Unknown { EMPTY_UNKNOWN } else { 0 };
        let parameters = [buckets, fingerprint_bits.into(), doublings.into(), multiset | empty];
        Header { kind: FilterKind::Cuckoo, hasher: self.hasher, len: self.len, parameters }
    }

    /// Does the checks that `parse_trusted` left out, but does not compute the checksum of the table. Checks that every
    /// fingerprint of a doubled filter is in a bucket where it belongs, that the number of fingerprints is the one in
    /// the header, and that padding is zero. In a filter that was not doubled, any fingerprint can be in any bucket.
    ///
    /// ```
    /// use trommel::CuckooFilter;
    /// let mut bytes = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?.to_bytes();
    /// bytes[200] = 1; // a fingerprint more than the header states
    /// let view = CuckooFilter::parse_trusted(&bytes)?;
    /// assert!(view.check_structure().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if a check fails.
    pub fn check_structure(&self) -> Result<(), FormatError> {
        if self.is_checked {
            return Ok(());
        }
        with_width!(self.geometry, W => self.check::<W>())
    }

    /// The checks of [`Self::check_structure`]. The header must state the number of fingerprints in the buckets and in
    /// the overflow area together.
    fn check<W: Width>(&self) -> Result<(), FormatError> {
        let table = self.table_of::<W>();
        let mut held = self.overflow.len() as u64;
        for bucket in 0..self.geometry.buckets as u32 {
            let slots = table.slots(bucket);
            held += slots.iter().map(|slot| u64::from(*slot != 0)).sum::<u64>();
            if self.geometry.doublings > 0
                && slots.iter().any(|slot| *slot != 0 && !self.geometry.belongs(bucket, *slot))
            {
                return Err(FormatError::Structure { name: "fingerprint", block: bucket.into() });
            }
        }
        if held != self.len {
            return Err(FormatError::Field { name: "keys", value: self.len });
        }
        let padding = &self.table.as_ref()[self.geometry.buckets as usize * W::BUCKET_BYTES..];
        if padding.iter().any(|byte| *byte != 0) {
            let block = self.geometry.buckets;
            return Err(FormatError::Structure { name: "padding", block });
        }
        Ok(())
    }

    /// The frozen filter: header, table and overflow area. The bytes do not contain the load at which the filter grows
    /// by itself, which is a setting of the owned filter.
    ///
    /// Ends the program if the system refuses the memory; [`write_to`](Self::write_to) does not need this memory.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Insert};
    /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// filter.insert("anvil").unwrap();
    /// assert_eq!(CuckooFilter::from_bytes(&filter.to_bytes())?, filter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.header().to_bytes(&[self.table.as_ref(), self.overflow.to_bytes().as_ref()])
    }

    /// The number of bytes of [`CuckooFilter::to_bytes`]. Allocates nothing.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter};
    /// let filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// assert_eq!(filter.encoded_len(), 128 + filter.memory_bytes()); // a header, and the table
    /// assert_eq!(filter.encoded_len(), filter.to_bytes().len());
    /// # Ok::<(), trommel::SpecError>(())
    /// ```
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        HEADER_BYTES + self.table.as_ref().len() + self.overflow.len() * ENTRY_BYTES
    }

    /// Writes the frozen filter to a writer. The table is not copied first.
    ///
    /// ```
    /// use trommel::CuckooFilter;
    /// let filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// let mut file = Vec::new();
    /// filter.write_to(&mut file)?;
    /// assert_eq!(file, filter.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The writer's errors.
    #[cfg(feature = "std")]
    pub fn write_to(&self, to: impl std::io::Write) -> std::io::Result<()> {
        self.header().write_to(&[self.table.as_ref(), self.overflow.to_bytes().as_ref()], to)
    }
}

impl<'a> CuckooFilter<&'a [u8]> {
    trommel_base::filter_methods! {
        /// A zero-copy view of a frozen filter. The bytes may have any alignment. Only the overflow area, of at most 64
        /// fingerprints, is copied.
        ///
        /// Cost: one pass over the bytes for the checksum, and one pass that counts fingerprints.
        ///
        /// ```
        /// use trommel::{CuckooFilter, Filter, FormatError, Insert, QuotientFilter};
        /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
        /// filter.insert("anvil").unwrap();
        /// let bytes = filter.to_bytes();
        /// assert!(CuckooFilter::parse(&bytes)?.contains("anvil"));
        /// assert!(matches!(QuotientFilter::parse(&bytes), Err(FormatError::WrongKind { .. })));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if the bytes are not exactly one frozen cuckoo filter, or if the system refuses the memory
        /// for the copy of the overflow area.
        parse;

        /// Like [`parse`](Self::parse), for bytes that were verified before. It neither computes the checksum of the
        /// table nor checks the fingerprints of the table. The hash of the key and the header determine the two buckets
        /// that a lookup can read. So a lookup stays within the table, whose length is checked, whatever the table
        /// contains. See [`container::parse_trusted`](trommel_base::container::parse_trusted).
        ///
        /// ```
        /// use trommel::{CuckooFilter, Filter, Insert};
        /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
        /// filter.insert("anvil").unwrap();
        /// let block = filter.to_bytes();
        /// assert!(CuckooFilter::parse(&block).is_ok()); // once, when the block is read
        /// assert!(CuckooFilter::parse_trusted(&block)?.contains("anvil")); // each time it is used
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if header, length or overflow area are not those of a frozen cuckoo filter, or if the system
        /// refuses the memory for the copy of the overflow area.
        parse_trusted;
    }
}

impl<B: FrozenBytes> CuckooFilter<B> {
    /// The filter of a container that is parsed already.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, container};
    /// let bytes = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?.to_bytes();
    /// let parsed = container::parse(&bytes)?;
    /// assert_eq!(parsed.header().len, 0);
    /// assert!(CuckooFilter::from_container(parsed)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the container has another kind of filter, invalid parameters, an invalid overflow area or
    /// more keys than fit, if the system refuses the memory for the overflow area, or if
    /// [`check_structure`](Self::check_structure) fails. This last check is left out if the container was parsed as
    /// trusted.
    pub fn from_container(parsed: Parsed<B>) -> Result<Self, FormatError> {
        let (header, trust, payload) = (parsed.header(), parsed.trust(), parsed.payload());
        if header.kind != FilterKind::Cuckoo {
            return Err(FormatError::WrongKind {
                expected: FilterKind::Cuckoo,
                found: header.kind,
            });
        }
        let field = |name, value| FormatError::Field { name, value };
        let [buckets, fingerprint_bits, doublings, flags] = header.parameters;
        let narrow = |name, value| u32::try_from(value).map_err(|_| field(name, value));
        let geometry = Geometry {
            buckets,
            fingerprint_bits: narrow("fingerprint bits", fingerprint_bits)?,
            doublings: narrow("doublings", doublings)?,
        };
        if !geometry.is_possible() {
            return Err(field("buckets", buckets));
        }
        if flags & !KNOWN_FLAGS != 0 {
            return Err(FormatError::UnknownFlags { flags, known: KNOWN_FLAGS });
        }
        let split = usize::try_from(geometry.table_bytes()).ok();
        let (table, entries) = split
            .and_then(|bytes| payload.as_ref().split_at_checked(bytes))
            .ok_or(field("buckets", buckets))?;
        let overflow = Overflow::from_bytes(&geometry, entries)?
            .ok_or(FormatError::Structure { name: "overflow", block: buckets })?;
        if header.len > geometry.slots() + overflow.len() as u64 {
            return Err(field("keys", header.len));
        }
        let table = payload.slice(0..table.len());
        let mut filter = Self::assemble(geometry, header.hasher, Isa::active_or_best(), table);
        filter.multiset = flags & MULTISET != 0;
        filter.empty =
            if flags & EMPTY_UNKNOWN != 0 { EmptyPair::Unknown } else { EmptyPair::Clear };
        filter.overflow = overflow;
        filter.len = header.len;
        filter.is_checked = false;
        if trust == Trust::Verify {
            filter.check_structure()?;
            filter.is_checked = true;
        }
        Ok(filter)
    }

    /// An owned copy of the filter. A trusted view is checked first, by [`check_structure`](Self::check_structure).
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, Insert};
    /// let bytes = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?.to_bytes();
    /// let mut filter = CuckooFilter::parse(&bytes)?.to_owned_filter()?;
    /// filter.insert("anvil")?; // a view takes no keys
    /// assert!(filter.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the check fails or the memory is refused.
    pub fn to_owned_filter(&self) -> Result<CuckooFilter, FormatError> {
        self.check_structure()?;
        let table = Storage::copy_of(self.table.as_ref(), true)?;
        let filter = CuckooFilter::assemble(self.geometry, self.hasher, self.isa(), table);
        let (len, multiset, empty) = (self.len, self.multiset, self.empty);
        Ok(CuckooFilter { len, multiset, empty, overflow: self.overflow.try_clone()?, ..filter })
    }
}

impl CuckooFilter {
    /// An owned filter from frozen bytes. Everything is checked before the table is allocated.
    ///
    /// ```
    /// use trommel::{CuckooFilter, Filter, FormatError, Insert};
    /// let mut filter = CuckooFilter::with_capacity_and_fpr(1_000, 0.03)?;
    /// filter.insert("anvil")?;
    /// let bytes = filter.to_bytes();
    /// assert!(CuckooFilter::from_bytes(&bytes)?.contains("anvil"));
    /// assert!(matches!(CuckooFilter::from_bytes(&bytes[1..]), Err(FormatError::Magic { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen cuckoo filter, or if the memory is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        CuckooFilter::<&[u8]>::parse(bytes)?.to_owned_filter()
    }
}
