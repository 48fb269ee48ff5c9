//! An allocator that puts its guarded blocks right before memory that cannot be accessed.
#![allow(unsafe_code)]

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;

/// The alignment of tables. If tables had another alignment, the test that tables are guarded would fail.
const LINE_BYTES: usize = 64;
/// Lists of fewer bytes than this are not guarded. Tables of every size are guarded.
pub(crate) const SHORTEST_LIST: usize = 64;
/// Accessible memory begins and ends at multiples of this number of bytes from the start of its map. The number is a
/// multiple of the page size of every usual system. An allocator cannot ask for the page size, since the call may
/// allocate memory itself.
pub(crate) const UNIT_BYTES: usize = 1 << 16;

/// Gives each table, and each list of at least [`SHORTEST_LIST`] bytes, a memory map of its own. Tables are the blocks
/// that are aligned to cache lines, and lists are the blocks that are not aligned. A guarded block ends where
/// accessible memory ends. But a table whose size is no multiple of a cache line has 1 to 63 accessible bytes after it.
/// All other blocks come from the system's allocator, since the system permits fewer maps than there can be blocks.
pub(crate) struct Guarded;

/// The memory for a block, in units of [`UNIT_BYTES`]: a unit that cannot be accessed, accessible units with the block
/// at their end, and another unit that cannot be accessed.
struct GuardedSpan {
    accessible_bytes: usize,
    /// The size of the block, rounded up to its alignment.
    block_bytes: usize,
}

impl GuardedSpan {
    /// The span for a layout, or `None` if its block is not guarded.
    fn of(layout: Layout) -> Option<Self> {
        let is_table = layout.align() == LINE_BYTES && layout.size() > 0;
        let is_list = layout.align() == 1 && layout.size() >= SHORTEST_LIST;
        if !is_table && !is_list {
            return None;
        }
        let block_bytes = layout.size().checked_next_multiple_of(layout.align())?;
        let accessible_bytes = block_bytes.checked_next_multiple_of(UNIT_BYTES)?;
        Some(Self { accessible_bytes, block_bytes })
    }

    fn map_bytes(&self) -> Option<usize> {
        self.accessible_bytes.checked_add(2 * UNIT_BYTES)
    }

    /// Maps the span, and returns the address of the block. If the system makes the map but refuses access to it, the
    /// map leaks.
    fn allocate(&self) -> Option<*mut u8> {
        let (none, access) = (ProtFlags::empty(), MprotectFlags::READ | MprotectFlags::WRITE);
        // SAFETY: a new private map at an address of the system's choice aliases nothing.
        let map = unsafe { mmap_anonymous(null_mut(), self.map_bytes()?, none, MapFlags::PRIVATE) }
            .ok()?;
        let accessible = map.cast::<u8>().wrapping_add(UNIT_BYTES);
        // SAFETY: these pages lie within the new map, which nothing else uses.
        unsafe { mprotect(accessible.cast(), self.accessible_bytes, access) }.ok()?;
        Some(accessible.wrapping_add(self.accessible_bytes - self.block_bytes))
    }

    /// # Safety
    /// `block` must come from [`Self::allocate`] for the same layout, and must not be used any more.
    unsafe fn free(&self, block: *mut u8) {
        let accessible = block.wrapping_sub(self.accessible_bytes - self.block_bytes);
        let map = accessible.wrapping_sub(UNIT_BYTES);
        // SAFETY: this is the whole map of the block, which nothing uses any more. If the system refuses, the map
        // leaks.
        let _ = self.map_bytes().map(|bytes| unsafe { munmap(map.cast(), bytes) });
    }
}

// SAFETY: a block is at the end of the accessible units of a map of its own, or comes from the system's allocator. The
// block's layout alone decides between the two. Maps are zeroed. Guarded blocks are aligned to 1 or 64 bytes, and the
// size of a page, and so of a unit, is a multiple of both.
unsafe impl GlobalAlloc for Guarded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match GuardedSpan::of(layout) {
            Some(span) => span.allocate().unwrap_or(null_mut()),
            // SAFETY: passed on unchanged.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match GuardedSpan::of(layout) {
            Some(span) => span.allocate().unwrap_or(null_mut()),
            // SAFETY: passed on unchanged.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match GuardedSpan::of(layout) {
            // SAFETY: the caller says that the block came from this allocator, with this layout.
            Some(span) => unsafe { span.free(block) },
            // SAFETY: passed on unchanged.
            None => unsafe { System.dealloc(block, layout) },
        }
    }
}
