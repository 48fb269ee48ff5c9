//! Measures queries of TPC-H in one process, in five variants: hash joins without filters, with DataFusion's dynamic
//! filters, and with runtime filters; sort-merge joins without and with runtime filters. Prints the median seconds of
//! each variant as a table in Markdown.
//!
//! `scripts/cluster tpch-local` builds this program and runs it.

#[path = "../tests/support/mod.rs"]
mod support;

use clap::Parser;
use datafusion::prelude::*;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::client::rows;
use support::data;
use support::queries::QUERIES;

#[derive(Parser)]
#[command(about = "Measures queries of TPC-H in one process, with and without runtime filters")]
struct Arguments {
    /// The tables are in the folder scale-SCALE-FILES below this folder. Missing tables are generated.
    #[arg(long)]
    data: PathBuf,
    /// The scale factor of TPC-H: at 1, lineitem has 6,000,000 rows.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The number of files per large table.
    #[arg(long, default_value_t = 4)]
    files: i32,
    /// The number of runs of each query in each variant. Runs of different variants are interleaved.
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Runs only the queries with these names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// The variants that are compared: the name, and whether sort-merge joins, DataFusion's dynamic filters and runtime
/// filters are on. In the variants with sort-merge joins, dynamic filters have no effect, and keep their default.
const VARIANTS: [(&str, [bool; 3]); 5] = [
    ("hash joins", [false, false, false]),
    ("hash joins with dynamic filters", [false, true, false]),
    ("hash joins with runtime filters", [false, false, true]),
    ("sort-merge joins", [true, true, false]),
    ("sort-merge joins with runtime filters", [true, true, true]),
];

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let tables = arguments.data.join(format!("scale-{}-{}", arguments.scale, arguments.files));
    data::generate(&tables, arguments.scale, arguments.files);
    let mut sessions = Vec::new();
    for (_, variant) in VARIANTS {
        sessions.push(session(&tables, variant).await);
    }
    let heads: Vec<_> = VARIANTS.iter().map(|(name, _)| format!("{name}, s")).collect();
    println!(
        "| query | {} | hash joins: without / with runtime filters | sort-merge joins: without / with runtime filters |",
        heads.join(" | ")
    );
    println!("|---|{}", "---:|".repeat(VARIANTS.len() + 2));
    for (name, sql) in QUERIES {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|only| only == name) {
            continue;
        }
        let seconds = measure(&sessions, name, sql, arguments.repetitions).await;
        let columns: Vec<_> = seconds.iter().map(|seconds| format!("{seconds:.3}")).collect();
        println!(
            "| {name} | {} | {:.2} | {:.2} |",
            columns.join(" | "),
            seconds[0] / seconds[2],
            seconds[3] / seconds[4]
        );
    }
}

/// Makes a session for a variant of [`VARIANTS`], with the tables of TPC-H.
async fn session(tables: &Path, [sort_merge, dynamic, runtime]: [bool; 3]) -> SessionContext {
    let context = SessionContext::new();
    trommel_datafusion::register_all(&context).expect("a new session must accept functions");
    data::register(&context, tables).await;
    for option in [
        format!("datafusion.optimizer.prefer_hash_join = {}", !sort_merge),
        format!("datafusion.optimizer.enable_join_dynamic_filter_pushdown = {dynamic}"),
        format!("trommel.runtime_filter.enabled = {runtime}"),
        format!("trommel.runtime_filter.all_joins = {runtime}"),
    ] {
        rows(&context, &format!("SET {option}")).await;
    }
    context
}

/// Returns the median seconds of interleaved runs in each session. Panics if the sessions give different answers.
async fn measure(
    sessions: &[SessionContext],
    name: &str,
    sql: &str,
    repetitions: usize,
) -> Vec<f64> {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); sessions.len()];
    let mut answer = None;
    for repetition in 0..repetitions {
        for i in 0..sessions.len() {
            // Each repetition starts with a different session.
            let i = (i + repetition) % sessions.len();
            let begin = Instant::now();
            let rows = rows(&sessions[i], sql).await;
            times[i].push(begin.elapsed());
            let first = answer.get_or_insert_with(|| rows.clone());
            assert_eq!(*first, rows, "{name}: not all runs give the same answer");
        }
    }
    times.iter_mut().for_each(|times| times.sort());
    times.iter().map(|times| times[times.len() / 2].as_secs_f64()).collect()
}
