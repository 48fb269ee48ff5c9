//! Clients of a cluster.

use super::cluster::Cluster;
use super::data;
use ballista::prelude::*;
use ballista_core::extension::SessionConfigExt;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::*;
use std::path::Path;
use trommel_ballista::RuntimeFilterOptions;

/// Connects a client that does not have this crate's options.
pub async fn remote(cluster: &Cluster, folder: &Path) -> SessionContext {
    let context =
        SessionContext::remote(&cluster.url()).await.expect("the client must reach the scheduler");
    data::register(&context, folder).await;
    context
}

/// Connects a client that turns on filters and sets `options` for its own queries.
pub async fn remote_with(cluster: &Cluster, folder: &Path, options: &[String]) -> SessionContext {
    let filters =
        RuntimeFilterOptions { enabled: true, all_joins: true, ..RuntimeFilterOptions::default() };
    let config = SessionConfig::new_with_ballista().with_option_extension(filters);
    let state = SessionStateBuilder::new().with_default_features().with_config(config).build();
    let context = SessionContext::remote_with_state(&cluster.url(), state)
        .await
        .expect("the client must reach the scheduler");
    data::register(&context, folder).await;
    for option in options {
        let set = context.sql(&format!("SET {option}")).await.expect("the option must exist");
        set.collect().await.expect("the option must have a valid value");
    }
    context
}

/// Options that keep Ballista from sending a table to all executors.
pub fn shuffles_only() -> Vec<String> {
    let limits = [
        "ballista.optimizer.broadcast_join_threshold_bytes",
        "ballista.optimizer.broadcast_join_threshold_rows",
        "datafusion.optimizer.hash_join_single_partition_threshold",
        "datafusion.optimizer.hash_join_single_partition_threshold_rows",
    ];
    limits.map(|limit| format!("{limit} = 0")).to_vec()
}

/// The options of [`shuffles_only`], and two more for tests with small tables: joins of small inputs get filters too,
/// and a stage has at most four partitions.
pub fn without_broadcast() -> Vec<String> {
    let mut options = shuffles_only();
    options.push("trommel.runtime_filter.min_probe_rows = 0".to_owned());
    options.push("datafusion.execution.target_partitions = 4".to_owned());
    options
}

/// Runs a query and returns its rows as a table of text.
///
/// # Panics
/// If the query fails.
pub async fn rows(context: &SessionContext, sql: &str) -> String {
    try_rows(context, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Runs a query and returns its rows as a table of text, or the text of its error.
pub async fn try_rows(context: &SessionContext, sql: &str) -> Result<String, String> {
    let frame = context.sql(sql).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    Ok(pretty_format_batches(&batches).expect("every column must have a text form").to_string())
}
