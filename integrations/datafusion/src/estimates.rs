//! Estimates numbers of rows from the statistics of tables.

use crate::exec::RuntimeFilterExec;
use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use std::sync::Arc;

/// The estimated number of rows of a plan, on the assumption that its runtime filters drop no rows.
pub(crate) fn estimated_rows(plan: &dyn ExecutionPlan) -> Result<Option<usize>> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new())?;
    Ok(statistics.num_rows.get_value().copied())
}

/// Estimates how many rows the predicates and runtime filters of `build` keep. `build` is the plan that reads the keys
/// of a filter. `None` if statistics are missing.
///
/// Assumes about each of these runtime filters: if the plan that reads its keys keeps a tenth of the rows of its table,
/// the runtime filter also keeps a tenth of its input.
///
/// # Errors
/// The error of DataFusion if it fails to compute the statistics of an operator.
pub fn filtered_rows(build: &Arc<dyn ExecutionPlan>) -> Result<Option<usize>> {
    let Some(rows) = estimated_rows(build.as_ref())? else { return Ok(None) };
    Ok(kept_share(build)?.map(|share| (rows as f64 * share).ceil() as usize))
}

/// The estimated share of rows that the runtime filters of a plan keep. Follows the first input of each operator.
/// `None` if statistics are missing.
fn kept_share(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<f64>> {
    let children = plan.children();
    let Some(child) = children.first() else { return Ok(Some(1.0)) };
    let below = kept_share(child)?;
    if plan.downcast_ref::<RuntimeFilterExec>().is_none() {
        return Ok(below);
    }
    let keys = keys_of(children[1]);
    let (Some(kept), Some(read)) = (filtered_rows(&keys)?, scanned_rows(&keys)?) else {
        return Ok(None);
    };
    Ok(below.map(|below| below * (kept as f64 / read.max(1) as f64).min(1.0)))
}

/// The plan whose rows are the keys of a filter: the input of the lowest of the aggregates that build the filter.
fn keys_of(filter: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let (mut plan, mut keys) = (Arc::clone(filter), Arc::clone(filter));
    while let Some(child) = plan.children().last().map(|child| Arc::clone(child)) {
        if plan.downcast_ref::<AggregateExec>().is_some() {
            keys = Arc::clone(&child);
        } else if plan.downcast_ref::<RuntimeFilterExec>().is_some() {
            break;
        }
        plan = child;
    }
    keys
}

/// The number of rows that a plan reads from its tables. `None` if the number of rows of a table is unknown. The build
/// sides of runtime filters are not counted, since a build side that several filters share would be counted repeatedly.
pub(crate) fn scanned_rows(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<usize>> {
    let children = match plan.downcast_ref::<RuntimeFilterExec>() {
        Some(filter) => filter.children()[..1].to_vec(),
        None => plan.children(),
    };
    if children.is_empty() {
        return estimated_rows(plan.as_ref());
    }
    children.into_iter().try_fold(Some(0), |sum: Option<usize>, child| {
        Ok(sum.zip(scanned_rows(child)?).map(|(sum, rows)| sum.saturating_add(rows)))
    })
}
