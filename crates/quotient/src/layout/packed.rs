//! Numbers of a fixed width, packed without gaps, least significant bit first.

/// The number of bytes of `slots` packed numbers with `bits` bits each. The caller must ensure that `slots` is a
/// multiple of 64.
pub(super) fn bytes(slots: u64, bits: u32) -> u64 {
    slots / 8 * u64::from(bits)
}

/// Returns the number at `index`. Reads eight bytes, beginning with the byte that has the number's first bit.
#[inline(always)]
pub(super) fn get(packed: &[u8], bits: u32, index: usize) -> u32 {
    let bit = index * bits as usize;
    (window(packed, bit / 8) >> (bit % 8) & mask(bits)) as u32
}

/// Stores `number` at `index`.
#[inline(always)]
pub(super) fn set(packed: &mut [u8], bits: u32, index: usize, number: u32) {
    let bit = index * bits as usize;
    let cleared = window(packed, bit / 8) & !(mask(bits) << (bit % 8));
    let changed = cleared | u64::from(number) << (bit % 8);
    packed[bit / 8..bit / 8 + 8].copy_from_slice(&changed.to_le_bytes());
}

/// Packs a block of 64 numbers. The caller must ensure that each has at most `bits` bits.
#[inline]
pub(super) fn pack<T: Copy + Into<u32>>(numbers: &[T], bits: u32, packed: &mut [u8]) {
    if bits == 8 {
        for (byte, number) in packed.iter_mut().zip(numbers) {
            *byte = (*number).into() as u8;
        }
        return;
    }
    let (words, _) = packed.as_chunks_mut::<8>();
    let (mut word, mut filled, mut at) = (0u64, 0, 0);
    for number in numbers {
        let number = u64::from((*number).into());
        word |= number << filled;
        filled += bits;
        if filled >= 64 {
            words[at] = word.to_le_bytes();
            at += 1;
            filled -= 64;
            // The `filled` highest bits of the number did not fit, and begin the next word.
            word = number >> (bits - filled);
        }
    }
}

#[inline(always)]
fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// The eight bytes from index `byte` on, as a word.
#[inline(always)]
pub(super) fn window(packed: &[u8], byte: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&packed[byte..byte + 8]);
    u64::from_le_bytes(bytes)
}

/// Moves the numbers at `from..to` up by one index. The number at `from` is undefined afterwards.
pub(super) fn shift_up(packed: &mut [u8], bits: u32, from: usize, to: usize) {
    let width = bits as usize;
    if bits.is_multiple_of(8) {
        packed.copy_within(from * width / 8..to * width / 8, (from + 1) * width / 8);
        return;
    }
    let (words, _) = packed.as_chunks_mut::<8>();
    let (first_bit, end_bit) = (from * width, (to + 1) * width);
    let (first, last) = (first_bit / 64, (end_bit - 1) / 64);
    let up = |words: &[[u8; 8]], i: usize| {
        let below = i.checked_sub(1).map_or(0, |i| u64::from_le_bytes(words[i]));
        u64::from_le_bytes(words[i]) << bits | below >> (64 - bits)
    };
    let keep_above = u64::MAX.checked_shl((end_bit - last * 64) as u32).unwrap_or(0);
    let keep_below = !(u64::MAX << (first_bit % 64));
    if first == last {
        merge(words, last, up(words, last), keep_above | keep_below);
        return;
    }
    merge(words, last, up(words, last), keep_above);
    for i in (first + 1..last).rev() {
        words[i] = up(words, i).to_le_bytes();
    }
    merge(words, first, up(words, first), keep_below);
}

/// Moves the numbers at `from + 1..=to` down by one index. The number at `to` becomes 0.
pub(super) fn shift_down(packed: &mut [u8], bits: u32, from: usize, to: usize) {
    let width = bits as usize;
    if bits.is_multiple_of(8) {
        packed.copy_within((from + 1) * width / 8..(to + 1) * width / 8, from * width / 8);
        packed[to * width / 8..(to + 1) * width / 8].fill(0);
        return;
    }
    {
        let (words, _) = packed.as_chunks_mut::<8>();
        let (first_bit, end_bit) = (from * width, (to + 1) * width);
        let (first, last) = (first_bit / 64, (end_bit - 1) / 64);
        let down = |words: &[[u8; 8]], i: usize| {
            let above = words.get(i + 1).map_or(0, |word| u64::from_le_bytes(*word));
            u64::from_le_bytes(words[i]) >> bits | above << (64 - bits)
        };
        let keep_above = u64::MAX.checked_shl((end_bit - last * 64) as u32).unwrap_or(0);
        let keep_below = !(u64::MAX << (first_bit % 64));
        if first == last {
            merge(words, first, down(words, first), keep_above | keep_below);
        } else {
            merge(words, first, down(words, first), keep_below);
            for i in first + 1..last {
                words[i] = down(words, i).to_le_bytes();
            }
            merge(words, last, down(words, last), keep_above);
        }
    }
    set(packed, bits, to, 0);
}

/// In word `i`, replaces the bits outside the mask `keep` by the bits of `bits` at the same positions.
fn merge(words: &mut [[u8; 8]], i: usize, bits: u64, keep: u64) {
    words[i] = (u64::from_le_bytes(words[i]) & keep | bits & !keep).to_le_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Compares both shifts with moves in a `Vec` of numbers, for every width and every pair of `from` and `to`.
    #[test]
    #[cfg_attr(miri, ignore = "slow, and without unsafe code")]
    fn packed_numbers_shift_like_those_of_a_vector() {
        for bits in 1..=32 {
            let count = 128;
            let original: Vec<u32> = (0..count as u32)
                .map(|i| (i + 1).wrapping_mul(0x9E37_79B9) & mask(bits) as u32)
                .collect();
            let mut filled = vec![0; bytes(count as u64, bits) as usize + 8];
            for (i, number) in original.iter().enumerate() {
                set(&mut filled, bits, i, *number);
            }
            let read =
                |packed: &[u8]| -> Vec<u32> { (0..count).map(|i| get(packed, bits, i)).collect() };
            assert_eq!(read(&filled), original);
            for from in 0..count {
                for to in from..count {
                    let mut packed = filled.clone();
                    let mut numbers = original.clone();
                    shift_up(&mut packed, bits, from, to);
                    set(&mut packed, bits, from, 1);
                    numbers.copy_within(from..to, from + 1);
                    numbers[from] = 1;
                    assert_eq!(read(&packed), numbers, "{from} to {to} up, {bits} bits");

                    let mut packed = filled.clone();
                    let mut numbers = original.clone();
                    shift_down(&mut packed, bits, from, to);
                    numbers.copy_within(from + 1..=to, from);
                    numbers[to] = 0;
                    assert_eq!(read(&packed), numbers, "{from} to {to} down, {bits} bits");
                }
            }
        }
    }
}
