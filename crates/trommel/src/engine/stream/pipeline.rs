//! A pipeline of three threads with bounded queues between them.

use super::{Cancel, Ended, KeyBatch};
use crate::engine::EngineError;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;
use trommel_base::{Hasher, KeyHash};

/// The number of threads that the pipeline starts. The third thread is the caller's.
const THREADS: usize = 2;
/// The most batches that wait in a queue between two threads.
const QUEUED: usize = 2;

/// Reads batches on one thread, hashes them on another, and consumes them on the caller's thread, in order.
///
/// A thread that ends early drops its senders and receivers. The other threads then find the queues closed, so no
/// thread waits for one that has ended. If a thread panics, the caller panics with the same payload after all threads
/// have ended. If the system refuses to start a thread, no batch is read, since the reading thread is started last.
/// Once the caller's thread sees that `cancel` is set, it consumes no further batch.
pub(super) fn run<B, E, I>(
    hasher: Hasher,
    batches: I,
    cancel: Option<&Cancel>,
    mut consume: impl FnMut(B, &[KeyHash]) -> Result<(), Ended<E>>,
) -> Result<(), Ended<E>>
where
    B: KeyBatch,
    E: Send,
    I: IntoIterator<Item = Result<B, E>>,
    I::IntoIter: Send,
{
    let is_cancelled = || cancel.is_some_and(Cancel::is_cancelled);
    let batches = batches.into_iter();
    thread::scope(|scope| {
        let (read, to_hash) = sync_channel::<Result<B, E>>(QUEUED);
        let (hashed, to_consume) = sync_channel(QUEUED);
        // This queue returns consumed vectors of hashes to the hashing thread, which reuses them.
        let (consumed, spare) = sync_channel::<Vec<KeyHash>>(2 * QUEUED);
        let hash = move || {
            for batch in to_hash {
                let item = batch.map(|batch| {
                    let mut hashes = spare.try_recv().unwrap_or_default();
                    batch.hash_all(&hasher, &mut hashes);
                    (batch, hashes)
                });
                if hashed.send(item).is_err() {
                    break;
                }
            }
        };
        let read = move || {
            for batch in batches {
                let is_last = batch.is_err();
                if is_cancelled() || read.send(batch).is_err() || is_last {
                    break;
                }
            }
        };
        let hashing =
            thread::Builder::new().spawn_scoped(scope, hash).map_err(|error| refused(&error))?;
        let reader =
            thread::Builder::new().spawn_scoped(scope, read).map_err(|error| refused(&error))?;
        // This iterator owns the receiver `to_consume`, and is dropped before the threads are joined.
        let ended = to_consume.into_iter().try_for_each(|item| {
            if is_cancelled() {
                return Err(Ended::Cancelled);
            }
            let (batch, hashes) = item.map_err(Ended::Failed)?;
            consume(batch, &hashes)?;
            // If the queue is full or closed, the vector is freed instead.
            let _ = consumed.try_send(hashes);
            Ok(())
        });
        for thread in [reader, hashing] {
            thread.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
        if is_cancelled() { ended.and(Err(Ended::Cancelled)) } else { ended }
    })
}

/// The error of a thread that did not start.
fn refused<E>(error: &io::Error) -> Ended<E> {
    Ended::Start(EngineError::Start { threads: THREADS, why: error.to_string() })
}
