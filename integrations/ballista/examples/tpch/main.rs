//! Queries of TPC-H on a cluster of this machine, with runtime filters and without. Prints a table in Markdown.
//!
//! `scripts/cluster tpch` builds what this needs and runs it.

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
    about = "Queries of TPC-H on a cluster of this machine, with runtime filters and without"
)]
struct Arguments {
    /// The folder of trommel-scheduler and trommel-executor.
    #[arg(long)]
    binaries: PathBuf,
    /// Where the tables are kept, and written if they are not there.
    #[arg(long)]
    data: PathBuf,
    /// The scale of the tables: 1 is 6,000,000 rows of lineitem.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Executors on this machine.
    #[arg(long, default_value_t = 2)]
    executors: usize,
    /// Tasks that an executor runs at once.
    #[arg(long, default_value_t = 2)]
    slots: usize,
    /// Files per large table: as many tasks read it.
    #[arg(long, default_value_t = 4)]
    files: i32,
    /// The rate of the link of each executor in both directions, in Mbit/s, by network namespaces. Needs root. None unless given.
    #[arg(long)]
    link: Option<u32>,
    /// Interleaved runs of each query, with filters and without.
    #[arg(long, default_value_t = 3)]
    repetitions: usize,
    /// Joins by shuffles only, as with tables too large to be sent to all executors.
    #[arg(long)]
    no_broadcast: bool,
    /// Only queries of these names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Prints the plans with their metrics too.
    #[arg(long)]
    explain: bool,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let tables = arguments.data.join(format!("scale-{}-{}", arguments.scale, arguments.files));
    data::generate(&tables, arguments.scale, arguments.files);
    let folder = tempfile::tempdir().expect("a folder for the cluster");
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
        "| query | shuffled without, MB | with, MB | ratio | seconds without | with | ratio |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, sql) in QUERIES {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|only| only == name) {
            continue;
        }
        let (mut without, mut with) = (Runs::default(), Runs::default());
        for repetition in 0..arguments.repetitions {
            // Beginning with the other one each time.
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
        assert_eq!(without.answer, with.answer, "{name}: the answers differ");
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

/// A client that has filters switched on or off.
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

/// The runs of one query.
#[derive(Default)]
struct Runs {
    answer: String,
    /// Why the last run that failed did so.
    error: Option<String>,
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

    fn seconds(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort();
        times[times.len() / 2].as_secs_f64()
    }
}
