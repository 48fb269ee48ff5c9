//! Operations that can return an error survive a refusal of any of their allocations, except those listed last: they
//! succeed in another way, or return an error that reports the refused memory. After an error, the filter is as before,
//! with two exceptions: a batch of inserts keeps the keys that its error reports as inserted, and a filter that grows
//! by itself can have doubled.
//!
//! Each allocation of each operation is refused once alone, and once with all that follow. Each group of operations
//! runs in a process of its own, since the refusal of memory ends a process whose code cannot handle it.
//!
//! The following calls are not tested, because they have no error for refused memory. Like the collections of the
//! standard library, they end the program if the system refuses memory:
//!
//! - `to_bytes` of filters, views, headers and accumulators; filters and headers have `write_to` as an alternative;
//! - `Bitmap::new`, `reset` and `fill_words`, and lookups that write their answers to a bitmap without room;
//!   `Bitmap::try_reserve` is the alternative;
//! - `Hasher::hash_batch` and its variants for columns, which extend a vector of the caller;
//! - `Clone`, `ShardedFilter::into_shards`, `IntegerBatches::new`, `SharedBytes::new`, and formatting.
//!
//! The following allocations are not tested either. The calls that make them can return an error, but a refusal of
//! these allocations ends the program:
//!
//! - in inserts, removals and merges of a compact counting filter, the nodes of its overflow table, a `BTreeMap`. Each
//!   node has less than 300 bytes. Reading and writing the bytes of such a filter is tested;
//! - the `Arc` of less than 100 bytes in `OwnedView::parse`;
//! - the start of an engine's threads, and work that an engine hands to them: the standard library and Rayon allocate
//!   some hundred bytes per thread and call. In these tests, workers that run on the calling thread stand in for the
//!   engine's threads;
//! - the threads and queues of a `Stream`, the keys that it gathers, and the lines of `LineBatches`;
//! - the text of some errors of `IntegerBatches`, and the panics of `ShardedFilter`.
#![cfg(feature = "parallel")]

mod allocator;
mod check;
mod engine;
mod filters;
mod forged;
mod others;

use trommel_testkit::process::{assert_passed, run_ignored};

#[global_allocator]
static ALLOCATOR: allocator::Refusing = allocator::Refusing;

const GROUP: &str = "TROMMEL_TEST_GROUP";

/// Runs a group of operations in a process of its own.
fn in_a_process(group: &str) {
    assert_passed(&run_ignored("operations_of_a_group", &[(GROUP, group)]), group);
}

macro_rules! groups {
    ($($group:ident: $run:expr;)*) => {
        fn run_group(group: &str) {
            match group {
                $(stringify!($group) => $run,)*
                _ => panic!("no group {group}"),
            }
        }

        /// The tests are named after the groups of operations.
        mod a_refused_allocation_is_an_error_or_changes_nothing {
            $(#[test]
            fn $group() {
                super::in_a_process(stringify!($group));
            })*
        }
    };
}

groups! {
    bloom: filters::check_all(&filters::BLOOM);
    counting_bloom: filters::check_all(&filters::COUNTING_BLOOM);
    compact_counting_bloom: filters::check_bytes(&filters::COMPACT_COUNTING_BLOOM);
    register_bloom: filters::check_all(&filters::REGISTER_BLOOM);
    split_block_bloom: filters::check_all(&filters::SPLIT_BLOCK_BLOOM);
    cache_line_bloom: filters::check_all(&filters::CACHE_LINE_BLOOM);
    quotient: filters::check_all(&filters::QUOTIENT);
    quotient_multiset: filters::check_all(&filters::QUOTIENT_MULTISET);
    quotient_with_32_bits: filters::check_all(&filters::WIDE_QUOTIENT);
    quotient_that_grows: filters::check_all(&filters::GROWING_QUOTIENT);
    cache_line_quotient: filters::check_all(&filters::CACHE_LINE_QUOTIENT);
    cache_line_quotient_multiset: filters::check_all(&filters::CACHE_LINE_QUOTIENT_MULTISET);
    cache_line_quotient_that_grows: filters::check_all(&filters::GROWING_CACHE_LINE_QUOTIENT);
    cuckoo_with_8_bits: filters::check_all(&filters::CUCKOO_8);
    cuckoo_with_12_bits: filters::check_all(&filters::CUCKOO_12);
    cuckoo_with_16_bits: filters::check_all(&filters::CUCKOO_16);
    cuckoo_with_32_bits: filters::check_all(&filters::CUCKOO_32);
    cuckoo_multiset: filters::check_all(&filters::CUCKOO_MULTISET);
    cuckoo_that_grows: filters::check_all(&filters::GROWING_CUCKOO);
    policies: others::check_policies();
    accumulators: others::check_accumulators();
    key_batches: others::check_key_batches();
    engines: engine::check_engines();
    sharded_filters: engine::check_sharded_filters();
}

/// Runs one group of operations. Fails if no allocation was refused, since the group has then tested nothing.
#[test]
#[ignore = "started by the tests of the groups"]
fn operations_of_a_group() {
    run_group(&std::env::var(GROUP).unwrap());
    assert!(check::refused() > 0, "nothing was refused");
}
