//! Ballista's scheduler with runtime filters. Takes the arguments of `ballista-scheduler` and the argument
//! `--cancel-stalled-jobs-after-seconds`.

mod common;

use ballista_core::object_store::{session_config_with_s3_support, session_state_with_s3_support};
use ballista_core::optimizer::ballista_default_optimizer_rules;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{Config, SchedulerConfig};
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service};
use clap::Parser;
use common::Log;
use datafusion::common::Result as DataFusionResult;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

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
    let Config { namespace, external_host, bind_port, .. } = &arguments;
    let log = Log {
        level: &arguments.log_level_setting,
        folder: arguments.log_dir.as_deref(),
        file_prefix: format!("scheduler_{namespace}_{external_host}_{bind_port}"),
        rotation: arguments.log_rotation_policy,
        shows_threads: arguments.print_thread_info,
    };
    log.start()?;
    let address = format!("{}:{}", arguments.bind_host, arguments.bind_port).parse()?;
    let config = SchedulerConfig::try_from(arguments)?
        .with_override_config_producer(Arc::new(session_config_with_s3_support))
        .with_override_session_builder(Arc::new(session_with_s3));
    let config = trommel_ballista::scheduler_config(config);
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

/// Creates a session with the options of S3 and with Ballista's optimizer rules. Ballista's own sessions with the
/// options of S3 lack these rules.
fn session_with_s3(config: SessionConfig) -> DataFusionResult<SessionState> {
    let state = session_state_with_s3_support(config)?;
    let session_id = state.session_id().to_owned();
    let builder = SessionStateBuilder::new_from_existing(state).with_session_id(session_id);
    Ok(builder.with_optimizer_rules(ballista_default_optimizer_rules()).build())
}
