//! Ballista's executor with runtime filters. Takes the arguments of `ballista-executor`.

mod common;

use ballista_core::object_store::{runtime_env_with_s3_support, session_config_with_s3_support};
use ballista_executor::config::Config;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::health::spawn_health_server;
use clap::Parser;
use common::Log;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use std::error::Error;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Config::parse();
    let health_address =
        format!("{}:{}", arguments.bind_host, arguments.bind_health_port).parse()?;
    let config = with_s3(ExecutorProcessConfig::try_from(arguments)?);
    let config = trommel_ballista::executor_config(config);
    let log = Log {
        level: &config.special_mod_log_level,
        folder: config.log_dir.as_deref(),
        file_prefix: config.log_file_name_prefix(),
        rotation: config.log_rotation_policy,
        shows_threads: config.print_thread_info,
    };
    log.start()?;
    let (stop_health, stopped) = tokio::sync::oneshot::channel();
    let health = spawn_health_server(health_address, config.health.clone(), stopped);
    let result = start_executor_process(Arc::new(config)).await;
    // Sending fails if the health server has already ended, which is not an error here.
    let _ = stop_health.send(());
    health.await??;
    Ok(result?)
}

/// Adds the options of S3 to the sessions of an executor. Queries still spill to the work directory.
fn with_s3(mut config: ExecutorProcessConfig) -> ExecutorProcessConfig {
    let work_dir = config.work_dir.clone();
    config.override_config_producer = Some(Arc::new(session_config_with_s3_support));
    config.override_runtime_producer = Some(Arc::new(move |session| {
        let runtime = runtime_env_with_s3_support(session)?;
        match &work_dir {
            Some(folder) => {
                let runtime = RuntimeEnvBuilder::from_runtime_env(&runtime);
                runtime.with_temp_file_path(folder).build_arc()
            }
            None => Ok(runtime),
        }
    }));
    config
}
