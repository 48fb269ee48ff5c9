//! Pointers of C become references and slices here, after every check that a pointer allows: it is not NULL, it is
//! aligned, and its range fits into the address space. The rest cannot be checked and is the caller's duty, as in any C
//! library: the memory is there, has the type, and does not change during the call. Each function here states it.

use crate::status::Failure;
use std::ffi::c_char;
use std::marker::PhantomData;
use std::ops::Range;
use trommel::FilterKind;

/// The addresses of a range of memory, or why there is no such range. NULL passes where there are no items.
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

/// An array that the caller reads.
///
/// # Safety
/// If the checks pass, `items` values of the type are at `first`, and none changes during `'a`.
#[inline]
pub(crate) unsafe fn array<'a, T>(
    name: &'static str,
    first: *const T,
    items: usize,
) -> Result<&'a [T], Failure> {
    if addresses(name, first, items)?.is_empty() {
        return Ok(&[]);
    }
    // SAFETY: `addresses` found the pointer not NULL and aligned, and the range at most `isize::MAX` bytes that do not
    // pass the end of the address space; the rest is the duty of this function.
    Ok(unsafe { std::slice::from_raw_parts(first, items) })
}

/// Any bytes: a key, a filter block, a frozen filter.
///
/// # Safety
/// As for [`array`].
#[inline]
pub(crate) unsafe fn bytes<'a, T>(
    name: &'static str,
    first: *const T,
    len: usize,
) -> Result<&'a [u8], Failure> {
    // SAFETY: the caller's duty is that of `array`.
    unsafe { array(name, first.cast::<u8>(), len) }
}

/// A buffer to write to, that has no byte in common with what is read.
///
/// # Safety
/// If the checks pass, memory for `items` values is at `first`, and nobody else uses it during `'a`.
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
    // SAFETY: `addresses` found the pointer not NULL and aligned, and the range one of memory; it is apart from what
    // this call reads; the rest is the duty of this function. Bytes and words have no invalid values.
    Ok(unsafe { std::slice::from_raw_parts_mut(first, items) })
}

/// A policy, filter or view that is read.
///
/// # Safety
/// If the checks pass, the pointer came from the function that makes such a handle, is not freed yet, and what it
/// points to does not change during `'a`.
#[inline]
pub(crate) unsafe fn handle<'a, T>(name: &'static str, handle: *const T) -> Result<&'a T, Failure> {
    addresses(name, handle, 1)?;
    // SAFETY: not NULL and aligned; the rest is the duty of this function.
    Ok(unsafe { &*handle })
}

/// A filter that is changed.
///
/// # Safety
/// As for [`handle`], and nobody else uses the filter during `'a`.
#[inline]
pub(crate) unsafe fn handle_mut<'a, T>(
    name: &'static str,
    handle: *mut T,
) -> Result<&'a mut T, Failure> {
    addresses(name, handle, 1)?;
    // SAFETY: not NULL and aligned; the rest is the duty of this function.
    Ok(unsafe { &mut *handle })
}

/// Frees a handle. Does nothing with NULL, and with an address at which no handle can be.
///
/// # Safety
/// As for [`handle`], and nobody uses the pointer afterwards.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() && handle.is_aligned() {
        // SAFETY: `Out::put` made the pointer of a box; that it is not freed yet is the duty of this function.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// The kind of filter that a C text names.
///
/// # Safety
/// If the pointer is not NULL, bytes up to a NUL or 64 of them are there.
pub(crate) unsafe fn kind(name: &'static str, text: *const c_char) -> Result<FilterKind, Failure> {
    /// More than the longest name has.
    const MOST_BYTES: usize = 64;
    if text.is_null() {
        return Err(Failure::Null { name });
    }
    let mut bytes = [0; MOST_BYTES];
    for i in 0..MOST_BYTES {
        // SAFETY: no byte before this one is a NUL, so it is there, by the duty of this function.
        bytes[i] = unsafe { text.cast::<u8>().add(i).read() };
        if bytes[i] == 0 {
            let text = str::from_utf8(&bytes[..i]).map_err(|_| Failure::Text { name })?;
            return Ok(text.parse()?);
        }
    }
    Err(Failure::Text { name })
}

/// Where a call puts a result.
pub(crate) struct Out<'a, T> {
    at: *mut T,
    lifetime: PhantomData<&'a mut T>,
}

impl<T> Out<'_, T> {
    /// Where a result has to go.
    ///
    /// # Safety
    /// If the checks pass, memory for a value is there, and nobody else uses it while this lives, except through
    /// references that are used no more when a value is put.
    pub(crate) unsafe fn required(name: &'static str, at: *mut T) -> Result<Self, Failure> {
        addresses(name, at, 1)?;
        Ok(Self { at, lifetime: PhantomData })
    }

    /// Where a result goes unless it is NULL.
    ///
    /// # Safety
    /// As for [`Out::required`].
    pub(crate) unsafe fn optional(name: &'static str, at: *mut T) -> Result<Self, Failure> {
        addresses(name, at, usize::from(!at.is_null()))?;
        Ok(Self { at, lifetime: PhantomData })
    }

    /// Writes a value, over whatever is there.
    pub(crate) fn put(&self, value: T) {
        if !self.at.is_null() {
            // SAFETY: not NULL and aligned, as the constructors found; their duty is that memory is there.
            unsafe { self.at.write(value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_memory_are_checked() {
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
        // Too many bytes for an `isize`; a product that wraps, to 8 bytes; past the end of the address space.
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
    fn a_buffer_is_apart_from_what_is_read() {
        let mut words = [0u64; 8];
        let first = words.as_mut_ptr();
        let at = |i: usize| first.wrapping_add(i);
        for (from, items, apart) in
            [(0, 4, true), (0, 5, false), (4, 2, false), (3, 3, false), (6, 2, true)]
        {
            // SAFETY: all of it lies in `words`, which nobody else uses.
            let read: &[u64] = unsafe { array("read", at(4), 2) }.unwrap();
            // SAFETY: as above; what overlaps is refused.
            let buffer = unsafe { buffer("buffer", at(from), items, read) };
            assert_eq!(buffer.is_ok(), apart, "{from} {items}");
        }
    }
}
