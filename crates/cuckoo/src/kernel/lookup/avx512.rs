//! Batches of lookups with AVX-512: a vector has sixteen keys if a bucket has four bytes, and eight keys if a bucket
//! has six or eight bytes.
//!
//! First, the primary buckets are gathered, and compared with the keys' fingerprints. If a key was not found there, and
//! the overflow flag of its class is set in its primary bucket (see `bucket`), the key can be in its alternate bucket.
//! A masked gather reads the alternates of these keys. Tables that fit into L2 are not prefetched, since the core
//! overlaps gathers anyway. In larger tables, the batch pipeline prefetches the primary buckets. This code is used only
//! for [`Isa::Avx512Gather`](trommel_simd::Isa). For other instruction sets, the code in `columns.rs` is faster; that
//! file has the figures.

mod dwords;
mod qwords;

use crate::kernel::ContainsBatch;
use crate::width::Width;

/// Defines the kernel in a module that has `KEYS` (the number of keys in a vector), `Keys` (an integer with a bit per
/// key), `Shape`, `locate`, `alternates`, `gather`, `matches`, `flagged`, `store` and `load`.
macro_rules! lookup {
    () => {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
        )]
        pub(super) fn contains_batch<W: Width>(
            buckets: Buckets<'_>,
            hashes: &[u64],
            found: &mut [u64],
        ) {
            assert_eq!(buckets.table.len() as u64, buckets.geometry.table_bytes());
            assert_eq!(buckets.geometry.fingerprint_bits, W::BITS);
            let window = Window::for_gathers(buckets.table.len());
            let done = if window.hint.is_none() {
                in_cache::<W>(buckets, hashes, found)
            } else {
                with_fetch!(window, F => pipelined::<W, F>(buckets, hashes, found, window))
            };
            for (i, hash) in hashes.iter().enumerate().skip(done) {
                let Buckets { geometry, table, empty } = buckets;
                // SAFETY: width and length of the table are the geometry's, as asserted above.
                let there = unsafe { scalar::contains::<W>(geometry, table.as_ptr(), empty, *hash) };
                found[i / 64] |= u64::from(there) << (i % 64);
            }
        }

        /// Looks up the keys whose answers fill whole words of `found`. Returns the number of these keys: the length
        /// of `hashes`, rounded down to a multiple of 64.
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
        )]
        fn in_cache<W: Width>(
            buckets: Buckets<'_>,
            hashes: &[u64],
            found: &mut [u64],
        ) -> usize {
            let shape = Shape::new(buckets);
            let (words, _) = hashes.as_chunks::<64>();
            for (hashes, found) in words.iter().zip(found) {
                let (groups, _) = hashes.as_chunks::<KEYS>();
                for (i, hashes) in groups.iter().enumerate() {
                    let (primaries, fingerprints) = locate(&shape, hashes);
                    let there = answers::<W>(&shape, buckets.table, primaries, fingerprints);
                    *found |= u64::from(there) << (i * KEYS);
                }
            }
            words.len() * 64
        }

        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
        )]
        fn pipelined<W: Width, F: Fetch>(
            buckets: Buckets<'_>,
            hashes: &[u64],
            found: &mut [u64],
            window: Window,
        ) -> usize {
            let shape = Shape::new(buckets);
            let table = buckets.table;
            let (groups, _) = hashes.as_chunks::<KEYS>();
            run_stages::<KEYS, _>(
                hashes, groups.len(),
                window,
                &mut Located::default(),
                |located, group| {
                    let (primaries, fingerprints) = locate(&shape, &groups[group]);
                    store(primaries, located.buckets.group_mut(group));
                    store(fingerprints, located.fingerprints.group_mut(group));
                },
                |located, group| {
                    for primary in located.buckets.group::<KEYS>(group) {
                        F::line(table.as_ptr().wrapping_add(*primary as usize * W::BUCKET_BYTES));
                    }
                },
                |located, group| {
                    let primaries = load(located.buckets.group(group));
                    let fingerprints = load(located.fingerprints.group(group));
                    let there = answers::<W>(&shape, table, primaries, fingerprints);
                    let first = group * KEYS;
                    found[first / 64] |= u64::from(there) << (first % 64);
                },
            );
            groups.len() * KEYS
        }

        /// Returns a bit for each key, set if the key is found in one of its buckets.
        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
        )]
        fn answers<W: Width>(
            shape: &Shape,
            table: &[u8],
            primaries: __m512i,
            fingerprints: __m512i,
        ) -> Keys {
            // SAFETY: each of `primaries` is the integer part of `hash / 2^64 · buckets`, which is below the number of
            // buckets. `contains_batch` asserts that the table has this number of buckets, and padding if reads go
            // beyond the last bucket.
            let words = unsafe { gather::<W>(table.as_ptr(), primaries, Keys::MAX) };
            let here = matches::<W>(words, fingerprints);
            let open = flagged::<W>(shape, words, fingerprints) & !here;
            let others = alternates(shape, primaries, fingerprints);
            // SAFETY: alternates are below the number of buckets, and the table has this many, as asserted.
            let words = unsafe { gather::<W>(table.as_ptr(), others, open) };
            here | open & matches::<W>(words, fingerprints)
        }
    };
}
use lookup;

/// The vector kernel for a width, if there is one.
pub(in crate::kernel) fn contains_batch<W: Width>() -> Option<ContainsBatch> {
    match W::BITS {
        8 => Some(dwords::contains_batch::<W>),
        12 | 16 => Some(qwords::contains_batch::<W>),
        _ => None,
    }
}
