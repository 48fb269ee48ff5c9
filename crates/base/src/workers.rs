//! Threads, as far as filters know them: an executor for independent work items.
//!
//! A filter splits a large batch into pieces ([`InsertBulk`]) and starts no threads. The code that owns the
//! threads implements [`Workers`] and needs to know nothing about filters.

use crate::{Full, Insert, KeyHash, Storage};
use alloc::vec::Vec;

/// Runs pieces of work, perhaps on several threads.
pub trait Workers: Sync {
    /// How many pieces of work are done at the same time, at least 1.
    fn threads(&self) -> usize;

    /// Calls `work` with every item once, in any order, on any threads, and returns when all calls have returned. If a
    /// call panics, `work` need not be called with the items that are left.
    ///
    /// A thread that is free takes the next item, so the items need not take equally long.
    ///
    /// # Panics
    /// If a call of `work` panics. The panic reaches the caller only when no other call is running.
    fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Send + Sync);

    /// Returns pieces of scratch memory that were kept from earlier calls, and whose pages are therefore resident
    /// already: at most as many as `request` asks for, and none smaller than it asks for. Their contents are arbitrary.
    /// By default, no memory is kept.
    ///
    /// Frees kept memory until the returned pieces, the pieces that the caller still has to allocate, and the memory
    /// that stays kept take at most [`ScratchRequest::most_bytes`] together. If this cannot be reached, keeps no
    /// memory, and returns only pieces that take no more memory than new ones.
    fn take_memory(&self, request: ScratchRequest) -> Vec<Storage> {
        let _ = request;
        Vec::new()
    }

    /// Takes back scratch memory that the caller no longer needs. By default it is freed.
    fn give_memory(&self, memory: Storage) {
        drop(memory);
    }
}

/// The scratch memory that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchRequest {
    /// The number of pieces of memory.
    pub pieces: usize,
    /// The least size of a piece, in bytes.
    pub piece_bytes: usize,
    /// The most bytes of memory, as [`Storage::memory_bytes`] counts them, that the pieces are allowed to take together
    /// with the memory that the workers keep.
    pub most_bytes: usize,
}

/// The thread of the caller, which does one piece of work after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallerThread;

impl Workers for CallerThread {
    fn threads(&self) -> usize {
        1
    }

    fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Send + Sync) {
        items.into_iter().for_each(work);
    }
}

/// The threads and memory that a large batch is allowed to use.
#[derive(Debug)]
pub struct Bulk<'w, W> {
    /// The threads that do the work.
    pub workers: &'w W,
    /// The most bytes of memory, in addition to the filter's own, that the batch is allowed to use at a time. If these
    /// bytes are too few, the batch is inserted in a slower way that needs fewer.
    pub scratch_bytes: usize,
}

impl<W> Clone for Bulk<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Bulk<'_, W> {}

impl Bulk<'static, CallerThread> {
    /// The thread of the caller, and unlimited memory.
    pub const CALLER: Self = Self { workers: &CallerThread, scratch_bytes: usize::MAX };
}

/// A filter that takes large batches in pieces that several threads can work on.
pub trait InsertBulk: Insert {
    /// The number of random cache lines of the table that [`Insert::insert_batch`] writes per key. `None` if
    /// [`Insert::insert_batch`] groups large batches itself. Callers then need not choose between that method and
    /// [`InsertBulk::insert_bulk`], and always call [`InsertBulk::insert_bulk`].
    fn lines_per_insert(&self) -> Option<u32> {
        None
    }

    /// The number of slices into which [`InsertBulk::insert_slices`] would cut a batch: the number of threads, or one
    /// if the kind does not support slices or there is too little memory for their tables.
    fn slices<W: Workers>(&self, bulk: Bulk<'_, W>) -> usize {
        let _ = bulk;
        1
    }

    /// Inserts a batch in slices: one slice is inserted into the filter's table, and each other slice into a table of
    /// its own; then the tables are united. The filter has the same bytes as after [`Insert::insert_batch`], which is
    /// called if there is only one [slice](InsertBulk::slices). Every slice but one takes as much memory as the table;
    /// if this memory is refused, one thread inserts all keys.
    ///
    /// # Errors
    /// As [`Insert::insert_batch`].
    fn insert_slices<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full> {
        let _ = bulk;
        self.insert_batch(hashes)
    }

    /// Inserts a batch. The filter then has the same bytes as after [`Insert::insert_batch`], whatever the workers. If
    /// there is too little memory, or memory is refused, the inserts take longer. The bytes can then differ, but only
    /// in a kind whose bytes depend on the order of inserts; that kind documents it.
    ///
    /// # Errors
    /// [`Full`] if a key cannot be inserted, as in [`Insert::insert_hash`]. The error has the number of keys that were
    /// inserted: the first ones of the batch.
    fn insert_bulk<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full>;
}
