//! Ballista's scheduler with runtime filters. Takes the arguments of `ballista-scheduler`.

use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{Config, SchedulerConfig};
use ballista_scheduler::scheduler_process::start_server;
use clap::Parser;
use std::error::Error;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;

/// Plans are walked by recursion, and those of large queries are deep. Ballista's own scheduler has the same.
const STACK_BYTES: usize = 32 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()?
        .block_on(run(Config::parse()))
}

async fn run(arguments: Config) -> Result<(), Box<dyn Error>> {
    let filter = EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(&arguments.log_level_setting));
    tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter).init();
    let address = format!("{}:{}", arguments.bind_host, arguments.bind_port).parse()?;
    let config = trommel_ballista::scheduler_config(SchedulerConfig::try_from(arguments)?);
    let cluster = BallistaCluster::new_from_config(&config).await?;
    Ok(start_server(cluster, address, Arc::new(config)).await?)
}
