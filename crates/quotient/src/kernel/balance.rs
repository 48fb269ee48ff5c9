//! Finds the slots of a block where no run is open, with vector instructions: see [`balance`](crate::balance).

/// [`balanced`](crate::balance::balanced) with AVX2.
///
/// A slot has a bit in `begun` and one in `ended`. The four bits of two slots are an index into a table of 16 sums, so
/// one vector is enough, with a byte for every two slots. Rejected: two vectors with a byte for every slot, which took
/// as long within the noise of the measurements.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,bmi2,popcnt")]
pub(super) fn balanced_avx2(begun: u64, ended: u64, open: u32) -> u64 {
    use core::arch::x86_64::*;
    const LOW_HALF: u64 = 0xFFFF_FFFF;
    const EVEN_BITS: u64 = 0x5555_5555_5555_5555;
    const ODD_BITS: u64 = EVEN_BITS << 1;
    let low = _pdep_u64(begun & LOW_HALF, EVEN_BITS) | _pdep_u64(ended & LOW_HALF, ODD_BITS);
    let high = _pdep_u64(begun >> 32, EVEN_BITS) | _pdep_u64(ended >> 32, ODD_BITS);
    let pairs = _mm_set_epi64x(high as i64, low as i64);
    let number = _mm_set1_epi8(0b1111);
    let (even, odd) =
        (_mm_and_si128(pairs, number), _mm_and_si128(_mm_srli_epi16::<4>(pairs), number));
    let pairs = _mm256_set_m128i(_mm_unpackhi_epi8(even, odd), _mm_unpacklo_epi8(even, odd));
    // The tables are indexed by the four bits of two slots. They have the sums (plus one for a run begun, minus one for
    // a run ended) over the first slot, and over both slots.
    let of_first = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 1, -1, 0, 0, 1, -1, 0, 0, 1, -1, 0, 0, 1, -1, 0,
    ));
    let of_both = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 1, -1, 0, 1, 2, 0, 1, -1, 0, -2, -1, 0, 1, -1, 0,
    ));
    let (first, both) = (_mm256_shuffle_epi8(of_first, pairs), _mm256_shuffle_epi8(of_both, pairs));
    let sum = _mm256_add_epi8(both, _mm256_slli_si256::<1>(both));
    let sum = _mm256_add_epi8(sum, _mm256_slli_si256::<2>(sum));
    let sum = _mm256_add_epi8(sum, _mm256_slli_si256::<4>(sum));
    let sum = _mm256_add_epi8(sum, _mm256_slli_si256::<8>(sum));
    // Each half of the vector has the sums over 32 slots. No run is open where a sum and the number of runs that are
    // open before the half add up to zero. At most 64 runs end in a block, so all numbers of open runs above 64 have
    // the same effect, and numbers above 100 can be replaced by 100. With 100, `middle` (the number of runs open before
    // the upper half) is 68 to 132. As a byte, `-middle` then differs from all sums, which are -32 to 32.
    let open = open.min(100) as i32;
    let middle = open + (begun as u32).count_ones() as i32 - (ended as u32).count_ones() as i32;
    let none = _mm256_set_m128i(_mm_set1_epi8(-middle as i8), _mm_set1_epi8(-open as i8));
    let after_first = _mm256_add_epi8(_mm256_sub_epi8(sum, both), first);
    let balanced = |sum| u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(sum, none)) as u32);
    _pdep_u64(balanced(after_first), EVEN_BITS) | _pdep_u64(balanced(sum), ODD_BITS)
}

#[cfg(test)]
mod tests {
    use crate::kernel::words::for_all_words;
    use crate::words::Words;
    use core::any::type_name;
    use trommel_testkit::Splitmix;

    fn one_by_one(begun: u64, ended: u64, open: u32) -> u64 {
        let mut sum = i64::from(open);
        let slots = (0..64).filter(|slot| {
            sum += (begun >> slot & 1) as i64 - (ended >> slot & 1) as i64;
            sum == 0
        });
        slots.fold(0, |balanced, slot| balanced | 1 << slot)
    }

    fn agree<W: Words>(words: W, begun: u64, ended: u64, open: u32) {
        assert_eq!(
            words.balanced(begun, ended, open),
            one_by_one(begun, ended, open),
            "{}: begun {begun:x}, ended {ended:x}, open {open}",
            type_name::<W>()
        );
    }

    /// Compares `balanced` with a loop that sums slot by slot. The inputs are like valid tables: no more runs end
    /// than have begun.
    fn sum_slot_by_slot<W: Words>(words: W) {
        let mut random = Splitmix::new(64);
        for round in 0..if cfg!(miri) { 200 } else { 20_000 } {
            let open = match round % 4 {
                0 => 0,
                1 => random.below(4) as u32,
                2 => random.below(70) as u32,
                _ => 60 + random.below(200) as u32,
            };
            let begun = random.word() & random.word();
            let mut ended =
                if round % 3 == 0 { random.word() } else { random.word() & random.word() };
            let mut sum = i64::from(open);
            for slot in 0..64 {
                sum += (begun >> slot & 1) as i64;
                if sum == 0 {
                    ended &= !(1 << slot);
                }
                sum -= (ended >> slot & 1) as i64;
            }
            agree(words, begun, ended, open);
        }
        agree(words, 0, 0, 0);
        agree(words, u64::MAX, u64::MAX, 0);
        agree(words, u64::MAX, u64::MAX, 1);
        agree(words, u64::MAX, u64::MAX, 65);
        agree(words, 0, u64::MAX, 64);
        agree(words, 0, u64::MAX, 65);
        agree(words, 0, u64::MAX << 1, 63);
        agree(words, 0, u64::MAX << 1, 64);
        for open in [64, 65, 100, u32::MAX] {
            agree(words, u64::MAX, 0, open);
        }
    }

    #[test]
    fn sums_are_those_of_a_loop_over_slots() {
        for_all_words!(sum_slot_by_slot);
    }
}
