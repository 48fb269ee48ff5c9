//! Tests a cluster with processes that die, executors without this crate, and filters that are too large. A query must
//! not hang, and must end with a right answer or a clear error.

mod support;

use ballista_executor::config::Config as ExecutorArguments;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use clap::Parser;
use datafusion::prelude::*;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::client::{remote_with, rows, try_rows, without_broadcast};
use support::cluster::{Cluster, Setup};
use support::data;
use support::queries::QUERIES;
use tempfile::TempDir;
use trommel_datafusion::{might_contain_udf, trommel_filter_udaf};

const LIMIT: Duration = Duration::from_secs(60);

/// The folder with the scheduler and the executor.
fn binaries() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_trommel-scheduler")).parent().unwrap()
}

/// Generates tables on which a query takes about a second. Returns their folder, a query, and its right answer.
async fn tables() -> (TempDir, &'static str, String) {
    let folder = tempfile::tempdir().unwrap();
    data::generate(folder.path(), 0.05, 4);
    let local = SessionContext::new();
    data::register(&local, folder.path()).await;
    let sql = QUERIES[0].1;
    let expected = rows(&local, sql).await;
    (folder, sql, expected)
}

/// The number of stages that have begun to write shuffle files on the first two executors.
fn stages(cluster: &Cluster) -> usize {
    let entries = |path| std::fs::read_dir(path).into_iter().flatten().flatten();
    let jobs = (0..2).flat_map(|i| entries(cluster.work_folder(i)));
    let names: HashSet<_> =
        jobs.flat_map(|job| entries(job.path())).map(|stage| stage.file_name()).collect();
    names.len()
}

/// Runs a query and calls `fault` as soon as `begun_stages` stages have begun or the query has ended. Returns the
/// result of the query. The stages must begin within `LIMIT`, and the result must come within `LIMIT` after the fault.
async fn with_fault(
    cluster: &mut Cluster,
    context: &SessionContext,
    sql: &'static str,
    begun_stages: usize,
    fault: impl FnOnce(&mut Cluster),
) -> Result<String, String> {
    let query = tokio::spawn({
        let context = context.clone();
        async move { try_rows(&context, sql).await }
    });
    let begin = Instant::now();
    while stages(cluster) < begun_stages && !query.is_finished() {
        assert!(begin.elapsed() < LIMIT, "the query has begun fewer than {begun_stages} stages");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    fault(cluster);
    tokio::time::timeout(LIMIT, query).await.expect("the query hangs").unwrap()
}

/// The scheduler cancels a job that makes no progress for this time. A task of these tests takes about a second.
const STALLED: Duration = Duration::from_secs(20);

/// Kills an executor as soon as `begun_stages` stages have begun. The query must give the right answer, or an error
/// that the job was cancelled. Then starts the executor again and repeats the query until it gives an answer, which
/// must be right. If a repetition takes more than two minutes, or fails later than two minutes after the start of the
/// executor, the test fails.
async fn kill_an_executor_after(begun_stages: usize) {
    let (folder, sql, expected) = tables().await;
    let setup = Setup { cancel_stalled_after: Some(STALLED), ..Setup::default() };
    let mut cluster = Cluster::start_with(setup, binaries(), &folder.path().join("cluster"), 2, 1);
    let context = remote_with(&cluster, folder.path(), &without_broadcast()).await;
    let kill = |cluster: &mut Cluster| cluster.kill_executor(1);
    match with_fault(&mut cluster, &context, sql, begun_stages, kill).await {
        Ok(answer) => {
            println!("an executor was killed after {begun_stages} stages: the right answer");
            assert_eq!(answer, expected);
        }
        Err(error) => {
            println!("an executor was killed after {begun_stages} stages: {error}");
            assert!(error.to_lowercase().contains("cancel"), "another error: {error}");
        }
    }
    // The new executor gets two slots, since a task of the cancelled job might still occupy the single slot of the
    // remaining executor.
    cluster.start_executor(1, 2);
    let begin = Instant::now();
    let again = loop {
        let answer = tokio::time::timeout(2 * LIMIT, try_rows(&context, sql)).await;
        match answer.expect("the query hangs") {
            Ok(again) => break again,
            Err(error) => assert!(begin.elapsed() < 2 * LIMIT, "no answer after a kill: {error}"),
        }
    };
    assert_eq!(again, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_an_executor_while_filters_are_built_gives_no_wrong_answer() {
    kill_an_executor_after(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_an_executor_after_the_build_gives_no_wrong_answer() {
    kill_an_executor_after(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_an_executor_during_the_probe_gives_no_wrong_answer() {
    kill_an_executor_after(9).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_without_this_crate_fails_with_a_clear_error() {
    let (folder, sql, _) = tables().await;
    let cluster = Cluster::start(binaries(), &folder.path().join("cluster"), 0, 1);
    let plain = cluster.plain_executor_arguments(&folder.path().join("plain"));
    let config = ExecutorProcessConfig::try_from(ExecutorArguments::parse_from(plain)).unwrap();
    let executor = tokio::spawn(start_executor_process(Arc::new(config)));
    cluster.wait_for_executors(1);
    let context = remote_with(&cluster, folder.path(), &without_broadcast()).await;
    let refused =
        tokio::time::timeout(LIMIT, try_rows(&context, sql)).await.expect("the query hangs");
    let error = refused.expect_err("a plan with filters cannot run on such an executor");
    println!("an executor without filters: {error}");
    assert!(error.contains("could not be prepared"), "another error: {error}");
    let options =
        [without_broadcast(), vec!["trommel.runtime_filter.enabled = false".to_owned()]].concat();
    let context = remote_with(&cluster, folder.path(), &options).await;
    tokio::time::timeout(LIMIT, rows(&context, sql)).await.expect("the query hangs");
    executor.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_scheduler_answers_again() {
    let (folder, sql, expected) = tables().await;
    let mut cluster = Cluster::start(binaries(), &folder.path().join("cluster"), 2, 2);
    let context = remote_with(&cluster, folder.path(), &without_broadcast()).await;
    let result = with_fault(&mut cluster, &context, sql, 1, |cluster| {
        cluster.kill_scheduler();
        cluster.start_scheduler();
    })
    .await;
    match result {
        Ok(answer) => assert_eq!(answer, expected),
        Err(error) => println!("the scheduler was killed: {error}"),
    }
    cluster.wait_for_executors(2);
    let context = remote_with(&cluster, folder.path(), &without_broadcast()).await;
    let again = tokio::time::timeout(LIMIT, rows(&context, sql)).await.expect("the query hangs");
    assert_eq!(again, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_queries_do_not_mix_their_filters() {
    let (folder, _, _) = tables().await;
    let local = SessionContext::new();
    data::register(&local, folder.path()).await;
    let cluster = Cluster::start(binaries(), &folder.path().join("cluster"), 2, 2);
    let mut running = tokio::task::JoinSet::new();
    for (_, sql) in [QUERIES[0], QUERIES[4], QUERIES[8], QUERIES[0]] {
        let context = remote_with(&cluster, folder.path(), &without_broadcast()).await;
        let expected = rows(&local, sql).await;
        running.spawn(async move { (rows(&context, sql).await, expected) });
    }
    let all = tokio::time::timeout(2 * LIMIT, running.join_all()).await.expect("the queries hang");
    for (got, expected) in all {
        assert_eq!(got, expected);
    }
}

/// By default, a message of Ballista has at most 16 MiB. The first filter of this test has slightly fewer bytes, and
/// the second filter would have more.
#[tokio::test(flavor = "multi_thread")]
async fn filters_near_the_message_limit_do_not_hang_a_query() {
    let (folder, _, _) = tables().await;
    let cluster = Cluster::start(binaries(), &folder.path().join("cluster"), 2, 2);
    let context = remote_with(&cluster, folder.path(), &without_broadcast()).await;
    context.register_udf(might_contain_udf().as_ref().clone());
    context.register_udaf(trommel_filter_udaf().as_ref().clone());
    let count = "SELECT count(*) FROM lineitem";
    let all = tokio::time::timeout(LIMIT, rows(&context, count)).await.expect("the query hangs");
    // Each filter gets 7.5 million keys: lineitem has 300,000 rows, and each of them makes a key with each of the 25
    // rows of nation. An aggregate keeps hashes of keys instead of a filter only while the hashes take no more bytes.
    // The hashes of these keys would take more bytes than the first filter, so the filter itself is sent.
    let key = "(l_orderkey * 8 + l_linenumber) * 32";
    for planned_keys in [12_600_000, 20_000_000] {
        let filter = format!(
            "SELECT trommel_filter({key} + n_nationkey, 0.01, 'split-block-bloom', {planned_keys}) \
            FROM lineitem CROSS JOIN nation"
        );
        let sql = format!("{count} WHERE might_contain(({filter}), {key})");
        let counted = tokio::time::timeout(LIMIT, try_rows(&context, &sql)).await;
        let counted = counted.expect("the query hangs");
        println!("a filter for {planned_keys} keys: {counted:?}");
        match counted {
            Ok(counted) => assert_eq!(counted, all),
            Err(error) => assert!(error.contains("too large"), "another error: {error}"),
        }
    }
}
