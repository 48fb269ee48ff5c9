//! Inserts that cannot fail.
//!
//! A Bloom filter is never full: it accepts more keys than planned, at a higher false-positive rate. So the methods of
//! this module return no error. Code that is generic over kinds calls [`Insert`](trommel_base::Insert) and
//! [`InsertShared`](trommel_base::InsertShared) instead, whose errors never occur for a Bloom filter.

use crate::counting::CountingBloomFilter;
use crate::filter::Bloom;
use crate::layout::Layout;
#[cfg(target_has_atomic = "64")]
use crate::shared::SharedBloom;
use trommel_base::{Filter, Key, KeyHash};

/// The most hashes in a batch of [`Extend`]: enough to keep many cache lines in flight.
const EXTEND_KEYS: usize = 1024;

/// Calls the closure `add` with one batch of at most [`EXTEND_KEYS`] hashes after another.
fn in_batches(hashes: impl IntoIterator<Item = KeyHash>, mut add: impl FnMut(&[KeyHash])) {
    let mut batch = [KeyHash::default(); EXTEND_KEYS];
    let mut len = 0;
    for hash in hashes {
        batch[len] = hash;
        len += 1;
        if len == EXTEND_KEYS {
            add(&batch);
            len = 0;
        }
    }
    add(&batch[..len]);
}

/// Implements the method `add` and [`Extend`] for a filter. The last argument is `&mut` if `add` takes `&mut self`, and
/// `&` if it takes `&self`.
macro_rules! infallible_inserts {
    ([$($generics:tt)*] $filter:ty, $example:literal, &$($mutable:ident)?) => {
        impl<$($generics)*> $filter {
            /// Inserts a key; returns true if the insert changed a bit or, in a [`CountingBloomFilter`], a counter.
            /// Never fails: a filter with more keys than planned only has a higher false-positive rate.
            ///
            /// Cost: the cache lines of the key's bits; in a [`CountingBloomFilter`] also those of the key's counters,
            /// and in a `SharedBloom` also the cache line of the count of inserts.
            ///
            #[doc = $example]
            #[inline]
            pub fn add<K: Key + ?Sized>(&$($mutable)? self, key: &K) -> bool {
                self.add_hash(self.hash(key))
            }
        }

        impl<$($generics)*> Extend<KeyHash> for $filter {
            /// Inserts hashes in batches.
            fn extend<I: IntoIterator<Item = KeyHash>>(&mut self, hashes: I) {
                in_batches(hashes, |batch| self.add_batch(batch));
            }
        }

        impl<'h, $($generics)*> Extend<&'h KeyHash> for $filter {
            /// Inserts hashes in batches.
            fn extend<I: IntoIterator<Item = &'h KeyHash>>(&mut self, hashes: I) {
                in_batches(hashes.into_iter().copied(), |batch| self.add_batch(batch));
            }
        }
    };
}

infallible_inserts!(
    [L: Layout, S: AsRef<[u8]> + AsMut<[u8]>] Bloom<L, S>,
    "```
use trommel::{Filter, SplitBlockBloom};
let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
filter.add(\"anvil\");
assert!(filter.contains(\"anvil\"));

// Hashes of keys go in through `Extend` or, as a slice, by `add_batch`.
let forge = filter.hash(\"forge\");
filter.extend([forge]);
assert!(filter.contains(\"forge\"));
# Ok::<(), trommel::SpecError>(())
```",
    &mut
);
infallible_inserts!(
    [S: AsRef<[u8]> + AsMut<[u8]>] CountingBloomFilter<S>,
    "```
use trommel::{CountingBloomFilter, Filter, Remove};
let mut filter = CountingBloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
filter.add(\"anvil\");
assert!(filter.remove(\"anvil\"));
# Ok::<(), trommel::SpecError>(())
```",
    &mut
);
#[cfg(target_has_atomic = "64")]
infallible_inserts!(
    [L: Layout] SharedBloom<L>,
    "```
use trommel::{Filter, SplitBlockBloom};
let shared = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?.into_shared();
std::thread::scope(|threads| {
    threads.spawn(|| shared.add(\"anvil\"));
    threads.spawn(|| shared.add(\"forge\"));
});
assert!(shared.contains(\"anvil\") && shared.contains(\"forge\"));
# Ok::<(), trommel::SpecError>(())
```",
    &
);
