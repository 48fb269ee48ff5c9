//! Lookups that compare all slots of a block, for remainders of 8 bits.
//!
//! (`layout/mod.rs` defines runs, occupieds, runends and offsets. A key's *home* is the slot whose number is the key's
//! quotient, and the key's block is the block of its home.)
//!
//! These lookups find neither the beginning nor the end of a run, so they select no bits. They compare all slots of the
//! key's block with the key's remainder, which gives a bit for each equal slot, and then ask which run an equal slot
//! belongs to. Let `d` be the number of the block's occupied quotients below the key's. The key's run is the `d`-th
//! (from 0) of the runs of the block's own quotients. The *own runends* are those from the offset on. So if the key's
//! quotient is occupied, a slot of the block belongs to its run if and only if
//!
//! - the slot is not below the offset (the slots below the offset belong to runs of earlier blocks),
//! - it is not below the home (there can be free slots between the previous run and this one, all below the home), and
//! - exactly `d` own runends are below the slot. Of the slots at or above both the offset and the home, the first with
//!   `d` own runends below it is the first slot of the run.
//!
//! Nearly always, the first equal slot at or above both the offset and the home decides about the key. If this slot
//! belongs to an earlier run, or if the key's run does not end in the block, [`Probe::look_again`] decides. At 90 %
//! load, this happens to about one in ten present keys, and one in eighteen absent keys.

/// All bits below the lowest set bit; all bits if none is set.
#[inline(always)]
fn below_lowest(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// What the block of a key tells about the key, whose quotient must be occupied.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    /// The block's equal slots that are at or above both the offset and the home.
    pub(super) equal: u64,
    /// The own runends of the block.
    pub(super) own: u64,
    /// The number `d` of the block's occupied quotients below the key's.
    pub(super) number: u32,
}

impl Probe {
    /// Whether the first equal slot shows that the block holds the key, and whether another look must decide about the
    /// key. If runs of earlier blocks take the whole block and more, the block has no own runends, and another look
    /// decides.
    #[inline(always)]
    pub(super) fn judge(self) -> (bool, bool) {
        // If no slot is equal, this is the number of all own runends.
        let before = (self.own & below_lowest(self.equal)).count_ones();
        let goes_on = self.own.count_ones() <= self.number;
        let again = goes_on | (before < self.number);
        (!again & (before == self.number), again)
    }

    /// Whether the key's run has an equal slot, in the key's block or in a later one. `next(n)` returns the runends and
    /// the equal slots of the `n`-th block after the key's block; `None` if there is no such block. Returns `None` if
    /// `next` does. The caller must ensure that runs of earlier blocks do not take the whole block and more.
    #[inline(always)]
    pub(super) fn look_again(
        self,
        mut next: impl FnMut(usize) -> Option<(u64, u64)>,
    ) -> Option<bool> {
        if is_in_run(self.own, self.equal, self.number) {
            return Some(true);
        }
        // The number of runs that end after this block, and before the key's run ends.
        let Some(mut number) = self.number.checked_sub(self.own.count_ones()) else {
            return Some(false);
        };
        for block in 1.. {
            let (runends, equal) = next(block)?;
            if is_in_run(runends, equal, number) {
                return Some(true);
            }
            let Some(rest) = number.checked_sub(runends.count_ones()) else { return Some(false) };
            number = rest;
        }
        None
    }
}

/// Whether a bit of `equal` has exactly `number` bits of `runends` below it.
#[inline(always)]
fn is_in_run(runends: u64, mut equal: u64, number: u32) -> bool {
    while equal != 0 {
        let below = (runends & below_lowest(equal)).count_ones();
        if below >= number {
            return below == number;
        }
        equal &= equal - 1;
    }
    false
}
