//! Measures queries of TPC-H on a cluster on this machine, with and without runtime filters. Prints a table in
//! Markdown.
//!
//! `scripts/cluster tpch` builds the scheduler, the executor and this program, and runs this program.

#[path = "../../tests/support/mod.rs"]
mod support;

use clap::Parser;
use datafusion::prelude::*;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::client::{remote_with, rows, shuffles_only, try_rows};
use support::cluster::{Cluster, Setup};
use support::data;
use support::links::Links;
use support::queries::QUERIES;

#[derive(Parser)]
#[command(
    about = "Measures queries of TPC-H on a cluster on this machine, with and without runtime filters"
)]
struct Arguments {
    /// The folder with trommel-scheduler and trommel-executor.
    #[arg(long)]
    binaries: PathBuf,
    /// The tables are in the folder scale-SCALE-FILES below this folder. Missing tables are generated.
    #[arg(long)]
    data: PathBuf,
    /// The scale factor of TPC-H: at 1, lineitem has 6,000,000 rows.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The number of executors.
    #[arg(long, default_value_t = 2)]
    executors: usize,
    /// The number of tasks that an executor runs at once.
    #[arg(long, default_value_t = 2)]
    slots: usize,
    /// The number of files per large table.
    #[arg(long, default_value_t = 4)]
    files: i32,
    /// Limits the link of each executor, in both directions, to this rate in Mbit/s. Uses network namespaces and needs
    /// root. Default: no limit.
    #[arg(long)]
    link: Option<u32>,
    /// The number of runs of each query with filters, interleaved with the same number of runs without filters.
    #[arg(long, default_value_t = 3)]
    repetitions: usize,
    /// Keeps Ballista from broadcasting tables, as if they were too large to be sent to all executors.
    #[arg(long)]
    no_broadcast: bool,
    /// Runs only the queries with these names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Also prints, for each query, the plan with filters and the metrics of its operators.
    #[arg(long)]
    explain: bool,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let tables = arguments.data.join(format!("scale-{}-{}", arguments.scale, arguments.files));
    data::generate(&tables, arguments.scale, arguments.files);
    let folder = tempfile::tempdir().expect("the folder of the cluster must be creatable");
    let links = arguments.link.map(|megabits| Links::create(arguments.executors, megabits));
    let setup = Setup { links, ..Setup::default() };
    let cluster = Cluster::start_with(
        setup,
        &arguments.binaries,
        folder.path(),
        arguments.executors,
        arguments.slots,
    );
    let off = session(&cluster, &tables, &arguments, "false").await;
    let on = session(&cluster, &tables, &arguments, "true").await;
    println!(
        "| query | MB shuffled without filters | MB with filters | ratio of MB | seconds without filters | seconds with filters | ratio of seconds |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, sql) in QUERIES {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|only| only == name) {
            continue;
        }
        let (mut without, mut with) = (Runs::default(), Runs::default());
        for repetition in 0..arguments.repetitions {
            // The session that runs first alternates.
            if repetition % 2 == 0 {
                without.add(&off, sql, &cluster).await;
                with.add(&on, sql, &cluster).await;
            } else {
                with.add(&on, sql, &cluster).await;
                without.add(&off, sql, &cluster).await;
            }
        }
        if let Some(error) = without.error.as_ref().or(with.error.as_ref()) {
            let which = if without.error.is_some() { "without" } else { "with" };
            println!("| {name} | failed {which} filters: {} | | | | | |", error.replace('|', "/"));
            continue;
        }
        assert_eq!(
            without.answer, with.answer,
            "{name}: the answers without and with filters differ"
        );
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            without.megabytes(),
            with.megabytes(),
            without.megabytes() / with.megabytes(),
            without.seconds(),
            with.seconds(),
            without.seconds() / with.seconds(),
        );
        if arguments.explain {
            println!("{}", rows(&on, &format!("EXPLAIN ANALYZE {sql}")).await);
        }
    }
}

/// Connects a client that has the tables of TPC-H to the cluster. The client's queries have filters if `enabled` is
/// "true", and no filters if it is "false".
async fn session(
    cluster: &Cluster,
    tables: &Path,
    arguments: &Arguments,
    enabled: &str,
) -> SessionContext {
    let mut options = vec![format!("trommel.runtime_filter.enabled = {enabled}")];
    if arguments.no_broadcast {
        options.extend(shuffles_only());
    }
    remote_with(cluster, tables, &options).await
}

/// The runs of one query, either without or with filters.
#[derive(Default)]
struct Runs {
    /// The answer of the last run that did not fail.
    answer: String,
    /// The error of the last run that failed.
    error: Option<String>,
    /// The bytes of the shuffle files of the last run.
    shuffled_bytes: u64,
    times: Vec<Duration>,
}

impl Runs {
    async fn add(&mut self, context: &SessionContext, sql: &str, cluster: &Cluster) {
        let before = cluster.jobs();
        let begin = Instant::now();
        match try_rows(context, sql).await {
            Ok(answer) => self.answer = answer,
            Err(error) => self.error = Some(error),
        }
        self.times.push(begin.elapsed());
        self.shuffled_bytes = cluster.shuffled_bytes_since(&before);
    }

    fn megabytes(&self) -> f64 {
        self.shuffled_bytes as f64 / 1e6
    }

    /// The median time. With an even number of runs, the slower of the two in the middle.
    fn seconds(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort();
        times[times.len() / 2].as_secs_f64()
    }
}
