//! The claims that filters are tested for, one file per idea. Some claims are about every filter, others about filters
//! with a capability.
//!
//! | module | claims about |
//! |---|---|
//! | [`mod@answers`] | no false negative; batches, single calls and portable code agree |
//! | [`rates`] | measured false positives against `expected_fpr` and the sizing equation |
//! | [`specs`] | specs that cannot be built, and the smallest filter |
//! | [`bytes`] | round trips, views, golden digests, damage |
//! | [`forgery`] | bytes that were changed and then got right checksums |
//! | [`hashing`] | seeds and hashers |
//! | [`merge`], [`fold`], [`estimate`], [`removal`] | capabilities that not every filter has |
//! | [`endless`] | filters that take any number of keys |
//! | [`full`] | filters that can become full |
//! | [`exact`], [`resize`], [`tables`] | filters that keep whole fingerprints |
//!
//! A claim is a generic function that panics if the claim does not hold. [`contract_suite!`] makes tests of the claims
//! about every filter. The other macros whose names end in `_suite!` make tests of the claims about a capability.
//!
//! [`contract_suite!`]: crate::contract_suite

pub mod answers;
pub mod bytes;
pub mod endless;
pub mod estimate;
pub mod exact;
pub mod fold;
pub mod forgery;
pub mod full;
pub mod hashing;
pub mod merge;
pub mod rates;
pub mod removal;
pub mod resize;
pub mod specs;
pub mod tables;

pub use bytes::{golden_keys, golden_spec};

use crate::subject::Room;
use crate::{Multiset, Subject};
use trommel_base::{Bitmap, Filter, Full, Insert, KeyHash, SpecError, WhyFull};
use trommel_simd::{Isa, IsaError};

/// Lengths of batches, among them lengths around the widths of vectors and words (8, 16 and 64) and around prefetch
/// distances (64 and 128 keys).
pub const LENGTHS: [usize; 19] =
    [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1000];
/// Lengths of long batches. Some lookup kernels process a batch in pieces of at most 2048 keys. Batches of 2047, 2048
/// and 2049 keys have about as many keys as one piece; the other two lengths take several pieces.
pub const LONG_LENGTHS: [usize; 5] = [2047, 2048, 2049, 4103, 5000];

/// Whether the machine has the instruction set. If the machine lacks the set, this function checks that building a
/// filter for the set is a typed error; the caller has nothing more to test.
///
/// # Panics
/// If building for a set that the machine lacks does not fail with an error that names the set.
#[track_caller]
pub fn runs_on<S: Subject>(isa: Isa) -> bool {
    let outcome = S::build(&crate::subject::spec(100, 0.01, isa));
    if isa.is_available() {
        return true;
    }
    match outcome {
        Err(SpecError::Isa(IsaError::Unavailable { asked, .. })) if asked == isa => {}
        other => panic!("{isa} is not on this machine, yet building for it gave {other:?}"),
    }
    println!("skipped: this machine has no {isa}");
    false
}

/// The answers of a batch lookup.
pub fn answers(filter: &impl Filter, hashes: &[KeyHash]) -> Bitmap {
    let mut found = Bitmap::new(0);
    filter.contains_batch(hashes, &mut found);
    assert_eq!(found.len(), hashes.len(), "the bitmap does not have the batch's length");
    found
}

/// The answers of single lookups, one for each hash.
pub fn answers_singly(filter: &impl Filter, hashes: &[KeyHash]) -> Bitmap {
    let mut found = Bitmap::new(hashes.len());
    for (i, hash) in hashes.iter().enumerate() {
        if filter.contains_hash(*hash) {
            found.set(i);
        }
    }
    found
}

/// Inserts a batch into a filter that has room for it. If the filter counts copies, and already holds as many copies of
/// a key as it can, the insert of that key fails, and the keys after it are inserted.
#[track_caller]
pub(crate) fn fill<S: Subject>(filter: &mut S::Filter, hashes: &[KeyHash]) {
    let mut rest = hashes;
    while let Err(full) = filter.insert_batch(rest) {
        assert!(
            has_all_copies::<S>(full),
            "inserting {} keys into a filter with room failed: {full}",
            hashes.len()
        );
        assert!(filter.contains_hash(rest[full.inserted]));
        rest = &rest[full.inserted + 1..];
    }
}

/// The number of keys for which a filter must be planned so that it can take `count` keys of any stream. In a multiset,
/// copies are in adjacent slots, and a stream of few distinct hashes makes long clusters. How many slots such a stream
/// needs depends on where these clusters are in the table. So twelve times the largest possible number of copies of a
/// key is added to `count`. A key can have at most as many copies as the filter may hold, and at most `count` copies.
pub(crate) fn room_for<S: Subject>(count: usize) -> usize {
    match S::ROOM {
        Room::Slots { copies: copies @ 2.. } => count + 12 * count.min(copies as usize),
        _ => count,
    }
}

/// Drops the third and later copies of each hash, for a multiset that is not [canonical](Subject::CANONICAL). In such a
/// filter, the copies of a key can be in only a few slots, which other keys need too: many copies would leave those
/// keys no room.
pub(crate) fn that_fit<S: Subject>(hashes: Vec<KeyHash>) -> Vec<KeyHash> {
    if S::CANONICAL || matches!(S::ROOM, Room::Endless | Room::Slots { copies: 1 }) {
        return hashes;
    }
    let mut held = Multiset::default();
    let copies_so_far = |hash: &KeyHash| {
        held.insert(*hash);
        held.count(*hash)
    };
    let counts: Vec<u64> = hashes.iter().map(copies_so_far).collect();
    hashes.into_iter().zip(counts).filter(|(_, count)| *count <= 2).map(|(hash, _)| hash).collect()
}

/// Inserts one key into a filter that has room for it, as [`fill`] does.
#[track_caller]
pub(crate) fn put<S: Subject>(filter: &mut S::Filter, hash: KeyHash) {
    if let Err(full) = filter.insert_hash(hash) {
        assert!(has_all_copies::<S>(full), "an insert into a filter with room failed: {full}");
        assert!(filter.contains_hash(hash));
    }
}

/// Whether an insert failed because the filter already holds as many copies of the key as it can.
fn has_all_copies<S: Subject>(full: Full) -> bool {
    match (S::ROOM, full.why) {
        (Room::Slots { copies }, WhyFull::Copies { max }) => {
            copies > 1 && (copies == max || !S::CANONICAL && copies < max)
        }
        _ => false,
    }
}

/// The error of a call that inserted `inserted` keys before it failed with `full`.
pub(crate) fn after(inserted: usize, full: Full) -> Full {
    Full::new(inserted, full.len, full.capacity).because(full.why)
}

/// Inserts the keys of a batch until an insert fails, and returns the number of inserted keys. In a filter of
/// [`Room::Endless`], all keys are inserted.
#[track_caller]
pub(crate) fn fill_up<S: Subject>(filter: &mut S::Filter, hashes: &[KeyHash]) -> usize {
    match filter.insert_batch(hashes) {
        Ok(()) => hashes.len(),
        Err(full) => {
            assert!(S::ROOM != Room::Endless, "a filter with endless room is full: {full}");
            full.inserted
        }
    }
}

/// Fails if a batch or a single lookup does not find one of the keys.
#[track_caller]
pub(crate) fn assert_all_found(filter: &impl Filter, hashes: &[KeyHash], what: &str) {
    let found = answers(filter, hashes);
    if let Some(i) = (0..hashes.len()).find(|i| !found.get(*i)) {
        panic!("{what}: a batch of {} does not find key {i}, {:?}", hashes.len(), hashes[i]);
    }
    if let Some(i) = hashes.iter().position(|hash| !filter.contains_hash(*hash)) {
        panic!("{what}: a single lookup does not find key {i}, {:?}", hashes[i]);
    }
}

/// Tests of the claims about every filter. Claims that take an instruction set (about answers, false-positive rates,
/// the smallest filter and the golden digest) are tested once for each instruction set; the other claims are tested
/// once.
///
/// ```text
/// contract_suite!(split_block, SplitBlockSubject);
/// ```
/// makes the module `split_block` with `portable::no_key_is_lost`, `avx2::no_key_is_lost` and so on.
#[macro_export]
macro_rules! contract_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims_per_isa!($subject, {
                answers::no_key_is_lost,
                answers::every_way_to_insert_makes_the_same_filter,
                answers::every_way_to_ask_gives_the_same_answer,
                answers::large_tables_behave_like_small_ones,
                answers::an_insert_says_whether_it_changed_the_filter,
                answers::a_reused_bitmap_forgets_the_past,
                rates::false_positives_are_as_many_as_expected,
                rates::tiny_filters_keep_their_promise,
                rates::low_rates_are_kept_by_small_filters,
                specs::zero_keys_is_the_smallest_filter,
                bytes::golden_digest_is_unchanged,
            });
            $crate::claims!($subject, {
                specs::impossible_rates_are_typed_errors,
                specs::impossible_key_counts_are_typed_errors,
                specs::impossible_byte_counts_are_typed_errors,
                specs::impossible_bits_per_key_are_typed_errors,
                specs::random_specs_never_panic_and_are_met,
                specs::bytes_allowed_are_bytes_taken,
                specs::bits_per_key_are_bytes,
                bytes::frozen_bytes_come_back_the_same,
                bytes::views_answer_alike_at_every_alignment,
                bytes::every_flipped_bit_is_refused,
                bytes::every_truncation_and_extension_is_refused,
                bytes::garbage_is_refused,
                forgery::forged_parameters_never_panic_hang_or_allocate,
                forgery::a_forged_payload_is_only_another_filter,
                hashing::the_hasher_is_in_the_bytes,
                hashing::another_seed_gives_other_answers,
                hashing::the_hasher_has_the_set_of_the_filter,
                hashing::keys_and_their_hashes_are_one,
            });
        }
    };
}

/// Tests of [`endless`] for a filter of [`Room::Endless`].
#[macro_export]
macro_rules! endless_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims_per_isa!($subject, {
                endless::no_key_is_lost_in_an_overfull_filter,
                endless::every_insert_is_counted,
                endless::an_overfull_filter_still_knows_its_rate,
            });
        }
    };
}

/// Tests of [`full`] for a filter of [`Room::Slots`].
#[macro_export]
macro_rules! full_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims_per_isa!($subject, {
                full::a_failed_insert_changes_nothing,
                full::a_failed_batch_takes_the_keys_that_it_says,
                full::a_batch_fails_where_single_inserts_do,
                full::a_key_has_a_bounded_number_of_copies,
                full::every_way_to_ask_a_full_filter_gives_the_same_answer,
            });
        }
    };
}

/// Tests of [`exact`] for an [`Exact`](crate::subject::Exact) subject.
#[macro_export]
macro_rules! exact_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims_per_isa!($subject, {
                exact::the_filter_follows_the_fingerprints,
                exact::order_does_not_matter,
                exact::batches_do_what_single_inserts_do_at_every_load,
                exact::removing_all_leaves_the_empty_table,
                exact::a_removed_fingerprint_leaves_no_trace,
                exact::what_is_absent_is_not_removed,
            });
            $crate::claims!($subject, {
                exact::len_is_the_number_of_fingerprints,
                exact::a_merge_keeps_every_fingerprint,
                exact::a_merge_that_does_not_fit_changes_nothing,
            });
        }
    };
}

/// Tests of [`resize`] and [`tables`] for a [`Resize`](crate::subject::Resize) subject.
#[macro_export]
macro_rules! resize_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims_per_isa!($subject, {
                resize::growing_keeps_every_fingerprint,
                resize::any_size_keeps_every_fingerprint,
                resize::a_resized_filter_takes_and_forgets_keys,
            });
            $crate::claims!($subject, {
                resize::there_and_back_is_the_same_filter,
                resize::too_small_a_size_is_refused,
                resize::filters_of_unlike_sizes_merge,
                tables::a_flipped_bit_is_refused_or_makes_another_filter,
                tables::two_flipped_bits_are_refused_or_make_another_filter,
                tables::a_torn_table_is_refused_or_makes_another_filter,
                tables::flipped_bits_of_resized_filters_are_refused_or_make_another_filter,
            });
        }
    };
}

/// Tests of claims that take an instruction set, in one module per set.
#[macro_export]
macro_rules! claims_per_isa {
    ($subject:ty, $claims:tt) => {
        mod portable {
            use super::*;
            $crate::claims!($subject, $crate::Isa::Portable, $claims);
        }
        mod neon {
            use super::*;
            $crate::claims!($subject, $crate::Isa::Neon, $claims);
        }
        mod avx2 {
            use super::*;
            $crate::claims!($subject, $crate::Isa::Avx2, $claims);
        }
        mod avx512_core {
            use super::*;
            $crate::claims!($subject, $crate::Isa::Avx512Core, $claims);
        }
        mod avx512 {
            use super::*;
            $crate::claims!($subject, $crate::Isa::Avx512, $claims);
        }
        mod avx512_gather {
            use super::*;
            $crate::claims!($subject, $crate::Isa::Avx512Gather, $claims);
        }
    };
}

/// A test for each claim.
#[macro_export]
macro_rules! claims {
    ($subject:ty, { $($file:ident :: $claim:ident),* $(,)? }) => {$(
        #[test]
        fn $claim() {
            $crate::contract::$file::$claim::<$subject>();
        }
    )*};
    ($subject:ty, $isa:expr, { $($file:ident :: $claim:ident),* $(,)? }) => {$(
        #[test]
        fn $claim() {
            if $crate::contract::runs_on::<$subject>($isa) {
                $crate::contract::$file::$claim::<$subject>($isa);
            }
        }
    )*};
}

/// Tests of [`merge`] for a filter that implements [`Merge`](trommel_base::Merge).
#[macro_export]
macro_rules! merge_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims!($subject, {
                merge::a_merge_is_the_filter_of_the_union,
                merge::merging_commutes,
                merge::merging_nothing_changes_nothing,
                merge::unlike_filters_are_refused_and_unchanged,
            });
        }
    };
}

/// Tests of [`merge`] for an [`Intersect`](crate::subject::Intersect) subject.
#[macro_export]
macro_rules! intersect_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims!($subject, {
                merge::an_intersection_keeps_the_common_keys,
                merge::unlike_filters_do_not_intersect,
            });
        }
    };
}

/// Tests of [`fold`] for a [`Fold`](crate::subject::Fold) subject.
#[macro_export]
macro_rules! fold_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims!($subject, {
                fold::a_folded_filter_is_the_smaller_filter,
                fold::folding_in_steps_is_folding_at_once,
                fold::a_folded_filter_knows_its_rate,
                fold::what_does_not_divide_is_refused,
            });
        }
    };
}

/// Tests of [`estimate`] for an [`Estimate`](crate::subject::Estimate) subject.
#[macro_export]
macro_rules! estimate_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims!($subject, {
                estimate::estimates_are_near_the_truth,
                estimate::repeats_are_not_counted,
            });
        }
    };
}

/// Tests of [`removal`] for a filter with [`Remove`](trommel_base::Remove) and
/// [`Count`](trommel_base::Count).
#[macro_export]
macro_rules! removal_suite {
    ($module:ident, $subject:ty) => {
        mod $module {
            use super::*;
            $crate::claims_per_isa!($subject, {
                removal::the_filter_follows_the_multiset,
                removal::what_is_absent_is_not_removed,
                removal::a_removed_key_can_be_reinserted,
                removal::removing_all_leaves_an_empty_filter,
                removal::removing_false_positives_breaks_nothing_else,
                removal::many_copies_of_a_key_are_never_lost,
            });
        }
    };
}
