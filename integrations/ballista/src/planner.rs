//! From the logical node to operators of several stages, if sizes say that it pays.

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

/// Plans runtime filters for a cluster: as [`RuntimeFilterPlanner`] does, and with a stage that merges the parts of a filter.
///
/// A filter is not made if Ballista is expected to send the other side of the join to all executors, by the estimated bytes
/// (`ballista.optimizer.broadcast_join_threshold_bytes`): such a join shuffles nothing. If the filtered rows are grouped
/// before the join, they are shuffled all the same, and the filter is made.
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
            // Not worth a filter. The plan itself may be a filter by another key.
            Some(plan) if Arc::ptr_eq(&plan, probe) => Ok(Some(plan)),
            planned => planned.map(separate_merge).transpose(),
        }
    }
}

/// Whether the side of the join that builds a filter is expected to go to all executors, and the filter would save no shuffle.
fn is_broadcast(
    join: FilteredJoin,
    build: &Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<bool> {
    let limit = session.config().ballista_config().broadcast_join_threshold_bytes();
    if join.pays_if_broadcast || limit == 0 {
        return Ok(false);
    }
    let bytes = filtered_rows(build)?.map(|rows| rows.saturating_mul(join.build_row_bytes));
    Ok(bytes.is_some_and(|bytes| bytes < limit))
}

/// The same filter, merged in a stage of its own.
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

/// DataFusion's planner with [`DistributedFilterPlanner`]. Both planners of Ballista call it.
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
