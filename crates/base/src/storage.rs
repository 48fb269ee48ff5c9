//! Zeroed memory for a filter's table: aligned to cache lines, and for a large table in huge pages, if the system
//! grants them.
//!
//! In a table of 1 GB in pages of 4 KiB, nearly every lookup misses the TLB. On Sapphire Rapids, 36 M random
//! cache lines per second are read from such a table, and 57–77 M from a table in pages of 2 MiB. So a table of
//! at least [`MAPPED_THRESHOLD_BYTES`] can ask Linux for huge pages. A refusal only costs speed;
//! [`Storage::backing`] tells how the memory was allocated.
#![allow(unsafe_code)]

#[cfg(target_has_atomic = "64")]
mod atomic;
#[cfg(target_has_atomic = "ptr")]
mod shared_bytes;

#[cfg(target_has_atomic = "64")]
pub use atomic::AtomicStorage;
#[cfg(target_has_atomic = "ptr")]
pub use shared_bytes::{SharedBytes, StableBytes};

use alloc::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// Alignment of every table, in bytes: one cache line.
pub const LINE_BYTES: usize = 64;
/// On Linux with the feature `std`, a table of at least this size is mapped from the system instead of taken from the
/// allocator, and can ask for huge pages. A whole number of huge pages is mapped, so a table takes up to 2 MiB more
/// than its length; see [`Storage::memory_bytes`].
pub const MAPPED_THRESHOLD_BYTES: usize = 4 << 20;
/// The largest size of a table, in bytes. With 64-bit addresses it is 2^47, which is what an x86-64 process can
/// address.
pub const MAX_BYTES: u64 = if usize::BITS >= 64 { 1 << 47 } else { isize::MAX as u64 };

#[cfg(all(target_os = "linux", feature = "std"))]
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// How the memory of a table was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backing {
    /// Memory of the global allocator, or no memory if the table has no bytes.
    Heap,
    /// Mapped from the system, aligned to 2 MiB, and the system accepted the advice to use huge pages: the
    /// system uses huge pages as far as it has any.
    HugePagesAdvised,
    /// Mapped from the system without advice: huge pages were not wanted, or the advice was refused.
    /// A system that is configured to always use huge pages uses them anyway.
    Pages,
}

impl fmt::Display for Backing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Heap => "heap",
            Self::HugePagesAdvised => "huge pages advised",
            Self::Pages => "ordinary pages",
        })
    }
}

/// The system refused the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub bytes: u64,
}

/// Owned bytes of a fixed length, aligned to [`LINE_BYTES`], initially zero.
///
/// ```
/// use trommel::container::Storage;
/// let mut table = Storage::zeroed(4096, true).unwrap();
/// assert_eq!(table.as_ptr() as usize % 64, 0);
/// table[17] = 1;
/// assert_eq!(table.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 1);
/// ```
pub struct Storage {
    start: NonNull<u8>,
    len: usize,
    origin: Origin,
    huge_pages: bool,
}

/// Gives the dangling pointer of an empty table the alignment of all tables.
#[repr(align(64))]
struct Line;

enum Origin {
    /// No memory: length 0.
    Nothing,
    Heap(Layout),
    #[cfg(all(target_os = "linux", feature = "std"))]
    Mapped {
        advised: bool,
    },
}

// SAFETY: `Storage` owns its memory alone, as `Vec<u8>` does; no method gives out the raw pointers.
unsafe impl Send for Storage {}
// SAFETY: through a shared reference, the memory is only read, or accessed atomically (`AtomicStorage`).
unsafe impl Sync for Storage {}

crate::error_messages! { OutOfMemory {
    Self { bytes } => "the system refused {bytes} bytes of memory";
}}

/// Returns an empty vector with room for `len` elements. Pushing the first `len` elements allocates nothing.
///
/// ```
/// use trommel_base::storage::room_for;
/// assert_eq!(room_for::<u64>(3)?.capacity(), 3);
/// assert_eq!(room_for::<u64>(usize::MAX).unwrap_err().bytes, u64::MAX);
/// # Ok::<(), trommel_base::storage::OutOfMemory>(())
/// ```
///
/// # Errors
/// [`OutOfMemory`] if the system refuses.
pub fn room_for<T>(len: usize) -> Result<Vec<T>, OutOfMemory> {
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    let mut vector = Vec::new();
    vector.try_reserve_exact(len).map_err(|_| OutOfMemory { bytes })?;
    Ok(vector)
}

/// Collects the first `len` items into a vector. Unlike `collect`, returns an error if the system refuses the memory.
///
/// ```
/// use trommel_base::storage::collected;
/// assert_eq!(collected(2, 5..)?, [5, 6]);
/// # Ok::<(), trommel_base::storage::OutOfMemory>(())
/// ```
///
/// # Errors
/// [`OutOfMemory`] if the system refuses.
pub fn collected<T>(len: usize, items: impl IntoIterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut vector = room_for(len)?;
    vector.extend(items.into_iter().take(len));
    Ok(vector)
}

impl Storage {
    /// Allocates `bytes` zeros. On Linux with the feature `std`, a table of at least
    /// [`MAPPED_THRESHOLD_BYTES`] is mapped from the system, with the advice to use huge pages if
    /// `huge_pages` is true. Any other table comes from the allocator.
    ///
    /// Cost: a mapped table takes no memory until it is written.
    ///
    /// ```
    /// use trommel::container::Storage;
    /// assert_eq!(Storage::zeroed(3, false)?[..], [0, 0, 0]);
    /// # Ok::<(), trommel::error::OutOfMemory>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`] if the system refuses the memory. If `bytes` is above [`MAX_BYTES`], returns this error without
    /// asking the system.
    pub fn zeroed(bytes: usize, huge_pages: bool) -> Result<Self, OutOfMemory> {
        let refused = OutOfMemory { bytes: bytes as u64 };
        if bytes as u64 > MAX_BYTES {
            return Err(refused);
        }
        if bytes == 0 {
            let start = NonNull::<Line>::dangling().cast();
            return Ok(Self { start, len: 0, origin: Origin::Nothing, huge_pages });
        }
        #[cfg(all(target_os = "linux", feature = "std"))]
        if bytes >= MAPPED_THRESHOLD_BYTES {
            return Self::mapped(bytes, huge_pages).ok_or(refused);
        }
        let layout = Layout::from_size_align(bytes, LINE_BYTES).map_err(|_| refused)?;
        // SAFETY: the layout's size is not zero, as checked above.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(refused)?;
        Ok(Self { start, len: bytes, origin: Origin::Heap(layout), huge_pages })
    }

    /// Bytes of memory that [`Storage::zeroed`] takes from the system for a table of `bytes` bytes. On Linux with the
    /// feature `std`, a table of at least [`MAPPED_THRESHOLD_BYTES`] takes whole huge pages.
    ///
    /// ```
    /// use trommel::container::Storage;
    /// assert_eq!(Storage::memory_bytes_for(1_000), 1_000);
    /// assert!(Storage::memory_bytes_for(5 << 20) >= 5 << 20);
    /// ```
    #[must_use]
    pub const fn memory_bytes_for(bytes: usize) -> usize {
        #[cfg(all(target_os = "linux", feature = "std"))]
        if bytes >= MAPPED_THRESHOLD_BYTES {
            return bytes.div_ceil(HUGE_PAGE_BYTES).saturating_mul(HUGE_PAGE_BYTES);
        }
        bytes
    }

    /// Bytes of memory that were taken from the system: at least the length.
    ///
    /// ```
    /// use trommel::container::Storage;
    /// let table = Storage::zeroed(1_000, true)?;
    /// assert_eq!(table.memory_bytes(), Storage::memory_bytes_for(1_000));
    /// # Ok::<(), trommel::error::OutOfMemory>(())
    /// ```
    #[must_use]
    pub const fn memory_bytes(&self) -> usize {
        Self::memory_bytes_for(self.len)
    }

    /// Makes a private anonymous memory map. Its length is a whole number of huge pages, and it is aligned to the size
    /// of one.
    #[cfg(all(target_os = "linux", feature = "std"))]
    fn mapped(bytes: usize, huge_pages: bool) -> Option<Self> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
        let used_bytes = Self::memory_bytes_for(bytes);
        // The system might align the map only to small pages. So the map is longer by the size of a huge page, which
        // leaves room to align the start here.
        let mapped_bytes = used_bytes.checked_add(HUGE_PAGE_BYTES)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private map at an address of the system's choice aliases nothing.
        let base = unsafe {
            mmap_anonymous(core::ptr::null_mut(), mapped_bytes, access, MapFlags::PRIVATE)
        }
        .ok()?;
        let base = NonNull::new(base)?;
        let offset = base.cast::<u8>().align_offset(HUGE_PAGE_BYTES);
        // SAFETY: `offset` is below one huge page, and the map is one huge page longer than `used_bytes`.
        let start = unsafe { base.cast::<u8>().add(offset) };
        let spare = HUGE_PAGE_BYTES - offset;
        // If `munmap` fails, only addresses are lost: nothing ever reads or writes them.
        if offset > 0 {
            // SAFETY: these are the bytes of the map before `start`, and nothing refers to them.
            let _ = unsafe { munmap(base.as_ptr(), offset) };
        }
        if spare > 0 {
            // SAFETY: these are the last `spare` bytes of the map, which is `offset + used_bytes + spare` long.
            let _ = unsafe { munmap(start.add(used_bytes).as_ptr().cast(), spare) };
        }
        // SAFETY: the range lies inside the map just made, and this advice never changes contents.
        let advise =
            || unsafe { madvise(start.as_ptr().cast(), used_bytes, Advice::LinuxHugepage) };
        let advised = huge_pages && advise().is_ok();
        Some(Self { start, len: bytes, origin: Origin::Mapped { advised }, huge_pages })
    }

    /// Allocates a copy of `bytes`.
    ///
    /// ```
    /// use trommel::container::Storage;
    /// assert_eq!(Storage::copy_of(b"anvil", false)?[..], *b"anvil");
    /// # Ok::<(), trommel::error::OutOfMemory>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`] if the system refuses.
    pub fn copy_of(bytes: &[u8], huge_pages: bool) -> Result<Self, OutOfMemory> {
        let mut storage = Self::zeroed(bytes.len(), huge_pages)?;
        storage.copy_from_slice(bytes);
        Ok(storage)
    }

    /// How the memory was allocated.
    ///
    /// ```
    /// use trommel::container::{Backing, Storage};
    /// assert_eq!(Storage::zeroed(1_000, true)?.backing(), Backing::Heap); // far below 4 MiB
    /// # Ok::<(), trommel::error::OutOfMemory>(())
    /// ```
    #[must_use]
    pub fn backing(&self) -> Backing {
        match self.origin {
            Origin::Nothing | Origin::Heap(_) => Backing::Heap,
            #[cfg(all(target_os = "linux", feature = "std"))]
            Origin::Mapped { advised: true, .. } => Backing::HugePagesAdvised,
            #[cfg(all(target_os = "linux", feature = "std"))]
            Origin::Mapped { advised: false, .. } => Backing::Pages,
        }
    }

    /// Whether huge pages were wanted when the memory was allocated. Pass the answer to [`Storage::zeroed`] when a
    /// larger table replaces this one: the new table can be large enough for huge pages although this one is not.
    ///
    /// ```
    /// use trommel::container::Storage;
    /// let small = Storage::zeroed(1_000, false)?;
    /// assert!(!small.wants_huge_pages());
    /// let larger = Storage::zeroed(8 << 20, small.wants_huge_pages())?;
    /// # Ok::<(), trommel::error::OutOfMemory>(())
    /// ```
    #[must_use]
    pub const fn wants_huge_pages(&self) -> bool {
        self.huge_pages
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        match self.origin {
            Origin::Nothing => {}
            // SAFETY: `start` came from `alloc_zeroed` with this very layout and is freed once.
            Origin::Heap(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
            #[cfg(all(target_os = "linux", feature = "std"))]
            Origin::Mapped { .. } => {
                // SAFETY: `start` and `memory_bytes` are the start and length of the map after `mapped` trimmed its
                // ends; nothing borrows from a value that is being dropped. If `munmap` fails, the map leaks.
                let _ =
                    unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.memory_bytes()) };
            }
        }
    }
}

impl Deref for Storage {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised (zeroed) bytes as long as `self` lives, and
        // dangling but aligned for length 0.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Storage {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; `&mut self` makes the access unique.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for Storage {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for Storage {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl Clone for Storage {
    /// Makes a copy, which wants huge pages if the original wants them. If the system refuses the memory, the program
    /// ends, as it does when a vector is cloned.
    fn clone(&self) -> Self {
        Self::copy_of(self, self.huge_pages).unwrap_or_else(|_| {
            handle_alloc_error(
                Layout::from_size_align(self.len, LINE_BYTES).unwrap_or(Layout::new::<u64>()),
            )
        })
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("bytes", &self.len)
            .field("backing", &self.backing())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_tables_are_zeroed_and_aligned_and_writable() {
        let sizes = [0, 1, 64, 4095, MAPPED_THRESHOLD_BYTES - 1, MAPPED_THRESHOLD_BYTES, 6 << 20];
        // Miri cannot map tables: it has no `munmap` of a part of a map.
        for &bytes in &sizes[..if cfg!(miri) { 4 } else { sizes.len() }] {
            for huge_pages in [false, true] {
                let mut storage = Storage::zeroed(bytes, huge_pages).unwrap();
                assert_eq!(storage.len(), bytes);
                assert!(bytes == 0 || storage.as_ptr().addr().is_multiple_of(LINE_BYTES));
                assert!(storage.iter().all(|byte| *byte == 0));
                storage.fill(0xA5);
                let copy = storage.clone();
                assert!(copy.iter().all(|byte| *byte == 0xA5));
                assert_eq!(copy.backing(), storage.backing());
                assert_eq!(copy.wants_huge_pages(), huge_pages);
            }
        }
    }

    #[test]
    fn a_table_without_bytes_takes_no_memory() {
        for huge_pages in [false, true] {
            let storage = Storage::zeroed(0, huge_pages).unwrap();
            assert!(matches!(storage.origin, Origin::Nothing));
            assert!(storage.as_ptr().addr().is_multiple_of(LINE_BYTES));
        }
    }

    /// Mapping trims the ends of the map, and a drop unmaps the rest. Neither is allowed to reach into a neighbour.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no `munmap` of a part of a map")]
    fn mapped_tables_do_not_reach_into_their_neighbours() {
        const TABLES: u8 = 12;
        let mapped = |byte: u8| {
            let bytes = MAPPED_THRESHOLD_BYTES + usize::from(byte) * 100_000;
            let mut storage = Storage::zeroed(bytes, byte.is_multiple_of(2)).unwrap();
            storage.fill(byte);
            storage
        };
        let mut tables: Vec<Storage> = (0..TABLES).map(mapped).collect();
        for round in 1..4 {
            for (byte, table) in (0..).zip(&tables) {
                assert!(table.iter().all(|found| *found == byte), "table {byte}");
            }
            for byte in (0..TABLES).step_by(round) {
                // The old table is dropped after the new one is made, so the new one is elsewhere.
                tables[usize::from(byte)] = mapped(byte);
            }
        }
    }

    #[test]
    fn an_impossible_size_is_refused() {
        for bytes in [usize::MAX, MAX_BYTES as usize + 1] {
            let refused = Storage::zeroed(bytes, true).unwrap_err();
            assert_eq!(refused.bytes, bytes as u64);
        }
    }

    #[cfg(all(target_os = "linux", feature = "std"))]
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no `munmap` of a part of a map")]
    fn large_tables_are_mapped_and_small_ones_are_not() {
        let small = Storage::zeroed(MAPPED_THRESHOLD_BYTES - 1, true).unwrap();
        assert_eq!(small.backing(), Backing::Heap);
        let wanted = Storage::zeroed(MAPPED_THRESHOLD_BYTES, true).unwrap();
        assert_ne!(wanted.backing(), Backing::Heap);
        assert_eq!(wanted.as_ptr() as usize % HUGE_PAGE_BYTES, 0);
        let unwanted = Storage::zeroed(MAPPED_THRESHOLD_BYTES, false).unwrap();
        assert_eq!(unwanted.backing(), Backing::Pages);
        for (bytes, memory_bytes) in [(0, 0), (1, 1), ((4 << 20) - 1, (4 << 20) - 1)] {
            assert_eq!(Storage::memory_bytes_for(bytes), memory_bytes);
        }
        for bytes in [4 << 20, (4 << 20) + 1, 6 << 20] {
            let memory_bytes = if bytes == 4 << 20 { 4 << 20 } else { 6 << 20 };
            assert_eq!(Storage::zeroed(bytes, true).unwrap().memory_bytes(), memory_bytes);
        }
    }
}
