//! Plans a runtime filter as operators in several stages, if the estimated sizes predict that the filter pays.

use crate::merge::MergeStageExec;
use async_trait::async_trait;
use ballista_core::extension::SessionConfigExt;
use datafusion::catalog::Session;
use datafusion::common::{Result, plan_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use std::sync::Arc;
use trommel_datafusion::{
    FilteredJoin, RuntimeFilterExec, RuntimeFilterNode, RuntimeFilterPlanner, filtered_rows,
};

/// Plans runtime filters for a cluster. Does the same as [`RuntimeFilterPlanner`], and adds a stage that merges the
/// parts of a filter.
///
/// No filter is made if the estimated size of the join side that builds the filter is below
/// `ballista.optimizer.broadcast_join_threshold_bytes`: Ballista is then expected to send that side to all executors,
/// and the other side is not shuffled for the join. The filter is made nevertheless in two cases: if the filtered rows
/// are grouped before the join and therefore shuffled, and if another filter is built from the filtered rows.
#[derive(Debug, Default)]
pub struct DistributedFilterPlanner {
    local: RuntimeFilterPlanner,
}

#[async_trait]
impl ExtensionPlanner for DistributedFilterPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(filter) = node.as_any().downcast_ref::<RuntimeFilterNode>() else {
            return Ok(None);
        };
        let [probe, build] = physical_inputs else {
            return plan_err!("a runtime filter has 2 inputs");
        };
        if is_broadcast(filter.join(), build, session)? {
            return Ok(Some(Arc::clone(probe)));
        }
        let planned = self
            .local
            .plan_extension(planner, node, logical_inputs, physical_inputs, session, context)
            .await?;
        match planned {
            // No filter was made: it would not pay. `probe` can be another filter, which already has its merge stage.
            Some(plan) if Arc::ptr_eq(&plan, probe) => Ok(Some(plan)),
            planned => planned.map(separate_merge).transpose(),
        }
    }
}

/// Whether the filter saves no shuffle, because Ballista is expected to send the side that builds the filter to all
/// executors. A side of unknown size is assumed not to be sent.
fn is_broadcast(
    join: FilteredJoin,
    build: &Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<bool> {
    let limit = session.config().ballista_config().broadcast_join_threshold_bytes();
    if join.pays_if_broadcast || join.build_row_bytes == 0 || limit == 0 {
        return Ok(false);
    }
    let bytes = filtered_rows(build)?.map(|rows| rows.saturating_mul(join.build_row_bytes));
    Ok(bytes.is_some_and(|bytes| bytes < limit))
}

/// Changes a plan so that its filter is merged in a separate stage.
fn separate_merge(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.downcast_ref::<RuntimeFilterExec>().is_none() {
        return Ok(plan);
    }
    let (probe, filter) = match plan.children().as_slice() {
        [probe, filter] => (Arc::clone(probe), Arc::clone(filter)),
        _ => return Ok(plan),
    };
    let merged = MergeStageExec::separate(filter)?;
    plan.replace_children(
        vec![probe, merged],
        ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
    )
}

/// DataFusion's planner, extended by [`DistributedFilterPlanner`]. Ballista's adaptive planner and its static planner
/// both call this planner.
#[derive(Debug, Default)]
pub struct DistributedQueryPlanner {}

#[async_trait]
impl QueryPlanner for DistributedQueryPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = Arc::new(DistributedFilterPlanner::default());
        DefaultPhysicalPlanner::with_extension_planners(vec![planner])
            .create_physical_plan(plan, session)
            .await
    }
}
