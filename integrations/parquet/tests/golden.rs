//! Tests with files that pyarrow and DuckDB have written.

mod common;

use common::{GROUPS, golden, numbers, plain_encoding};
use trommel::{Hasher, SplitBlockBloom};
use trommel_parquet::{
    ChunkFilter, Column, FileFilters, FilterSet, Literals, LogicalType, PhysicalType,
};

const WRITERS: [&str; 2] = ["pyarrow", "duckdb"];

/// Builds a filter of the same size as `filter`, from the values of the column chunk that `filter` is for.
fn ours(filter: &ChunkFilter<'_>, column: &str, group: usize) -> SplitBlockBloom {
    let builder = SplitBlockBloom::builder().memory_bytes(filter.bitset().len());
    let mut ours = builder.hasher(Hasher::PARQUET).build().unwrap();
    for k in numbers(group) {
        for value in plain_encoding(column, k) {
            ours.add(value.as_slice());
        }
    }
    ours
}

#[test]
fn filters_of_other_writers_are_ours_bit_for_bit() {
    // pyarrow wrote filters for nine columns and DuckDB for all ten, each in three row groups.
    for (writer, filters) in WRITERS.into_iter().zip([27, 30]) {
        let bytes = golden(writer);
        let file = FileFilters::open(&bytes).unwrap();
        assert_eq!(file.row_groups().len(), GROUPS);
        let mut count = 0;
        for (group, column, filter) in file.filters() {
            let filter = filter.unwrap();
            let ours = ours(&filter, column.path(), group);
            assert!(
                filter.bitset() == ours.parquet_bitset(),
                "the bitsets differ: {writer}, column {}, row group {group}",
                column.path()
            );
            // The bitset is borrowed from the file's bytes.
            let begin = bytes.as_ptr_range().start as usize + filter.offset() as usize;
            let end = filter.bitset().as_ptr_range().end as usize;
            assert_eq!(end - begin, filter.len_bytes());
            count += 1;
        }
        assert_eq!(count, filters, "{writer}");
    }
}

#[test]
fn distinct_values_and_false_positive_rate_are_estimated() {
    let bytes = golden("pyarrow");
    let file = FileFilters::open(&bytes).unwrap();
    for (_, column, filter) in file.filters() {
        let filter = filter.unwrap();
        let distinct = if column.path() == "tags.list.element" { 80.0 } else { 40.0 };
        let estimate = filter.estimated_distinct();
        assert!(
            (estimate / distinct - 1.0).abs() < 0.3,
            "{}: estimated {estimate} distinct values",
            column.path()
        );
        assert!(filter.estimated_fpr() < 0.2 && filter.fill() < 0.7 && filter.fill() > 0.2);
    }
}

fn literals(column: &Column, numbers: impl Iterator<Item = i64>) -> Literals {
    let values: Vec<_> = numbers.flat_map(|k| plain_encoding(column.path(), k)).collect();
    let four = || values.iter().map(|value| *value.first_chunk().unwrap());
    let eight = || values.iter().map(|value| *value.first_chunk().unwrap());
    match column.physical_type() {
        PhysicalType::Int32 => Literals::int32(&four().map(i32::from_le_bytes).collect::<Vec<_>>()),
        PhysicalType::Float => Literals::float(&four().map(f32::from_le_bytes).collect::<Vec<_>>()),
        PhysicalType::Int64 => {
            Literals::int64(&eight().map(i64::from_le_bytes).collect::<Vec<_>>())
        }
        PhysicalType::Double => {
            Literals::double(&eight().map(f64::from_le_bytes).collect::<Vec<_>>())
        }
        _ => Literals::bytes(&values),
    }
}

#[test]
fn row_groups_with_a_literal_are_read_and_few_others() {
    for writer in WRITERS {
        let bytes = golden(writer);
        let file = FileFilters::open(&bytes).unwrap();
        let (mut read, mut asked) = (0, 0);
        for column in file.columns() {
            for group in 0..GROUPS {
                let has_filter = file.row_groups()[group].has_filter(column);
                let literals = literals(column, numbers(group));
                let each = file.might_contain(group, column, &literals).unwrap();
                assert_eq!(each.count_ones(), literals.len());
                assert!(file.row_groups_to_read(column, &literals).unwrap().get(group));
                for k in numbers(group) {
                    let literals = self::literals(column, std::iter::once(k));
                    let groups = file.row_groups_to_read(column, &literals).unwrap();
                    assert!(
                        groups.get(group),
                        "a value is missing: {writer}, column {}, number {k}",
                        column.path()
                    );
                    if has_filter {
                        read += groups.count_ones() - 1;
                        asked += GROUPS - 1;
                    } else {
                        assert_eq!(groups.count_ones(), GROUPS);
                    }
                }
            }
        }
        // The filters have 13 bits per distinct value. They are expected to report at most 1 % of the absent values as
        // present. The test fails at 4 %.
        assert!(
            read * 25 < asked,
            "{writer}: {read} of {asked} row groups without the value are read"
        );
    }
}

#[test]
fn columns_have_their_types() {
    use LogicalType as L;
    use PhysicalType as P;
    let decimal = L::Decimal { scale: 2, precision: 9 };
    let expected = [
        ("id", P::Int64, None),
        ("small", P::Int32, None),
        ("ratio", P::Float, None),
        ("price", P::Double, None),
        ("name", P::ByteArray, Some(L::String)),
        ("day", P::Int32, Some(L::Date)),
        ("amount", P::Int32, Some(decimal)),
        ("key", P::FixedLenByteArray, None),
        ("tags.list.element", P::ByteArray, Some(L::String)),
        ("plain", P::Int64, None),
    ];
    let bytes = golden("pyarrow");
    let file = FileFilters::open(&bytes).unwrap();
    let found: Vec<_> = file
        .columns()
        .iter()
        .map(|column| (column.path(), column.physical_type(), column.logical_type()))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(file.column("key").unwrap().fixed_len(), Some(16));
    assert_eq!(file.row_groups()[0].rows(), 2048);

    // DuckDB writes converted types, which older versions of the format had instead of logical types.
    let bytes = golden("duckdb");
    let file = FileFilters::open(&bytes).unwrap();
    let logical = |path| file.column(path).unwrap().logical_type();
    assert_eq!(logical("key"), Some(L::Uuid));
    assert_eq!(logical("amount"), Some(decimal));
    assert_eq!(logical("day"), Some(L::Date));
    assert_eq!(logical("name"), Some(L::String));
}

#[test]
fn text_becomes_literals_of_the_column_or_is_refused() {
    let bytes = golden("duckdb");
    let file = FileFilters::open(&bytes).unwrap();
    let texts = [
        ("id", "0"),
        ("small", "-500"),
        ("ratio", "-3"),
        ("price", "-2e1"),
        ("name", "customer-1"),
        ("day", "2026-01-01"),
        ("amount", "-10.00"),
        ("amount", "-10"),
        ("key", "00010203-0405-0607-0809-0a0b0c0d0e0f"),
    ];
    for (path, text) in texts {
        let column = file.column(path).unwrap();
        let literals = Literals::parse(column, [text]).unwrap();
        let read = file.row_groups_to_read(column, &literals).unwrap();
        assert!(read.get(0) && read.count_ones() < GROUPS, "{path} = {text}: the wrong row groups");
    }
    for (path, text) in [("id", "1.5"), ("day", "2026-02-30"), ("amount", "1.234"), ("key", "00")] {
        let refused = Literals::parse(file.column(path).unwrap(), [text]).unwrap_err();
        assert!(
            refused.to_string().starts_with(&format!("{text:?} is not")),
            "another error: {refused}"
        );
    }
}

/// Debug output occurs in error messages, so it must be short even for a file of gigabytes.
#[test]
fn debug_output_has_no_bytes_of_the_file() {
    let bytes = golden("pyarrow");
    let file = FileFilters::open(&bytes).unwrap();
    assert_eq!(format!("{file:?}"), "FileFilters { columns: 10, row_groups: 3, .. }");
    let filter = file.filter(0, file.column("id").unwrap()).unwrap().unwrap();
    assert!(format!("{filter:?}").ends_with(", bitset_bytes: 64, .. }"), "{filter:?}");
    let mut set = FilterSet::new();
    set.push(&file, "id").unwrap();
    assert!(format!("{set:?}").len() < 2000);
}

#[test]
fn a_set_answers_for_many_files() {
    let files: Vec<_> = WRITERS.iter().cycle().take(10).map(|writer| golden(writer)).collect();
    let mut set = FilterSet::new();
    assert!(set.is_empty());
    for bytes in &files {
        set.push(&FileFilters::open(bytes).unwrap(), "id").unwrap();
        assert!(set.push(&FileFilters::open(bytes).unwrap(), "none").is_err());
    }
    assert_eq!(set.len(), 10);
    let id = |k: i64| k * k * 7919 + k;
    assert_eq!(set.files_to_read(&Literals::int64(&[id(50)])).unwrap().count_ones(), 10);
    assert_eq!(set.files_to_read(&Literals::int64(&[-1, -2, -3])).unwrap().count_ones(), 0);
    assert_eq!(set.files_to_read(&Literals::int64(&[])).unwrap().count_ones(), 0);
    assert!(set.files_to_read(&Literals::int32(&[1])).is_err());

    // Only DuckDB wrote filters for this column, so all files of pyarrow must be read.
    let mut set = FilterSet::new();
    files.iter().for_each(|bytes| set.push(&FileFilters::open(bytes).unwrap(), "plain").unwrap());
    let read = set.files_to_read(&Literals::int64(&[-1])).unwrap();
    assert_eq!(read.iter_ones().collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
}
