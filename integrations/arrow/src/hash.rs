//! Hashes the values of one column.

use crate::decimal;
use crate::error::ColumnError;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrowPrimitiveType, PrimitiveArray, downcast_dictionary_array, downcast_run_array,
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, TimeUnit};
use trommel::{Hasher, Key, KeyHash};

/// The number of values of a column that are converted to integers and hashed in one step. The integers are few enough
/// to stay in the L1 cache.
const CHUNK_KEYS: usize = 1024;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_DAY: u64 = 86_400 * NANOS_PER_SECOND;

/// Replaces the contents of `hashes` by the hashes of the rows of a column. Reuses the allocation of `hashes`. A null
/// row has an arbitrary hash, since only the caller knows what NULL means.
pub(crate) fn hash_column(
    hasher: &Hasher,
    column: &dyn Array,
    hashes: &mut Vec<KeyHash>,
) -> Result<(), ColumnError> {
    // Sign-extends signed integers, so that a value has the same 64 bits at every width.
    macro_rules! integers {
        ($type:ty as $wide:ty) => {
            hash_as(
                hasher,
                column.as_primitive::<$type>(),
                |value| i64::from(value as $wide) as u64,
                hashes,
            )
        };
    }
    macro_rules! floats {
        ($type:ty, $widen:expr) => {
            hash_as(
                hasher,
                column.as_primitive::<$type>(),
                |value| float_bits($widen(value)),
                hashes,
            )
        };
    }
    // Multiplies each value by `$each`, the number of nanoseconds in one unit, modulo 2^64. Equal instants have equal
    // products in every unit. Different instants have equal products only if they are centuries apart.
    macro_rules! nanoseconds {
        ($type:ty, $each:expr) => {
            hash_as(
                hasher,
                column.as_primitive::<$type>(),
                |value| (i64::from(value) as u64).wrapping_mul($each),
                hashes,
            )
        };
    }
    macro_rules! decimals {
        ($type:ty, $scale:expr, $hash:expr) => {
            hash_each(
                column.as_primitive::<$type>().values().iter(),
                |value| $hash(*value, *$scale),
                hashes,
            )
        };
    }
    macro_rules! bytes {
        ($column:expr) => {{
            let column = $column;
            hasher.hash_column(column.value_offsets(), column.value_data(), hashes)?;
        }};
    }
    macro_rules! each_value {
        ($column:expr) => {{
            let column = $column;
            hash_each(
                (0..column.len()).map(|row| column.value(row)),
                |key| hasher.hash(key),
                hashes,
            );
        }};
    }
    match column.data_type() {
        DataType::Null => hash_each(0..column.len(), |_| KeyHash::default(), hashes),
        DataType::Boolean => {
            let both = [0u64, 1].map(|value| hasher.hash(&value));
            let values = column.as_boolean().values().iter();
            hash_each(values, |value| both[usize::from(value)], hashes);
        }
        DataType::Int8 => integers!(Int8Type as i8),
        DataType::Int16 => integers!(Int16Type as i16),
        DataType::Int32 => integers!(Int32Type as i32),
        DataType::Int64 => hasher.hash_batch(column.as_primitive::<Int64Type>().values(), hashes),
        DataType::UInt8 => integers!(UInt8Type as u8),
        DataType::UInt16 => integers!(UInt16Type as u16),
        DataType::UInt32 => integers!(UInt32Type as u32),
        DataType::UInt64 => hasher.hash_batch(column.as_primitive::<UInt64Type>().values(), hashes),
        DataType::Float16 => floats!(Float16Type, f64::from),
        DataType::Float32 => floats!(Float32Type, f64::from),
        DataType::Float64 => floats!(Float64Type, f64::from),
        DataType::Decimal32(_, scale) => {
            decimals!(Decimal32Type, scale, |value, scale| decimal::hash_i128(
                hasher,
                i128::from(value),
                scale
            ));
        }
        DataType::Decimal64(_, scale) => {
            decimals!(Decimal64Type, scale, |value, scale| decimal::hash_i128(
                hasher,
                i128::from(value),
                scale
            ));
        }
        DataType::Decimal128(_, scale) => {
            decimals!(Decimal128Type, scale, |value, scale| decimal::hash_i128(
                hasher, value, scale
            ));
        }
        DataType::Decimal256(_, scale) => {
            decimals!(Decimal256Type, scale, |value, scale| decimal::hash_i256(
                hasher, value, scale
            ));
        }
        DataType::Date32 => nanoseconds!(Date32Type, NANOS_PER_DAY),
        DataType::Date64 => nanoseconds!(Date64Type, nanos_per(TimeUnit::Millisecond)),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => nanoseconds!(TimestampSecondType, nanos_per(*unit)),
            TimeUnit::Millisecond => nanoseconds!(TimestampMillisecondType, nanos_per(*unit)),
            TimeUnit::Microsecond => nanoseconds!(TimestampMicrosecondType, nanos_per(*unit)),
            TimeUnit::Nanosecond => nanoseconds!(TimestampNanosecondType, nanos_per(*unit)),
        },
        DataType::Time32(TimeUnit::Second) => {
            nanoseconds!(Time32SecondType, nanos_per(TimeUnit::Second));
        }
        DataType::Time32(_) => {
            nanoseconds!(Time32MillisecondType, nanos_per(TimeUnit::Millisecond));
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            nanoseconds!(Time64NanosecondType, nanos_per(TimeUnit::Nanosecond));
        }
        DataType::Time64(_) => {
            nanoseconds!(Time64MicrosecondType, nanos_per(TimeUnit::Microsecond));
        }
        DataType::Duration(unit) => match unit {
            TimeUnit::Second => nanoseconds!(DurationSecondType, nanos_per(*unit)),
            TimeUnit::Millisecond => nanoseconds!(DurationMillisecondType, nanos_per(*unit)),
            TimeUnit::Microsecond => nanoseconds!(DurationMicrosecondType, nanos_per(*unit)),
            TimeUnit::Nanosecond => nanoseconds!(DurationNanosecondType, nanos_per(*unit)),
        },
        DataType::Utf8 => bytes!(column.as_string::<i32>()),
        DataType::LargeUtf8 => bytes!(column.as_string::<i64>()),
        DataType::Binary => bytes!(column.as_binary::<i32>()),
        DataType::LargeBinary => bytes!(column.as_binary::<i64>()),
        DataType::Utf8View => each_value!(column.as_string_view()),
        DataType::BinaryView => each_value!(column.as_binary_view()),
        DataType::FixedSizeBinary(_) => each_value!(column.as_fixed_size_binary()),
        DataType::Dictionary(..) => hash_dictionary(hasher, column, hashes)?,
        DataType::RunEndEncoded(..) => hash_runs(hasher, column, hashes)?,
        data_type => return Err(ColumnError::Unsupported { data_type: data_type.clone() }),
    }
    Ok(())
}

fn nanos_per(unit: TimeUnit) -> u64 {
    match unit {
        TimeUnit::Second => NANOS_PER_SECOND,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Returns the same bits for all floats that compare equal, and the same bits for all NaNs.
fn float_bits(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value };
    // Adding 0.0 turns −0.0 into 0.0 and changes no other value.
    (value + 0.0).to_bits()
}

/// Hashes the integer that `word` returns for each value. The integers are hashed in batches, with AVX-512 or AVX2 if
/// the machine has it.
fn hash_as<T: ArrowPrimitiveType>(
    hasher: &Hasher,
    column: &PrimitiveArray<T>,
    word: impl Fn(T::Native) -> u64,
    hashes: &mut Vec<KeyHash>,
) {
    let values = column.values();
    hashes.clear();
    hashes.resize(values.len(), KeyHash::default());
    let mut words = [0; CHUNK_KEYS];
    for (values, hashes) in values.chunks(CHUNK_KEYS).zip(hashes.chunks_mut(CHUNK_KEYS)) {
        for (to, value) in words.iter_mut().zip(values) {
            *to = word(*value);
        }
        u64::hash_slice_with(&words[..values.len()], hasher, hashes);
    }
}

fn hash_each<V>(
    values: impl Iterator<Item = V>,
    hash: impl Fn(V) -> KeyHash,
    hashes: &mut Vec<KeyHash>,
) {
    hashes.clear();
    hashes.extend(values.map(hash));
}

/// Hashes a dictionary column. Hashes each value of the dictionary once.
fn hash_dictionary(
    hasher: &Hasher,
    column: &dyn Array,
    hashes: &mut Vec<KeyHash>,
) -> Result<(), ColumnError> {
    let mut value_hashes = Vec::new();
    downcast_dictionary_array!(
        column => {
            hash_column(hasher, column.values().as_ref(), &mut value_hashes)?;
            // A null row can have an index that is out of range of the dictionary.
            let hash = |key: usize| value_hashes.get(key).copied().unwrap_or_default();
            hash_each(column.keys().values().iter(), |key| hash(key.as_usize()), hashes);
        },
        data_type => return Err(ColumnError::Unsupported { data_type: data_type.clone() }),
    );
    Ok(())
}

/// Hashes a run-end encoded column. Hashes each value of the runs once.
fn hash_runs(
    hasher: &Hasher,
    column: &dyn Array,
    hashes: &mut Vec<KeyHash>,
) -> Result<(), ColumnError> {
    let mut value_hashes = Vec::new();
    downcast_run_array!(
        column => {
            hash_column(hasher, column.values().as_ref(), &mut value_hashes)?;
            hashes.clear();
            let ends = column.run_ends();
            let first = ends.get_start_physical_index();
            for (end, hash) in ends.sliced_values().zip(value_hashes.iter().skip(first)) {
                hashes.resize(end.as_usize().min(column.len()), *hash);
            }
        },
        data_type => return Err(ColumnError::Unsupported { data_type: data_type.clone() }),
    );
    Ok(())
}
