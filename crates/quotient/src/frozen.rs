//! Converts filters to bytes and back. docs/FORMAT.md describes the bytes.

use crate::check::Extent;
use crate::filter::Quotient;
use crate::fingerprint::remainder_bits_for;
use crate::geometry::{Geometry, MAX_COPIES, MAX_FINGERPRINT_BITS, MAX_SLOTS};
use crate::kernel::Kernels;
use crate::layout::Layout;
use crate::sizing::fits;
use trommel_base::container::{FrozenBytes, Header, Parsed, Trust};
use trommel_base::{FormatError, Storage};
use trommel_simd::Isa;

impl<L: Layout, S: AsRef<[u8]>> Quotient<L, S> {
    fn header(&self) -> Header {
        let Geometry { slots, remainder_bits, copies, fingerprints, .. } = self.geometry;
        let parameters = [slots, remainder_bits.into(), fingerprints, copies.into()];
        Header { kind: L::KIND, hasher: self.hasher, len: self.len, parameters }
    }

    /// Checks whether inserts can make the table; [`parse_trusted`](Quotient::parse_trusted) checks this only in part.
    /// Does not verify the checksum. A filter that is not a trusted view was made by inserts or checked before, and
    /// passes at no cost.
    ///
    /// ```
    /// use trommel::{FormatError, QuotientFilter};
    /// let mut bytes = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
    /// let middle = bytes.len() / 2;
    /// bytes[middle] = 1; // a remainder in a slot that is free
    /// let view = QuotientFilter::parse_trusted(&bytes)?;
    /// assert!(matches!(view.check_structure(), Err(FormatError::Structure { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if inserts cannot make the table.
    pub fn check_structure(&self) -> Result<(), FormatError> {
        match self.checked {
            Extent::Whole => Ok(()),
            Extent::Metadata => {
                self.kernels.check(&self.geometry, self.table.as_ref(), Extent::Whole).map(|_| ())
            }
        }
    }

    trommel_base::filter_methods! {
        /// The frozen filter: header and table. The load at which the filter grows by itself is a setting of the owned
        /// filter; the bytes do not contain it.
        ///
        /// Ends the program if the system refuses the memory; [`write_to`](Self::write_to) does not need this memory.
        ///
        /// ```
        /// use trommel::{Insert, QuotientFilter};
        /// let mut filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// filter.insert("anvil").unwrap();
        /// assert_eq!(QuotientFilter::from_bytes(&filter.to_bytes())?, filter);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        to_bytes;

        /// The number of bytes that [`Quotient::to_bytes`] returns. Allocates nothing.
        ///
        /// ```
        /// use trommel::{Filter, QuotientFilter};
        /// let filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// assert_eq!(filter.encoded_len(), 128 + filter.memory_bytes()); // a header, and the table
        /// assert_eq!(filter.encoded_len(), filter.to_bytes().len());
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        encoded_len;

        /// Writes the frozen filter to `to`, without a copy of the table.
        ///
        /// ```
        /// use trommel::QuotientFilter;
        /// let filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
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

impl<'a, L: Layout> Quotient<L, &'a [u8]> {
    trommel_base::filter_methods! {
        /// A zero-copy view of a frozen filter, at any alignment. Nothing is allocated.
        ///
        /// Cost: one pass over the bytes for the checksum, and another pass to check that inserts of the table's
        /// fingerprints make this table. The second pass takes a quarter of a millisecond per million slots on a Zen 4
        /// core with AVX2. In most filters that were resized or built with `fingerprint_bits`, each fingerprint is also
        /// checked separately, which takes some 10 ns more per key.
        ///
        /// ```
        /// use trommel::{CacheLineQuotient, Filter, FormatError, Insert, QuotientFilter};
        /// let mut filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// filter.insert("anvil").unwrap();
        /// let bytes = filter.to_bytes();
        /// assert!(QuotientFilter::parse(&bytes)?.contains("anvil"));
        /// assert!(matches!(CacheLineQuotient::parse(&bytes), Err(FormatError::WrongKind { .. })));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if the bytes are not exactly one frozen filter of this kind.
        parse;

        /// A zero-copy view of bytes that were verified before. The table's checksum is not computed, and the
        /// remainders are not checked. The table's metadata (occupieds, runends and offsets, see [`Layout`]) and its
        /// padding are checked in full. So even on damaged bytes, a lookup stays within the table and ends. A third to
        /// a fifth of the table is checked in a [`QuotientFilter`](crate::QuotientFilter) with remainders of 4 to 8
        /// bits, and a fifth in a [`CacheLineQuotient`](crate::CacheLineQuotient). See
        /// [`container::parse_trusted`](trommel_base::container::parse_trusted).
        ///
        /// ```
        /// use trommel::{Filter, Insert, QuotientFilter};
        /// let mut filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// filter.insert("anvil").unwrap();
        /// let block = filter.to_bytes();
        /// assert!(QuotientFilter::parse(&block).is_ok()); // once, when the block is read
        /// assert!(QuotientFilter::parse_trusted(&block)?.contains("anvil")); // each time it is used
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if header, length, occupieds, runends, offsets or padding are not those of a frozen filter
        /// of this kind.
        parse_trusted;
    }
}

impl<L: Layout, B: FrozenBytes> Quotient<L, B> {
    /// A filter over the payload of a container that was parsed already.
    ///
    /// ```
    /// use trommel::{Filter, QuotientFilter, container};
    /// let bytes = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
    /// let parsed = container::parse(&bytes)?;
    /// assert_eq!(parsed.header().len, 0);
    /// assert!(QuotientFilter::from_container(parsed)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the container has another kind of filter, or bytes that this library would not have written.
    /// The remainders are not checked if [`container::parse_trusted`](trommel_base::container::parse_trusted) parsed
    /// the container.
    pub fn from_container(parsed: Parsed<B>) -> Result<Self, FormatError> {
        let (header, trust, table) = (parsed.header(), parsed.trust(), parsed.payload());
        if header.kind != L::KIND {
            return Err(FormatError::WrongKind { expected: L::KIND, found: header.kind });
        }
        let geometry = geometry_of::<L>(header.parameters)?;
        if geometry.table_bytes::<L>() != table.as_ref().len() as u64 {
            return Err(FormatError::Field { name: "slots", value: geometry.slots });
        }
        let checked = match trust {
            Trust::Verify => Extent::Whole,
            Trust::Trusted => Extent::Metadata,
        };
        let isa = Isa::active_or_best();
        let taken = Kernels::of::<L>(isa).check(&geometry, table.as_ref(), checked)?;
        if taken != header.len {
            return Err(FormatError::Field { name: "keys", value: header.len });
        }
        let mut filter = Self::assemble(geometry, header.hasher, isa, table);
        (filter.len, filter.checked) = (header.len, checked);
        Ok(filter)
    }

    /// An owned copy of the viewed filter. A trusted view is checked first with
    /// [`check_structure`](Self::check_structure).
    ///
    /// ```
    /// use trommel::{Filter, Insert, QuotientFilter};
    /// let bytes = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
    /// let mut filter = QuotientFilter::parse(&bytes)?.to_owned_filter()?;
    /// filter.insert("anvil")?; // a view cannot insert
    /// assert!(filter.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the check fails, or if the system refuses the memory.
    pub fn to_owned_filter(&self) -> Result<Quotient<L>, FormatError> {
        self.check_structure()?;
        let table = Storage::copy_of(self.table.as_ref(), true)?;
        let mut filter = Quotient::assemble(self.geometry, self.hasher, self.isa(), table);
        filter.len = self.len;
        Ok(filter)
    }
}

impl<L: Layout> Quotient<L> {
    /// An owned filter from frozen bytes. All bytes are checked before memory is allocated.
    ///
    /// ```
    /// use trommel::{Filter, FormatError, Insert, QuotientFilter};
    /// let mut filter = QuotientFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.insert("anvil")?;
    /// let bytes = filter.to_bytes();
    /// assert!(QuotientFilter::from_bytes(&bytes)?.contains("anvil"));
    /// assert!(matches!(QuotientFilter::from_bytes(&bytes[1..]), Err(FormatError::Magic { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter of this kind, or if the system refuses the
    /// memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        Quotient::<L, &[u8]>::parse(bytes)?.to_owned_filter()
    }
}

/// The geometry of a header's parameters. Refuses geometries that neither the builder nor a resize makes.
fn geometry_of<L: Layout>(parameters: [u64; 4]) -> Result<Geometry, FormatError> {
    let [slots, remainder_bits, fingerprints, copies] = parameters;
    let field = |name, value| FormatError::Field { name, value };
    if slots == 0 || slots > MAX_SLOTS || !slots.is_multiple_of(L::SLOTS_STEP) {
        return Err(field("slots", slots));
    }
    let bits = u32::try_from(remainder_bits)
        .ok()
        .filter(|bits| L::REMAINDER_BITS.contains(bits))
        .filter(|bits| fits(slots, *bits))
        .ok_or(field("remainder bits", remainder_bits))?;
    if copies != 1 && copies != u64::from(MAX_COPIES) {
        return Err(field("copies", copies));
    }
    // Either every pair of quotient and remainder is a fingerprint, as in a new or a doubled filter; or remainders have
    // the fewest bits that tell the fingerprints apart, and remainder 0 is not reserved.
    let natural = fingerprints == slots << bits;
    let rescaled = (1..=1 << MAX_FINGERPRINT_BITS).contains(&fingerprints)
        && remainder_bits_for(slots, fingerprints) == Some(bits)
        && !(L::RESERVES_ZERO && bits == *L::REMAINDER_BITS.end());
    // If the layout reserves remainder 0, a filter was made with remainders of the largest width, and now has its
    // original number of slots or at least twice that number.
    let first = fingerprints >> L::REMAINDER_BITS.end();
    let resized = !L::RESERVES_ZERO
        || first << L::REMAINDER_BITS.end() == fingerprints
            && first.is_multiple_of(L::SLOTS_STEP)
            && (slots == first || slots / 2 >= first);
    if !(natural || rescaled) || !resized {
        return Err(field("fingerprints", fingerprints));
    }
    let blocks = Geometry::blocks_for::<L>(slots);
    Ok(Geometry { slots, blocks, remainder_bits: bits, copies: copies as u32, fingerprints })
}
