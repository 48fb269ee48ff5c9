//! Accumulators as bytes, for aggregates whose parts are on different machines.

use super::{AccumulateError, FilterAccumulator, Held, filter_of};
use crate::view::FilterView;
use alloc::vec::Vec;
use trommel_base::{FormatError, HashId, Hasher, KeyHash};

/// The first eight bytes of an accumulator that keeps hashes. An accumulator that has made its filter is stored as the
/// filter's frozen bytes.
const MAGIC: [u8; 8] = *b"TrmlHash";
const VERSION: u16 = 1;
/// The size of the header: magic, version, code of the hash function, four zero bytes, seed, number of hashes.
const HEADER_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = 8;
const HASH_BYTES: usize = size_of::<u64>();

impl FilterAccumulator {
    /// Returns the accumulator as bytes, for [`FilterAccumulator::merge_bytes`]. An accumulator that keeps hashes takes
    /// 40 bytes plus 8 bytes per hash. If the accumulator has made its filter, the bytes are the filter's frozen bytes,
    /// which [`FilterView::parse`] can read, or [`FilterView::parse_with_hasher`] if the hasher has a secret key.
    ///
    /// Ends the program if the system refuses the memory.
    ///
    /// ```
    /// use trommel::{FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// let mut part = FilterAccumulator::new(spec, 100)?;
    /// part.insert_hash(part.hasher().hash("anvil"))?;
    /// assert_eq!(part.to_bytes().len(), 48);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let hashes = match &self.held {
            Held::Hashes(hashes) => hashes,
            Held::Filter(filter) => return filter.to_bytes(),
        };
        let hasher = self.hasher();
        let mut bytes =
            Vec::with_capacity(HEADER_BYTES + hashes.len() * HASH_BYTES + CHECKSUM_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((hasher.id() as u16).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(hasher.seed().to_le_bytes());
        bytes.extend((hashes.len() as u64).to_le_bytes());
        for hash in hashes {
            bytes.extend(hash.raw().to_le_bytes());
        }
        let checksum = checksum(&bytes);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// Inserts the keys of another accumulator of the same spec, from the bytes that its
    /// [`to_bytes`](FilterAccumulator::to_bytes) returned. Also takes the bytes of a frozen filter that was built with
    /// this spec.
    ///
    /// ```
    /// use trommel::{Filter, FilterAccumulator, FilterKind, FilterSpec};
    /// let spec = FilterSpec::new(FilterKind::Bloom).keys(1_000);
    /// let mut part = FilterAccumulator::new(spec, 100)?;
    /// part.insert_hash(part.hasher().hash("anvil"))?;
    ///
    /// let mut whole = FilterAccumulator::new(spec, 100)?;
    /// whole.merge_bytes(&part.to_bytes())?;
    /// assert!(whole.finish()?.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`AccumulateError`] if the bytes are neither those of an accumulator nor those of a frozen filter; if the hash
    /// function, its seed or its secret key differs from this accumulator's; if the bytes are a frozen filter of
    /// another kind or geometry; if memory is refused; or if the filter cannot be made or has no room. The geometry of
    /// a cuckoo filter includes how often it has doubled. The bytes of an accumulator that still keeps hashes
    /// contain neither kind nor geometry, so merging them does not find that the two specs differ in kind or geometry.
    /// After an error, the accumulator has the same keys as before, plus those that the error reports as inserted.
    pub fn merge_bytes(&mut self, bytes: &[u8]) -> Result<(), AccumulateError> {
        if bytes.starts_with(&MAGIC) {
            let hashes = parse(bytes, self.hasher())?;
            return Ok(self.insert_batch(&hashes)?);
        }
        let hasher = self.hasher();
        let other = if hasher.id().is_keyed() {
            FilterView::parse_with_hasher(bytes, &hasher)?
        } else {
            FilterView::parse(bytes)?
        };
        match &mut self.held {
            Held::Filter(filter) => filter.merge_view(&other)?,
            Held::Hashes(hashes) => {
                let mut filter = filter_of(&self.spec, hashes)?;
                filter.merge_view(&other)?;
                self.held = Held::Filter(filter);
            }
        }
        Ok(())
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    Hasher::xxh3(0).hash_bytes(bytes).raw()
}

/// Checks the bytes of an accumulator and returns its hashes.
fn parse(bytes: &[u8], expected: Hasher) -> Result<Vec<KeyHash>, AccumulateError> {
    let got = bytes.len() as u64;
    let (header, rest) = bytes
        .split_at_checked(HEADER_BYTES)
        .ok_or(FormatError::Truncated { need: (HEADER_BYTES + CHECKSUM_BYTES) as u64, got })?;
    let u16_at = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let version = u16_at(8);
    if version != VERSION {
        return Err(FormatError::Version { found: version, supported: VERSION }.into());
    }
    let count = word(&header[24..32]);
    let need = count
        .checked_mul(HASH_BYTES as u64)
        .and_then(|bytes| bytes.checked_add((HEADER_BYTES + CHECKSUM_BYTES) as u64))
        .ok_or(FormatError::Field { name: "hashes", value: count })?;
    if need > got {
        return Err(FormatError::Truncated { need, got }.into());
    }
    if need < got {
        return Err(FormatError::TrailingBytes { need, got }.into());
    }
    let (hashes, stored) = rest.split_at(rest.len() - CHECKSUM_BYTES);
    let (stored, computed) = (word(stored), checksum(&bytes[..bytes.len() - CHECKSUM_BYTES]));
    if stored != computed {
        return Err(FormatError::PayloadChecksum { stored, computed }.into());
    }
    let reserved = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    if reserved != 0 {
        return Err(FormatError::Field { name: "reserved", value: reserved.into() }.into());
    }
    let code = u16_at(10);
    let id = HashId::from_code(code).ok_or(FormatError::UnknownHash { code })?;
    if (id, word(&header[16..24])) != (expected.id(), expected.seed()) {
        return Err(AccumulateError::Specs);
    }
    let mut parsed = Vec::new();
    parsed
        .try_reserve_exact(hashes.len() / HASH_BYTES)
        .map_err(|_| FormatError::OutOfMemory { bytes: hashes.len() as u64 })?;
    parsed.extend(hashes.chunks_exact(HASH_BYTES).map(|hash| KeyHash::from_raw(word(hash))));
    Ok(parsed)
}

/// Reads eight bytes as a little-endian number.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}
