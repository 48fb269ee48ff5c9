//! Batches of keys, in several forms.

use super::Progress;
use super::lines::LineBlock;
use crate::cli::KeyType;
use crate::failure::NotNumber;
use std::sync::Arc;
use trommel::engine::KeyBatch;
use trommel::{Hasher, KeyHash};

/// A batch of keys for a [`trommel::engine::Stream`].
pub(crate) enum Keys {
    Lines(LineBlock),
    Column(Column),
    /// Keys as text, and the numbers parsed from them. The numbers are hashed; `trommel query` prints the text.
    Numbers(Box<Keys>, Words),
    /// Values of a Parquet column: integers, or the bits of floating-point numbers.
    #[cfg(feature = "parquet")]
    Words {
        words: Words,
        input: usize,
        progress: Arc<Progress>,
    },
    /// Hashes from a [`Spool`](crate::spool::Spool).
    Hashes(Vec<KeyHash>),
}

/// Concatenated strings.
pub(crate) struct Column {
    pub(crate) bytes: Vec<u8>,
    /// The offset in `bytes` at which each string ends.
    pub(crate) ends: Vec<usize>,
    /// The line in which each string's record begins. Empty for Parquet, which has no lines.
    pub(crate) lines: Vec<u64>,
    pub(crate) input: usize,
    pub(crate) progress: Arc<Progress>,
}

/// Integers of one width.
pub(crate) enum Words {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Column {
    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }
}

impl Keys {
    /// Calls `f` with the bytes of each key, in order. Does nothing for `Words` and `Hashes`, which have no text.
    pub(crate) fn for_each(&self, f: impl FnMut(&[u8])) {
        match self {
            Self::Lines(block) => block.for_each(f),
            Self::Column(column) => column.keys().for_each(f),
            Self::Numbers(text, _) => text.for_each(f),
            Self::Hashes(_) => {}
            #[cfg(feature = "parquet")]
            Self::Words { .. } => {}
        }
    }
}

impl Words {
    fn hash_all(&self, hasher: &Hasher, hashes: &mut Vec<KeyHash>) {
        match self {
            Self::Narrow(words) => hasher.hash_batch(words, hashes),
            Self::Wide(words) => hasher.hash_batch(words, hashes),
        }
    }
}

impl KeyBatch for Keys {
    fn hash_all(&self, hasher: &Hasher, hashes: &mut Vec<KeyHash>) {
        match self {
            Self::Lines(block) => block.hash_all(hasher, hashes),
            Self::Column(column) => {
                hashes.clear();
                hashes.extend(column.keys().map(|key| hasher.hash_bytes(key)));
                column.progress.add_keys(column.input, hashes.len());
            }
            Self::Numbers(text, words) => {
                words.hash_all(hasher, hashes);
                text.count();
            }
            #[cfg(feature = "parquet")]
            Self::Words { words, input, progress } => {
                words.hash_all(hasher, hashes);
                progress.add_keys(*input, hashes.len());
            }
            Self::Hashes(computed) => computed.hash_all(hasher, hashes),
        }
    }
}

impl Keys {
    /// Adds the number of keys to the [`Progress`]. `hash_all` calls this for the text of [`Keys::Numbers`], because
    /// only the numbers are hashed, and their hashing does not count them.
    fn count(&self) {
        match self {
            Self::Lines(block) => block.count(),
            Self::Column(column) => {
                column.progress.add_keys(column.input, column.ends.len());
            }
            _ => {}
        }
    }
}

/// Parses a key as a decimal number of `key_type`. Returns the bits of the number in an unsigned integer. The bits of
/// an `i32` or `u32` are the low 32 bits; the high ones are zero. Fails for [`KeyType::Bytes`].
pub(crate) fn number(key: &[u8], key_type: KeyType) -> Result<u64, NotNumber> {
    fn parse<T: std::str::FromStr>(key: &[u8]) -> Option<T> {
        std::str::from_utf8(key).ok()?.parse().ok()
    }
    let (number, type_name) = match key_type {
        KeyType::I32 => (parse::<i32>(key).map(|n| u64::from(n.cast_unsigned())), "i32"),
        KeyType::I64 => (parse::<i64>(key).map(i64::cast_unsigned), "i64"),
        KeyType::U32 => (parse::<u32>(key).map(u64::from), "u32"),
        KeyType::U64 => (parse(key), "u64"),
        KeyType::Bytes => (None, "number"),
    };
    number.ok_or_else(|| {
        const MOST_SHOWN_BYTES: usize = 40;
        let shown = String::from_utf8_lossy(&key[..key.len().min(MOST_SHOWN_BYTES)]);
        NotNumber { key: shown.into_owned(), type_name }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_hash_as_the_integers_of_the_library() {
        let hasher = Hasher::default();
        let narrow = |key: &[u8], key_type| number(key, key_type).map(|n| hasher.hash(&(n as u32)));
        let wide = |key: &[u8], key_type| number(key, key_type).map(|n| hasher.hash(&n));
        assert_eq!(narrow(b"-1", KeyType::I32), Ok(hasher.hash(&-1i32)));
        assert_eq!(narrow(b"4294967295", KeyType::U32), Ok(hasher.hash(&u32::MAX)));
        assert_eq!(wide(b"-1", KeyType::I64), Ok(hasher.hash(&-1i64)));
        assert_eq!(wide(b"18446744073709551615", KeyType::U64), Ok(hasher.hash(&u64::MAX)));
    }

    #[test]
    fn text_that_is_not_a_number_of_the_type_is_refused() {
        for (key, key_type) in [
            (&b"2147483648"[..], KeyType::I32),
            (b"-1", KeyType::U32),
            (b"-1", KeyType::U64),
            (b"", KeyType::I64),
            (b"1 ", KeyType::I64),
            (b"1.0", KeyType::I64),
            (b"\xff", KeyType::I64),
        ] {
            assert!(number(key, key_type).is_err(), "{key:?}");
        }
        assert!(number(&[b'x'; 1000], KeyType::U64).unwrap_err().key.len() <= 40);
    }
}
