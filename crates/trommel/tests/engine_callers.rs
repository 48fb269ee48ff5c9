//! Any thread may hold a lock while it calls an engine, if the engine's work does not take this lock. A thread that
//! waits in a call runs no other job of its pool, since that job could need the lock that the thread holds.
#![cfg(all(feature = "parallel", not(loom)))]

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use trommel::engine::{ShardedFilter, Strategy};
use trommel::{Bitmap, Engine, Filter, FilterKind, FilterSpec, Insert, KeyHash, RegisterBloom};
use trommel_testkit::delegate_to;
use trommel_testkit::streams::distinct;

/// A test that has not ended after this time counts as hung. Without a defect, each test takes less than a second.
const PATIENCE: Duration = Duration::from_secs(120);
const KEYS: usize = 60_000;
const CALLS: usize = 24;

/// Runs `test` on a thread of its own, and fails if it does not end in time.
fn must_end(test: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel();
    thread::spawn(move || {
        // Sending fails if the receiver has stopped waiting.
        let _ = ended.send(catch_unwind(AssertUnwindSafe(test)));
    });
    match end.recv_timeout(PATIENCE) {
        Ok(Ok(())) => {}
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => panic!("a call of the engine has not returned after {PATIENCE:?}"),
    }
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn engines() -> Vec<Engine> {
    let builders = |threads| {
        let builder = Engine::builder().threads(threads).strategy(Strategy::Partitioned);
        [builder.clone(), builder.pin(true)]
    };
    [2, 4].into_iter().flat_map(builders).map(|builder| builder.build().unwrap()).collect()
}

/// Inserts and looks up while it holds a lock that every concurrent call of this function takes too.
fn call_under_a_lock(engine: &Engine, filter: &Mutex<RegisterBloom>, hashes: &[KeyHash]) {
    let mut filter = filter.lock().unwrap();
    engine.insert_batch(&mut *filter, hashes).unwrap();
    let mut found = Bitmap::default();
    engine.contains_batch(&*filter, hashes, &mut found);
    assert_eq!(found.count_ones(), hashes.len());
}

fn call_under_a_lock_from(outer: &ThreadPool) {
    let hashes = distinct(7, 0..KEYS as u64);
    for engine in engines() {
        let filter = RegisterBloom::with_capacity_and_fpr(100 * KEYS, 0.01).unwrap();
        let filter = Mutex::new(filter);
        outer.install(|| {
            (0..CALLS).into_par_iter().for_each(|_| call_under_a_lock(&engine, &filter, &hashes));
        });
    }
}

#[test]
fn calls_under_a_lock_from_another_pool_end() {
    must_end(|| call_under_a_lock_from(&pool(4)));
}

#[test]
fn calls_under_a_lock_from_a_pool_of_one_thread_end() {
    must_end(|| call_under_a_lock_from(&pool(1)));
}

#[test]
fn calls_under_a_lock_from_the_global_pool_end() {
    must_end(|| {
        let hashes = distinct(7, 0..KEYS as u64);
        let engine = Engine::builder().threads(4).strategy(Strategy::Partitioned).build().unwrap();
        let filter = RegisterBloom::with_capacity_and_fpr(100 * KEYS, 0.01).unwrap();
        let filter = Mutex::new(filter);
        (0..CALLS).into_par_iter().for_each(|_| call_under_a_lock(&engine, &filter, &hashes));
    });
}

#[test]
fn every_method_under_a_lock_from_another_pool_ends() {
    must_end(|| {
        let keys: Vec<u64> = (0..KEYS as u64).collect();
        let hashes = distinct(7, 0..KEYS as u64);
        for engine in engines() {
            let lock = Mutex::new(());
            let spec = FilterSpec::new(FilterKind::Quotient).fpr(0.01);
            let sharded = ShardedFilter::build(&spec.keys(KEYS), 4).unwrap();
            let call = |i: usize| {
                let _held = lock.lock().unwrap();
                let mut filter = engine.build(&spec, &hashes).unwrap();
                assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)));
                filter = spec.keys(KEYS).build().unwrap();
                let batches =
                    || keys.chunks(10_000).map(Ok::<_, ()>).map(|keys| keys.map(<[u64]>::to_vec));
                let done = engine.stream().keys_at_a_time(30_000).insert(&mut filter, batches());
                assert_eq!(done.unwrap().keys, KEYS as u64);
                let mut hits = 0;
                let answered = engine.stream().contains(&filter, batches(), |_, found| {
                    hits += found.count_ones();
                    Ok(())
                });
                assert_eq!((answered.unwrap().keys, hits), (KEYS as u64, KEYS));
                if i == 0 {
                    trommel::InsertShared::insert_batch(&sharded, &hashes).unwrap();
                }
                let mut found = Bitmap::default();
                engine.contains_batch(&sharded, &hashes, &mut found);
            };
            pool(2).install(|| (0..4).into_par_iter().for_each(call));
            // Making an engine waits until the engine's threads have started. The waiting thread holds the lock, so it
            // must run no other job meanwhile.
            let make = |_| {
                let _held = lock.lock().unwrap();
                Engine::builder().threads(2).pin(true).build().unwrap();
            };
            pool(2).install(|| (0..8).into_par_iter().for_each(make));
        }
    });
}

#[test]
fn calls_under_a_lock_from_blocking_threads_of_an_async_runtime_end() {
    must_end(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let hashes = Arc::new(distinct(7, 0..KEYS as u64));
        for engine in engines() {
            let filter = RegisterBloom::with_capacity_and_fpr(100 * KEYS, 0.01).unwrap();
            let filter = Arc::new(Mutex::new(filter));
            let calls: Vec<_> = (0..CALLS)
                .map(|_| {
                    let (engine, filter) = (engine.clone(), Arc::clone(&filter));
                    let hashes = Arc::clone(&hashes);
                    runtime.spawn_blocking(move || call_under_a_lock(&engine, &filter, &hashes))
                })
                .collect();
            runtime.block_on(async {
                for call in calls {
                    call.await.unwrap();
                }
            });
        }
    });
}

/// A filter whose lookups call the engine again, so that workers of the engine call their own engine.
struct Nested {
    engine: Engine,
    filter: RegisterBloom,
}

impl Filter for Nested {
    delegate_to!(filter);

    fn contains_batch(&self, hashes: &[KeyHash], found: &mut Bitmap) {
        self.engine.contains_batch(&self.filter, hashes, found);
    }
}

#[test]
fn calls_from_workers_of_the_engine_itself_end() {
    must_end(|| {
        let hashes = distinct(7, 0..10 * KEYS as u64);
        for engine in engines() {
            let mut filter = RegisterBloom::with_capacity_and_fpr(10 * KEYS, 0.01).unwrap();
            filter.insert_batch(&hashes).unwrap();
            let nested = Nested { engine: engine.clone(), filter };
            let mut found = Bitmap::default();
            engine.contains_batch(&nested, &hashes, &mut found);
            assert_eq!(found.count_ones(), hashes.len());
        }
    });
}

/// A panic of a filter reaches a caller in another pool, with the panic's payload, and the engine keeps working.
#[test]
fn a_panic_reaches_a_caller_from_another_pool() {
    struct Panicking(RegisterBloom);

    impl Filter for Panicking {
        delegate_to!(0);

        fn contains_batch(&self, _: &[KeyHash], _: &mut Bitmap) {
            panic!("a bad block")
        }
    }

    must_end(|| {
        let hashes = distinct(7, 0..KEYS as u64);
        for engine in engines() {
            let filter = RegisterBloom::with_capacity_and_fpr(100 * KEYS, 0.01).unwrap();
            let panicking = Panicking(filter.clone());
            let filter = Mutex::new(filter);
            pool(2).install(|| {
                let call = || engine.contains_batch(&panicking, &hashes, &mut Bitmap::default());
                let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
                assert_eq!(panic.downcast_ref(), Some(&"a bad block"));
                call_under_a_lock(&engine, &filter, &hashes);
            });
        }
    });
}
