//! Compares the hashes of columns, in many types and layouts, with the hashes of their single values.

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use std::sync::Arc;
use trommel::{BloomFilter, CuckooFilter, Filter, Hasher, KeyHash};
use trommel_arrow::{ColumnError, ColumnHasher, Nulls, boolean_buffer, cast_keeps_keys};

const HASHERS: [Hasher; 3] = [Hasher::xxh3(0), Hasher::xxh3(7), Hasher::PARQUET];

fn hash(hasher: Hasher, column: &dyn Array) -> Vec<KeyHash> {
    ColumnHasher::new(hasher).hash(&[column]).unwrap().hashes().to_vec()
}

/// Returns 2,500 values, more than the 1,024 that are converted at once. They include all values of an `i8`.
fn small_integers() -> Vec<i8> {
    (0..2_500).map(|i| (i * 37 % 256) as u8 as i8).collect()
}

#[test]
fn integers_of_all_widths_have_the_hash_of_64_bits() {
    for hasher in HASHERS {
        let column = Int8Array::from(small_integers());
        let expected: Vec<_> =
            small_integers().iter().map(|value| hasher.hash(&i64::from(*value))).collect();
        for to in [DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64] {
            assert_eq!(hash(hasher, &cast(&column, &to).unwrap()), expected, "{to}");
        }
        let column =
            UInt8Array::from_iter_values(small_integers().iter().map(|value| *value as u8));
        let expected: Vec<_> =
            column.values().iter().map(|value| hasher.hash(&u64::from(*value))).collect();
        for to in
            [DataType::UInt8, DataType::UInt16, DataType::UInt32, DataType::UInt64, DataType::Int32]
        {
            assert_eq!(hash(hasher, &cast(&column, &to).unwrap()), expected, "{to}");
        }
        let booleans = BooleanArray::from(vec![false, true]);
        assert_eq!(hash(hasher, &booleans), [0u64, 1].map(|value| hasher.hash(&value)));
    }
}

#[test]
fn decimals_of_all_widths_and_scales_have_one_hash() {
    for hasher in HASHERS {
        let column = Int64Array::from_iter_values(-300..300);
        let expected = hash(hasher, &column);
        let integers = [
            DataType::Decimal32(9, 0),
            DataType::Decimal32(9, 4),
            DataType::Decimal64(18, 2),
            DataType::Decimal128(38, 30),
            DataType::Decimal256(76, 60),
        ];
        for to in integers {
            assert_eq!(hash(hasher, &cast(&column, &to).unwrap()), expected, "{to}");
        }
        let fractions =
            Decimal32Array::from_iter_values(-300..300).with_precision_and_scale(9, 1).unwrap();
        let expected = hash(hasher, &fractions);
        for to in
            [DataType::Decimal64(18, 3), DataType::Decimal128(38, 20), DataType::Decimal256(76, 70)]
        {
            assert_eq!(hash(hasher, &cast(&fractions, &to).unwrap()), expected, "{to}");
        }
    }
}

#[test]
fn floats_of_all_widths_have_the_hash_of_a_double() {
    let values = [0.0, 1.0, -2.5, 1e4, f64::INFINITY, f64::NEG_INFINITY];
    for hasher in HASHERS {
        let expected: Vec<_> = values.iter().map(|value| hasher.hash(&value.to_bits())).collect();
        let column = Float64Array::from(values.to_vec());
        for to in [DataType::Float16, DataType::Float32, DataType::Float64] {
            assert_eq!(hash(hasher, &cast(&column, &to).unwrap()), expected, "{to}");
        }
        let zeros = hash(hasher, &Float64Array::from(vec![0.0, -0.0]));
        assert_eq!(zeros[0], zeros[1]);
        let other_nan = f64::from_bits(0xfff8_0000_0000_0123);
        let nans = hash(hasher, &Float64Array::from(vec![f64::NAN, -f64::NAN, other_nan]));
        assert_eq!(nans[0], nans[1]);
        assert_eq!(nans[0], nans[2]);
        assert_eq!(nans[0], hash(hasher, &Float32Array::from(vec![f32::NAN]))[0]);
        assert_ne!(nans[0], hash(hasher, &Float32Array::from(vec![f32::INFINITY]))[0]);
    }
}

#[test]
fn an_instant_has_one_hash_in_every_unit() {
    let days = [0, 1, -1, 20_000, -20_000];
    for hasher in HASHERS {
        let expected: Vec<_> =
            days.iter().map(|day| hasher.hash(&(i64::from(*day) * 86_400_000_000_000))).collect();
        let column = Date32Array::from(days.to_vec());
        let timestamp = |unit, zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
        let types = [
            DataType::Date32,
            DataType::Date64,
            timestamp(TimeUnit::Second, None),
            timestamp(TimeUnit::Millisecond, None),
            timestamp(TimeUnit::Microsecond, Some("+00:00")),
            timestamp(TimeUnit::Nanosecond, None),
        ];
        for to in types {
            assert_eq!(hash(hasher, &cast(&column, &to).unwrap()), expected, "{to}");
        }
        let seconds = Int64Array::from(vec![0, 1, 86_399]);
        let nanos: Vec<_> =
            seconds.values().iter().map(|second| hasher.hash(&(second * 1_000_000_000))).collect();
        for unit in
            [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond]
        {
            let durations = cast(&seconds, &DataType::Duration(TimeUnit::Second)).unwrap();
            let column = cast(&durations, &DataType::Duration(unit)).unwrap();
            assert_eq!(hash(hasher, &column), nanos, "durations in {unit:?}");
            let time_type = match unit {
                TimeUnit::Second | TimeUnit::Millisecond => DataType::Time32(unit),
                _ => DataType::Time64(unit),
            };
            let times = cast(
                &cast(&seconds, &DataType::Int32).unwrap(),
                &DataType::Time32(TimeUnit::Second),
            );
            let times = cast(&times.unwrap(), &time_type).unwrap();
            assert_eq!(hash(hasher, &times), nanos, "{time_type}");
        }
        // An instant whose number of nanoseconds exceeds 64 bits also has the same hash in different units.
        let far = TimestampSecondArray::from(vec![32_503_680_000]);
        let far_in_millis = TimestampMillisecondArray::from(vec![32_503_680_000_000]);
        assert_eq!(hash(hasher, &far), hash(hasher, &far_in_millis));
    }
}

#[test]
fn strings_and_binary_have_the_hash_of_their_bytes_in_every_layout() {
    let values = ["", "anvil", "ÿ", "a string of more than twelve bytes", "anvil"];
    for hasher in HASHERS {
        let expected: Vec<_> = values.iter().map(|value| hasher.hash(*value)).collect();
        let column = StringArray::from(values.to_vec());
        let types = [
            DataType::Utf8,
            DataType::LargeUtf8,
            DataType::Utf8View,
            DataType::Binary,
            DataType::LargeBinary,
            DataType::BinaryView,
            DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()),
            DataType::Dictionary(DataType::UInt64.into(), DataType::LargeUtf8.into()),
            DataType::Dictionary(DataType::Int32.into(), DataType::Utf8View.into()),
        ];
        for to in types {
            let column = cast(&column, &to).unwrap();
            assert_eq!(hash(hasher, &column), expected, "{to}");
            assert_eq!(hash(hasher, &column.slice(1, 3)), expected[1..4], "slice of {to}");
        }
        let mut fixed = FixedSizeBinaryBuilder::new(3);
        for value in ["abc", "xyz"] {
            fixed.append_value(value).unwrap();
        }
        assert_eq!(hash(hasher, &fixed.finish()), ["abc", "xyz"].map(|value| hasher.hash(value)));
    }
}

#[test]
fn runs_have_the_hashes_of_their_values() {
    let hasher = Hasher::default();
    let values = StringArray::from(vec![Some("anvil"), None, Some("forge")]);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2, 3, 7]), &values).unwrap();
    let rows = [0, 0, 1, 2, 2, 2, 2]
        .map(|value| values.is_valid(value).then(|| hasher.hash(values.value(value))));
    for start in 0..7 {
        for len in 0..=7 - start {
            let slice = runs.slice(start, len);
            let mut hasher = ColumnHasher::new(hasher);
            let keys = hasher.hash(&[&slice]).unwrap();
            let valid = |row| keys.nulls().is_none_or(|nulls| nulls.is_valid(row));
            let got: Vec<_> = (0..len).map(|row| valid(row).then(|| keys.hashes()[row])).collect();
            assert_eq!(got, rows[start..start + len], "{len} rows from row {start} on");
        }
    }
}

#[test]
fn nulls_have_no_key_or_one_of_their_own() {
    let dictionary: DictionaryArray<Int8Type> =
        [Some("anvil"), None, Some("forge")].into_iter().collect();
    // One null is a null index; the other null is the index of a null value.
    let with_null = DictionaryArray::new(
        Int8Array::from(vec![Some(0), Some(1), None]),
        Arc::new(StringArray::from(vec![Some("anvil"), None])),
    );
    let columns: [(ArrayRef, &[bool]); 5] = [
        (Arc::new(Int32Array::from(vec![Some(0), None, Some(3)])), &[true, false, true]),
        (Arc::new(StringArray::from(vec![None, Some(""), None])), &[false, true, false]),
        (Arc::new(dictionary), &[true, false, true]),
        (Arc::new(with_null), &[true, false, false]),
        (Arc::new(NullArray::new(3)), &[false; 3]),
    ];
    for (column, valid) in &columns {
        let mut hasher = ColumnHasher::new(Hasher::default());
        let keys = hasher.hash(&[column]).unwrap();
        assert_eq!(keys.nulls().unwrap(), &NullBuffer::from(valid.to_vec()));
        let mut filter = CuckooFilter::with_capacity_and_fpr(100, 0.01).unwrap();
        keys.insert_into(&mut filter).unwrap();
        assert_eq!(filter.len(), valid.iter().filter(|valid| **valid).count());
        let found = keys.probe(&filter);
        assert_eq!(found.nulls(), keys.nulls());
        assert!(found.iter().flatten().all(|found| found));

        let mut hasher = ColumnHasher::new(Hasher::default()).nulls(Nulls::Key);
        let null = hasher.hash(&[&NullArray::new(1)]).unwrap().hashes()[0];
        let keys = hasher.hash(&[column]).unwrap();
        assert!(keys.nulls().is_none());
        for (hash, valid) in keys.hashes().iter().zip(*valid) {
            assert_eq!(*hash == null, !valid);
        }
    }
}

#[test]
fn several_columns_are_one_key_in_their_order() {
    let hasher = Hasher::xxh3(3);
    let numbers = Int32Array::from_iter((0..1_500).map(|i| (i % 7 != 0).then_some(i % 40)));
    let names = StringArray::from_iter(
        (0..1_500).map(|i| (i % 5 != 0).then(|| format!("name {}", i % 30))),
    );
    let mut columns = ColumnHasher::new(hasher);
    let keys = columns.hash(&[&numbers, &names]).unwrap();
    let pair =
        |a: KeyHash, b: KeyHash| hasher.hash(&(u128::from(a.raw()) | u128::from(b.raw()) << 64));
    for row in 0..1_500 {
        let valid = numbers.is_valid(row) && names.is_valid(row);
        assert_eq!(keys.nulls().unwrap().is_valid(row), valid);
        if valid {
            let number = hasher.hash(&i64::from(numbers.value(row)));
            assert_eq!(keys.hashes()[row], pair(number, hasher.hash(names.value(row))));
        }
    }
    let in_order = keys.hashes().to_vec();
    assert_ne!(columns.hash(&[&names, &numbers]).unwrap().hashes(), in_order);

    // With NULL as a key, two rows have equal hashes exactly if their values are equal.
    let mut columns = ColumnHasher::new(hasher).nulls(Nulls::Key);
    let keys = columns.hash(&[&numbers, &names]).unwrap();
    let row = |row| {
        (
            numbers.is_valid(row).then(|| numbers.value(row)),
            names.is_valid(row).then(|| names.value(row)),
        )
    };
    for a in (0..1_500).step_by(13) {
        for b in 0..1_500 {
            assert_eq!(keys.hashes()[a] == keys.hashes()[b], row(a) == row(b), "rows {a}, {b}");
        }
    }
}

#[test]
fn columns_that_cannot_be_keys_are_refused_with_the_reason() {
    let mut hasher = ColumnHasher::new(Hasher::default());
    assert_eq!(hasher.hash(&[]).unwrap_err(), ColumnError::NoColumns);
    let (three, two) = (Int32Array::from(vec![1, 2, 3]), Int32Array::from(vec![1, 2]));
    let error = hasher.hash(&[&three, &three, &two]).unwrap_err();
    assert_eq!(error, ColumnError::Lengths { expected_rows: 3, column: 2, rows: 2 });
    assert_eq!(error.to_string(), "column 2 has 2 rows, but column 0 has 3");
    let list = DataType::new_list(DataType::Int32, true);
    for data_type in [DataType::Interval(IntervalUnit::MonthDayNano), list] {
        let column = new_null_array(&data_type, 3);
        let refused = ColumnError::Unsupported { data_type: data_type.clone() };
        assert_eq!(hasher.hash(&[&column]).unwrap_err(), refused);
        let error = hasher.hash(&[&three, &column]).unwrap_err();
        assert!(error.to_string().contains(&data_type.to_string()));
    }
}

#[test]
fn columns_without_rows_have_no_hashes() {
    let types = [
        DataType::Null,
        DataType::Boolean,
        DataType::Int8,
        DataType::Utf8,
        DataType::Utf8View,
        DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()),
    ];
    let filter = BloomFilter::with_capacity_and_fpr(10, 0.01).unwrap();
    for data_type in types {
        let column = new_empty_array(&data_type);
        let mut hasher = ColumnHasher::new(Hasher::default());
        let keys = hasher.hash(&[&column, &column]).unwrap();
        assert!(keys.is_empty());
        assert_eq!(keys.probe(&filter).len(), 0);
    }
}

#[test]
fn a_bitmap_becomes_a_buffer_without_a_copy() {
    let mut bitmap = trommel::Bitmap::new(1_000);
    (0..1_000).step_by(3).for_each(|bit| bitmap.set(bit));
    let (expected, address) = (bitmap.clone(), bitmap.as_words().as_ptr().cast::<u8>());
    let buffer = boolean_buffer(bitmap);
    assert_eq!(buffer.values().as_ptr(), address);
    assert!((0..1_000).all(|bit| buffer.value(bit) == expected.get(bit)));
}

/// Checks that a cast between two of the types below keeps the hashes if `cast_keeps_keys` is true for these types.
/// Each integer column has the lowest and the highest value of its type.
#[test]
fn hashes_are_equal_after_casts_that_keep_keys() {
    let columns: [ArrayRef; 10] = [
        Arc::new(Int8Array::from(vec![-128, -1, 0, 127])),
        Arc::new(Int32Array::from(vec![i32::MIN, -1, 0, i32::MAX])),
        Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, i64::MAX])),
        Arc::new(UInt8Array::from(vec![0, 255])),
        Arc::new(UInt32Array::from(vec![0, u32::MAX])),
        Arc::new(UInt64Array::from(vec![0, u64::MAX])),
        Arc::new(Float32Array::from(vec![0.5, -0.0, f32::NAN, f32::MAX])),
        Arc::new(Decimal64Array::from(vec![12_345, -1]).with_precision_and_scale(6, 2).unwrap()),
        Arc::new(StringArray::from(vec!["", "anvil"])),
        Arc::new(BinaryArray::from(vec![&b"\xff"[..], b"anvil"])),
    ];
    let targets = [
        DataType::Int8,
        DataType::Int16,
        DataType::Int64,
        DataType::UInt16,
        DataType::UInt64,
        DataType::Float64,
        DataType::Decimal32(9, 2),
        DataType::Decimal128(38, 10),
        DataType::Decimal128(4, 2),
        DataType::Decimal128(10, 1),
        DataType::Utf8View,
        DataType::LargeBinary,
        DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()),
    ];
    let hasher = Hasher::default();
    let mut kept = 0;
    for column in &columns {
        for to in &targets {
            if cast_keeps_keys(column.data_type(), to) {
                let cast = cast(column, to).unwrap();
                assert_eq!(cast.null_count(), 0, "{} as {to}", column.data_type());
                assert_eq!(
                    hash(hasher, &cast),
                    hash(hasher, column),
                    "{} as {to}",
                    column.data_type()
                );
                kept += 1;
            }
        }
    }
    // The casts that keep keys: 3 from Int8, 1 from Int32, 1 from Int64, 4 from UInt8, 2 from UInt32, 1 from UInt64,
    // 1 from Float32, 2 from Decimal64, 3 from Utf8 and 1 from Binary.
    assert_eq!(kept, 19);
}

/// The bytes of frozen filters depend on these hashes, so the hashes must never change. The expected hashes are from
/// Python's `xxhash` package.
#[test]
fn hashes_never_change() {
    let hasher = Hasher::default();
    let columns: [(ArrayRef, u64); 6] = [
        (Arc::new(Int32Array::from(vec![-7])), 0xcdeddd5c08597fb4),
        (Arc::new(Float32Array::from(vec![1.5])), 0x2561a4889ff63458),
        (
            Arc::new(Decimal128Array::from(vec![150]).with_precision_and_scale(10, 1).unwrap()),
            0xe5ce56c10171f463,
        ),
        (
            Arc::new(Decimal128Array::from(vec![-15]).with_precision_and_scale(10, 1).unwrap()),
            0xc49da89535a64fef,
        ),
        (Arc::new(Date32Array::from(vec![20_000])), 0x7a83ceba895e95f0),
        (Arc::new(StringViewArray::from(vec!["anvil"])), 0x9ba044f70dba44ee),
    ];
    for (column, expected) in &columns {
        assert_eq!(hash(hasher, column)[0].raw(), *expected, "{}", column.data_type());
    }
    let [first, .., last] = &columns;
    let mut hasher = ColumnHasher::new(hasher).nulls(Nulls::Key);
    let both = hasher.hash(&[&first.0, &last.0]).unwrap().hashes()[0].raw();
    let with_null = hasher.hash(&[&first.0, &NullArray::new(1)]).unwrap().hashes()[0].raw();
    assert_eq!([both, with_null], [0x4803e38966b205eb, 0xd7fee95bafba7ac9]);
}
