//! The batch pipeline: locate, prefetch, probe.
//!
//! If the table is not in the caches, a single lookup waits for its cache line, but a core can have sixteen cache lines
//! and more in flight. So a batch goes through a pipeline of three stages, one group of keys at a time. *Locate*
//! computes, from the hashes of a group, the offsets of its cache lines in the table. Some groups later, *fetch*
//! prefetches these cache lines. After a further distance, *probe* reads or writes them.
//!
//! *Locate* stores the offsets in a [`Ring`], from which *fetch* and *probe* load them. A load that follows a store of
//! another width to the same address may have to wait until the store has left the store buffer. So *fetch* loads a
//! group's offsets only [`LEAD_KEYS`] keys after *locate* has stored them. Rejected: reading each offset right after
//! storing it, which halved the speed.

pub use trommel_simd::Hint;
use trommel_simd::{l2_bytes, prefetch};

/// The number of keys between locating a cache line and fetching it, or probing it if there is no prefetch.
pub const LEAD_KEYS: usize = 64;
/// The longest distance, in keys, between fetching a cache line and probing it.
pub const MAX_DISTANCE_KEYS: usize = 256;
/// The number of slots of a [`Ring`]: a power of two, with room for the lead, the distance and a group.
pub const RING_KEYS: usize = 512;

/// The number of bytes in a word. A slot of a [`Ring`] holds an offset that is counted in words.
pub const WORD_BYTES: usize = 8;

/// Whether and how far ahead to prefetch in a table of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The prefetch hint; `None` if the table is in cache anyway.
    pub hint: Option<Hint>,
    /// The number of keys between prefetch and probe. The pipeline rounds it down to whole groups, and uses at most
    /// [`MAX_DISTANCE_KEYS`].
    pub distance_keys: usize,
}

impl Window {
    const NONE: Self = Self { hint: None, distance_keys: 0 };
    const FAR: Self = Self { hint: Some(Hint::T1), distance_keys: 128 };

    /// The window for a table of `bytes` in which each key reads or writes one unit: a word, a block or a cache line.
    /// In a table of up to half of L2 there is no prefetch. In a table of up to twice L2, the hint is T0, 64 keys
    /// ahead; in a larger table, it is T1, 128 keys ahead.
    ///
    /// In tables of up to half of L2, prefetching costs instructions and gains nothing. In larger tables that still fit
    /// an L2 of 1 MiB, lookups with prefetch take 0.7 to 0.85 of the time of lookups without prefetch, both in blocks
    /// of a word and in blocks of a cache line.
    ///
    /// In tables of about twice L2 and more, the fastest hint is T1, which fetches into L2: a Sapphire Rapids core can
    /// have 48 cache lines on their way to L2, but only 16 on their way to L1. On such a core, whose L2 has 2 MiB, a
    /// lookup in split blocks takes, in ns:
    ///
    /// | table | 4 MB | 16 MB | 128 MB | 1 GB |
    /// |---|---|---|---|---|
    /// | T0 | 2.2 | 4.1 | 9.4 | 13.9 |
    /// | T1 | 1.9 | 3.1 | 7.4 | 12.7 |
    ///
    /// NTA is slower than T1 at every size. In tables of between one and two times L2, a loop that only reads random
    /// cache lines, without a filter, is up to a tenth slower with T1 than with T0. Distances from 64 to 256 keys make
    /// no difference.
    #[must_use]
    pub fn for_table(bytes: usize) -> Self {
        Self::for_table_and_l2(bytes, l2_bytes())
    }

    const fn for_table_and_l2(bytes: usize, l2_bytes: usize) -> Self {
        if bytes <= l2_bytes / 2 {
            Self::NONE
        } else if bytes / 2 <= l2_bytes {
            Self { hint: Some(Hint::T0), distance_keys: 64 }
        } else {
            Self::FAR
        }
    }

    /// The window for a table of `bytes` in which one lookup, or one vector gather, reads several cache lines. These
    /// cache lines are in flight together even without prefetch, so prefetching is worthwhile only in tables that are
    /// larger than L2. For these tables, the hint is T1, 128 keys ahead. (The standard filter prefetches only in tables
    /// of more than 1.5 times L2: decision 87.) On a Sapphire Rapids core, whose L2 has 2 MiB, a lookup takes, in ns:
    ///
    /// | lookup | prefetch | 1.5 MB | 4 MB |
    /// |---|---|---|---|
    /// | in register blocks | no | 0.92 | 1.7 |
    /// | in register blocks | yes | 1.09 | 1.6 |
    /// | of an absent key in a standard filter | no | 2.7 | 6.1 |
    /// | of an absent key in a standard filter | yes | 6.3 | 4.1 |
    ///
    /// T0 is not used, since a kernel that works on many keys at a time fetches more cache lines than a core can have
    /// on their way to L1. On a Zen 4 core, whose L2 has 1 MiB, in tables of 1.3 to 1.5 MB, the time of a lookup with
    /// T1 is this share of its time with T0: 0.95 in a cache-line quotient filter, 0.92 in a quotient filter.
    ///
    /// Rejected for quotient filters, on the same core: prefetching only in tables larger than 1.5 MB. In a loop that
    /// looks keys up in only one filter, lookups without prefetch took 0.95 of their time with T1 in a cache-line
    /// quotient filter, and 0.8 of it in a quotient filter. But the harness (`perf`) measures several filters in
    /// alternation. In the harness, a cache-line quotient filter with AVX-512 and without prefetch was slower than the
    /// same filter with AVX2 and T1.
    #[must_use]
    pub fn for_gathers(bytes: usize) -> Self {
        if bytes <= l2_bytes() { Self::NONE } else { Self::FAR }
    }

    /// The window for a table of `bytes` whose cache lines are fetched for many keys at a time. In a table of up to
    /// half of L2 there is no prefetch. In a larger table, the hint is T1, 128 keys ahead, since many keys at
    /// a time need more cache lines than a core can have on their way to L1.
    ///
    /// In a cache-line quotient filter with AVX2 on a Zen 4 core, looking up many keys at a time takes this share of
    /// the time that lookups key by key take:
    ///
    /// | table | without prefetch | T0 | T1 |
    /// |---|---|---|---|
    /// | 0.7 MB | 0.42 to 0.55 | – | 0.38 to 0.48 |
    /// | 1.3 MB | 0.45 to 0.7 | 0.43 to 0.55 | 0.38 to 0.46 |
    #[must_use]
    pub fn for_passes(bytes: usize) -> Self {
        if Self::for_table(bytes).hint.is_none() { Self::NONE } else { Self::FAR }
    }
}

/// The distance in bytes between the hashes of a batch that are being located and the hashes that are prefetched.
const KEYS_BEHIND_BYTES: usize = 1024;

/// A prefetch hint as a type, so that a kernel's loop is compiled for each hint.
pub trait Fetch {
    /// Prefetches the cache line at `address`.
    fn line(address: *const u8);

    /// Prefetches into L1 the hashes that come 1 KiB after `keys` in the same batch.
    ///
    /// The hashes of a batch are read in order. But if each key accesses a different page of the table, the processor
    /// does not fetch the next hashes in time by itself. Times in ns per key, without and with this prefetch, for a
    /// million keys (8 MB of hashes) and tables of 1.5 MB on a Cascade Lake core:
    ///
    /// | blocks | lookup, without | lookup, with | insert, without | insert, with |
    /// |---|---|---|---|---|
    /// | register | 6.5 | 2.9 | 8.4 | 3.2 |
    /// | split | 4.9 | 2.7 | 5.8 | 3.1 |
    /// | cache line | 6.5 | 2.8 | 9.3 | 3.2 |
    ///
    /// Rejected: the same prefetch while a batch is partitioned. Partitioning with this prefetch took 0.9 to 1.2 times
    /// as long as without it (1.2 to 1.5 times for batches of 64 K keys). Rejected too: the same prefetch in lookups
    /// that make passes over lists of 256 keys (1.01 to 1.06 times as long).
    #[inline(always)]
    fn keys_behind(keys: &[u64]) {
        for line in keys.chunks(LINE_KEYS) {
            prefetch(line.as_ptr().cast::<u8>().wrapping_add(KEYS_BEHIND_BYTES), Hint::T0);
        }
    }
}

/// The number of hashes in a cache line.
const LINE_KEYS: usize = 8;

/// No prefetch.
#[derive(Debug)]
pub struct NoFetch;
/// Prefetch with [`Hint::T0`].
#[derive(Debug)]
pub struct FetchT0;
/// Prefetch with [`Hint::T1`].
#[derive(Debug)]
pub struct FetchT1;
/// Prefetch with [`Hint::Nta`].
#[derive(Debug)]
pub struct FetchNta;

impl Fetch for NoFetch {
    #[inline(always)]
    fn line(_: *const u8) {}

    #[inline(always)]
    fn keys_behind(_: &[u64]) {}
}
impl Fetch for FetchT0 {
    #[inline(always)]
    fn line(address: *const u8) {
        prefetch(address, Hint::T0);
    }
}
impl Fetch for FetchT1 {
    #[inline(always)]
    fn line(address: *const u8) {
        prefetch(address, Hint::T1);
    }
}
impl Fetch for FetchNta {
    #[inline(always)]
    fn line(address: *const u8) {
        prefetch(address, Hint::Nta);
    }
}

/// Evaluates `$body`, in which the name `$fetch` stands for the [`Fetch`] type of the hint of `$window`.
#[macro_export]
macro_rules! with_fetch {
    ($window:expr, $fetch:ident => $body:expr) => {
        match $window.hint {
            ::core::option::Option::None => {
                type $fetch = $crate::batch::NoFetch;
                $body
            }
            ::core::option::Option::Some(hint) => match hint {
                $crate::batch::Hint::T0 => {
                    type $fetch = $crate::batch::FetchT0;
                    $body
                }
                $crate::batch::Hint::T1 => {
                    type $fetch = $crate::batch::FetchT1;
                    $body
                }
                $crate::batch::Hint::Nta => {
                    type $fetch = $crate::batch::FetchNta;
                    $body
                }
            },
        }
    };
}

/// A ring of [`RING_KEYS`] slots. From the stage that locates a key's unit to the stage that probes this unit, a slot
/// holds the offset of the unit. After that, the slot can be overwritten. A kernel that does not call [`Ring::fetch`]
/// can keep any other 32-bit number for each key in a ring.
///
/// An offset is the index of the unit's first 64-bit word in the table. So 32 bits reach 32 GiB. An x86 load can
/// multiply an index by 8, so a key takes two instructions fewer than if the ring held the indices of units.
#[derive(Debug)]
#[repr(align(64))]
pub struct Ring([u32; RING_KEYS]);

impl Default for Ring {
    fn default() -> Self {
        Self([0; RING_KEYS])
    }
}

impl Ring {
    /// The offsets of the `GROUP` keys of group `group`. `GROUP` must divide [`RING_KEYS`].
    #[inline(always)]
    #[must_use]
    pub fn group<const GROUP: usize>(&self, group: usize) -> &[u32; GROUP] {
        let (groups, _) = self.0.as_chunks::<GROUP>();
        &groups[group % (RING_KEYS / GROUP)]
    }

    /// The offsets of a group, for writing.
    #[inline(always)]
    pub fn group_mut<const GROUP: usize>(&mut self, group: usize) -> &mut [u32; GROUP] {
        let (groups, _) = self.0.as_chunks_mut::<GROUP>();
        &mut groups[group % (RING_KEYS / GROUP)]
    }

    /// Prefetches the cache lines in which the units of a group begin; `table` is the address of the table.
    #[inline(always)]
    pub fn fetch<const GROUP: usize, F: Fetch>(&self, group: usize, table: *const u8) {
        for offset in self.group::<GROUP>(group) {
            F::line(table.wrapping_add(*offset as usize * WORD_BYTES));
        }
    }
}

/// Runs `groups` groups of `GROUP` keys each through the pipeline. Each stage is called once per group, in order, with
/// the state and the index of the group. A group is fetched [`LEAD_KEYS`] keys after it is located, and probed
/// `window.distance_keys` keys after it is fetched (rounded as [`Window`] says). If the window has a hint, the hashes
/// in `keys` are prefetched before they are located; pass an empty `keys` if the hashes are in cache.
///
/// `GROUP` must divide 64.
#[inline(always)]
pub fn run_stages<const GROUP: usize, S>(
    keys: &[u64],
    groups: usize,
    window: Window,
    state: &mut S,
    locate: impl FnMut(&mut S, usize),
    fetch: impl FnMut(&mut S, usize),
    probe: impl FnMut(&mut S, usize),
) {
    struct Closures<'s, S, L, F, P>(&'s mut S, L, F, P);

    impl<S, L, F, P> BatchPipeline for Closures<'_, S, L, F, P>
    where
        L: FnMut(&mut S, usize),
        F: FnMut(&mut S, usize),
        P: FnMut(&mut S, usize),
    {
        #[inline(always)]
        fn locate(&mut self, group: usize) {
            (self.1)(self.0, group);
        }

        #[inline(always)]
        fn fetch(&mut self, group: usize) {
            (self.2)(self.0, group);
        }

        #[inline(always)]
        fn probe(&mut self, group: usize) {
            (self.3)(self.0, group);
        }
    }

    run_pipeline::<GROUP>(keys, groups, window, &mut Closures(state, locate, fetch, probe));
}

/// The stages of a pipeline, for code that is compiled for several instruction sets.
///
/// A closure in such code is compiled for the baseline instruction set unless it is inlined, and inlining a closure
/// cannot be forced. `#[inline(always)]` forces the inlining of a method, so the stages are methods.
pub trait BatchPipeline {
    /// Computes where the group's cache lines are in the table.
    fn locate(&mut self, group: usize);
    /// Prefetches the group's cache lines.
    fn fetch(&mut self, group: usize);
    /// Reads or writes the group's cache lines.
    fn probe(&mut self, group: usize);
}

/// Like [`run_stages`], with the methods of a type as the stages.
#[inline(always)]
pub fn run_pipeline<const GROUP: usize>(
    keys: &[u64],
    groups: usize,
    window: Window,
    stages: &mut impl BatchPipeline,
) {
    let distance = window.distance_keys.min(MAX_DISTANCE_KEYS) / GROUP;
    let lead = LEAD_KEYS / GROUP;
    // One loop with three conditions instead of a prologue, a steady state and an epilogue: each stage then
    // has one call site and is inlined, and each condition costs one predicted branch per group.
    for step in 0..groups + lead + distance {
        if step < groups {
            if window.hint.is_some()
                && let Some(keys) = keys.get(step * GROUP..)
            {
                FetchT0::keys_behind(&keys[..keys.len().min(GROUP)]);
            }
            stages.locate(step);
        }
        let fetched = step.wrapping_sub(lead);
        if fetched < groups {
            stages.fetch(fetched);
        }
        let probed = fetched.wrapping_sub(distance);
        if probed < groups {
            stages.probe(probed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn tables_larger_than_half_of_l2_are_prefetched() {
        const MIB: usize = 1 << 20;
        for l2_bytes in [MIB / 2, 2 * MIB] {
            let hint = |bytes| Window::for_table_and_l2(bytes, l2_bytes).hint;
            assert_eq!(hint(l2_bytes / 2), None);
            assert_eq!(hint(l2_bytes / 2 + 1), Some(Hint::T0));
            assert_eq!(hint(2 * l2_bytes), Some(Hint::T0));
            assert_eq!(hint(2 * l2_bytes + 2), Some(Hint::T1));
        }
    }

    #[test]
    fn tables_that_are_gathered_from_are_prefetched_beyond_l2() {
        assert_eq!(Window::for_gathers(l2_bytes()), Window::NONE);
        assert_eq!(Window::for_gathers(l2_bytes() + 1).hint, Some(Hint::T1));
        assert_eq!(Window::for_passes(l2_bytes() / 2), Window::NONE);
        assert_eq!(Window::for_passes(l2_bytes() / 2 + 1).hint, Some(Hint::T1));
    }

    #[test]
    fn every_group_is_located_fetched_and_probed_once_and_in_order() {
        for groups in [0, 1, 2, 7, 8, 9, 15, 16, 24, 25, 100] {
            for distance_keys in [0, 64, 128, 256, usize::MAX] {
                let window = Window { hint: Some(Hint::T0), distance_keys };
                let mut stages: [Vec<usize>; 3] = Default::default();
                run_stages::<8, _>(
                    &[],
                    groups,
                    window,
                    &mut stages,
                    |stages, group| stages[0].push(group),
                    |stages, group| {
                        assert!(stages[0].contains(&group));
                        stages[1].push(group);
                    },
                    |stages, group| {
                        assert!(stages[1].contains(&group));
                        stages[2].push(group);
                    },
                );
                let expected: Vec<usize> = (0..groups).collect();
                assert!(
                    stages.iter().all(|stage| *stage == expected),
                    "{groups} groups, {distance_keys} keys"
                );
            }
        }
    }

    /// An offset must not be overwritten between *locate* and *probe*.
    #[test]
    fn the_ring_holds_lead_distance_and_a_group() {
        const { assert!(LEAD_KEYS + MAX_DISTANCE_KEYS + 64 <= RING_KEYS) };
        let mut ring = Ring::default();
        let window = Window { hint: None, distance_keys: MAX_DISTANCE_KEYS };
        run_stages::<8, _>(
            &[],
            200,
            window,
            &mut ring,
            |ring, group| {
                *ring.group_mut::<8>(group) = core::array::from_fn(|i| (group * 8 + i) as u32);
            },
            |_, _| {},
            |ring, group| {
                let first = group as u32 * 8;
                assert!(ring.group::<8>(group).iter().copied().eq(first..first + 8));
            },
        );
    }
}
