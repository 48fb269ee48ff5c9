//! Slices of a batch, inserted by several threads, give byte for byte the filter that one thread makes.

use std::sync::Mutex;
use trommel_base::{
    Bulk, CallerThread, Filter, FromSpec, Insert, InsertBulk, KeyHash, ScratchRequest, Spec,
    Storage, Tasks, Workers,
};
use trommel_bloom::{
    Bloom, CacheLine, CountingBloomFilter, Layout, Register, SplitBlock, Standard,
};
use trommel_testkit::{ScopedThreads, for_each_type};

fn hashes(keys: std::ops::Range<u64>) -> Vec<KeyHash> {
    keys.map(|key| KeyHash::from_raw(trommel_testkit::streams::mix(key))).collect()
}

/// Runs tasks on threads. Keeps returned scratch memory for later requests, and does not clear it.
struct Keeper {
    threads: ScopedThreads,
    memory: Mutex<Vec<Storage>>,
}

impl Workers for Keeper {
    fn threads(&self) -> usize {
        self.threads.threads()
    }

    fn run<'t>(&self, tasks: &mut Tasks<'_, 't>) {
        self.threads.run(tasks);
    }

    fn take_memory(&self, request: ScratchRequest) -> Vec<Storage> {
        let mut memory = self.memory.lock().unwrap();
        let suits = |piece: &mut Storage| piece.len() >= request.piece_bytes;
        let mut taken: Vec<_> = memory.extract_if(.., suits).collect();
        memory.extend(taken.drain(request.pieces.min(taken.len())..));
        taken
    }

    fn give_memory(&self, memory: Storage) {
        self.memory.lock().unwrap().push(memory);
    }
}

fn check<L: Layout>() {
    for keys in [0, 1, 3, 1000, 300_001] {
        let mut spec = Spec::default();
        spec.keys = 1000 + keys;
        let empty = Bloom::<L>::from_spec(&spec).unwrap();
        let (before, hashes) = (hashes(1 << 40..(1 << 40) + 1000), hashes(0..keys as u64));
        let mut expected = empty.clone();
        expected.insert_batch(&before).unwrap();
        expected.insert_batch(&hashes).unwrap();
        for threads in [1, 2, 3, 7] {
            let bytes = empty.memory_bytes();
            let dirty = |bytes: usize| Storage::copy_of(&vec![0xA5; bytes], false).unwrap();
            let memory = Mutex::new(vec![dirty(bytes + 100), dirty(bytes), dirty(bytes / 2)]);
            let workers = Keeper { threads: ScopedThreads(threads), memory };
            let enough = bytes * (threads - 1);
            for scratch_bytes in [0, enough.saturating_sub(1), enough, usize::MAX] {
                let mut filter = empty.clone();
                filter.insert_batch(&before).unwrap();
                let bulk = Bulk { workers: &workers, scratch_bytes };
                let what =
                    format!("{}, {keys} keys, {threads} threads, scratch {scratch_bytes}", L::KIND);
                let slices = if scratch_bytes < enough { 1 } else { threads };
                assert_eq!(filter.slices(bulk), slices, "{what}: the number of slices");
                filter.insert_slices(&hashes, bulk).unwrap();
                assert!(
                    filter.to_bytes() == expected.to_bytes(),
                    "{what}: the filter is not that of one thread"
                );
                assert_eq!(filter.len(), expected.len(), "{what}: len");
            }
            // Checks that memory was given back, and that later calls reused the memory that was allocated before.
            // At first three pieces of memory are kept, one of them too small for a table. Seven threads need six
            // tables in addition to the filter's own: they take the two large pieces and allocate four more. So 3 + 4
            // pieces are kept at the end.
            let kept = workers.memory.into_inner().unwrap().len();
            assert!(
                (2..=threads.max(3)).contains(&kept),
                "{kept} pieces of memory are kept by {threads} threads"
            );
        }
    }
}

#[test]
fn slices_give_the_filter_of_one_thread() {
    for_each_type!(check: Standard, Register, SplitBlock, CacheLine);
}

#[test]
fn a_filter_without_slices_inserts_the_whole_batch() {
    let mut spec = Spec::default();
    spec.keys = 5000;
    let mut filter = CountingBloomFilter::from_spec(&spec).unwrap();
    let mut expected = filter.clone();
    let hashes = hashes(0..5000);
    expected.insert_batch(&hashes).unwrap();
    let scratch_bytes = usize::MAX;
    let bulk = Bulk { workers: &ScopedThreads(2), scratch_bytes };
    assert_eq!(filter.slices(bulk), 1);
    filter.insert_slices(&hashes, bulk).unwrap();
    assert!(filter.to_bytes() == expected.to_bytes());

    let mut alone = Bloom::<Standard>::from_spec(&spec).unwrap();
    let mut expected = alone.clone();
    expected.insert_batch(&hashes).unwrap();
    alone.insert_slices(&hashes, Bulk { workers: &CallerThread, scratch_bytes }).unwrap();
    assert_eq!((alone.slices(Bulk::CALLER), alone.slices(bulk)), (1, 2));
    assert!(alone.to_bytes() == expected.to_bytes());
}
