//! Kills writers in the middle of writes, and requires that the database holds every batch that a writer reported.
//!
//! The number of writers is `TROMMEL_KILLS`, by default 20. Each writer is a process of this program. One after the
//! other, the writers open the same database in local files, with small tables that are compacted all the time. A
//! writer reports each batch when the batch is durable, and gets SIGKILL at a random moment within a tenth of a second
//! after its first report. The database must then have every batch that was reported, and nothing else except, perhaps,
//! the whole next batch.

mod support;

use slatedb::config::Settings;
use slatedb::object_store::local::LocalFileSystem;
use slatedb::{Db, WriteBatch};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;
use support::db::{Answers, Store, compacting, open};
use trommel_slatedb::TrommelFilterPolicy;

const WRITER: &str = "--writer";
const KEYS_PER_BATCH: u64 = 20;

fn store(folder: &Path) -> Store {
    Arc::new(LocalFileSystem::new_with_prefix(folder).unwrap())
}

fn small_tables() -> Settings {
    let mut settings = Settings { l0_sst_size_bytes: 16 << 10, ..compacting() };
    if let Some(compactor) = &mut settings.compactor_options {
        // If a process is killed during compactions, the next process repeats these compactions when the heartbeat of
        // the killed process has timed out. By default, the timeout is half a minute.
        compactor.worker_heartbeat_timeout = Duration::from_millis(300);
        if let Some(worker) = &mut compactor.worker {
            worker.heartbeat_interval = Duration::from_millis(50);
        }
    }
    settings
}

fn policy() -> TrommelFilterPolicy {
    TrommelFilterPolicy::with_bits_per_key(10.0).unwrap()
}

/// Returns key number `i`. Keys with consecutive numbers lie far apart, so that every table covers most of the range of
/// keys.
fn key(i: u64) -> [u8; 20] {
    support::key(i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn value(i: u64) -> Vec<u8> {
    [&key(i)[..], &i.to_le_bytes(), &[b'v'; 72]].concat()
}

async fn write_until_killed(folder: &Path, first_batch: u64) {
    let (db, _) = open(&store(folder), small_tables(), vec![Arc::new(policy())]).await;
    for batch in first_batch.. {
        let mut rows = WriteBatch::new();
        for i in batch * KEYS_PER_BATCH..(batch + 1) * KEYS_PER_BATCH {
            rows.put(key(i), value(i));
        }
        db.write(rows).await.unwrap().await_durable().await.unwrap();
        let mut reports = std::io::stdout().lock();
        reports.write_all(&batch.to_le_bytes()).and_then(|()| reports.flush()).unwrap();
    }
}

/// A process that is killed and waited for when the value is dropped.
struct Writer(Child);

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a writer, kills it `delay` after its first report, and returns the number of the first batch that it did not
/// report.
fn kill_one(folder: &Path, first_batch: u64, delay: Duration) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(WRITER).arg(folder).arg(first_batch.to_string()).stdout(Stdio::piped());
    let mut writer = Writer(command.spawn().unwrap());
    let mut reports = writer.0.stdout.take().unwrap();
    let (sender, batches) = mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut batch = [0; 8];
        // A report is shorter than PIPE_BUF, so the pipe holds it whole or not at all.
        while reports.read_exact(&mut batch).is_ok()
            && sender.send(u64::from_le_bytes(batch)).is_ok()
        {}
    });
    // The delay begins at the first report: until then the writer opens the database, and from then on it only writes.
    let first = batches.recv_timeout(Duration::from_secs(60));
    let first = first.expect("the writer ended or reported no batch within a minute");
    std::thread::sleep(delay);
    writer.0.kill().unwrap();
    let status = writer.0.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "the writer ended before it was killed: {status}");
    reading.join().unwrap();

    let mut acknowledged = first_batch;
    for batch in std::iter::once(first).chain(batches) {
        assert_eq!(batch, acknowledged, "batches are not reported in order");
        acknowledged += 1;
    }
    acknowledged
}

async fn holds(db: &Db, i: u64) -> bool {
    match db.get(key(i)).await.unwrap() {
        None => false,
        Some(found) => {
            assert_eq!(found, value(i), "key {i}");
            true
        }
    }
}

/// Requires that the database holds the acknowledged batches, and returns the number of batches that it holds.
async fn require_batches(db: &Db, acknowledged: u64) -> u64 {
    for i in 0..acknowledged * KEYS_PER_BATCH {
        assert!(holds(db, i).await, "key {i} of a reported batch is not in the database");
    }
    let mut more = 0;
    let next = acknowledged * KEYS_PER_BATCH;
    for i in next..next + 5 * KEYS_PER_BATCH {
        more += u64::from(holds(db, i).await);
    }
    assert!(
        more == 0 || more == KEYS_PER_BATCH,
        "{more} keys beyond the {acknowledged} acknowledged batches are in the database: neither 0 nor a whole batch"
    );
    let batches = acknowledged + more / KEYS_PER_BATCH;
    // A scan uses no filter, so it also counts keys that a filter would hide.
    let (mut rows, mut keys) = (db.scan(..).await.unwrap(), 0);
    while let Some(row) = rows.next().await.unwrap() {
        assert!(row.value.starts_with(&row.key));
        keys += 1;
    }
    assert_eq!(keys, batches * KEYS_PER_BATCH);
    batches
}

async fn kill_writers(kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy();
    let (mut batches, mut acknowledged, mut random) = (0, 0, 2);
    let mut asked = Answers { maybe: 0, no: 0, false_positives: 0 };
    for _ in 0..kills {
        let delay = Duration::from_micros(support::random(&mut random) % 100_000);
        let end = kill_one(folder.path(), batches, delay);
        acknowledged += end - batches;
        let policies: support::db::Policies = vec![Arc::new(policy.clone())];
        let (db, recorder) = open(&store(folder.path()), small_tables(), policies).await;
        batches = require_batches(&db, end).await;
        let answers = recorder.answers("point");
        (asked.maybe, asked.no) = (asked.maybe + answers.maybe, asked.no + answers.no);
        db.close().await.unwrap();
    }
    assert_eq!(policy.corrupt_blocks(), 0);
    assert!(acknowledged >= kills, "a writer reported no batch");
    assert!(
        kills < 20 || (asked.maybe > 0 && asked.no > 0),
        "filters gave only one of the answers \"maybe\" and \"no\": {asked:?}"
    );
    println!(
        "{kills} writers killed: {acknowledged} batches acknowledged, {} written and not acknowledged, {} keys held; \
         filters answered \"maybe\" {} times and \"no\" {} times",
        batches - acknowledged,
        batches * KEYS_PER_BATCH,
        asked.maybe,
        asked.no
    );
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Other arguments, which `cargo test` passes on, are ignored: this program is a single test.
    if let [verb, folder, first_batch] = &arguments[..]
        && verb == WRITER
    {
        return runtime
            .block_on(write_until_killed(Path::new(folder), first_batch.parse().unwrap()));
    }
    let kills = std::env::var("TROMMEL_KILLS")
        .map_or(20, |kills| kills.parse().expect("TROMMEL_KILLS must be a number"));
    runtime.block_on(kill_writers(kills));
}
