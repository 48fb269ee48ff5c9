//! Tests malformed files. Reading or rewriting them must not panic, and errors must have the right type. Reading their
//! footers must not use much memory.

mod common;
// The fuzz package has the following module in its library.
#[path = "../fuzz/src/malformed_file.rs"]
#[allow(unreachable_pub, reason = "public in the fuzz package")]
mod malformed_file;

use common::{Folder, Options, golden};
use malformed_file::{around_footer, judge, parts, run};
use parquet::file::metadata::{
    ColumnChunkMetaDataBuilder, ParquetMetaDataBuilder, ParquetMetaDataReader,
    ParquetMetaDataWriter,
};
use std::fs;
use trommel_parquet::{ChunkFilter, FileError, FileFilters, FilterError, Rewrite, RewriteError};

fn mixed(i: u64) -> u64 {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i >> 7).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11
}

#[test]
fn no_changed_byte_after_the_data_causes_a_panic() {
    for name in ["pyarrow", "duckdb"] {
        let bytes = golden(name);
        let file = FileFilters::open(&bytes).unwrap();
        let (.., first) = file.filters().next().unwrap();
        let begin = first.unwrap().offset() as usize;
        let mut changed = bytes.clone();
        for at in begin..bytes.len() {
            for change in [0x01, 0x10, 0x80, 0xFF] {
                changed[at] ^= change;
                judge(&changed);
                changed[at] = bytes[at];
            }
        }
    }
}

#[test]
fn every_truncated_file_and_footer_is_refused() {
    for name in ["pyarrow", "duckdb"] {
        let bytes = golden(name);
        for end in 0..bytes.len() {
            assert!(FileFilters::open(&bytes[..end]).is_err(), "{name}: {end} bytes are accepted");
        }
    }
    let (footer, _) = parts();
    for end in 0..footer.len() {
        let file = around_footer(&footer[..end]);
        assert!(FileFilters::open(&file).is_err(), "{end} bytes of a footer are accepted");
    }
}

#[test]
fn random_bytes_cause_no_panic() {
    let (footer, _) = parts();
    for seed in 0..20_000u64 {
        let len = (mixed(seed) % 200) as usize;
        let noise: Vec<u8> = (0..len as u64).map(|i| mixed(seed << 20 | i) as u8).collect();
        run(&noise);
        // The beginning of a real footer, followed by noise.
        let cut = (mixed(!seed) as usize) % footer.len();
        judge(&around_footer(&[&footer[..cut], &noise].concat()));
    }
}

/// Measures the peak of the process's resident memory. The size of the address space is no measure, since threads
/// reserve much of the address space.
#[cfg(target_os = "linux")]
#[test]
fn footers_that_declare_huge_lists_or_paths_use_little_memory() {
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_string();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = peak();
    // Each footer declares a list of 2^31 - 1 structs: as its schema, its row groups, or the columns of a row group.
    let many = [0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07];
    for head in [&[0x15, 2, 0x19][..], &[0x49], &[0x49, 0x1C, 0x19]] {
        let footer = [head, &many, &[0; 64]].concat();
        assert!(FileFilters::open(&around_footer(&footer)).is_err());
    }
    // In this footer's schema, a group with a name of 1 MiB has a thousand columns, whose paths would take a gigabyte.
    let mut footer = vec![0x29, 0xFC];
    let columns = 1000;
    footer.extend([0xEA, 0x07]);
    footer.extend([0x48, 1, b'r', 0x15, 2, 0]);
    let name = vec![b'n'; 1 << 20];
    footer.extend([0x48, 0x80, 0x80, 0x40]);
    footer.extend(&name);
    footer.extend([0x15, 0xD0, 0x0F, 0]);
    for _ in 0..columns {
        footer.extend([0x15, 2, 0x38, 1, b'c', 0]);
    }
    footer.extend([0x29, 0x0C, 0]);
    let refused = FileFilters::open(&around_footer(&footer)).err();
    let problem = "the paths of the columns are too long";
    assert_eq!(refused, Some(FileError::Schema { problem }));
    let file = around_footer(&footer).len() as u64;
    assert!(
        (peak() - before) * 1024 < 100 * file + (256 << 20),
        "the peak of memory grew by {} KB",
        peak() - before
    );
}

/// Writes a file with the parquet crate, inserts `more` before its footer, and changes the metadata of the first chunk
/// in the footer. Returns the bytes of the file.
fn with_chunk(
    more: &[u8],
    change: impl Fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
) -> Vec<u8> {
    let folder = Folder::new();
    let options = Options { groups: 1, filtered: &["id"], ..Options::default() };
    common::write(&folder.path("in"), &options);
    let bytes = fs::read(folder.path("in")).unwrap();
    let mut reader = ParquetMetaDataReader::new();
    reader.try_parse(&bytes::Bytes::from(bytes.clone())).unwrap();
    let metadata = reader.finish().unwrap();
    let group = metadata.row_group(0).clone().into_builder();
    let columns = metadata.row_group(0).columns().iter().enumerate().map(|(i, chunk)| {
        let chunk = chunk.clone().into_builder();
        let chunk = if i == 0 { change(chunk) } else { chunk };
        chunk.build().unwrap()
    });
    let group = group.set_column_metadata(columns.collect()).build().unwrap();
    let metadata =
        ParquetMetaDataBuilder::new(metadata.file_metadata().clone()).add_row_group(group).build();
    let footer = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap()) as usize;
    let mut file = bytes[..bytes.len() - 8 - footer].to_vec();
    file.extend(more);
    ParquetMetaDataWriter::new(&mut file, &metadata).finish().unwrap();
    file
}

fn with_filter_at(offset: i64, length: Option<i32>) -> Vec<u8> {
    with_chunk(&[], |chunk| {
        chunk.set_bloom_filter_offset(Some(offset)).set_bloom_filter_length(length)
    })
}

#[test]
fn chunks_outside_the_file_are_refused() {
    let folder = Folder::new();
    let refuse = |bytes: Vec<u8>| {
        fs::write(folder.path("in"), bytes).unwrap();
        let rewrite = Rewrite::new(folder.path("in")).replace("id", 0.01);
        let error = rewrite.write(folder.path("out")).unwrap_err();
        let problem = "the chunk's data are outside the file";
        let expected = FileError::Chunk { row_group: 0, column: 0, problem };
        assert!(matches!(&error, RewriteError::File(found) if *found == expected), "{error:?}");
    };
    for offset in [-1, i64::MIN, i64::MAX, 1 << 40] {
        let move_data = |chunk: ColumnChunkMetaDataBuilder| {
            chunk.set_data_page_offset(offset).set_dictionary_page_offset(None)
        };
        refuse(with_chunk(&[], move_data));
    }
    for size in [-1, i64::MIN, i64::MAX - (1 << 40), 1 << 40] {
        refuse(with_chunk(&[], |chunk| chunk.set_total_compressed_size(size)));
    }
}

#[test]
fn wrong_filter_offsets_and_lengths_are_refused_with_their_numbers() {
    let folder = Folder::new();
    common::write(
        &folder.path("in"),
        &Options { groups: 1, filtered: &["id"], ..Options::default() },
    );
    let valid = fs::read(folder.path("in")).unwrap();
    let file = FileFilters::open(&valid).unwrap();
    let filter = file.filter(0, file.column("id").unwrap()).unwrap().unwrap();
    let (offset, len) = (filter.offset() as i64, filter.len_bytes() as i32);

    let refused = |at: i64, length: Option<i32>| {
        let bytes = with_filter_at(at, length);
        let file = FileFilters::open(&bytes).unwrap();
        let error = file.filter(0, file.column("id").unwrap()).unwrap_err();
        // Such a filter cannot be folded, but it can be replaced.
        fs::write(folder.path("bad"), &bytes).unwrap();
        let fold = Rewrite::new(folder.path("bad")).fold("id", 0.5).write(folder.path("out"));
        assert!(matches!(fold.unwrap_err(), RewriteError::File(FileError::Chunk { .. })));
        Rewrite::new(folder.path("bad")).replace("id", 0.01).write(folder.path("out")).unwrap();
        let bytes = fs::read(folder.path("out")).unwrap();
        let file = FileFilters::open(&bytes).unwrap();
        assert!(file.filter(0, file.column("id").unwrap()).unwrap().is_some());
        match error {
            FileError::Filter { row_group: 0, column: 0, source } => source,
            other => panic!("another error: {other}"),
        }
    };
    for at in [-1, i64::MIN, 0, 3, i64::MAX, valid.len() as i64] {
        assert!(
            matches!(refused(at, Some(len)), FilterError::OutsideFile { offset, .. } if offset == at)
        );
    }
    for declared in [len - 1, len + 1, 0, -1, i32::MAX] {
        let (declared, actual) = (declared.into(), len as u64);
        let error = FilterError::DeclaredLength { declared, actual };
        assert_eq!(refused(offset, Some(declared as i32)), error);
    }
    // There is a page at this offset, not a filter.
    assert!(matches!(
        refused(4, None),
        FilterError::Header { .. } | FilterError::Unsupported { .. }
    ));

    // Old files do not declare the length of a filter.
    let bytes = with_filter_at(offset, None);
    let file = FileFilters::open(&bytes).unwrap();
    let found = file.filter(0, file.column("id").unwrap()).unwrap().unwrap();
    assert!(found.bitset() == filter.bitset());
    fs::write(folder.path("old"), &bytes).unwrap();
    let report = Rewrite::new(folder.path("old")).remove("id").write(folder.path("out")).unwrap();
    assert_eq!(report.filters[0].bytes_before, len as u64);
}

/// A later version of the format could add a field to the header.
#[test]
fn filters_with_a_long_unknown_field_are_read_and_removed() {
    let folder = Folder::new();
    let valid = with_chunk(&[], |chunk| chunk);
    let file = FileFilters::open(&valid).unwrap();
    let filter = file.filter(0, file.column("id").unwrap()).unwrap().unwrap();
    let header = &valid[filter.offset() as usize..][..filter.len_bytes() - filter.bitset().len()];
    // A string of 100 bytes, as field 5. The byte 0 ends the header.
    let field = [&[0x18, 100][..], &[b'x'; 100], &[0]].concat();
    let long = [&header[..header.len() - 1], &field, filter.bitset()].concat();
    let footer = u32::from_le_bytes(*valid[..valid.len() - 4].last_chunk().unwrap()) as usize;
    let offset = (valid.len() - 8 - footer) as i64;
    let bytes = with_chunk(&long, |chunk| {
        chunk.set_bloom_filter_offset(Some(offset)).set_bloom_filter_length(None)
    });
    let file = FileFilters::open(&bytes).unwrap();
    let found = file.filter(0, file.column("id").unwrap()).unwrap().unwrap();
    assert_eq!(found.len_bytes(), long.len());
    assert!(found.bitset() == filter.bitset());
    fs::write(folder.path("in"), &bytes).unwrap();
    let report = Rewrite::new(folder.path("in")).remove("id").write(folder.path("out")).unwrap();
    assert_eq!(report.filters[0].bytes_before, long.len() as u64);
}

#[test]
fn headers_that_the_format_does_not_define_are_refused() {
    let header = |bytes: i32, choices: [u8; 3]| {
        let zigzag = (bytes << 1 ^ bytes >> 31) as u32;
        let mut out = vec![0x15];
        let mut left = zigzag;
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
        choices.iter().for_each(|choice| out.extend([0x1C, choice << 4 | 0x0C, 0, 0]));
        out.push(0);
        out
    };
    let parse = |bytes: i32, choices| {
        let file = [header(bytes, choices), vec![0; 64]].concat();
        ChunkFilter::parse(&file).map(|filter| filter.len_bytes())
    };
    assert_eq!(parse(64, [1; 3]), Ok(header(64, [1; 3]).len() + 64));
    for (i, field) in ["algorithm", "hash", "compression"].into_iter().enumerate() {
        let mut choices = [1; 3];
        choices[i] = 2;
        assert_eq!(parse(64, choices), Err(FilterError::Unsupported { field, choice: 2 }));
    }
    for bytes in [0, -32, 31, 33, 63, i32::MIN, i32::MAX] {
        assert_eq!(parse(bytes, [1; 3]), Err(FilterError::BitsetLength { bytes: bytes.into() }));
    }
    let need = header(1 << 30, [1; 3]).len() as u64 + (1 << 30);
    let got = header(1 << 30, [1; 3]).len() as u64 + 64;
    assert_eq!(parse(1 << 30, [1; 3]), Err(FilterError::Truncated { need, got }));
    let whole = [header(64, [1; 3]), vec![0; 64]].concat();
    for end in 0..whole.len() {
        assert!(ChunkFilter::parse(&whole[..end]).is_err());
    }
    // A field is missing.
    assert!(matches!(ChunkFilter::parse(&[0]), Err(FilterError::Header { .. })));
    assert!(matches!(ChunkFilter::parse(&[0x15, 64, 0]), Err(FilterError::Header { .. })));
}

#[test]
fn encrypted_truncated_and_foreign_files_are_refused() {
    let folder = Folder::new();
    let bytes = golden("pyarrow");
    let refused = |bytes: &[u8]| {
        let error = FileFilters::open(bytes).unwrap_err();
        fs::write(folder.path("bad"), bytes).unwrap();
        match Rewrite::new(folder.path("bad")).add("plain", 0.01).write(folder.path("out")) {
            Err(RewriteError::File(same)) => assert_eq!(same, error),
            other => panic!("another result: {other:?}"),
        }
        error
    };
    let len = bytes.len();
    let mut encrypted = bytes.clone();
    encrypted[..4].copy_from_slice(b"PARE");
    assert_eq!(refused(&encrypted), FileError::Encrypted);
    encrypted[len - 4..].copy_from_slice(b"PARE");
    assert_eq!(refused(&encrypted), FileError::Encrypted);
    // This file has a readable footer with an encryption algorithm.
    let (footer, _) = parts();
    let named = [&footer[..footer.len() - 1], &[0x1C, 0x1C, 0, 0, 0]].concat();
    assert_eq!(refused(&around_footer(&named)), FileError::Encrypted);

    assert_eq!(refused(b""), FileError::Truncated { need: 12, got: 0 });
    assert_eq!(refused(b"PAR1PAR1"), FileError::Truncated { need: 12, got: 8 });
    assert_eq!(refused(b"PAR1\x01\0\0\0PAR1"), FileError::Truncated { need: 13, got: 12 });
    assert_eq!(refused(&[b'x'; 100]), FileError::Magic { found: *b"xxxx" });
    let huge = [&b"PAR1"[..], &[0; 100], &[0xFF; 4], b"PAR1"].concat();
    assert_eq!(refused(&huge), FileError::Truncated { need: 12 + u64::from(u32::MAX), got: 112 });
}

/// Rewriting a malformed file either fails or makes a file that can be opened. A panic of the parquet crate becomes an
/// error.
#[test]
fn malformed_files_are_rewritten_or_refused() {
    let folder = Folder::new();
    let (input, output) = (folder.path("in"), folder.path("out"));
    let bytes = golden("pyarrow");
    let (_, footer_start) = parts();
    let mut changed = bytes.clone();
    let (mut rewritten, mut refused) = (0, 0);
    for i in 0..600u64 {
        let at = footer_start + (mixed(i) as usize) % (bytes.len() - footer_start);
        changed[at] ^= 1 << (i % 8);
        fs::write(&input, &changed).unwrap();
        let rewrite =
            Rewrite::new(&input).replace("plain", 0.01).replace("name", 0.01).remove("id");
        match rewrite.write(&output) {
            Ok(_) => {
                rewritten += 1;
                FileFilters::open(&fs::read(&output).unwrap()).unwrap();
                fs::remove_file(&output).unwrap();
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
        assert_eq!(folder.names(), ["in"]);
        changed[at] = bytes[at];
    }
    assert!(rewritten > 50 && refused > 50, "{rewritten} files are rewritten, {refused} refused");
}

/// Runs the fuzz target on its seeds, without a fuzzer.
#[test]
fn the_fuzz_target_passes_on_its_seeds() {
    let mut seeds = 0;
    for entry in fs::read_dir("fuzz/seeds/malformed_file").unwrap() {
        run(&fs::read(entry.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds > 0);
}
