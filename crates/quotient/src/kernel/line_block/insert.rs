//! Inserts, with the remainders of a line (a block of the table) in vectors.
//!
//! The steps are those of AVX-512 ([`insert_avx512`](super::insert_avx512)), with blends instead of masked stores, and
//! with loads and shifts by one byte instead of a byte permute.

use super::insert_steps::{
    Carried, Compare, Place, Slot, fetch_after, move_runends, moved, place, push_runends,
    set_occupieds,
};
use super::lines::{LINE_BYTES, OCCUPIEDS_AT, RUNENDS_AT, SLOT_BITS, SLOTS};
use super::lookup::{Located, equal_to, locate};
use crate::geometry::Geometry;
use crate::kernel::moves::Moves;
use crate::kernel::words::word;
use crate::table::bits_between;
use crate::words::Words;
use trommel_base::WhyFull;

/// A table and the remainder that its slots are compared with.
struct Slots<W> {
    words: W,
    table: *const u8,
    remainder: u8,
}

impl<W: Words> Compare for Slots<W> {
    #[inline(always)]
    unsafe fn compare(&self, line: usize, slots: u64) -> (u64, u32) {
        // SAFETY: the caller guarantees that the line lies in the table.
        let bytes = unsafe { &*self.table.add(line).cast::<[u8; LINE_BYTES]>() };
        let equal = self.words.equal_to(bytes, self.remainder);
        let at_most = self.words.at_most(bytes, self.remainder);
        let below = at_most & !equal & slots;
        (equal & slots, below.count_ones())
    }
}

/// The result of [`prepare`]: nothing, since inserts into lines need no constants of the table.
pub(super) type Prepared = ();

/// Checks the length of a table, before a key or a batch is inserted.
///
/// # Panics
/// If the table does not have the geometry's length.
#[inline(always)]
pub(super) fn prepare(geometry: &Geometry, table: &[u8]) -> Prepared {
    assert!(table.len() as u64 == geometry.blocks * LINE_BYTES as u64);
}

/// Inserts a key. `rest` inserts the key by the algorithms of `table.rs` if its run is [far](Place::Far), or if a
/// multiset holds the key already.
///
/// # Safety
/// The caller must ensure that `prepared` comes from [`prepare`] with the geometry and a table of this length.
#[inline(always)]
pub(super) unsafe fn insert<M: Moves>(
    words: M,
    geometry: &Geometry,
    (): &Prepared,
    table: &mut [u8],
    hash: u64,
    rest: impl Fn(&Geometry, &mut [u8], u64) -> Result<bool, WhyFull>,
) -> Result<bool, WhyFull> {
    let key = locate(geometry, hash);
    fetch_after(table, &key);
    let free = first_free(words, table, Slot { line: key.line, at: key.slot });
    let slots = Slots { words, table: table.as_ptr(), remainder: key.remainder };
    // SAFETY: `locate` returns one of the first `lines` lines. The table has all of them and at least one more, the
    // overhang, since `prepare` checked the table's length.
    match unsafe { place(words, table.as_ptr(), key, &slots) } {
        Place::Held if geometry.copies == 1 => Ok(false),
        Place::At { first, at, occupied } => {
            let free = free.ok_or(WhyFull::Slots)?;
            // SAFETY: the key's line lies in the table, and so does that of `free`, which `first_free` found. In the
            // table of an owned filter, which was filled by inserts or checked, all slots from the key's home to before
            // `at` are in use. So `free`, the first free slot from the home on, is `at` or a slot after it.
            unsafe { insert_at(words, table.as_mut_ptr(), key, first, at, occupied, free) };
            Ok(true)
        }
        _ => rest(geometry, table, hash),
    }
}

/// The first free slot from a key's home on, which is the first zero byte. (The home is the slot whose number is the
/// key's quotient.) All slots between the home and the slot where the key's remainder belongs are in use, so the search
/// can begin at the home.
#[inline(always)]
fn first_free<W: Words>(words: W, table: &[u8], home: Slot) -> Option<Slot> {
    let mut line = home.line;
    let mut slots = SLOT_BITS & (u64::MAX << home.at);
    while line + LINE_BYTES <= table.len() {
        // SAFETY: the loop condition checks that the line lies in the table.
        let free = unsafe { equal_to(words, table.as_ptr(), line, 0) } & slots;
        if free != 0 {
            return Some(Slot { line, at: free.trailing_zeros() });
        }
        slots = SLOT_BITS;
        line += LINE_BYTES;
    }
    None
}

/// Moves the remainders in the slots `at..free` and the runends in the slots `first..free` up by one slot, and stores
/// the key's remainder at `at`. Increments the offset of each line after the key's line, up to the line of `free`,
/// unless this line's offset has its highest value. Marks the key's quotient as occupied. `occupied` tells whether the
/// quotient was occupied before.
///
/// # Safety
/// The caller must ensure that the lines of the key and of all three slots lie in the table at `base`. The key's line
/// must not be after the line of `first`, `first` must not be after `at`, and `at` must not be after `free`.
#[inline(always)]
unsafe fn insert_at<M: Moves>(
    words: M,
    base: *mut u8,
    key: Located,
    first: Slot,
    at: Slot,
    occupied: bool,
    free: Slot,
) {
    // SAFETY: this is a word of the key's line.
    let occupieds = unsafe { word(base, key.line + OCCUPIEDS_AT) };
    let last = |line: usize| if line == free.line { free.at } else { SLOTS - 1 };
    let mut carried = Carried { remainder: key.remainder, runend: u64::from(!occupied) };
    let mut line = key.line;
    // From the key's line to the line of slot `at`, moves can begin within the line. In later lines, they begin at slot
    // 0. If `at` is after `free`, as only a forged table can have it, nothing after the line of `free` is written.
    loop {
        let (runends, remainders) = (moved(first, line, last(line)), moved(at, line, last(line)));
        // SAFETY: the line lies between that of the key and that of the free slot, which are in the table.
        let bytes = unsafe { &mut *base.add(line).cast() };
        move_remainders(words, bytes, remainders, &mut carried);
        // SAFETY: as above.
        unsafe {
            let metadata = word(base, line + RUNENDS_AT);
            let metadata = move_runends(metadata, runends, line != key.line, &mut carried);
            base.add(line + RUNENDS_AT).cast::<u64>().write_unaligned(metadata.to_le());
        }
        line += LINE_BYTES;
        if line > at.line.min(free.line) {
            break;
        }
    }
    while line <= free.line {
        // SAFETY: the line lies between that of the key and that of the free slot, which are in the table.
        unsafe {
            let bytes: &mut [u8; LINE_BYTES] = &mut *base.add(line).cast();
            let out = bytes[last(line) as usize % LINE_BYTES];
            words.move_up(bytes, bits_between(0, last(line)), carried.remainder);
            carried.remainder = out;
            let metadata = word(base, line + RUNENDS_AT);
            let metadata = push_runends(metadata, last(line), &mut carried);
            base.add(line + RUNENDS_AT).cast::<u64>().write_unaligned(metadata.to_le());
        }
        line += LINE_BYTES;
    }
    // SAFETY: the key's line lies in the table.
    unsafe { set_occupieds(base, key.line, occupieds & SLOT_BITS | 1 << key.slot) };
}

/// Moves the remainders of adjacent slots of a line up by one. `slots` is a mask of these slots. The first of them gets
/// the carried remainder, and the remainder of the last is carried on. The line's other bytes keep their values.
#[inline(always)]
fn move_remainders<M: Moves>(
    words: M,
    line: &mut [u8; LINE_BYTES],
    slots: u64,
    carried: &mut Carried,
) {
    // If no slots move, this reads the line's first byte, which is then not used.
    let out = line[63 - (slots | 1).leading_zeros() as usize];
    words.move_up(line, slots, carried.remainder);
    carried.remainder = if slots == 0 { carried.remainder } else { out };
}
