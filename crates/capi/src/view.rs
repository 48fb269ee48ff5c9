//! The functions of `trommel_view`: views of frozen filters.

use crate::border::{self, Out};
use crate::filter::contains_hashes;
use crate::guard;
use crate::status::Status;
use std::ffi::c_void;
use trommel::{Filter, FilterView};

/// A view of a frozen filter. It reads the filter's table in place, without a copy. A view is immutable, so any number
/// of threads can share it.
#[derive(Debug)]
pub struct View {
    // `'static`, since `trommel.h` requires the caller to keep the bytes until the view is freed.
    filter: FilterView<'static>,
}

/// Opens a view of a frozen filter without copying its table. The bytes may have any alignment. This call checks
/// checksums, parameters and structure, in one to three passes over the bytes; later calls do not check them again.
///
/// Ownership: `*view` is the caller's, to be freed with `trommel_view_free`. It is NULL on failure. The bytes stay the
/// caller's, and must stay in place, unchanged, until the view is freed.
///
/// Thread safety: any thread, any time.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FORMAT, TROMMEL_SECRET_KEY. For a
/// cuckoo filter, the call copies the overflow area (fingerprints that found no room in the table, at most 512 bytes)
/// into memory that it allocates, so it can also return TROMMEL_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_open(
    frozen: *const c_void,
    len: usize,
    view: *mut *mut View,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires the address of a pointer.
        let made = unsafe { Out::required("view", view, std::ptr::null_mut()) }?;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes or frees before the view is freed.
        let frozen: &'static [u8] = unsafe { border::bytes("frozen", frozen, len) }?;
        let filter = FilterView::parse(frozen)?;
        made.put_handle(View { filter });
        Ok(())
    })
}

/// Frees a view, but not its bytes. Does nothing if `view` is NULL.
///
/// Thread safety: no other thread may use the view during this call, and no thread after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_free(view: *mut View) {
    guard::status(|| {
        // SAFETY: `trommel.h` requires a view that is not freed yet and not used after the call.
        unsafe { border::free(view) };
        Ok(())
    });
}

/// Looks up a key: `*found` becomes false if the key is certainly not in the filter, and true if it may be. `key` may
/// be NULL if `len` is 0. On failure `*found` is true, so a caller that ignores the status gets no false negative.
///
/// Thread safety: any number of threads at once.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_contains_bytes(
    view: *const View,
    key: *const c_void,
    len: usize,
    found: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires the address of a bool.
        let found = unsafe { Out::required("found", found, true) }?;
        // SAFETY: `trommel.h` requires a view that is not freed yet.
        let filter = &unsafe { border::handle("view", view) }?.filter;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes during the call.
        found.put(filter.contains(unsafe { border::bytes("key", key, len) }?));
        Ok(())
    })
}

/// Looks up `n` keys by their hashes, as `trommel_contains_hashes` does. The hashes come from
/// `trommel_view_hash_bytes`. If other values were inserted into the filter as hashes, pass the same values here.
///
/// Thread safety: any number of threads at once, each with its own `bitmap_words`.
///
/// Errors: those of `trommel_contains_hashes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_contains_hashes(
    view: *const View,
    hashes: *const u64,
    n: usize,
    bitmap_words: *mut u64,
) -> Status {
    guard::status(|| {
        // SAFETY: `trommel.h` requires a view that is not freed yet.
        let filter = &unsafe { border::handle("view", view) }?.filter;
        // SAFETY: `trommel.h` requires `n` hashes that nobody changes during the call, and words for `n` answers that
        // nobody else uses.
        unsafe { contains_hashes(filter, hashes, n, bitmap_words) }
    })
}

/// Returns the hash of a key, by the hash function and seed of the frozen filter. `key` may be NULL if `len` is 0.
/// Returns 0 if `view` is NULL or misaligned, if `key` is NULL and `len` is not 0, or if the key is longer than
/// PTRDIFF_MAX bytes or reaches past the end of the address space.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_hash_bytes(
    view: *const View,
    key: *const c_void,
    len: usize,
) -> u64 {
    guard::value(|| {
        // SAFETY: `trommel.h` requires a view that is not freed yet.
        let filter = &unsafe { border::handle("view", view) }?.filter;
        // SAFETY: `trommel.h` requires `len` bytes that nobody changes during the call.
        Ok(filter.hash(unsafe { border::bytes("key", key, len) }?).raw())
    })
    .unwrap_or(0)
}
