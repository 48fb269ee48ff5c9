//! Batches in the blocked layouts with AVX2 and AVX-512. [`batch_lookups`] and [`batch_inserts`] declare the functions
//! of a layout for an instruction set. The code of the layout tests or sets the bits of one group of keys, whose blocks
//! are already located.

pub(super) mod avx2;
pub(super) mod avx512_core;

use super::portable::{Body, GROUP};
use crate::geometry::Geometry;
use trommel_base::batch::{Fetch, Ring, Window, run_stages};

/// Takes the complete groups of a batch through the pipeline. `locate` writes where the blocks of a group's keys begin,
/// in words of 64 bits; `probe` reads or writes these blocks. Both closures get the state and the number of the group.
///
/// The caller handles the last keys of the batch, which do not fill a group. `F` is the window's prefetch hint as a
/// type, so that the loop need not branch on the hint. Rejected: one comparison of the hint per group (with AVX2 on a
/// Zen 3 core, lookups in filters of up to 1e6 keys take 1.02 to 1.06 times as long).
///
/// # Panics
/// If the table does not have the length that the geometry says. The unchecked accesses of the kernels rely on this
/// check.
#[inline(always)]
pub(super) fn run_groups<B: Body, F: Fetch, S>(
    geometry: Geometry,
    table: *const [u8],
    hashes: &[u64],
    window: Window,
    state: &mut S,
    mut locate: impl FnMut(&mut S, usize, &[u64; GROUP], &mut [u32; GROUP]),
    mut probe: impl FnMut(&mut S, usize, &[u64; GROUP], &[u32; GROUP]),
) {
    assert_eq!(table.len() as u64, geometry.units * B::BLOCK_BYTES as u64);
    let (groups, _) = hashes.as_chunks::<GROUP>();
    run_stages::<GROUP, _>(
        hashes,
        groups.len(),
        window,
        &mut (Ring::default(), state),
        |(ring, state), group| locate(state, group, &groups[group], ring.group_mut(group)),
        |(ring, _), group| ring.fetch::<GROUP, F>(group, table.cast()),
        |(ring, state), group| probe(state, group, &groups[group], ring.group(group)),
    );
}

/// Declares a function that is compiled for an instruction set.
macro_rules! compiled_for {
    (avx2: $($function:tt)*) => {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
        $($function)*
    };
    (avx512_core: $($function:tt)*) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt")]
        $($function)*
    };
}
pub(super) use compiled_for;

/// Calls [`run_groups`]. `$set` is the module with the code that locates blocks. `$probe` is the code that reads or
/// writes the blocks of a group.
///
/// If `patterns` is given, it computes a word for each of the eight keys when their blocks are located. `$probe` then
/// gets these words in place of the hashes of the keys.
///
/// The macro repeats `$probe` for each prefetch hint, so each copy has one caller, into which the compiler inlines it.
/// A closure is compiled for the instruction set of the function around it, which [`compiled_for`] declares.
macro_rules! run_groups_with {
    (
        $set:ident, $body:ty, ($geometry:ident, $table:ident, $hashes:ident),
        |$group:ident, $keys:pat_param, $places:pat_param| $probe:expr
    ) => {{
        use $crate::kernel::groups;
        let units = groups::$set::units($geometry);
        let window = trommel_base::batch::Window::for_table($table.len());
        trommel_base::with_fetch!(window, F => groups::run_groups::<$body, F, _>(
            $geometry, $table, $hashes, window, &mut (),
            |(), _, keys, places| groups::$set::locate::<$body>(units, keys, places),
            |(), $group, $keys, $places| $probe,
        ));
    }};
    (
        $set:ident, $body:ty, ($geometry:ident, $table:ident, $hashes:ident),
        patterns = |$shape:pat_param, $hashed:pat_param| $patterns:expr,
        |$group:ident, $keys:pat_param, $places:pat_param| $probe:expr
    ) => {{
        use $crate::kernel::groups;
        let units = groups::$set::units($geometry);
        let window = trommel_base::batch::Window::for_table($table.len());
        let $shape = $geometry;
        trommel_base::with_fetch!(window, F => groups::run_groups::<$body, F, _>(
            $geometry, $table, $hashes, window, &mut $crate::kernel::x86::PatternRing::new(),
            |ring, group, keys, places| {
                groups::$set::locate::<$body>(units, keys, places);
                let $hashed = keys;
                groups::$set::store(ring.group_mut(group), $patterns);
            },
            |ring, $group, _, $places| {
                let $keys = ring.group($group);
                $probe
            },
        ));
    }};
}
pub(super) use run_groups_with;

/// Declares `contains_batch` of a layout for an instruction set.
///
/// - `answers` returns the answers for a group: bit `i` tells whether key `i` is present. It gets the geometry, the
///   address of the table, the hashes of the group, and where its blocks begin, in words of 64 bits.
/// - `answer_bytes` instead writes a byte for each key of a group, which is 0xFF if the key is present. It gets the
///   address of the table, the hashes or patterns of the group, where its blocks begin, and the bytes.
/// - In tables of more than `up_to` bytes, the functions of the layout for AVX2 are called instead.
/// - `patterns` is described at [`run_groups_with`].
macro_rules! batch_lookups {
    (
        $set:ident, $body:ty, $(up_to = $most_bytes:expr,)?
        answers = |$shape:pat_param, $start:pat_param, $keys:pat_param, $places:pat_param| $answers:expr $(,)?
    ) => {
        $crate::kernel::groups::batch_lookups!(@for $set, $body, $($most_bytes)?, |geometry, table, hashes, found| {
            let ($shape, $start) = (geometry, table.as_ptr());
            let bytes = $crate::kernel::bytes_of(found);
            $crate::kernel::groups::run_groups_with!(
                $set, $body, (geometry, table, hashes),
                |group, $keys, $places| bytes[group] = $answers
            );
        });
    };
    (
        $set:ident, $body:ty, $(up_to = $most_bytes:expr,)?
        $(patterns = |$shape:pat_param, $hashed:pat_param| $patterns:expr,)?
        answer_bytes = |$start:pat_param, $keys:pat_param, $places:pat_param, $bytes:pat_param| $write:expr $(,)?
    ) => {
        $crate::kernel::groups::batch_lookups!(@for $set, $body, $($most_bytes)?, |geometry, table, hashes, found| {
            let $start = table.as_ptr();
            let mut answers = $crate::kernel::x86::AnswerBytes::new();
            $crate::kernel::groups::run_groups_with!(
                $set, $body, (geometry, table, hashes),
                $(patterns = |$shape, $hashed| $patterns,)?
                |group, $keys, $places| {
                    answers.advance(group, found);
                    let $bytes = answers.group(group);
                    $write
                }
            );
            answers.finish(hashes.len() / $crate::kernel::portable::GROUP * $crate::kernel::portable::GROUP, found);
        });
    };
    (
        @for $set:ident, $body:ty, $($most_bytes:expr)?,
        |$geometry:ident, $table:ident, $hashes:ident, $found:ident| $groups:block
    ) => {
        $crate::kernel::groups::compiled_for! { $set:
            pub(super) fn contains_batch(
                $geometry: $crate::geometry::Geometry, $table: &[u8], $hashes: &[u64], $found: &mut [u64]
            ) {
                $(if $table.len() > $most_bytes {
                    return super::avx2::contains_batch($geometry, $table, $hashes, $found);
                })?
                $groups
                $crate::kernel::portable::contains_rest::<$body>($geometry, $table, $hashes, $found);
            }
        }
    };
}
pub(super) use batch_lookups;

/// Declares `insert_batch` of a layout for an instruction set. `insert` sets the bits of a group. It gets the address
/// of the table, the hashes of the group, and where its blocks begin, in words of 64 bits. `patterns` is described at
/// [`run_groups_with`].
macro_rules! batch_inserts {
    (
        $set:ident, $body:ty,
        $(patterns = |$shape:pat_param, $hashed:pat_param| $patterns:expr,)?
        insert = |$start:pat_param, $keys:pat_param, $places:pat_param| $insert:expr $(,)?
    ) => {
        $crate::kernel::groups::compiled_for! { $set:
            pub(super) fn insert_batch(geometry: $crate::geometry::Geometry, table: &mut [u8], hashes: &[u64]) {
                let whole = &raw const *table;
                let $start = table.as_mut_ptr();
                $crate::kernel::groups::run_groups_with!(
                    $set, $body, (geometry, whole, hashes),
                    $(patterns = |$shape, $hashed| $patterns,)?
                    |_group, $keys, $places| $insert
                );
                $crate::kernel::portable::insert_rest::<$body>(geometry, table, hashes);
            }
        }
    };
}
pub(super) use batch_inserts;
