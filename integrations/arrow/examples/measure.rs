//! Measures in one run how long this crate takes to hash columns, and how long the hash function of DataFusion's joins
//! and aggregates takes. Prints a table in Markdown.
//!
//! ```sh
//! cargo run --release -p trommel-arrow --example measure          # 101 repetitions
//! cargo run --release -p trommel-arrow --example measure -- 5
//! ```
//!
//! A figure is the median of interleaved repetitions. The example also checks that this crate gives two rows equal
//! hashes exactly if DataFusion does, and that a filter reports every inserted key as present.

#[path = "../../slatedb/examples/measure/samples.rs"]
mod samples;

use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::hash_utils::{RandomState, create_hashes};
use samples::{Samples, interleave, time};
use std::collections::HashMap;
use trommel::{Hasher, SplitBlockBloom};
use trommel_arrow::ColumnHasher;

/// The number of rows per batch: DataFusion's default.
const ROWS: usize = 8_192;
/// The number of times that a repetition hashes the batch, so that the repetition takes at least some microseconds.
const BATCHES: usize = 16;
/// The number of distinct values in a column.
const VALUES: i64 = 2_000;

fn main() {
    let repetitions = std::env::args()
        .nth(1)
        .map_or(101, |argument| argument.parse().expect("the argument must be a number"));
    println!(
        "| column | bytes per row | trommel-arrow, GB/s | trommel-arrow, ns per row | DataFusion, GB/s | DataFusion, ns per row | trommel-arrow with a lookup, ns per row |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, column) in columns() {
        measure(&name, &column, repetitions);
    }
}

/// Returns the columns to measure, each with its name. Several of them have the same values in different types.
fn columns() -> Vec<(String, ArrayRef)> {
    let numbers = Int64Array::from_iter_values((0..ROWS as i64).map(|row| row * 7_919 % VALUES));
    let names =
        StringArray::from_iter_values(numbers.values().iter().map(|i| format!("customer-{i:09}")));
    let dictionary = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
    let number_types = [
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::Float64,
        DataType::Decimal128(15, 2),
    ];
    let name_types = [DataType::Utf8, DataType::Utf8View, dictionary];
    let cast_to = |from: &dyn Array, to: &DataType| {
        (to.to_string(), cast(from, to).expect("Arrow must support the cast"))
    };
    let mut columns: Vec<_> = number_types.iter().map(|to| cast_to(&numbers, to)).collect();
    columns.extend(name_types.iter().map(|to| cast_to(&names, to)));
    columns
}

fn measure(name: &str, column: &ArrayRef, repetitions: usize) {
    let mut filter =
        SplitBlockBloom::with_capacity_and_fpr(100_000, 0.01).expect("the specification is valid");
    let mut hasher = ColumnHasher::new(Hasher::default());
    hasher
        .hash(&[column])
        .expect("Trommel must hash the type")
        .insert_into(&mut filter)
        .expect("a Bloom filter is never full");
    let (mut theirs, state) = (vec![0; ROWS], RandomState::with_seed(0));
    let mut samples = [const { Samples(Vec::new()) }; 3];
    interleave(repetitions, samples.len(), |subject| {
        let (elapsed, ()) = time(|| {
            for _ in 0..BATCHES {
                match subject {
                    0 => drop(hasher.hash(&[column]).expect("Trommel must hash the type")),
                    1 => drop(
                        create_hashes([column], &state, &mut theirs)
                            .expect("DataFusion must hash the type"),
                    ),
                    _ => assert!(
                        hasher
                            .hash(&[column])
                            .expect("Trommel must hash the type")
                            .probe(&filter)
                            .true_count()
                            == column.len() - column.null_count()
                    ),
                }
            }
        });
        samples[subject].add_ns(elapsed, BATCHES * ROWS);
    });
    let ours: Vec<_> = hasher
        .hash(&[column])
        .expect("Trommel must hash the type")
        .hashes()
        .iter()
        .map(|hash| hash.raw())
        .collect();
    assert!(
        same_equalities(&ours, &theirs),
        "{name}: the hashes of Trommel and DataFusion disagree on which rows are equal"
    );

    let bytes_per_row = column.get_buffer_memory_size() as f64 / ROWS as f64;
    let [ours, theirs, lookup] = samples.map(|samples| samples.median());
    println!(
        "| {name} | {bytes_per_row:.1} | {:.1} | {ours:.2} | {:.1} | {theirs:.2} | {lookup:.2} |",
        bytes_per_row / ours,
        bytes_per_row / theirs,
    );
}

/// Whether two rows have equal hashes in `ours` exactly if they have equal hashes in `theirs`.
fn same_equalities(ours: &[u64], theirs: &[u64]) -> bool {
    let mut seen = HashMap::new();
    ours.iter().zip(theirs).all(|(ours, theirs)| seen.entry(ours).or_insert(theirs) == &theirs)
        && seen.values().collect::<std::collections::HashSet<_>>().len() == seen.len()
}
