//! Fills a *unit* of the table in a bulk build: every bucket takes up to four of the keys that have it as primary
//! bucket. Keys that find no room in their primary bucket are the *surplus*.
//!
//! The table is filled in *regions*, which are stretches of consecutive buckets. The keys of a region come in any
//! order, so the buckets of the region are filled in scratch memory that stays in cache. In this memory, each bucket
//! has two words: the first for four fingerprints that stay in the bucket, the second for four more, which are surplus.
//! A fingerprint is shifted into the second word only if the first is full, so there is no search for a free slot. Only
//! one branch depends on how full the bucket is: it tests whether both words are full, and they rarely are. After the
//! last key of the region, the first word of every bucket is written to the table, in one pass. Then all overflow flags
//! are clear, except for some in a multiset.
//! The order of the two slots of a *pair*, slots 0 and 1 or slots 2 and 3, encodes a flag (see `bucket`). In a
//! multiset, the two slots of a pair can hold equal fingerprints. No order of equal fingerprints encodes a clear flag,
//! so the flag of such a pair is set.

use super::room_for;
use crate::bucket;
use crate::geometry::Geometry;
use crate::table::Entry;
use crate::width::{Slots, Width};
use alloc::vec::Vec;
use trommel_base::partition::{Partitioned, Record};

/// The keys of a batch. The batch is split into consecutive pieces, the *shares*, and each share is grouped by region
/// of the table. The record of a key has the low bits of the number of the key's primary bucket, and the key's
/// fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grouped<'a> {
    /// For fingerprints of up to 16 bits, which leave at least 16 bits of a 32-bit record for the bucket.
    Narrow(&'a [Partitioned<'a, u32>]),
    /// For fingerprints of 32 bits.
    Wide(&'a [Partitioned<'a, u64>]),
}

/// A unit of the table that is to be filled. It consists of whole regions. What their slots hold is overwritten.
#[derive(Debug)]
pub(crate) struct Filling<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) grouped: Grouped<'a>,
    pub(crate) is_set: bool,
    /// The base-2 logarithm of the buckets of a region.
    pub(crate) region_log2: u32,
    /// The first bucket of the unit.
    pub(crate) first: u32,
    pub(crate) table: &'a mut [u8],
    /// A bit for each bucket of the unit, set if the bucket is full.
    pub(crate) full: &'a mut [u64],
}

/// The two words of each bucket of a region.
type Pairs<W> = [[<W as Width>::Word; 2]];

impl Grouped<'_> {
    /// The number of keys of a region.
    pub(crate) fn keys(&self, region: usize) -> usize {
        match self {
            Self::Narrow(shares) => shares.iter().map(|share| share.part(region).len()).sum(),
            Self::Wide(shares) => shares.iter().map(|share| share.part(region).len()).sum(),
        }
    }
}

impl Filling<'_> {
    /// The regions of the unit.
    pub(crate) fn regions(&self) -> core::ops::Range<usize> {
        let first = self.first as usize >> self.region_log2;
        first..first + (self.full.len() * 64).div_ceil(1 << self.region_log2)
    }

    /// Fills the unit and appends its surplus to `surplus`. Returns the number of keys that the unit adds to the
    /// filter, surplus included. `None` if there is no memory, or if far more keys share buckets than with uniform
    /// hashes.
    #[inline(always)]
    pub(crate) fn fill<W: Width>(&mut self, surplus: &mut Vec<u64>) -> Option<u64> {
        let region_buckets = 1 << self.region_log2;
        let mut pairs = room_for(region_buckets)?;
        pairs.resize(region_buckets, [W::word([0; 4]); 2]);
        let mut late = room_for(region_buckets / 4)?;
        let reading = Reading {
            region_log2: self.region_log2,
            fraction_bits: W::BITS - self.geometry.doublings,
        };
        let mut kept = 0;
        let regions = self.regions();
        let tables = self.table.chunks_mut(region_buckets * W::BUCKET_BYTES);
        let fulls = self.full.chunks_mut(region_buckets / 64);
        for ((region, table), full) in regions.zip(tables).zip(fulls) {
            pairs.fill([W::word([0; 4]); 2]);
            late.clear();
            kept += match self.grouped {
                Grouped::Narrow(shares) => {
                    collect::<W, _>(reading, region, shares, self.is_set, &mut pairs, &mut late)
                }
                Grouped::Wide(shares) => {
                    collect::<W, _>(reading, region, shares, self.is_set, &mut pairs, &mut late)
                }
            }?;
            if self.is_set {
                let with_repeats = late.len();
                late.sort_unstable();
                late.dedup();
                kept -= (with_repeats - late.len()) as u64;
            }
            let first = (region << self.region_log2) as u32;
            store::<W>(&pairs, table, full);
            add_surplus::<W>(&pairs[..table.len() / W::BUCKET_BYTES], first, surplus)?;
            if surplus.capacity() - surplus.len() < late.len() {
                return None;
            }
            surplus.extend(late.iter().map(|key| {
                let Entry { bucket, fingerprint } = Entry::from_word(*key);
                Entry { bucket: first + bucket, fingerprint }.to_word()
            }));
        }
        Some(kept)
    }
}

/// Splits records into bucket and fingerprint. A record is the hash's fixed-point number
/// (`Geometry::fixed_point`), shifted right until the lowest bit of the fingerprint is bit 0. High bits that do not fit
/// into the record are cut off.
#[derive(Clone, Copy, Debug)]
struct Reading {
    region_log2: u32,
    /// How many bits of a fingerprint come after the binary point (see [`Geometry`]). The other bits, one for each
    /// doubling, are also the lowest bits of the bucket's number.
    fraction_bits: u32,
}

impl Reading {
    /// The fingerprint, and the number of the bucket, counted from the first bucket of the region.
    #[inline(always)]
    fn entry<W: Width>(self, record: u64) -> Entry {
        let bucket = (record >> self.fraction_bits) as u32 & ((1 << self.region_log2) - 1);
        let fingerprint = (record & (u64::MAX >> (64 - W::BITS))) as u32;
        Entry { bucket, fingerprint: fingerprint.max(1) }
    }
}

/// Puts the keys of a region into the words of their buckets. A key for which both words are full goes to `late`.
/// Returns the number of keys in the words and in `late` together. A set skips a key that a word of its bucket holds
/// already, but `late` can hold a key more than once. `None` if `late` has no room.
#[inline(always)]
fn collect<W: Width, R: Record + Into<u64>>(
    reading: Reading,
    region: usize,
    shares: &[Partitioned<'_, R>],
    is_set: bool,
    pairs: &mut Pairs<W>,
    late: &mut Vec<u64>,
) -> Option<u64> {
    let mut kept = 0;
    for share in shares {
        for record in share.part(region) {
            let key = reading.entry::<W>((*record).into());
            let words = &mut pairs[key.bucket as usize];
            if is_set && words.iter().any(|word| W::has(*word, key.fingerprint)) {
                continue;
            }
            kept += 1;
            let word = &mut words[usize::from(W::is_last_taken(words[0]))];
            if !W::is_last_taken(*word) {
                *word = W::shifted_in(*word, key.fingerprint);
            } else if late.len() < late.capacity() {
                late.push(key.to_word());
            } else {
                return None;
            }
        }
    }
    Some(kept)
}

/// Writes the first word of every bucket of a region into the table, and a bit for the bucket into `full`: 1 if the
/// bucket is full.
#[inline(always)]
fn store<W: Width>(pairs: &Pairs<W>, table: &mut [u8], full: &mut [u64]) {
    for (bytes, [word, _]) in table.chunks_exact_mut(W::BUCKET_BYTES).zip(pairs) {
        // A pair in strictly ascending order encodes a clear flag (see `bucket`). A free slot counts as 0, so a single
        // fingerprint is put into the odd slot. Each pair gets one fingerprint before either gets two.
        let [a, b, c, d]: Slots = W::slots(*word);
        let slots = bucket::with_flags([c, a, d, b], [false, false]);
        W::store(W::word(slots), bytes);
    }
    for (word, pairs) in full.iter_mut().zip(pairs.chunks(64)) {
        *word = pairs
            .iter()
            .rev()
            .fold(0, |bits, [word, _]| bits << 1 | u64::from(W::is_last_taken(*word)));
    }
}

/// Appends the fingerprints of the second words, bucket by bucket. `None` if `surplus` has no room.
#[inline(always)]
fn add_surplus<W: Width>(pairs: &Pairs<W>, first: u32, surplus: &mut Vec<u64>) -> Option<()> {
    for (bucket, [_, word]) in (first..).zip(pairs) {
        let slots = W::slots(*word);
        if surplus.capacity() - surplus.len() < slots.len() {
            return None;
        }
        // Append all four slots, then drop the free slots. The number of free slots is as good as random, so a branch
        // on this number would mispredict.
        let mut entries = [0; 4];
        for (entry, fingerprint) in entries.iter_mut().zip(slots) {
            *entry = Entry { bucket, fingerprint }.to_word();
        }
        let taken: usize = slots.into_iter().map(|slot| usize::from(slot != 0)).sum();
        surplus.extend_from_slice(&entries);
        surplus.truncate(surplus.len() - (4 - taken));
    }
    Some(())
}
