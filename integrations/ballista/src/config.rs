//! Configurations of schedulers and executors with filters.

use crate::codec::physical_codec;
use crate::planner::DistributedQueryPlanner;
use ballista_core::ConfigProducer;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::{default_config_producer, default_session_builder};
use ballista_executor::executor_process::ExecutorProcessConfig;
use ballista_scheduler::config::SchedulerConfig;
use datafusion::common::Result;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use std::sync::Arc;
use trommel_datafusion::{
    RuntimeFilterOptions, RuntimeFilterRule, might_contain_udf, register_functions,
    trommel_filter_udaf,
};

/// Adds runtime filters and the SQL functions of `trommel_datafusion` to a scheduler.
///
/// Filters are on for each client that does not register [`RuntimeFilterOptions`] with its session. A config producer
/// or session builder that `config` already has is kept: the options of the filters are added to the session configs
/// that the producer makes; the functions and the rule that places filters are added to the sessions that the builder
/// makes. The query planner of these sessions is replaced. If `config` has its own physical codec, the codec is kept.
/// The caller must ensure that this codec can encode and decode all that [`physical_codec`] can.
#[must_use]
pub fn scheduler_config(config: SchedulerConfig) -> SchedulerConfig {
    let produce = with_options(config.override_config_producer.clone());
    let build = config.override_session_builder.clone();
    let mut config = config.with_override_config_producer(produce).with_override_session_builder(
        Arc::new(move |config: SessionConfig| {
            let state = match &build {
                Some(build) => build(config)?,
                None => default_session_builder(config)?,
            };
            with_filters(state)
        }),
    );
    config.override_physical_codec.get_or_insert_with(physical_codec);
    config
}

/// Adds the options of filters to the session configs that a producer makes. `None` stands for Ballista's default
/// producer.
fn with_options(produce: Option<ConfigProducer>) -> ConfigProducer {
    Arc::new(move || {
        let config = produce.as_ref().map_or_else(default_config_producer, |produce| produce());
        config.with_option_extension(default_options())
    })
}

/// The options unless a client sets others: filters are on, for all joins. `all_joins` = false would leave hash joins
/// to DataFusion's own dynamic filters, which do not cross stages.
fn default_options() -> RuntimeFilterOptions {
    RuntimeFilterOptions { enabled: true, all_joins: true, ..RuntimeFilterOptions::default() }
}

/// Adds the rule, the planner and the functions to a session. The session keeps its id.
fn with_filters(state: SessionState) -> Result<SessionState> {
    let session_id = state.session_id().to_owned();
    let mut state = SessionStateBuilder::new_from_existing(state)
        .with_session_id(session_id)
        .with_optimizer_rule(Arc::new(RuntimeFilterRule::default()))
        .with_query_planner(Arc::new(DistributedQueryPlanner::default()))
        .build();
    register_functions(&mut state)?;
    Ok(state)
}

/// Adds the operators of filters, their options and the SQL functions of `trommel_datafusion` to an executor.
///
/// If `config` has its own function registry or config producer, the functions are added to this registry, and the
/// options to the session configs that this producer makes. If `config` has its own physical codec, the codec is kept.
/// The caller must ensure that this codec can encode and decode all that [`physical_codec`] can.
#[must_use]
pub fn executor_config(mut config: ExecutorProcessConfig) -> ExecutorProcessConfig {
    config.override_physical_codec.get_or_insert_with(physical_codec);
    let mut registry = match config.override_function_registry.take() {
        Some(registry) => BallistaFunctionRegistry {
            scalar_functions: registry.scalar_functions.clone(),
            aggregate_functions: registry.aggregate_functions.clone(),
            window_functions: registry.window_functions.clone(),
            higher_order_functions: registry.higher_order_functions.clone(),
        },
        None => BallistaFunctionRegistry::default(),
    };
    let (filter, might_contain) = (trommel_filter_udaf(), might_contain_udf());
    registry.aggregate_functions.insert(filter.name().to_owned(), filter);
    registry.scalar_functions.insert(might_contain.name().to_owned(), might_contain);
    config.override_function_registry = Some(Arc::new(registry));
    config.override_config_producer = Some(with_options(config.override_config_producer.take()));
    config
}
