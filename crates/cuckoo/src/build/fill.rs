//! A place in its primary bucket for every key that finds one.
//!
//! A region's keys come in any order, so its buckets are filled in scratch memory that stays in cache: two
//! words a bucket, one for four fingerprints that stay and one for four more that do not. A fingerprint is
//! shifted into the first that has room: no slot is searched, and no branch depends on how full a bucket
//! is. Then the region is written in one pass, flags clear, and what is in the second words is surplus.

use super::room_for;
use crate::bucket;
use crate::geometry::Geometry;
use crate::table::Entry;
use crate::width::{Slots, Width};
use alloc::vec::Vec;
use trommel_base::partition::{Partitioned, Record};

/// The keys of all regions, share after share of the batch: of each the last bits of its bucket, and its
/// fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grouped<'a> {
    /// Up to 16 bits of fingerprint, 16 of bucket.
    Narrow(&'a [Partitioned<'a, u32>]),
    Wide(&'a [Partitioned<'a, u64>]),
}

/// A unit of the table that is to be filled: whole regions, all of its slots free.
#[derive(Debug)]
pub(crate) struct Filling<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) grouped: Grouped<'a>,
    pub(crate) is_set: bool,
    /// Buckets of a region, as a power of two.
    pub(crate) region_log2: u32,
    /// The first bucket of the unit.
    pub(crate) first: u32,
    pub(crate) table: &'a mut [u8],
    /// A bit for every bucket of the unit.
    pub(crate) full: &'a mut [u64],
}

/// Which fingerprints a region's buckets hold, before there is an order of slots.
type Pairs<W> = [[<W as Width>::Word; 2]];

impl Grouped<'_> {
    /// Keys of a region.
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

    /// Fills the unit and adds its surplus; how many keys it holds with that. Nothing if there is no memory, or if
    /// keys cluster as uniform ones do not.
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
                let found = late.len();
                late.sort_unstable();
                late.dedup();
                kept -= (found - late.len()) as u64;
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

/// How the records of a region are read: the bits of a hash's fixed-point number that end with the fingerprint's,
/// and begin where they may.
#[derive(Clone, Copy, Debug)]
struct Reading {
    region_log2: u32,
    /// Bits of a fingerprint that its bucket does not have.
    fraction_bits: u32,
}

impl Reading {
    /// Fingerprint and bucket, counted from the first of the region.
    #[inline(always)]
    fn entry<W: Width>(self, record: u64) -> Entry {
        let bucket = (record >> self.fraction_bits) as u32 & ((1 << self.region_log2) - 1);
        let fingerprint = (record & (u64::MAX >> (64 - W::BITS))) as u32;
        Entry { bucket, fingerprint: fingerprint.max(1) }
    }
}

/// Puts the keys of a region into its words, and those for which both are full into `late`; how many are kept,
/// which of a set are those that differ, but for those that are late.
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

/// Writes the first words of a region into its buckets, and says which are full.
#[inline(always)]
fn store<W: Width>(pairs: &Pairs<W>, table: &mut [u8], full: &mut [u64]) {
    for (bytes, [word, _]) in table.chunks_exact_mut(W::BUCKET_BYTES).zip(pairs) {
        // A pair that holds one holds it in its odd slot, and both pairs have one before one has two: so the
        // flags are clear.
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

/// Adds what the second words of a region hold, bucket by bucket.
#[inline(always)]
fn add_surplus<W: Width>(pairs: &Pairs<W>, first: u32, surplus: &mut Vec<u64>) -> Option<()> {
    for (bucket, [_, word]) in (first..).zip(pairs) {
        let slots = W::slots(*word);
        if surplus.capacity() - surplus.len() < slots.len() {
            return None;
        }
        // All four, and then those back that are none: how many there are is as good as random.
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
