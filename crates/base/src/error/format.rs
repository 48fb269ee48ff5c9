//! The error for bytes from which no filter can be read.

use crate::storage::OutOfMemory;
use crate::{FilterKind, HashId};

/// Why no filter could be read from bytes. A function that reads a filter allocates memory only after it has verified the header,
/// the lengths and the checksums. Functions for trusted bytes never verify the payload's checksum.
///
/// ```
/// use trommel::{BloomFilter, FormatError};
/// let bytes = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
/// let refused = BloomFilter::from_bytes(&bytes[..100]).unwrap_err();
/// assert_eq!(refused, FormatError::Truncated { need: 128, got: 100 });
/// # Ok::<(), trommel::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// There are fewer bytes than a header has, or than the header states.
    Truncated {
        /// Bytes needed.
        need: u64,
        /// Bytes given.
        got: u64,
    },
    /// There are more bytes than the header states.
    TrailingBytes {
        /// Bytes of the container.
        need: u64,
        /// Bytes given.
        got: u64,
    },
    /// The first eight bytes are not the magic number.
    Magic {
        /// The value of the eight bytes, little-endian.
        found: u64,
    },
    /// The bytes are in a version of the format that this library does not read.
    Version {
        /// The version found.
        found: u16,
        /// The version that this library reads.
        supported: u16,
    },
    /// The checksum of the header is wrong.
    HeaderChecksum {
        /// The checksum that the header stores.
        stored: u64,
        /// The checksum computed from the header.
        computed: u64,
    },
    /// The checksum of the payload is wrong.
    PayloadChecksum {
        /// The checksum that the header stores.
        stored: u64,
        /// The checksum computed from the payload.
        computed: u64,
    },
    /// The kind of filter is one that this library does not know. A later release might know it.
    UnknownKind {
        /// The code found.
        code: u16,
    },
    /// The hash function is one that this library does not know. A later release might know it.
    UnknownHash {
        /// The code found.
        code: u16,
    },
    /// The keys of the filter were hashed with a secret key, which the bytes do not contain. The functions
    /// `parse_with_hasher` and `from_bytes_with_hasher` take a hasher with the secret key.
    KeyRequired {
        /// The *key check*, a public number that tells secret keys apart: [`Hasher::seed`](crate::Hasher::seed) of a
        /// hasher with the secret key.
        key_check: u64,
    },
    /// The hasher that was given is not the one that hashed the filter's keys: its function, its seed or its secret key
    /// differs.
    WrongHasher {
        /// The function of the hasher that was given.
        given: HashId,
        /// The seed or the key check of the hasher that was given.
        given_seed: u64,
        /// The function that the bytes name.
        stored: HashId,
        /// The seed or the key check that the bytes contain.
        stored_seed: u64,
    },
    /// The filter has an option that this library does not know. A later release might know it.
    UnknownFlags {
        /// The flags found: one bit per option.
        flags: u64,
        /// The flags that this library knows in a filter of this kind.
        known: u64,
    },
    /// The kind of the filter is not the kind asked for.
    WrongKind {
        /// The kind asked for.
        expected: FilterKind,
        /// The kind found.
        found: FilterKind,
    },
    /// A field has a value that the library never writes. The checksum over this field is right nevertheless, or it was
    /// not verified.
    Field {
        /// The name of the field.
        name: &'static str,
        /// The value found.
        value: u64,
    },
    /// No sequence of inserts and removals makes this table. The checksum over the table is right nevertheless, or it
    /// was not verified.
    Structure {
        /// The part of the table that is impossible: `"runends"`, `"offset"` and the like.
        name: &'static str,
        /// The index of the block or bucket in which the impossible part was found, or the number of blocks or buckets
        /// if it was found after the last one.
        block: u64,
    },
    /// The system refused the memory for an owned copy.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
}

crate::error_messages! { FormatError {
    Self::Truncated { need, got } => "truncated: {need} bytes needed, got {got}";
    Self::TrailingBytes { need, got } => "trailing bytes: the container ends after {need} bytes, got {got}";
    Self::Magic { found } => "not a Trommel container: magic {found:#018x}";
    Self::Version { found, supported } => "version {found} of the format; this library reads version {supported}";
    Self::HeaderChecksum { stored, computed } => "header checksum {stored:#018x} stored, {computed:#018x} computed";
    Self::PayloadChecksum { stored, computed } => "payload checksum {stored:#018x} stored, {computed:#018x} computed";
    Self::UnknownKind { code } => "filter of kind {code}; this library reads the kinds 1 to {}",
        last_code(|code| FilterKind::from_code(code).is_some());
    Self::UnknownHash { code } => "keys hashed by function {code}; this library has the functions 1 to {}",
        last_code(|code| HashId::from_code(code).is_some());
    Self::UnknownFlags { flags, known } => "flags {flags:#x}; this library knows the flags {known:#x}";
    Self::KeyRequired { key_check } =>
        "the filter's keys were hashed with a secret key, which was not given; its key check is {key_check:#018x}";
    Self::WrongHasher { given, given_seed, stored, stored_seed } =>
        "the filter's keys were hashed by {stored} with {} {stored_seed:#018x}, \
         the hasher given is {given} with {} {given_seed:#018x}",
        seed_or_check(*stored), seed_or_check(*given);
    Self::WrongKind { expected, found } => "expected a {expected} filter, found a {found} filter";
    Self::Field { name, value } => "field {name} has the impossible value {value}";
    Self::Structure { name, block } => "no filter has such a table: impossible {name} of block {block}";
    Self::OutOfMemory { bytes } => "{}", OutOfMemory { bytes: *bytes };
}}

crate::error_from! { FormatError {
    OutOfMemory { bytes };
}}

/// The highest known code. Codes are numbered from 1 on, without gaps.
fn last_code(is_known: impl Fn(u16) -> bool) -> u16 {
    (1..u16::MAX).take_while(|code| is_known(*code)).last().unwrap_or(0)
}

/// The name of the number that a hasher with this function shows: its seed, or the check of its secret key.
fn seed_or_check(id: HashId) -> &'static str {
    if id.is_keyed() { "key check" } else { "seed" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn numbers_of_later_releases_are_named_beside_those_that_are_known() {
        let text = |error: FormatError| error.to_string();
        assert_eq!(
            text(FormatError::Version { found: 3, supported: 1 }),
            "version 3 of the format; this library reads version 1"
        );
        let last = FilterKind::ALL.last().map_or(0, |kind| *kind as u16);
        assert_eq!(FilterKind::ALL.len(), usize::from(last), "a code was left out");
        assert_eq!(
            text(FormatError::UnknownKind { code: 900 }),
            alloc::format!("filter of kind 900; this library reads the kinds 1 to {last}")
        );
        let unknown = text(FormatError::UnknownHash { code: 900 });
        let last = unknown
            .strip_prefix("keys hashed by function 900; this library has the functions 1 to ")
            .and_then(|last| last.parse().ok())
            .unwrap();
        assert!(HashId::from_code(last).is_some() && HashId::from_code(last + 1).is_none());
        assert_eq!(
            text(FormatError::UnknownFlags { flags: 5, known: 3 }),
            "flags 0x5; this library knows the flags 0x3"
        );
    }
}
