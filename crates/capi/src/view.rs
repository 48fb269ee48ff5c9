//! Views of frozen bytes.

use crate::border::{self, Out};
use crate::filter::contains_hashes;
use crate::guard;
use crate::status::Status;
use std::ffi::c_void;
use trommel::{Filter, FilterView};

/// A frozen filter that is read where its bytes are. Immutable, so any number of threads share one.
#[derive(Debug)]
pub struct View {
    // The header asks the caller to keep the bytes until the view is freed.
    filter: FilterView<'static>,
}

/// Opens a view of the bytes of a frozen filter, at any alignment, without a copy of them. Everything is checked, once:
/// checksums, parameters and structure, in one or two passes over the bytes.
///
/// Ownership: `*view` is the caller's, to be freed with `trommel_view_free`. It is NULL on failure. The bytes stay the
/// caller's: they have to stay where they are, unchanged, until the view is freed.
///
/// Thread safety: any thread, any time.
///
/// Errors: TROMMEL_NULL_ARGUMENT, TROMMEL_MISALIGNED, TROMMEL_TOO_LONG, TROMMEL_FORMAT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_open(
    frozen: *const c_void,
    len: usize,
    view: *mut *mut View,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for an address of a pointer.
        let made = unsafe { Out::required("view", view) }?;
        made.put(std::ptr::null_mut());
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes or frees before the view.
        let frozen: &'static [u8] = unsafe { border::bytes("frozen", frozen, len) }?;
        let filter = FilterView::parse(frozen)?;
        made.put(Box::into_raw(Box::new(View { filter })));
        Ok(())
    })
}

/// Frees a view, and none of the bytes that it is of. Does nothing with NULL.
///
/// Thread safety: no other thread uses the view during this call or after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_free(view: *mut View) {
    guard::status(|| {
        // SAFETY: the header asks the caller for a view that is not freed yet, and not used afterwards.
        unsafe { border::free(view) };
        Ok(())
    });
}

/// Looks up a key: `*found` becomes false if it is certainly not in the filter, and true if it may be. `key` may be NULL
/// if `len` is 0. On failure `*found` is true, so a caller that ignores the status loses no key.
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
        // SAFETY: the header asks the caller for an address of a bool.
        let found = unsafe { Out::required("found", found) }?;
        found.put(true);
        // SAFETY: the header asks the caller for a view that is not freed yet.
        let filter = &unsafe { border::handle("view", view) }?.filter;
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes meanwhile.
        found.put(filter.contains(unsafe { border::bytes("key", key, len) }?));
        Ok(())
    })
}

/// Looks up the keys of `n` hashes at once, as `trommel_contains_hashes` does. Hashes are those of
/// `trommel_view_hash_bytes`, or those that were inserted.
///
/// Thread safety: any number of threads at once, each with words of its own.
///
/// Errors: as `trommel_contains_hashes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_contains_hashes(
    view: *const View,
    hashes: *const u64,
    n: usize,
    bitmap_words: *mut u64,
) -> Status {
    guard::status(|| {
        // SAFETY: the header asks the caller for a view that is not freed yet.
        let filter = &unsafe { border::handle("view", view) }?.filter;
        // SAFETY: the header asks the caller for these hashes and words.
        unsafe { contains_hashes(filter, hashes, n, bitmap_words) }
    })
}

/// Returns the hash of a key by the hash function and seed of the frozen filter. `key` may be NULL if `len` is 0. Returns
/// 0 if an argument is refused.
///
/// Thread safety: any number of threads at once. Allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trommel_view_hash_bytes(
    view: *const View,
    key: *const c_void,
    len: usize,
) -> u64 {
    guard::value(|| {
        // SAFETY: the header asks the caller for a view that is not freed yet.
        let filter = &unsafe { border::handle("view", view) }?.filter;
        // SAFETY: the header asks the caller for `len` bytes, that nobody changes meanwhile.
        Ok(filter.hash(unsafe { border::bytes("key", key, len) }?).raw())
    })
    .unwrap_or(0)
}
