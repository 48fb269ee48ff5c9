//! Down a plan to where a column comes from.

use crate::node::{FilteredJoin, RuntimeFilterNode};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, Result, TableReference};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use std::sync::Arc;

/// The input that a column of a plan comes from unchanged, and its name there; none if it is made here, or if a filter of the
/// input would not be one of the output.
fn origin(plan: &LogicalPlan, column: &Column) -> Result<Option<(usize, Column)>> {
    let index = plan.schema().index_of_column(column)?;
    let same_position = |input: &LogicalPlan| Column::from(input.schema().qualified_field(index));
    Ok(match plan {
        LogicalPlan::Projection(projection) => of_expression(&projection.expr[index]),
        LogicalPlan::SubqueryAlias(alias) => Some((0, same_position(&alias.input))),
        LogicalPlan::Filter(filter) => Some((0, same_position(&filter.input))),
        LogicalPlan::Repartition(repartition) => Some((0, same_position(&repartition.input))),
        LogicalPlan::Distinct(datafusion::logical_expr::Distinct::All(input)) => {
            Some((0, same_position(input)))
        }
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => Some((0, same_position(&sort.input))),
        // Rows of one group have one key: they go all or none.
        LogicalPlan::Aggregate(aggregate) => {
            aggregate.group_expr.get(index).and_then(of_expression)
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

/// The column that an expression is, under another name or not.
fn of_expression(expression: &Expr) -> Option<(usize, Column)> {
    match expression {
        Expr::Column(column) => Some((0, column.clone())),
        Expr::Alias(alias) => of_expression(&alias.expr),
        _ => None,
    }
}

/// The plan with a filter where the column comes from, built of the one column of `keys`. A filter that is there already and
/// built of the same column gets the new keys. None if it has them already.
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
    // A predicate on the scan is cheaper than a filter, so it stays below it.
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
        // Anew, an outer join would give its columns other names.
        LogicalPlan::Join(join) => {
            let mut join = join.clone();
            let side = if input == 0 { &mut join.left } else { &mut join.right };
            *side = Arc::new(inputs.swap_remove(input));
            Ok(Some(LogicalPlan::Join(join)))
        }
        _ => plan.with_new_exprs(plan.expressions(), inputs).map(Some),
    }
}

/// The table that a column is read from, if it is read from one unchanged.
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

/// A plan of one column that reads the values of a column once more: all that it has in `plan`, and perhaps others. None
/// unless it is cheap and selects rows.
///
/// Filters that are built of `probe_table` are left out, since the new one is for that table: it would be built of itself.
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
    // Other nodes only drop rows or join them to others.
    match origin(plan, column)? {
        Some((input, name)) => build_keys(plan.inputs()[input], &name, probe_table),
        None => Ok(None),
    }
}

/// A chain without the runtime filters that are built of a table.
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

/// A filter within a chain decides which rows are keys, whatever the join does that it was first made for.
fn as_part_of_keys(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    match RuntimeFilterNode::of(&plan) {
        Some(filter) if !filter.join.pays_if_broadcast => {
            let join = FilteredJoin { pays_if_broadcast: true, ..filter.join };
            Transformed::yes(filter.clone().for_join(join).into_plan())
        }
        _ => Transformed::no(plan),
    }
}

/// Whether a plan reads one table, without joins, groups and sorts, and gives the same rows when it does so again. What builds
/// the runtime filters within was judged when they were placed.
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

/// Whether an expression means the same in another place of the plan, and gives the same values there.
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
    // In doubt it is not.
    let has_subquery = expression.exists(|part| Ok(is_subquery(part))).unwrap_or(true);
    !has_subquery && !expression.is_volatile() && !expression.contains_outer()
}

/// Whether a chain drops rows of its table.
fn selects(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => !scan.filters.is_empty(),
        LogicalPlan::Filter(_) => true,
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => selects(plan.inputs()[0]),
        other => RuntimeFilterNode::of(other).is_some(),
    }
}
