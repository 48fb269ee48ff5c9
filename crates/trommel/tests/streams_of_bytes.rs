//! Filters written to faulty writers, and keys read from faulty readers: an error is returned as it is, at whatever
//! byte it occurs. The filter stays as it was. Keys and filters are read without taking more bytes from the stream than
//! were asked for; for keys in lines, at most one buffer more.

use std::io::{self, ErrorKind, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use trommel::container::{Frozen, HEADER_BYTES, Header};
use trommel::{
    AnyFilter, BloomFilter, CountingBloomFilter, CuckooFilter, FilterKind, FilterSpec, FilterView,
    FormatError, Hasher, Insert, KeyHash, QuotientFilter,
};
use trommel_testkit::streams::mix;

/// Small filters of every kind, and of those options that add a section to the bytes.
fn filters() -> Vec<AnyFilter> {
    let hashes: Vec<KeyHash> = (0..20).map(|key| KeyHash::from_raw(mix(key))).collect();
    let specs = FilterKind::ALL.iter().map(|kind| FilterSpec::new(*kind).keys(20));
    let compact = FilterSpec::new(FilterKind::CountingBloom).keys(2).compact(true);
    let multiset = FilterSpec::new(FilterKind::Cuckoo).keys(60).multiset(true);
    let mut filters: Vec<AnyFilter> =
        specs.chain([compact, multiset]).map(|spec| spec.build().unwrap()).collect();
    for filter in &mut filters {
        filter.insert_batch(&hashes).unwrap();
    }
    // Inserts more copies of a key than its two buckets have slots, so at least one copy is in the overflow area.
    filters.last_mut().unwrap().insert_batch(&[hashes[0]; 8]).unwrap();
    filters
}

/// What a writer or a reader does when it is called.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Takes or gives at most this number of bytes.
    Move(usize),
    Fail(ErrorKind),
}

/// A writer for which the closure `act` decides what each call does.
struct Scripted<F> {
    taken: Vec<u8>,
    calls: usize,
    act: F,
}

impl<F: FnMut(usize, usize) -> Act> Scripted<F> {
    /// `act` is given the number of the call, from 1 on, and the number of bytes taken before the call.
    fn new(act: F) -> Self {
        Self { taken: Vec::new(), calls: 0, act }
    }
}

impl<F: FnMut(usize, usize) -> Act> Write for Scripted<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        match (self.act)(self.calls, self.taken.len()) {
            Act::Move(most) => {
                let count = bytes.len().min(most);
                self.taken.extend_from_slice(&bytes[..count]);
                Ok(count)
            }
            Act::Fail(kind) => Err(kind.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Most kinds of errors that the standard library names. `Interrupted` is left out, since a call that fails with it is
/// repeated.
const ERRORS: &[ErrorKind] = &[
    ErrorKind::NotFound,
    ErrorKind::PermissionDenied,
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionReset,
    ErrorKind::HostUnreachable,
    ErrorKind::NetworkUnreachable,
    ErrorKind::ConnectionAborted,
    ErrorKind::NotConnected,
    ErrorKind::AddrInUse,
    ErrorKind::AddrNotAvailable,
    ErrorKind::NetworkDown,
    ErrorKind::BrokenPipe,
    ErrorKind::AlreadyExists,
    ErrorKind::WouldBlock,
    ErrorKind::NotADirectory,
    ErrorKind::IsADirectory,
    ErrorKind::DirectoryNotEmpty,
    ErrorKind::ReadOnlyFilesystem,
    ErrorKind::StaleNetworkFileHandle,
    ErrorKind::InvalidInput,
    ErrorKind::InvalidData,
    ErrorKind::TimedOut,
    ErrorKind::WriteZero,
    ErrorKind::StorageFull,
    ErrorKind::NotSeekable,
    ErrorKind::QuotaExceeded,
    ErrorKind::FileTooLarge,
    ErrorKind::ResourceBusy,
    ErrorKind::ExecutableFileBusy,
    ErrorKind::Deadlock,
    ErrorKind::TooManyLinks,
    ErrorKind::ArgumentListTooLong,
    ErrorKind::Unsupported,
    ErrorKind::UnexpectedEof,
    ErrorKind::OutOfMemory,
    ErrorKind::Other,
];

#[test]
fn a_slow_and_interrupted_writer_gets_all_bytes_and_no_more() {
    for filter in filters() {
        let bytes = filter.to_bytes();
        for most in [1, 2, 7, 127, 128, 129, usize::MAX] {
            let mut slow = Scripted::new(|call, _| match call % 3 {
                0 => Act::Fail(ErrorKind::Interrupted),
                _ => Act::Move(most),
            });
            filter.write_to(&mut slow).unwrap();
            assert!(slow.taken == bytes, "{:?}, {most} at a time", filter.kind());
        }
    }
}

#[test]
fn a_writer_that_fails_at_any_byte_has_the_bytes_before_it() {
    for filter in filters() {
        let (before, bytes) = (filter.clone(), filter.to_bytes());
        for at in 0..bytes.len() {
            let kind = ERRORS[at % ERRORS.len()];
            let mut failing =
                Scripted::new(
                    |_, taken| {
                        if taken == at { Act::Fail(kind) } else { Act::Move(at - taken) }
                    },
                );
            let error = filter.write_to(&mut failing).unwrap_err();
            assert_eq!(error.kind(), kind, "at byte {at}");
            assert!(failing.taken == bytes[..at]);
            // A reader refuses the part that was written.
            let read = AnyFilter::from_bytes(&failing.taken);
            assert!(matches!(read, Err(FormatError::Truncated { got, .. }) if got == at as u64));
        }
        assert!(filter == before);
    }
}

#[test]
fn an_error_of_a_writer_is_returned_at_once() {
    for filter in filters() {
        for kind in ERRORS {
            for at in [0, 1, HEADER_BYTES, HEADER_BYTES + 1] {
                let mut failing = Scripted::new(|_, taken| {
                    if taken == at { Act::Fail(*kind) } else { Act::Move(at - taken) }
                });
                assert_eq!(filter.write_to(&mut failing).unwrap_err().kind(), *kind);
                // One call for each part (header, payload) that has bytes before the error, and the call that failed.
                let parts = usize::from(at > 0) + usize::from(at > HEADER_BYTES);
                assert_eq!(failing.calls, parts + 1);
            }
        }
    }
}

#[test]
fn a_writer_that_takes_nothing_is_an_error() {
    for filter in filters() {
        for at in [0, 1, HEADER_BYTES, HEADER_BYTES + 1] {
            let mut stuck = Scripted::new(|_, taken| Act::Move(at - taken));
            assert_eq!(filter.write_to(&mut stuck).unwrap_err().kind(), ErrorKind::WriteZero);
            assert_eq!(stuck.taken.len(), at);
        }
    }
}

/// A writer must not return a larger number of bytes than it was given. If it does, the standard library panics.
#[test]
fn a_writer_that_breaks_its_contract_does_not_harm_the_filter() {
    struct TooMany;
    impl Write for TooMany {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len() + 1)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for filter in filters() {
        let before = filter.clone();
        let written = catch_unwind(AssertUnwindSafe(|| filter.write_to(TooMany)));
        assert!(!matches!(written, Ok(Ok(()))));
        assert!(filter == before);
    }
}

/// The filter types write by the same code as `AnyFilter`. This test checks that types of each family return the errors
/// of the writer.
#[test]
fn types_of_each_family_return_the_error_of_their_writer() {
    fn check<F: Frozen>(filter: &F) {
        for at in [0, HEADER_BYTES, filter.encoded_len() - 1] {
            let mut failing = Scripted::new(|_, taken| {
                if taken == at { Act::Fail(ErrorKind::StorageFull) } else { Act::Move(at - taken) }
            });
            let error = Frozen::write_to(filter, &mut failing).unwrap_err();
            assert_eq!((error.kind(), failing.taken.len()), (ErrorKind::StorageFull, at));
        }
    }
    check(&BloomFilter::with_capacity_and_fpr(10, 0.01).unwrap());
    check(&CountingBloomFilter::with_capacity_and_fpr(10, 0.01).unwrap());
    check(&QuotientFilter::with_capacity_and_fpr(10, 0.01).unwrap());
    check(&CuckooFilter::with_capacity_and_fpr(10, 0.03).unwrap());
    filters().iter().for_each(check);
    let header = Header {
        kind: FilterKind::Bloom,
        hasher: Hasher::xxh3(0),
        len: 0,
        parameters: [1, 8, 0, 0],
    };
    let mut full = [0; HEADER_BYTES + 7];
    let error = header.write_to(&[&[0; 4], &[0; 4]], &mut full[..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
}

/// The header of `bytes` with another payload length, and with the header checksum that fits this length.
fn with_payload_len(bytes: &[u8], payload_len: u64) -> Vec<u8> {
    let mut head = bytes[..HEADER_BYTES].to_vec();
    head[64..72].copy_from_slice(&payload_len.to_le_bytes());
    let checksum = Hasher::xxh3(0).hash_bytes(&head[..120]).raw();
    head[120..].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// A program that reads from a stream can parse the header alone. Parsing then fails, and the error has the length of
/// the whole filter.
#[test]
fn a_header_alone_states_the_length_of_its_filter() {
    for filter in filters() {
        let bytes = filter.to_bytes();
        let stated = |head: &[u8]| match FilterView::parse(head) {
            Err(FormatError::Truncated { need, got }) if got == HEADER_BYTES as u64 => need,
            other => panic!("a header alone gives {other:?}"),
        };
        let head = &bytes[..HEADER_BYTES];
        assert_eq!(stated(head), bytes.len() as u64);
        assert_eq!(stated(&with_payload_len(head, 1 << 60)), (1 << 60) + HEADER_BYTES as u64);
        assert_eq!(stated(&with_payload_len(head, u64::MAX)), u64::MAX);
        // A wrong payload length is refused, whether it is too small or too large.
        for claimed in [0, 1, 1 << 31, 1 << 47, 1 << 60, u64::MAX - 128, u64::MAX] {
            if claimed != (bytes.len() - HEADER_BYTES) as u64 {
                let forged =
                    [&with_payload_len(head, claimed)[..], &bytes[HEADER_BYTES..]].concat();
                assert!(
                    AnyFilter::from_bytes(&forged).is_err(),
                    "a payload length of {claimed} was accepted"
                );
            }
        }
    }
}

/// Frozen filters follow each other in a stream. After a filter was read, the reader is at the beginning of the next
/// filter.
#[test]
fn filters_are_read_one_after_the_other_from_a_stream() {
    let filters = filters();
    let mut stream = Vec::new();
    filters.iter().for_each(|filter| filter.write_to(&mut stream).unwrap());
    // After the filters, the stream goes on for ever.
    let mut reader = stream.as_slice().chain(io::repeat(0xA5));
    for filter in &filters {
        let mut bytes = vec![0; HEADER_BYTES];
        reader.read_exact(&mut bytes).unwrap();
        let Err(FormatError::Truncated { need, got }) = FilterView::parse(&bytes) else { panic!() };
        (&mut reader).take(need - got).read_to_end(&mut bytes).unwrap();
        assert!(AnyFilter::from_bytes(&bytes).as_ref() == Ok(filter));
    }
    let mut next = [0; HEADER_BYTES];
    reader.read_exact(&mut next).unwrap();
    assert!(matches!(FilterView::parse(&next), Err(FormatError::Magic { .. })));
}

#[cfg(feature = "parallel")]
mod keys {
    use super::{Act, ERRORS};
    use std::io::{self, BufReader, ErrorKind, Read};
    use trommel::engine::{IntegerBatches, LineBatches};

    /// A reader for which the closure `act` decides what each call does. `act` is given the number of the call, from 1
    /// on, and the number of bytes given before the call.
    struct Scripted<'b, F> {
        bytes: &'b [u8],
        given: usize,
        calls: usize,
        act: F,
    }

    impl<'b, F: FnMut(usize, usize) -> Act> Scripted<'b, F> {
        fn new(bytes: &'b [u8], act: F) -> Self {
            Self { bytes, given: 0, calls: 0, act }
        }
    }

    impl<F: FnMut(usize, usize) -> Act> Read for Scripted<'_, F> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.calls += 1;
            match (self.act)(self.calls, self.given) {
                Act::Move(most) => {
                    let rest = &self.bytes[self.given..];
                    let count = to.len().min(most).min(rest.len());
                    to[..count].copy_from_slice(&rest[..count]);
                    self.given += count;
                    Ok(count)
                }
                Act::Fail(kind) => Err(kind.into()),
            }
        }
    }

    fn integers() -> (Vec<u64>, Vec<u8>) {
        let keys: Vec<u64> = (0..25).collect();
        let bytes = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        (keys, bytes)
    }

    #[test]
    fn a_slow_and_interrupted_reader_gives_all_keys() {
        let (keys, bytes) = integers();
        let lines = b"anvil\nbellows\r\n\nforge";
        for most in [1, 3, 8, 100] {
            let act = |call: usize, _| match call % 3 {
                0 => Act::Fail(ErrorKind::Interrupted),
                _ => Act::Move(most),
            };
            let batches = IntegerBatches::new(Scripted::new(&bytes, act), 10);
            let read: Vec<Vec<u64>> = batches.collect::<Result<_, _>>().unwrap();
            assert_eq!(read.concat(), keys, "{most} at a time");
            assert_eq!(read[0].len(), 10);

            let reader = BufReader::with_capacity(4, Scripted::new(lines, act));
            let mut read = Vec::new();
            for batch in LineBatches::new(reader, 1) {
                read.extend(batch.unwrap().iter().map(<[u8]>::to_vec));
            }
            assert_eq!(read, [&b"anvil"[..], b"bellows", b"", b"forge"], "{most} at a time");
        }
    }

    /// The keys before the failure are returned, then the error is returned once, and the reader is not called again.
    #[test]
    fn a_reader_that_fails_at_any_byte_gives_the_keys_before_it() {
        let (keys, bytes) = integers();
        for at in 0..=bytes.len() {
            let kind = ERRORS[at % ERRORS.len()];
            let mut calls_after = 0;
            let reader = Scripted::new(&bytes, |_, given| {
                calls_after += usize::from(given == at);
                if given == at { Act::Fail(kind) } else { Act::Move(at - given) }
            });
            let (mut read, mut errors) = (Vec::new(), Vec::new());
            for batch in IntegerBatches::new(reader, 10) {
                match batch {
                    Ok(batch) => read.extend(batch),
                    Err(error) => errors.push(error.kind()),
                }
            }
            assert_eq!(read, keys[..at / 8], "at byte {at}");
            assert_eq!((errors, calls_after), (vec![kind], 1), "at byte {at}");
        }
    }

    #[test]
    fn a_reader_that_breaks_its_contract_is_an_error() {
        struct TooMany(usize);
        impl Read for TooMany {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                Ok(to.len() + self.0)
            }
        }
        for excess in [1, usize::MAX / 2] {
            let mut batches = IntegerBatches::new(TooMany(excess), 10);
            let error = batches.next().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert!(batches.next().is_none());
        }
    }

    /// An endless reader is read only as far as the batches that were asked for; for lines, at most one buffer further.
    #[test]
    fn an_endless_reader_gives_batches_of_the_length_asked_for() {
        struct Endless {
            given: usize,
        }
        impl Read for Endless {
            fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
                to.fill(b'\n');
                self.given += to.len();
                Ok(to.len())
            }
        }
        let mut endless = Endless { given: 0 };
        let mut batches = IntegerBatches::new(&mut endless, 1_000);
        for _ in 0..3 {
            assert_eq!(batches.next().unwrap().unwrap().len(), 1_000);
        }
        drop(batches);
        assert_eq!(endless.given, 3 * 8_000);

        let mut endless = Endless { given: 0 };
        let mut batches = LineBatches::new(BufReader::with_capacity(64, &mut endless), 1_000);
        for _ in 0..3 {
            assert_eq!(batches.next().unwrap().unwrap().len(), 1_000);
        }
        drop(batches);
        assert!(endless.given <= 3_000 + 64, "{} bytes were read", endless.given);
    }
}
