//! Computes a table directly from a sorted list of fingerprints, and the sorted list from a table. The functions of
//! this file share no code and no algorithm with the filter.

use trommel_textbook::TextbookQuotientFilter;
use trommel_textbook::quotient::Slot;

/// The table of an ascending list of fingerprints. Their remainders are placed in the order of the list, each in the
/// first free slot at or after its home.
pub(crate) fn table(quotient_bits: u32, remainder_bits: u32, sorted: &[u64]) -> Vec<Option<Slot>> {
    let slots = 1usize << quotient_bits;
    assert!(sorted.len() <= slots && sorted.is_sorted());
    let mut table = vec![Slot::default(); slots];
    let mut in_use = vec![false; slots];
    // Goes around the table twice, since remainders that are pushed over the end take slots at the beginning. The first
    // lap only finds out how many slots these remainders take; the second lap writes the slots.
    let mut free = 0;
    for lap in 0..2 {
        let mut quotient_before = None;
        for fingerprint in sorted {
            let quotient = (fingerprint >> remainder_bits) as usize;
            let position = free.max(lap * slots + quotient);
            free = position + 1;
            if lap == 1 {
                in_use[position % slots] = true;
                let slot = &mut table[position % slots];
                slot.remainder = fingerprint % (1 << remainder_bits);
                slot.is_continuation = quotient_before == Some(quotient);
                slot.is_shifted = position != slots + quotient;
                table[quotient].is_occupied = true;
            }
            quotient_before = Some(quotient);
        }
    }
    // A slot that is not in use becomes `None` below, which would hide any bit set in it. So check that no bit is set.
    assert!(table.iter().zip(&in_use).all(|(slot, used)| *used || *slot == Slot::default()));
    table.into_iter().zip(in_use).map(|(slot, used)| used.then_some(slot)).collect()
}

/// The ascending list of the fingerprints of a table. Treats the table as a circle, cuts it where no run crosses the
/// cut, and assigns the first occupied home to the first run, the second occupied home to the second run, and so on.
pub(crate) fn decode(slots: &[Option<Slot>], remainder_bits: u32) -> Vec<u64> {
    let cut = slots.iter().position(|slot| slot.is_none_or(|slot| !slot.is_shifted));
    let cut = cut.expect("every slot holds a remainder that is shifted");
    let unrolled = || (cut..slots.len()).chain(0..cut);
    let mut homes = unrolled().filter(|i| slots[*i].is_some_and(|slot| slot.is_occupied));
    let mut fingerprints = Vec::new();
    let mut home = None;
    for slot in unrolled().filter_map(|i| slots[i]) {
        if !slot.is_continuation {
            home = homes.next();
        }
        let quotient = home.expect("more runs than occupied homes") as u64;
        fingerprints.push(quotient << remainder_bits | slot.remainder);
    }
    assert_eq!(homes.next(), None, "more occupied homes than runs");
    fingerprints.sort_unstable();
    fingerprints
}

/// Fails unless the filter's table is the table of `sorted`, and both `decode` and the filter's iterator return
/// `sorted`.
#[track_caller]
pub(crate) fn assert_holds(filter: &TextbookQuotientFilter, sorted: &[u64]) {
    let slots: Vec<_> = filter.slots().collect();
    assert_eq!(slots, table(filter.quotient_bits(), filter.remainder_bits(), sorted));
    assert_eq!(decode(&slots, filter.remainder_bits()), sorted);
    assert!(filter.fingerprints().eq(sorted.iter().copied()), "wrong enumeration");
    assert_eq!(filter.fingerprints().len(), sorted.len());
}
