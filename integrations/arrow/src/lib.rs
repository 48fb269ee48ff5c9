//! Columns of Apache Arrow as keys of Trommel's filters.
//!
//! A [`ColumnHasher`] hashes the rows of one or several columns in a batch. The [`Keys`] that it returns can be
//! inserted into a filter ([`Keys::insert_into`]) or looked up in a filter ([`Keys::probe`]). The answers are a
//! `BooleanArray`, which Arrow's compute kernels accept. The array takes over the bitmap of answers without a copy.
//!
//! ```
//! use arrow_array::{Array, Int32Array, Int64Array};
//! use trommel::{Filter, SplitBlockBloom};
//! use trommel_arrow::ColumnHasher;
//!
//! let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
//! let mut hasher = ColumnHasher::new(filter.hasher());
//! let orders = Int64Array::from(vec![Some(7), None, Some(9)]);
//! hasher.hash(&[&orders])?.insert_into(&mut filter)?;
//!
//! let wanted = Int32Array::from(vec![9, 10]); // of another width
//! let found = hasher.hash(&[&wanted])?.probe(&filter);
//! assert!(found.value(0) && !found.value(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which keys are equal
//!
//! Within each row of this table, the hash of a key depends on the value alone, not on its physical form:
//!
//! | columns | key |
//! |---|---|
//! | integers of all widths, booleans as 0 and 1 | the value as 8 bytes, little-endian |
//! | decimals of all widths and scales | the number as an integer, if it is a whole number that fits into 64 bits; otherwise its digits without trailing zeros, and the scale of these digits |
//! | floats of all widths | the bits of the value as a double; −0.0 is 0.0, and all NaNs are one key |
//! | timestamps with and without time zone, dates | nanoseconds since 1970 (mod 2⁶⁴) as an integer |
//! | times of day, durations | nanoseconds (mod 2⁶⁴) as an integer |
//! | strings and binary of all layouts | the bytes |
//! | dictionaries and runs | their values; each value is hashed once |
//!
//! Intervals cannot be keys, since neither a month nor a day has a fixed length. Nor can lists, structs, maps and
//! unions. Hashing a column of one of these types returns a [`ColumnError`].
//!
//! Integers, strings and binary have the hashes that [`trommel::Hasher`] gives to `u64` (or `i64`), `str` and `[u8]`.
//! The Python package has the same hashes.
//!
//! # Nulls
//!
//! In SQL, NULL equals nothing, so a row with a NULL has no key: it is not inserted, and the answer for it is NULL.
//! With [`Nulls::Key`], NULL is a value that equals itself, as in `IS NOT DISTINCT FROM` and `GROUP BY`.

mod decimal;
mod error;
mod hash;
mod keys;
mod types;

pub use error::ColumnError;
pub use keys::{ColumnHasher, Keys, Nulls, boolean_buffer};
pub use types::{cast_keeps_keys, has_keys};
