//! Converts the pointers of C callers to references and slices. The functions here check all that can be checked of a
//! pointer: it is not NULL, it is aligned, and its range fits into the address space. The rest is the caller's duty, as
//! in any C library: the memory exists, holds values of the type, and does not change during the call. Each unsafe
//! function states this duty under `# Safety`.

use crate::status::Failure;
use std::ffi::c_char;
use std::marker::PhantomData;
use std::ops::Range;
use trommel::FilterKind;

/// Returns the address range of an array of `items` values that begins at `first`, or an error that names the failed
/// check. If `items` is 0, any pointer passes the checks, even NULL.
#[inline]
fn addresses<T>(
    name: &'static str,
    first: *const T,
    items: usize,
) -> Result<Range<usize>, Failure> {
    if items == 0 {
        return Ok(0..0);
    }
    if first.is_null() {
        return Err(Failure::Null { name });
    }
    if !first.is_aligned() {
        return Err(Failure::Misaligned { name, alignment: align_of::<T>() });
    }
    let too_long = Failure::TooLong { name, items, item_bytes: size_of::<T>() };
    let bytes = items.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize);
    match bytes.and_then(|bytes| first.addr().checked_add(bytes)) {
        Some(end) => Ok(first.addr()..end),
        None => Err(too_long),
    }
}

/// Returns an array that the call reads.
///
/// # Safety
/// The caller must ensure that, if `first` and `items` pass the checks of [`addresses`], `first` points to `items`
/// values of the type, and none of them changes during `'a`.
#[inline]
pub(crate) unsafe fn array<'a, T>(
    name: &'static str,
    first: *const T,
    items: usize,
) -> Result<&'a [T], Failure> {
    if addresses(name, first, items)?.is_empty() {
        return Ok(&[]);
    }
    // SAFETY: `addresses` checked that the pointer is not NULL and is aligned, and that the range is at most
    // `isize::MAX` bytes and ends within the address space. The caller of this function guarantees the rest.
    Ok(unsafe { std::slice::from_raw_parts(first, items) })
}

/// Returns bytes that the call reads: a key, a filter block or a frozen filter.
///
/// # Safety
/// The caller has the same duty as a caller of [`array()`].
#[inline]
pub(crate) unsafe fn bytes<'a, T>(
    name: &'static str,
    first: *const T,
    len: usize,
) -> Result<&'a [u8], Failure> {
    // SAFETY: the caller of this function has the same duty as a caller of `array`.
    unsafe { array(name, first.cast::<u8>(), len) }
}

/// Returns a buffer to write to, after checking that it does not overlap `read`.
///
/// # Safety
/// The caller must ensure that, if `first` and `items` pass the checks of [`addresses`], `first` points to memory for
/// `items` values, and nobody else uses this memory during `'a`.
#[inline]
pub(crate) unsafe fn buffer<'a, T, I>(
    name: &'static str,
    first: *mut T,
    items: usize,
    read: &[I],
) -> Result<&'a mut [T], Failure> {
    let addresses = addresses(name, first, items)?;
    if addresses.is_empty() {
        return Ok(&mut []);
    }
    let read = read.as_ptr_range();
    if addresses.start < read.end.addr() && read.start.addr() < addresses.end {
        return Err(Failure::Overlap { name });
    }
    // SAFETY: `addresses` checked that the pointer is not NULL and is aligned, and that the range is at most
    // `isize::MAX` bytes and ends within the address space; the range does not overlap `read`. The caller of this
    // function guarantees the rest. `T` is a byte or a word in all calls, and these have no invalid values.
    Ok(unsafe { std::slice::from_raw_parts_mut(first, items) })
}

/// Returns a policy, filter or view that the call reads.
///
/// # Safety
/// The caller must ensure that, if the pointer passes the checks of [`addresses`], it came from the function that makes
/// such a handle, the handle is not freed yet, and it does not change during `'a`.
#[inline]
pub(crate) unsafe fn handle<'a, T>(name: &'static str, handle: *const T) -> Result<&'a T, Failure> {
    addresses(name, handle, 1)?;
    // SAFETY: `addresses` checked that the pointer is not NULL and is aligned. The caller of this function guarantees
    // the rest.
    Ok(unsafe { &*handle })
}

/// Returns a filter that the call changes.
///
/// # Safety
/// The caller has the same duty as a caller of [`handle`], and must also ensure that nobody else uses the filter during
/// `'a`.
#[inline]
pub(crate) unsafe fn handle_mut<'a, T>(
    name: &'static str,
    handle: *mut T,
) -> Result<&'a mut T, Failure> {
    addresses(name, handle, 1)?;
    // SAFETY: `addresses` checked that the pointer is not NULL and is aligned. The caller of this function guarantees
    // the rest.
    Ok(unsafe { &mut *handle })
}

/// Frees a handle. Does nothing if the pointer is NULL or misaligned.
///
/// # Safety
/// The caller has the same duty as a caller of [`handle`], and must also ensure that nobody uses the pointer
/// afterwards.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() && handle.is_aligned() {
        // SAFETY: every handle is a pointer from `Box::into_raw`. The caller of this function guarantees that it is not
        // freed yet.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Returns the kind of filter that a NUL-terminated text names.
///
/// # Safety
/// The caller must ensure that, if the pointer is not NULL, the bytes up to and including the first NUL can be read,
/// or the first 64 bytes if they contain no NUL.
pub(crate) unsafe fn kind(name: &'static str, text: *const c_char) -> Result<FilterKind, Failure> {
    /// At most this number of bytes is read, the NUL included. The names of all kinds are shorter.
    const MOST_BYTES: usize = 64;
    if text.is_null() {
        return Err(Failure::Null { name });
    }
    let mut bytes = [0; MOST_BYTES];
    for i in 0..MOST_BYTES {
        // SAFETY: no earlier byte is a NUL, so the caller of this function guarantees that this one can be read.
        bytes[i] = unsafe { text.cast::<u8>().add(i).read() };
        if bytes[i] == 0 {
            let text = str::from_utf8(&bytes[..i]).map_err(|_| Failure::Text { name })?;
            return Ok(text.parse()?);
        }
    }
    Err(Failure::Text { name })
}

/// The address that a call writes a result to.
pub(crate) struct Out<'a, T> {
    at: *mut T,
    lifetime: PhantomData<&'a mut T>,
}

impl<T> Out<'_, T> {
    /// Makes an `Out` from the address of a result, and writes `first` there: the result of a call that fails. NULL is
    /// refused.
    ///
    /// # Safety
    /// The caller must ensure that, if `at` passes the checks of [`addresses`], it points to memory for a value, and
    /// nobody else uses that memory while this `Out` lives. The exception: references to it may be used before a
    /// [`Out::put`], if they are not used after it.
    pub(crate) unsafe fn required(
        name: &'static str,
        at: *mut T,
        first: T,
    ) -> Result<Self, Failure> {
        addresses(name, at, 1)?;
        // SAFETY: the line above checked the pointer, and the caller guarantees the memory.
        Ok(unsafe { Self::holding(at, first) })
    }

    /// Makes an `Out` from the address of a result, and writes `first` there: the result of a call that fails. If the
    /// address is NULL, the result is dropped.
    ///
    /// # Safety
    /// The caller has the same duty as a caller of [`Out::required`].
    pub(crate) unsafe fn optional(
        name: &'static str,
        at: *mut T,
        first: T,
    ) -> Result<Self, Failure> {
        addresses(name, at, usize::from(!at.is_null()))?;
        // SAFETY: the line above checked the pointer, and the caller guarantees the memory.
        Ok(unsafe { Self::holding(at, first) })
    }

    /// Writes the first value, and keeps the pointer.
    ///
    /// # Safety
    /// The caller must ensure that `at` is NULL, or has passed [`addresses`] and keeps the duty of a caller of
    /// [`Out::required`].
    unsafe fn holding(at: *mut T, first: T) -> Self {
        let out = Self { at, lifetime: PhantomData };
        out.put(first);
        out
    }

    /// Writes a value without dropping the old one.
    pub(crate) fn put(&self, value: T) {
        if !self.at.is_null() {
            // SAFETY: the pointer is not NULL, and the constructors checked that it is aligned. Their callers guarantee
            // the memory.
            unsafe { self.at.write(value) };
        }
    }
}

impl<T> Out<'_, *mut T> {
    /// Writes the pointer to a new handle, which [`free`] frees.
    pub(crate) fn put_handle(&self, handle: T) {
        self.put(Box::into_raw(Box::new(handle)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_memory_ranges_are_refused() {
        let words = [0u64; 4];
        let first = words.as_ptr();
        let misaligned = first.cast::<u8>().wrapping_add(1).cast::<u64>();
        let last = std::ptr::without_provenance::<u64>(usize::MAX - 7);
        assert_eq!(addresses::<u64>("w", std::ptr::null(), 0), Ok(0..0));
        assert_eq!(addresses("w", misaligned, 0), Ok(0..0));
        assert_eq!(addresses("w", first, 4), Ok(first.addr()..first.addr() + 32));
        assert_eq!(addresses::<u64>("w", std::ptr::null(), 1), Err(Failure::Null { name: "w" }));
        assert_eq!(
            addresses("w", misaligned, 1),
            Err(Failure::Misaligned { name: "w", alignment: 8 })
        );
        // The refused ranges: more than `isize::MAX` bytes; a number of items whose byte count wraps to 8; the largest
        // number of items; and a range that goes past the end of the address space.
        let most = isize::MAX as usize / 8;
        for (first, items) in
            [(first, most + 1), (first, (1 << 61) + 1), (first, usize::MAX), (last, 1)]
        {
            assert_eq!(
                addresses("w", first, items),
                Err(Failure::TooLong { name: "w", items, item_bytes: 8 })
            );
        }
    }

    #[test]
    fn a_buffer_that_overlaps_the_input_is_refused() {
        let mut words = [0u64; 8];
        let first = words.as_mut_ptr();
        let at = |i: usize| first.wrapping_add(i);
        for (from, items, apart) in
            [(0, 4, true), (0, 5, false), (4, 2, false), (3, 3, false), (6, 2, true)]
        {
            // SAFETY: both words lie in `words`, which nobody else uses.
            let read: &[u64] = unsafe { array("read", at(4), 2) }.unwrap();
            // SAFETY: the range lies in `words`, and `buffer` refuses it if it overlaps `read`.
            let buffer = unsafe { buffer("buffer", at(from), items, read) };
            assert_eq!(buffer.is_ok(), apart, "{items} words from {from} on");
        }
    }

    #[test]
    fn a_kind_is_read_up_to_its_end_and_no_further_than_64_bytes() {
        // SAFETY: the text ends in a NUL, or has at least 64 bytes.
        let kind = |text: &[u8]| unsafe { kind("kind", text.as_ptr().cast()) };
        assert_eq!(kind(b"bloom\0cuckoo\0"), Ok(FilterKind::Bloom));
        let mut text = [b'a'; 80];
        assert_eq!(kind(&text), Err(Failure::Text { name: "kind" }));
        // A NUL after 64 bytes is not read.
        text[64] = 0;
        assert_eq!(kind(&text), Err(Failure::Text { name: "kind" }));
        text[63] = 0;
        assert!(!matches!(kind(&text), Err(Failure::Text { .. })));
    }

    #[test]
    fn empty_arrays_can_have_any_address() {
        let words = [0u64; 2];
        let misaligned = words.as_ptr().cast::<u8>().wrapping_add(1).cast::<u64>();
        for first in [std::ptr::null(), misaligned] {
            // SAFETY: the arrays are empty.
            unsafe {
                assert_eq!(array("read", first, 0), Ok(&[][..]));
                assert_eq!(buffer("buffer", first.cast_mut(), 0, &words), Ok(&mut [][..]));
            }
        }
    }
}
