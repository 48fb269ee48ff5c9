//! A stream gives the same filter and answers as one batch, in bounded memory. A stream can end early in several ways.
#![cfg(feature = "parallel")]

use std::cell::RefCell;
use std::convert::Infallible;
use std::io::{self, BufReader, Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use trommel::engine::{
    Cancel, EngineError, IntegerBatches, KeyBatch, LineBatches, Lines, Progress, StreamError,
};
use trommel::{
    Bitmap, CuckooFilter, Engine, Filter, Hasher, Insert, KeyHash, QuotientFilter, SplitBlockBloom,
};

const KEYS: u64 = 100_000;

fn engine() -> Engine {
    Engine::builder().threads(2).build().unwrap()
}

fn batches(
    keys: u64,
    batch_keys: usize,
) -> impl Iterator<Item = Result<Vec<u64>, Infallible>> + Send + Clone {
    (0..keys).step_by(batch_keys).map(move |i| Ok((i..keys.min(i + batch_keys as u64)).collect()))
}

fn one_batch<F: Insert>(mut filter: F, keys: u64) -> F {
    let mut hashes = Vec::new();
    filter.hasher().hash_batch(&(0..keys).collect::<Vec<_>>(), &mut hashes);
    filter.insert_batch(&hashes).unwrap();
    filter
}

fn bloom() -> SplitBlockBloom {
    SplitBlockBloom::with_capacity_and_fpr(KEYS as usize, 0.01).unwrap()
}

/// Checks that the error's text is `text`, and that its `source` is the cause. The text has the number of keys.
fn assert_text_and_source(error: &StreamError<io::Error>, text: &str) {
    assert_eq!(error.to_string(), text);
    assert_eq!(std::error::Error::source(error).unwrap().to_string(), "torn");
}

#[test]
fn a_stream_gives_the_filter_of_one_batch() {
    let engine = engine();
    let expected = one_batch(bloom(), KEYS).to_bytes();
    for batch_keys in [7, 1000, 4096, KEYS as usize - 1, 2 * KEYS as usize] {
        for at_least in [0, 1, 10_000, usize::MAX] {
            let mut filter = bloom();
            let mut reports = Vec::new();
            let stream = engine.stream().keys_at_a_time(at_least);
            let done = stream
                .progress(|progress| reports.push(progress))
                .insert(&mut filter, batches(KEYS, batch_keys))
                .unwrap();
            assert!(
                filter.to_bytes() == expected,
                "{batch_keys} keys per batch, {at_least} at a time: the bytes differ"
            );
            assert_eq!((done.keys, done.batches), (KEYS, KEYS.div_ceil(batch_keys as u64)));
            assert_eq!(reports.last(), Some(&done));
            assert!(reports.is_sorted_by_key(|progress| (progress.keys, progress.batches)));
        }
    }
}

#[test]
fn answers_come_in_order_with_their_keys() {
    let filter = one_batch(bloom(), KEYS / 2);
    let mut next = 0;
    let done = engine()
        .stream()
        .contains(&filter, batches(KEYS, 3000), |keys: Vec<u64>, found: &Bitmap| {
            assert_eq!(keys[0], next);
            next += keys.len() as u64;
            assert_eq!(found.len(), keys.len());
            for (i, key) in keys.iter().enumerate() {
                assert_eq!(found.get(i), filter.contains(key));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!((done.keys, next), (KEYS, KEYS));
}

#[test]
fn a_stream_without_batches_inserts_nothing() {
    let mut filter = bloom();
    let done = engine().stream().insert(&mut filter, batches(0, 10)).unwrap();
    assert_eq!(done, Progress::default());
    assert!(filter.is_empty());
}

#[test]
fn keys_before_a_failure_are_inserted() {
    let failing = batches(KEYS, 1000).map(|batch| match batch {
        Ok(keys) if keys[0] == 7000 => Err("torn"),
        Ok(keys) => Ok(keys),
        Err(never) => match never {},
    });
    let mut filter = bloom();
    let error = engine().stream().insert(&mut filter, failing).unwrap_err();
    assert_eq!(error.to_string(), "the source or callback failed after 7000 keys");
    let StreamError::Failed { error: "torn", done } = error else { panic!("{error}") };
    assert_eq!((done.keys, done.batches), (7000, 7));
    assert!(filter.to_bytes() == one_batch(bloom(), 7000).to_bytes());
}

#[test]
fn a_full_filter_reports_how_many_keys_of_the_stream_were_inserted() {
    let engine = engine();
    for at_least in [1, 3000, usize::MAX] {
        let mut quotient = QuotientFilter::with_capacity_and_fpr(20_000, 0.001).unwrap();
        let stream = engine.stream().keys_at_a_time(at_least);
        let error = stream.insert(&mut quotient, batches(KEYS, 1000)).unwrap_err();
        let StreamError::Full { error, done } = error else { panic!("{error}") };
        assert_eq!(done.keys, error.inserted as u64);
        assert!((20_000..25_000).contains(&done.keys), "inserted: {done:?}");
        assert!((0..done.keys).all(|key| quotient.contains(&key)));
        let mut cuckoo = CuckooFilter::with_capacity_and_fpr(20_000, 0.001).unwrap();
        let stream = engine.stream().keys_at_a_time(at_least);
        let error = stream.insert(&mut cuckoo, batches(KEYS, 1000)).unwrap_err();
        let StreamError::Full { done, .. } = error else { panic!("{error}") };
        assert!((0..done.keys).all(|key| cuckoo.contains(&key)));
    }
}

#[test]
fn a_cancelled_stream_ends_although_its_source_is_endless() {
    let (engine, cancel) = (engine(), Cancel::new());
    let endless =
        (0u64..).map(|i| Ok::<_, Infallible>((i * 100..(i + 1) * 100).collect::<Vec<_>>()));
    let mut filter = bloom();
    let error = engine
        .stream()
        .keys_at_a_time(1)
        .cancel(&cancel)
        .progress(|progress| {
            if progress.batches == 10 {
                cancel.cancel();
            }
        })
        .insert(&mut filter, endless.clone())
        .unwrap_err();
    let StreamError::Cancelled { done } = error else { panic!("{error}") };
    assert_eq!((done.batches, done.keys, filter.len()), (10, 1000, 1000));
    // The stream below is cancelled before it begins.
    let answer = |_: Vec<u64>, _: &Bitmap| panic!("no batch is to be answered");
    let error = engine.stream().cancel(&cancel).contains(&filter, endless, answer).unwrap_err();
    assert_eq!(error.to_string(), "cancelled after 0 keys");
}

/// The reader is never far ahead of the consumer: the reader holds one batch, the thread that hashes holds one batch,
/// and at most two batches wait in each of the two queues. That makes six batches; the test allows eight.
#[test]
fn memory_is_bounded_by_a_few_batches() {
    let filter = one_batch(bloom(), KEYS);
    let read = AtomicU64::new(0);
    let endless = (0u64..).map(|i| {
        read.fetch_add(1, Ordering::Relaxed);
        Ok(vec![i])
    });
    let consumed = RefCell::new(0);
    let error = engine()
        .stream()
        .contains(&filter, endless, |_: Vec<u64>, _| {
            *consumed.borrow_mut() += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
            let ahead = read.load(Ordering::Relaxed) - *consumed.borrow();
            assert!(ahead <= 8, "{ahead} batches ahead");
            if *consumed.borrow() == 50 { Err("enough") } else { Ok(()) }
        })
        .unwrap_err();
    let StreamError::Failed { error: "enough", done } = error else { panic!("{error}") };
    assert_eq!(done.batches, 49);
}

#[test]
fn a_panic_of_the_source_reaches_the_caller() {
    let source = batches(KEYS, 1000).inspect(|batch| {
        assert!(batch.as_ref().is_ok_and(|keys| keys[0] < 5000), "a torn tape");
    });
    let mut filter = bloom();
    let stream = || engine().stream().insert(&mut filter, source);
    assert_eq!(panic_message(stream), "a torn tape");
}

/// A batch that panics when it is hashed.
struct Unhashable;

impl KeyBatch for Unhashable {
    fn hash_all(&self, _: &Hasher, _: &mut Vec<KeyHash>) {
        panic!("keys of nothing");
    }
}

/// If any of the threads panics, in inserts or in lookups, the caller panics with the same message.
#[test]
fn the_caller_gets_the_message_of_a_panic_in_any_thread_of_a_stream() {
    let torn = || {
        let source = |i| if i < 3 { Ok::<_, Infallible>(vec![i]) } else { panic!("block {i}") };
        (0u64..).map(source)
    };
    let unhashable = || (0..9).map(|_| Ok::<_, Infallible>(Unhashable));
    for threads in [1, 2] {
        let engine = Engine::builder().threads(threads).build().unwrap();
        let mut filter = bloom();
        let inserts = || engine.stream().insert(&mut filter, torn());
        assert_eq!(panic_message(inserts), "block 3");
        let inserts = || engine.stream().insert(&mut filter, unhashable());
        assert_eq!(panic_message(inserts), "keys of nothing");
        let lookups = || engine.stream().contains(&filter, torn(), |_, _| Ok(()));
        assert_eq!(panic_message(lookups), "block 3");
        let lookups = || engine.stream().contains(&filter, unhashable(), |_, _| Ok(()));
        assert_eq!(panic_message(lookups), "keys of nothing");
        let answer = |_: Vec<u64>, _: &Bitmap| panic!("answer {}", 0);
        let lookups = || engine.stream().contains(&filter, batches(KEYS, 10), answer);
        assert_eq!(panic_message(lookups), "answer 0");
    }
}

/// The message with which a call panics.
fn panic_message<T>(call: impl FnOnce() -> T) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else { panic!("no panic") };
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast_ref::<&str>().expect("payload is no text")).to_string(),
    }
}

#[test]
fn readers_give_integers_and_lines() {
    let bytes: Vec<u8> = (0..KEYS).flat_map(u64::to_le_bytes).collect();
    let mut filter = bloom();
    // The reader's buffer size, 13 bytes, is not a multiple of the key size.
    let reader = BufReader::with_capacity(13, Cursor::new(&bytes));
    let done = engine().stream().insert(&mut filter, IntegerBatches::new(reader, 1000)).unwrap();
    assert_eq!((done.keys, done.batches), (KEYS, KEYS / 1000));
    assert!(filter.to_bytes() == one_batch(bloom(), KEYS).to_bytes());

    let text: String = (0..1000).map(|i| format!("key {i}{}", ["\n", "\r\n"][i % 2])).collect();
    let mut filter = bloom();
    let lines = LineBatches::new(text.as_bytes(), 100);
    let done = engine().stream().insert(&mut filter, lines).unwrap();
    assert_eq!(done.keys, 1000);
    assert!((0..1000).all(|i| filter.contains(&format!("key {i}"))));
    assert!(LineBatches::new(&b""[..], 10).next().is_none());
    let many: Vec<_> = LineBatches::new(&[b'\n'; 1000][..], 10).map(Result::unwrap).collect();
    assert_eq!(many.iter().map(trommel::engine::Lines::len).sum::<usize>(), 1000);
    assert!(many.iter().all(|lines| lines.len() <= 10));
}

/// A reader that fails after some bytes.
struct Torn(usize);

impl Read for Torn {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::other("torn"));
        }
        let bytes = to.len().min(self.0);
        to[..bytes].fill(7);
        self.0 -= bytes;
        Ok(bytes)
    }
}

#[test]
fn a_reader_that_fails_or_ends_within_a_key_gives_one_error() {
    let mut cut = IntegerBatches::new(Cursor::new([7; 19]), 100);
    assert_eq!(cut.next().unwrap().unwrap(), [0x0707_0707_0707_0707; 2]);
    let error = cut.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(error.to_string().starts_with("3 bytes"), "{error}");
    assert!(cut.next().is_none());
    let mut torn = IntegerBatches::new(Torn(1000), 10);
    assert_eq!(torn.by_ref().take_while(Result::is_ok).flatten().flatten().count(), 125);
    assert!(torn.next().is_none());
    let mut torn = LineBatches::new(BufReader::new(Torn(1000)), 10);
    assert!(torn.next().unwrap().is_err() && torn.next().is_none());
}

/// A reader that returns `bytes` in pieces, and fails after the last piece.
fn failing_after(bytes: &[u8]) -> impl Read {
    BufReader::with_capacity(1000, Cursor::new(bytes).chain(Torn(0)))
}

/// All keys that were read whole are inserted or answered before the error is returned, and the error has the number of
/// these keys. An incomplete last key is dropped, since the bytes after the failure might have continued it.
#[test]
fn keys_before_a_failure_of_the_reader_are_not_lost() {
    let keys = 10_000u64;
    let mut lines: Vec<u8> = (0..keys).flat_map(|key| format!("{key}\n").into_bytes()).collect();
    let mut integers: Vec<u8> = (0..keys).flat_map(u64::to_le_bytes).collect();
    for rest in ["", "100"] {
        lines.extend(rest.bytes());
        integers.extend(rest.bytes());
        for threads in [1, 2] {
            let engine = Engine::builder().threads(threads).build().unwrap();
            // Batches longer than the stream, batches shorter than the stream, and batches of about one key.
            for batch in [1 << 20, 4096, 1] {
                let (mut of_lines, mut of_integers) = (bloom(), bloom());
                let source = || LineBatches::new(BufReader::new(failing_after(&lines)), 8 * batch);
                let error = engine.stream().insert(&mut of_lines, source()).unwrap_err();
                assert_text_and_source(&error, "the source or callback failed after 10000 keys");
                assert!((0..keys).all(|key| of_lines.contains(&key.to_string())));
                assert_eq!(of_lines.len() as u64, keys);
                let mut found = 0;
                let answer = |batch: Lines, answers: &Bitmap| {
                    assert_eq!(batch.len(), answers.len());
                    found += answers.count_ones() as u64;
                    Ok(())
                };
                let error = engine.stream().contains(&of_lines, source(), answer).unwrap_err();
                let StreamError::Failed { done, .. } = error else { panic!("{error}") };
                assert_eq!((done.keys, found), (keys, keys));

                let source = || IntegerBatches::new(failing_after(&integers), batch);
                let error = engine.stream().insert(&mut of_integers, source()).unwrap_err();
                assert_text_and_source(&error, "the source or callback failed after 10000 keys");
                assert!(of_integers.to_bytes() == one_batch(bloom(), keys).to_bytes());
                let mut found = 0;
                let answer = |_: Vec<u64>, answers: &Bitmap| {
                    found += answers.count_ones() as u64;
                    Ok(())
                };
                let error = engine.stream().contains(&of_integers, source(), answer).unwrap_err();
                let StreamError::Failed { done, .. } = error else { panic!("{error}") };
                assert_eq!((done.keys, found), (keys, keys));
            }
        }
    }
}

/// Runs [`without_threads`] in a process in which each new thread would need more stack than there are addresses, so
/// the system refuses to start new threads. The test itself needs no new thread, since the harness runs a single test
/// on the main thread.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_refused_thread_is_an_error() {
    use trommel_testkit::process::{assert_passed, run_ignored};
    let stack = (1u64 << 62).to_string();
    let variables = [("RUST_MIN_STACK", &stack[..]), ("RUST_TEST_THREADS", "1")];
    assert_passed(&run_ignored("without_threads", &variables), "no further thread");
}

#[test]
#[ignore = "a_refused_thread_is_an_error runs this in a process of its own"]
fn without_threads() {
    let engine = Engine::builder().threads(1).build().unwrap();
    let mut filter = bloom();
    let read = AtomicU64::new(0);
    let counted = || batches(KEYS, 1_000).inspect(|_| _ = read.fetch_add(1, Ordering::Relaxed));
    let inserted = engine.stream().insert(&mut filter, counted()).unwrap_err();
    let answered = engine.stream().contains(&filter, counted(), |_, _| Ok(())).unwrap_err();
    for error in [inserted, answered] {
        let StreamError::Start { error: EngineError::Start { threads: 2, why } } = &error else {
            panic!("{error}")
        };
        assert_eq!(error.to_string(), format!("the system refused to start 2 threads: {why}"));
    }
    assert!(filter.is_empty() && read.into_inner() == 0, "batches were read, and are lost");
    let refused = Engine::builder().threads(2).build();
    assert!(matches!(refused, Err(EngineError::Start { threads: 1, .. })), "{refused:?}");
}
