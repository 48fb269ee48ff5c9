//! Follows a column down a plan to its origin: to place a filter there, or to read the column's values for a filter.

use crate::node::{FilteredJoin, RuntimeFilterNode};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, Result, TableReference};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use std::sync::Arc;

/// The index of the input from which the root node of a plan takes a column unchanged, and the column's name in that
/// input. `None` if the node computes or scans the column, or if filtering the input would not have the same result as
/// filtering the output of the node.
fn origin(plan: &LogicalPlan, column: &Column) -> Result<Option<(usize, Column)>> {
    let index = plan.schema().index_of_column(column)?;
    let same_position = |input: &LogicalPlan| Column::from(input.schema().qualified_field(index));
    Ok(match plan {
        LogicalPlan::Projection(projection) => renamed_column(&projection.expr[index]),
        LogicalPlan::SubqueryAlias(alias) => Some((0, same_position(&alias.input))),
        LogicalPlan::Filter(filter) => Some((0, same_position(&filter.input))),
        LogicalPlan::Repartition(repartition) => Some((0, same_position(&repartition.input))),
        LogicalPlan::Distinct(datafusion::logical_expr::Distinct::All(input)) => {
            Some((0, same_position(input)))
        }
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => Some((0, same_position(&sort.input))),
        // All rows of a group have the same key, so a filter keeps or drops whole groups.
        LogicalPlan::Aggregate(aggregate) => {
            aggregate.group_expr.get(index).and_then(renamed_column)
        }
        LogicalPlan::Join(join) => {
            let is_left = join.left.schema().has_column(column);
            let is_kept = match join.join_type {
                JoinType::Inner => true,
                JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => is_left,
                JoinType::Right | JoinType::RightSemi | JoinType::RightAnti => !is_left,
                _ => false,
            };
            is_kept.then(|| (usize::from(!is_left), column.clone()))
        }
        other => RuntimeFilterNode::of(other).map(|_| (0, column.clone())),
    })
}

/// If an expression is a column, perhaps under an alias, returns the column and 0, the index of the node's only input.
fn renamed_column(expression: &Expr) -> Option<(usize, Column)> {
    match expression {
        Expr::Column(column) => Some((0, column.clone())),
        Expr::Alias(alias) => renamed_column(&alias.expr),
        _ => None,
    }
}

/// Returns the plan with a runtime filter at the origin of `column`, as near to the scan as possible. The filter is
/// built from the single column of `keys`; `join` describes the join for which the filter is made. If the plan already
/// filters `column` by keys from a column with the same name and type, the new filter replaces the old one, unless the
/// plans of their keys are identical: then the old filter stays, and the answer is `None`.
pub(crate) fn place_filter(
    plan: &LogicalPlan,
    column: &Column,
    keys: LogicalPlan,
    join: FilteredJoin,
) -> Result<Option<LogicalPlan>> {
    let new_filter = |probe: &LogicalPlan, keys: LogicalPlan| -> Result<LogicalPlan> {
        let filter = RuntimeFilterNode::try_new(probe.clone(), column.clone(), keys)?;
        Ok(filter.for_join(join).into_plan())
    };
    if let Some(filter) = RuntimeFilterNode::of(plan)
        && filter.key == *column
        && filter.build.schema() == keys.schema()
    {
        let is_same = filter.build == keys;
        return (!is_same).then(|| new_filter(&filter.probe, keys)).transpose();
    }
    // A predicate on a scan is cheaper than the filter, so the filter goes above the predicate.
    let is_filtered_scan = matches!(plan, LogicalPlan::Filter(_)) && is_scan(plan.inputs()[0]);
    let origin = if is_filtered_scan { None } else { origin(plan, column)? };
    let Some((input, name)) = origin else {
        return new_filter(plan, keys).map(Some);
    };
    let mut inputs: Vec<_> = plan.inputs().into_iter().cloned().collect();
    let groups = matches!(plan, LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_));
    let join = FilteredJoin { pays_if_broadcast: join.pays_if_broadcast || groups, ..join };
    match place_filter(&inputs[input], &name, keys, join)? {
        Some(placed) => inputs[input] = placed,
        None => return Ok(None),
    }
    match plan {
        // `with_new_exprs` would rebuild an outer join with other column names, so the side is replaced in place.
        LogicalPlan::Join(join) => {
            let mut join = join.clone();
            let side = if input == 0 { &mut join.left } else { &mut join.right };
            *side = Arc::new(inputs.swap_remove(input));
            Ok(Some(LogicalPlan::Join(join)))
        }
        _ => plan.with_new_exprs(plan.expressions(), inputs).map(Some),
    }
}

/// The table from which a column is read unchanged. `None` if [`origin`] does not lead to a table, for example because
/// the values of the column are computed.
pub(crate) fn scanned_table(plan: &LogicalPlan, column: &Column) -> Result<Option<TableReference>> {
    match (plan, origin(plan, column)?) {
        (LogicalPlan::TableScan(scan), _) => Ok(Some(scan.table_name.clone())),
        (_, Some((input, name))) => scanned_table(plan.inputs()[input], &name),
        _ => Ok(None),
    }
}

fn is_scan(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::TableScan(_))
}

/// Returns a plan of one column that reads the values of `column` a second time, to build a filter from them. The new
/// plan returns all values that the column has in `plan`, and perhaps more. `None` unless the column comes from a chain
/// ([`is_chain`]) that can drop rows of its table ([`selects`]).
///
/// The new filter will be placed on `probe_table`. So runtime filters that are built from `probe_table` are left out of
/// the new plan: with them, the keys of the new filter would depend on the table that it filters.
pub(crate) fn build_keys(
    plan: &LogicalPlan,
    column: &Column,
    probe_table: Option<&TableReference>,
) -> Result<Option<LogicalPlan>> {
    if is_chain(plan) {
        let chain = without_filters_of(plan, probe_table)?;
        let chain = chain.transform_down(|plan| Ok(as_part_of_keys(plan)))?.data;
        if !selects(&chain) {
            return Ok(None);
        }
        let column = [Expr::Column(column.clone())];
        return LogicalPlanBuilder::new(chain).project(column)?.build().map(Some);
    }
    // If `origin` finds an input, the node takes the column's values from this input, so the input has all values of
    // the column.
    match origin(plan, column)? {
        Some((input, name)) => build_keys(plan.inputs()[input], &name, probe_table),
        None => Ok(None),
    }
}

/// Removes from a chain the runtime filters that are built from `table`.
fn without_filters_of(plan: &LogicalPlan, table: Option<&TableReference>) -> Result<LogicalPlan> {
    let Some(table) = table else { return Ok(plan.clone()) };
    let reads_it = |plan: &LogicalPlan| {
        plan.exists(|plan| {
            Ok(matches!(plan, LogicalPlan::TableScan(scan) if scan.table_name == *table))
        })
    };
    let without = plan.clone().transform_down(|mut plan| {
        let mut has_changed = false;
        while let Some(filter) = RuntimeFilterNode::of(&plan) {
            if !reads_it(&filter.build)? {
                break;
            }
            plan = filter.probe.clone();
            has_changed = true;
        }
        Ok(Transformed::new(plan, has_changed, TreeNodeRecursion::Continue))
    });
    Ok(without?.data)
}

/// Marks a runtime filter within a chain as one that pays even if the build side of its own join is sent to all
/// executors, because it also reduces the keys of another filter: the one that is built from the chain.
fn as_part_of_keys(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    match RuntimeFilterNode::of(&plan) {
        Some(filter) if !filter.join.pays_if_broadcast => {
            let join = FilteredJoin { pays_if_broadcast: true, ..filter.join };
            Transformed::yes(filter.clone().for_join(join).into_plan())
        }
        _ => Transformed::no(plan),
    }
}

/// Whether a plan is a *chain*: it reads a single table without joins, groups and sorts, and gives the same rows if it
/// is run again. The build sides of runtime filters in the plan are not checked here, since they were checked when
/// these filters were placed.
fn is_chain(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => {
            scan.fetch.is_none() && scan.filters.iter().all(is_repeatable)
        }
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => {
            is_chain(plan.inputs()[0]) && plan.expressions().iter().all(is_repeatable)
        }
        other => RuntimeFilterNode::of(other).is_some_and(|filter| is_chain(&filter.probe)),
    }
}

/// Whether an expression has the same meaning and the same values if it is evaluated again elsewhere in the plan.
fn is_repeatable(expression: &Expr) -> bool {
    let is_subquery = |part: &Expr| {
        matches!(
            part,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
        )
    };
    // If the expression cannot be searched, it is assumed to have a subquery.
    let has_subquery = expression.exists(|part| Ok(is_subquery(part))).unwrap_or(true);
    !has_subquery && !expression.is_volatile() && !expression.contains_outer()
}

/// Whether a chain can drop rows of its table, that is, whether the chain has a predicate or a runtime filter.
fn selects(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => !scan.filters.is_empty(),
        LogicalPlan::Filter(_) => true,
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => selects(plan.inputs()[0]),
        other => RuntimeFilterNode::of(other).is_some(),
    }
}
