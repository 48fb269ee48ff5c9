//! Tests that a cluster of real processes gives the answers of one process, and that filters reduce the bytes of the
//! cluster's shuffles.

mod support;

use datafusion::prelude::*;
use std::path::Path;
use support::client::{remote, remote_with, rows, without_broadcast};
use support::cluster::Cluster;
use support::data;
use support::queries::QUERIES;

/// The folder with the scheduler and the executor.
fn binaries() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_trommel-scheduler")).parent().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_gives_the_answers_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    data::generate(folder.path(), 0.01, 2);
    let local = SessionContext::new();
    data::register(&local, folder.path()).await;
    let cluster = Cluster::start(binaries(), &folder.path().join("cluster"), 2, 2);
    let without_options = remote(&cluster, folder.path()).await;
    let filtered = remote_with(&cluster, folder.path(), &without_broadcast()).await;
    let mut options = without_broadcast();
    options.push("ballista.planner.adaptive.enabled = false".to_owned());
    let static_planner = remote_with(&cluster, folder.path(), &options).await;
    for (name, sql) in QUERIES {
        let expected = rows(&local, sql).await;
        for context in [&without_options, &filtered, &static_planner] {
            assert_eq!(rows(context, sql).await, expected, "{name} on the cluster");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_reduce_the_bytes_of_shuffles() {
    let folder = tempfile::tempdir().unwrap();
    data::generate(folder.path(), 0.05, 4);
    let cluster = Cluster::start(binaries(), &folder.path().join("cluster"), 2, 2);
    let on = remote_with(&cluster, folder.path(), &without_broadcast()).await;
    let options =
        [without_broadcast(), vec!["trommel.runtime_filter.enabled = false".to_owned()]].concat();
    let off = remote_with(&cluster, folder.path(), &options).await;
    // The ratios hardly depend on the machine: the tables are the same everywhere, and so are the bytes, except for
    // small differences in compression.
    for (name, min_ratio) in [("Q3", 2.0), ("Q8", 2.0), ("Q17", 10.0), ("star", 2.0)] {
        let (_, sql) = QUERIES.into_iter().find(|(query, _)| *query == name).unwrap();
        let mut bytes = [0; 2];
        for (context, bytes) in [&on, &off].into_iter().zip(&mut bytes) {
            let before = cluster.jobs();
            rows(context, sql).await;
            *bytes = cluster.shuffled_bytes_since(&before);
        }
        let [with, without] = bytes;
        println!("{name}: {without} bytes without filters, {with} with them");
        assert!(
            with > 0 && without as f64 >= min_ratio * with as f64,
            "{name}: {with} bytes with filters, {without} without"
        );
    }
}
