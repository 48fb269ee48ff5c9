//! Opens the databases of the tests, fills them, and counts the answers of their filters.

use super::key;
use slatedb::config::{
    CompactionWorkerOptions, CompactorOptions, FlushOptions, FlushType, Settings,
};
use slatedb::db_stats::{
    FILTER_KIND_LABEL, SST_FILTER_FALSE_POSITIVE_COUNT, SST_FILTER_NEGATIVE_COUNT,
    SST_FILTER_POSITIVE_COUNT,
};
use slatedb::object_store::ObjectStore;
use slatedb::{Db, DbReadOps, DbReader, FilterPolicy, WriteBatch};
use slatedb_common::metrics::{DefaultMetricsRecorder, MetricValue};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub type Policies = Vec<Arc<dyn FilterPolicy>>;
pub type Store = Arc<dyn ObjectStore>;

pub const PATH: &str = "database";

/// Settings with filters in every table and without compaction.
pub fn settings() -> Settings {
    Settings {
        min_filter_keys: 0,
        flush_interval: Some(Duration::from_millis(5)),
        compactor_options: None,
        ..Settings::default()
    }
}

/// [`settings`] with a compactor that merges tables as soon as there are two.
pub fn compacting() -> Settings {
    let soon = Duration::from_millis(20);
    let options = [("min_compaction_sources", "2"), ("max_compaction_sources", "999")];
    Settings {
        manifest_poll_interval: soon,
        compactor_options: Some(CompactorOptions {
            poll_interval: soon,
            commit_compacted_interval: soon,
            scheduler_options: options.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            worker: Some(CompactionWorkerOptions {
                compactions_poll_interval: soon,
                // A compaction writes one table. If it wrote two, a key between their key ranges would be in neither
                // range, and SlateDB would check no filter for this key.
                max_subcompactions: 1,
                min_filter_keys: 0,
                ..CompactionWorkerOptions::default()
            }),
            ..CompactorOptions::default()
        }),
        ..settings()
    }
}

/// A recorder of SlateDB's metrics. [`Recorder::answers`] counts the answers of filters to gets (`"point"`) or prefix
/// scans (`"prefix"`).
#[derive(Clone, Default)]
pub struct Recorder(pub Arc<DefaultMetricsRecorder>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    pub maybe: u64,
    pub no: u64,
    pub false_positives: u64,
}

impl Recorder {
    pub fn answers(&self, kind: &str) -> Answers {
        let snapshot = self.0.snapshot();
        let count = |name| match snapshot.by_name_and_labels(name, &[(FILTER_KIND_LABEL, kind)]) {
            None => 0,
            Some(metric) => match metric.value {
                MetricValue::Counter(count) => count,
                ref other => panic!("{name} is no counter: {other:?}"),
            },
        };
        Answers {
            maybe: count(SST_FILTER_POSITIVE_COUNT),
            no: count(SST_FILTER_NEGATIVE_COUNT),
            false_positives: count(SST_FILTER_FALSE_POSITIVE_COUNT),
        }
    }
}

pub async fn open(store: &Store, settings: Settings, policies: Policies) -> (Db, Recorder) {
    let recorder = Recorder::default();
    let builder = Db::builder(PATH, store.clone())
        .with_settings(settings)
        .with_filter_policies(policies)
        .with_metrics_recorder(recorder.0.clone());
    (builder.build().await.unwrap(), recorder)
}

pub async fn open_reader(store: &Store, policies: Policies) -> (DbReader, Recorder) {
    let recorder = Recorder::default();
    let builder = DbReader::builder(PATH, store.clone())
        .with_filter_policies(policies)
        .with_metrics_recorder(recorder.0.clone());
    (builder.build().await.unwrap(), recorder)
}

/// Writes the keys of the even numbers below `2 · keys` into `tables` tables, whose key ranges overlap. The value of a
/// key is the key itself.
pub async fn fill(db: &Db, keys: u64, tables: u64) {
    for table in 0..tables {
        let mut batch = WriteBatch::new();
        for i in (0..keys).filter(|i| i % tables == table) {
            batch.put(key(2 * i), key(2 * i));
        }
        db.write(batch).await.unwrap();
        flush(db).await;
    }
}

/// Writes the rows that are still in memory to a table.
pub async fn flush(db: &Db) {
    db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable }).await.unwrap();
}

/// Waits until the compactor has merged all tables into one sorted run. Panics after a minute.
pub async fn compacted(db: &Db) {
    let begin = Instant::now();
    loop {
        db.refresh_manifest().await.unwrap();
        let manifest = db.manifest();
        if manifest.l0().is_empty() && manifest.compacted().len() == 1 {
            return;
        }
        let (l0, runs) = (manifest.l0().len(), manifest.compacted().len());
        assert!(begin.elapsed() < Duration::from_secs(60), "{l0} tables and {runs} runs are left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Requires that the database has the key of every even number in `numbers`, with the key itself as its value, and the
/// key of no odd number in `numbers`.
pub async fn require_even_keys(db: &(impl DbReadOps + Sync), numbers: Range<u64>) {
    for i in numbers {
        let value = db.get(key(i)).await.unwrap();
        if i % 2 == 0 {
            assert_eq!(value.as_deref(), Some(&key(i)[..]), "key {i}");
        } else {
            assert_eq!(value, None, "key {i}");
        }
    }
}
