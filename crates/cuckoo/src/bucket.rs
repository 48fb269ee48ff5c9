//! A bucket: four slots, and two overflow flags that are encoded by the order of the slots.
//!
//! A key whose primary bucket is full can be stored in its alternate bucket. A lookup that does not find a key in the
//! primary bucket must read the alternate, unless it knows that the key cannot be there. So each bucket has an
//! *overflow flag* for each of two *classes* of fingerprints, even and odd ones. If the flag is clear, no key with this
//! primary bucket and this class is in its alternate bucket. Then a lookup of an absent key needs only one bucket, and
//! cannot find a false positive in the alternate. Not every lookup saves the read: single lookups read both
//! buckets, and disregard the alternate if the flag is clear. So do batches in small tables, on most instruction sets.
//! Reading both buckets takes less time than a branch on the flag.
//!
//! The flags take no memory. The order of the fingerprints in a bucket means nothing, so it can mean something: the
//! order of slots 0 and 1, the pair of class 0 (even fingerprints), encodes the flag of class 0, and the order of slots
//! 2 and 3 the flag of class 1. A free slot counts as 0. A pair in strictly ascending order encodes *clear*, and any
//! other order encodes *set*, unless both slots are free. A pair can hold any fingerprints, not only those of its
//! class.
//!
//! | pair | flag |
//! |---|---|
//! | `(a, b)` with `a < b`, `a` free or not | clear |
//! | `(a, b)` with `a ≥ b`, `b` free or not, `a` not free | set |
//! | both free | depends on [`EmptyPair`] |
//!
//! Two equal fingerprints cannot encode *clear*. A flag that is set without need makes lookups search a second
//! bucket. A clear flag that should be set would make a lookup miss a key, and is never written.
//!
//! Sources: Le Scouarnec, "Cuckoo++ hash tables", ANCS 2018, section 3, for a hint in the primary bucket that
//! spares lookups of absent keys the second bucket; Fan et al., CoNEXT 2014, section 5.2 (semi-sorted buckets),
//! for an order of slots that carries information.

use crate::width::{Slots, Width};

/// The flag that every pair of two free slots encodes, in all buckets of a filter.
///
/// An insert places a key in its alternate only while its primary bucket is full, so at that moment both pairs of the
/// primary bucket can encode a flag that is set. Removals, doublings and unions can leave a bucket with too few
/// fingerprints to encode the flags that are set. From then on, every empty pair of the filter is [`Self::Unknown`],
/// until the filter holds no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmptyPair {
    /// Clear: no key of the class was placed in its alternate.
    Clear,
    /// A key of the class can be in its alternate, so lookups treat the flag as set.
    Unknown,
}

impl EmptyPair {
    /// Returns a bound: the flag of a pair is set if the value of the pair's first slot is at least this bound, and at
    /// least the value of the second slot.
    #[inline(always)]
    pub(crate) const fn least_set(self) -> u32 {
        match self {
            Self::Clear => 1,
            Self::Unknown => 0,
        }
    }
}

/// The flags of a bucket: for each of the two classes, whether keys of the class can be in their alternate bucket.
pub(crate) type Flags = [bool; 2];

/// The class of a fingerprint, 0 or 1: its lowest bit.
#[inline(always)]
pub(crate) const fn class(fingerprint: u32) -> usize {
    (fingerprint & 1) as usize
}

/// The flag of a class.
#[inline(always)]
pub(crate) fn flag(slots: &Slots, class: usize, empty: EmptyPair) -> bool {
    pair_flag([slots[2 * class], slots[2 * class + 1]], empty)
}

/// The flag that a pair encodes.
#[inline(always)]
pub(crate) fn pair_flag([even, odd]: [u32; 2], empty: EmptyPair) -> bool {
    even >= odd.max(empty.least_set())
}

#[inline(always)]
pub(crate) fn flags(slots: &Slots, empty: EmptyPair) -> Flags {
    [flag(slots, 0, empty), flag(slots, 1, empty)]
}

/// Orders a pair so that it encodes a flag. Uses masks instead of branches: flags are as good as random, so branches on
/// them would mispredict.
#[inline(always)]
fn ordered(a: u32, b: u32, set: bool) -> [u32; 2] {
    let (low, high) = (a.min(b), a.max(b));
    let exchange = (low ^ high) & mask(set);
    [low ^ exchange, high ^ exchange]
}

/// Orders both pairs so that they encode the flags, as far as the fingerprints of the pairs can encode them.
#[inline(always)]
pub(crate) fn with_flags(slots: Slots, flags: Flags) -> Slots {
    let [a, b, c, d] = slots;
    let ([a, b], [c, d]) = (ordered(a, b, flags[0]), ordered(c, d, flags[1]));
    [a, b, c, d]
}

/// All ones if `is_so`, otherwise zero.
#[inline(always)]
pub(crate) const fn mask(is_so: bool) -> u32 {
    (is_so as u32).wrapping_neg()
}

/// Puts a fingerprint into a bucket that has room. Flags that are set stay set.
#[inline(always)]
pub(crate) fn insert<W: Width>(word: W::Word, fingerprint: u32, empty: EmptyPair) -> W::Word {
    let [[a, b], [c, d]] = [W::pair(word, 0), W::pair(word, 1)];
    // An empty pair cannot encode a flag of its own, so each pair gets one fingerprint before either gets two.
    let second = (a != 0) & (b != 0) | (c | d == 0) & (a | b != 0);
    let [x, y] = if second { [c, d] } else { [a, b] };
    let pair = ordered(x | y, fingerprint, pair_flag([x, y], empty));
    W::with_pair(word, u32::from(second), pair)
}

/// Replaces the fingerprint in a slot of a full bucket. Sets the flag of the replaced fingerprint's class in the
/// bucket, since the caller moves that fingerprint to its other bucket.
#[inline(always)]
pub(crate) fn exchange(slots: Slots, slot: usize, fingerprint: u32, empty: EmptyPair) -> Slots {
    let mut flags = flags(&slots, empty);
    flags[class(slots[slot])] = true;
    let mut slots = slots;
    slots[slot] = fingerprint;
    with_flags(slots, flags)
}

/// Sets a flag. Returns the bucket, and whether its order encodes the flags that are set.
#[inline]
pub(crate) fn set_flag(slots: Slots, class: usize, empty: EmptyPair) -> (Slots, bool) {
    let mut flags = flags(&slots, empty);
    flags[class] = true;
    arrange(slots, flags, empty)
}

/// Removes one copy of a fingerprint that the bucket holds. Changes neither the flags nor the other pair. Returns
/// `None` if the fingerprint's pair would become empty, and would then not encode its flag: see
/// [`remove_and_arrange`].
#[inline(always)]
pub(crate) fn remove<W: Width>(
    word: W::Word,
    fingerprint: u32,
    empty: EmptyPair,
) -> Option<W::Word> {
    let pair = W::pair_with(word, fingerprint);
    let [even, odd] = W::pair(word, pair);
    let kept = even ^ odd ^ fingerprint;
    // The pair is not empty, so its flag does not depend on what an empty pair means.
    let is_clear = even < odd;
    let to_odd = kept & mask(is_clear);
    (kept != 0 || is_clear == (empty == EmptyPair::Clear))
        .then(|| W::with_pair(word, pair, [kept ^ to_odd, to_odd]))
}

/// Removes one copy of a fingerprint that the bucket holds. Returns the bucket, and whether its order still encodes the
/// flags that are set.
pub(crate) fn remove_and_arrange(
    slots: Slots,
    fingerprint: u32,
    empty: EmptyPair,
) -> (Slots, bool) {
    let flags = flags(&slots, empty);
    let mut pending = u32::MAX;
    let slots = slots.map(|slot| {
        let removed = mask(slot == fingerprint) & pending;
        pending &= !removed;
        slot & !removed
    });
    debug_assert_eq!(pending, 0, "the bucket does not hold the fingerprint");
    arrange(slots, flags, empty)
}

/// Distributes the fingerprints over the pairs so that the pairs encode the wanted flags. Returns the bucket, and
/// whether each flag that is true in `wanted` is set in the bucket. If not, the bucket encodes all of these flags
/// as soon as empty pairs are [`EmptyPair::Unknown`].
#[inline(always)]
pub(crate) fn arrange(slots: Slots, wanted: Flags, empty: EmptyPair) -> (Slots, bool) {
    let [a, b, c, d] = slots;
    // If one pair holds two fingerprints and the other pair is empty, each pair gets one fingerprint.
    let to_first = mask((a | b == 0) & (c != 0) & (d != 0));
    let to_second = mask((c | d == 0) & (a != 0) & (b != 0));
    let mut slots = [a & !to_second | c & to_first, b, c & !to_first | a & to_second, d];
    let [a, b, c, d] = slots;
    let unknown = empty == EmptyPair::Unknown;
    let bare_first = (a | b == 0) & (wanted[0] != unknown);
    let bare_second = (c | d == 0) & (wanted[1] != unknown);
    if (a | b == 0) != (c | d == 0) && (bare_first | bare_second) {
        // The bucket has one fingerprint, so one pair stays empty and has the flag of empty pairs. The fingerprint goes
        // to a pair that needs the opposite flag.
        slots = [c, d, a, b];
    }
    let slots = with_flags(slots, wanted);
    let encoded = flags(&slots, empty);
    (slots, encoded[0] >= wanted[0] && encoded[1] >= wanted[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::width::Bits8;

    const RULES: [EmptyPair; 2] = [EmptyPair::Clear, EmptyPair::Unknown];
    const ALL_FLAGS: [Flags; 4] = [[false, false], [false, true], [true, false], [true, true]];

    /// All buckets in which each slot has one of six values. Under Miri, a sample of these buckets.
    fn buckets() -> impl Iterator<Item = Slots> {
        (0..6u32.pow(4)).step_by(if cfg!(miri) { 35 } else { 1 }).map(|i| {
            [0, 1, 2, 3].map(|slot| [0, 1, 2, 3, 254, 255][(i / 6u32.pow(slot) % 6) as usize])
        })
    }

    fn rules_and_buckets() -> impl Iterator<Item = (EmptyPair, Slots)> {
        RULES.into_iter().flat_map(|rule| buckets().map(move |slots| (rule, slots)))
    }

    /// [`super::insert`] on slots.
    fn insert(slots: Slots, fingerprint: u32, empty: EmptyPair) -> Slots {
        Bits8::slots(super::insert::<Bits8>(Bits8::word(slots), fingerprint, empty))
    }

    /// [`super::remove`] on slots. Asserts that a removal changes neither the flags nor the pair without the
    /// fingerprint, and that only removals of the last fingerprint of a pair are left to [`remove_and_arrange`].
    fn remove(slots: Slots, fingerprint: u32, empty: EmptyPair) -> (Slots, bool) {
        let first = slots.iter().position(|slot| *slot == fingerprint).unwrap();
        let Some(word) = super::remove::<Bits8>(Bits8::word(slots), fingerprint, empty) else {
            assert_eq!(slots[first ^ 1], 0, "{slots:?} {fingerprint}");
            let flag_of_empty_pairs = empty == EmptyPair::Unknown;
            assert_ne!(flag(&slots, first / 2, empty), flag_of_empty_pairs, "{slots:?}");
            return remove_and_arrange(slots, fingerprint, empty);
        };
        let after = Bits8::slots(word);
        assert_eq!(flags(&after, empty), flags(&slots, empty), "{slots:?} {fingerprint}");
        let other = 2 * (1 - first / 2);
        assert_eq!(after[other..other + 2], slots[other..other + 2], "{slots:?} {fingerprint}");
        (after, true)
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
    fn flags_are_encoded_as_documented() {
        assert_eq!([class(254), class(255)], [0, 1]);
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
    fn an_insert_adds_one_fingerprint_and_clears_no_flag() {
        for (empty, slots) in rules_and_buckets() {
            if count(&slots) == 4 {
                continue;
            }
            for fingerprint in [1, 2, 254, 255] {
                let after = insert(slots, fingerprint, empty);
                let mut expected = held(&slots);
                expected[0] = fingerprint;
                assert_eq!(held(&after), held(&expected), "{slots:?} {fingerprint}");
                assert!(at_least(flags(&after, empty), flags(&slots, empty)));
                let has_bare_pair = after[..2] == [0, 0] || after[2..] == [0, 0];
                assert_eq!(has_bare_pair, count(&after) == 1, "{slots:?} {fingerprint}");
            }
        }
    }

    /// An insert sets no flag if all fingerprints differ and empty pairs mean *clear*.
    #[test]
    fn an_insert_of_a_distinct_fingerprint_sets_no_flag() {
        for slots in buckets().filter(|slots| (1..4).contains(&count(slots))) {
            let distinct = held(&slots).windows(2).all(|pair| pair[0] == 0 || pair[0] != pair[1]);
            if distinct && !slots.contains(&9) {
                let after = insert(slots, 9, EmptyPair::Clear);
                assert_eq!(flags(&after, EmptyPair::Clear), flags(&slots, EmptyPair::Clear));
            }
        }
    }

    #[test]
    fn an_exchange_sets_the_flag_of_the_replaced_fingerprint() {
        for (empty, slots) in rules_and_buckets() {
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
    fn pairs_with_fingerprints_keep_them_when_a_bucket_is_arranged() {
        let pairs = |[a, b, c, d]: Slots| [a.min(b), a.max(b), c.min(d), c.max(d)];
        for (empty, slots) in rules_and_buckets() {
            if slots[..2] == [0, 0] || slots[2..] == [0, 0] {
                continue;
            }
            for wanted in ALL_FLAGS {
                let (after, _) = arrange(slots, wanted, empty);
                assert_eq!(pairs(after), pairs(slots));
            }
        }
    }

    /// The buckets that have these fingerprints in any order.
    fn orders(slots: Slots) -> impl Iterator<Item = Slots> {
        let indices = (0..4usize.pow(4)).map(|i| [0, 1, 2, 3].map(|slot| i >> (2 * slot) & 3));
        let permutations = indices.filter(|order| (0..4).all(|slot| order.contains(&slot)));
        permutations.map(move |order| order.map(|slot| slots[slot]))
    }

    /// With fingerprints that all differ, [`arrange`] sets no flag without need.
    #[test]
    fn distinct_fingerprints_encode_exactly_the_wanted_flags_if_any_order_does() {
        for (empty, slots) in rules_and_buckets() {
            if held(&slots).windows(2).any(|pair| pair[0] != 0 && pair[0] == pair[1]) {
                continue;
            }
            for wanted in ALL_FLAGS {
                let (after, is_encoded) = arrange(slots, wanted, empty);
                assert_eq!(held(&after), held(&slots));
                assert_eq!(is_encoded, at_least(flags(&after, empty), wanted));
                let is_possible = orders(slots).any(|order| flags(&order, empty) == wanted);
                assert_eq!(flags(&after, empty) == wanted, is_possible, "{slots:?} {wanted:?}");
            }
        }
    }

    #[test]
    fn removals_and_set_flag_keep_the_flags_or_report_that_they_cannot() {
        for (empty, slots) in rules_and_buckets() {
            let before = flags(&slots, empty);
            for slot in (0..4).filter(|slot| slots[*slot] != 0) {
                let (after, is_encoded) = remove(slots, slots[slot], empty);
                let mut expected = slots;
                expected[slot] = 0;
                assert_eq!(held(&after), held(&expected));
                assert_eq!(is_encoded, at_least(flags(&after, empty), before), "{slots:?} {slot}");
                assert!(at_least(flags(&after, EmptyPair::Unknown), before), "{slots:?} {slot}");
                assert!(
                    is_encoded || count(&after) < 2,
                    "buckets with two or more fingerprints must encode any flags"
                );
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
