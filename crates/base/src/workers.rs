//! Threads, as far as filters know them: an executor for independent work items.
//!
//! A filter splits a large batch into pieces ([`InsertBulk`]) and knows no threads; the code that owns
//! threads implements [`Workers`] and knows no filter.

use crate::{Full, Insert, KeyHash, Storage};
use alloc::vec::Vec;

/// Does pieces of work, perhaps on several threads.
pub trait Workers: Sync {
    /// How many pieces are worked on at the same time, at least 1.
    fn threads(&self) -> usize;

    /// Calls `work` with every item once, in any order, on any threads, and returns when all calls have.
    ///
    /// Whoever is free takes the next: pieces need not be equally long.
    ///
    /// # Panics
    /// If a call does, once no call is running any more.
    fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Send + Sync);

    /// Takes kept scratch memory, whose pages are resident already: at most as many pieces as `request` asks for, with
    /// any bytes in them. By default none is kept.
    ///
    /// Frees kept memory until the pieces, those that the caller still has to allocate, and the memory that stays kept
    /// take at most [`ScratchRequest::most_bytes`].
    fn take_memory(&self, request: ScratchRequest) -> Vec<Storage> {
        let _ = request;
        Vec::new()
    }

    /// Takes scratch memory back that is not needed any more; by default, frees it.
    fn give_memory(&self, memory: Storage) {
        drop(memory);
    }
}

/// Scratch memory that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchRequest {
    /// The number of pieces.
    pub pieces: usize,
    /// The fewest bytes of a piece.
    pub piece_bytes: usize,
    /// The most bytes of memory, as [`Storage::memory_bytes`] counts them, that the pieces may take together with
    /// the memory that the workers keep.
    pub most_bytes: usize,
}

/// The thread of the caller, which does one piece after another.
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

/// The threads and memory that a large batch may use.
#[derive(Debug)]
pub struct Bulk<'w, W> {
    /// The threads that do the work.
    pub workers: &'w W,
    /// The most bytes of memory, beside the filter's own, that may be taken at a time. With too few the
    /// batch goes in key by key.
    pub scratch_bytes: usize,
}

impl<W> Clone for Bulk<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Bulk<'_, W> {}

impl Bulk<'static, CallerThread> {
    /// The thread of the caller, and as much memory as it takes.
    pub const CALLER: Self = Self { workers: &CallerThread, scratch_bytes: usize::MAX };
}

/// A filter that takes large batches in pieces that several threads can work on.
pub trait InsertBulk: Insert {
    /// Random cache lines of the table that [`Insert::insert_batch`] writes per key; `None` if it groups large batches
    /// by itself, so that [`InsertBulk::insert_bulk`] is never slower.
    fn lines_per_insert(&self) -> Option<u32> {
        None
    }

    /// Into how many slices [`InsertBulk::insert_slices`] would cut a batch: as many as there are threads, or one if the
    /// kind takes no slices or there is too little memory for their tables.
    fn slices<W: Workers>(&self, bulk: Bulk<'_, W>) -> usize {
        let _ = bulk;
        1
    }

    /// Inserts a batch, each worker a slice of it into a table of its own, and unites the tables: the same
    /// filter, to the byte, as by [`Insert::insert_batch`], which is what it is if there is but one
    /// [slice](InsertBulk::slices). Takes as much memory as the table for every slice but one; if that is refused,
    /// one thread inserts all.
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

    /// Inserts a batch: the same filter, to the byte, as by [`Insert::insert_batch`], whatever the
    /// workers. Memory that is short or refused costs time alone; a kind whose bytes depend on the order of
    /// inserts may then have others, and says so.
    ///
    /// # Errors
    /// [`Full`] if there is no room for all; it says how many went in.
    fn insert_bulk<W: Workers>(
        &mut self,
        hashes: &[KeyHash],
        bulk: Bulk<'_, W>,
    ) -> Result<(), Full>;
}
