//! Lookups in tables whose remainders have 8 bits. (`kernel/equal_slots.rs` says how they decide about a key.)
//!
//! A block's remainders are one cache line, whose address follows from the key's home. So a lookup can prefetch this
//! line before it reads the block's runends and offset. A lookup that finds the run first (`lookup.rs`) must read
//! runends and offset to know which line to fetch.

use super::lookup::{BLOCK_KEYS, BLOCKS_AHEAD, Batch, Located, MANY_OCCUPIED, Rest};
use super::places::{Places, SLOTS};
use crate::geometry::Geometry;
use crate::kernel::equal_slots::Probe;
use crate::kernel::words::word;
use crate::words::Words;
use trommel_base::batch::Fetch;
use trommel_base::bitmap::ones;

/// The number of bytes of a block's remainders.
const BYTES: usize = SLOTS as usize;

impl Places {
    /// The byte of the table at which the remainders of a block begin.
    #[inline(always)]
    pub(super) fn remainders_of(&self, block: usize) -> usize {
        self.remainders + block * BYTES
    }

    /// A bit for each slot of a block: whether its remainder equals `remainder`.
    ///
    /// # Safety
    /// The caller must ensure that the table has the block, and remainders of 8 bits.
    #[inline(always)]
    unsafe fn equal<W: Words>(
        &self,
        words: W,
        table: *const u8,
        block: usize,
        remainder: u32,
    ) -> u64 {
        // SAFETY: the caller guarantees that the block's remainders, of a byte each, are in the table.
        let bytes: &[u8; BYTES] = unsafe { &*table.add(self.remainders_of(block)).cast() };
        words.equal_to(bytes, remainder as u8)
    }

    /// # Safety
    /// The caller must ensure that the table has the key's block, and remainders of 8 bits.
    #[inline(always)]
    pub(super) unsafe fn probe<W: Words>(&self, words: W, table: *const u8, key: Located) -> Probe {
        // SAFETY: the caller guarantees that the table has the block, and so its two words, its offset and remainders.
        let (occupieds, runends, offset, equal) = unsafe {
            (
                word(table, key.block * 16),
                word(table, key.block * 16 + 8),
                u32::from(*table.add(self.offsets + key.block)),
                self.equal(words, table, key.block, key.remainder),
            )
        };
        let below_home = words.below(u64::MAX, key.slot);
        let below_offset = words.below(u64::MAX, offset);
        Probe {
            equal: equal & !(below_home | below_offset),
            own: runends & !below_offset,
            number: (occupieds & below_home).count_ones(),
        }
    }

    /// Whether the table holds a key about which the first equal slot does not decide. `None` if only the algorithms of
    /// `table.rs` can tell. The key's quotient must be occupied.
    ///
    /// # Safety
    /// The caller must ensure that the table has the key's block, and remainders of 8 bits.
    #[inline(always)]
    pub(super) unsafe fn look_again<W: Words>(
        &self,
        words: W,
        table: *const u8,
        key: Located,
    ) -> Option<bool> {
        // SAFETY: the caller guarantees that the table has the block, and so its offset, and the width of remainders.
        let (probe, offset) =
            unsafe { (self.probe(words, table, key), *table.add(self.offsets + key.block)) };
        if u32::from(offset) > SLOTS {
            return None;
        }
        probe.look_again(|next| {
            let block = key.block + next;
            if block >= self.shape.blocks {
                return None;
            }
            // SAFETY: the condition above checks that the table has the block, and the caller guarantees the width.
            unsafe {
                let runends = word(table, block * 16 + 8);
                Some((runends, self.equal(words, table, block, key.remainder)))
            }
        })
    }
}

/// The number of blocks of keys whose homes are kept.
const RING: usize = 2 * BLOCKS_AHEAD + 1;

impl Batch<'_> {
    /// Looks up blocks of keys in three passes: the first finds the keys' homes, the second finds the keys whose
    /// quotients are occupied, and the third compares these keys' remainders with those of their blocks. The first pass
    /// prefetches the words of all keys' blocks, and the second the remainders that the third compares. Each pass is
    /// `ahead` blocks of keys behind the pass before it.
    ///
    /// # Safety
    /// The caller must ensure that remainders have 8 bits.
    #[inline(always)]
    pub(super) unsafe fn contains_bytes<F: Fetch, W: Words>(
        &self,
        words: W,
        ahead: usize,
        found: &mut [u64],
        rest: impl Fn(&Geometry, &[u8], u64, Rest) -> bool,
    ) {
        let mut located = [[Located::FIRST; BLOCK_KEYS]; RING];
        let mut with_runs = [0; RING];
        let blocks = self.hashes.len().div_ceil(BLOCK_KEYS);
        for step in 0..blocks + 2 * ahead {
            if step < blocks {
                self.locate::<F>(step, &mut located[step % RING]);
            }
            if let Some(block) = step.checked_sub(ahead).filter(|block| *block < blocks) {
                let keys = &located[block % RING];
                let with_run = self.with_run(block, keys);
                with_runs[block % RING] = with_run;
                if ahead > 0 {
                    self.fetch_remainders::<F>(keys, with_run);
                }
            }
            if let Some(block) = step.checked_sub(2 * ahead) {
                let (with_run, keys) = (with_runs[block % RING], &located[block % RING]);
                // SAFETY: the caller guarantees the width of remainders.
                let (mut hits, again) = unsafe {
                    if with_run.count_ones() < MANY_OCCUPIED {
                        self.probe(words, keys, ones(with_run))
                    } else {
                        self.probe(words, keys, 0..BLOCK_KEYS)
                    }
                };
                hits &= with_run;
                for i in ones(again & with_run) {
                    let hash = self.block(block)[i];
                    hits |= u64::from(rest(self.geometry, self.table, hash, ())) << i;
                }
                found[block] |= hits;
            }
        }
    }

    /// Prefetches the remainders of the blocks of those keys whose bits are set in `with_run`.
    #[inline(always)]
    fn fetch_remainders<F: Fetch>(&self, keys: &[Located; BLOCK_KEYS], with_run: u64) {
        for i in ones(with_run) {
            let at = self.places.remainders_of(keys[i].block);
            F::line(self.table.as_ptr().wrapping_add(at));
        }
    }

    /// Compares the keys that have the given indices with the remainders of their blocks. Returns two words with a bit
    /// for each of these keys: whether the table holds the key, and whether another look must decide about it. The bits
    /// of keys whose quotients are not occupied have no meaning.
    ///
    /// # Safety
    /// The caller must ensure that remainders have 8 bits.
    #[inline(always)]
    unsafe fn probe<W: Words>(
        &self,
        words: W,
        keys: &[Located; BLOCK_KEYS],
        indices: impl Iterator<Item = usize>,
    ) -> (u64, u64) {
        let (mut hits, mut others) = (0, 0);
        for i in indices {
            // SAFETY: the keys' blocks are in the table for the reason given in `occupied` of `lookup.rs`, and the
            // caller guarantees the width of remainders.
            let probe = unsafe { self.places.probe(words, self.table.as_ptr(), keys[i]) };
            let (hit, again) = probe.judge();
            hits |= u64::from(hit) << i;
            others |= u64::from(again) << i;
        }
        (hits, others)
    }
}
