//! Compares Trommel's Bloom filters of Parquet files with `parquet::bloom_filter::Sbbf`. Prints the tables of
//! README.md.
//!
//!     cargo run --release -p trommel-parquet --example measure [-- ROUNDS [SCALE]]
//!
//! The two subjects, Trommel and `Sbbf`, both run in each round, and the subject that runs first alternates. A figure
//! is the median of the rounds, with the lowest time in brackets.
//!
//! Before the timing, the program checks that both subjects build equal filters, and compares their lookups. For some
//! rows of the tables it compares the answers, for other rows only the numbers of positive answers. Of the lookups of
//! single keys, it compares the first twenty. It also checks, in two cases, that present values are found: each of twenty
//! keys must be found in the file that has it; and since at least ten literals are in row groups, the lookups of literals
//! must give at least ten positive answers.
//!
//! ROUNDS is 15 by default. SCALE is for a quick trial of the program, and 1 by default. Four numbers are divided by
//! SCALE: the numbers of values per built filter, of row groups, of literals, and of files.

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::bloom_filter::Sbbf;
use parquet::data_type::Int64Type;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trommel::{Hasher, SplitBlockBloom};
use trommel_parquet::{ChunkFilter, FileFilters, FilterSet, Literals};

const FPR: f64 = 0.01;

fn main() {
    let mut words = std::env::args()
        .skip(1)
        .map(|word| word.parse::<usize>().expect("ROUNDS and SCALE must be numbers"));
    let rounds = words.next().unwrap_or(15);
    let scale = words.next().unwrap_or(1).max(1);
    println!("{rounds} rounds, instruction set {}\n", trommel::Isa::active_or_best());
    build(rounds, scale);
    probe(rounds, scale);
    many_files(rounds, scale);
}

/// Returns the median and the lowest time of each of two subjects, measured in interleaved rounds.
fn interleaved<A, B>(
    rounds: usize,
    mut theirs: impl FnMut() -> A,
    mut ours: impl FnMut() -> B,
) -> [(Duration, Duration); 2] {
    fn time<T>(subject: &mut impl FnMut() -> T) -> Duration {
        let begin = Instant::now();
        let answer = black_box(subject());
        let time = begin.elapsed();
        drop(answer);
        time
    }
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for subject in [round % 2, (round + 1) % 2] {
            let time = if subject == 0 { time(&mut theirs) } else { time(&mut ours) };
            // The first round is a warm-up.
            if round > 0 {
                times[subject].push(time);
            }
        }
    }
    times.map(|mut times| {
        times.sort();
        (times[times.len() / 2], times[0])
    })
}

/// Prints a row of a table, with the times divided by `unit_seconds`. The result has the unit `unit`: if the unit is
/// "ns per value", `unit_seconds` is the number of values times 1e-9.
fn row(what: &str, unit: &str, unit_seconds: f64, [theirs, ours]: [(Duration, Duration); 2]) {
    let cell = |(median, lowest): (Duration, Duration)| {
        let number = |time: Duration| {
            let value = time.as_secs_f64() / unit_seconds;
            if value < 10.0 {
                format!("{value:.2}")
            } else if value < 100.0 {
                format!("{value:.1}")
            } else {
                format!("{value:.0}")
            }
        };
        format!("{} [{}]", number(median), number(lowest))
    };
    let share = ours.0.as_secs_f64() / theirs.0.as_secs_f64();
    println!("| {what} | {unit} | {} | {} | {share:.2} |", cell(theirs), cell(ours));
}

const HEAD: &str = "| what | unit | `Sbbf` | Trommel | Trommel's share |\n|---|---|---:|---:|---:|";

/// Returns a pseudorandom number that is determined by `i`.
fn mixed(i: u64) -> i64 {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i >> 7).wrapping_mul(0xBF58_476D_1CE4_E5B9) as i64
}

/// Measures building filters of the same size from values.
fn build(rounds: usize, scale: usize) {
    println!("{HEAD}");
    for count in [10_000, 100_000, 1_000_000].map(|count| count / scale) {
        let values: Vec<i64> = (0..count as u64).map(mixed).collect();
        let texts: Vec<String> =
            values.iter().map(|value| format!("customer-{value:016x}")).collect();
        let bytes = (count * 11 / 8).next_power_of_two();
        let new = || {
            let builder = SplitBlockBloom::builder().memory_bytes(bytes).hasher(Hasher::PARQUET);
            builder.build().expect("the size is valid")
        };
        let check = |theirs: &Sbbf, ours: &SplitBlockBloom| {
            let mut bitset = Vec::new();
            theirs.write_bitset(&mut bitset).expect("writing to memory cannot fail");
            assert!(bitset == ours.parquet_bitset(), "the filters of Sbbf and of Trommel differ");
        };
        let build_theirs = |values: &[i64]| {
            let mut filter = Sbbf::new_with_num_of_bytes(bytes);
            values.iter().for_each(|value| filter.insert(value));
            filter
        };
        let mut hashes = Vec::new();
        let mut build_ours = |values: &[i64]| {
            let mut filter = new();
            Hasher::PARQUET.hash_batch(values, &mut hashes);
            filter.add_batch(&hashes);
            filter
        };
        check(&build_theirs(&values), &build_ours(&values));
        let unit_seconds = count as f64 * 1e-9;
        let times = interleaved(rounds, || build_theirs(&values), || build_ours(&values));
        row(&format!("build of {count} integers"), "ns per value", unit_seconds, times);

        let build_theirs = || {
            let mut filter = Sbbf::new_with_num_of_bytes(bytes);
            texts.iter().for_each(|text| filter.insert(text.as_str()));
            filter
        };
        let mut hashes = Vec::new();
        let mut build_ours = || {
            let mut filter = new();
            Hasher::PARQUET.hash_batch(&texts, &mut hashes);
            filter.add_batch(&hashes);
            filter
        };
        check(&build_theirs(), &build_ours());
        let times = interleaved(rounds, build_theirs, build_ours);
        row(&format!("build of {count} strings"), "ns per value", unit_seconds, times);
    }
    println!();
}

/// Returns the bytes of a file that the parquet crate writes with filters. The file has a row group for each vector of
/// `groups`. `ndv` is the number of distinct values for which each filter is sized.
fn file(groups: impl Iterator<Item = Vec<i64>>, ndv: usize) -> Vec<u8> {
    let schema =
        parse_message_type("message schema { required int64 id; }").expect("the schema is valid");
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_fpp(FPR)
        .set_bloom_filter_max_ndv(ndv as u64)
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))
        .expect("writing to memory cannot fail");
    for values in groups {
        let mut group = writer.next_row_group().expect("writing to memory cannot fail");
        let mut column = group
            .next_column()
            .expect("writing to memory cannot fail")
            .expect("the schema has a column");
        column
            .typed::<Int64Type>()
            .write_batch(&values, None, None)
            .expect("writing to memory cannot fail");
        column.close().expect("writing to memory cannot fail");
        group.close().expect("writing to memory cannot fail");
    }
    writer.into_inner().expect("writing to memory cannot fail")
}

fn metadata(bytes: &Bytes) -> ParquetMetaData {
    let mut reader = ParquetMetaDataReader::new();
    reader.try_parse(bytes).expect("the file is valid");
    reader.finish().expect("the file is valid")
}

fn read_theirs(metadata: &ParquetMetaData, bytes: &Bytes) -> Vec<Sbbf> {
    let chunk = |group: usize| metadata.row_group(group).column(0);
    (0..metadata.num_row_groups())
        .map(|group| {
            Sbbf::read_from_column_chunk(chunk(group), bytes)
                .expect("the filter is valid")
                .expect("every row group has a filter")
        })
        .collect()
}

/// Measures lookups of thousands of literals in a thousand row groups, and the reading of the filters.
fn probe(rounds: usize, scale: usize) {
    let (groups, values, literals) = (1000 / scale, 5000, 10_000 / scale);
    let group = |group: usize| (0..values).map(|i| mixed((group * values + i) as u64)).collect();
    let bytes = Bytes::from(file((0..groups).map(group), values));
    // About ten of the literals are present, in different row groups. The others are absent.
    let asked: Vec<i64> = (0..literals)
        .map(|i| {
            if i % (literals / 10).max(1) == 0 {
                i * 37 % (groups * values)
            } else {
                groups * values + i
            }
        })
        .map(|i| mixed(i as u64))
        .collect();

    let metadata = metadata(&bytes);
    let theirs = read_theirs(&metadata, &bytes);
    let file = FileFilters::open(&bytes).expect("the file is valid");
    let column = &file.columns()[0];
    let ours: Vec<ChunkFilter<'_>> = (0..groups)
        .map(|group| {
            file.filter(group, column)
                .expect("the filter is valid")
                .expect("every row group has a filter")
        })
        .collect();
    let filter_bytes = ours[0].bitset().len();
    println!(
        "{groups} row groups, a filter of {filter_bytes} bytes in each; {literals} literals\n\n{HEAD}"
    );

    // Counts the pairs of a literal and a row group whose filter reports the literal as present.
    let count_theirs = || -> usize {
        let count = |filter: &Sbbf| asked.iter().filter(|value| filter.check(*value)).count();
        theirs.iter().map(count).sum()
    };
    let count_ours = || -> usize {
        let literals = Literals::int64(&asked);
        let each = |group| {
            file.might_contain(group, column, &literals)
                .expect("the literals have the type of the column")
                .count_ones()
        };
        (0..groups).map(each).sum()
    };
    assert_eq!(count_theirs(), count_ours());
    assert!(count_ours() >= 10.min(literals));
    let times = interleaved(rounds, count_theirs, count_ours);
    let unit_seconds = (groups * literals) as f64 * 1e-9;
    row("each literal in each row group", "ns per literal and row group", unit_seconds, times);

    // A row group has to be read if its filter reports any literal as present. The first literal, which is present, is
    // left out, so the count 20 means 19 literals. With SCALE 1, none of the 19 is present, so most row groups need not
    // be read.
    for count in [20, literals] {
        let asked = &asked[1..count];
        let prune_theirs = || -> Vec<bool> {
            theirs.iter().map(|filter| asked.iter().any(|value| filter.check(value))).collect()
        };
        let prune_ours = || {
            file.row_groups_to_read(column, &Literals::int64(asked))
                .expect("the literals have the type of the column")
        };
        let (expected, found) = (prune_theirs(), prune_ours());
        assert!(expected.iter().enumerate().all(|(group, read)| found.get(group) == *read));
        let times = interleaved(rounds, prune_theirs, prune_ours);
        let what =
            format!("row groups to read for {} literals: {}", asked.len(), found.count_ones());
        row(&what, "µs", 1e-6, times);
    }

    let times = interleaved(
        rounds,
        || read_theirs(&metadata, &bytes),
        || {
            for group in 0..groups {
                black_box(file.filter(group, column).expect("the filter is valid"));
            }
        },
    );
    row("filters read, without the footer", "µs", 1e-6, times);
    let times = interleaved(
        rounds,
        || read_theirs(&self::metadata(&bytes), &bytes),
        || {
            let file = FileFilters::open(&bytes).expect("the file is valid");
            for group in 0..groups {
                black_box(file.filter(group, &file.columns()[0]).expect("the filter is valid"));
            }
        },
    );
    row("footer and filters read", "µs", 1e-6, times);
    println!();
}

/// Measures lookups of a key and of 100 keys in ten thousand files, and the opening of the files.
fn many_files(rounds: usize, scale: usize) {
    let (files, values) = (10_000 / scale, 1000);
    let file = |file: usize| {
        let file_values = (0..values).map(|i| mixed((file * values + i) as u64)).collect();
        Bytes::from(self::file(std::iter::once(file_values), values))
    };
    let files: Vec<Bytes> = (0..files).map(file).collect();
    let read = || -> Vec<Sbbf> {
        files.iter().flat_map(|bytes| read_theirs(&metadata(bytes), bytes)).collect()
    };
    let open = || {
        let mut set = FilterSet::new();
        for bytes in &files {
            set.push(&FileFilters::open(bytes).expect("the file is valid"), "id")
                .expect("the column exists");
        }
        set
    };
    let (theirs, ours) = (read(), open());
    println!("{} files of {values} values\n\n{HEAD}", files.len());

    // Each timed call of a subject looks up a key that no earlier timed call of this subject used. Hence few of the
    // blocks that the call reads are in a near cache. Calls 1 to 19 may find more of their blocks there, since the checks
    // before the timing look up the same keys.
    let key = |i: usize, present: bool| {
        mixed((i * 7919 % (files.len() * values)) as u64 + if present { 0 } else { 1 << 40 })
    };
    for present in [false, true] {
        let ask_theirs =
            |key: i64| -> Vec<bool> { theirs.iter().map(|filter| filter.check(&key)).collect() };
        let ask_ours = |key: i64| {
            ours.files_to_read(&Literals::int64(&[key]))
                .expect("the literals have the type of the column")
        };
        for i in 0..20 {
            let (expected, found) = (ask_theirs(key(i, present)), ask_ours(key(i, present)));
            assert!(expected.iter().enumerate().all(|(file, read)| found.get(file) == *read));
            assert!(!present || found.get(i * 7919 % (files.len() * values) / values));
        }
        let (mut i, mut j) = (0, 0);
        let times = interleaved(
            rounds * 10,
            || {
                i += 1;
                ask_theirs(key(i, present))
            },
            || {
                j += 1;
                ask_ours(key(j, present))
            },
        );
        let what = if present { "a key of one file" } else { "a key of no file" };
        row(what, "ns per file", files.len() as f64 * 1e-9, times);
    }
    let keys: Vec<i64> = (0..100).map(|i| key(i, false)).collect();
    let ask_theirs = || -> usize {
        theirs.iter().filter(|filter| keys.iter().any(|key| filter.check(key))).count()
    };
    let ask_ours = || {
        ours.files_to_read(&Literals::int64(&keys))
            .expect("the literals have the type of the column")
            .count_ones()
    };
    assert_eq!(ask_theirs(), ask_ours());
    let times = interleaved(rounds, ask_theirs, ask_ours);
    row("100 keys of no file", "ns per file", files.len() as f64 * 1e-9, times);
    let times = interleaved(rounds.min(5), read, open);
    row("files opened", "µs per file", files.len() as f64 * 1e-6, times);
}
