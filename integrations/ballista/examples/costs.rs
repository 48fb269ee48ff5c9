//! Measures the bytes that a runtime filter adds to the shuffle files of a query, on 1, 2 and 4 executors, and compares
//! these bytes with the formulas in docs/distributed.md. Prints a table in Markdown.
//!
//! `scripts/cluster costs` builds the scheduler, the executor and this program, and runs this program.

#[path = "../tests/support/mod.rs"]
mod support;

use clap::Parser;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::prelude::*;
use std::path::PathBuf;
use support::client::{remote_with, rows, shuffles_only};
use support::cluster::Cluster;
use support::data;
use trommel_datafusion::RuntimeFilterOptions;

#[derive(Parser)]
#[command(
    about = "Measures the bytes that a runtime filter adds to shuffle files, and compares them with the predicted bytes"
)]
struct Arguments {
    /// The folder with trommel-scheduler and trommel-executor.
    #[arg(long)]
    binaries: PathBuf,
    /// The tables are in the folder scale-SCALE-8 below this folder. Missing tables are generated.
    #[arg(long)]
    data: PathBuf,
    /// The scale factor of TPC-H.
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
}

/// The number of files of each large table.
const FILES: i32 = 8;

/// A day for each query. The query selects the orders before its day, so the day determines how many keys the filter
/// has.
const DAYS: [&str; 2] = ["1992-02-01", "1996-01-01"];

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let tables = arguments.data.join(format!("scale-{}-{FILES}", arguments.scale));
    data::generate(&tables, arguments.scale, FILES);
    println!(
        "| executors | keys | parts | bytes of all parts, measured | computed | bytes of the filter, measured | computed | tasks that read the filter | bytes read by all tasks |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for executors in [1, 2, 4] {
        let folder = tempfile::tempdir().expect("the folder of the cluster must be creatable");
        let cluster = Cluster::start(&arguments.binaries, folder.path(), executors, 1);
        let context = remote_with(&cluster, &tables, &shuffles_only()).await;
        for day in DAYS {
            measure(&cluster, &context, executors, day).await;
        }
    }
}

async fn measure(cluster: &Cluster, context: &SessionContext, executors: usize, day: &str) {
    let chosen = format!("o_orderdate < DATE '{day}'");
    let count = format!("SELECT count(*) FROM orders WHERE {chosen}");
    let counted = context
        .sql(&count)
        .await
        .expect("the count must be plannable")
        .collect()
        .await
        .expect("the count must succeed");
    let keys = counted[0].column(0).as_primitive::<Int64Type>().value(0) as u64;

    let sql = format!(
        "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE {chosen}"
    );
    let before = cluster.jobs();
    let plan = rows(context, &format!("EXPLAIN ANALYZE {sql}")).await;
    let stages = Stages::parse(&plan);
    let parts_bytes = cluster.stage_bytes_since(&before, stages.build);
    let filter_bytes = cluster.stage_bytes_since(&before, stages.merge);

    let options = RuntimeFilterOptions::default();
    let estimated = stages.agreed_keys;
    let agreed = trommel::FilterSpec::new(options.kind).fpr(options.fpr).keys(estimated);
    let agreed_bytes = agreed.encoded_len().expect("a spec that the executors used is valid");
    let parts = stages.parts as u64;
    // `agreed` is the planned filter, which is sized for the estimated number of keys. The filter is built in parts. A
    // part with few keys takes 40 bytes, plus 8 bytes for the hash of each key. A part with many keys is a filter of
    // the planned size. The merged filter is made for the actual number of keys if the hashes of all parts take no more
    // bytes than the planned filter.
    let parts_formula = parts * (40 + 8 * keys / parts).min(agreed_bytes);
    let is_sparse = 8 * keys <= agreed_bytes;
    let filter = if is_sparse { agreed.keys(keys as usize) } else { agreed };
    let filter_formula = filter.encoded_len().expect("a spec that the executors used is valid");
    let tasks = (stages.filter_bytes_read as f64 / filter_formula as f64).round();
    println!(
        "| {executors} | {keys} | {parts} | {parts_bytes} | {parts_formula} | {filter_bytes} | {filter_formula} | {tasks} | {} |",
        stages.filter_bytes_read,
    );
}

/// The stages of a plan's single filter, as `EXPLAIN ANALYZE` prints them.
struct Stages {
    /// The id of the stage that builds the parts of the filter.
    build: usize,
    /// The id of the stage that merges the parts.
    merge: usize,
    /// The number of partitions of the build stage.
    parts: usize,
    /// The number of keys that the filter was planned for.
    agreed_keys: usize,
    /// The bytes of the filter times the number of tasks that have read the filter.
    filter_bytes_read: u64,
}

impl Stages {
    fn parse(plan: &str) -> Self {
        let mut stages =
            Self { build: 0, merge: 0, parts: 0, agreed_keys: 0, filter_bytes_read: 0 };
        for stage in plan.split("Stage[stage_id=").skip(1) {
            let id = number(stage) as usize;
            if stage.contains("mode=Partial, gby=[], aggr=[trommel_filter(") {
                stages.build = id;
                stages.parts = number(after(stage, "partitions=")) as usize;
                let arguments = after(stage, "aggr=[trommel_filter(");
                stages.agreed_keys =
                    number(arguments.split(", ").nth(3).unwrap_or_default()) as usize;
            }
            if stage.contains("MergeStageExec") {
                stages.merge = id;
            }
            if stage.contains("RuntimeFilterExec") {
                stages.filter_bytes_read = rounded(after(stage, "filter_bytes="));
            }
        }
        assert!(
            stages.filter_bytes_read > 0,
            "the plan has no filter, or no task has read it: {plan}"
        );
        stages
    }
}

/// The text after the first `mark`. Empty if there is no `mark`.
fn after<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split_once(mark).map_or("", |(_, rest)| rest)
}

/// Parses the count at the beginning of a text. DataFusion prints counts below 1000 as whole numbers. It rounds larger
/// counts to one or two decimals and adds a suffix for the power of 1000: `12.30 K`, `123.4 K`.
fn rounded(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 =
        text[..end].parse().unwrap_or_else(|_| panic!("no number at the beginning of: {text:.40}"));
    let scale = match text[end..].trim_start().chars().next() {
        Some('K') => 1e3,
        Some('M') => 1e6,
        Some('G' | 'B') => 1e9,
        _ => 1.0,
    };
    (number * scale) as u64
}

/// The whole number at the beginning of a text.
fn number(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().unwrap_or_else(|_| panic!("no number at the beginning of: {text:.40}"))
}
