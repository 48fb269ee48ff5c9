//! Ballista's executor with runtime filters. Takes the arguments of `ballista-executor`.

use ballista_executor::config::Config;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::health::spawn_health_server;
use clap::Parser;
use std::error::Error;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Config::parse();
    let health_address =
        format!("{}:{}", arguments.bind_host, arguments.bind_health_port).parse()?;
    let config = trommel_ballista::executor_config(ExecutorProcessConfig::try_from(arguments)?);
    let filter = EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(&config.special_mod_log_level));
    tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter).init();
    let (stop_health, stopped) = tokio::sync::oneshot::channel();
    let health = spawn_health_server(health_address, config.health.clone(), stopped);
    let result = start_executor_process(Arc::new(config)).await;
    // Sending fails if the health server has already ended, which is not an error here.
    let _ = stop_health.send(());
    health.await??;
    Ok(result?)
}
