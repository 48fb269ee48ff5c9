//! Three threads in a row, with bounded queues between them.

use super::{Cancel, Ended, KeyBatch};
use alloc::vec::Vec;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;
use trommel_base::{Hasher, KeyHash};

/// Batches that wait between two threads.
const QUEUED: usize = 2;

/// Reads batches on one thread, hashes them on another, and has the caller's consume them, in order.
///
/// A thread that ends early drops its end of a queue, and the others find it closed: no thread waits for one that has
/// ended. The caller gets the panic of a thread, with its message, once all have ended.
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
        // Vectors of hashes that were consumed, to be used again.
        let (consumed, spare) = sync_channel::<Vec<KeyHash>>(2 * QUEUED);
        let reader = scope.spawn(move || {
            for batch in batches {
                let is_last = batch.is_err();
                if is_cancelled() || read.send(batch).is_err() || is_last {
                    break;
                }
            }
        });
        let hashing = scope.spawn(move || {
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
        });
        // The end of the queue goes with the loop, before the threads are waited for.
        let ended = to_consume.into_iter().try_for_each(|item| {
            if is_cancelled() {
                return Err(Ended::Cancelled);
            }
            let (batch, hashes) = item.map_err(Ended::Failed)?;
            consume(batch, &hashes)?;
            // A full queue, or nobody there any more: the vector is freed instead.
            let _ = consumed.try_send(hashes);
            Ok(())
        });
        for thread in [reader, hashing] {
            thread.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
        if is_cancelled() { ended.and(Err(Ended::Cancelled)) } else { ended }
    })
}
