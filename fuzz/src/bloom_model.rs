//! A model of a Bloom filter. The filters of the library must give the same answers and bytes as this model. A
//! *position* is the index of a bit in the table; in a filter with counters, each position also has a counter. All
//! positions and bytes are computed as docs/FORMAT.md states them, without the library's code.

use trommel::{FilterKind, KeyHash};

/// The multipliers of the lanes of a split block.
const SALTS: [u32; 8] = [
    0x47B6_137B,
    0x4497_4D91,
    0x8824_AD5B,
    0xA2B7_289D,
    0x7054_95C7,
    0x2DF1_424B,
    0x9EFC_4947,
    0x5C6B_FB31,
];

/// The highest count of a position in a filter without counters.
pub const BITS: u64 = 1;
/// The count at which a counter of four bits sticks.
pub const FOUR_BITS: u64 = 15;
/// The highest count of a position in a filter with counters of two bits and an overflow table.
pub const TWO_BITS: u64 = u64::MAX;

/// The number of bits of a unit: a word, a block or a cache line.
pub fn unit_bits(kind: FilterKind) -> usize {
    match kind {
        FilterKind::SplitBlockBloom => 256,
        FilterKind::CacheLineBloom => 512,
        FilterKind::Bloom | FilterKind::CountingBloom | FilterKind::RegisterBloom => 64,
        _ => panic!("{kind}: no model of a Bloom filter"),
    }
}

/// `x · n / 2^64`, rounded down.
fn scaled(x: u64, n: u64) -> u64 {
    ((u128::from(x) * u128::from(n)) >> 64) as u64
}

/// A filter that has a plain count for each position.
#[derive(Clone, PartialEq)]
pub struct Model {
    kind: FilterKind,
    /// The number of positions that a key sets. Some of them can coincide.
    hashes: u32,
    /// The highest count of a position: [`BITS`], [`FOUR_BITS`] or [`TWO_BITS`].
    limit: u64,
    /// The count of each position. In a filter without counters, 1 stands for a set bit.
    counts: Vec<u64>,
    /// The number of keys that the filter's `len` must return.
    pub len: u64,
}

impl Model {
    /// A filter without keys.
    pub fn new(kind: FilterKind, limit: u64, hashes: u32, bits: usize) -> Self {
        Self { kind, hashes, limit, counts: vec![0; bits], len: 0 }
    }

    /// The number of units of the table.
    pub fn units(&self) -> usize {
        self.counts.len() / unit_bits(self.kind)
    }

    /// The positions of a hash.
    fn positions(&self, hash: KeyHash) -> impl Iterator<Item = usize> + use<> {
        let (kind, bits, units) = (self.kind, self.counts.len() as u64, self.units() as u64);
        let hash = hash.raw();
        let (high, low) = (hash >> 32, hash & 0xFFFF_FFFF);
        let field = move |i: u32| ((low * 0x9E37_79B9) >> (8 + 6 * i)) & 63;
        let mut x = hash;
        (0..self.hashes).map(move |i| {
            let position = match kind {
                FilterKind::RegisterBloom => 64 * scaled(hash, units) + field(i),
                FilterKind::CacheLineBloom => {
                    512 * scaled(hash, units) + 64 * u64::from(i) + field(i)
                }
                FilterKind::SplitBlockBloom => {
                    let bit = (low as u32).wrapping_mul(SALTS[i as usize]) >> 27;
                    256 * ((high * units) >> 32) + u64::from(32 * i + bit)
                }
                _ => scaled(x, bits),
            };
            x = x.wrapping_mul(0xF135_7AEA_2E62_A9C5);
            position as usize
        })
    }

    /// Inserts a key. Returns whether a count changed.
    pub fn insert(&mut self, hash: KeyHash) -> bool {
        let mut changed = false;
        for position in self.positions(hash) {
            let count = &mut self.counts[position];
            changed |= *count < self.limit;
            *count = self.limit.min(count.saturating_add(1));
        }
        self.len = self.len.saturating_add(1);
        changed
    }

    /// Inserts keys.
    pub fn insert_all(&mut self, hashes: &[KeyHash]) {
        for hash in hashes {
            self.insert(*hash);
        }
    }

    /// Removes a key if it is found, and returns whether it was found. Decrements no count that is 0 or stuck.
    pub fn remove(&mut self, hash: KeyHash) -> bool {
        if !self.contains(hash) {
            return false;
        }
        for position in self.positions(hash) {
            let count = &mut self.counts[position];
            if self.limit != FOUR_BITS || *count < FOUR_BITS {
                *count = count.saturating_sub(1);
            }
        }
        self.len = self.len.saturating_sub(1);
        true
    }

    /// Whether all bits of a key are set.
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.count(hash) > 0
    }

    /// The lowest count of a key's positions.
    pub fn count(&self, hash: KeyHash) -> u64 {
        self.positions(hash).map(|position| self.counts[position]).min().expect("a key has bits")
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.len = 0;
    }

    /// Adds the counts of another filter of the same size.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = self.limit.min(count.saturating_add(*more));
        }
        self.len = self.len.saturating_add(other.len);
    }

    /// Keeps the bits that another filter of the same size has too.
    pub fn intersect(&mut self, other: &Self) {
        for (count, most) in self.counts.iter_mut().zip(&other.counts) {
            *count = (*count).min(*most);
        }
        self.len = self.len.min(other.len);
    }

    /// The filter with `1 / factor` of the size; `None` if it cannot be folded by this factor. Bit `p` of a standard
    /// filter becomes bit `p / factor`. In the other layouts, unit `u` becomes unit `u / factor`.
    pub fn fold(&self, factor: usize) -> Option<Self> {
        if self.limit != BITS || factor == 0 || !self.units().is_multiple_of(factor) {
            return None;
        }
        let piece = if self.kind == FilterKind::Bloom { 1 } else { unit_bits(self.kind) };
        let mut counts = vec![0; self.counts.len() / factor];
        for (p, count) in self.counts.iter().enumerate() {
            counts[p / piece / factor * piece + p % piece] |= count;
        }
        Some(Self { counts, ..*self })
    }

    /// The bytes of the table, as the frozen filter has them: bits, counters, overflow table.
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.counts.len());
        self.append_packed(1, &mut payload);
        match self.limit {
            BITS => {}
            FOUR_BITS => self.append_packed(4, &mut payload),
            _ => {
                self.append_packed(2, &mut payload);
                for (position, count) in (0u64..).zip(&self.counts) {
                    if *count >= 3 {
                        payload.extend_from_slice(&position.to_le_bytes());
                        payload.extend_from_slice(&count.to_le_bytes());
                    }
                }
            }
        }
        payload
    }

    /// Appends the counts as numbers of `width` bits. A count that does not fit into `width` bits becomes the highest
    /// number that does.
    fn append_packed(&self, width: usize, bytes: &mut Vec<u8>) {
        let highest = (1 << width) - 1;
        let packed = |counts: &[u64]| {
            counts.iter().rev().fold(0, |byte, count| byte << width | (*count).min(highest) as u8)
        };
        bytes.extend(self.counts.chunks(8 / width).map(packed));
    }

    /// Whether no bit is set and no key is counted.
    pub fn is_empty(&self) -> bool {
        self.len == 0 && self.ones() == 0
    }

    fn ones(&self) -> usize {
        self.counts.iter().filter(|count| **count > 0).count()
    }

    /// The probability that an absent key is found, if its bits are uniform and independent. For a lane of a unit, the
    /// probability is the share of set bits, to the power of the number of bits that a key sets in the lane. For a
    /// unit, it is the product over the unit's lanes. For the filter, it is the mean over all units. A standard filter
    /// counts as one unit with one lane.
    pub fn expected_fpr(&self) -> f64 {
        let (unit, lanes) = match self.kind {
            FilterKind::SplitBlockBloom | FilterKind::CacheLineBloom => (unit_bits(self.kind), 8),
            FilterKind::RegisterBloom => (64, 1),
            _ => (self.counts.len(), 1),
        };
        let power = (self.hashes / lanes) as i32;
        let share_of_set = |lane: &[u64]| {
            let ones = lane.iter().filter(|count| **count > 0).count();
            (ones as f64 / lane.len() as f64).powi(power)
        };
        let of_unit = |bits: &[u64]| -> f64 {
            bits.chunks(unit / lanes as usize).map(share_of_set).product()
        };
        let units = self.counts.chunks(unit);
        let count = units.len() as f64;
        units.map(of_unit).sum::<f64>() / count
    }

    /// The number of distinct keys that would, on average, set as many bits as are set in the table.
    pub fn estimate_len(&self) -> f64 {
        let (bits, ones) = (self.counts.len() as f64, self.ones() as f64);
        let hashes = f64::from(self.hashes);
        if ones >= bits {
            return bits / hashes;
        }
        let clear = 1.0 - ones / bits;
        if self.kind == FilterKind::RegisterBloom {
            let set_by_a_key = 1.0 - (1.0_f64 - 1.0 / 64.0).powf(hashes);
            return -(bits / 64.0) * clear.ln() / set_by_a_key;
        }
        if ones <= hashes {
            return if ones < hashes { 0.0 } else { 1.0 };
        }
        -(bits / hashes) * clear.ln()
    }
}
