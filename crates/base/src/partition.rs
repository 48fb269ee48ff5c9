//! Groups keys by the part of a table that they belong to, so that each part is processed in cache.
//!
//! In a table larger than the caches, each cache line that is read or written for a key costs a cache miss, even if the
//! line is prefetched: on Sapphire Rapids, up to 11 ns in a table of 128 MB, and up to 19 ns in a table of 1 GB. On the
//! same machine, a pass that radix-partitions the keys into up to 4096 parts costs about 2 to 3 ns per key. The pass
//! reads and writes memory sequentially, and each part of the table then fits into L2. [`Partitioner::partition`] is
//! this pass, for every family of filters.
//!
//! # Method
//!
//! A closure `split` maps a hash to a pair: the number of the hash's part, and the *record* that is stored for the hash
//! in this part. (`split` can also return several pairs.) Every part has a *region* of the scratch memory. Records are
//! appended to the region of their part, so each part keeps the order of the input.
//!
//! **Regions with slack.** The exact length of a region is known only after a pass over the hashes. But
//! hashes are uniform, so the length is guessed: the mean number of records per part, plus six standard
//! deviations. If the guess is wrong, for example because many keys are equal, a region fills up, and the
//! pass starts again with regions of counted lengths. So any input is grouped, but `split` is called up to
//! three times per hash: in the pass that fails, for the count, and in the second pass.
//!
//! **Two ways to append.** If the records of a batch fit into the caches near the core, the records are
//! *scattered*: each record is stored directly in its region. In a larger batch, hundreds of
//! regions are far apart, and each store of a record would read a cache line and miss the TLB. So the records of a
//! larger batch are *combined*: each part has a *run* of a few cache lines in a buffer in L2, which
//! collects the part's records. A full run is streamed to the region: on x86-64, the cache lines of the run are
//! stored by instructions that bypass the caches (`kernel/stream.rs`).
//!
//! Sources: Wassenberg and Sanders, "Engineering a multi-core radix sort", Euro-Par 2011, for buffered runs
//! and for regions without a histogram (each of their regions is virtual memory as large as the input); Polychroniou
//! and Ross, "A comprehensive study of main-memory partitioning", SIGMOD 2014, for histograms and runs of one
//! cache line, which are slower in the table below.
//!
//! # Measurements
//!
//! The table has ns per key on one Sapphire Rapids core. The first figure of a cell is for records of four bytes, the
//! second for records of eight bytes. The input is 16 M uniform hashes, scratch memory is in huge pages, and `split` is
//! a multiplication and a shift. All figures are medians of interleaved repetitions. *Histogram*: a first pass counts
//! the records of each part, so that regions have exact lengths. *Slack*: the lengths of regions are guessed, as above.
//! *Stored*: full runs are copied by ordinary stores.
//!
//! | parts | 64 | 256 | 1024 | 2048 | 4096 | 8192 |
//! |---|---|---|---|---|---|---|
//! | histogram, scatter | 2.7, 2.8 | 5.3, 7.0 | 5.5, 7.4 | 5.9, 7.5 | 5.4, 6.5 | 5.2, 5.9 |
//! | histogram, runs of 64 bytes, streamed | 3.2, 4.1 | 3.5, 4.3 | 3.7, 4.4 | 4.3, 5.1 | 4.4, 5.1 | 4.5, 5.2 |
//! | histogram, runs of 128 bytes, streamed | 2.8, 3.3 | 3.1, 3.5 | 3.2, 3.5 | 3.7, 4.4 | 4.2, 4.4 | 4.6, 5.0 |
//! | slack, scatter | 1.9, 2.0 | 4.2, 5.4 | 4.4, 6.1 | 4.9, 6.4 | 5.0, 6.1 | 4.6, 5.5 |
//! | slack, runs of 64 bytes, stored | 2.6, 3.6 | 5.7, 7.2 | 5.0, 6.9 | 5.4, 7.5 | 5.6, 7.6 | 5.6, 7.7 |
//! | slack, runs of 64 bytes, streamed | 2.3, 3.2 | 2.2, 3.2 | 2.4, 3.3 | 3.0, 3.9 | 3.2, 4.1 | 3.3, 4.0 |
//! | slack, runs of 128 bytes, streamed | 1.9, 2.4 | 2.1, 2.5 | 2.3, 2.6 | 2.5, 2.9 | **2.7, 3.2** | **3.5, 4.1** |
//! | slack, runs of 256 bytes, streamed | **1.8, 2.1** | **1.9, 2.2** | **2.3, 2.5** | **2.6, 2.8** | 3.1, 3.6 | 3.7, 4.2 |
//!
//! In each column, bold figures mark the method that this module uses for that number of parts. All figures include the
//! time for reading and splitting the hashes, which takes 1.0 ns in one pass.
//!
//! For a batch of 64 K hashes in 256 parts, the times in ns per key are:
//!
//! | method | partition | partition, then one read of all parts |
//! |---|---|---|
//! | slack, scatter | 1.3 | 2.1 |
//! | histogram, scatter | 2.1 | 3.2 |
//! | combined, records of four bytes | 1.5 | 2.6 |
//! | combined, records of eight bytes | 1.7 | 3.4 |
//!
//! Reading combined records takes longer than reading scattered records, since streamed records are not in the caches.
//!
//! On Sapphire Rapids, scattering and combining are equally fast at 4 MiB of records. At 8 MiB in 256 parts, combining
//! is faster: 2.1 ns against 2.5 ns for scattering. On Cascade Lake, whose L2 is half as large, and with scratch in
//! fresh memory, they are equally fast at 1 MiB. On Cascade Lake, combining is faster at 2 MiB in 256 parts (3.5
//! against 4.3 ns; including one read of all parts, 4.0 against 4.8 ns) and at 4 MiB in 128 parts (3.9 against 5.6 ns).
//! Therefore batches of up to 1 MiB of records are scattered.
//!
//! Batches of 4 M hashes that are not random, in 64 to 4096 parts, take 4.3 to 4.6 ns per key if all keys are equal,
//! 2.2 to 2.6 ns if the hashes are sorted, and 3.0 to 4.0 ns if the keys follow Zipf's law. With a `split` that takes
//! 2.2 ns by itself, a pass takes 4.1 ns per key with slack, and 6.4 ns with a histogram, which calls `split` twice.
//!
//! Rejected (in ns per key): part numbers stored by the histogram for the second pass (6.6 and 9.2 at 1024 parts); four
//! histograms interleaved (0.1 faster at best); cursors of 64 bits (0.1 to 0.5 slower from 2048 parts on); listing full
//! runs and streaming them after every 8 to 32 keys, without a branch per key (4.3 to 5.7); prefetching the runs of the
//! next 8 or 16 keys (0.3 to 0.6 slower up to 2048 parts, no gain beyond); runs in pages of 4 KiB (0 to 0.4 slower);
//! streaming with AVX2 or AVX-512 stores (no gain); indices without bounds checks (no gain).
//!
//! # Threads
//!
//! A partitioner belongs to one thread; all threads can read its result. To build a filter, several threads first
//! partition shares of the keys, each share with its own partitioner ([`partition_shares`]). Then each thread takes
//! whole parts. For part `i`, the thread processes `part(i)` of every share, in the order of the shares. In both
//! phases, no two threads write to the same memory, and the order of the input is kept.

use crate::KeyHash;
use crate::kernel::cast::records_of_bytes;
use crate::kernel::stream::Streamer;
use crate::storage::{LINE_BYTES, OutOfMemory, Storage};
use alloc::vec::Vec;

mod answers;
pub(crate) mod record;
mod shares;

pub use answers::Answers;
pub use record::Record;
pub use shares::{FEWEST_PASSED_PER_PART, SharePlan, Shares, chunk_bytes, partition_shares};

/// The largest number of parts in one pass. The runs of 8192 parts take 1 MiB, as much as the L2 of many processors.
pub const MAX_PARTS: usize = 8192;
/// The largest number of records that a partitioner groups in one pass; with one record per hash, also the largest
/// number of hashes. The number is this low because positions in the scratch memory have 32 bits, and because in a
/// partition into two parts, the regions together have room for more than twice the records of the batch.
pub const MAX_HASHES: usize = 1 << 30;

/// Batches of up to this number of bytes of records are scattered; larger batches are combined.
const SCATTERED_BYTES: usize = 1 << 20;
/// The length of a run in bytes, if there are up to [`LONG_RUN_PARTS`] parts. Each full run costs a mispredicted
/// branch, so longer runs are better, as long as the runs of all parts leave room in L2.
const LONG_RUN_BYTES: usize = 256;
/// The length of a run in bytes, if there are more than [`LONG_RUN_PARTS`] parts.
const SHORT_RUN_BYTES: usize = 128;
/// The largest number of parts for which runs are long.
const LONG_RUN_PARTS: usize = 2048;

/// Groups hashes by part, batch after batch, in scratch memory of its own.
///
/// The memory is kept from batch to batch, since page faults in fresh memory cost more than the
/// pass. The memory grows to the need of the largest batch, and is freed when the partitioner is dropped.
///
/// ```
/// use trommel_base::partition::Partitioner;
/// use trommel_base::{KeyHash, range::reduce};
/// let hashes = [1u64 << 63, 7, u64::MAX, 5];
/// let mut partitioner = Partitioner::<u32>::new();
/// // Parts of 2^4 blocks of a table of 64 blocks; a record is the low half of the hash.
/// let split = |hash: u64| ((reduce(hash, 64) >> 4) as usize, hash as u32);
/// let grouped = partitioner.partition(KeyHash::slice_from_raw(&hashes), 4, split).unwrap();
/// assert_eq!(grouped.part(0), [7, 5]);
/// assert_eq!(grouped.part(1), []);
/// assert_eq!(grouped.part(2), [0]);
/// assert_eq!(grouped.part(3), [u32::MAX]);
/// ```
#[derive(Debug)]
pub struct Partitioner<R> {
    /// The runs of all parts, then the regions.
    scratch: Option<Storage>,
    regions: Regions,
    record: core::marker::PhantomData<fn() -> R>,
}

/// The result of [`Partitioner::partition`]: records grouped by part, each part in the order of the
/// input. The records are in the partitioner's memory.
#[derive(Clone, Copy, Debug)]
pub struct Partitioned<'a, R> {
    records: &'a [R],
    regions: &'a Regions,
    len: usize,
}

/// The positions of the regions and of their next records, counted in records from the start of the first region.
#[derive(Debug)]
struct Regions {
    /// Region `i` begins at `begins[i]` and ends at `begins[i + 1]`. The list is one longer than there are parts.
    begins: Vec<u32>,
    /// The position of each part's next record.
    cursors: Vec<u32>,
}

/// How records reach their regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Scatter,
    Combine { run_bytes: usize },
}

impl Method {
    const fn for_batch(record_bytes: usize, parts: usize) -> Self {
        if record_bytes <= SCATTERED_BYTES {
            Self::Scatter
        } else if parts <= LONG_RUN_PARTS {
            Self::Combine { run_bytes: LONG_RUN_BYTES }
        } else {
            Self::Combine { run_bytes: SHORT_RUN_BYTES }
        }
    }

    /// The length in bytes of a part's run in the buffer.
    const fn buffer_bytes(self) -> usize {
        match self {
            Self::Scatter => 0,
            Self::Combine { run_bytes } => run_bytes,
        }
    }

    /// Regions begin and end at multiples of this number of records.
    const fn unit<R>(self) -> usize {
        match self {
            Self::Scatter => LINE_BYTES / size_of::<R>(),
            Self::Combine { run_bytes } => run_bytes / size_of::<R>(),
        }
    }
}

impl<R: Record> Partitioner<R> {
    /// A partitioner that has no memory yet.
    #[must_use]
    pub const fn new() -> Self {
        let regions = Regions { begins: Vec::new(), cursors: Vec::new() };
        Self { scratch: None, regions, record: core::marker::PhantomData }
    }

    /// A partitioner that uses the scratch memory of an earlier one, so that the pages of the memory are resident
    /// already.
    #[must_use]
    pub fn with_memory(memory: Option<Storage>) -> Self {
        Self { scratch: memory, ..Self::new() }
    }

    /// Returns the scratch memory, for use by another partitioner.
    #[must_use]
    pub fn into_memory(self) -> Option<Storage> {
        self.scratch
    }

    /// The bytes of scratch memory that the partitioner holds, usually as many as its largest batch so far needed.
    ///
    /// For a batch of `n` hashes in `p` parts, let `m` be `n / (p − 1)`, or `n` if there is one part. For each part,
    /// the batch needs the memory of at most `m + 6 √m` records, plus at most 1100 bytes. With 16 M hashes in 4096
    /// parts, a batch needs 4.5 bytes per hash for records of four bytes, and 8.9 bytes for records of eight bytes. In
    /// two parts, a batch needs about twice the size of its records. The end of a region, after its last record, is
    /// never written. If the system provides memory at the first write, as Linux does, this end takes only addresses,
    /// except in pages that also contain records. On Linux with the feature `std`, scratch memory of at least 4 MiB is
    /// counted in whole huge pages of 2 MiB.
    #[must_use]
    pub fn scratch_bytes(&self) -> usize {
        let regions = self.regions.begins.capacity() + self.regions.cursors.capacity();
        self.scratch.as_ref().map_or(0, Storage::memory_bytes) + regions * size_of::<u32>()
    }

    /// Bytes of scratch memory that a batch of `records` records in `parts` parts needs: the value of
    /// [`Partitioner::scratch_bytes`] after a new partitioner has grouped that batch.
    ///
    /// # Panics
    /// If `parts` is 0.
    #[must_use]
    pub const fn scratch_bytes_for(records: usize, parts: usize) -> usize {
        let regions = parts.saturating_mul(2 * size_of::<u32>()).saturating_add(size_of::<u32>());
        let piece_bytes = Self::piece_bytes_for(records, parts);
        Storage::memory_bytes_for(piece_bytes).saturating_add(regions)
    }

    /// The length in bytes of the piece of memory to pass to [`Partitioner::with_memory`] for a batch of `records`
    /// records in `parts` parts.
    ///
    /// # Panics
    /// If `parts` is 0.
    #[must_use]
    pub const fn piece_bytes_for(records: usize, parts: usize) -> usize {
        assert!(parts > 0, "a partition into 0 parts");
        let method = Method::for_batch(size_of::<R>().saturating_mul(records), parts);
        Scratch::for_batch::<R>(method, records, parts).bytes
    }

    /// Groups `hashes` into `parts` parts: `split` returns the part of a hash and the record to store for the hash.
    ///
    /// The caller must ensure that `split` returns the same part and record whenever it is called with the same hash.
    /// If all parts have about the same size (the last part can be smaller), `split` is called once per hash. A
    /// monotone reduction ([`crate::range`]) of uniform hashes makes such parts. If the parts are uneven, or
    /// keys repeat, `split` is called up to three times per hash.
    ///
    /// Cost, on a Sapphire Rapids core: 1.3 ns per hash in a batch of 64 K hashes, and 1.8 to 3.2 ns in a batch of 16 M
    /// hashes with up to 4096 parts.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the system refuses the scratch memory. The partitioner can be used again.
    ///
    /// # Panics
    /// If `parts` is not in `1..=`[`MAX_PARTS`], if there are more than [`MAX_HASHES`] hashes, or if `split` returns a
    /// part that is not below `parts`. If `split` returns different parts for the same hash, the call panics or its
    /// result is unspecified.
    pub fn partition<F>(
        &mut self,
        hashes: &[KeyHash],
        parts: usize,
        split: F,
    ) -> Result<Partitioned<'_, R>, OutOfMemory>
    where
        F: Fn(u64) -> (usize, R),
    {
        self.partition_each(hashes, 1, parts, |hash| [split(hash)])
    }

    /// Like [`Partitioner::partition`], but a hash has several records. `each` is their number, and `split` returns
    /// them with their parts. The caller must ensure that `split` returns this number of records for every hash.
    /// Otherwise the call panics or its result is unspecified.
    ///
    /// # Errors
    /// As [`Partitioner::partition`].
    ///
    /// # Panics
    /// As [`Partitioner::partition`], where [`MAX_HASHES`] bounds the number of records.
    pub fn partition_each<F, I>(
        &mut self,
        hashes: &[KeyHash],
        each: usize,
        parts: usize,
        split: F,
    ) -> Result<Partitioned<'_, R>, OutOfMemory>
    where
        F: Fn(u64) -> I,
        I: IntoIterator<Item = (usize, R)>,
    {
        let len = hashes.len().saturating_mul(each);
        let method = Method::for_batch(size_of::<R>().saturating_mul(len), parts);
        self.partition_by(method, hashes, len, parts, split)
    }

    fn partition_by<I: IntoIterator<Item = (usize, R)>>(
        &mut self,
        method: Method,
        hashes: &[KeyHash],
        len: usize,
        parts: usize,
        split: impl Fn(u64) -> I,
    ) -> Result<Partitioned<'_, R>, OutOfMemory> {
        assert!((1..=MAX_PARTS).contains(&parts), "{parts} parts, not 1 to {MAX_PARTS}");
        assert!(len <= MAX_HASHES, "{len} records, more than {MAX_HASHES}");
        let hashes = KeyHash::slice_as_raw(hashes);
        let unit = method.unit::<R>();
        let Scratch { region, buffer_bytes, bytes } = Scratch::for_batch::<R>(method, len, parts);
        let scratch = grown(&mut self.scratch, bytes)?;
        let (buffer, records) = scratch.split_at_mut(buffer_bytes);
        let (buffer, records) = (records_of_bytes(buffer), records_of_bytes(records));

        self.regions.reserve(parts)?;
        self.regions.guess(region);
        if !append(method, hashes, &split, buffer, records, &mut self.regions) {
            self.regions.count(hashes, &split, unit);
            let fits = append(method, hashes, &split, buffer, records, &mut self.regions);
            assert!(fits, "`split` gives different parts for one hash");
        }
        Ok(Partitioned { records, regions: &self.regions, len })
    }
}

impl<R: Record> Default for Partitioner<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, R: Record> Partitioned<'a, R> {
    /// The records of one part, in the order of the input.
    ///
    /// # Panics
    /// If `index` is not below [`Partitioned::parts`].
    #[inline]
    #[must_use]
    pub fn part(&self, index: usize) -> &'a [R] {
        &self.records[self.regions.begins[index] as usize..self.regions.cursors[index] as usize]
    }

    /// The number of parts.
    #[inline]
    #[must_use]
    pub fn parts(&self) -> usize {
        self.regions.cursors.len()
    }

    /// The number of records in all parts.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no records.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The parts, one after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [R]> + use<'a, R> {
        let grouped = *self;
        (0..self.parts()).map(move |index| grouped.part(index))
    }
}

/// How the scratch memory of a batch is laid out.
struct Scratch {
    /// The length of a region in records.
    region: usize,
    /// Bytes of the runs of all parts. The runs come first in the memory.
    buffer_bytes: usize,
    /// Total bytes.
    bytes: usize,
}

impl Scratch {
    const fn for_batch<R>(method: Method, hashes: usize, parts: usize) -> Self {
        let region = guessed_region(hashes, parts, method.unit::<R>());
        let buffer_bytes = parts.saturating_mul(method.buffer_bytes());
        let record_bytes = parts.saturating_mul(region).saturating_mul(size_of::<R>());
        Self { region, buffer_bytes, bytes: buffer_bytes.saturating_add(record_bytes) }
    }
}

/// The guessed length of a region in records: the mean length of a part plus six standard deviations, in whole units
/// ([`Method::unit`]). This length suffices unless the parts are uneven. A monotone reduction of uniform hashes makes
/// all parts about equally large except the last, which can be almost empty, so the mean is over the other parts. One
/// unit is added for [`Regions::count`], which rounds the length of each part up by less than a unit. The number of
/// units is odd, since regions whose distance is a power of two would share cache sets: on Sapphire Rapids, 1024 parts
/// of 64 records of four bytes take 2.9 ns per key with an even number of units, and 1.8 ns with an odd number.
const fn guessed_region(hashes: usize, parts: usize, unit: usize) -> usize {
    let mean = if parts == 1 { hashes } else { hashes.div_ceil(parts - 1) };
    let records = mean.saturating_add(6 * mean.isqrt() + unit);
    (records.div_ceil(unit) | 1).saturating_mul(unit)
}

impl Regions {
    /// Makes the lists as long as `parts` requires, with all positions 0.
    fn reserve(&mut self, parts: usize) -> Result<(), OutOfMemory> {
        let refused = OutOfMemory { bytes: (parts + 1) as u64 * size_of::<u32>() as u64 };
        for (list, len) in [(&mut self.begins, parts + 1), (&mut self.cursors, parts)] {
            list.clear();
            list.try_reserve_exact(len).map_err(|_| refused)?;
            list.resize(len, 0);
        }
        Ok(())
    }

    /// Gives all regions the same length, `region` records.
    fn guess(&mut self, region: usize) {
        for (begin, at) in self.begins.iter_mut().zip((0usize..).step_by(region)) {
            *begin = at as u32;
        }
    }

    /// Gives each region the length of its part, rounded up to whole units. Counts the parts' records first, which
    /// costs 1.1 ns per key on Sapphire Rapids.
    fn count<R, I>(&mut self, hashes: &[u64], split: &impl Fn(u64) -> I, unit: usize)
    where
        I: IntoIterator<Item = (usize, R)>,
    {
        let counts = &mut self.cursors;
        counts.fill(0);
        for hash in hashes {
            for (part, _) in split(*hash) {
                counts[part] += 1;
            }
        }
        for (part, count) in counts.iter().enumerate() {
            self.begins[part + 1] = self.begins[part] + count.next_multiple_of(unit as u32);
        }
    }
}

/// Returns the scratch memory. If it has fewer than `bytes` bytes, replaces it first: frees the old memory, and then
/// requests new memory.
fn grown(scratch: &mut Option<Storage>, bytes: usize) -> Result<&mut Storage, OutOfMemory> {
    if scratch.as_ref().is_none_or(|scratch| scratch.len() < bytes) {
        *scratch = None;
        *scratch = Some(Storage::zeroed(bytes, true)?);
    }
    Ok(scratch.as_mut().unwrap())
}

/// Appends the records of every hash to their regions. Returns false if a record does not fit into its region.
fn append<R: Record, I: IntoIterator<Item = (usize, R)>>(
    method: Method,
    hashes: &[u64],
    split: &impl Fn(u64) -> I,
    buffer: &mut [R],
    records: &mut [R],
    regions: &mut Regions,
) -> bool {
    let parts = regions.cursors.len();
    regions.cursors.copy_from_slice(&regions.begins[..parts]);
    let (cursors, ends) = (&mut regions.cursors[..parts], &regions.begins[1..][..parts]);
    match method {
        Method::Scatter => scatter(hashes, split, records, cursors, ends),
        Method::Combine { run_bytes } => match run_bytes / size_of::<R>() {
            16 => combine::<R, I, 16>(hashes, split, buffer, records, cursors, ends),
            32 => combine::<R, I, 32>(hashes, split, buffer, records, cursors, ends),
            64 => combine::<R, I, 64>(hashes, split, buffer, records, cursors, ends),
            run => unreachable!("no runs of {run} records"),
        },
    }
}

/// Stores each record directly in its region. Returns false as soon as a record does not fit.
fn scatter<R: Record, I: IntoIterator<Item = (usize, R)>>(
    hashes: &[u64],
    split: &impl Fn(u64) -> I,
    records: &mut [R],
    cursors: &mut [u32],
    ends: &[u32],
) -> bool {
    let ends = &ends[..cursors.len()];
    for hash in hashes {
        for (part, record) in split(*hash) {
            let at = cursors[part];
            if at == ends[part] {
                return false;
            }
            records[at as usize] = record;
            cursors[part] = at + 1;
        }
    }
    true
}

/// Stores each record in the run of its part, and copies full runs to their regions. A record's index in its run
/// follows from the cursor, since regions begin and end at multiples of a run's length. Returns false if a record does
/// not fit into its region: at once if a full run does not fit, and at the end if a run that is not full does not fit.
fn combine<R: Record, I: IntoIterator<Item = (usize, R)>, const RUN: usize>(
    hashes: &[u64],
    split: &impl Fn(u64) -> I,
    buffer: &mut [R],
    records: &mut [R],
    cursors: &mut [u32],
    ends: &[u32],
) -> bool {
    let runs = &mut buffer.as_chunks_mut::<RUN>().0[..cursors.len()];
    let records = records.as_chunks_mut::<RUN>().0;
    let streamer = Streamer::new();
    for hash in hashes {
        for (part, record) in split(*hash) {
            let at = cursors[part];
            runs[part][at as usize % RUN] = record;
            cursors[part] = at + 1;
            if at as usize % RUN == RUN - 1 {
                if at >= ends[part] {
                    return false;
                }
                streamer.copy(&runs[part], &mut records[at as usize / RUN]);
            }
        }
    }
    drop(streamer);
    // Copies the records of the runs that are not full.
    for (part, run) in runs.iter().enumerate() {
        let at = cursors[part];
        if at > ends[part] {
            return false;
        }
        let left = at as usize % RUN;
        if left > 0 {
            records[at as usize / RUN][..left].copy_from_slice(&run[..left]);
        }
    }
    true
}

#[cfg(test)]
mod tests;
