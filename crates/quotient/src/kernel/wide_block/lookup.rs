//! Lookups of single keys and of batches, with the metadata of one key at a time in scalar registers.
//! (`kernel/wide_block.rs` says how they find a run.)

use super::places::{Places, SLOTS};
use crate::geometry::Geometry;
use crate::kernel::scalar;
use crate::kernel::words::word;
use crate::layout::WideBlock;
use crate::words::Words;
use trommel_base::batch::{Fetch, Hint, Window};
use trommel_base::bitmap::ones;
use trommel_base::with_fetch;
use trommel_simd::prefetch;

/// The home of a key (the slot whose number is the key's quotient), as a block and an index in that block, and the
/// key's remainder.
#[derive(Clone, Copy)]
pub(super) struct Located {
    pub(super) block: usize,
    pub(super) slot: u32,
    pub(super) remainder: u32,
}

/// The remainders of a run, and the key's remainder, with which they are to be compared.
#[derive(Clone, Copy)]
struct Run {
    /// The bit of the table at which the run's remainders begin.
    at: usize,
    /// The number of bits of the run's remainders; 0 if the run is too far away (see [`Places::run`]).
    bits: u32,
    /// The key's remainder.
    remainder: u32,
}

impl Located {
    /// The first slot of the table.
    pub(super) const FIRST: Self = Self { block: 0, slot: 0, remainder: 0 };
}

#[inline(always)]
pub(super) fn locate(geometry: &Geometry, hash: u64) -> Located {
    let (quotient, remainder) = geometry.split::<WideBlock>(hash);
    let (block, slot) = (quotient / u64::from(SLOTS), quotient % u64::from(SLOTS));
    Located { block: block as usize, slot: slot as u32, remainder }
}

/// Whether a key's quotient is occupied.
///
/// # Safety
/// The caller must ensure that the table has the key's block.
#[inline(always)]
unsafe fn is_occupied(table: *const u8, key: Located) -> bool {
    // SAFETY: the caller guarantees that the table has the key's block.
    unsafe { word(table, key.block * 16) >> key.slot & 1 == 1 }
}

impl Places {
    /// Returns the run of a key, and whether the run is too far away to be found from the key's block and the next
    /// block. If it is, the returned run is empty. If the key's quotient is not occupied, the results
    /// have no meaning, but the returned run lies within the two blocks.
    ///
    /// # Safety
    /// The caller must ensure that the table has the key's block and a block after it.
    #[inline(always)]
    unsafe fn run<W: Words>(&self, words: W, table: *const u8, key: Located) -> (Run, bool) {
        // SAFETY: these are words and the offset of the key's block, and a word of the next block. The caller
        // guarantees that both blocks are in the table.
        let (occupieds, runends, next, offset) = unsafe {
            let at = key.block * 16;
            (
                word(table, at),
                word(table, at + 8),
                word(table, at + 24),
                u32::from(*table.add(self.offsets + key.block)),
            )
        };
        let below_home = words.below(u64::MAX, key.slot);
        let number = i64::from((occupieds & below_home).count_ones());
        let own = runends ^ words.below(runends, offset);
        let ends = i64::from(own.count_ones());
        // All ones if the run ends in the key's block, else 0.
        let here = ((number - ends) >> 63) as u64;
        let word = next ^ (next ^ own) & here;
        let number = (number - ends) + (ends & here as i64);
        let end = words.one(word, number as u32);
        let below = end.wrapping_sub(1);
        let earlier = own & (below | !here) | below_home | words.below(u64::MAX, offset);
        let first = 64 - i64::from(earlier.leading_zeros());
        let earlier_next = i64::from((next & below & !here).leading_zeros());
        let begins_next = (earlier_next - 64) >> 63;
        let first = first + ((128 - earlier_next - first) & begins_next);
        let slots = i64::from(end.trailing_zeros()) + 1 + (64 & !here as i64) - first;
        let far = end == 0 || offset > SLOTS;
        let valid = u64::from(far).wrapping_sub(1) & !(slots >> 63) as u64;
        let bits = (slots as u64 & valid) as u32 * self.bits;
        let at = ((key.block * 64 + first as usize) * self.bits as usize) & valid as usize;
        (Run { at: self.remainders * 8 + at, bits, remainder: key.remainder }, far)
    }

    /// Whether a run has its key's remainder.
    ///
    /// # Safety
    /// The caller must ensure that the run lies within the table's remainders.
    #[inline(always)]
    unsafe fn holds<W: Words>(&self, words: W, table: *const u8, mut run: Run) -> bool {
        let pattern = u64::from(run.remainder).wrapping_mul(self.fields.lowest);
        let mut holds = 0;
        loop {
            // SAFETY: the bit is in the section of remainders. After that section comes the section of offsets, of 64
            // bytes or more.
            let window = unsafe { word(table, run.at / 8) };
            let window = window >> (run.at % 8);
            let equal = self.fields.equal(window, pattern);
            holds |= words.below(equal, run.bits.min(64));
            if run.bits <= self.fields.step {
                return holds != 0;
            }
            run.bits -= self.fields.step;
            run.at += self.fields.step as usize;
        }
    }
}

/// The results that the inlined code passes to [`contains_rest`]: none, since that function starts the lookup again.
pub(super) type Rest = ();

/// Looks up a key about which the inlined code does not decide. If remainders have 8 bits, looks at the key's block
/// again. If they have another width, or if the second look does not decide either, uses the algorithms of `table.rs`.
#[inline(always)]
pub(super) fn contains_rest<W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hash: u64,
    (): Rest,
) -> bool {
    let found = Places::of(geometry, table).filter(|places| places.bits == 8).and_then(|places| {
        let key = locate(geometry, hash);
        // SAFETY: a key's block is in the table, and the filter above checks the width of remainders. The inlined code
        // passes on only keys whose quotients are occupied.
        unsafe { places.look_again(words, table.as_ptr(), key) }
    });
    found.unwrap_or_else(|| scalar::contains::<WideBlock, _>(words, geometry, table, hash))
}

/// One lookup. `rest` calls [`contains_rest`] through a function that is not inlined.
#[inline(always)]
pub(super) fn contains<W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hash: u64,
    rest: impl Fn(&Geometry, &[u8], u64, Rest) -> bool,
) -> bool {
    let Some(places) = Places::of(geometry, table) else {
        return rest(geometry, table, hash, ());
    };
    let key = locate(geometry, hash);
    if places.bits == 8 {
        let at = places.remainders_of(key.block);
        prefetch(table.as_ptr().wrapping_add(at), Hint::T0);
        // SAFETY: a key's block is in the table, and the condition above checks the width of remainders.
        let (hit, again) = unsafe {
            if !is_occupied(table.as_ptr(), key) {
                return false;
            }
            places.probe(words, table.as_ptr(), key).judge()
        };
        return if again { rest(geometry, table, hash, ()) } else { hit };
    }
    // Only the metadata tells where the run begins, but the run begins near the key's home. With this prefetch, a
    // lookup took 0.7 to 0.85 times as long as without it.
    let slot = key.block * 64 + key.slot as usize;
    let near = places.remainders + slot * places.bits as usize / 8;
    prefetch(table.as_ptr().wrapping_add(near), Hint::T0);
    // SAFETY: a key's block is in the table.
    if !unsafe { is_occupied(table.as_ptr(), key) } {
        return false;
    }
    // SAFETY: `Places::of` checks that there is a block after a key's block.
    let (run, far) = unsafe { places.run(words, table.as_ptr(), key) };
    if far {
        return rest(geometry, table, hash, ());
    }
    // SAFETY: the run ends in the key's block or the next, which are in the table.
    unsafe { places.holds(words, table.as_ptr(), run) }
}

#[inline(always)]
pub(super) fn contains_batch<W: Words>(
    words: W,
    geometry: &Geometry,
    table: &[u8],
    hashes: &[u64],
    found: &mut [u64],
    rest: impl Fn(&Geometry, &[u8], u64, Rest) -> bool + Copy,
) {
    let Some(places) = Places::of(geometry, table) else {
        for (i, hash) in hashes.iter().enumerate() {
            found[i / 64] |= u64::from(rest(geometry, table, *hash, ())) << (i % 64);
        }
        return;
    };
    // A lookup first reads the words and the offset of the key's block. Only these tell which cache line has the run's
    // remainders, which the lookup reads next. Compared with lookups without prefetches, lookups with prefetches took
    // 0.83 to 0.97 times as long in tables half to fully as large as L2, and 0.66 to 0.84 times in tables one to two
    // times as large as L2.
    let window = Window::for_table(table.len());
    let is_short = hashes.len() < SHORTEST_BATCH
        || hashes.len() < SHORTEST_BATCH_IN_L2 && Window::for_gathers(table.len()).hint.is_none();
    if is_short {
        for hash in hashes {
            with_fetch!(window, F => F::line(
                table.as_ptr().wrapping_add(locate(geometry, *hash).block * 16)
            ));
        }
        for (i, hash) in hashes.iter().enumerate() {
            let hit = contains(words, geometry, table, *hash, rest);
            found[i / 64] |= u64::from(hit) << (i % 64);
        }
        return;
    }
    let ahead = if window.hint.is_none() { 0 } else { BLOCKS_AHEAD };
    let batch = Batch { geometry, places: &places, table, hashes };
    if places.bits == 8 {
        // SAFETY: the condition above checks the width of remainders.
        with_fetch!(window, F => unsafe {
            batch.contains_bytes::<F, _>(words, ahead, found, rest);
        });
    } else {
        with_fetch!(window, F => batch.contains::<F, _>(words, ahead, found, rest));
    }
}

/// The number of keys in a block of a batch. Their answers fill a word.
pub(super) const BLOCK_KEYS: usize = 64;

/// The keys of a batch with fewer keys than this are looked up one by one, since a block takes the same time however
/// few keys it has. In batches of 4 keys on a Zen 4 core, a key took 164 ns as part of a block and 21 ns by itself if
/// the table was in L2; in a table of 50 MB, it took 247 ns as part of a block and 111 ns by itself.
const SHORTEST_BATCH: usize = 16;
/// [`SHORTEST_BATCH`] for tables in L2. Looking up a batch of 32 keys one by one took 0.64 times as long as in a block
/// if the table was in L2, but 1.3 times as long in a table of 50 MB.
const SHORTEST_BATCH_IN_L2: usize = 40;

/// If cache lines are prefetched, each pass over the blocks of keys is this number of blocks behind the pass before it.
pub(super) const BLOCKS_AHEAD: usize = 2;
/// The number of blocks of keys whose homes or runs are kept.
const RING: usize = BLOCKS_AHEAD + 1;

/// Keys whose quotients are not occupied are skipped if fewer than this number of a block's keys have occupied
/// quotients. Otherwise, skipping costs more than it saves.
pub(super) const MANY_OCCUPIED: u32 = 56;

/// A table, and the keys to look up in it.
pub(super) struct Batch<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) places: &'a Places,
    pub(super) table: &'a [u8],
    pub(super) hashes: &'a [u64],
}

impl Batch<'_> {
    /// The hashes of a block of keys.
    #[inline(always)]
    pub(super) fn block(&self, block: usize) -> &[u64] {
        &self.hashes[block * BLOCK_KEYS..self.hashes.len().min((block + 1) * BLOCK_KEYS)]
    }

    /// Looks up blocks of keys in three passes: the first finds the keys' homes, the second their runs, and the third
    /// compares the remainders of these runs with the keys' remainders. The first pass prefetches the words of the
    /// keys' blocks, and the second the beginnings of the runs. The second and the third pass skip keys whose quotients
    /// are not occupied, unless the block has few such keys ([`MANY_OCCUPIED`]). Each pass is `ahead` blocks behind
    /// the pass before it.
    #[inline(always)]
    fn contains<F: Fetch, W: Words>(
        &self,
        words: W,
        ahead: usize,
        found: &mut [u64],
        rest: impl Fn(&Geometry, &[u8], u64, Rest) -> bool,
    ) {
        let mut located = [[Located::FIRST; BLOCK_KEYS]; RING];
        let mut with_runs = [0; RING];
        let mut runs = [[Run { at: 0, bits: 0, remainder: 0 }; BLOCK_KEYS]; RING];
        let blocks = self.hashes.len().div_ceil(BLOCK_KEYS);
        for step in 0..blocks + 2 * ahead {
            if step < blocks {
                self.locate::<F>(step, &mut located[step % RING]);
            }
            if let Some(block) = step.checked_sub(ahead).filter(|block| *block < blocks) {
                let (keys, runs) = (&located[block % RING], &mut runs[block % RING]);
                let with_run = self.with_run(block, keys);
                with_runs[block % RING] = with_run;
                let far = if with_run.count_ones() < MANY_OCCUPIED {
                    self.find_runs::<F, _>(words, keys, runs, ones(with_run))
                } else {
                    self.find_runs::<F, _>(words, keys, runs, 0..BLOCK_KEYS) & with_run
                };
                for i in ones(far) {
                    let hit = rest(self.geometry, self.table, self.block(block)[i], ());
                    found[block] |= u64::from(hit) << i;
                }
            }
            if let Some(block) = step.checked_sub(2 * ahead) {
                let (with_run, runs) = (with_runs[block % RING], &runs[block % RING]);
                found[block] |= if with_run.count_ones() < MANY_OCCUPIED {
                    self.compare(words, runs, ones(with_run))
                } else {
                    self.compare(words, runs, 0..BLOCK_KEYS) & with_run
                };
            }
        }
    }

    /// Finds the homes of a block of keys, and prefetches the words of the keys' blocks.
    #[inline(always)]
    pub(super) fn locate<F: Fetch>(&self, block: usize, keys: &mut [Located; BLOCK_KEYS]) {
        F::keys_behind(self.block(block));
        for (hash, key) in self.block(block).iter().zip(keys) {
            *key = locate(self.geometry, *hash);
            F::line(self.table.as_ptr().wrapping_add(key.block * 16));
        }
    }

    /// A bit for each key of a block: whether its quotient is occupied. The bits after the last key's bit are zero.
    #[inline(always)]
    pub(super) fn with_run(&self, block: usize, keys: &[Located; BLOCK_KEYS]) -> u64 {
        self.occupied(keys) & (u64::MAX >> (BLOCK_KEYS - self.block(block).len()))
    }

    /// A bit for each key: whether its quotient is occupied.
    #[inline(always)]
    fn occupied(&self, keys: &[Located; BLOCK_KEYS]) -> u64 {
        let bits = keys.iter().enumerate().map(|(i, key)| {
            // SAFETY: a key's block is in the table. If the last block of keys is not full, the other entries of `keys`
            // are homes of earlier keys, or the table's first slot.
            u64::from(unsafe { is_occupied(self.table.as_ptr(), *key) }) << i
        });
        bits.fold(0, |word, bit| word | bit)
    }

    /// Finds the runs of those keys of a block that have the given indices. Returns a bit for each of these keys:
    /// whether its run is too far away.
    #[inline(always)]
    fn find_runs<F: Fetch, W: Words>(
        &self,
        words: W,
        keys: &[Located; BLOCK_KEYS],
        runs: &mut [Run; BLOCK_KEYS],
        indices: impl Iterator<Item = usize>,
    ) -> u64 {
        let table = self.table.as_ptr();
        let mut far = 0;
        for i in indices {
            // SAFETY: `Places::of` checks that there is a block after a key's block. The keys' blocks are in the table
            // for the reason given in `occupied`.
            let (run, is_far) = unsafe { self.places.run(words, table, keys[i]) };
            F::line(table.wrapping_add(run.at / 8));
            runs[i] = run;
            far |= u64::from(is_far) << i;
        }
        far
    }

    /// For those keys of a block that have the given indices, compares the key's remainder with the remainders of the
    /// key's run. Returns a bit for each of these keys: whether the run has the key's remainder.
    #[inline(always)]
    fn compare<W: Words>(
        &self,
        words: W,
        runs: &[Run; BLOCK_KEYS],
        indices: impl Iterator<Item = usize>,
    ) -> u64 {
        let mut hits = 0;
        for i in indices {
            // SAFETY: the runs end in the keys' blocks or the next ones, which are in the table.
            let hit = unsafe { self.places.holds(words, self.table.as_ptr(), runs[i]) };
            hits |= u64::from(hit) << i;
        }
        hits
    }
}
