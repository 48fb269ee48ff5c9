//! Lookups with AVX-512: sixteen keys a vector where a bucket is four bytes, eight where it is six or eight.
//!
//! Primary buckets are gathered and compared; then, by a masked gather, the alternates of the keys that
//! were not found and whose flag is set. In L2 there is no prefetch: gathers overlap by themselves. Beyond
//! L2 the primary buckets are prefetched by the batch pipeline. For
//! [`Isa::Avx512Gather`](trommel_simd::Isa): elsewhere gathers lose to `columns.rs`, which has the figures.

mod dwords;
mod qwords;

use crate::kernel::ContainsBatch;
use crate::width::Width;

/// The kernel of a module of lanes: `KEYS` keys a vector; `Shape`, `locate`, `alternates`, `gather`, `matches`,
/// `flagged`, `store` and `load`.
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
                let there = scalar::contains::<W>(buckets, *hash);
                found[i / 64] |= u64::from(there) << (i % 64);
            }
        }

        /// Answers for all whole words of answers; for how many keys that was.
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
                    let (places, fingerprints) = locate(&shape, hashes);
                    let there = answers::<W>(&shape, buckets.table, places, fingerprints);
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
                    let (places, fingerprints) = locate(&shape, &groups[group]);
                    store(places, located.buckets.group_mut(group));
                    store(fingerprints, located.fingerprints.group_mut(group));
                },
                |located, group| {
                    for place in located.buckets.group::<KEYS>(group) {
                        F::line(table.as_ptr().wrapping_add(*place as usize * W::BUCKET_BYTES));
                    }
                },
                |located, group| {
                    let places = load(located.buckets.group(group));
                    let fingerprints = load(located.fingerprints.group(group));
                    let there = answers::<W>(&shape, table, places, fingerprints);
                    let first = group * KEYS;
                    found[first / 64] |= u64::from(there) << (first % 64);
                },
            );
            groups.len() * KEYS
        }

        /// Which keys are found in their buckets.
        #[inline]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt,lzcnt"
        )]
        fn answers<W: Width>(
            shape: &Shape,
            table: &[u8],
            places: __m512i,
            fingerprints: __m512i,
        ) -> Keys {
            // SAFETY: the places are below the number of buckets, as products' high halves; the table has so
            // many, as the kernel asserts, and what is read beyond the last bucket is padding.
            let words = unsafe { gather::<W>(table.as_ptr(), places, Keys::MAX) };
            let here = matches::<W>(words, fingerprints);
            let open = flagged::<W>(shape, words, fingerprints) & !here;
            let elsewhere = alternates(shape, places, fingerprints);
            // SAFETY: as above; an alternate is below the number of buckets again.
            let words = unsafe { gather::<W>(table.as_ptr(), elsewhere, open) };
            here | open & matches::<W>(words, fingerprints)
        }
    };
}
use lookup;

/// The kernel for a width, if vectors have one.
pub(in crate::kernel) fn contains_batch<W: Width>() -> Option<ContainsBatch> {
    match W::BITS {
        8 => Some(dwords::contains_batch::<W>),
        12 | 16 => Some(qwords::contains_batch::<W>),
        _ => None,
    }
}
