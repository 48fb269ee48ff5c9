//! A bucket of four fingerprints as one word, for every fingerprint width.

use core::fmt::Debug;

/// The fingerprints of a bucket, 0 where a slot is free.
pub(crate) type Slots = [u32; 4];

/// A fingerprint width. Reads and writes a bucket as one word, and searches it without extracting the slots.
pub(crate) trait Width: Copy + Debug + 'static {
    /// The integer that holds a bucket.
    type Word: Copy + Eq + Debug;
    const BITS: u32;
    const BUCKET_BYTES: usize = Self::BITS as usize / 2;

    /// Reads the bucket at the start of `bytes`. The caller must ensure that `bytes` has at least the bytes of one
    /// bucket.
    fn load(bytes: &[u8]) -> Self::Word;
    /// Converts a word to the bucket in its first bytes. The word was read from memory in the byte order of the
    /// machine, and can have more bytes than a bucket.
    fn first(bytes: Self::Word) -> Self::Word;
    fn store(word: Self::Word, bytes: &mut [u8]);
    fn slots(word: Self::Word) -> Slots;
    fn word(slots: Slots) -> Self::Word;
    /// The two slots of a pair, the even slot first. Pair 0 is slots 0 and 1, pair 1 is slots 2 and 3.
    fn pair(word: Self::Word, pair: u32) -> [u32; 2];
    /// The bucket with a pair replaced by two slots, the even slot first.
    fn with_pair(word: Self::Word, pair: u32, slots: [u32; 2]) -> Self::Word;
    /// Whether any slot has this value.
    fn has(word: Self::Word, value: u32) -> bool;
    /// The number of the pair that contains the first slot with this value. If no slot has the value, the result is 0
    /// or 1, and means nothing.
    fn pair_with(word: Self::Word, value: u32) -> u32;

    /// Moves the content of every slot to the next slot, and puts `value` into the first slot. The caller must ensure
    /// that the last slot is free.
    fn shifted_in(word: Self::Word, value: u32) -> Self::Word;
    /// Whether the last slot is taken.
    fn is_last_taken(word: Self::Word) -> bool;

    /// Whether any slot is free.
    #[inline(always)]
    fn has_room(word: Self::Word) -> bool {
        Self::has(word, 0)
    }
}

macro_rules! width {
    ($(#[$doc:meta])* $name:ident: $bits:literal in $word:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name;

        impl Width for $name {
            type Word = $word;
            const BITS: u32 = $bits;

            #[inline(always)]
            fn load(bytes: &[u8]) -> $word {
                let mut word = [0; size_of::<$word>()];
                word[..Self::BUCKET_BYTES].copy_from_slice(&bytes[..Self::BUCKET_BYTES]);
                <$word>::from_le_bytes(word)
            }

            #[inline(always)]
            fn first(bytes: $word) -> $word {
                <$word>::from_le(bytes) & (<$word>::MAX >> (<$word>::BITS - 4 * $bits))
            }

            #[inline(always)]
            fn store(word: $word, bytes: &mut [u8]) {
                let word = word.to_le_bytes();
                bytes[..Self::BUCKET_BYTES].copy_from_slice(&word[..Self::BUCKET_BYTES]);
            }

            #[inline(always)]
            fn slots(word: $word) -> Slots {
                let mask = u32::MAX >> (32 - $bits);
                [word, word >> $bits, word >> (2 * $bits), word >> (3 * $bits)]
                    .map(|slot| slot as u32 & mask)
            }

            #[inline(always)]
            fn word(slots: Slots) -> $word {
                let [a, b, c, d] = slots.map(<$word>::from);
                a | b << $bits | c << (2 * $bits) | d << (3 * $bits)
            }

            #[inline(always)]
            fn shifted_in(word: $word, value: u32) -> $word {
                word << $bits | <$word>::from(value)
            }

            #[inline(always)]
            fn is_last_taken(word: $word) -> bool {
                word >> (3 * $bits) != 0
            }

            #[inline(always)]
            fn pair(word: $word, pair: u32) -> [u32; 2] {
                let mask = u32::MAX >> (32 - $bits);
                let pair = word >> (2 * $bits * pair);
                [pair as u32 & mask, (pair >> $bits) as u32 & mask]
            }

            #[inline(always)]
            fn with_pair(word: $word, pair: u32, [even, odd]: [u32; 2]) -> $word {
                const PAIR: $word = <$word>::MAX >> (<$word>::BITS - 2 * $bits);
                let slots = <$word>::from(even) | <$word>::from(odd) << $bits;
                let shift = 2 * $bits * pair;
                word & !(PAIR << shift) | slots << shift
            }

            #[inline(always)]
            fn has(word: $word, value: u32) -> bool {
                Self::matches(word, value) != 0
            }

            #[inline(always)]
            fn pair_with(word: $word, value: u32) -> u32 {
                let bit = Self::matches(word, value).trailing_zeros();
                // A division by a power of two is a shift. Other divisions take longer than a comparison.
                if <u32>::is_power_of_two($bits) {
                    bit / (2 * $bits) & 1
                } else {
                    u32::from(bit >= 2 * $bits)
                }
            }
        }

        impl $name {
            /// A word that is 0 if no slot has the value. Otherwise, the lowest bit that is set in it is the highest
            /// bit of the first slot with the value.
            ///
            /// The slots of `x` are 0 where those of `word` have the value. Subtracting 1 from each slot sets the
            /// highest bit of a slot that was 0, and `& !x` drops the slots that had this bit set before. (Warren,
            /// "Hacker's delight", section 6-1.)
            #[inline(always)]
            fn matches(word: $word, value: u32) -> $word {
                const ONES: $word = 1 | 1 << $bits | 1 << (2 * $bits) | 1 << (3 * $bits);
                const HIGHS: $word = ONES << ($bits - 1);
                // Two shifts instead of a multiplication by `ONES`: AVX2 has no multiplication of 64-bit lanes.
                let twofold = <$word>::from(value) | <$word>::from(value) << $bits;
                let x = word ^ (twofold | twofold << (2 * $bits));
                x.wrapping_sub(ONES) & !x & HIGHS
            }
        }
    };
}

width!(
    /// Fingerprints of 8 bits, a bucket in 4 bytes.
    Bits8: 8 in u32
);
width!(
    /// Fingerprints of 12 bits, a bucket in 6 bytes.
    Bits12: 12 in u64
);
width!(
    /// Fingerprints of 16 bits, a bucket in 8 bytes.
    Bits16: 16 in u64
);
width!(
    /// Fingerprints of 32 bits, a bucket in 16 bytes.
    Bits32: 32 in u128
);

/// Evaluates `$body`, in which `$width` is the [`Width`] of a [`Geometry`](crate::Geometry)'s fingerprints.
macro_rules! with_width {
    ($geometry:expr, $width:ident => $body:expr) => {
        match $geometry.fingerprint_bits {
            8 => {
                type $width = $crate::width::Bits8;
                $body
            }
            12 => {
                type $width = $crate::width::Bits12;
                $body
            }
            16 => {
                type $width = $crate::width::Bits16;
                $body
            }
            _ => {
                type $width = $crate::width::Bits32;
                $body
            }
        }
    };
}
pub(crate) use with_width;

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_buckets_match_their_slots<W: Width>() {
        let max = u32::MAX >> (32 - W::BITS);
        let values = [0, 1, 2, max / 2, max / 2 + 1, max - 1, max];
        let mut bytes = [0xA5; 18];
        for i in 0..values.len().pow(4) {
            let slots = [0, 1, 2, 3].map(|slot| values[i / values.len().pow(slot) % values.len()]);
            let word = W::word(slots);
            assert_eq!(W::slots(word), slots);
            assert_eq!(W::is_last_taken(word), slots[3] != 0);
            let [a, b, c, _] = slots;
            assert_eq!(W::shifted_in(W::word([a, b, c, 0]), max), W::word([max, a, b, c]));
            W::store(word, &mut bytes);
            assert_eq!(W::load(&bytes), word);
            assert!(bytes[W::BUCKET_BYTES..].iter().all(|byte| *byte == 0xA5));
            for value in values {
                assert_eq!(W::has(word, value), slots.contains(&value), "{slots:?} {value}");
                let pair = W::pair_with(word, value);
                let expected = slots.iter().position(|slot| *slot == value);
                assert!(expected.is_none_or(|slot| slot as u32 / 2 == pair), "{slots:?} {value}");
                assert!(pair < 2);
            }
            assert_eq!(W::has_room(word), slots.contains(&0));
            assert_eq!([W::pair(word, 0), W::pair(word, 1)].as_flattened(), slots);
            let [a, b, c, d] = slots;
            let replaced = W::with_pair(W::with_pair(word, 0, [c, b]), 1, [d, a]);
            assert_eq!(W::slots(replaced), [c, b, d, a]);
        }
    }

    #[test]
    fn words_of_every_width_match_their_slots() {
        assert_buckets_match_their_slots::<Bits8>();
        assert_buckets_match_their_slots::<Bits12>();
        assert_buckets_match_their_slots::<Bits16>();
        assert_buckets_match_their_slots::<Bits32>();
    }
}
