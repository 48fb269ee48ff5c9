//! Tests the policy in real databases, in memory and in local files.

mod support;

use slatedb::bytes::BufMut;
use slatedb::object_store::{local::LocalFileSystem, memory::InMemory};
use slatedb::{BloomFilterPolicy, Db, Filter, FilterBuilder, FilterPolicy, FilterQuery, RowEntry};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::db::*;
use support::{BITS_PER_KEY, FixedPrefix, binomial_bounds, every_policy, expected_fpr, key};
use trommel_slatedb::TrommelFilterPolicy;

fn ours() -> TrommelFilterPolicy {
    TrommelFilterPolicy::with_bits_per_key(BITS_PER_KEY).unwrap()
}

fn in_memory() -> Store {
    Arc::new(InMemory::new())
}

const KEYS: u64 = 8_000;

/// Writes, compacts and closes a database.
async fn written(store: &Store, policies: &Policies, tables: u64) {
    let (db, _) = open(store, settings(), policies.clone()).await;
    fill(&db, KEYS, tables).await;
    db.close().await.unwrap();
    let (db, _) = open(store, compacting(), policies.clone()).await;
    compacted(&db).await;
    db.close().await.unwrap();
}

/// Gets every key of a compacted database, and the absent keys between them. Requires that the database's only filter
/// reports absent keys as present at the expected false-positive rate.
async fn require_filtered(
    db: &(impl slatedb::DbReadOps + Sync),
    recorder: &Recorder,
    policy: &TrommelFilterPolicy,
) {
    let even = (0..KEYS).map(|i| 2 * i);
    for i in even {
        assert_eq!(db.get(key(i)).await.unwrap().as_deref(), Some(&key(i)[..]), "key {i}");
    }
    let present = recorder.answers("point");
    assert_eq!(present, Answers { maybe: KEYS, no: 0, false_positives: 0 }, "{policy:?}");

    let odd = (0..KEYS - 1).map(|i| 2 * i + 1);
    for i in odd {
        assert_eq!(db.get(key(i)).await.unwrap(), None, "key {i}");
    }
    let all = recorder.answers("point");
    let passed = all.maybe - present.maybe;
    assert_eq!(
        all.no + passed,
        KEYS - 1,
        "not every absent key was looked up in the filter: {policy:?}"
    );
    assert_eq!(all.false_positives, passed);
    let bounds = binomial_bounds(KEYS as usize, expected_fpr(policy, KEYS));
    assert!(
        bounds.contains(&(passed as usize)),
        "{passed} absent keys are reported as present, not {bounds:?}: {policy:?}"
    );
    assert_eq!(policy.corrupt_blocks(), 0);
}

/// Gets every key, and an equal number of absent keys, from a database of four tables. Except for a few keys at both
/// ends, each key lies in the key ranges of all four tables, so a get can look in four filters.
async fn require_filtered_in_four_tables(db: &Db, recorder: &Recorder) {
    assert_eq!((db.manifest().l0().len(), db.manifest().compacted().len()), (4, 0));
    require_even_keys(db, 0..2 * KEYS).await;
    let answers = recorder.answers("point");
    let bounds = binomial_bounds(7 * KEYS as usize, expected_fpr(&ours(), KEYS));
    assert_eq!(
        answers.maybe - answers.false_positives,
        KEYS,
        "not every key was found through the filter of its table: {answers:?}"
    );
    assert!(
        answers.false_positives <= *bounds.end() as u64,
        "too many false positives, not {bounds:?}: {answers:?}"
    );
    // Counts the lookups in filters of tables that do not hold the key. A get of an absent key looks in four such
    // filters. A get of a present key has to look in 1.5 such filters on average before it finds the key. It can look
    // in all three, since SlateDB looks in some filters earlier than it has to. So the gets of a present and an absent
    // key together have 5.5 to 7 such lookups.
    let without_key = answers.no + answers.false_positives;
    assert!(without_key > 54 * KEYS / 10 && without_key <= 7 * KEYS, "lookups: {answers:?}");
}

#[tokio::test]
async fn a_compacted_and_reopened_database_is_filtered_by_every_kind() {
    for policy in every_policy() {
        let policies: Policies = vec![Arc::new(policy.clone())];
        let store = in_memory();
        written(&store, &policies, 4).await;
        let (db, recorder) = open(&store, settings(), policies.clone()).await;
        require_filtered(&db, &recorder, &policy).await;
        db.close().await.unwrap();
        let (reader, recorder) = open_reader(&store, policies).await;
        require_filtered(&reader, &recorder, &policy).await;
        reader.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_database_in_local_files_is_filtered_after_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let store: Store = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    let policy = ours();
    let policies: Policies = vec![Arc::new(policy.clone())];

    // The tables were just flushed, so their filters come from the builder and were not decoded.
    let (db, recorder) = open(&store, settings(), policies.clone()).await;
    fill(&db, KEYS, 4).await;
    require_filtered_in_four_tables(&db, &recorder).await;
    db.close().await.unwrap();

    let (db, recorder) = open(&store, settings(), policies.clone()).await;
    require_filtered_in_four_tables(&db, &recorder).await;
    db.close().await.unwrap();

    let (db, _) = open(&store, compacting(), policies.clone()).await;
    compacted(&db).await;
    require_even_keys(&db, 0..2 * KEYS).await;
    db.close().await.unwrap();

    let (db, recorder) = open(&store, settings(), policies.clone()).await;
    require_filtered(&db, &recorder, &policy).await;
    db.close().await.unwrap();
    let (reader, recorder) = open_reader(&store, policies).await;
    require_filtered(&reader, &recorder, &policy).await;
    reader.close().await.unwrap();
}

#[tokio::test]
async fn overwritten_and_deleted_keys_are_right_through_compaction() {
    let policies: Policies = vec![Arc::new(ours())];
    let store = in_memory();
    let (db, _) = open(&store, settings(), policies.clone()).await;
    let mut model = BTreeMap::new();
    let mut state = 3;
    for _ in 0..6 {
        for _ in 0..500 {
            let i = support::random(&mut state) % 800;
            if support::random(&mut state).is_multiple_of(3) {
                db.delete(key(i)).await.unwrap();
                model.remove(&i);
            } else {
                let value = support::random(&mut state).to_le_bytes();
                db.put(key(i), value).await.unwrap();
                model.insert(i, value);
            }
        }
        flush(&db).await;
    }
    db.close().await.unwrap();
    for settings in [settings(), compacting(), settings()] {
        let compacts = settings.compactor_options.is_some();
        let (db, _) = open(&store, settings, policies.clone()).await;
        if compacts {
            compacted(&db).await;
        }
        for i in 0..1_000 {
            let value = db.get(key(i)).await.unwrap();
            assert_eq!(value.as_deref(), model.get(&i).map(|value| &value[..]), "key {i}");
        }
        db.close().await.unwrap();
    }
}

/// Scans a prefix and returns the number of keys.
async fn scan(db: &Db, prefix: &[u8]) -> u64 {
    let mut rows = db.scan_prefix(prefix, ..).await.unwrap();
    let mut keys = 0;
    while let Some(row) = rows.next().await.unwrap() {
        assert!(row.key.starts_with(prefix));
        assert_eq!(row.key, row.value);
        keys += 1;
    }
    keys
}

/// Two tables cover the same range of keys, but each prefix is in only one of the tables.
#[tokio::test]
async fn prefix_scans_skip_tables_without_the_prefix() {
    for whole_keys in [true, false] {
        for policy in every_policy() {
            let policy = policy
                .with_prefix_extractor(Arc::new(FixedPrefix(19)))
                .with_whole_key_filtering(whole_keys);
            let store = in_memory();
            let policies: Policies = vec![Arc::new(policy.clone())];
            let (db, _) = open(&store, settings(), policies.clone()).await;
            for table in 0..2 {
                for i in (0..4_000).filter(|i| i / 16 % 2 == table) {
                    db.put(key(i), key(i)).await.unwrap();
                }
                flush(&db).await;
            }
            db.close().await.unwrap();

            let (db, recorder) = open(&store, settings(), policies).await;
            for i in 0..250 {
                assert_eq!(scan(&db, &key(16 * i)[..19]).await, 16, "prefix {i}");
            }
            let answers = recorder.answers("prefix");
            // Nearly all prefixes are in the range of both tables, and the scan skips one of the two.
            assert!(answers.no >= 200, "few tables are skipped: {answers:?}: {policy:?}");
            assert_eq!(answers.maybe - answers.false_positives, 250);
            // A prefix that is shorter than the 19 bytes of the extractor excludes no table.
            assert_eq!(scan(&db, &key(0)[..18]).await, 256);
            assert_eq!(scan(&db, b"key/").await, 4_000);
            assert_eq!(recorder.answers("prefix").no, answers.no);
            for i in 0..4_000 {
                assert!(db.get(key(i)).await.unwrap().is_some(), "key {i}: {policy:?}");
            }
            assert!(recorder.answers("point").no > 0);
            assert_eq!(policy.corrupt_blocks(), 0);
            db.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn databases_are_read_right_with_other_policies_than_they_were_written_with() {
    let own = || Arc::new(BloomFilterPolicy::new(10)) as Arc<dyn FilterPolicy>;
    let prefixes = || Arc::new(ours().with_prefix_extractor(Arc::new(FixedPrefix(4))));
    let split_block = || Arc::new(every_policy().swap_remove(2));
    // Each entry is a list of policies and a number for each policy. Equal numbers in different lists mean the same
    // policy.
    let lists: [(Policies, &[u8]); 6] = [
        (vec![], &[]),
        (vec![own()], &[0]),
        (vec![Arc::new(ours())], &[1]),
        (vec![split_block()], &[2]),
        (vec![own(), Arc::new(ours())], &[0, 1]),
        (vec![prefixes(), split_block(), own()], &[3, 2, 0]),
    ];
    for (writer, written_by) in &lists {
        let store = in_memory();
        let (db, _) = open(&store, settings(), writer.clone()).await;
        fill(&db, 1_000, 2).await;
        db.close().await.unwrap();
        for (reader, read_by) in &lists {
            let (db, recorder) = open(&store, settings(), reader.clone()).await;
            require_even_keys(&db, 0..2_000).await;
            let answers = recorder.answers("point");
            let shared = written_by.iter().any(|policy| read_by.contains(policy));
            assert_eq!(
                answers.no > 1_500,
                shared,
                "written by {written_by:?}, read by {read_by:?}: {answers:?}"
            );
            assert_eq!(answers.no > 0, shared);
            db.close().await.unwrap();
        }
        // A compaction writes the filters of the policy with which the database was opened, and no other filters.
        let (db, _) = open(&store, compacting(), vec![Arc::new(ours())]).await;
        compacted(&db).await;
        db.close().await.unwrap();
        let (reader, recorder) = open_reader(&store, vec![Arc::new(ours())]).await;
        require_even_keys(&reader, 0..2_000).await;
        assert!(recorder.answers("point").no > 900);
        reader.close().await.unwrap();
    }
}

/// A policy that has the same name as `policy`, but writes `bytes` in place of every filter.
struct Forger {
    policy: TrommelFilterPolicy,
    bytes: &'static [u8],
}

struct Forged(&'static [u8]);

impl FilterPolicy for Forger {
    fn name(&self) -> &str {
        self.policy.name()
    }
    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(Forged(self.bytes))
    }
    fn decode(&self, _data: &[u8]) -> Arc<dyn Filter> {
        Arc::new(Forged(self.bytes))
    }
    fn estimate_size(&self, _num_keys: usize) -> usize {
        self.bytes.len()
    }
}

impl FilterBuilder for Forged {
    fn add_entry(&mut self, _entry: &RowEntry) {}
    fn build(&mut self) -> Arc<dyn Filter> {
        Arc::new(Self(self.0))
    }
}

impl Filter for Forged {
    fn might_match(&self, _query: &FilterQuery) -> bool {
        true
    }
    fn encode(&self, writer: &mut dyn BufMut) {
        writer.put_slice(self.0);
    }
    fn size(&self) -> usize {
        self.0.len()
    }
    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(Self(self.0))
    }
}

#[tokio::test]
async fn a_table_with_a_corrupt_filter_is_read_without_it_and_counted() {
    for policy in every_policy() {
        for bytes in [&b""[..], b"\0", b"\0\0\0\0\0", &[0xFF; 1_300]] {
            let store = in_memory();
            let forger = Forger { policy: policy.clone(), bytes };
            let (db, _) = open(&store, settings(), vec![Arc::new(forger)]).await;
            fill(&db, 500, 2).await;
            db.close().await.unwrap();
            let before = policy.corrupt_blocks();
            let (db, recorder) = open(&store, settings(), vec![Arc::new(policy.clone())]).await;
            require_even_keys(&db, 0..1_000).await;
            // Each of the two tables' filters is decoded once, and the cache keeps the result.
            assert_eq!(policy.corrupt_blocks() - before, 2, "{policy:?}");
            assert_eq!(recorder.answers("point").no, 0);
            db.close().await.unwrap();
        }
    }
}

/// The files that contain `bytes`, in a folder and its subfolders.
fn files_with(folder: &std::path::Path, bytes: &[u8]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if std::fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes) {
            found.push(path);
        }
    }
    found
}

/// SlateDB's own checksum detects bytes that a disk has damaged, before the policy gets them.
#[tokio::test]
async fn a_filter_that_the_disk_damaged_is_an_error_and_hides_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let store: Store = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    let policy = ours();
    let policies: Policies = vec![Arc::new(policy.clone())];
    written(&store, &policies, 2).await;
    let name = policy.name().as_bytes();
    let tables = files_with(folder.path(), name);
    assert_eq!(tables.len(), 3, "expected two tables and the table that they were merged into");
    for table in &tables {
        let mut bytes = std::fs::read(table).unwrap();
        let at = bytes.windows(name.len()).rposition(|window| window == name).unwrap();
        // After the name come the filter's length, in eight bytes, and the filter. Byte 100 of the filter is changed.
        bytes[at + name.len() + 8 + 100] ^= 0xFF;
        std::fs::write(table, bytes).unwrap();
    }
    let (db, _) = open(&store, settings(), policies).await;
    for i in 0..200 {
        assert!(db.get(key(2 * i)).await.is_err(), "key {i}");
    }
    assert_eq!(policy.corrupt_blocks(), 0);
    db.close().await.unwrap();
}
