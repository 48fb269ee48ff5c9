//! An allocator after whose blocks no memory can be accessed.
#![allow(unsafe_code)]

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;

/// Smaller blocks are not guarded. No table is smaller.
pub(crate) const SMALLEST_GUARDED: usize = 64;
/// The alignment of tables.
const LINE_BYTES: usize = 64;

/// Gives tables and lists of bytes of at least [`SMALLEST_GUARDED`] bytes pages of their own, between two pages that
/// cannot be accessed. Such a block ends where its last page ends, or less than an alignment before it if its size is no
/// multiple of its alignment. Blocks of other alignments are neither, and come from the system's allocator: there can
/// be more of them than maps.
pub(crate) struct Guarded;

/// Where a guarded block lies: in `pages` bytes after the first page of a map, at the end of these bytes.
struct Place {
    page: usize,
    pages: usize,
    /// The size of the block, rounded up to its alignment.
    size: usize,
}

impl Place {
    /// The place for a layout, or `None` if its block is not guarded.
    fn of(layout: Layout) -> Option<Self> {
        let page = page_size();
        let is_guarded = matches!(layout.align(), 1 | LINE_BYTES);
        if layout.size() < SMALLEST_GUARDED || !is_guarded {
            return None;
        }
        let size = layout.size().checked_next_multiple_of(layout.align())?;
        Some(Self { page, pages: size.checked_next_multiple_of(page)?, size })
    }

    fn map_bytes(&self) -> Option<usize> {
        self.pages.checked_add(2 * self.page)
    }

    fn allocate(&self) -> Option<*mut u8> {
        let (none, access) = (ProtFlags::empty(), MprotectFlags::READ | MprotectFlags::WRITE);
        // SAFETY: a new private map at an address of the system's choice aliases nothing.
        let map = unsafe { mmap_anonymous(null_mut(), self.map_bytes()?, none, MapFlags::PRIVATE) }
            .ok()?;
        let pages = map.cast::<u8>().wrapping_add(self.page);
        // SAFETY: these pages lie within the new map, which nothing else uses.
        unsafe { mprotect(pages.cast(), self.pages, access) }.ok()?;
        Some(pages.wrapping_add(self.pages - self.size))
    }

    /// # Safety
    /// `block` must come from [`Self::allocate`] for the same layout, and must not be used any more.
    unsafe fn free(&self, block: *mut u8) {
        let map = block.wrapping_sub(self.pages - self.size).wrapping_sub(self.page);
        // SAFETY: this is the whole map of the block, which nothing uses any more. If the system refuses, the map leaks.
        let _ = self.map_bytes().map(|bytes| unsafe { munmap(map.cast(), bytes) });
    }
}

// SAFETY: a block is the end of a map of its own, or comes from the system's allocator. Which of the two follows from
// its layout alone. Maps are zeroed, and a page is a multiple of the alignments that `Place::of` takes.
unsafe impl GlobalAlloc for Guarded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match Place::of(layout) {
            Some(place) => place.allocate().unwrap_or(null_mut()),
            // SAFETY: passed on unchanged.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match Place::of(layout) {
            Some(place) => place.allocate().unwrap_or(null_mut()),
            // SAFETY: passed on unchanged.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match Place::of(layout) {
            // SAFETY: the caller says that the block came from this allocator, with this layout.
            Some(place) => unsafe { place.free(block) },
            // SAFETY: passed on unchanged.
            None => unsafe { System.dealloc(block, layout) },
        }
    }
}
