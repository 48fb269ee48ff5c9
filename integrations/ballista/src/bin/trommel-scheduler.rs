//! Ballista's scheduler with runtime filters. Takes the arguments of `ballista-scheduler` and the argument
//! `--cancel-stalled-jobs-after-seconds`.

use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{Config, SchedulerConfig};
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service};
use clap::Parser;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// The size of the stack of each thread. Plans are traversed by recursion, and plans of large queries are deep.
/// Ballista's own scheduler uses the same size.
const STACK_BYTES: usize = 32 << 20;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    ballista: Config,
    /// Cancels a job if none of its tasks has begun or ended for this number of seconds, as can happen after the loss
    /// of an executor. Default: never.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    cancel_stalled_jobs_after_seconds: Option<u64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()?
        .block_on(run(Arguments::parse()))
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { ballista: arguments, cancel_stalled_jobs_after_seconds } = arguments;
    let filter = EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(&arguments.log_level_setting));
    tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter).init();
    let address = format!("{}:{}", arguments.bind_host, arguments.bind_port).parse()?;
    let config = trommel_ballista::scheduler_config(SchedulerConfig::try_from(arguments)?);
    let cluster = BallistaCluster::new_from_config(&config).await?;
    config.validate()?;
    let scheduler =
        create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    if let Some(seconds) = cancel_stalled_jobs_after_seconds {
        let limit = Duration::from_secs(seconds);
        tokio::spawn(trommel_ballista::cancel_stalled_jobs(scheduler.clone(), limit));
    }
    Ok(start_grpc_service(address, scheduler).await?)
}
