//! Reads blocks of whole lines.

use super::split::for_each_line;
use super::{Inputs, Keys, Line, Progress, SourceError};
use crate::failure::Unreadable;
use memchr::memrchr;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use trommel::{Hasher, KeyHash};

/// The size of a buffer. A line of more than half this size can need a larger buffer. A block of this size fits into
/// the caches of the cores that read and hash it.
const BLOCK_BYTES: usize = 1 << 18;
/// Lines of fewer bytes than this are accepted; a line of this number of bytes or more can be refused. Without this
/// limit, input without a line feed, such as `/dev/zero`, would take all memory.
const MOST_LINE_BYTES: usize = 1 << 28;

/// The lines of all inputs, in blocks. A block is returned as soon as a read has delivered the end of a line, so that
/// keys that arrive slowly are answered at once.
pub(crate) struct LineBlocks {
    inputs: Inputs,
    progress: Arc<Progress>,
    /// The index of the input being read.
    input: usize,
    reader: Option<Box<dyn Read + Send>>,
    /// The beginning of a line whose end has not been read yet.
    unfinished: Vec<u8>,
    /// Whether the reader has reported the end of the input. The reader must not be called after that, since a terminal
    /// would wait for more input.
    at_end: bool,
    /// Whether no block of the input has been returned yet.
    at_begin: bool,
    spare: Arc<SpareBuffers>,
    failed: bool,
}

/// Whole lines of one input, with their line feeds; the last line of an input may have none.
pub(crate) struct LineBlock {
    buffer: Vec<u8>,
    /// The lines of this block are the first `len` bytes of `buffer`.
    len: usize,
    input: usize,
    progress: Arc<Progress>,
    spare: Arc<SpareBuffers>,
}

/// Buffers of dropped blocks, for reuse.
#[derive(Default)]
struct SpareBuffers(Mutex<Vec<Vec<u8>>>);

impl SpareBuffers {
    fn take(&self) -> Vec<u8> {
        let mut buffers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.pop().unwrap_or_else(|| vec![0; BLOCK_BYTES])
    }

    fn give_back(&self, buffer: Vec<u8>) {
        // A buffer that was enlarged for a long line is not kept.
        if buffer.len() == BLOCK_BYTES {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
    }
}

impl LineBlocks {
    pub(crate) fn new(inputs: Inputs, progress: Arc<Progress>) -> Self {
        Self {
            inputs,
            progress,
            input: 0,
            reader: None,
            unfinished: Vec::new(),
            at_end: false,
            at_begin: true,
            spare: Arc::default(),
            failed: false,
        }
    }

    /// The next block of the current input, which `reader` reads; `None` at the end of the input.
    fn next_of(&mut self, reader: &mut dyn Read) -> Result<Option<LineBlock>, SourceError> {
        if self.at_end {
            return Ok(None);
        }
        let mut buffer = self.spare.take();
        let mut len = self.unfinished.len();
        if buffer.len() < len * 2 {
            buffer.resize(len * 2, 0);
        }
        buffer[..len].copy_from_slice(&self.unfinished);
        self.unfinished.clear();
        loop {
            if len == buffer.len() {
                if len >= MOST_LINE_BYTES {
                    return Err(self.error(Unreadable::LongLine { limit_bytes: MOST_LINE_BYTES }));
                }
                buffer.resize(len * 2, 0);
            }
            let read = match reader.read(&mut buffer[len..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| self.error(Unreadable::System(error)))?,
            };
            self.progress.add_bytes(read);
            let end = if read == 0 {
                self.at_end = true;
                len
            } else if let Some(at) = memrchr(b'\n', &buffer[len..len + read]) {
                let end = len + at + 1;
                self.unfinished.extend_from_slice(&buffer[end..len + read]);
                end
            } else {
                len += read;
                continue;
            };
            let (progress, spare) = (Arc::clone(&self.progress), Arc::clone(&self.spare));
            let block = LineBlock { buffer, len: end, input: self.input, progress, spare };
            if self.at_begin
                && block
                    .bytes()
                    .split(|byte| *byte == b'\n')
                    .next()
                    .is_some_and(|line| line.ends_with(b"\r"))
            {
                self.progress.add_carriage_returns(self.input);
            }
            self.at_begin = false;
            return Ok((end > 0).then_some(block));
        }
    }

    fn error(&self, why: Unreadable) -> SourceError {
        SourceError { input: self.input, line: Line::Next, why }
    }
}

impl Iterator for LineBlocks {
    type Item = Result<Keys, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let input = self.inputs.get(self.input)?;
            let opened = self.reader.take().map_or_else(|| input.open(), Ok);
            let block = match opened {
                Ok(mut reader) => {
                    let block = self.next_of(&mut *reader);
                    self.reader = Some(reader);
                    block
                }
                Err(error) => {
                    let why = Unreadable::System(error);
                    Err(SourceError { input: self.input, line: Line::None, why })
                }
            };
            match block {
                Ok(Some(block)) => return Some(Ok(Keys::Lines(block))),
                Ok(None) => {
                    (self.reader, self.at_end, self.at_begin) = (None, false, true);
                    self.input += 1;
                }
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl LineBlock {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    pub(crate) fn input(&self) -> usize {
        self.input
    }

    /// Calls `f` with each line, without its line feed.
    pub(crate) fn for_each(&self, f: impl FnMut(&[u8])) {
        for_each_line(self.bytes(), f);
    }

    pub(crate) fn hash_all(&self, hasher: &Hasher, hashes: &mut Vec<KeyHash>) {
        hashes.clear();
        self.for_each(|line| hashes.push(hasher.hash_bytes(line)));
        self.progress.add_keys(self.input, hashes.len());
    }

    /// Adds the number of lines to the [`Progress`].
    pub(crate) fn count(&self) {
        let mut lines = 0;
        self.for_each(|_| lines += 1);
        self.progress.add_keys(self.input, lines);
    }
}

impl Drop for LineBlock {
    fn drop(&mut self) {
        self.spare.give_back(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns at most `self.1` bytes per read.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.0.len().min(self.1).min(buffer.len());
            let (piece, rest) = self.0.split_at(len);
            buffer[..len].copy_from_slice(piece);
            self.0 = rest;
            Ok(len)
        }
    }

    fn lines(text: &[u8], at_a_time: usize) -> Vec<Vec<u8>> {
        let inputs = Inputs::stdin();
        let progress = inputs.progress();
        let mut blocks = LineBlocks::new(inputs, Arc::clone(&progress));
        let mut reader = Pieces(text, at_a_time);
        let mut lines = Vec::new();
        while let Some(block) = blocks.next_of(&mut reader).unwrap() {
            block.for_each(|line| lines.push(line.to_vec()));
            block.count();
        }
        assert_eq!(progress.keys_of(0), lines.len() as u64);
        assert_eq!(progress.bytes(), text.len() as u64);
        lines
    }

    #[test]
    fn lines_do_not_depend_on_the_size_of_reads() {
        let long = [b"ab\n".repeat(3), vec![b'x'; 3 * BLOCK_BYTES], b"\ny".to_vec()].concat();
        for text in [&b""[..], b"\n", b"\n\n", b"a", b"a\n", b"a\nb", b"\na\r\n\xff\0b\n", &long] {
            let mut expected: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
            if expected.last().is_some_and(|last| last.is_empty()) {
                expected.pop();
            }
            for at_a_time in [1, 2, 3, 1000, BLOCK_BYTES, usize::MAX] {
                if at_a_time < 1000 && text.len() > 1000 {
                    continue;
                }
                assert!(lines(text, at_a_time) == expected, "{} bytes", text.len());
            }
        }
    }

    /// A reader that returns all bytes and then an error.
    struct Failing<'a>(&'a [u8]);

    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the disk has failed")),
                read => Ok(read),
            }
        }
    }

    #[test]
    fn an_error_comes_after_all_complete_lines_and_names_the_next_line() {
        for (text, line) in
            [(&b""[..], 1), (b"anvil", 1), (b"anvil\nfor", 2), (b"anvil\nforge\n", 3)]
        {
            let inputs = Inputs::stdin();
            let progress = inputs.progress();
            let mut blocks = LineBlocks::new(inputs.clone(), Arc::clone(&progress));
            let mut reader = Failing(text);
            let error = loop {
                match blocks.next_of(&mut reader) {
                    Ok(block) => block.unwrap().count(),
                    Err(error) => break error,
                }
            };
            let failure = inputs.failure(error, &progress).to_string();
            assert_eq!(failure, format!("standard input: line {line}: the disk has failed"));
        }
    }
}
