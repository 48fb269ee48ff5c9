//! Measures gets from a database in memory that has one compacted table.

use crate::samples::{Samples, interleave, thousands, time};
use crate::support::db::{Recorder, Store, compacted, compacting, flush, open, settings};
use crate::{Subject, key, support};
use slatedb::object_store::memory::InMemory;
use slatedb::{Db, WriteBatch};
use std::sync::Arc;

const GETS: u64 = 20_000;

/// Writes a database, compacts it to one table and opens it again.
async fn written(subject: &Subject, keys: u64) -> (Db, Recorder) {
    let store: Store = Arc::new(InMemory::new());
    let policies =
        if subject.name == NO_FILTER { Vec::new() } else { vec![subject.policy.clone()] };
    let (db, _) = open(&store, settings(), policies.clone()).await;
    for half in 0..2 {
        for first in (half * keys / 2..(half + 1) * keys / 2).step_by(1_000) {
            let mut batch = WriteBatch::new();
            for i in first..(first + 1_000).min((half + 1) * keys / 2) {
                batch.put(key(i), [&key(i)[..], &[b'v'; 80]].concat());
            }
            db.write(batch).await.unwrap();
        }
        flush(&db).await;
    }
    db.close().await.unwrap();
    let (db, _) = open(&store, compacting(), policies.clone()).await;
    compacted(&db).await;
    db.close().await.unwrap();
    open(&store, settings(), policies).await
}

/// The name of the subject whose database has no filters.
const NO_FILTER: &str = "no filter";

/// Prints a row for each policy, and a row for a database without filters.
pub(crate) fn measure(subjects: &[Subject], keys: u64, repetitions: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let none = Subject { name: NO_FILTER.to_owned(), policy: subjects[0].policy.clone() };
    let subjects: Vec<&Subject> = subjects.iter().chain([&none]).collect();
    let databases: Vec<_> =
        subjects.iter().map(|subject| runtime.block_on(written(subject, keys))).collect();
    // Gets random keys with numbers from `first` to `first + count - 1`, and returns how many were found.
    let get = |db: &Db, first: u64, count: u64| {
        let mut found = 0;
        let mut state = first;
        runtime.block_on(async {
            for _ in 0..GETS {
                let i = first + support::random(&mut state) % count;
                let value = db.get(key(i)).await.unwrap();
                found += u64::from(value.is_some_and(|value| value.starts_with(&key(i))));
            }
        });
        found
    };
    let mut samples = vec![<[Samples; 2]>::default(); subjects.len()];
    let mut stopped = vec![0; subjects.len()];
    interleave(repetitions, subjects.len(), |i| {
        let (db, recorder) = &databases[i];
        let [absent, present] = &mut samples[i];
        let before = recorder.answers("point").no;
        let (getting, found) = time(|| get(db, 1 << 40, 1 << 40));
        absent.add_ns(getting, GETS as usize);
        assert_eq!(found, 0);
        stopped[i] = recorder.answers("point").no - before;
        let (getting, found) = time(|| get(db, 0, keys));
        present.add_ns(getting, GETS as usize);
        assert_eq!(found, GETS, "{}: some present keys are not found", subjects[i].name);
    });
    println!(
        "\n{} rows in a store in memory, {} gets by one thread:\n\n| policy | absent, ns per get | \
         present, ns per get | absent keys excluded |\n|---|---:|---:|---:|",
        thousands(keys),
        thousands(GETS)
    );
    for ((subject, [absent, present]), stopped) in subjects.iter().zip(&samples).zip(stopped) {
        println!("| {} | {absent} | {present} | {} |", subject.name, thousands(stopped));
    }
    for (db, _) in databases {
        runtime.block_on(db.close()).unwrap();
    }
}
