//! Hashes the keys of a batch of rows, inserts them into filters and looks them up.

use crate::error::ColumnError;
use crate::hash::hash_column;
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use trommel::{Bitmap, Filter, Full, Hasher, Insert, Key, KeyHash};

/// The number of rows for which [`combine`] makes pairs of hashes in one step. The pairs are few enough to stay in the
/// L1 cache.
const CHUNK_ROWS: usize = 512;

/// What a NULL means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nulls {
    /// NULL equals nothing, as in a join: a row with a NULL in any column has no key.
    #[default]
    NoKey,
    /// NULL equals NULL, as in `IS NOT DISTINCT FROM` and `GROUP BY`.
    Key,
}

/// Hashes the keys of rows. The memory for the hashes is reused for every batch.
///
/// ```
/// use arrow_array::{Array, Date32Array, StringArray};
/// use trommel::{Filter, Hasher, RegisterBloom};
/// use trommel_arrow::ColumnHasher;
///
/// let names = StringArray::from(vec!["anvil", "forge"]);
/// let days = Date32Array::from(vec![20_000, 20_001]);
/// let mut hasher = ColumnHasher::new(Hasher::default());
/// let keys = hasher.hash(&[&names, &days])?; // a key of two columns
/// assert_eq!(keys.len(), 2);
/// # Ok::<(), trommel_arrow::ColumnError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ColumnHasher {
    hasher: Hasher,
    nulls: Nulls,
    hashes: Vec<KeyHash>,
    /// The hashes of the column that is being combined with `hashes`.
    column_hashes: Vec<KeyHash>,
}

impl ColumnHasher {
    /// Makes a hasher for filters that use `hasher`. Rows with a NULL have no key, unless [`ColumnHasher::nulls`] is
    /// set to [`Nulls::Key`].
    #[must_use]
    pub fn new(hasher: Hasher) -> Self {
        Self { hasher, nulls: Nulls::default(), hashes: Vec::new(), column_hashes: Vec::new() }
    }

    /// Sets what a NULL means.
    #[must_use]
    pub fn nulls(mut self, nulls: Nulls) -> Self {
        self.nulls = nulls;
        self
    }

    /// Hashes the rows of `columns`. The key of row `i` consists of the `i`-th value of each column. With one
    /// column, the hash of a key is the hash of its value. With several columns, the hashes of the values are combined
    /// in the order of the columns.
    ///
    /// # Errors
    /// [`ColumnError`] if there is no column, the columns have different lengths, values of a column's type cannot be
    /// keys, or the offsets of a column of strings or binary values are invalid.
    pub fn hash(&mut self, columns: &[&dyn Array]) -> Result<Keys<'_>, ColumnError> {
        let (first, others) = columns.split_first().ok_or(ColumnError::NoColumns)?;
        let expected_rows = first.len();
        for (column, array) in columns.iter().enumerate() {
            if array.len() != expected_rows {
                return Err(ColumnError::Lengths { expected_rows, column, rows: array.len() });
            }
        }
        hash_column(&self.hasher, *first, &mut self.hashes)?;
        let mut nulls = self.take_nulls_of_first(*first);
        for column in others {
            hash_column(&self.hasher, *column, &mut self.column_hashes)?;
            let column_nulls = column.logical_nulls();
            match self.nulls {
                Nulls::NoKey => nulls = NullBuffer::union(nulls.as_ref(), column_nulls.as_ref()),
                Nulls::Key => {
                    hash_nulls(&self.hasher, column_nulls.as_ref(), &mut self.column_hashes);
                }
            }
            combine(&self.hasher, &mut self.hashes, &self.column_hashes);
        }
        Ok(Keys { hashes: &self.hashes, nulls })
    }

    /// With [`Nulls::NoKey`], returns the nulls of the first column. With [`Nulls::Key`], gives the null rows the hash
    /// that stands for NULL and returns `None`.
    fn take_nulls_of_first(&mut self, column: &dyn Array) -> Option<NullBuffer> {
        let nulls = column.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        match self.nulls {
            Nulls::NoKey => nulls,
            Nulls::Key => {
                hash_nulls(&self.hasher, nulls.as_ref(), &mut self.hashes);
                None
            }
        }
    }
}

/// Sets the hash of every null row to the hash that stands for NULL.
fn hash_nulls(hasher: &Hasher, nulls: Option<&NullBuffer>, hashes: &mut [KeyHash]) {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return };
    // These bytes are arbitrary. If a column holds these bytes as a value, the value has the same hash as NULL, which
    // can only cause a false positive.
    let null = hasher.hash_bytes(b"\0NULL of trommel-arrow");
    for (hash, is_valid) in hashes.iter_mut().zip(nulls) {
        if !is_valid {
            *hash = null;
        }
    }
}

/// Replaces each hash in `hashes` by the hash of a pair: the old hash, and the hash of the same row in `others`.
fn combine(hasher: &Hasher, hashes: &mut [KeyHash], others: &[KeyHash]) {
    let mut pairs = [0u128; CHUNK_ROWS];
    for (hashes, others) in hashes.chunks_mut(CHUNK_ROWS).zip(others.chunks(CHUNK_ROWS)) {
        for ((pair, hash), other) in pairs.iter_mut().zip(&*hashes).zip(others) {
            *pair = u128::from(hash.raw()) | u128::from(other.raw()) << 64;
        }
        u128::hash_slice_with(&pairs[..others.len()], hasher, hashes);
    }
}

/// The keys of a batch of rows.
#[derive(Clone, Debug)]
pub struct Keys<'a> {
    hashes: &'a [KeyHash],
    /// Marks the rows without a key. `None` means that all rows have a key.
    nulls: Option<NullBuffer>,
}

impl Keys<'_> {
    /// The number of rows, including rows without a key.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The hash of each row. A row without a key has an arbitrary hash.
    #[must_use]
    pub fn hashes(&self) -> &[KeyHash] {
        self.hashes
    }

    /// Returns a buffer that marks the rows without a key as null. `None` means that all rows have a key.
    #[must_use]
    pub fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    /// Calls `consume` once with the hashes of the rows that have a key, in order. Copies the hashes unless
    /// [`Keys::nulls`] is `None`.
    ///
    /// # Errors
    /// The error of `consume`.
    pub fn for_valid<E>(
        &self,
        mut consume: impl FnMut(&[KeyHash]) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.nulls {
            None => consume(self.hashes),
            Some(nulls) => {
                let hashes: Vec<_> = nulls.valid_indices().map(|row| self.hashes[row]).collect();
                consume(&hashes)
            }
        }
    }

    /// Inserts the keys.
    ///
    /// # Errors
    /// [`Full`] if the filter has no room for a key. The error contains the number of keys that were inserted.
    pub fn insert_into(&self, filter: &mut impl Insert) -> Result<(), Full> {
        self.for_valid(|hashes| filter.insert_batch(hashes))
    }

    /// Looks the keys up. The answer is false if the filter certainly lacks the key, true if the filter reports the key
    /// as present, and NULL if the row has no key. Used as a predicate, in which NULL counts as false, the answers
    /// select the rows that can have a partner in a join with the inserted keys.
    ///
    /// ```
    /// use arrow_array::{Array, StringArray};
    /// use trommel::{BloomFilter, Filter};
    /// use trommel_arrow::ColumnHasher;
    ///
    /// let mut filter = BloomFilter::with_capacity_and_fpr(100, 0.01)?;
    /// filter.add("anvil");
    /// let names = StringArray::from(vec![Some("anvil"), None, Some("forge")]);
    /// let found = ColumnHasher::new(filter.hasher()).hash(&[&names])?.probe(&filter);
    /// assert_eq!(found.iter().collect::<Vec<_>>(), [Some(true), None, Some(false)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn probe(&self, filter: &impl Filter) -> BooleanArray {
        let mut found = Bitmap::new(0);
        filter.contains_batch(self.hashes, &mut found);
        BooleanArray::new(boolean_buffer(found), self.nulls.clone())
    }
}

/// Converts the answers of a batch to an Arrow buffer, without a copy.
///
/// ```
/// let mut found = trommel::Bitmap::new(70);
/// found.set(69);
/// let buffer = trommel_arrow::boolean_buffer(found);
/// assert!(buffer.value(69) && buffer.count_set_bits() == 1 && buffer.len() == 70);
/// ```
#[must_use]
pub fn boolean_buffer(bitmap: Bitmap) -> BooleanBuffer {
    let len = bitmap.len();
    let mut words = bitmap.into_words();
    if cfg!(target_endian = "big") {
        // Bit `i` of an Arrow buffer is in byte `i / 8`, so the lowest byte of each word must come first.
        words.iter_mut().for_each(|word| *word = word.swap_bytes());
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, len)
}
