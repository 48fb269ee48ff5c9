//! Filters that take keys.

use crate::border::{self, Out};
use crate::guard;
use crate::status::{Failure, Status};
use std::ffi::{c_char, c_void};
use trommel::{AnyFilter, Bitmap, Filter, FilterSpec, Insert, KeyHash, SpecError};

/// A filter that takes keys. Functions that take it as `const` may run on several threads at once; a function that takes
/// it without `const` needs it alone.
#[derive(Debug)]
pub struct Owned {
    filter: AnyFilter,
}

/// Makes an empty filter for `keys` keys with a false-positive rate of `fpr`, between 0 and 1. `kind` is a NUL-terminated
/// text: "bloom", "counting-bloom", "register-bloom", "split-block-bloom", "cache-line-bloom", "quotient",
/// "cache-line-quotient" or "cuckoo". Keys are hashed by XXH3-64 with `seed`. The filter has room for all `keys`; 0 keys
/// make the smallest filter.
///
/// Ownership: `*filter` is the caller's, to be freed with `trommel_free`. It is NULL on failure.
///
/// Thread safety: any thread, any time.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_UNKNOWN_KIND; TROMMEL_SPEC if the kind cannot reach the
/// rate or the size, never a worse filter; TROMMEL_MEMORY, TROMMEL_INSTRUCTION_SET.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_new(
    kind: *const c_char,
    keys: u64,
    fpr: f64,
    seed: u64,
    filter: *mut *mut Owned,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a pointer.
        let made = unsafe { Out::required("filter", filter) }?;
        made.put(std::ptr::null_mut());
        // SAFETY: the header asks the caller for a text that ends in a NUL.
        let kind = unsafe { border::kind("kind", kind) }?;
        let filter = FilterSpec::new(kind).keys(key_count(keys)?).fpr(fpr).seed(seed).build()?;
        made.put(Box::into_raw(Box::new(Owned { filter })));
        Ok(())
    })
}

/// The number of keys as Rust counts; on a machine of 32 bits, no filter holds more.
fn key_count(keys: u64) -> Result<usize, SpecError> {
    usize::try_from(keys).map_err(|_| SpecError::Parameter {
        name: "keys",
        value: keys,
        min: 0,
        max: usize::MAX as u64,
    })
}

/// Makes a filter that takes keys from the bytes of a frozen one, with a copy of its table. Everything is checked, as by
/// `trommel_view_open`.
///
/// Ownership: `*filter` is the caller's, to be freed with `trommel_free`. It is NULL on failure. The bytes are not needed
/// afterwards.
///
/// Thread safety: any thread, any time.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FORMAT, TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_thaw(
    frozen: *const c_void,
    len: usize,
    filter: *mut *mut Owned,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a pointer.
        let made = unsafe { Out::required("filter", filter) }?;
        made.put(std::ptr::null_mut());
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes meanwhile.
        let filter = AnyFilter::from_bytes(unsafe { border::bytes("frozen", frozen, len) }?)?;
        made.put(Box::into_raw(Box::new(Owned { filter })));
        Ok(())
    })
}

/// Frees a filter. Does nothing with NULL.
///
/// Thread safety: no other thread uses the filter during this call or after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_free(filter: *mut Owned) {
    guard::status(|| {
        // SAFETY: the header asks the caller for a filter that is not freed yet, and not used afterwards.
        unsafe { border::free(filter) };
        Ok(())
    });
}

/// Returns the hash of a key by the hash function and seed of a filter, for `trommel_insert_hashes` and
/// `trommel_contains_hashes`. `key` may be NULL if `len` is 0. Returns 0 if an argument is refused.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_hash_bytes(
    filter: *const Owned,
    key: *const c_void,
    len: usize,
) -> u64 {
    guard::value(|| {
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody changes meanwhile.
        let filter = &unsafe { border::handle("filter", filter) }?.filter;
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes meanwhile.
        Ok(filter.hash(unsafe { border::bytes("key", key, len) }?).raw())
    })
    .unwrap_or(0)
}

/// Inserts the keys of `n` hashes, two to five times as fast as one by one. Hashes are those of `trommel_hash_bytes`, or
/// any other uniform 64 bits as long as lookups give the same ones. `hashes` may be NULL if `n` is 0.
///
/// `*inserted` is how many went in: `n`, or fewer after TROMMEL_FULL or TROMMEL_MEMORY. They are the first ones, and stay in
/// the filter. `inserted` may be NULL.
///
/// Ownership: the hashes are the caller's; nothing is kept.
///
/// Thread safety: nobody else uses the filter meanwhile.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FULL, TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_insert_hashes(
    filter: *mut Owned,
    hashes: *const u64,
    n: usize,
    inserted: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a size, or NULL.
        let inserted = unsafe { Out::optional("inserted", inserted) }?;
        inserted.put(0);
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody else uses meanwhile.
        let filter = &mut unsafe { border::handle_mut("filter", filter) }?.filter;
        // SAFETY: the header asks the caller for `n` hashes, that nobody changes meanwhile.
        let hashes = unsafe { border::array("hashes", hashes, n) }?;
        match filter.insert_batch(KeyHash::slice_from_raw(hashes)) {
            Ok(()) => inserted.put(n),
            Err(full) => {
                inserted.put(full.inserted);
                return Err(full.into());
            }
        }
        Ok(())
    })
}

/// Looks up the keys of `n` hashes at once, two to five times as fast as one by one. Bit `i % 64` of word `i / 64` of
/// `bitmap_words`, least significant bit first, is 1 if key `i` may be in the filter and 0 if it certainly is not. All
/// (n + 63) / 64 words are written, the bits beyond `n` as 0. Both pointers may be NULL if `n` is 0.
///
/// On failure, the words are as they were.
///
/// Ownership: hashes and words are the caller's; nothing is kept.
///
/// Thread safety: any number of threads at once, each with words of its own.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG; TROMMEL_OVERLAP if words and hashes have memory
/// in common.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_contains_hashes(
    filter: *const Owned,
    hashes: *const u64,
    n: usize,
    bitmap_words: *mut u64,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody changes meanwhile.
        let filter = &unsafe { border::handle("filter", filter) }?.filter;
        // SAFETY: the header asks the caller for these hashes and words.
        unsafe { contains_hashes(filter, hashes, n, bitmap_words) }
    })
}

/// Looks up the keys of `n` hashes in a filter or a view.
///
/// # Safety
/// If the checks pass, `n` hashes are there, that nobody changes meanwhile, and as many words as have a bit for each,
/// that nobody else uses meanwhile.
pub(crate) unsafe fn contains_hashes(
    filter: &impl Filter,
    hashes: *const u64,
    n: usize,
    bitmap_words: *mut u64,
) -> Result<(), Failure> {
    // SAFETY: the hashes are the duty of this function.
    let hashes = unsafe { border::array("hashes", hashes, n) }?;
    // SAFETY: the words are the duty of this function.
    let words = unsafe { border::buffer("bitmap_words", bitmap_words, n.div_ceil(64), hashes) }?;
    contains_batch(filter, KeyHash::slice_from_raw(hashes), words);
    Ok(())
}

/// Looks up a batch in pieces, so that the memory for their answers stays small whatever the batch.
fn contains_batch(filter: &impl Filter, hashes: &[KeyHash], words: &mut [u64]) {
    /// 8 KiB of answers: in the first-level cache, and far beyond where a batch pays.
    const PIECE_KEYS: usize = 1 << 16;
    let mut found = Bitmap::new(0);
    for (hashes, words) in hashes.chunks(PIECE_KEYS).zip(words.chunks_mut(PIECE_KEYS / 64)) {
        filter.contains_batch(hashes, &mut found);
        words.copy_from_slice(found.as_words());
    }
}

/// Inserts a key. `key` may be NULL if `len` is 0. A Bloom filter never refuses a key; beyond the number of keys that it
/// was made for, its false-positive rate rises.
///
/// Thread safety: nobody else uses the filter meanwhile.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FULL, TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_insert_bytes(
    filter: *mut Owned,
    key: *const c_void,
    len: usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody else uses meanwhile.
        let filter = &mut unsafe { border::handle_mut("filter", filter) }?.filter;
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes meanwhile.
        filter.insert(unsafe { border::bytes("key", key, len) }?)?;
        Ok(())
    })
}

/// Looks up a key: `*found` becomes false if it is certainly not in the filter, and true if it may be. `key` may be NULL
/// if `len` is 0. On failure `*found` is true, so a caller that ignores the status loses no key.
///
/// Thread safety: any number of threads at once.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_contains_bytes(
    filter: *const Owned,
    key: *const c_void,
    len: usize,
    found: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a bool.
        let found = unsafe { Out::required("found", found) }?;
        found.put(true);
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody changes meanwhile.
        let filter = &unsafe { border::handle("filter", filter) }?.filter;
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes meanwhile.
        found.put(filter.contains(unsafe { border::bytes("key", key, len) }?));
        Ok(())
    })
}

/// Removes one copy of a key: `*removed` becomes true, or false if it certainly was not there. `removed` may be NULL.
/// Remove only keys that were inserted: another one may take a key with it that it cannot be told from. `key` may be NULL
/// if `len` is 0.
///
/// Thread safety: nobody else uses the filter meanwhile.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG; TROMMEL_UNSUPPORTED for a Bloom filter without
/// counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_remove_bytes(
    filter: *mut Owned,
    key: *const c_void,
    len: usize,
    removed: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a bool, or NULL.
        let removed = unsafe { Out::optional("removed", removed) }?;
        removed.put(false);
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody else uses meanwhile.
        let filter = &mut unsafe { border::handle_mut("filter", filter) }?.filter;
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes meanwhile.
        let hash = filter.hash(unsafe { border::bytes("key", key, len) }?);
        removed.put(filter.remove_hash(hash)?);
        Ok(())
    })
}

/// Inserts all keys of another filter of the same kind, size and seed. `other` stays as it is.
///
/// Thread safety: nobody else uses `filter` meanwhile, and nobody changes `other`.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED; TROMMEL_OVERLAP if both are the same filter; TROMMEL_INCOMPATIBLE;
/// TROMMEL_FULL if a filter with slots has no room for the other's keys; TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_merge(filter: *mut Owned, other: *const Owned) -> Status {
    guard::status(|| {
        if !filter.is_null() && filter.cast_const() == other {
            return Err(Failure::MergeWithItself);
        }
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody else uses meanwhile.
        // It is not the other one.
        let filter = &mut unsafe { border::handle_mut("filter", filter) }?.filter;
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody changes meanwhile.
        let other = &unsafe { border::handle("other", other) }?.filter;
        Ok(filter.merge(other)?)
    })
}

/// Returns how many keys were inserted and not removed, copies included. A Bloom filter counts no key whose bits were all
/// set before. 0 if `filter` is refused.
///
/// Thread safety: any number of threads at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_len(filter: *const Owned) -> u64 {
    // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody changes meanwhile.
    guard::value(|| Ok(unsafe { border::handle("filter", filter) }?.filter.len() as u64))
        .unwrap_or(0)
}

/// Returns the bytes of the frozen filter, exactly; 0 if `filter` is refused. Later inserts may change it.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_frozen_size(filter: *const Owned) -> usize {
    // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody changes meanwhile.
    guard::value(|| Ok(unsafe { border::handle("filter", filter) }?.filter.encoded_len()))
        .unwrap_or(0)
}

/// Writes the frozen filter to `dst`, which has room for `capacity` bytes. Every machine and every later version of the
/// library reads the bytes, which have checksums. The filter stays as it is.
///
/// `*written` is the length, that of `trommel_frozen_size`, also after TROMMEL_BUFFER_TOO_SMALL; after any other failure
/// it is 0. `written` may be NULL.
///
/// Ownership: the buffer is the caller's; nothing is kept.
///
/// Thread safety: any number of threads at once, each with a buffer of its own.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_BUFFER_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_freeze(
    filter: *const Owned,
    dst: *mut c_void,
    capacity: usize,
    written: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a size, or NULL.
        let written = unsafe { Out::optional("written", written) }?;
        written.put(0);
        // SAFETY: the header asks the caller for a filter that is not freed yet, and that nobody changes meanwhile.
        let filter = &unsafe { border::handle("filter", filter) }?.filter;
        let need = filter.encoded_len();
        let too_small = Failure::BufferTooSmall { need, got: capacity };
        if need > capacity {
            written.put(need);
            return Err(too_small);
        }
        // SAFETY: the header asks the caller for room for `capacity` bytes, that nobody else uses meanwhile.
        let buffer = unsafe { border::buffer::<u8, u8>("dst", dst.cast(), capacity, &[]) }?;
        // A slice refuses nothing but bytes beyond its end.
        filter.write_to(&mut buffer[..need]).map_err(|_| too_small)?;
        written.put(need);
        Ok(())
    })
}
