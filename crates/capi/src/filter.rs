//! The functions of `trommel_filter`: filters that keys are inserted into.

use crate::border::{self, Out};
use crate::guard;
use crate::status::{Failure, Status};
use std::ffi::{c_char, c_void};
use trommel::{AnyFilter, Bitmap, Filter, FilterSpec, Insert, KeyHash, SpecError};

/// A filter that keys can be inserted into. Functions that take it as `const` may run on several threads at once. While
/// a function that takes it without `const` runs, no other thread may use the filter.
#[derive(Debug)]
pub struct Owned {
    filter: AnyFilter,
}

/// Makes an empty filter for `keys` keys with an expected false-positive rate of at most `fpr`, which must be above 0
/// and below 1. `kind` is a NUL-terminated text: "bloom", "counting-bloom", "register-bloom", "split-block-bloom",
/// "cache-line-bloom", "quotient", "cache-line-quotient" or "cuckoo". Keys are hashed by XXH3-64 with `seed`. The
/// filter has room for `keys` keys, unless an adversary has chosen them. If `keys` is 0, the filter has the smallest
/// size of its kind.
///
/// Ownership: `*filter` is the caller's, to be freed with `trommel_free`. It is NULL on failure.
///
/// Thread safety: any thread, any time.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_UNKNOWN_KIND; TROMMEL_SPEC if the kind cannot reach this
/// false-positive rate or size (a worse filter is never made instead); TROMMEL_MEMORY, TROMMEL_INSTRUCTION_SET.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_new(
    kind: *const c_char,
    keys: u64,
    fpr: f64,
    seed: u64,
    filter: *mut *mut Owned,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires the address of a pointer.
        let made = unsafe { Out::required("filter", filter, std::ptr::null_mut()) }?;
        // SAFETY: `trommel.h` requires a text that ends in a NUL.
        let kind = unsafe { border::kind("kind", kind) }?;
        let filter = FilterSpec::new(kind).keys(key_count(keys)?).fpr(fpr).seed(seed).build()?;
        made.put_handle(Owned { filter });
        Ok(())
    })
}

/// Converts a number of keys to `usize`. A number that `usize` cannot hold is an error: the address space has no room
/// for such a filter.
fn key_count(keys: u64) -> Result<usize, SpecError> {
    usize::try_from(keys).map_err(|_| SpecError::Parameter {
        name: "keys",
        value: keys,
        min: 0,
        max: usize::MAX as u64,
    })
}

/// Makes a filter from the bytes of a frozen one. The filter owns a copy of the table, so keys can be inserted.
/// Everything is checked, as by `trommel_view_open`.
///
/// Ownership: `*filter` is the caller's, to be freed with `trommel_free`. It is NULL on failure. The bytes are not
/// needed after the call.
///
/// Thread safety: any thread, any time.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FORMAT, TROMMEL_SECRET_KEY,
/// TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_thaw(
    frozen: *const c_void,
    len: usize,
    filter: *mut *mut Owned,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires the address of a pointer.
        let made = unsafe { Out::required("filter", filter, std::ptr::null_mut()) }?;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes during the call.
        let filter = AnyFilter::from_bytes(unsafe { border::bytes("frozen", frozen, len) }?)?;
        made.put_handle(Owned { filter });
        Ok(())
    })
}

/// Frees a filter. Does nothing if `filter` is NULL.
///
/// Thread safety: no other thread may use the filter during this call, and no thread after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_free(filter: *mut Owned) {
    guard::status(|| {
        // SAFETY: `trommel.h` requires a filter that is not freed yet and not used after the call.
        unsafe { border::free(filter) };
        Ok(())
    });
}

/// Returns the hash of a key, by the filter's hash function and seed, for `trommel_insert_hashes` and
/// `trommel_contains_hashes`. `key` may be NULL if `len` is 0. Returns 0 if `filter` is NULL or misaligned, if `key` is
/// NULL and `len` is not 0, or if the key is longer than PTRDIFF_MAX bytes or reaches past the end of the address
/// space.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_hash_bytes(
    filter: *const Owned,
    key: *const c_void,
    len: usize,
) -> u64 {
    guard::value(|| {
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody changes during the call.
        let filter = &unsafe { border::handle("filter", filter) }?.filter;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes during the call.
        Ok(filter.hash(unsafe { border::bytes("key", key, len) }?).raw())
    })
    .unwrap_or(0)
}

/// Inserts `n` keys by their hashes. For many keys, this is faster than inserting the keys one by one. The hashes come
/// from `trommel_hash_bytes`. Any other uniform 64-bit values can be used instead, if lookups use the same values.
/// `hashes` may be NULL if `n` is 0.
///
/// `*inserted` becomes the number of keys that were inserted: `n` on success, fewer after TROMMEL_FULL or
/// TROMMEL_MEMORY. The inserted keys are the first keys of the batch, and they stay in the filter. After any other
/// failure, `*inserted` is 0. `inserted` may be NULL.
///
/// Ownership: the hashes stay the caller's; the filter keeps no pointer to them.
///
/// Thread safety: no other thread may use the filter during the call.
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
        // SAFETY: `trommel.h` requires the address of a size, or NULL.
        let inserted = unsafe { Out::optional("inserted", inserted, 0) }?;
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody else uses during the call.
        let filter = &mut unsafe { border::handle_mut("filter", filter) }?.filter;
        // SAFETY: `trommel.h` requires `n` hashes that nobody changes during the call.
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

/// Looks up `n` keys by their hashes. For many keys, this is faster than looking the keys up one by one. Bit `i % 64`
/// of word `i / 64` of `bitmap_words`, least significant bit first, is 1 if key `i` may be in the filter and 0 if it
/// certainly is not. All (n + 63) / 64 words are written, with the bits beyond `n` as 0. `hashes` and `bitmap_words`
/// may be NULL if `n` is 0.
///
/// After any failure except TROMMEL_PANIC, the words are unchanged. After TROMMEL_PANIC, some of the words can be
/// changed.
///
/// Ownership: hashes and words stay the caller's; the filter keeps no pointer to them.
///
/// Thread safety: any number of threads at once, each with its own `bitmap_words`.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG; TROMMEL_OVERLAP if words and hashes overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_contains_hashes(
    filter: *const Owned,
    hashes: *const u64,
    n: usize,
    bitmap_words: *mut u64,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody changes during the call.
        let filter = &unsafe { border::handle("filter", filter) }?.filter;
        // SAFETY: `trommel.h` requires these hashes and words.
        unsafe { contains_hashes(filter, hashes, n, bitmap_words) }
    })
}

/// Looks up `n` keys by their hashes, in a filter or a view.
///
/// # Safety
/// The caller must ensure that, if the pointers and their lengths pass the checks of [`border::array`] and
/// [`border::buffer`], `hashes` points to `n` hashes that nobody changes during the call, and `bitmap_words` to
/// `n.div_ceil(64)` words that nobody else uses during the call.
pub(crate) unsafe fn contains_hashes(
    filter: &impl Filter,
    hashes: *const u64,
    n: usize,
    bitmap_words: *mut u64,
) -> Result<(), Failure> {
    // SAFETY: the caller of this function guarantees the hashes.
    let hashes = unsafe { border::array("hashes", hashes, n) }?;
    // SAFETY: the caller of this function guarantees the words.
    let words = unsafe { border::buffer("bitmap_words", bitmap_words, n.div_ceil(64), hashes) }?;
    contains_batch(filter, KeyHash::slice_from_raw(hashes), words);
    Ok(())
}

/// Looks up a batch piece by piece, so that the memory for answers does not grow with the batch.
fn contains_batch(filter: &impl Filter, hashes: &[KeyHash], words: &mut [u64]) {
    /// The number of keys in a piece. The answers of a piece take 8 KiB, which fits into the first-level cache.
    const PIECE_KEYS: usize = 1 << 16;
    let mut found = Bitmap::new(0);
    for (hashes, words) in hashes.chunks(PIECE_KEYS).zip(words.chunks_mut(PIECE_KEYS / 64)) {
        filter.contains_batch(hashes, &mut found);
        words.copy_from_slice(found.as_words());
    }
}

/// Inserts a key. `key` may be NULL if `len` is 0. A Bloom filter never refuses a key; beyond the number of keys that
/// it was made for, its false-positive rate rises.
///
/// Thread safety: no other thread may use the filter during the call.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FULL, TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_insert_bytes(
    filter: *mut Owned,
    key: *const c_void,
    len: usize,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody else uses during the call.
        let filter = &mut unsafe { border::handle_mut("filter", filter) }?.filter;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes during the call.
        filter.insert(unsafe { border::bytes("key", key, len) }?)?;
        Ok(())
    })
}

/// Looks up a key: `*found` becomes false if the key is certainly not in the filter, and true if it may be. `key` may
/// be NULL if `len` is 0. On failure `*found` is true, so a caller that ignores the status gets no false negative.
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
        // SAFETY: `trommel.h` requires the address of a bool.
        let found = unsafe { Out::required("found", found, true) }?;
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody changes during the call.
        let filter = &unsafe { border::handle("filter", filter) }?.filter;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes during the call.
        found.put(filter.contains(unsafe { border::bytes("key", key, len) }?));
        Ok(())
    })
}

/// Removes one copy of a key. `*removed` becomes true if a copy was removed, and false if the key certainly was not in
/// the filter. On failure, `*removed` is false. `removed` may be NULL. `key` may be NULL if `len` is 0.
///
/// Remove only keys that were inserted. If the filter reports a key as present that was not inserted, the removal of
/// that key can make the filter miss inserted keys. Quotient and cuckoo filters that `trommel_new` makes are sets: they
/// can store a single fingerprint for two keys that they cannot tell apart. The removal of either key then removes
/// both.
///
/// Thread safety: no other thread may use the filter during the call.
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
        // SAFETY: `trommel.h` requires the address of a bool, or NULL.
        let removed = unsafe { Out::optional("removed", removed, false) }?;
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody else uses during the call.
        let filter = &mut unsafe { border::handle_mut("filter", filter) }?.filter;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes during the call.
        let hash = filter.hash(unsafe { border::bytes("key", key, len) }?);
        removed.put(filter.remove_hash(hash)?);
        Ok(())
    })
}

/// Inserts all keys of another filter of the same kind, size and seed. Quotient filters may differ in size if they have
/// the same number of possible fingerprints. Quotient filters that `trommel_new` makes for different numbers of keys
/// generally have different numbers of possible fingerprints, and cannot be merged. `other` does not change.
///
/// Thread safety: during the call, no other thread may use `filter`, and none may change `other`.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED; TROMMEL_OVERLAP if `filter` and `other` are the same filter;
/// TROMMEL_INCOMPATIBLE; TROMMEL_FULL if a quotient or cuckoo filter has no room for the keys of `other`;
/// TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_merge(filter: *mut Owned, other: *const Owned) -> Status {
    guard::status(|| {
        if !filter.is_null() && filter.cast_const() == other {
            return Err(Failure::MergeWithItself);
        }
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody else uses during the call. The
        // check above ensures that `filter` is not `other`.
        let filter = &mut unsafe { border::handle_mut("filter", filter) }?.filter;
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody changes during the call.
        let other = &unsafe { border::handle("other", other) }?.filter;
        Ok(filter.merge(other)?)
    })
}

/// Returns the number of keys in the filter. A quotient or cuckoo filter counts the fingerprints that it stores; if the
/// filter is a multiset, it stores one fingerprint for each copy of a key. A Bloom filter counts inserts, minus
/// removals. Returns 0 if `filter` is NULL or misaligned.
///
/// Thread safety: any number of threads at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_len(filter: *const Owned) -> u64 {
    // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody changes during the call.
    guard::value(|| Ok(unsafe { border::handle("filter", filter) }?.filter.len() as u64))
        .unwrap_or(0)
}

/// Returns the exact size in bytes of the frozen filter; 0 if `filter` is NULL or misaligned. Later changes of the
/// filter can change the size.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_frozen_size(filter: *const Owned) -> usize {
    // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody changes during the call.
    guard::value(|| Ok(unsafe { border::handle("filter", filter) }?.filter.encoded_len()))
        .unwrap_or(0)
}

/// Writes the frozen filter to `dst`, which has room for `capacity` bytes. The bytes have checksums, and can be read on
/// every machine and by every later version of the library. The filter does not change.
///
/// `*written` becomes the length of the frozen filter, on success and after TROMMEL_BUFFER_TOO_SMALL;
/// `trommel_frozen_size` returns the same length. After any other failure, `*written` is 0. `written` may be NULL.
///
/// Ownership: the buffer stays the caller's; the filter keeps no pointer to it.
///
/// Thread safety: any number of threads at once, each with its own buffer.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_BUFFER_TOO_SMALL; TROMMEL_MEMORY, but
/// only for a "counting-bloom" filter with 2-bit counters, which `trommel_thaw` can read and `trommel_new` does not
/// make.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_freeze(
    filter: *const Owned,
    dst: *mut c_void,
    capacity: usize,
    written: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires the address of a size, or NULL.
        let written = unsafe { Out::optional("written", written, 0) }?;
        // SAFETY: `trommel.h` requires a filter that is not freed yet and that nobody changes during the call.
        let filter = &unsafe { border::handle("filter", filter) }?.filter;
        let need = filter.encoded_len();
        if need > capacity {
            written.put(need);
            return Err(Failure::BufferTooSmall { need, got: capacity });
        }
        // SAFETY: `trommel.h` requires room for `capacity` bytes that nobody else uses during the call.
        let buffer = unsafe { border::buffer::<u8, u8>("dst", dst.cast(), capacity, &[]) }?;
        // The slice is long enough, so only one error is possible: a compact counting filter gets no memory for the
        // bytes of its overflow table.
        filter.write_to(&mut buffer[..need]).map_err(|_| Failure::OverflowTable)?;
        written.put(need);
        Ok(())
    })
}
