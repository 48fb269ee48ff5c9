//! Plans each runtime filter of a logical plan as an operator, if the estimated sizes predict that the filter pays.

use crate::aggregate::trommel_filter_udaf;
use crate::arguments::DEFAULT_KEYS;
use crate::estimates::{estimated_rows, filtered_rows, scanned_rows};
use crate::exec::RuntimeFilterExec;
use crate::node::RuntimeFilterNode;
use crate::options::RuntimeFilterOptions;
use crate::stream::Sampling;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use std::sync::Arc;
use trommel::FilterSpec;

/// The minimum number of keys for which a filter has room. Estimates are often too low, and with the default options, a
/// filter for this number of keys takes only 66 KB.
const MIN_KEYS: usize = 50_000;

/// If the build side (the plan that reads the keys) has runtime filters, the estimated number of rows that pass them is
/// multiplied by this margin, because the share of rows that runtime filters keep is a guess.
const KEYS_MARGIN: usize = 2;

/// Plans [`RuntimeFilterNode`]s. A node is replaced by its unfiltered input if its filter would not pay:
///
/// - if a filter for the estimated number of keys would have more than `max_bytes` bytes, or its kind cannot reach the
///   false-positive rate,
/// - if the tables of the filtered input have fewer than `min_probe_rows` rows,
/// - if the tables that are read for the keys have more than `max_build_share` times as many rows as the tables of the
///   filtered input,
/// - if the table of the keys is unbounded.
///
/// If the number of keys is unknown, it is assumed to be 1,000,000. A condition on a number of rows is ignored if the
/// number is unknown. At run time, each partition decides from its first rows ([`Sampling`]) whether it goes on using
/// the filter.
#[derive(Debug, Default)]
pub struct RuntimeFilterPlanner {}

#[async_trait]
impl ExtensionPlanner for RuntimeFilterPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<RuntimeFilterNode>() else { return Ok(None) };
        let [probe, build] = inputs else { return plan_err!("a runtime filter has 2 inputs") };
        let options = RuntimeFilterOptions::of(session.config_options());
        let Some(keys) = worthwhile_keys(probe, build, &options)? else {
            return Ok(Some(Arc::clone(probe)));
        };
        let index = node.probe.schema().index_of_column(&node.key)?;
        let key = Column::new(probe.schema().field(index).name(), index);
        let sampling =
            Sampling { rows: options.sample_rows, max_pass_share: options.max_pass_share };
        let filter = build_filter(Arc::clone(build), keys, &options)?;
        Ok(Some(Arc::new(RuntimeFilterExec::try_new(Arc::clone(probe), filter, key, sampling)?)))
    }
}

/// The number of keys that the filter must have room for. `None` if the filter would not pay.
fn worthwhile_keys(
    probe: &Arc<dyn ExecutionPlan>,
    build: &Arc<dyn ExecutionPlan>,
    options: &RuntimeFilterOptions,
) -> Result<Option<usize>> {
    if build.boundedness().is_unbounded() {
        return Ok(None);
    }
    let keys = estimated_keys(build)?.map_or(DEFAULT_KEYS, |keys| keys.max(MIN_KEYS));
    let spec = FilterSpec::new(options.kind).keys(keys).fpr(options.fpr);
    // If the kind cannot reach the false-positive rate, the query does not fail but runs without the filter.
    if !spec.encoded_len().is_ok_and(|bytes| bytes <= options.max_bytes as u64) {
        return Ok(None);
    }
    if let Some(filtered) = scanned_rows(probe)? {
        if filtered < options.min_probe_rows {
            return Ok(None);
        }
        let read = scanned_rows(build)?.unwrap_or(0);
        if read as f64 > filtered as f64 * options.max_build_share {
            return Ok(None);
        }
    }
    Ok(Some(keys))
}

/// The estimated number of keys. If the build side has runtime filters, the estimate is `KEYS_MARGIN` times the number
/// of rows that are estimated to pass these filters, but at most the number of rows before the filters. `None` without
/// statistics.
fn estimated_keys(build: &Arc<dyn ExecutionPlan>) -> Result<Option<usize>> {
    let rows = estimated_rows(build.as_ref())?;
    let filtered = filtered_rows(build)?;
    Ok(rows.map(|rows| filtered.map_or(rows, |kept| rows.min(kept.saturating_mul(KEYS_MARGIN)))))
}

/// Plans the aggregate `trommel_filter` of all rows: one partial aggregate per partition, then a merge of the partial
/// aggregates.
fn build_filter(
    build: Arc<dyn ExecutionPlan>,
    keys: usize,
    options: &RuntimeFilterOptions,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = build.schema();
    let literal = |value: ScalarValue| -> Arc<dyn PhysicalExpr> { Arc::new(Literal::new(value)) };
    let arguments = vec![
        Arc::new(Column::new(schema.field(0).name(), 0)),
        literal(options.fpr.into()),
        literal(options.kind.to_string().as_str().into()),
        literal(i64::try_from(keys).unwrap_or(i64::MAX).into()),
    ];
    let name = format!(
        "trommel_filter({}, {}, {}, {keys})",
        schema.field(0).name(),
        options.fpr,
        options.kind
    );
    let filter = AggregateExprBuilder::new(trommel_filter_udaf(), arguments)
        .schema(Arc::clone(&schema))
        .alias(name)
        .build()?;
    let aggregate = |mode, input: Arc<dyn ExecutionPlan>| {
        let groups = PhysicalGroupBy::default();
        AggregateExec::try_new(
            mode,
            groups,
            vec![Arc::new(filter.clone())],
            vec![None],
            input,
            Arc::clone(&schema),
        )
    };
    if build.output_partitioning().partition_count() == 1 {
        return Ok(Arc::new(aggregate(AggregateMode::Single, build)?));
    }
    let parts = Arc::new(aggregate(AggregateMode::Partial, build)?);
    let merged = Arc::new(CoalescePartitionsExec::new(parts));
    Ok(Arc::new(aggregate(AggregateMode::Final, merged)?))
}

/// DataFusion's planner with [`RuntimeFilterPlanner`]. If a session has its own planner, add [`RuntimeFilterPlanner`]
/// to that planner instead.
#[derive(Debug, Default)]
pub struct RuntimeFilterQueryPlanner {}

#[async_trait]
impl QueryPlanner for RuntimeFilterQueryPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(
            RuntimeFilterPlanner::default(),
        )])
        .create_physical_plan(plan, session)
        .await
    }
}
