//! The split-block filter reads the Bloom filters of real Parquet files, and Parquet's reader reads the split-block
//! filter.
// Parquet's writer hashes integers in the byte order of the machine, so the files that it writes on a big-endian
// machine differ from those of other machines, and readers on other machines do not find the keys in these files.
#![cfg(target_endian = "little")]

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::bloom_filter::Sbbf;
use parquet::data_type::{AsBytes, ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::{ReaderProperties, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trommel_base::{Bitmap, Filter, Hasher, Insert, KeyHash};
use trommel_bloom::SplitBlockBloom;

const ROWS: i64 = 20_000;
const PROBES: i64 = 100_000;
const IDS: usize = 0;
const NAMES: usize = 1;

/// An id in the file: a constant times an even number. Absent ids are the same constant times an odd number.
fn id(i: i64) -> i64 {
    (2 * i).wrapping_mul(0x0123_4567_89AB)
}

fn absent_id(i: i64) -> i64 {
    (2 * i + 1).wrapping_mul(0x0123_4567_89AB)
}

fn name(id: i64) -> String {
    format!("customer-{id:x}")
}

/// The path of a temporary file that only the test `test` of this process uses.
fn path(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}.parquet", std::process::id()))
}

/// Writes a file of two columns, both with a Bloom filter made by the parquet crate.
fn write_file(path: &Path, keys_planned: u64) {
    let column = |name: &str, physical, logical| {
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical);
        Arc::new(column.build().unwrap())
    };
    let fields = vec![
        column("id", PhysicalType::INT64, None),
        column("name", PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    ];
    let schema = Type::group_type_builder("schema").with_fields(fields).build().unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_bloom_filter_fpp(0.01)
        .set_bloom_filter_max_ndv(keys_planned)
        .build();
    let file = File::create(path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();

    let mut column = group.next_column().unwrap().unwrap();
    let ids: Vec<i64> = (0..ROWS).map(id).collect();
    column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
    column.close().unwrap();

    let mut column = group.next_column().unwrap().unwrap();
    let names: Vec<ByteArray> =
        ids.iter().map(|id| ByteArray::from(name(*id).into_bytes())).collect();
    column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
    column.close().unwrap();

    group.close().unwrap();
    writer.close().unwrap();
}

/// The Bloom filter that the parquet crate's reader finds in a column of a file.
fn read_by_parquet(path: &Path, column: usize) -> Sbbf {
    let options = ReadOptionsBuilder::new()
        .with_reader_properties(ReaderProperties::builder().set_read_bloom_filter(true).build())
        .build();
    let file = File::open(path).unwrap();
    let reader = SerializedFileReader::new_with_options(file, options).unwrap();
    let group = reader.get_row_group(0).unwrap();
    group.get_column_bloom_filter(column).expect("the column has a Bloom filter").clone()
}

/// The byte range of a column's bitset in the file. The file's metadata gives one range for the header and the bitset
/// of the Bloom filter together; the bitset is at the end of that range.
fn bitset_range(path: &Path, column: usize) -> Range<usize> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().row_group(0).column(column).clone();
    let start = metadata.bloom_filter_offset().unwrap() as usize;
    let end = start + metadata.bloom_filter_length().unwrap() as usize;
    end - read_by_parquet(path, column).num_blocks() * 32..end
}

/// The bitset of a column, read from the file.
fn read_bitset(path: &Path, column: usize) -> Vec<u8> {
    fs::read(path).unwrap()[bitset_range(path, column)].to_vec()
}

/// An empty filter of this crate with `bytes` bytes and Parquet's hash function.
fn ours_of(bytes: usize) -> SplitBlockBloom {
    let builder = SplitBlockBloom::builder().keys(ROWS as usize).memory_bytes(bytes);
    let filter = builder.hasher(Hasher::PARQUET).build().unwrap();
    assert_eq!(filter.memory_bytes(), bytes);
    filter
}

/// Asserts that our filter gives the answers of Parquet's filter for all values, one by one and in a batch.
fn assert_same_answers<V: AsBytes>(
    ours: &SplitBlockBloom<impl AsRef<[u8]>>,
    theirs: &Sbbf,
    values: impl Iterator<Item = V>,
    hash: impl Fn(&V) -> KeyHash,
) {
    let values: Vec<V> = values.collect();
    let hashes: Vec<KeyHash> = values.iter().map(hash).collect();
    let mut found = Bitmap::new(0);
    ours.contains_batch(&hashes, &mut found);
    for (i, value) in values.iter().enumerate() {
        let expected = theirs.check(value);
        assert_eq!(found.get(i), expected, "value {i} of a batch: left is ours, right is theirs");
        assert_eq!(
            ours.contains_hash(hashes[i]),
            expected,
            "value {i}: left is ours, right is theirs"
        );
    }
}

fn mixed_ids() -> impl Iterator<Item = i64> {
    (0..PROBES).map(|i| if i % 5 == 0 { id(i / 5) } else { absent_id(i) })
}

#[test]
fn a_filter_from_a_parquet_file_finds_all_values_of_the_column() {
    let path = path("from-parquet");
    write_file(&path, ROWS as u64);

    let ids = SplitBlockBloom::from_parquet_bitset(&read_bitset(&path, IDS)).unwrap();
    assert_eq!(ids.hasher(), Hasher::PARQUET);
    assert!((0..ROWS).all(|i| ids.contains(&id(i))), "an id is not found");
    let theirs = read_by_parquet(&path, IDS);
    assert_same_answers(&ids, &theirs, mixed_ids(), |id| ids.hash(id));
    let estimate = ids.len() as f64;
    assert!((estimate / ROWS as f64 - 1.0).abs() < 0.03, "{ROWS} rows, {estimate} estimated");

    let names = SplitBlockBloom::from_parquet_bitset(&read_bitset(&path, NAMES)).unwrap();
    assert!((0..ROWS).all(|i| names.contains(&name(id(i)))), "a name is not found");
    let theirs = read_by_parquet(&path, NAMES);
    let values = mixed_ids().map(|id| ByteArray::from(name(id).into_bytes()));
    assert_same_answers(&names, &theirs, values, |value| names.hash(value.data()));
    fs::remove_file(path).unwrap();
}

#[test]
fn our_bitset_equals_parquets_bit_for_bit() {
    // Parquet's writer folds a filter that was planned for too many keys, so the filter in the file can be smaller than
    // planned. Our filter is built at the size of the filter in the file.
    for keys_planned in [ROWS as u64, 50 * ROWS as u64, 100] {
        let path = path(&format!("bit-for-bit-{keys_planned}"));
        write_file(&path, keys_planned);

        let theirs = read_bitset(&path, IDS);
        let mut ours = ours_of(theirs.len());
        (0..ROWS).for_each(|i| assert!(ours.insert(&id(i)).is_ok()));
        assert!(
            ours.parquet_bitset() == theirs,
            "the bitset of the ids differs, {keys_planned} keys planned"
        );

        let theirs = read_bitset(&path, NAMES);
        let mut ours = ours_of(theirs.len());
        let hashes: Vec<KeyHash> = (0..ROWS).map(|i| ours.hash(&name(id(i)))).collect();
        ours.insert_batch(&hashes).unwrap();
        assert!(
            ours.parquet_bitset() == theirs,
            "the bitset of the names differs, {keys_planned} keys planned"
        );
        fs::remove_file(path).unwrap();
    }
}

/// Replaces the bitset of the ids in the file by the bitset of our filter, whose keys are not in the file.
#[test]
fn a_parquet_reader_accepts_our_bitset() {
    let path = path("spliced");
    write_file(&path, ROWS as u64);
    let range = bitset_range(&path, IDS);
    let mut ours = ours_of(range.len());
    for i in 0..ROWS {
        ours.insert(&absent_id(i)).unwrap();
    }
    let mut bytes = fs::read(&path).unwrap();
    bytes[range].copy_from_slice(ours.parquet_bitset());
    fs::write(&path, bytes).unwrap();

    let theirs = read_by_parquet(&path, IDS);
    assert!((0..ROWS).all(|i| theirs.check(&absent_id(i))), "Parquet's reader does not find a key");
    let reported = (0..ROWS).filter(|i| theirs.check(&id(*i))).count();
    assert!(reported < ROWS as usize / 20, "{reported} of {ROWS} absent keys reported as present");
    assert_same_answers(&ours, &theirs, mixed_ids(), |id| ours.hash(id));
    // The other column's filter is unchanged.
    let names = read_by_parquet(&path, NAMES);
    assert!((0..ROWS).all(|i| names.check(&name(id(i)).as_str())));
    fs::remove_file(path).unwrap();
}

/// The parquet crate's own filter type can read filters of any number of blocks, even if the number is not a power of
/// two.
#[test]
fn answers_equal_parquets_at_any_size() {
    for blocks in [1, 2, 3, 7, 100, 1000, 1023] {
        let mut ours = ours_of(blocks * 32);
        for i in 0..blocks as i64 * 20 {
            ours.insert(&id(i)).unwrap();
        }
        let theirs = Sbbf::new(ours.parquet_bitset());
        assert_eq!(theirs.num_blocks(), blocks);
        let probes = || mixed_ids().take(10_000);
        assert_same_answers(&ours, &theirs, probes(), |id| ours.hash(id));
        let read = SplitBlockBloom::from_parquet_bitset(ours.parquet_bitset()).unwrap();
        assert_same_answers(&read, &theirs, probes(), |id| ours.hash(id));

        // The view's bytes begin one byte after the start of the buffer.
        let file = [&[0xFF][..], ours.parquet_bitset()].concat();
        let view = SplitBlockBloom::parse_parquet_bitset(&file[1..]).unwrap();
        assert_same_answers(&view, &theirs, probes(), |id| ours.hash(id));
        assert_eq!((view.estimate_len(), view.len()), (read.estimate_len(), 0));
        assert!(std::ptr::eq(view.table(), &file[1..]));
    }
}

#[test]
fn bitsets_of_an_invalid_length_are_refused() {
    for len in [0, 1, 31, 33, 63, 1000] {
        let bitset = vec![0xFF; len];
        assert!(SplitBlockBloom::from_parquet_bitset(&bitset).is_err(), "{len} bytes are accepted");
        assert!(
            SplitBlockBloom::parse_parquet_bitset(bitset.as_slice()).is_err(),
            "a view of {len} bytes is accepted"
        );
    }
    let full = SplitBlockBloom::from_parquet_bitset(&[0xFF; 64]).unwrap();
    assert_eq!(full.expected_fpr(), 1.0);
    assert!(full.contains(&1i64) && full.len() > 0);
}
