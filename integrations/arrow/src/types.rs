//! Which types can be keys, and which casts do not change the hash of a key.

use crate::hash::hash_column;
use arrow_array::new_empty_array;
use arrow_schema::DataType;
use trommel::Hasher;

/// Whether values of a type can be keys of a filter.
///
/// ```
/// use arrow_schema::{DataType, IntervalUnit};
/// assert!(trommel_arrow::has_keys(&DataType::Utf8View));
/// assert!(!trommel_arrow::has_keys(&DataType::Interval(IntervalUnit::DayTime)));
/// ```
#[must_use]
pub fn has_keys(data_type: &DataType) -> bool {
    hash_column(&Hasher::default(), &new_empty_array(data_type), &mut Vec::new()).is_ok()
}

/// Whether every value of `from` has the same hash after a cast to `to`. A query engine casts the columns of a join to
/// one type. If a cast keeps the hashes, a filter built from the values before the cast can be used for the values
/// after it. Returns false for pairs of types that this function does not know.
///
/// ```
/// use arrow_schema::DataType;
/// use trommel_arrow::cast_keeps_keys;
/// assert!(cast_keeps_keys(&DataType::Int32, &DataType::Int64));
/// assert!(cast_keeps_keys(&DataType::Decimal128(15, 2), &DataType::Decimal128(38, 10)));
/// assert!(!cast_keeps_keys(&DataType::Int64, &DataType::Float64));
/// assert!(!cast_keeps_keys(&DataType::Utf8, &DataType::Int64));
/// ```
#[must_use]
pub fn cast_keeps_keys(from: &DataType, to: &DataType) -> bool {
    if from == to {
        return has_keys(from);
    }
    if let (Some(from), Some(to)) = (integer(from), integer(to)) {
        // The type `to` must be able to represent every value of `from`.
        return from.bits <= to.bits
            && (from.is_signed == to.is_signed || (to.is_signed && from.bits < to.bits));
    }
    if let (Some(from), Some(to)) = (decimal(from), decimal(to)) {
        let whole_digits = |(precision, scale): (u8, i8)| i16::from(precision) - i16::from(scale);
        return from.1 <= to.1 && whole_digits(from) <= whole_digits(to);
    }
    if let DataType::Dictionary(_, values) = from {
        return cast_keeps_keys(values, to);
    }
    if let DataType::Dictionary(_, values) = to {
        return cast_keeps_keys(from, values);
    }
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    let is_text = |data_type: &DataType| matches!(data_type, Utf8 | LargeUtf8 | Utf8View);
    let is_bytes = |data_type: &DataType| {
        is_text(data_type) || matches!(data_type, Binary | LargeBinary | BinaryView)
    };
    is_bytes(from) && is_bytes(to) && (is_text(from) || !is_text(to))
        || matches!(
            (from, to),
            (DataType::Float32, DataType::Float64)
                | (DataType::Float16, DataType::Float32 | DataType::Float64)
        )
}

struct Integer {
    bits: u32,
    is_signed: bool,
}

fn integer(data_type: &DataType) -> Option<Integer> {
    let bits = 8 * data_type.primitive_width()? as u32;
    data_type.is_integer().then(|| Integer { bits, is_signed: data_type.is_signed_integer() })
}

/// The precision and the scale of a decimal type. `None` for other types.
fn decimal(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some((*precision, *scale)),
        _ => None,
    }
}
