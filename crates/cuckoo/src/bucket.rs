//! A bucket: four slots, and two overflow flags that are written in their order.
//!
//! A key whose primary bucket is full lives in its alternate. A lookup that does not find a key in the
//! primary bucket must look there, unless it can know that no such key lives elsewhere. So each bucket
//! says, for either *class* of fingerprints (their lowest bit), whether a key of this primary bucket and
//! class was ever placed elsewhere: the *overflow flag*. A lookup of an absent key whose flag is clear
//! ends after one line, and cannot meet a false positive in the other bucket.
//!
//! The flags take no memory. The order of the fingerprints in a bucket means nothing, so it can mean
//! something: slots 0 and 1 are the pair of class 0, slots 2 and 3 of class 1, and a pair in strictly
//! ascending order says *clear*, any other order says *set*. Which fingerprints are in a pair is
//! arbitrary; they need not be of its class.
//!
//! | pair | says |
//! |---|---|
//! | `(a, b)` with `a < b`, `a` free or not | clear |
//! | `(a, b)` with `a ≥ b`, `b` free or not, `a` not free | set |
//! | both free | what [`EmptyPair`] says |
//!
//! Two equal fingerprints cannot say clear. A flag that is set without need costs a lookup the second
//! line; a clear flag that should be set would lose a key, and is never written.
//!
//! Sources: a hint in the primary bucket that spares absent keys the second, Le Scouarnec, "Cuckoo++ hash
//! tables", ANCS 2018, section 3; order that carries information, the semi-sorted buckets of Fan et al.,
//! CoNEXT 2014, section 5.2.

use crate::width::Slots;

/// The meaning of two free slots for their class.
///
/// A key is placed elsewhere only while its primary bucket is full, so at that moment both pairs can encode
/// it. Later, removals can leave a bucket whose flags are set with too few fingerprints to say it. From
/// then on no empty pair of the filter is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmptyPair {
    /// No key of this class was placed elsewhere.
    Clear,
    /// Perhaps one was.
    Unknown,
}

impl EmptyPair {
    /// A pair's flag is set if its even slot is at least this and at least the odd slot.
    #[inline(always)]
    pub(crate) const fn least_set(self) -> u32 {
        match self {
            Self::Clear => 1,
            Self::Unknown => 0,
        }
    }
}

/// Whether keys of a class may live in their alternate bucket.
pub(crate) type Flags = [bool; 2];

/// The class of a fingerprint, which has its flag: 0 or 1.
#[inline(always)]
pub(crate) const fn class(fingerprint: u32) -> usize {
    (fingerprint & 1) as usize
}

/// The flag of a class.
#[inline(always)]
pub(crate) fn flag(slots: &Slots, class: usize, empty: EmptyPair) -> bool {
    let (even, odd) = (slots[2 * class], slots[2 * class + 1]);
    even >= odd.max(empty.least_set())
}

#[inline(always)]
pub(crate) fn flags(slots: &Slots, empty: EmptyPair) -> Flags {
    [flag(slots, 0, empty), flag(slots, 1, empty)]
}

/// A pair in the order that says a flag. Masks instead of branches: a flag is as good as random.
#[inline(always)]
fn ordered(a: u32, b: u32, set: bool) -> [u32; 2] {
    let (low, high) = (a.min(b), a.max(b));
    let exchange = (low ^ high) & mask(set);
    [low ^ exchange, high ^ exchange]
}

/// The slots in an order that says the flags, as far as they can.
#[inline(always)]
pub(crate) fn with_flags(slots: Slots, flags: Flags) -> Slots {
    let [a, b, c, d] = slots;
    let ([a, b], [c, d]) = (ordered(a, b, flags[0]), ordered(c, d, flags[1]));
    [a, b, c, d]
}

/// All ones if something is so.
#[inline(always)]
pub(crate) const fn mask(is_so: bool) -> u32 {
    (is_so as u32).wrapping_neg()
}

/// Puts a fingerprint into a bucket that has room. The flags stay as they are.
#[inline(always)]
pub(crate) fn insert(slots: Slots, fingerprint: u32, empty: EmptyPair) -> Slots {
    let flags = flags(&slots, empty);
    let [a, b, c, d] = slots;
    let is_full = |x: u32, y: u32| x != 0 && y != 0;
    // An empty pair says nothing, so it is filled before the other has its second fingerprint.
    let second = is_full(a, b) || (c | d == 0 && a | b != 0);
    let [x, y] = if second { [c, d] } else { [a, b] };
    let pair = [x | y, fingerprint];
    with_flags(if second { [a, b, pair[0], pair[1]] } else { [pair[0], pair[1], c, d] }, flags)
}

/// Puts a fingerprint into a slot of a full bucket, in place of one that moves to its other bucket: the
/// flag of that one's class is set.
#[inline(always)]
pub(crate) fn exchange(slots: Slots, slot: usize, fingerprint: u32, empty: EmptyPair) -> Slots {
    let mut flags = flags(&slots, empty);
    flags[class(slots[slot])] = true;
    let mut slots = slots;
    slots[slot] = fingerprint;
    with_flags(slots, flags)
}

/// The bucket with a flag raised, and whether its order could say so.
#[inline]
pub(crate) fn set_flag(slots: Slots, class: usize, empty: EmptyPair) -> (Slots, bool) {
    let mut flags = flags(&slots, empty);
    flags[class] = true;
    arrange(slots, flags, empty)
}

/// The bucket without one copy of a fingerprint that it holds, and whether its order can still say its flags.
#[inline(always)]
pub(crate) fn remove(slots: Slots, fingerprint: u32, empty: EmptyPair) -> (Slots, bool) {
    let flags = flags(&slots, empty);
    let mut wanted = u32::MAX;
    let slots = slots.map(|slot| {
        let taken = mask(slot == fingerprint) & wanted;
        wanted &= !taken;
        slot & !taken
    });
    arrange(slots, flags, empty)
}

/// Spreads the fingerprints over the pairs so that they say the flags; and whether they do. Where they
/// cannot, they would if empty pairs were [`EmptyPair::Unknown`].
#[inline(always)]
pub(crate) fn arrange(slots: Slots, wanted: Flags, empty: EmptyPair) -> (Slots, bool) {
    let [a, b, c, d] = slots;
    // Two fingerprints in a pair, and none in the other: one for each.
    let to_first = mask((a | b == 0) & (c != 0) & (d != 0));
    let to_second = mask((c | d == 0) & (a != 0) & (b != 0));
    let mut slots = [a & !to_second | c & to_first, b, c & !to_first | a & to_second, d];
    let [a, b, c, d] = slots;
    let unknown = empty == EmptyPair::Unknown;
    let bare_first = (a | b == 0) & (wanted[0] != unknown);
    let bare_second = (c | d == 0) & (wanted[1] != unknown);
    if (a | b == 0) != (c | d == 0) && (bare_first | bare_second) {
        // One: for the pair whose flag an empty pair would not say.
        slots = [c, d, a, b];
    }
    let slots = with_flags(slots, wanted);
    let encoded = flags(&slots, empty);
    (slots, encoded[0] >= wanted[0] && encoded[1] >= wanted[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [EmptyPair; 2] = [EmptyPair::Clear, EmptyPair::Unknown];

    /// Every bucket of a few fingerprints.
    fn buckets() -> impl Iterator<Item = Slots> {
        (0..6u32.pow(4)).map(|i| {
            [0, 1, 2, 3].map(|slot| [0, 1, 2, 3, 254, 255][(i / 6u32.pow(slot) % 6) as usize])
        })
    }

    fn held(slots: &Slots) -> Slots {
        let mut held = *slots;
        held.sort_unstable();
        held
    }

    fn count(slots: &Slots) -> usize {
        slots.iter().filter(|slot| **slot != 0).count()
    }

    fn at_least(encoded: Flags, wanted: Flags) -> bool {
        encoded[0] >= wanted[0] && encoded[1] >= wanted[1]
    }

    #[test]
    fn the_flags_of_the_documentation() {
        for (pair, clear, unknown) in [
            ([0, 0], false, true),
            ([0, 7], false, false),
            ([7, 0], true, true),
            ([3, 7], false, false),
            ([7, 3], true, true),
            ([7, 7], true, true),
        ] {
            let slots = [pair[0], pair[1], 0, 9];
            assert_eq!(flag(&slots, 0, EmptyPair::Clear), clear, "{pair:?}");
            assert_eq!(flag(&slots, 0, EmptyPair::Unknown), unknown, "{pair:?}");
            let slots = [0, 9, pair[0], pair[1]];
            assert_eq!(flags(&slots, EmptyPair::Clear), [false, clear]);
        }
    }

    #[test]
    fn an_insert_adds_one_and_loses_no_flag() {
        for (empty, slots) in RULES.into_iter().flat_map(|rule| buckets().map(move |b| (rule, b))) {
            if count(&slots) == 4 {
                continue;
            }
            for fingerprint in [1, 2, 254, 255] {
                let after = insert(slots, fingerprint, empty);
                let mut expected = held(&slots);
                expected[0] = fingerprint;
                assert_eq!(held(&after), held(&expected), "{slots:?} {fingerprint}");
                assert!(at_least(flags(&after, empty), flags(&slots, empty)));
            }
        }
    }

    /// Without equal fingerprints and with trusted empty pairs, an insert sets no flag either.
    #[test]
    fn an_insert_of_another_fingerprint_sets_no_flag() {
        for slots in buckets().filter(|slots| (1..4).contains(&count(slots))) {
            let distinct = held(&slots).windows(2).all(|pair| pair[0] == 0 || pair[0] != pair[1]);
            if distinct && !slots.contains(&9) {
                let after = insert(slots, 9, EmptyPair::Clear);
                assert_eq!(flags(&after, EmptyPair::Clear), flags(&slots, EmptyPair::Clear));
            }
        }
    }

    #[test]
    fn an_exchange_sets_the_flag_of_what_left() {
        for (empty, slots) in RULES.into_iter().flat_map(|rule| buckets().map(move |b| (rule, b))) {
            if count(&slots) < 4 {
                continue;
            }
            for slot in 0..4 {
                let after = exchange(slots, slot, 77, empty);
                let mut expected = slots;
                expected[slot] = 77;
                assert_eq!(held(&after), held(&expected));
                assert!(at_least(flags(&after, empty), flags(&slots, empty)));
                assert!(flag(&after, class(slots[slot]), empty));
            }
        }
    }

    #[test]
    fn a_removal_or_a_raised_flag_is_said_or_reported() {
        for (empty, slots) in RULES.into_iter().flat_map(|rule| buckets().map(move |b| (rule, b))) {
            let before = flags(&slots, empty);
            for slot in (0..4).filter(|slot| slots[*slot] != 0) {
                let (after, is_encoded) = remove(slots, slots[slot], empty);
                let mut expected = slots;
                expected[slot] = 0;
                assert_eq!(held(&after), held(&expected));
                assert_eq!(is_encoded, at_least(flags(&after, empty), before), "{slots:?} {slot}");
                assert!(at_least(flags(&after, EmptyPair::Unknown), before), "{slots:?} {slot}");
                assert!(is_encoded || count(&after) < 2, "two fingerprints can encode any flags");
            }
            for class in 0..2 {
                let (after, is_encoded) = set_flag(slots, class, empty);
                assert_eq!(held(&after), held(&slots));
                let mut wanted = before;
                wanted[class] = true;
                assert_eq!(is_encoded, at_least(flags(&after, empty), wanted));
                assert!(at_least(flags(&after, EmptyPair::Unknown), wanted));
                assert!(is_encoded || count(&after) < 2);
            }
        }
    }
}
