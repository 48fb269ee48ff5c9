//! Threads, as far as filters know them: an executor for independent tasks.
//!
//! A filter splits a large batch into pieces ([`InsertBulk`]) and starts no threads. The code that owns the
//! threads implements [`Workers`] and needs to know nothing about filters.

use crate::storage::{OutOfMemory, collected};
use crate::{Full, Insert, KeyHash, Storage};
use alloc::vec::Vec;
use core::fmt;

/// A piece of work: a closure that is called once.
pub type Task<'t> = &'t mut (dyn FnMut() + Send + 't);

/// Tasks that the threads of [`Workers::run`] take one after another.
pub type Tasks<'i, 't> = dyn ExactSizeIterator<Item = Task<'t>> + Send + 'i;

/// Runs tasks, perhaps on several threads.
///
/// Filters know workers only as `&dyn Workers`. So the code that builds a filter is compiled once, with the filter, and
/// not again for each kind of workers.
pub trait Workers: Sync {
    /// The number of tasks that can run at the same time. It is at least 1.
    fn threads(&self) -> usize;

    /// Calls every task once, in any order, on any threads, and returns when all calls have returned. If a call panics,
    /// the tasks that are left need not be called. Most code calls `for_each` of `dyn Workers` instead of this method.
    ///
    /// A thread that is free takes the next task, so the tasks need not take equally long.
    ///
    /// # Panics
    /// If a task panics. The panic reaches the caller after all tasks that are running have ended.
    fn run<'t>(&self, tasks: &mut Tasks<'_, 't>);

    /// Returns pieces of scratch memory that [`Workers::give_memory`] kept, so their pages are resident already.
    /// Returns at most [`ScratchRequest::pieces`] pieces, each of at least [`ScratchRequest::piece_bytes`] bytes. Their
    /// contents are arbitrary. By default, no memory is kept.
    ///
    /// Frees kept memory until the returned pieces, the pieces that the caller still has to allocate, and the memory
    /// that stays kept take at most [`ScratchRequest::most_bytes`] together. If this limit cannot be met, keeps no
    /// memory, and returns only pieces that take no more memory than newly allocated pieces would.
    fn take_memory(&self, request: ScratchRequest) -> Vec<Storage> {
        let _ = request;
        Vec::new()
    }

    /// Takes back scratch memory that the caller no longer needs. By default, the memory is freed.
    fn give_memory(&self, memory: Storage) {
        drop(memory);
    }
}

impl dyn Workers + '_ {
    /// Calls `work` with each of the first `len` items once, as [`Workers::run`] calls tasks. While the calls run, each
    /// item whose alignment is at most 8 takes up to 16 bytes more than its own size.
    ///
    /// ```
    /// use trommel_base::{CallerThread, Workers};
    /// let workers: &dyn Workers = &CallerThread;
    /// let mut sums = [0; 3];
    /// workers.for_each(3, sums.iter_mut().zip(1..), |(sum, item)| *sum += item)?;
    /// assert_eq!(sums, [1, 2, 3]);
    /// # Ok::<(), trommel_base::storage::OutOfMemory>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`] if the system refuses the memory for the list of items. In this case, `work` is not called.
    ///
    /// # Panics
    /// As [`Workers::run`].
    pub fn for_each<T: Send>(
        &self,
        len: usize,
        items: impl IntoIterator<Item = T>,
        work: impl Fn(T) + Sync,
    ) -> Result<(), OutOfMemory> {
        let work = &work;
        let task = |item| {
            let mut item = Some(item);
            move || item.take().into_iter().for_each(work)
        };
        let mut tasks = collected(len, items.into_iter().map(task))?;
        self.run(&mut tasks.iter_mut().map(|task| task as Task<'_>));
        Ok(())
    }
}

impl fmt::Debug for dyn Workers + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

/// The scratch memory that a call requests from [`Workers::take_memory`].
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

    fn run<'t>(&self, tasks: &mut Tasks<'_, 't>) {
        tasks.for_each(|task| task());
    }
}

/// The threads and memory that a large batch is allowed to use.
#[derive(Clone, Copy, Debug)]
pub struct Bulk<'w> {
    /// The threads that do the work.
    pub workers: &'w dyn Workers,
    /// The most bytes of memory, in addition to the filter's own, that the batch is allowed to use at a time. If these
    /// bytes are too few, the batch is inserted in a slower way that needs less memory.
    pub scratch_bytes: usize,
}

impl Bulk<'static> {
    /// The thread of the caller, and unlimited memory.
    pub const CALLER: Self = Self { workers: &CallerThread, scratch_bytes: usize::MAX };
}

/// A filter that can insert a large batch in pieces, which several threads can work on.
pub trait InsertBulk: Insert {
    /// The number of random cache lines of the table that [`Insert::insert_batch`] writes per key. `None` if
    /// [`Insert::insert_batch`] itself groups the keys of a large batch by their part of the table. In this case,
    /// callers need not choose between that method and [`InsertBulk::insert_bulk`]: they always call the latter.
    fn lines_per_insert(&self) -> Option<u32> {
        None
    }

    /// The number of slices into which [`InsertBulk::insert_slices`] would cut a batch. This is the number of threads,
    /// or 1 if the kind of filter does not support slices, or if the tables of the slices need more memory than `bulk`
    /// allows.
    fn slices(&self, bulk: Bulk<'_>) -> usize {
        let _ = bulk;
        1
    }

    /// Inserts a batch in slices: one slice is inserted into the filter's table, and each other slice into a table of
    /// its own; then the tables are united. The filter has the same bytes as after [`Insert::insert_batch`]. If there
    /// is only one [slice](InsertBulk::slices), this method calls [`Insert::insert_batch`]. Every slice but one needs
    /// as much memory as the filter's table; if this memory is refused, one thread inserts all keys.
    ///
    /// # Errors
    /// As [`Insert::insert_batch`].
    fn insert_slices(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full> {
        let _ = bulk;
        self.insert_batch(hashes)
    }

    /// Inserts a batch. The filter then has the same bytes as after [`Insert::insert_batch`], whatever workers are
    /// used. If there is too little memory, or memory is refused, the inserts take longer. In a kind of filter whose
    /// bytes depend on the order of inserts, a lack of memory can also make the bytes differ from those after
    /// [`Insert::insert_batch`]; such a kind documents this.
    ///
    /// # Errors
    /// [`Full`] if a key cannot be inserted, as in [`Insert::insert_hash`]. The error has the number of keys that were
    /// inserted; they are the first keys of the batch.
    fn insert_bulk(&mut self, hashes: &[KeyHash], bulk: Bulk<'_>) -> Result<(), Full>;
}
