//! The frozen bytes of a filter: a header of two cache lines, then the payload.
//!
//! ```text
//! byte  size  field                              byte  size  field
//!    0     8  magic "TROMMEL\0"                    32    32  parameters p0..p3, u64 each
//!    8     2  version, 1                           64     8  payload length in bytes
//!   10     2  kind of filter                       72     8  XXH3-64 of the payload, seed 0
//!   12     2  hash function                        80    40  reserved, zero
//!   14     2  reserved, zero                      120     8  XXH3-64 of bytes 0..120, seed 0
//!   16     8  hash seed, or key check             128        payload
//!   24     8  number of keys, as `len` counts
//! ```
//! All fields are little-endian; docs/FORMAT.md gives each kind's parameters and payload. The header
//! is a multiple of 64 bytes long, so the payload is aligned to cache lines if the container is. No
//! reader requires this alignment.

use crate::hash::HashId;
use crate::{FilterKind, FormatError, Hasher};
use alloc::vec::Vec;
use core::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 128;
/// The first eight bytes of the header.
pub const MAGIC: [u8; 8] = *b"TROMMEL\0";
/// The version that this library writes, and the only version that it reads.
pub const VERSION: u16 = 1;
/// The number of parameters that the header has.
pub const PARAMETERS: usize = 4;

const PARAMETERS_AT: usize = 32;
const PAYLOAD_LEN_AT: usize = 64;
const PAYLOAD_CHECKSUM_AT: usize = 72;
const RESERVED_AT: usize = 80;
const HEADER_CHECKSUM_AT: usize = 120;

/// The fields of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind of filter.
    pub kind: FilterKind,
    /// How the filter's keys are hashed.
    pub hasher: Hasher,
    /// The number of keys, as the filter's `len` counts them.
    pub len: u64,
    /// The kind's parameters; those that the kind does not use are zero.
    pub parameters: [u64; PARAMETERS],
}

/// Frozen bytes that a view holds. Neither the bytes nor their number change as long as the view lives.
/// Kernels rely on this, so the trait is sealed.
pub trait FrozenBytes: AsRef<[u8]> + Clone + sealed::Sealed {
    /// A part of the bytes, without a copy.
    ///
    /// ```
    /// use trommel::container::FrozenBytes;
    /// let bytes: &[u8] = b"header payload";
    /// assert_eq!(FrozenBytes::slice(&bytes, 7..14), b"payload");
    /// ```
    ///
    /// # Panics
    /// If the range is not within the bytes.
    #[must_use]
    fn slice(&self, range: Range<usize>) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for &[u8] {}
    #[cfg(target_has_atomic = "ptr")]
    impl Sealed for crate::storage::SharedBytes {}
}

#[cfg(target_has_atomic = "ptr")]
impl FrozenBytes for crate::storage::SharedBytes {
    fn slice(&self, range: Range<usize>) -> Self {
        self.slice(range)
    }
}

impl FrozenBytes for &[u8] {
    fn slice(&self, range: Range<usize>) -> Self {
        &self[range]
    }
}

/// Whether a reader verifies frozen bytes or trusts their source. See [`parse_trusted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Every byte is checked.
    Verify,
    /// The checksum of the payload is not computed. Everything that keeps lookups within the bytes is checked; damage
    /// that only makes answers wrong is not detected.
    Trusted,
}

/// A container that was split into header and payload. Its header and length were verified. The payload's checksum was
/// verified too, unless the bytes are trusted. The filter must still check that the parameters fit the payload. Only
/// the functions of this module make a `Parsed`.
#[derive(Clone, Copy, Debug)]
pub struct Parsed<B> {
    header: Header,
    payload: B,
    trust: Trust,
}

impl<B: FrozenBytes> Parsed<B> {
    /// The header.
    ///
    /// ```
    /// use trommel::{BloomFilter, FilterKind, container};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// filter.add("anvil");
    /// let bytes = filter.to_bytes();
    /// let header = container::parse(&bytes)?.header();
    /// assert_eq!((header.kind, header.len), (FilterKind::Bloom, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// The payload. It can have any alignment.
    ///
    /// ```
    /// use trommel::{BloomFilter, container};
    /// let filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// let bytes = filter.to_bytes();
    /// assert_eq!(container::parse(&bytes)?.payload(), filter.table());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn payload(self) -> B {
        self.payload
    }

    /// Whether the payload's checksum was verified.
    ///
    /// ```
    /// use trommel::{BloomFilter, container::{self, Trust}};
    /// let bytes = BloomFilter::with_capacity_and_fpr(100, 0.01)?.to_bytes();
    /// assert_eq!(container::parse(&bytes)?.trust(), Trust::Verify);
    /// assert_eq!(container::parse_trusted(&bytes)?.trust(), Trust::Trusted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn trust(&self) -> Trust {
        self.trust
    }
}

impl Header {
    /// The 128 bytes of the header for `payload`, which is given as a list of pieces.
    ///
    /// ```
    /// use trommel::{FilterKind, Hasher, container::Header};
    /// let parameters = [1, 8, 0, 0];
    /// let header = Header { kind: FilterKind::Bloom, hasher: Hasher::xxh3(0), len: 0, parameters };
    /// let head = header.encode(&[&[0; 8]]);
    /// assert_eq!(head, header.to_bytes(&[&[0; 8]])[..128]);
    /// ```
    #[must_use]
    pub fn encode(&self, payload: &[&[u8]]) -> [u8; HEADER_BYTES] {
        let mut checksum = xxhash_rust::xxh3::Xxh3::new();
        payload.iter().for_each(|piece| checksum.update(piece));
        let payload_len: u64 = payload.iter().map(|piece| piece.len() as u64).sum();

        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(10, &(self.kind as u16).to_le_bytes());
        put(12, &(self.hasher.id() as u16).to_le_bytes());
        put(16, &self.hasher.seed().to_le_bytes());
        put(24, &self.len.to_le_bytes());
        for (i, parameter) in self.parameters.iter().enumerate() {
            put(PARAMETERS_AT + 8 * i, &parameter.to_le_bytes());
        }
        put(PAYLOAD_LEN_AT, &payload_len.to_le_bytes());
        put(PAYLOAD_CHECKSUM_AT, &checksum.digest().to_le_bytes());
        let header_checksum = xxh3_64(&bytes[..HEADER_CHECKSUM_AT]);
        bytes[HEADER_CHECKSUM_AT..].copy_from_slice(&header_checksum.to_le_bytes());
        bytes
    }

    /// Header and payload in one vector.
    ///
    /// Ends the program if the system refuses the memory; [`write_to`](Self::write_to) does not need this memory.
    ///
    /// ```
    /// use trommel::{FilterKind, Hasher, container::{self, Header}};
    /// let parameters = [1, 8, 0, 0];
    /// let header = Header { kind: FilterKind::Bloom, hasher: Hasher::xxh3(0), len: 0, parameters };
    /// let bytes = header.to_bytes(&[&[0; 4], &[0; 4]]);
    /// assert_eq!(container::parse(&bytes)?.header(), header);
    /// # Ok::<(), trommel::FormatError>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self, payload: &[&[u8]]) -> Vec<u8> {
        let payload_len: usize = payload.iter().map(|piece| piece.len()).sum();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload_len);
        bytes.extend_from_slice(&self.encode(payload));
        payload.iter().for_each(|piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// Writes header and payload without a copy of the payload.
    ///
    /// ```
    /// use trommel::{FilterKind, Hasher, container::Header};
    /// let parameters = [1, 8, 0, 0];
    /// let header = Header { kind: FilterKind::Bloom, hasher: Hasher::xxh3(0), len: 0, parameters };
    /// let mut file = Vec::new();
    /// header.write_to(&[&[0; 8]], &mut file)?;
    /// assert_eq!(file, header.to_bytes(&[&[0; 8]]));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The writer's errors.
    #[cfg(feature = "std")]
    pub fn write_to(&self, payload: &[&[u8]], mut to: impl std::io::Write) -> std::io::Result<()> {
        to.write_all(&self.encode(payload))?;
        payload.iter().try_for_each(|piece| to.write_all(piece))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut field = [0; 8];
    field.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(field)
}

/// Splits a container into header and payload, and checks everything that does not depend on the kind:
/// magic, version, both checksums, the exact length, reserved fields, and the codes of kind and hash.
///
/// Bytes of a filter whose keys were hashed with a secret key are refused: [`parse_with_hasher`] reads them.
///
/// Cost: one pass over the bytes. Allocates nothing.
///
/// ```
/// use trommel::{BloomFilter, FormatError, container};
/// let mut bytes = BloomFilter::builder().keys(100).seed(7).build()?.to_bytes();
/// assert_eq!(container::parse(&bytes).unwrap().header().hasher.seed(), 7);
/// *bytes.last_mut().unwrap() ^= 1;
/// assert!(matches!(container::parse(&bytes), Err(FormatError::PayloadChecksum { .. })));
/// # Ok::<(), trommel::SpecError>(())
/// ```
///
/// # Errors
/// [`FormatError`] for the first defect found.
pub fn parse(bytes: &[u8]) -> Result<Parsed<&[u8]>, FormatError> {
    parse_bytes(&bytes, Trust::Verify)
}

/// Does the same as [`parse`], but does not verify the checksum of the payload. Use it for bytes that this process, or
/// a storage engine with its own checksums, has verified already.
///
/// A filter that is made from the result is read-only. If the bytes are damaged after all, the filter can give any
/// answer, even a false negative. But it never panics or reads outside of the bytes, and every lookup ends. Making an
/// owned copy, or merging the filter into another one, first checks the filter's structure, but never the checksum.
///
/// Cost: one checksum of the header. Allocates nothing.
///
/// ```
/// use trommel::{FilterKind, FormatError, Hasher};
/// use trommel::container::{self, Header};
/// let parameters = [1, 8, 0, 0];
/// let header = Header { kind: FilterKind::Bloom, hasher: Hasher::xxh3(0), len: 0, parameters };
/// let mut bytes = header.to_bytes(&[&[0; 8]]);
/// bytes[130] = 1; // damages the payload
/// assert!(matches!(container::parse(&bytes), Err(FormatError::PayloadChecksum { .. })));
/// assert_eq!(container::parse_trusted(&bytes)?.header(), header);
/// # Ok::<(), FormatError>(())
/// ```
///
/// # Errors
/// [`FormatError`] for the first defect found in the header or the length.
pub fn parse_trusted(bytes: &[u8]) -> Result<Parsed<&[u8]>, FormatError> {
    parse_bytes(&bytes, Trust::Trusted)
}

/// Does the same as [`parse`] or [`parse_trusted`], for bytes in any type that implements [`FrozenBytes`].
///
/// ```
/// use trommel::BloomFilter;
/// use trommel::container::{self, SharedBytes, Trust};
/// let bytes = BloomFilter::builder().keys(100).seed(7).build()?.to_bytes();
/// let parsed = container::parse_bytes(&SharedBytes::new(bytes), Trust::Verify)?;
/// assert_eq!(parsed.header().hasher.seed(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`parse`] or [`parse_trusted`].
pub fn parse_bytes<B: FrozenBytes>(holder: &B, trust: Trust) -> Result<Parsed<B>, FormatError> {
    parse_hashed(holder, trust, None)
}

/// Does the same as [`parse_bytes`], for a filter whose keys were hashed by `hasher`. This is the only way to read a
/// filter whose keys were hashed with a secret key, which its bytes do not contain. A filter without a secret key can
/// be read in this way too. Bytes that name another hash function, seed or [key check](Hasher::seed) are refused.
///
/// To get a filter over the parsed bytes, pass the result to the `from_container` of the filter's type.
///
/// ```
/// use trommel::{BloomFilter, Filter, FormatError, Hasher};
/// use trommel::container::{self, Trust};
/// let hasher = Hasher::siphash13([7; 16]);
/// let mut filter = BloomFilter::builder().keys(100).hasher(hasher).build()?;
/// filter.add("anvil");
/// let bytes = filter.to_bytes();
/// let parsed = container::parse_with_hasher(&&bytes[..], Trust::Verify, &hasher)?;
/// assert!(BloomFilter::from_container(parsed)?.contains("anvil"));
///
/// let other = Hasher::siphash13([8; 16]);
/// let refused = container::parse_with_hasher(&&bytes[..], Trust::Verify, &other);
/// assert!(matches!(refused, Err(FormatError::WrongHasher { .. })));
/// assert!(matches!(container::parse(&bytes), Err(FormatError::KeyRequired { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`parse`] or [`parse_trusted`], and [`FormatError::WrongHasher`] if the function, the seed or the key check
/// differs.
pub fn parse_with_hasher<B: FrozenBytes>(
    holder: &B,
    trust: Trust,
    hasher: &Hasher,
) -> Result<Parsed<B>, FormatError> {
    parse_hashed(holder, trust, Some(hasher))
}

/// Parses a container. If no hasher is given, the function and the seed are those of the header.
fn parse_hashed<B: FrozenBytes>(
    holder: &B,
    trust: Trust,
    hasher: Option<&Hasher>,
) -> Result<Parsed<B>, FormatError> {
    let bytes = holder.as_ref();
    let got = bytes.len() as u64;
    let head = checked_head(bytes)?;
    let need = u64_at(head, PAYLOAD_LEN_AT).saturating_add(HEADER_BYTES as u64);
    if got < need {
        return Err(FormatError::Truncated { need, got });
    }
    if got > need {
        return Err(FormatError::TrailingBytes { need, got });
    }
    let header = parse_header(head, hasher)?;
    if trust == Trust::Verify {
        let stored = u64_at(head, PAYLOAD_CHECKSUM_AT);
        let computed = xxh3_64(&bytes[HEADER_BYTES..]);
        if stored != computed {
            return Err(FormatError::PayloadChecksum { stored, computed });
        }
    }
    let payload = holder.slice(HEADER_BYTES..bytes.len());
    Ok(Parsed { header, payload, trust })
}

/// A number that tells frozen filters apart: the header's checksum, which covers kind, hash, parameters, the number of
/// keys, and the checksum of the payload. `None` if there is no header of this version, or if the header is damaged.
///
/// Two frozen filters with different contents have the same identity with a probability of about 2^-64, unless one is
/// forged. So a cache can find parsed filters by their identity, and need not parse bytes whose identity is already in
/// the cache. If bytes are not parsed for this reason, damage in their payload goes unnoticed, but the cached filter is
/// undamaged if it was parsed with [`Trust::Verify`] and its own bytes have not changed since.
///
/// Cost: one checksum of 120 bytes, however large the filter is.
///
/// ```
/// use trommel::{FilterKind, Hasher};
/// use trommel::container::{self, Header};
/// let parameters = [1, 8, 0, 0];
/// let header = Header { kind: FilterKind::Bloom, hasher: Hasher::xxh3(0), len: 0, parameters };
/// let (one, other) = (header.to_bytes(&[&[0; 8]]), header.to_bytes(&[&[1; 8]]));
/// assert!(container::identity(&one).is_some());
/// assert_eq!(container::identity(&one), container::identity(&one.clone()));
/// assert_ne!(container::identity(&one), container::identity(&other));
/// assert_eq!(container::identity(b"no filter"), None);
/// ```
#[must_use]
pub fn identity(bytes: &[u8]) -> Option<u64> {
    checked_head(bytes).ok().map(|head| u64_at(head, HEADER_CHECKSUM_AT))
}

/// The header, if its magic, version and checksum are right.
fn checked_head(bytes: &[u8]) -> Result<&[u8], FormatError> {
    let Some((head, _)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(FormatError::Truncated { need: HEADER_BYTES as u64, got: bytes.len() as u64 });
    };
    if head[..8] != MAGIC {
        return Err(FormatError::Magic { found: u64_at(head, 0) });
    }
    let version = u16_at(head, 8);
    if version != VERSION {
        return Err(FormatError::Version { found: version, supported: VERSION });
    }
    let (stored, computed) =
        (u64_at(head, HEADER_CHECKSUM_AT), xxh3_64(&head[..HEADER_CHECKSUM_AT]));
    if stored != computed {
        return Err(FormatError::HeaderChecksum { stored, computed });
    }
    Ok(head)
}

fn parse_header(head: &[u8], hasher: Option<&Hasher>) -> Result<Header, FormatError> {
    let kind_code = u16_at(head, 10);
    let kind =
        FilterKind::from_code(kind_code).ok_or(FormatError::UnknownKind { code: kind_code })?;
    let hash_code = u16_at(head, 12);
    let hash = HashId::from_code(hash_code).ok_or(FormatError::UnknownHash { code: hash_code })?;
    let reserved = head[14..16].iter().chain(&head[RESERVED_AT..HEADER_CHECKSUM_AT]);
    if let Some(byte) = reserved.into_iter().find(|byte| **byte != 0) {
        return Err(FormatError::Field { name: "reserved", value: u64::from(*byte) });
    }
    let mut parameters = [0; PARAMETERS];
    for (i, parameter) in parameters.iter_mut().enumerate() {
        *parameter = u64_at(head, PARAMETERS_AT + 8 * i);
    }
    let hasher = hasher_of(hash, u64_at(head, 16), hasher)?;
    Ok(Header { kind, hasher, len: u64_at(head, 24), parameters })
}

/// The hasher for a header with this function and seed. Returns `given`, or an error if its function or seed differs.
/// If `given` is `None`, returns a new hasher, or an error if the function needs a secret key.
fn hasher_of(hash: HashId, seed: u64, given: Option<&Hasher>) -> Result<Hasher, FormatError> {
    match given {
        None => Hasher::new(hash, seed).ok_or(FormatError::KeyRequired { key_check: seed }),
        Some(given) if (given.id(), given.seed()) == (hash, seed) => Ok(*given),
        Some(given) => Err(FormatError::WrongHasher {
            given: given.id(),
            given_seed: given.seed(),
            stored: hash,
            stored_seed: seed,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn sample() -> (Header, Vec<u8>) {
        let header = Header {
            kind: FilterKind::SplitBlockBloom,
            hasher: Hasher::xxh3(0x0123_4567_89AB_CDEF),
            len: 77,
            parameters: [2, 0, 3, u64::MAX],
        };
        (header, (0..64u8).collect())
    }

    #[test]
    fn header_and_payload_come_back() {
        let (header, payload) = sample();
        let bytes = header.to_bytes(&[&payload[..10], &payload[10..]]);
        let parsed = parse(&bytes).unwrap();
        assert_eq!((parsed.header(), parsed.payload()), (header, &payload[..]));
        assert_eq!(bytes.len(), HEADER_BYTES + payload.len());
    }

    #[test]
    fn every_flipped_bit_every_truncation_and_an_extension_are_refused() {
        let (header, payload) = sample();
        let good = header.to_bytes(&[&payload]);
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&bytes).is_err(), "flipped bit {bit} is accepted");
            let in_header = bit / 8 < HEADER_BYTES;
            assert_eq!(identity(&bytes), if in_header { None } else { identity(&good) });
            assert_eq!(parse_trusted(&bytes).is_err(), in_header, "flipped bit {bit}");
        }
        for len in 0..good.len() {
            assert!(parse(&good[..len]).is_err(), "{len} bytes are accepted");
            assert!(parse_trusted(&good[..len]).is_err(), "{len} bytes are accepted");
        }
        let extended: Vec<u8> = good.iter().chain(&[1, 2, 3]).copied().collect();
        assert_eq!(
            identity(&extended),
            identity(&good),
            "the identity depends on more than the header"
        );
        let mut longer = good.clone();
        longer.push(0);
        assert!(parse_trusted(&longer).is_err());
        assert_eq!(
            parse(&longer).unwrap_err(),
            FormatError::TrailingBytes { need: good.len() as u64, got: good.len() as u64 + 1 }
        );
    }

    /// Forges fields and recomputes the header's checksum.
    #[test]
    fn impossible_fields_under_a_right_checksum_are_refused() {
        let (header, payload) = sample();
        let forged = |at: usize, value: &[u8]| {
            let mut bytes = header.to_bytes(&[&payload]);
            bytes[at..at + value.len()].copy_from_slice(value);
            let checksum = xxh3_64(&bytes[..HEADER_CHECKSUM_AT]);
            bytes[HEADER_CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
            parse(&bytes).map(|parsed| parsed.header()).unwrap_err()
        };
        assert_eq!(forged(10, &900u16.to_le_bytes()), FormatError::UnknownKind { code: 900 });
        assert_eq!(forged(12, &900u16.to_le_bytes()), FormatError::UnknownHash { code: 900 });
        assert_eq!(forged(14, &[1]), FormatError::Field { name: "reserved", value: 1 });
        assert_eq!(forged(119, &[5]), FormatError::Field { name: "reserved", value: 5 });
        let huge = u64::MAX;
        assert_eq!(
            forged(PAYLOAD_LEN_AT, &huge.to_le_bytes()),
            FormatError::Truncated { need: u64::MAX, got: 192 }
        );
        assert_eq!(forged(8, &[2, 0]), FormatError::Version { found: 2, supported: VERSION });
    }

    #[test]
    fn a_filter_of_a_secret_key_is_read_only_with_that_key() {
        let (header, payload) = sample();
        let hasher = Hasher::siphash13(*b"0123456789abcdef");
        let bytes = Header { hasher, ..header }.to_bytes(&[&payload]);
        let required = FormatError::KeyRequired { key_check: hasher.seed() };
        assert_eq!(parse(&bytes).unwrap_err(), required);
        assert_eq!(parse_trusted(&bytes).unwrap_err(), required);
        assert!(identity(&bytes).is_some());
        for trust in [Trust::Verify, Trust::Trusted] {
            let parsed = parse_with_hasher(&&bytes[..], trust, &hasher).unwrap();
            assert_eq!((parsed.header().hasher, parsed.trust()), (hasher, trust));
            for given in [
                hasher.with_seed(0),
                Hasher::siphash13([0; 16]),
                Hasher::default(),
                Hasher::xxh3(hasher.seed()),
            ] {
                let refused = parse_with_hasher(&&bytes[..], trust, &given).unwrap_err();
                let expected = FormatError::WrongHasher {
                    given: given.id(),
                    given_seed: given.seed(),
                    stored: HashId::SipHash13,
                    stored_seed: hasher.seed(),
                };
                assert_eq!(refused, expected);
            }
        }
        let mut damaged = bytes.clone();
        damaged[130] ^= 1;
        let refused = parse_with_hasher(&&damaged[..], Trust::Verify, &hasher);
        assert!(matches!(refused, Err(FormatError::PayloadChecksum { .. })));
    }

    /// Neither the 16 bytes of the secret key nor any of its four parts of 4 bytes is in the header.
    #[test]
    fn the_header_does_not_contain_the_key() {
        let (header, payload) = sample();
        let key = *b"0123456789abcdef";
        let bytes = Header { hasher: Hasher::siphash13(key), ..header }.to_bytes(&[&payload]);
        assert_eq!(u16_at(&bytes, 12), 3);
        for part in [&key[..], &key[..4], &key[4..8], &key[8..12], &key[12..]] {
            assert!(!bytes[..HEADER_BYTES].windows(part.len()).any(|window| window == part));
        }
    }

    #[test]
    fn a_hasher_that_is_not_secret_is_compared_too() {
        let (header, payload) = sample();
        let bytes = header.to_bytes(&[&payload]);
        let read = |given: Hasher| parse_with_hasher(&&bytes[..], Trust::Verify, &given);
        assert_eq!(read(header.hasher).unwrap().header(), header);
        for other in [header.hasher.with_seed(1), Hasher::xxh64(header.hasher.seed())] {
            assert!(matches!(read(other), Err(FormatError::WrongHasher { .. })));
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), magic: bool) {
            if magic && bytes.len() > 10 {
                bytes[..8].copy_from_slice(&MAGIC);
                bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
            }
            prop_assert!(parse(&bytes).is_err());
        }
    }

    #[test]
    fn a_container_may_have_an_empty_payload() {
        let (header, _) = sample();
        let bytes = header.to_bytes(&[]);
        assert_eq!(parse(&bytes).unwrap().payload(), &vec![0u8; 0][..]);
    }
}
