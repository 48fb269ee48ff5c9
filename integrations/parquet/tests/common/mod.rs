//! Files for the tests: golden files of other writers, and files that the parquet crate writes.
#![allow(dead_code, reason = "each test uses only a part")]

use parquet::basic::{Compression, Repetition};
use parquet::data_type::{
    ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type,
};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{BloomFilterPosition, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of row groups of a golden file.
pub(crate) const GROUPS: usize = 3;
/// The number of distinct values of a column in each row group of a golden file. The column `tags.list.element` has
/// twice as many.
pub(crate) const DISTINCT: i64 = 40;

pub(crate) fn golden(name: &str) -> Vec<u8> {
    fs::read(golden_path(name)).unwrap()
}

pub(crate) fn golden_path(name: &str) -> PathBuf {
    Path::new("tests/golden").join(format!("{name}.parquet"))
}

/// Returns the numbers `k` from which the values of a row group of a golden file are computed ([`plain_encoding`]).
pub(crate) fn numbers(group: usize) -> std::ops::Range<i64> {
    let first = group as i64 * DISTINCT;
    first..first + DISTINCT
}

/// The plain encoding of value `k` of a column in the golden files, by the formulas of `tests/golden/make.py`. The
/// column `tags.list.element` has two values for each `k`.
pub(crate) fn plain_encoding(column: &str, k: i64) -> Vec<Vec<u8>> {
    let value = match column {
        "id" => (k * k * 7919 + k).to_le_bytes().to_vec(),
        "small" => (k as i32 * 31 - 500).to_le_bytes().to_vec(),
        "ratio" => (k as f32 * 0.25 - 3.0).to_le_bytes().to_vec(),
        "price" => (k as f64 * 1.5 - 20.0).to_le_bytes().to_vec(),
        "name" => format!("customer-{k}").into_bytes(),
        // 2026-01-01 is day 20,454 since 1970-01-01.
        "day" => (20_454 + k as i32).to_le_bytes().to_vec(),
        "amount" => (k as i32 * 101 - 1000).to_le_bytes().to_vec(),
        "key" => (0..16).map(|j| (k + j) as u8).collect(),
        "plain" => (k * 3).to_le_bytes().to_vec(),
        "tags.list.element" => {
            return [k, k + 1000].map(|k| format!("tag-{k}").into_bytes()).to_vec();
        }
        other => panic!("there is no column {other}"),
    };
    vec![value]
}

/// A temporary folder that is removed when the value is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("trommel-parquet-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of all files in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The properties of a file that the parquet crate writes.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The number of row groups.
    pub(crate) groups: usize,
    /// The number of rows of each row group.
    pub(crate) rows: i64,
    /// The columns for which the parquet crate writes filters.
    pub(crate) filtered: &'static [&'static str],
    pub(crate) position: BloomFilterPosition,
    pub(crate) compression: Compression,
    pub(crate) dictionary: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            groups: 3,
            rows: 500,
            filtered: &[],
            position: BloomFilterPosition::AfterRowGroup,
            compression: Compression::SNAPPY,
            dictionary: true,
        }
    }
}

pub(crate) const COLUMNS: [&str; 6] = ["id", "code", "price", "name", "key", "tags.list.element"];

/// The numbers from which the values of a row group are computed, one for each row. The numbers of each row group are
/// spread over the range of all numbers, so that no reader can exclude a row group by its minimum and maximum.
pub(crate) fn rows(options: &Options, group: usize) -> impl Iterator<Item = i64> + use<> {
    let (groups, rows) = (options.groups as i64, options.rows);
    (0..rows).map(move |row| (row * 7919 % rows) * groups + group as i64)
}

pub(crate) fn id(row: i64) -> i64 {
    row.wrapping_mul(0x0123_4567_89AB)
}

pub(crate) fn name(row: i64) -> Option<String> {
    (row % 5 != 0).then(|| format!("customer-{row:x}"))
}

/// Writes a file with integers, floats, strings with nulls, byte arrays of fixed length, and a list.
pub(crate) fn write(path: &Path, options: &Options) {
    let schema = "message schema {
        required int64 id;
        required int32 code;
        required double price;
        optional binary name (STRING);
        required fixed_len_byte_array(16) key (UUID);
        optional group tags (LIST) { repeated group list { optional binary element (STRING); } }
    }";
    let mut properties = WriterProperties::builder()
        .set_compression(options.compression)
        .set_dictionary_enabled(options.dictionary)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .set_bloom_filter_position(options.position)
        .set_created_by("the test of trommel-parquet".into())
        .set_key_value_metadata(Some(vec![KeyValue::new("key".into(), "value".to_string())]))
        .set_sorting_columns(Some(vec![SortingColumn {
            column_idx: 1,
            descending: true,
            nulls_first: false,
        }]));
    for column in options.filtered {
        let path = ColumnPath::new(column.split('.').map(String::from).collect());
        properties = properties
            .set_column_bloom_filter_enabled(path.clone(), true)
            .set_column_bloom_filter_fpp(path.clone(), 0.01)
            .set_column_bloom_filter_max_ndv(path, 2000);
    }
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for group in 0..options.groups {
        let mut to = writer.next_row_group().unwrap();
        write_group(&mut to, options, group);
        to.close().unwrap();
    }
    writer.close().unwrap();
}

fn write_group(to: &mut SerializedRowGroupWriter<'_, fs::File>, options: &Options, group: usize) {
    let rows: Vec<i64> = rows(options, group).collect();
    let mut column = to.next_column().unwrap().unwrap();
    let ids: Vec<i64> = rows.iter().map(|row| id(*row)).collect();
    column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
    column.close().unwrap();
    let mut column = to.next_column().unwrap().unwrap();
    let codes: Vec<i32> = rows.iter().map(|row| (*row % 50) as i32).collect();
    column.typed::<Int32Type>().write_batch(&codes, None, None).unwrap();
    column.close().unwrap();
    let mut column = to.next_column().unwrap().unwrap();
    let prices: Vec<f64> = rows.iter().map(|row| *row as f64 / 4.0).collect();
    column.typed::<DoubleType>().write_batch(&prices, None, None).unwrap();
    column.close().unwrap();
    let mut column = to.next_column().unwrap().unwrap();
    let names: Vec<Option<String>> = rows.iter().map(|row| name(*row)).collect();
    let levels: Vec<i16> = names.iter().map(|name| name.is_some().into()).collect();
    let names: Vec<ByteArray> = names.iter().flatten().map(|name| name.as_str().into()).collect();
    column.typed::<ByteArrayType>().write_batch(&names, Some(&levels), None).unwrap();
    column.close().unwrap();
    let mut column = to.next_column().unwrap().unwrap();
    let keys: Vec<FixedLenByteArray> =
        rows.iter().map(|row| ByteArray::from(key(*row).to_vec()).into()).collect();
    column.typed::<FixedLenByteArrayType>().write_batch(&keys, None, None).unwrap();
    column.close().unwrap();
    // The list of a row has two elements if `row % 4` is 0, one if it is 1, one null if it is 2, and none if it is 3.
    let mut column = to.next_column().unwrap().unwrap();
    let (mut tags, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        let (count, levels): (_, &[(i16, i16)]) = match row % 4 {
            0 => (2, &[(3, 0), (3, 1)]),
            1 => (1, &[(3, 0)]),
            2 => (0, &[(2, 0)]),
            _ => (0, &[(1, 0)]),
        };
        tags.extend((0..count).map(|i| ByteArray::from(tag(*row, i).as_str())));
        definitions.extend(levels.iter().map(|level| level.0));
        repetitions.extend(levels.iter().map(|level| level.1));
    }
    let typed = column.typed::<ByteArrayType>();
    typed.write_batch(&tags, Some(&definitions), Some(&repetitions)).unwrap();
    column.close().unwrap();
    assert!(to.next_column().unwrap().is_none());
}

pub(crate) fn key(row: i64) -> [u8; 16] {
    (i128::from(id(row)) << 40).to_be_bytes()
}

pub(crate) fn tag(row: i64, i: i64) -> String {
    format!("tag-{}", row * 2 + i)
}

/// The plain encodings of a column's values in a row group.
pub(crate) fn values(options: &Options, column: &str, group: usize) -> Vec<Vec<u8>> {
    let rows = rows(options, group);
    match column {
        "id" => rows.map(|row| id(row).to_le_bytes().to_vec()).collect(),
        "code" => rows.map(|row| (row as i32 % 50).to_le_bytes().to_vec()).collect(),
        "price" => rows.map(|row| (row as f64 / 4.0).to_le_bytes().to_vec()).collect(),
        "name" => rows.filter_map(name).map(String::into_bytes).collect(),
        "key" => rows.map(|row| key(row).to_vec()).collect(),
        "tags.list.element" => rows
            .flat_map(|row| (0..[2, 1, 0, 0][row as usize % 4]).map(move |i| tag(row, i)))
            .map(String::into_bytes)
            .collect(),
        other => panic!("there is no column {other}"),
    }
}

/// Returns the bytes of a file without rows, whose schema has the given fields.
pub(crate) fn file_of_schema(fields: &str) -> Vec<u8> {
    let schema = parse_message_type(&format!("message schema {{ {fields} }}")).unwrap();
    assert!(
        schema.get_fields().iter().all(|f| f.get_basic_info().repetition() != Repetition::REPEATED)
    );
    let properties = Arc::new(WriterProperties::builder().build());
    let writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties).unwrap();
    writer.into_inner().unwrap()
}
