//! Registers functions, options and the rule with a session.

use crate::aggregate::trommel_filter_udaf;
use crate::might_contain::might_contain_udf;
use crate::options::RuntimeFilterOptions;
use crate::planner::RuntimeFilterQueryPlanner;
use crate::rule::RuntimeFilterRule;
use datafusion::common::Result;
use datafusion::execution::{FunctionRegistry, SessionStateBuilder};
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use std::sync::Arc;

/// The expression `trommel_filter(key)`, for DataFrames.
#[must_use]
pub fn trommel_filter(key: Expr) -> Expr {
    trommel_filter_udaf().call(vec![key])
}

/// The expression `might_contain(filter, key)`, for DataFrames.
#[must_use]
pub fn might_contain(filter: Expr, key: Expr) -> Expr {
    might_contain_udf().call(vec![filter, key])
}

/// Registers the functions, but not the options and the rule.
///
/// # Errors
/// The registry's error if the registry does not accept functions.
pub fn register_functions(registry: &mut dyn FunctionRegistry) -> Result<()> {
    registry.register_udaf(trommel_filter_udaf())?;
    registry.register_udf(might_contain_udf())?;
    Ok(())
}

/// Registers the functions, the options, and the rule with its planner.
///
/// The session's query planner is replaced. If the session has its own planner, register functions, options and rule
/// one by one instead, and add [`RuntimeFilterPlanner`](crate::RuntimeFilterPlanner) to that planner.
///
/// ```
/// use datafusion::prelude::SessionContext;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> datafusion::common::Result<()> {
/// let context = SessionContext::new();
/// trommel_datafusion::register_all(&context)?;
/// context.sql("SET trommel.runtime_filter.enabled = true").await?.collect().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The session's error if the session does not accept functions.
pub fn register_all(context: &SessionContext) -> Result<()> {
    let state = context.state_ref();
    let mut state = state.write();
    let session_id = state.session_id().to_owned();
    let mut builder = SessionStateBuilder::new_from_existing(state.clone())
        .with_session_id(session_id)
        .with_optimizer_rule(Arc::new(RuntimeFilterRule::default()))
        .with_query_planner(Arc::new(RuntimeFilterQueryPlanner::default()));
    if let Some(config) = builder.config() {
        config.options_mut().extensions.insert(RuntimeFilterOptions::default());
    }
    *state = builder.build();
    register_functions(&mut *state)
}
