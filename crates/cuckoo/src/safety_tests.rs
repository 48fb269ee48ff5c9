//! Tests of the checks on which the unsafe code of the kernels rests. `scripts/check-safety` removes the checks one at
//! a time, and each time a test must fail.
//!
//! Most tests use hash 0, whose primary bucket is the first of the table. The alternate bucket of this hash lies within
//! a table that is a byte too short, but not within a table of half the length. So the tables in the tests of lookups
//! are only a byte too short or too long: even when the script has removed a check, lookups then read only bytes of the
//! table.

use crate::bucket::EmptyPair;
use crate::evict::full_buckets::FullBuckets;
use crate::evict::parts::BoxedScratch;
use crate::evict::window::Window;
use crate::filter::CuckooFilter;
use crate::geometry::Geometry;
use crate::kernel::{Buckets, Kernels};
use crate::sizing::shape;
use crate::table::Entry;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use trommel_base::block::{BlockSpec, BlockTable};
use trommel_base::{Hasher, Insert, KeyHash, Remove, Storage};
use trommel_simd::Isa;

const WIDTHS: [u32; 4] = [8, 12, 16, 32];
const KEYS: usize = 256;

/// The message of a panic; `None` if `call` does not panic.
fn panic_of<T>(call: impl FnOnce() -> T) -> Option<String> {
    let message = catch_unwind(AssertUnwindSafe(call)).err()?;
    let text = message.downcast_ref::<&str>().map(|text| String::from(*text));
    Some(text.or_else(|| message.downcast_ref().cloned()).unwrap_or_default())
}

fn panics<T>(call: impl FnOnce() -> T) -> bool {
    panic_of(call).is_some()
}

fn zeroed(geometry: &Geometry) -> Vec<u8> {
    vec![0; geometry.table_bytes() as usize]
}

fn filter(geometry: Geometry, isa: Isa, byte: u8) -> CuckooFilter {
    let mut table = Storage::zeroed(geometry.table_bytes() as usize, false).unwrap();
    table.fill(byte);
    CuckooFilter::assemble(geometry, Hasher::default(), isa, table)
}

fn buckets<'a>(geometry: &'a Geometry, table: &'a [u8]) -> Buckets<'a> {
    Buckets { geometry, table, empty: EmptyPair::Clear }
}

/// Calls `check` with each width and instruction set, and three tables: a byte too short, of the right length, and a
/// byte too long. The last argument is whether the length is wrong.
fn with_tables_of_three_lengths(check: impl Fn(Geometry, Isa, &[u8], bool)) {
    for geometry in WIDTHS.map(|bits| shape(1_000, bits)) {
        let mut memory = zeroed(&geometry);
        memory.push(0);
        for isa in Isa::available() {
            for len in [memory.len() - 2, memory.len() - 1, memory.len()] {
                check(geometry, isa, &memory[..len], len != memory.len() - 1);
            }
        }
    }
}

#[test]
fn lookups_refuse_a_table_of_another_length() {
    with_tables_of_three_lengths(|geometry, isa, table, is_wrong| {
        let table = buckets(&geometry, table);
        assert_eq!(panics(|| Kernels::contains_in(table, isa, 0)), is_wrong, "{isa}");
        let mut found = [0; KEYS / 64];
        let kernels = Kernels::of(&geometry, isa);
        let batch = || kernels.contains_batch(table, &[0; KEYS], &mut found);
        assert_eq!(panics(batch), is_wrong, "{isa}");
    });
}

#[test]
fn lookups_refuse_a_table_of_another_width() {
    for geometry in WIDTHS.map(|bits| shape(1_000, bits)) {
        let table = zeroed(&geometry);
        for isa in Isa::available() {
            for width in WIDTHS {
                let kernels = Kernels::of(&shape(1_000, width), isa);
                let mut found = [0; KEYS / 64];
                let batch = || {
                    kernels.contains_batch(buckets(&geometry, &table), &[0; KEYS], &mut found);
                };
                assert_eq!(panics(batch), width != geometry.fingerprint_bits, "{isa}");
            }
        }
    }
}

#[test]
fn lookups_refuse_an_instruction_set_that_the_machine_lacks() {
    for geometry in WIDTHS.map(|bits| shape(1_000, bits)) {
        let table = zeroed(&geometry);
        for isa in Isa::ALL {
            let refused = panics(|| Kernels::contains_in(buckets(&geometry, &table), isa, 0));
            let needed = cfg!(target_arch = "x86_64") && isa >= Isa::Avx2;
            assert_eq!(refused, needed && !isa.is_available(), "{isa}");
        }
    }
}

#[test]
fn a_block_refuses_an_instruction_set_that_the_machine_lacks() {
    for isa in Isa::ALL {
        let spec = BlockSpec { bits_per_key: 16.0, parameter: 12, isa };
        let mut table = vec![0; CuckooFilter::table_len(&spec, 1_000).unwrap()];
        let filled = panics(|| CuckooFilter::fill(&spec, &[KeyHash::from_raw(0)], &mut table));
        assert_eq!(filled, !isa.is_available(), "{isa}");
    }
}

#[test]
fn a_filter_refuses_a_table_of_another_length() {
    with_tables_of_three_lengths(|geometry, isa, table, is_wrong| {
        let made = || CuckooFilter::assemble(geometry, Hasher::default(), isa, table);
        assert_eq!(panics(made), is_wrong, "{isa}, {} bytes", table.len());
    });
}

#[test]
fn batches_refuse_answers_that_are_too_short() {
    for geometry in WIDTHS.map(|bits| shape(1_000, bits)) {
        for isa in Isa::available() {
            let mut filter = filter(geometry, isa, 0);
            let kernels = Kernels::of(&geometry, isa);
            let mut words = [0; KEYS / 64 - 1];
            let found = panic_of(|| {
                let table = zeroed(&geometry);
                kernels.contains_batch(buckets(&geometry, &table), &[0; KEYS], &mut words);
            });
            let expected = "assertion failed: found.len() >= hashes.len().div_ceil(64)";
            assert_eq!(found.as_deref(), Some(expected), "{isa}");
            let new =
                panic_of(|| kernels.insert_batch(&mut filter.parts(), &[0; KEYS], &mut words));
            let expected = "assertion failed: new.len() >= hashes.len().div_ceil(64)";
            assert_eq!(new.as_deref(), Some(expected), "{isa}");
        }
    }
}

/// The instruction sets of this machine that have inserts in vectors. (These inserts are for fingerprints of at most 16
/// bits.)
fn vector_sets() -> impl Iterator<Item = Isa> {
    Isa::available().filter(|isa| *isa != Isa::Portable && cfg!(target_endian = "little"))
}

#[test]
fn vector_inserts_refuse_a_table_of_another_length_or_width() {
    let made = shape(1_000, 12);
    for isa in vector_sets() {
        let kernels = Kernels::of(&made, isa);
        for geometry in [shape(998, 12), shape(1_002, 12), shape(1_000, 8), shape(1_000, 16), made]
        {
            let mut filter = filter(made, isa, 0);
            let mut parts = filter.parts();
            parts.geometry = &geometry;
            let refusal = panic_of(|| {
                kernels.insert_batch(&mut parts, &[0; KEYS], &mut [0; KEYS / 64]).is_ok()
            });
            assert_eq!(refusal.is_some(), geometry != made, "{isa}: {geometry:?}");
        }
        // The length of this table is right for its geometry, but the kernels are for another width.
        let other = shape(1_000, 16);
        let mut filter = filter(other, isa, 0);
        let refusal = panic_of(|| {
            kernels.insert_batch(&mut filter.parts(), &[0; KEYS], &mut [0; KEYS / 64]).is_ok()
        });
        let refusal = refusal.expect("a table of another width must be refused");
        assert!(refusal.contains("left: 16\n right: 12"), "{isa}: {refusal}");
    }
}

/// If the length of the bitmap of full buckets does not fit the table, the bitmap is replaced before an eviction chain
/// reads it. The kernel asserts the length once more.
#[test]
fn chains_use_no_bitmap_of_another_length() {
    let geometry = shape(1_000, 8);
    let hashes: Vec<u64> = (1..=64).map(|key: u64| key << 57 | key << 20).collect();
    for isa in vector_sets() {
        let kernels = Kernels::of(&geometry, isa);
        for words in [16, 17] {
            // All buckets are full, so every key starts a chain.
            let mut filter = filter(geometry, isa, 0x55);
            let full = FullBuckets::of_words(vec![u64::MAX; words]);
            *filter.parts().scratch = BoxedScratch::new(full);
            let mut parts = filter.parts();
            let refusal = panic_of(|| kernels.insert_batch(&mut parts, &hashes, &mut [0]).is_ok());
            assert_eq!(refusal, None, "{isa}");
            assert!(parts.scratch.as_ref().unwrap().full.fit(&geometry), "{isa}");
        }
    }
}

/// Inserts a key of bucket `bucket` into a [`Window`] (a stretch of the table) of `buckets` buckets, the first of which
/// is bucket 100. The bitmap of the window's full buckets has `words` words, with all bits set. Returns the message of
/// the panic, if there is one.
fn insert_within(
    kernels: &Kernels,
    geometry: &Geometry,
    bucket: u32,
    (buckets, words): (usize, usize),
) -> Option<String> {
    let mut table = vec![0x55; buckets * geometry.fingerprint_bits as usize / 2];
    let mut full = vec![u64::MAX; words];
    let (table, full) = (&mut table[..], &mut full[..]);
    let mut window = Window { geometry, first: 100, table, full, max_steps: 4 };
    let key = Entry { bucket, fingerprint: 7 }.to_word();
    panic_of(|| kernels.insert_within(&mut window, &[key], &mut Vec::with_capacity(1)))
}

#[test]
fn windows_refuse_outside_keys_too_few_bits_and_no_buckets() {
    let geometry = shape(1_000, 16);
    for isa in vector_sets() {
        let kernels = Kernels::of(&geometry, isa);
        let inserted = |bucket, size| insert_within(&kernels, &geometry, bucket, size);
        assert_eq!(inserted(100, (8, 1)), None, "{isa}");
        assert_eq!(inserted(107, (8, 1)), None, "{isa}");
        for outside in [99, 108] {
            let refusal = inserted(outside, (8, 1));
            assert_eq!(refusal.as_deref(), Some("assertion failed: bucket < buckets"), "{isa}");
        }
        let refusal = inserted(100, (72, 1));
        let expected = "assertion failed: window.full.len() as u64 * 64 >= u64::from(in_window)";
        assert_eq!(refusal.as_deref(), Some(expected), "{isa}");
        let refusal = inserted(100, (0, 1));
        let expected = "assertion failed: buckets > 0 && u64::from(buckets) <= MAX_VECTOR_BUCKETS";
        assert_eq!(refusal.as_deref(), Some(expected), "{isa}");
    }
}

/// All buckets of the window are full. The bitmap says that buckets after the window have room. Every key has one
/// bucket in the window; its other bucket is the first one after the window, or the last one before it.
#[test]
fn chains_do_not_leave_their_window() {
    const IN_WINDOW: u32 = 64;
    for (isa, bits) in Isa::available().flat_map(|isa| WIDTHS.map(|bits| (isa, bits))) {
        let geometry = shape(4 * u64::from(IN_WINDOW), bits);
        for (first, outside) in [(0, IN_WINDOW), (IN_WINDOW, IN_WINDOW - 1)] {
            let keys: Vec<u64> = (first..first + IN_WINDOW)
                .flat_map(|bucket| (1..256).map(move |fingerprint| Entry { bucket, fingerprint }))
                .filter(|key| key.alternate(&geometry).bucket == outside)
                .map(|key| key.to_word())
                .collect();
            assert!(keys.len() > 16);
            let bucket_bytes = bits as usize / 2;
            let mut table: Vec<u8> =
                (1..=255).cycle().take(bucket_bytes * IN_WINDOW as usize).collect();
            let before = table.clone();
            let mut left = Vec::with_capacity(keys.len());
            let (bytes, full) = (&mut table[..], &mut [u64::MAX, 0][..]);
            let mut window =
                Window { geometry: &geometry, first, table: bytes, full, max_steps: 4 };
            Kernels::of(&geometry, isa).insert_within(&mut window, &keys, &mut left);
            assert_eq!(left.len(), keys.len(), "{isa}, {bits} bits");
            let window = first..first + IN_WINDOW;
            let mut buckets = left.iter().map(|word| Entry::from_word(*word).bucket);
            assert!(buckets.all(|bucket| window.contains(&bucket)), "{isa}, {bits} bits");
            // In a table with fingerprints of 8 bits, each byte is a fingerprint. No fingerprint is lost.
            if bits == 8 {
                let all = |table: &[u8], words: &[u64]| {
                    let listed = words.iter().map(|word| Entry::from_word(*word).fingerprint as u8);
                    let mut all: Vec<u8> = table.iter().copied().chain(listed).collect();
                    all.sort_unstable();
                    all
                };
                assert_eq!(all(&table, &left), all(&before, &keys), "{isa}");
            }
        }
    }
}

#[test]
fn vectors_are_only_for_tables_whose_indices_fit() {
    let (small, most, more) = (shape(1_000, 12), shape(1 << 29, 12), shape((1 << 29) + 2, 12));
    for isa in vector_sets() {
        let inserted = |made: &Geometry, of: &Geometry| {
            insert_within(&Kernels::of(made, isa), of, 100, (8, 1))
        };
        assert_eq!(inserted(&most, &most), None, "{isa}");
        // The kernels for a table of more than 2^29 buckets use no vectors. The vector kernels for a small table refuse
        // so large a table.
        assert_eq!(inserted(&more, &more), None, "{isa}");
        let expected = "assertion failed: geometry.buckets <= MAX_VECTOR_BUCKETS";
        assert_eq!(inserted(&small, &more).as_deref(), Some(expected), "{isa}");
    }
}

/// Lookups read a bucket as a word, which can be longer than the bucket.
#[test]
fn the_last_bucket_can_be_read_as_a_word() {
    for (bits, word_bytes) in [(8, 4), (12, 8), (16, 8), (32, 16)] {
        for buckets in [2, 4, 1_000] {
            let geometry = shape(buckets, bits);
            let last = (buckets - 1) * u64::from(bits) / 2;
            assert!(geometry.table_bytes() >= last + word_bytes, "{geometry:?}");
        }
    }
}

/// Miri sees whether removals read or write outside the table.
#[test]
fn keys_of_the_first_and_the_last_bucket_are_removed() {
    for (isa, fingerprint_bits) in Isa::available().flat_map(|isa| WIDTHS.map(|bits| (isa, bits))) {
        let geometry = Geometry { buckets: 10, fingerprint_bits, doublings: 0 };
        let mut filter = filter(geometry, isa, 0);
        let hashes = [0, u64::MAX / 2, u64::MAX].map(KeyHash::from_raw);
        for hash in hashes {
            filter.insert_hash(hash).unwrap();
        }
        for hash in hashes {
            assert!(filter.remove_hash(hash), "{isa}, {fingerprint_bits} bits");
        }
        assert!(filter.table().iter().all(|byte| *byte == 0), "{isa}, {fingerprint_bits} bits");
    }
}

/// The bitmap `FullBuckets` has a bit for each bucket, set if the bucket is full. Vector inserts read the bits of
/// alternate buckets before anything checks that the bitmap's length fits the table. So a doubling must drop the bitmap
/// of the smaller table.
#[test]
fn a_doubled_filter_has_no_bits_of_the_smaller_one() {
    let mut filter = filter(shape(1_000, 12), Isa::Portable, 0);
    *filter.parts().scratch = BoxedScratch::new(FullBuckets::of_words(vec![0; 16]));
    filter.grow().unwrap();
    let parts = filter.parts();
    assert!(parts.scratch.as_ref().is_none_or(|scratch| scratch.full.fit(parts.geometry)));
}
