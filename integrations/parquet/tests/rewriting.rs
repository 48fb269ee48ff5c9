//! Tests that the parquet crate reads rewritten files, and that only the filters in them have changed.

mod common;

use common::{COLUMNS, Folder, GROUPS, Options, golden_path, values};
use parquet::basic::Compression;
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{Page, PageReader};
use parquet::data_type::ByteArray;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::properties::{BloomFilterPosition, ReaderProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use std::fs::{self, File};
use std::path::Path;
use trommel::{Filter, Hasher, SplitBlockBloom};
use trommel_parquet::{FileFilters, Rewrite, RewriteError};

const POSITIONS: [BloomFilterPosition; 2] =
    [BloomFilterPosition::AfterRowGroup, BloomFilterPosition::End];

fn metadata(path: &Path) -> ParquetMetaData {
    let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    reader.try_parse(&File::open(path).unwrap()).unwrap();
    reader.finish().unwrap()
}

/// Checks that two files differ only in their filters. Metadata, bytes of the chunks, page indexes, and the pages to
/// which the page indexes point must be the same.
fn assert_same_except_filters(old: &Path, new: &Path) {
    let (old_bytes, new_bytes) = (fs::read(old).unwrap(), fs::read(new).unwrap());
    let (old, new) = (metadata(old), metadata(new));
    assert_eq!(old.file_metadata(), new.file_metadata());
    assert_eq!(old.num_row_groups(), new.num_row_groups());
    for (group, (a, b)) in old.row_groups().iter().zip(new.row_groups()).enumerate() {
        assert_eq!(a.num_rows(), b.num_rows());
        assert_eq!(a.total_byte_size(), b.total_byte_size());
        assert_eq!(a.sorting_columns(), b.sorting_columns());
        assert_eq!(a.ordinal(), b.ordinal());
        for (column, (a, b)) in a.columns().iter().zip(b.columns()).enumerate() {
            assert_same_chunk(a, b);
            let bytes = |chunk: &ColumnChunkMetaData, bytes: &[u8]| {
                let (start, len) = chunk.byte_range();
                bytes[start as usize..][..len as usize].to_vec()
            };
            assert!(
                bytes(a, &old_bytes) == bytes(b, &new_bytes),
                "chunk {column} of row group {group} differs"
            );
            let indexes = |metadata: &ParquetMetaData, bytes: &[u8]| {
                let index = metadata.page_index_for_row_group(group);
                let page = |page: &PageLocation| {
                    let at = page.offset as usize;
                    let bytes = bytes[at..][..page.compressed_page_size as usize].to_vec();
                    (page.first_row_index, bytes)
                };
                let pages =
                    index.page_locations(column).map(|pages| pages.iter().map(page).collect());
                (index.column_index(column).cloned(), pages)
            };
            let before: (_, Option<Vec<_>>) = indexes(&old, &old_bytes);
            assert!(before.0.is_some() && before.1.is_some());
            assert!(
                before == indexes(&new, &new_bytes),
                "the page indexes of column {column} in row group {group} differ"
            );
        }
    }
}

fn assert_same_chunk(a: &ColumnChunkMetaData, b: &ColumnChunkMetaData) {
    let unmoved = |chunk: &ColumnChunkMetaData| {
        let mut builder = chunk
            .clone()
            .into_builder()
            .set_bloom_filter_offset(None)
            .set_bloom_filter_length(None)
            .set_offset_index_offset(None)
            .set_offset_index_length(None)
            .set_column_index_offset(None)
            .set_data_page_offset(chunk.data_page_offset() - chunk.byte_range().0 as i64);
        if let Some(offset) = chunk.dictionary_page_offset() {
            let offset = offset - chunk.byte_range().0 as i64;
            builder = builder.set_dictionary_page_offset(Some(offset));
        }
        builder.build().unwrap()
    };
    assert_eq!(unmoved(a), unmoved(b));
    assert_eq!(a.offset_index_offset().is_some(), b.offset_index_offset().is_some());
}

/// The filter that the parquet crate reads for a column chunk.
fn read_by_parquet(path: &Path, group: usize, column: usize) -> Option<Sbbf> {
    let properties = ReaderProperties::builder().set_read_bloom_filter(true).build();
    let options = ReadOptionsBuilder::new().with_reader_properties(properties).build();
    let reader =
        SerializedFileReader::new_with_options(File::open(path).unwrap(), options).unwrap();
    let group = reader.get_row_group(group).unwrap();
    group.get_column_bloom_filter(column).cloned()
}

/// Builds a filter of `bytes` bytes from values.
fn built(values: &[Vec<u8>], bytes: usize) -> SplitBlockBloom {
    let builder = SplitBlockBloom::builder().memory_bytes(bytes).hasher(Hasher::PARQUET);
    let mut filter = builder.build().unwrap();
    values.iter().for_each(|value| {
        filter.add(value.as_slice());
    });
    filter
}

/// Checks that the filters of a column are built from its values, that their estimated false-positive rate is below
/// 1.5 · `fpr`, and that the parquet crate finds the values in them.
fn assert_filters(path: &Path, options: &Options, column: &str, fpr: f64) {
    let bytes = fs::read(path).unwrap();
    let file = FileFilters::open(&bytes).unwrap();
    let column = file.column(column).unwrap();
    for group in 0..options.groups {
        let filter = file.filter(group, column).unwrap().expect("every chunk must have a filter");
        let values = values(options, column.path(), group);
        let ours = built(&values, filter.bitset().len());
        assert!(
            filter.bitset() == ours.parquet_bitset(),
            "the bitsets differ: column {}, row group {group}",
            column.path()
        );
        // The false-positive rate is estimated from the number of set bits. This number varies much, since a filter has
        // at most 500 distinct values.
        assert!(
            filter.estimated_fpr() < 1.5 * fpr,
            "{}: the false-positive rate is {}",
            column.path(),
            filter.estimated_fpr()
        );
        let theirs = read_by_parquet(path, group, column.index())
            .expect("the parquet crate must find the filter");
        assert!(values.iter().all(|value| theirs.check(&ByteArray::from(value.clone()))));
    }
}

#[test]
fn a_rewriting_without_operations_copies_the_file() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    let mut inputs = vec![golden_path("pyarrow"), golden_path("duckdb")];
    for position in POSITIONS {
        common::write(
            &input,
            &Options { filtered: &["id", "name"], position, ..Options::default() },
        );
        inputs.push(folder.path(&format!("{position:?}")));
        fs::copy(&input, inputs.last().unwrap()).unwrap();
    }
    for input in &inputs {
        let report = Rewrite::new(input).write(&output).unwrap();
        assert!(
            fs::read(input).unwrap() == fs::read(&output).unwrap(),
            "{}: the copy differs",
            input.display()
        );
        assert_eq!(report.file_bytes_before, report.file_bytes_after);
        assert!(report.filters.is_empty());
    }
}

#[test]
fn added_filters_hold_the_values() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    for compression in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())]
    {
        for dictionary in [false, true] {
            let options = Options { compression, dictionary, ..Options::default() };
            common::write(&input, &options);
            let rewrite =
                COLUMNS.iter().fold(Rewrite::new(&input), |to, column| to.add(column, 0.01));
            let mut steps = Vec::new();
            let report =
                rewrite.write_with_progress(&output, |done, all| steps.push((done, all))).unwrap();
            assert_eq!(steps.first(), Some(&(1, 18)));
            assert_eq!(steps.last(), Some(&(18, 18)));
            assert_same_except_filters(&input, &output);
            for column in COLUMNS {
                assert_filters(&output, &options, column, 0.01);
            }
            for change in &report.filters {
                let mut values = values(&options, &change.column, change.row_group);
                values.sort();
                values.dedup();
                assert_eq!(change.distinct, Some(values.len() as u64));
                assert_eq!(change.bytes_before, 0);
                let bitset = change.bytes_after.next_power_of_two() / 2;
                let header = change.bytes_after - bitset;
                assert!((1..64).contains(&header), "a header of {header} bytes");
            }
            let before = fs::metadata(&input).unwrap().len();
            let filters: u64 = report.filters.iter().map(|change| change.bytes_after).sum();
            assert_eq!(fs::metadata(&output).unwrap().len(), report.file_bytes_after);
            // The file grows by the filters, and by two fields in the footer for each of the 18 filters. The two fields
            // take fewer than 16 bytes.
            assert!(report.file_bytes_after > before + filters);
            assert!(report.file_bytes_after < before + filters + 18 * 16);
        }
    }
}

/// The equality of the files shows that rewriting changes nothing but the filters.
#[test]
fn an_added_filter_that_is_removed_gives_the_old_file_byte_for_byte() {
    let folder = Folder::new();
    let (input, with, without) = (folder.path("in"), folder.path("with"), folder.path("without"));
    common::write(&input, &Options::default());
    for (input, columns) in [(input, &COLUMNS[..]), (golden_path("pyarrow"), &["plain"])] {
        let add = columns.iter().fold(Rewrite::new(&input), |to, column| to.add(column, 0.01));
        add.write(&with).unwrap();
        let remove = columns.iter().fold(Rewrite::new(&with), |to, column| to.remove(column));
        let report = remove.write(&without).unwrap();
        assert!(report.filters.iter().all(|change| (change.bytes_after, change.fpr) == (0, 1.0)));
        assert!(fs::read(&input).unwrap() == fs::read(&without).unwrap());
    }
}

#[test]
fn replaced_filters_leave_no_gap_between_row_groups_or_at_the_end() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    for position in POSITIONS {
        let options = Options { filtered: &["id", "name", "key"], position, ..Options::default() };
        common::write(&input, &options);
        let report = Rewrite::new(&input)
            .replace("id", 0.001)
            .replace("code", 0.02)
            .remove("key")
            .write(&output)
            .unwrap();
        assert_same_except_filters(&input, &output);
        assert_filters(&output, &options, "id", 0.001);
        assert_filters(&output, &options, "code", 0.02);
        assert_filters(&output, &options, "name", 0.02);
        assert!(read_by_parquet(&output, 0, 4).is_none());
        assert_eq!(report.unused_bytes, 0);
        let grown: i64 = report
            .filters
            .iter()
            .map(|change| change.bytes_after as i64 - change.bytes_before as i64)
            .sum();
        let file = report.file_bytes_after as i64 - report.file_bytes_before as i64;
        assert!(
            (file - grown).abs() < 100,
            "the file grew by {file} bytes, its filters by {grown}"
        );
    }
}

#[test]
fn a_folded_filter_equals_one_built_at_its_size() {
    let folder = Folder::new();
    let (input, large, output) = (folder.path("in"), folder.path("large"), folder.path("out"));
    let options = Options::default();
    common::write(&input, &options);
    Rewrite::new(&input).add("id", 1e-5).add("name", 0.01).write(&large).unwrap();
    let report = Rewrite::new(&large).fold("id", 0.02).fold("name", 1e-9).write(&output).unwrap();
    assert_same_except_filters(&large, &output);
    assert_filters(&output, &options, "id", 0.02);
    for change in report.filters {
        if change.column == "id" {
            assert!(change.bytes_after * 3 < change.bytes_before);
            assert!(change.fpr <= 0.02);
        } else {
            assert_eq!(change.bytes_after, change.bytes_before);
        }
        assert_eq!(change.distinct, None);
    }
    // Filters of other writers are folded too, here to the smallest size. The bitset shrinks from 64 to 32 bytes,
    // and the header from 16 to 15.
    let report = Rewrite::new(golden_path("pyarrow")).fold("id", 0.5).write(&output).unwrap();
    assert!(
        report.filters.iter().all(|change| (change.bytes_before, change.bytes_after) == (80, 47))
    );
}

#[test]
fn sizes_need_not_be_powers_of_two() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    let options = Options::default();
    common::write(&input, &options);
    let report = Rewrite::new(&input).any_size(true).add("id", 0.01).write(&output).unwrap();
    assert_filters(&output, &options, "id", 0.01);
    // A filter of 500 values with 10.5 bits each takes about 656 bytes, in blocks of 32 bytes after a header.
    assert!(report.filters.iter().all(|change| (650..730).contains(&change.bytes_after)));
}

/// The file has an index of another program. The footer does not account for this index, and the program finds it by
/// its offset.
#[test]
fn nothing_moves_in_a_file_with_unaccounted_bytes() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    let options = Options { filtered: &["id"], ..Options::default() };
    common::write(&input, &options);
    let bytes = fs::read(&input).unwrap();
    let footer_len = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap()) as usize;
    let footer_start = bytes.len() - 8 - footer_len;
    let extra = b"an index of other programs";
    fs::write(&input, [&bytes[..footer_start], extra, &bytes[footer_start..]].concat()).unwrap();

    let report = Rewrite::new(&input).replace("id", 0.01).add("code", 0.01).write(&output).unwrap();
    let rewritten = fs::read(&output).unwrap();
    assert!(rewritten[..footer_start] == bytes[..footer_start]);
    assert!(rewritten[footer_start..].starts_with(extra));
    let old: u64 = report.filters.iter().map(|change| change.bytes_before).sum();
    assert_eq!((report.unused_bytes, old > 0), (old, true));
    assert_same_except_filters(&input, &output);
    assert_filters(&output, &options, "id", 0.01);
    assert_filters(&output, &options, "code", 0.01);
}

#[test]
fn the_output_can_be_the_input_and_keeps_its_permissions() {
    let folder = Folder::new();
    let (file, copy) = (folder.path("file"), folder.path("copy"));
    let options = Options::default();
    common::write(&file, &options);
    fs::copy(&file, &copy).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    }
    Rewrite::new(&file).add("id", 0.01).write(&file).unwrap();
    assert_filters(&file, &options, "id", 0.01);
    assert_same_except_filters(&copy, &file);
    assert_eq!(folder.names(), ["copy", "file"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }
}

#[test]
fn impossible_operations_are_refused_and_change_nothing() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    common::write(&input, &Options { filtered: &["id"], ..Options::default() });
    fs::write(&output, "as it was").unwrap();
    let refused = |rewrite: Rewrite| {
        let error = rewrite.write(&output).unwrap_err();
        assert_eq!(fs::read(&output).unwrap(), b"as it was");
        assert_eq!(folder.names(), ["in", "out"]);
        assert!(!error.to_string().is_empty());
        error
    };
    let new = || Rewrite::new(&input);
    assert!(matches!(refused(new().add("none", 0.01)), RewriteError::Column(_)));
    assert!(matches!(refused(new().add("tags", 0.01)), RewriteError::Column(_)));
    assert!(matches!(
        refused(new().add("id", 0.01)),
        RewriteError::FilterExists { row_group: 0, .. }
    ));
    assert!(matches!(refused(new().remove("code")), RewriteError::NoFilter { .. }));
    assert!(matches!(refused(new().fold("code", 0.1)), RewriteError::NoFilter { .. }));
    let twice = new().add("code", 0.01).replace("code", 0.1);
    assert!(matches!(refused(twice), RewriteError::TwoOperations { .. }));
    for fpr in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(new().add("code", fpr)), RewriteError::Fpr { .. }));
        assert!(matches!(refused(new().fold("id", fpr)), RewriteError::Fpr { .. }));
    }
    assert!(matches!(refused(new().add("code", 1e-300)), RewriteError::Size { .. }));
    assert!(matches!(refused(Rewrite::new(folder.path("none"))), RewriteError::Io { .. }));
    // The output's folder does not exist.
    let nowhere = new().add("code", 0.01).write(folder.path("none/out")).unwrap_err();
    assert!(matches!(nowhere, RewriteError::Io { .. }));

    let schema = "required boolean flag; required int96 time;";
    fs::write(&input, common::file_of_schema(schema)).unwrap();
    for column in ["flag", "time"] {
        let error = refused(new().add(column, 0.01));
        assert!(matches!(error, RewriteError::UnsupportedType { .. }));
    }
}

/// The pages of a chunk are damaged, so they can be copied but not decoded.
#[test]
fn values_that_cannot_be_decoded_are_an_error() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    common::write(&input, &Options::default());
    let (start, len) = metadata(&input).row_group(1).column(3).byte_range();
    let mut bytes = fs::read(&input).unwrap();
    bytes[start as usize..][..len as usize].fill(0xA5);
    fs::write(&input, &bytes).unwrap();
    let error = Rewrite::new(&input).add("name", 0.01).write(&output).unwrap_err();
    assert!(matches!(error, RewriteError::Values { row_group: 1, .. }));
    assert_eq!(folder.names(), ["in"]);
    Rewrite::new(&input).add("id", 0.01).write(&output).unwrap();
}

#[test]
fn empty_files_and_columns_of_nulls_are_rewritten() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    fs::write(&input, common::file_of_schema("required int64 id;")).unwrap();
    let report = Rewrite::new(&input).add("id", 0.01).write(&output).unwrap();
    assert!(report.filters.is_empty());
    assert!(fs::read(&input).unwrap() == fs::read(&output).unwrap());

    common::write(&input, &Options { rows: 1, ..Options::default() });
    Rewrite::new(&input).add("name", 0.01).write(&output).unwrap();
    let bytes = fs::read(&output).unwrap();
    let file = FileFilters::open(&bytes).unwrap();
    let filters: Vec<_> = file.filters().map(|(.., filter)| filter.unwrap()).collect();
    assert_eq!(filters.len(), GROUPS);
    // The first row group consists of row 0, which has no name.
    assert!(filters[0].view().is_empty() && !filters[1].view().is_empty());
    assert!(filters.iter().all(|filter| filter.bitset().len() == 32));
}

/// The parquet crate reads the pages through the offset index, which has moved.
#[test]
fn pages_are_found_through_the_moved_offset_index() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    common::write(&input, &Options { filtered: &["id", "key"], ..Options::default() });
    Rewrite::new(&input).remove("id").remove("key").write(&output).unwrap();
    assert!(fs::metadata(&output).unwrap().len() < fs::metadata(&input).unwrap().len());
    let read = |path: &Path| {
        let options = ReadOptionsBuilder::new().with_page_index().build();
        let reader = SerializedFileReader::new_with_options(File::open(path).unwrap(), options);
        let reader = reader.unwrap();
        let mut pages = Vec::new();
        for group in 0..GROUPS {
            let group = reader.get_row_group(group).unwrap();
            for column in 0..COLUMNS.len() {
                let mut reader: Box<dyn PageReader> = group.get_column_page_reader(column).unwrap();
                while let Some(page) = reader.get_next_page().unwrap() {
                    let data = matches!(page, Page::DataPage { .. } | Page::DataPageV2 { .. });
                    pages.push((data, page.num_values(), page.buffer().to_vec()));
                }
            }
        }
        pages
    };
    let pages = read(&output);
    assert!(pages.len() > 80 && pages == read(&input));
}
