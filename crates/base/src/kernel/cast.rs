//! Views of one memory as another type of the same layout.

use crate::KeyHash;

pub(crate) const fn hashes_of_words(words: &[u64]) -> &[KeyHash] {
    // SAFETY: `KeyHash` is `repr(transparent)` over `u64`: same size, alignment and valid values; the
    // length is in elements of the same size and the lifetime is the argument's.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

pub(crate) const fn words_of_hashes(hashes: &[KeyHash]) -> &[u64] {
    // SAFETY: as in `hashes_of_words`.
    unsafe { core::slice::from_raw_parts(hashes.as_ptr().cast(), hashes.len()) }
}
