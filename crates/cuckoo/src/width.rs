//! A bucket of four fingerprints as one word, for every width of fingerprint.

use core::fmt::Debug;

/// The fingerprints of a bucket, 0 where a slot is free.
pub(crate) type Slots = [u32; 4];

/// A width of fingerprints: how a bucket is read and written, and searched without taking it apart.
pub(crate) trait Width: Copy + Debug + 'static {
    /// A bucket.
    type Word: Copy + Eq + Debug;
    const BITS: u32;
    const BUCKET_BYTES: usize = Self::BITS as usize / 2;

    /// The bucket at the beginning of `bytes`, which has a whole one.
    fn load(bytes: &[u8]) -> Self::Word;
    /// The bucket at the beginning of the bytes of a word, which may go on beyond it.
    fn first(bytes: Self::Word) -> Self::Word;
    fn store(word: Self::Word, bytes: &mut [u8]);
    fn slots(word: Self::Word) -> Slots;
    fn word(slots: Slots) -> Self::Word;
    /// The two slots of a pair, the even one first.
    fn pair(word: Self::Word, pair: u32) -> [u32; 2];
    /// Whether a slot has this value.
    fn has(word: Self::Word, value: u32) -> bool;

    /// The bucket with its slots moved up by one, of which the last is free, and a value in the first.
    fn shifted_in(word: Self::Word, value: u32) -> Self::Word;
    /// Whether the last slot is not free.
    fn is_last_taken(word: Self::Word) -> bool;

    /// Whether a slot is free.
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
                let most = u32::MAX >> (32 - $bits);
                [word, word >> $bits, word >> (2 * $bits), word >> (3 * $bits)]
                    .map(|slot| slot as u32 & most)
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
                let most = u32::MAX >> (32 - $bits);
                let pair = word >> (2 * $bits * pair);
                [pair as u32 & most, (pair >> $bits) as u32 & most]
            }

            /// Subtracting 1 from each slot borrows into the highest bit of those that were 0, and
            /// `!x` keeps those out that had it set. (Warren, "Hacker's delight", section 6-1.)
            #[inline(always)]
            fn has(word: $word, value: u32) -> bool {
                const ONES: $word = 1 | 1 << $bits | 1 << (2 * $bits) | 1 << (3 * $bits);
                const HIGHS: $word = ONES << ($bits - 1);
                // Two shifts instead of a product by `ONES`, which vectors of 64-bit lanes lack.
                let twofold = <$word>::from(value) | <$word>::from(value) << $bits;
                let x = word ^ (twofold | twofold << (2 * $bits));
                x.wrapping_sub(ONES) & !x & HIGHS != 0
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

/// Evaluates an expression with `$width` naming the type of a [`Geometry`](crate::Geometry)'s width.
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

    fn a_bucket_is_its_slots<W: Width>() {
        let most = u32::MAX >> (32 - W::BITS);
        let values = [0, 1, 2, most / 2, most / 2 + 1, most - 1, most];
        let mut bytes = [0xA5; 18];
        for i in 0..values.len().pow(4) {
            let slots = [0, 1, 2, 3].map(|slot| values[i / values.len().pow(slot) % values.len()]);
            let word = W::word(slots);
            assert_eq!(W::slots(word), slots);
            assert_eq!(W::is_last_taken(word), slots[3] != 0);
            let [a, b, c, _] = slots;
            assert_eq!(W::shifted_in(W::word([a, b, c, 0]), most), W::word([most, a, b, c]));
            W::store(word, &mut bytes);
            assert_eq!(W::load(&bytes), word);
            assert!(bytes[W::BUCKET_BYTES..].iter().all(|byte| *byte == 0xA5));
            for value in values {
                assert_eq!(W::has(word, value), slots.contains(&value), "{slots:?} {value}");
            }
            assert_eq!(W::has_room(word), slots.contains(&0));
            assert_eq!([W::pair(word, 0), W::pair(word, 1)].as_flattened(), slots);
        }
    }

    #[test]
    fn buckets_of_every_width_are_their_slots() {
        a_bucket_is_its_slots::<Bits8>();
        a_bucket_is_its_slots::<Bits12>();
        a_bucket_is_its_slots::<Bits16>();
        a_bucket_is_its_slots::<Bits32>();
    }
}
