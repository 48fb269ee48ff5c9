//! Parses the values of a column from text that a person types.

use crate::error::ProbeError;
use crate::schema::Column;
use crate::types::{LogicalType, PhysicalType};

/// A value of a physical type, or a decimal that is not yet converted to a physical type.
pub(crate) enum Value {
    Int32(i32),
    Int64(i64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    Decimal(i128),
}

/// Parses one value of a column.
pub(crate) fn parse(column: &Column, text: &str) -> Result<Value, ProbeError> {
    let (value, expected) = match (column.physical, column.logical) {
        (_, Some(LogicalType::Decimal { scale, .. })) => {
            (decimal(text, scale).map(Value::Decimal), "a decimal of the column's scale")
        }
        (PhysicalType::Int32, Some(LogicalType::Date)) => {
            let days = date(text).or_else(|| text.parse().ok());
            (days.map(Value::Int32), "a date such as 2026-01-31 or a number of days since 1970")
        }
        (PhysicalType::Int32, Some(LogicalType::Integer { signed: false, .. })) => {
            let value = text.parse::<u32>().map(|value| Value::Int32(value as i32));
            (value.ok(), "an unsigned integer of 32 bits")
        }
        (PhysicalType::Int64, Some(LogicalType::Integer { signed: false, .. })) => {
            let value = text.parse::<u64>().map(|value| Value::Int64(value as i64));
            (value.ok(), "an unsigned integer of 64 bits")
        }
        (PhysicalType::Int32, _) => (text.parse().map(Value::Int32).ok(), "an integer of 32 bits"),
        (PhysicalType::Int64, _) => (text.parse().map(Value::Int64).ok(), "an integer of 64 bits"),
        (PhysicalType::Float, _) => (text.parse().map(Value::Float).ok(), "a number"),
        (PhysicalType::Double, _) => (text.parse().map(Value::Double).ok(), "a number"),
        (PhysicalType::FixedLenByteArray, Some(LogicalType::Uuid)) => {
            let digits: String = text.chars().filter(|digit| *digit != '-').collect();
            let bytes = hexadecimal(&digits).filter(|bytes| bytes.len() == 16);
            (bytes.map(Value::Bytes), "a UUID")
        }
        (PhysicalType::FixedLenByteArray, _) => {
            let bytes = text.strip_prefix("0x").and_then(hexadecimal);
            (bytes.map(Value::Bytes), "bytes in hexadecimal with the prefix 0x")
        }
        // Any text is a valid byte array. `Literals::for_column` has refused the types that have no filters.
        _ => (Some(Value::Bytes(text.as_bytes().to_vec())), ""),
    };
    value.ok_or_else(|| ProbeError::Text { text: text.into(), expected })
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let (pairs, odd) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4 | digit(*low)?) as u8);
    if odd.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// Parses a number with at most `scale` digits after the point. Returns the number times `10^scale`.
fn decimal(text: &str, scale: i32) -> Option<i128> {
    let scale = usize::try_from(scale).ok()?;
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let missing = scale.checked_sub(part.len())?;
    // An integer with more than 39 digits, apart from leading zeros, exceeds 128 bits. A result with more digits is
    // refused even if it begins with zeros. A malformed schema can state any scale, so this check also bounds the loop
    // below.
    if whole.len() + part.len() == 0 || whole.len() + scale > 39 {
        return None;
    }
    let mut value = 0i128;
    for digit in whole.bytes().chain(part.bytes()).chain(core::iter::repeat_n(b'0', missing)) {
        let digit = i128::from(char::from(digit).to_digit(10)?);
        value = value.checked_mul(10)?.checked_sub(digit)?;
    }
    // The digits are summed up as a negative number, because the range of negative numbers is larger by one.
    if negative { Some(value) } else { value.checked_neg() }
}

/// Returns the number of days from 1970-01-01 to a date in the Gregorian calendar. A year has at least four digits and
/// can be negative; a month and a day have two digits. `None` if the text is not such a date, or if the year is below
/// -5,000,000 or above 5,000,000.
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn date(text: &str) -> Option<i32> {
    let (rest, day) = text.rsplit_once('-')?;
    let (year, month) = rest.rsplit_once('-')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let year_digits = year.strip_prefix('-').unwrap_or(year);
    if year_digits.len() < 4 || !digits(year_digits) {
        return None;
    }
    if [month, day].iter().any(|text| text.len() != 2 || !digits(text)) {
        return None;
    }
    let (year, month, day): (i64, i64, i64) =
        (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days_in_month).contains(&day) || year.abs() > 5_000_000 {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    i32::try_from(era * 146_097 + days - 719_468).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_since_1970_and_other_text_is_refused() {
        let known = [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2026-11-25", 20_782),
            ("0001-01-01", -719_162),
            ("-4713-11-24", -2_440_588),
        ];
        for (text, days) in known {
            assert_eq!(date(text), Some(days), "{text}");
        }
        for text in ["2023-02-29", "2023-13-01", "2023-00-01", "2023-04-31", "2023", "a-b-c", ""] {
            assert_eq!(date(text), None, "{text}");
        }
        for text in
            ["2023-1-01", "2023-01-1", "2023-01-001", "+2023-01-01", "2023-+1-01", "23-01-01"]
        {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn decimals_are_scaled_to_the_columns_scale_or_refused() {
        assert_eq!(decimal("12.34", 2), Some(1234));
        assert_eq!(decimal("-12.3", 2), Some(-1230));
        assert_eq!(decimal("7", 0), Some(7));
        assert_eq!(decimal(".5", 1), Some(5));
        assert_eq!(decimal("12.345", 2), None);
        assert_eq!(decimal("1", -1), None);
        assert_eq!(decimal("1", i32::MAX), None);
        for text in ["", ".", "-", "1.2.3", "1e3", "--1", "+-1"] {
            assert_eq!(decimal(text, 2), None, "{text}");
        }
        let least = i128::MIN.to_string();
        assert_eq!(decimal(&least, 0), Some(i128::MIN));
        assert_eq!(decimal(&least[1..], 0), None);
    }

    #[test]
    fn hexadecimal_text_must_be_pairs_of_digits() {
        assert_eq!(hexadecimal("00fF"), Some(vec![0, 255]));
        assert_eq!(hexadecimal("0"), None);
        assert_eq!(hexadecimal("0g"), None);
        assert_eq!(hexadecimal("ü"), None);
    }
}
