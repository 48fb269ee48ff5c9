//! An allocator that counts the allocations of the calling thread, and refuses those that a test chooses.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

/// The system's allocator, except that during [`refusing`], it refuses the chosen allocations of the thread that
/// called `refusing`.
pub(crate) struct Refusing;

/// Which allocations are refused. Allocations are numbered from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refuse {
    /// Only the allocation with this number, as if memory was short for a moment.
    Only(usize),
    /// The allocation with this number and all that follow, as if memory was used up. The code that handles the first
    /// error must then do without memory.
    From(usize),
}

#[derive(Clone, Copy)]
struct Watch {
    seen: usize,
    refuse: Option<Refuse>,
}

thread_local! {
    // The initial value is a constant and has no destructor, so access to the variable never allocates.
    static WATCH: Cell<Option<Watch>> = const { Cell::new(None) };
}

/// Counts an allocation of the calling thread, and returns whether it is refused.
fn is_refused() -> bool {
    WATCH.with(|watch| {
        let Some(Watch { seen, refuse }) = watch.get() else { return false };
        let seen = seen + 1;
        watch.set(Some(Watch { seen, refuse }));
        match refuse {
            None => false,
            Some(Refuse::Only(number)) => seen == number,
            Some(Refuse::From(number)) => seen >= number,
        }
    })
}

// SAFETY: every call is passed on to the system's allocator unchanged, or returns null, which reports that the memory
// is refused; a block whose reallocation is refused stays allocated.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused() {
            return null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused() {
            return null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if is_refused() {
            return null_mut();
        }
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn watched<T>(refuse: Option<Refuse>, call: impl FnOnce() -> T) -> (T, usize) {
    WATCH.set(Some(Watch { seen: 0, refuse }));
    let result = call();
    let seen = WATCH.take().map_or(0, |watch| watch.seen);
    (result, seen)
}

/// Makes a call and counts its allocations, reallocations included.
pub(crate) fn counted<T>(call: impl FnOnce() -> T) -> (T, usize) {
    watched(None, call)
}

/// Makes a call, and refuses those of its allocations that `refuse` selects.
pub(crate) fn refusing<T>(refuse: Refuse, call: impl FnOnce() -> T) -> T {
    watched(Some(refuse), call).0
}
