//! Views of memory as values of another type.

use crate::KeyHash;
use crate::partition::record::Record;

pub(crate) const fn hashes_of_words(words: &[u64]) -> &[KeyHash] {
    // SAFETY: `KeyHash` is `repr(transparent)` over `u64`, so both have the same size, alignment and valid values, and
    // the slice has as many hashes as words. The lifetime is the argument's.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

pub(crate) const fn words_of_hashes(hashes: &[KeyHash]) -> &[u64] {
    // SAFETY: as in `hashes_of_words`.
    unsafe { core::slice::from_raw_parts(hashes.as_ptr().cast(), hashes.len()) }
}

/// The bytes as records. Bytes at the end that do not fill a record are left out.
pub(crate) fn records_of_bytes<R: Record>(bytes: &mut [u8]) -> &mut [R] {
    let (start, len) = (bytes.as_mut_ptr().cast::<R>(), bytes.len() / size_of::<R>());
    assert!(start.is_aligned(), "the memory is not aligned for records");
    // SAFETY: the `assert` checks that the start is aligned, and `len` whole records fit into the bytes. `Record` is
    // sealed to `u32` and `u64`, for which every bit pattern is a value. The borrow is unique and lives as long as the
    // argument's.
    unsafe { core::slice::from_raw_parts_mut(start, len) }
}

#[cfg(test)]
mod tests {
    use super::{hashes_of_words, records_of_bytes, words_of_hashes};
    use crate::KeyHash;
    use crate::storage::Storage;

    #[test]
    fn hashes_are_words() {
        let words = [1, 2, u64::MAX];
        let hashes = words.map(KeyHash::from_raw);
        assert_eq!((size_of::<KeyHash>(), align_of::<KeyHash>()), (8, align_of::<u64>()));
        assert_eq!((hashes_of_words(&words), words_of_hashes(&hashes)), (&hashes[..], &words[..]));
    }

    #[test]
    fn records_are_the_aligned_whole_records_of_the_bytes() {
        let mut bytes = Storage::zeroed(64, false).unwrap();
        for len in 0..64 {
            assert_eq!(records_of_bytes::<u64>(&mut bytes[..len]).len(), len / 8);
            assert_eq!(records_of_bytes::<u32>(&mut bytes[..len]).len(), len / 4);
        }
        for misaligned in [1, align_of::<u64>() / 2, 64 - align_of::<u64>() / 2] {
            let memory = std::panic::AssertUnwindSafe(&mut bytes[misaligned..]);
            let refused = std::panic::catch_unwind(|| {
                let memory = memory;
                records_of_bytes::<u64>(memory.0).len()
            });
            let message = refused.unwrap_err().downcast::<&str>().unwrap();
            assert_eq!(*message, "the memory is not aligned for records");
        }
    }
}
