//! Tests of the texts that people read. The message of an error contains the numbers that the error carries. The
//! `Debug` output of a type with a table has the parameters of the table and not its bytes.

use std::error::Error;
use trommel::cuckoo::GrowError;
use trommel::error::*;
use trommel::quotient::ResizeError;
use trommel::{
    Filter as _, FilterAccumulator, FilterKind, FilterPolicy, FilterSpec, FilterView, Insert as _,
};

/// Checks the message of an error. A message is one line that ends without a full stop.
fn says(error: &dyn Error, expected: &str) {
    let message = error.to_string();
    assert_eq!(message, expected);
    assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
    assert!(
        error.source().is_none(),
        "the message contains the cause, so `source` must not return it: {message}"
    );
}

#[test]
fn refused_memory_is_named_with_its_bytes() {
    let expected = "the system refused 4096 bytes of memory";
    let bytes = 4096;
    says(&SpecError::OutOfMemory { bytes }, expected);
    says(&BuildError::Spec(SpecError::OutOfMemory { bytes }), expected);
    says(&MergeError::OutOfMemory { bytes }, expected);
    says(&FoldError::OutOfMemory { bytes }, expected);
    says(&PolicyError::OutOfMemory { bytes }, expected);
    says(&GrowError::OutOfMemory { bytes }, expected);
    says(&ResizeError::OutOfMemory { bytes }, expected);
    says(&FormatError::OutOfMemory { bytes }, expected);
}

#[test]
fn a_full_filter_says_how_full_and_why() {
    let full = Full::new(3, 95, 100);
    let base =
        "the filter is full: it holds 95 keys, has a capacity of 100, and this call inserted 3";
    says(&full, base);
    says(
        &full.because(WhyFull::Copies { max: 8 }),
        &format!("{base}; it holds 8 copies of this key, and has no room for more"),
    );
    says(
        &full.because(WhyFull::Fingerprint),
        &format!("{base}; it cannot grow, since its fingerprints have no bit to spare"),
    );
    says(
        &full.because(WhyFull::Memory { bytes: 64 }),
        &format!("{base}; the system refused 64 bytes of memory for the insert"),
    );
    says(&BuildError::Full(full), base);
    says(&MergeError::Full(full), base);
    says(&PolicyError::Full(full), base);
}

#[test]
fn a_spec_that_cannot_be_met_says_what_is_allowed() {
    says(
        &SpecError::LoadOutOfRange { load: 1.5 },
        "a load must lie strictly between 0 and 1, got 1.5",
    );
    says(
        &SpecError::FprOutOfRange { fpr: 1.0 },
        "a false-positive rate must lie strictly between 0 and 1, got 1",
    );
    says(
        &SpecError::UnknownKind { kind: FilterKind::Cuckoo },
        "this build cannot make a cuckoo filter",
    );
    let unknown = "sse9".parse::<trommel::Isa>().expect_err("no instruction set sse9");
    says(&SpecError::Isa(unknown), &unknown.to_string());
    let refused = FilterSpec::new(FilterKind::Bloom).keys(10).remainder_bits(7).build();
    says(
        &refused.expect_err("a Bloom filter has no remainders"),
        "a bloom filter has no option remainder_bits",
    );
}

#[test]
fn filters_that_do_not_go_together_say_how_they_differ() {
    let unlike = Incompatible::new("hash seed", 1, 2);
    says(&unlike, "the filters differ in hash seed: 1 and 2");
    says(&MergeError::Incompatible(unlike), "the filters differ in hash seed: 1 and 2");
    let (left, right) = (FilterKind::Bloom, FilterKind::Cuckoo);
    says(
        &MergeError::Kinds { left, right },
        "a cuckoo filter cannot be merged into a bloom filter",
    );
    let unsupported = Unsupported { kind: FilterKind::Bloom, operation: "remove" };
    says(&MergeError::Unsupported(unsupported), "a bloom filter cannot remove");
    let damaged = FormatError::Truncated { need: 128, got: 3 };
    says(&MergeError::Damaged(damaged), "truncated: 128 bytes needed, got 3");
    says(&AccumulateError::Specs, "the accumulators have different specs");
    says(&AccumulateError::Merge(MergeError::Incompatible(unlike)), &unlike.to_string());
    says(&AccumulateError::Format(damaged), &damaged.to_string());
    let full = Full::new(0, 1, 1);
    says(&AccumulateError::Build(BuildError::Full(full)), &full.to_string());
}

#[test]
fn a_refused_change_of_size_names_both_sizes() {
    says(
        &FoldError::NotDivisible { units: 4, factor: 3 },
        "4 units cannot be folded by a factor of 3",
    );
    let filter = FilterSpec::new(FilterKind::Cuckoo).keys(100).build().expect("a small filter");
    says(&filter.fold(2).expect_err("a cuckoo filter has no units"), "a cuckoo filter cannot fold");
    says(
        &GrowError::Fingerprint { fingerprint_bits: 8, doublings: 4 },
        "fingerprints of 8 bits have no bit to spare after 4 doublings",
    );
    says(
        &GrowError::TooLarge { buckets: 1 << 40 },
        "a table of 1099511627776 buckets is too large",
    );
    says(
        &ResizeError::Fingerprint { slots: 2_000, fingerprints: 2_000 },
        "with 2000 slots, remainders would have too few or too many bits: fingerprints have 2000 possible values",
    );
    says(
        &ResizeError::TooSmall { slots: 64, len: 65 },
        "the filter holds 65 keys, too many for the requested size, 64 slots",
    );
    says(
        &ResizeError::TooLarge { slots: 9, max_slots: 8 },
        "9 slots are too many: a filter has at most 8",
    );
}

#[cfg(feature = "parallel")]
#[test]
fn refused_threads_are_counted() {
    use trommel::engine::EngineError;
    let refused = |threads| EngineError::Start { threads, why: "too many".to_owned() };
    says(&refused(1), "the system refused to start a thread: too many");
    says(&refused(2), "the system refused to start 2 threads: too many");
}

#[test]
fn a_filter_block_that_is_not_built_says_what_it_needs() {
    says(
        &PolicyError::TooManyKeys { keys: 1 << 31 },
        "2147483648 keys are more than one filter block holds",
    );
    says(
        &PolicyError::BufferTooShort { need: 3, got: 2 },
        "the filter block takes 3 bytes, the buffer has 2",
    );
}

#[test]
fn debug_output_has_the_shape_and_not_the_table() {
    for kind in FilterKind::ALL.iter().copied() {
        let mut filter = FilterSpec::new(kind).keys(100_000).build().expect("a filter of 0.1 MB");
        let hashes: Vec<_> = (0..50_000u64).map(|key| filter.hash(&key)).collect();
        filter.insert_batch(&hashes).expect("half of the keys fit");
        let bytes = filter.to_bytes();
        let view = FilterView::parse(&bytes).expect("our own bytes");
        for shown in [format!("{filter:?}"), format!("{view:?}")] {
            assert!(shown.len() < 1_000, "{kind}: {} characters: {shown:.200}", shown.len());
            assert!(shown.contains("isa: "), "{kind}: {shown}");
        }
        let accumulator = FilterAccumulator::new(FilterSpec::new(kind).keys(100_000), 100_000);
        let mut accumulator = accumulator.expect("an accumulator");
        accumulator.insert_batch(&hashes).expect("half of the keys fit");
        assert!(format!("{accumulator:?}").len() < 1_000, "{kind}: {accumulator:?}");
    }
    let policy = FilterPolicy::builder(FilterKind::Cuckoo).bits_per_key(12.0).build();
    let policy = format!("{:?}", policy.expect("a policy"));
    assert!(policy.starts_with("FilterPolicy") && policy.contains("bits_per_key"), "{policy}");
}
