//! Streams of keys that need not fit into memory. While one batch is inserted or looked up, the next ones are read and
//! hashed.

mod batch;
mod pipeline;
mod read;

pub use batch::KeyBatch;
pub use read::{IntegerBatches, LineBatches, Lines};

use super::{Engine, EngineError};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use trommel_base::{Bitmap, Filter, Full, InsertBulk, KeyHash};

/// Bounds of the default number of keys that are gathered before an insert. Each insert of gathered keys loads each
/// piece of the table into the cache once. The larger the table is, the more keys should share the cost of these loads.
const FEWEST_GATHERED: usize = 1 << 16;
const MOST_GATHERED: usize = 1 << 22;
/// By default, one key is gathered per this number of bytes of the table.
const BYTES_PER_GATHERED: usize = 16;

/// A stream of batches of keys through an engine: one thread reads, one hashes, and the engine inserts or looks up.
///
/// At most two batches wait between two threads, and a faster thread waits for a slower one. So memory is bounded,
/// whatever the length of the stream: the stream holds a few batches with their hashes and, for inserts, the [gathered
/// keys](Stream::keys_at_a_time). If the system refuses the memory of queues, hashes, answers or gathered keys, the
/// program ends. The memory of a batch is allocated by the source of batches: if that memory is refused,
/// [`IntegerBatches`] returns an error, and [`LineBatches`] ends the program.
///
/// ```
/// use std::convert::Infallible;
/// use trommel::{Engine, Filter, SplitBlockBloom};
///
/// let engine = Engine::builder().threads(2).build()?;
/// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000_000, 0.01)?;
/// let batches = (0..10u64).map(|i| Ok::<_, Infallible>((i * 100_000..(i + 1) * 100_000).collect::<Vec<_>>()));
/// let done = engine.stream().insert(&mut filter, batches)?;
/// assert_eq!(done.keys, 1_000_000);
///
/// let mut hits = 0;
/// let probes = [Ok::<_, Infallible>(vec![7u64, 999_999])];
/// engine.stream().contains(&filter, probes, |_keys, found| {
///     hits += found.count_ones();
///     Ok(())
/// })?;
/// assert_eq!(hits, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Stream<'a> {
    engine: &'a Engine,
    keys_at_a_time: Option<usize>,
    cancel: Option<&'a Cancel>,
    progress: Option<Box<dyn FnMut(Progress) + 'a>>,
}

/// How far a stream has come.
///
/// ```
/// use std::convert::Infallible;
/// use trommel::{Engine, SplitBlockBloom};
/// let engine = Engine::builder().threads(1).build()?;
/// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
/// let batches = [vec!["anvil", "forge"], vec!["tongs"]].map(Ok::<_, Infallible>);
/// let done = engine.stream().insert(&mut filter, batches)?;
/// assert_eq!((done.batches, done.keys), (2, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of batches whose keys were all inserted or answered. [`Stream::insert`] inserts the keys of several
    /// batches at once. If such an insert fails, none of these batches is counted, not even one whose keys were all
    /// inserted.
    pub batches: u64,
    /// The number of keys that were inserted or answered. If the filter was full, this includes the keys that went
    /// in before the insert failed.
    pub keys: u64,
}

/// A flag that stops streams, from another thread or from a callback.
#[derive(Debug, Default)]
pub struct Cancel(AtomicBool);

impl Cancel {
    /// Makes a flag that is not set.
    ///
    /// ```
    /// use trommel::engine::Cancel;
    /// assert!(!Cancel::new().is_cancelled());
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Sets the flag: every stream that was given this flag stops before its next batch. A read that waits for data is
    /// not interrupted.
    ///
    /// ```
    /// use trommel::engine::Cancel;
    /// let cancel = Cancel::new();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| cancel.cancel());
    /// });
    /// assert!(cancel.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        // Relaxed is enough: the flag publishes no other data, and one batch more or less does not matter.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    ///
    /// ```
    /// use trommel::engine::Cancel;
    /// let cancel = Cancel::new();
    /// cancel.cancel();
    /// assert!(cancel.is_cancelled());
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The reason why a stream ended early, and how far it had come. Inserted keys stay in the filter.
///
/// ```
/// use trommel::{Engine, SplitBlockBloom};
/// use trommel::engine::StreamError;
/// let engine = Engine::builder().threads(1).build()?;
/// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
/// let batches = [Ok(vec!["anvil", "forge"]), Err("no such file")];
/// let Err(StreamError::Failed { error, done }) = engine.stream().insert(&mut filter, batches)
/// else { panic!() };
/// assert_eq!((error, done.keys), ("no such file", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError<E> {
    /// The source of batches, or the callback that takes answers, failed. All keys of earlier batches are inserted or
    /// answered, and counted. If the reader of a [`LineBatches`] or an [`IntegerBatches`] fails, that source first
    /// returns all whole keys that it read before, and then the error. An [`IntegerBatches`] also fails if the system
    /// refuses the memory of a batch; the keys of that batch are then lost.
    Failed {
        /// The error of the source or the callback.
        error: E,
        /// How far the stream had come.
        done: Progress,
    },
    /// The filter is full, or the system refused memory that an insert needs.
    Full {
        /// The error of the insert that failed, with the number of keys that the whole stream inserted.
        error: Full,
        /// How far the stream had come. `keys` is the number of keys that were inserted.
        done: Progress,
    },
    /// The stream was cancelled. Keys that were gathered, but not inserted yet, are not in the filter.
    Cancelled {
        /// How far the stream had come.
        done: Progress,
    },
    /// The system refused to start the threads that read and hash. No batch was read.
    Start {
        /// The number of threads, and the system's message.
        error: EngineError,
    },
}

impl Engine {
    /// A stream of batches through this engine.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use trommel::{Engine, Filter, SplitBlockBloom};
    /// let engine = Engine::builder().threads(1).build()?;
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// engine.stream().insert(&mut filter, [Ok::<_, Infallible>(vec!["anvil"])])?;
    /// assert!(filter.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self) -> Stream<'_> {
        Stream { engine: self, keys_at_a_time: None, cancel: None, progress: None }
    }
}

impl<'a> Stream<'a> {
    /// Sets the least number of keys that are gathered before an insert; the last insert can have fewer. The default is
    /// one key per 16 bytes of the filter's table, but at least 2^16 and at most 2^22. Gathered keys take 8 bytes each,
    /// in addition to the engine's scratch memory.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use trommel::{Engine, SplitBlockBloom};
    /// let engine = Engine::builder().threads(1).build()?;
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// let batches = [vec![1001u64, 1002], vec![1003], vec![1004]].map(Ok::<_, Infallible>);
    /// let mut told = Vec::new();
    /// let stream = engine.stream().keys_at_a_time(3).progress(|done| told.push(done.keys));
    /// stream.insert(&mut filter, batches)?;
    /// assert_eq!(told, [3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys_at_a_time(mut self, keys: usize) -> Self {
        self.keys_at_a_time = Some(keys);
        self
    }

    /// Sets the flag that stops the stream.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use trommel::{Engine, Filter, SplitBlockBloom};
    /// use trommel::engine::{Cancel, StreamError};
    /// let engine = Engine::builder().threads(1).build()?;
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// let cancel = Cancel::new();
    /// cancel.cancel();
    /// let batches = [Ok::<_, Infallible>(vec!["anvil"])];
    /// let ended = engine.stream().cancel(&cancel).insert(&mut filter, batches);
    /// assert!(matches!(ended, Err(StreamError::Cancelled { .. })) && filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(mut self, cancel: &'a Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Sets a function that is told how far the stream has come. It runs on the caller's thread. [`Stream::contains`]
    /// calls it after each batch that was answered. [`Stream::insert`] calls it each time that enough
    /// [keys](Stream::keys_at_a_time) were gathered and inserted. At the end, [`Stream::insert`] inserts the keys that
    /// are left, unless the filter is full or the stream was cancelled. Before [`Stream::insert`] returns a result or
    /// an error, it always calls the function a last time.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use trommel::{Engine, SplitBlockBloom};
    /// let engine = Engine::builder().threads(1).build()?;
    /// let filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// let batches = [vec![1001u64, 1002], vec![1003]].map(Ok::<_, Infallible>);
    /// let mut told = Vec::new();
    /// let stream = engine.stream().progress(|done| told.push(done.keys));
    /// stream.contains(&filter, batches, |_keys, _found| Ok(()))?;
    /// assert_eq!(told, [2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(mut self, call: impl FnMut(Progress) + 'a) -> Self {
        self.progress = Some(Box::new(call));
        self
    }

    /// Hashes all keys of all batches with the filter's hasher, and inserts them.
    ///
    /// ```
    /// use trommel::{Engine, Filter, SplitBlockBloom};
    /// use trommel::engine::LineBatches;
    /// let engine = Engine::builder().threads(1).build()?;
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// let file = &b"anvil\nforge\n"[..];
    /// let done = engine.stream().insert(&mut filter, LineBatches::new(file, 1 << 20))?;
    /// assert!(done.keys == 2 && filter.contains("forge"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StreamError`] if the source fails, the filter is full, the system refuses a thread or memory that an insert
    /// needs, or the stream is cancelled.
    ///
    /// # Panics
    /// If the source, [`KeyBatch::hash_all`], the function set by [`Stream::progress`] or a worker of the engine
    /// panics, this call panics with the payload of that panic.
    ///
    /// After such a panic, keys that were gathered, but not inserted yet, are not in the filter. After the panic of
    /// a worker, the contents of the filter are unknown: drop it.
    pub fn insert<F, B, E, I>(
        mut self,
        filter: &mut F,
        batches: I,
    ) -> Result<Progress, StreamError<E>>
    where
        F: InsertBulk,
        B: KeyBatch,
        E: Send,
        I: IntoIterator<Item = Result<B, E>>,
        I::IntoIter: Send,
    {
        let per_table = filter.memory_bytes() / BYTES_PER_GATHERED;
        let at_least =
            self.keys_at_a_time.unwrap_or(per_table.clamp(FEWEST_GATHERED, MOST_GATHERED));
        let (engine, hasher) = (self.engine, filter.hasher());
        let mut gathered = Gathered { engine, filter, hashes: Vec::new(), batches: 0 };
        let mut done = Progress::default();
        let ended = pipeline::run(hasher, batches, self.cancel, |_: B, hashes| {
            gathered.hashes.extend_from_slice(hashes);
            gathered.batches += 1;
            if gathered.hashes.len() >= at_least {
                gathered.insert(&mut done)?;
                self.report(done);
            }
            Ok(())
        });
        // If the source failed, the keys that it returned before the failure are still inserted.
        let ended = match ended {
            Ok(()) | Err(Ended::Failed(_)) => gathered.insert(&mut done).and(ended),
            Err(_) => ended,
        };
        self.report(done);
        ended.map_or_else(|ended| Err(ended.after(done)), |()| Ok(done))
    }

    /// Looks up all keys of all batches, and passes each batch to `answer`, in order, with one answer bit per key. An
    /// error of `answer` ends the stream.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use trommel::{Engine, SplitBlockBloom};
    /// let engine = Engine::builder().threads(1).build()?;
    /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("forge");
    /// let mut hits = Vec::new();
    /// let batches = [Ok::<_, Infallible>(vec!["anvil", "forge"])];
    /// engine.stream().contains(&filter, batches, |keys, found| {
    ///     hits.extend(found.iter_ones().map(|i| keys[i]));
    ///     Ok(())
    /// })?;
    /// assert_eq!(hits, ["forge"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StreamError`] if the source or `answer` fails, the system refuses a thread, or the stream is cancelled.
    ///
    /// # Panics
    /// If the source, [`KeyBatch::hash_all`], `answer`, the function set by [`Stream::progress`] or a worker of the
    /// engine panics, this call panics with the payload of that panic.
    pub fn contains<F, B, E, I>(
        mut self,
        filter: &F,
        batches: I,
        mut answer: impl FnMut(B, &Bitmap) -> Result<(), E>,
    ) -> Result<Progress, StreamError<E>>
    where
        F: Filter + Sync,
        B: KeyBatch,
        E: Send,
        I: IntoIterator<Item = Result<B, E>>,
        I::IntoIter: Send,
    {
        let (mut done, mut found) = (Progress::default(), Bitmap::default());
        let ended = pipeline::run(filter.hasher(), batches, self.cancel, |batch, hashes| {
            self.engine.contains_batch(filter, hashes, &mut found);
            answer(batch, &found).map_err(Ended::Failed)?;
            done.batches += 1;
            done.keys += hashes.len() as u64;
            self.report(done);
            Ok(())
        });
        ended.map_or_else(|ended| Err(ended.after(done)), |()| Ok(done))
    }

    fn report(&mut self, done: Progress) {
        if let Some(report) = &mut self.progress {
            report(done);
        }
    }
}

/// Keys that are hashed, but not inserted yet.
struct Gathered<'f, F> {
    engine: &'f Engine,
    filter: &'f mut F,
    hashes: Vec<KeyHash>,
    batches: u64,
}

impl<F: InsertBulk> Gathered<'_, F> {
    fn insert<E>(&mut self, done: &mut Progress) -> Result<(), Ended<E>> {
        let inserted = self.engine.insert_batch(self.filter, &self.hashes);
        let keys = inserted.as_ref().map_or_else(|full| full.inserted, |()| self.hashes.len());
        done.keys += keys as u64;
        inserted.map_err(Ended::Full)?;
        done.batches += self.batches;
        self.hashes.clear();
        self.batches = 0;
        Ok(())
    }
}

/// The reason why a stream ends early.
enum Ended<E> {
    Failed(E),
    Full(Full),
    Cancelled,
    Start(EngineError),
}

impl<E> Ended<E> {
    fn after(self, done: Progress) -> StreamError<E> {
        match self {
            Self::Failed(error) => StreamError::Failed { error, done },
            Self::Full(error) => {
                let inserted = usize::try_from(done.keys).unwrap_or(usize::MAX);
                let whole = Full::new(inserted, error.len, error.capacity);
                StreamError::Full { error: whole.because(error.why), done }
            }
            Self::Cancelled => StreamError::Cancelled { done },
            Self::Start(error) => StreamError::Start { error },
        }
    }
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("engine", self.engine)
            .field("keys_at_a_time", &self.keys_at_a_time)
            .finish_non_exhaustive()
    }
}

impl<E> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { done, .. } => {
                write!(f, "the source or callback failed after {} keys", done.keys)
            }
            Self::Full { error, .. } => error.fmt(f),
            Self::Cancelled { done } => write!(f, "cancelled after {} keys", done.keys),
            Self::Start { error } => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for StreamError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Failed { error, .. } => Some(error),
            // `Full` and `Start` print the text of their inner error, so they do not return it as the source too.
            Self::Full { .. } | Self::Start { .. } | Self::Cancelled { .. } => None,
        }
    }
}
