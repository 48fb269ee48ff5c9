//! Runs the fuzz targets of the folder `fuzz` without a fuzzer: on their seeds, on seeds with a few changes, and on
//! random inputs. The targets `twin_operations` and `engine_operations` have no seeds, and get random inputs only.

// These modules are the library of the package `trommel-fuzz`, in the folder `fuzz`.
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/bloom_model.rs"]
mod bloom_model;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/bloom_operations.rs"]
mod bloom_operations;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/cuckoo_operations.rs"]
mod cuckoo_operations;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/engine_operations.rs"]
mod engine_operations;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/hostile_bytes.rs"]
mod hostile_bytes;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/input.rs"]
mod input;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/quotient_operations.rs"]
mod quotient_operations;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/twin_operations.rs"]
mod twin_operations;

use std::fs;
use std::path::PathBuf;
use trommel_testkit::Splitmix;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.into_iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(seeds.len() >= 10, "too few seeds in {}", folder.display());
    seeds
}

/// Returns the seed with one to four changes: bytes are changed, removed, or copied from elsewhere in the seed.
fn changed(random: &mut Splitmix, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(5) {
            0 => bytes[at] = random.word() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = bytes[at].wrapping_add(1),
            3 => drop(bytes.remove(at)),
            _ => {
                let from = random.below(bytes.len() as u64) as usize;
                let piece = bytes[from..bytes.len().min(from + 16)].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

/// Runs a target on the empty input, on each of its seeds, on `changes` changed copies of each seed, and on `noise`
/// random inputs.
fn sweep(target: &str, run: fn(&[u8]) -> u64, changes: usize, noise: usize) {
    let mut random = Splitmix::new(0xF022);
    run(&[]);
    for seed in seeds(target) {
        run(&seed);
        for _ in 0..changes {
            run(&changed(&mut random, &seed));
        }
    }
    for _ in 0..noise {
        let len = random.below(300) as usize;
        run(&random.bytes(len));
    }
}

/// A test for each target that has seeds. The numbers are those of changed copies of each seed, and of random inputs.
macro_rules! sweeps {
    ($($test:ident: $target:ident, $changes:literal, $noise:literal;)*) => {$(
        #[test]
        fn $test() {
            sweep(stringify!($target), $target::run, $changes, $noise);
        }
    )*};
}

sweeps! {
    operations_of_a_quotient_filter_agree_with_a_sorted_multiset: quotient_operations, 60, 1500;
    operations_of_a_bloom_filter_agree_with_counts_of_each_bit: bloom_operations, 60, 1500;
    operations_lose_no_key_of_a_cuckoo_filter: cuckoo_operations, 60, 1500;
    hostile_bytes_are_refused_or_give_a_filter: hostile_bytes, 300, 3000;
}

/// Runs, on random inputs, a target that has no seeds. Returns the sum of the numbers that the runs return.
fn noise(run: fn(&[u8]) -> u64, inputs: usize) -> u64 {
    let mut random = Splitmix::new(0x7819);
    let input = |_| {
        let len = random.below(300) as usize;
        random.bytes(len)
    };
    (0..inputs).map(input).map(|input| run(&input)).sum()
}

#[test]
fn two_instruction_sets_make_the_same_filters_from_the_same_operations() {
    let operations = noise(twin_operations::run, 3000);
    assert!(operations > 1_000_000, "{operations} operations");
}

#[test]
fn engines_and_threads_make_the_same_filters_as_one_thread_without_an_engine() {
    let operations = noise(engine_operations::run, 2000);
    assert!(operations > 20_000, "{operations} operations");
}
