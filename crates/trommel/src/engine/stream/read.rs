//! Batches of keys from a reader.

use alloc::vec;
use alloc::vec::Vec;
use std::io::{self, BufRead, Read};
use trommel_base::storage::collected;

/// Batches of 64-bit integers from a reader. The reader's bytes are little-endian integers of 64 bits, without
/// separators.
///
/// ```
/// use trommel::engine::IntegerBatches;
/// let bytes: Vec<u8> = [1u64, 2, 3].iter().flat_map(|key| key.to_le_bytes()).collect();
/// let batches: Vec<_> = IntegerBatches::new(&bytes[..], 2).collect::<Result<_, _>>()?;
/// assert_eq!(batches, [vec![1, 2], vec![3]]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct IntegerBatches<R> {
    reader: R,
    bytes: Vec<u8>,
    is_done: bool,
    /// An error that is held back until the keys that were read before it are returned.
    error: Option<io::Error>,
}

impl<R: Read> IntegerBatches<R> {
    /// Makes batches of `keys` keys. The last batch can be shorter. If `keys` is 0, a batch has one key; if `keys` is
    /// more than 2^20, a batch has 2^20 keys. The reader needs no buffer of its own, since this type has a buffer for
    /// the bytes of a batch. `new` ends the program if the system refuses the memory of that buffer.
    ///
    /// ```
    /// use trommel::engine::IntegerBatches;
    /// let file = 1001u64.to_le_bytes();
    /// let mut batches = IntegerBatches::new(&file[..], 100);
    /// assert_eq!(batches.next().unwrap()?, [1001]);
    /// assert!(batches.next().is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn new(reader: R, keys: usize) -> Self {
        let bytes = vec![0; keys.clamp(1, MOST_KEYS) * KEY_BYTES];
        Self { reader, bytes, is_done: false, error: None }
    }
}

const KEY_BYTES: usize = size_of::<u64>();
const MOST_KEYS: usize = 1 << 20;

impl<R: Read> Iterator for IntegerBatches<R> {
    type Item = io::Result<Vec<u64>>;

    /// Returns the next batch. If the reader fails, or ends within a key, the keys that were read completely are first
    /// returned as a batch, if there are any. Then the error is returned, once. If the system refuses the memory for a
    /// batch, the keys of the batch are lost, an error is returned, and nothing more is read.
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return self.error.take().map(Err);
        }
        let mut filled = 0;
        while filled < self.bytes.len() {
            match self.reader.read(&mut self.bytes[filled..]) {
                Ok(0) => {
                    self.is_done = true;
                    break;
                }
                Ok(bytes) if bytes > self.bytes.len() - filled => {
                    self.is_done = true;
                    let why = "the reader returned more bytes than it was asked for";
                    self.error = Some(io::Error::new(io::ErrorKind::InvalidData, why));
                    break;
                }
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_done = true;
                    self.error = Some(error);
                    break;
                }
            }
        }
        let (keys, rest) = self.bytes[..filled].as_chunks();
        if !rest.is_empty() && self.error.is_none() {
            let why = alloc::format!(
                "{} bytes after the last whole key of {KEY_BYTES} bytes",
                rest.len()
            );
            self.error = Some(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        if keys.is_empty() {
            return self.error.take().map(Err);
        }
        let numbers = keys.iter().map(|key| u64::from_le_bytes(*key));
        let batch = collected(keys.len(), numbers);
        self.is_done |= batch.is_err();
        Some(batch.map_err(|_| io::ErrorKind::OutOfMemory.into()))
    }
}

/// Batches of lines from a reader. A key is the bytes of a line without its terminator, `\n` or `\r\n`. The bytes need
/// not be UTF-8.
///
/// ```
/// use trommel::engine::LineBatches;
/// let batches: Vec<_> = LineBatches::new(&b"anvil\nbell\r\n\nlast"[..], 10).collect::<Result<_, _>>()?;
/// let keys: Vec<&[u8]> = batches.iter().flat_map(|lines| lines.iter()).collect();
/// assert_eq!(keys, [&b"anvil"[..], b"bell", b"", b"last"]);
/// assert_eq!(batches.len(), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct LineBatches<R> {
    reader: R,
    batch_bytes: usize,
    is_done: bool,
    /// An error that is held back until the lines that were read before it are returned.
    error: Option<io::Error>,
}

/// A batch of [`LineBatches`]: lines of a reader, in one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    bytes: Vec<u8>,
    /// For each line, the index in `bytes` at which it ends. `bytes` contains no line terminators.
    ends: Vec<usize>,
}

impl<R: BufRead> LineBatches<R> {
    /// Makes batches of lines. The lines of a batch have at least `batch_bytes` bytes together, with each terminator
    /// counted as one byte; only the last batch, at the end of the input or before an error, can have fewer. A line is
    /// never split, so a batch with a very long line takes at least as much memory as that line. If the system refuses
    /// the memory of a batch, the program ends.
    ///
    /// ```
    /// use trommel::engine::LineBatches;
    /// let mut batches = LineBatches::new(&b"anvil\nforge\n"[..], 1);
    /// assert_eq!(batches.next().unwrap()?.iter().next(), Some(&b"anvil"[..]));
    /// assert_eq!(batches.count(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn new(reader: R, batch_bytes: usize) -> Self {
        Self { reader, batch_bytes, is_done: false, error: None }
    }
}

impl<R: BufRead> Iterator for LineBatches<R> {
    type Item = io::Result<Lines>;

    /// Returns the next batch. If the reader fails, the lines that were read completely are first returned as a batch,
    /// if there are any. Then the error is returned, once. The line within which the reader failed is dropped, since
    /// its rest is unknown.
    fn next(&mut self) -> Option<Self::Item> {
        let mut lines = Lines::default();
        while !self.is_done
            && (lines.is_empty() || lines.bytes.len() + lines.len() < self.batch_bytes)
        {
            match self.reader.read_until(b'\n', &mut lines.bytes) {
                Ok(0) => self.is_done = true,
                Ok(_) => lines.end_line(),
                Err(error) => {
                    self.is_done = true;
                    self.error = Some(error);
                    lines.drop_unfinished();
                }
            }
        }
        if lines.is_empty() {
            return self.error.take().map(Err);
        }
        Some(Ok(lines))
    }
}

impl Lines {
    /// The number of lines.
    ///
    /// ```
    /// use trommel::engine::LineBatches;
    /// let lines = LineBatches::new(&b"anvil\n\nforge"[..], 100).next().unwrap()?;
    /// assert_eq!(lines.len(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no lines.
    ///
    /// ```
    /// use trommel::engine::{LineBatches, Lines};
    /// assert!(Lines::default().is_empty());
    /// assert!(!LineBatches::new(&b"anvil"[..], 100).next().unwrap()?.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The lines, in order.
    ///
    /// ```
    /// use trommel::engine::LineBatches;
    /// let lines = LineBatches::new(&b"anvil\nforge\r\n"[..], 100).next().unwrap()?;
    /// assert!(lines.iter().eq([&b"anvil"[..], b"forge"]));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = core::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }

    /// The offset at which the next line begins.
    fn next_begin(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Removes the bytes of a line that has not ended.
    fn drop_unfinished(&mut self) {
        self.bytes.truncate(self.next_begin());
    }

    /// Removes the terminator of the line that was read last, and records where the line ends.
    fn end_line(&mut self) {
        let begin = self.next_begin();
        for end in [b'\n', b'\r'] {
            if self.bytes.len() > begin && self.bytes.ends_with(&[end]) {
                self.bytes.pop();
            } else {
                break;
            }
        }
        self.ends.push(self.bytes.len());
    }
}
