//! The optimizer rule, which decides which inputs of which joins are filtered.

use crate::descend::{build_keys, place_filter, scanned_table};
use crate::node::{FilteredJoin, RuntimeFilterNode};
use crate::options::RuntimeFilterOptions;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::{Expr, Join, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Filters an input of a join by the keys of the other input, as deep in the plan as possible. Both inputs of a join
/// can get filters.
///
/// The rule does nothing unless `trommel.runtime_filter.enabled` is true ([`RuntimeFilterOptions`]). The rule considers
/// only joins in which NULL equals nothing, not even NULL. At least one equality condition of the join must compare two
/// columns, perhaps with casts that keep the hashes of the values. The rule filters an input only if the join has the
/// same result without the input's unmatched rows, those that match no row of the other input. The keys are read a
/// second time, from the part of the other input in which the key column originates. This part must be a *chain* of a
/// scan, predicates, projections, aliases and runtime filters. The chain must have at least one predicate or runtime
/// filter, because only predicates and runtime filters can drop rows of the scanned table.
///
/// Within one process, DataFusion's hash joins filter their probe side themselves. So if `all_joins` is false, the rule
/// does nothing while DataFusion's options `prefer_hash_join` and `enable_join_dynamic_filter_pushdown` are both on.
/// Sort-merge joins (`datafusion.optimizer.prefer_hash_join = false`) do not filter their inputs themselves.
///
/// The chain is run twice, for the filter and for the join, and must give the same rows both times. So the rule uses no
/// chain with a volatile expression, such as `random() < 0.1`. The rule cannot detect that a table changes during a
/// query.
///
/// [`RuntimeFilterPlanner`](crate::RuntimeFilterPlanner) decides later, from the estimated sizes, whether a filter
/// pays.
#[derive(Debug, Default)]
pub struct RuntimeFilterRule {}

/// The estimated size in bytes of a value that is not of a primitive type of Arrow. The size is chosen for strings:
/// 16 bytes for a view, and 16 for the bytes to which the view refers.
const VARIABLE_BYTES: usize = 32;

impl OptimizerRule for RuntimeFilterRule {
    fn name(&self) -> &'static str {
        "trommel_runtime_filter"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let options = config.options();
        if !applies(&options) || !can_be_filtered(&plan)? {
            return Ok(Transformed::no(plan));
        }
        let filter = |plan| match plan {
            LogicalPlan::Join(join) => filter_inputs(join),
            other => Ok(Transformed::no(other)),
        };
        // A filter drops more rows if other filters drop some of its keys. The other filters can come from joins above
        // or below the filter's own join, so there are two passes, down and up. The second pass replaces filters of the
        // first pass by more selective ones.
        plan.transform_down(filter)?.transform_data(|plan| plan.transform_up(filter))
    }
}

fn applies(options: &ConfigOptions) -> bool {
    let ours = RuntimeFilterOptions::of(options);
    let optimizer = &options.optimizer;
    let has_dynamic_filters =
        optimizer.prefer_hash_join && optimizer.enable_join_dynamic_filter_pushdown;
    ours.enabled && (ours.all_joins || !has_dynamic_filters)
}

/// Whether the rule can change a plan: the plan must have neither runtime filters nor recursion. If a plan has runtime
/// filters, the rule has already run. Another run would add more filters, since a table that has a runtime filter can
/// provide the keys of another filter. Recursive queries are left alone because their working table can be read only
/// once.
fn can_be_filtered(plan: &LogicalPlan) -> Result<bool> {
    let excludes = |plan: &LogicalPlan| {
        RuntimeFilterNode::of(plan).is_some() || matches!(plan, LogicalPlan::RecursiveQuery(_))
    };
    Ok(!plan.exists(|plan| Ok(excludes(plan)))?)
}

/// For the left and for the right input: whether its unmatched rows can be dropped without a change of the join's
/// result. An unmatched row matches no row of the other input.
fn drops_unmatched(join: &Join) -> (bool, bool) {
    match join.join_type {
        JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => (true, true),
        JoinType::Left => (false, true),
        JoinType::Right => (true, false),
        // The right input of a left anti join only excludes rows of the left input, so the right input's unmatched rows
        // have no effect. An exception is a null-aware join, which `NOT IN` makes: a NULL in the right input excludes
        // all rows of the left input. For a right anti join, exchange left and right.
        JoinType::LeftAnti => (false, !join.null_aware),
        JoinType::RightAnti => (!join.null_aware, false),
        _ => (false, false),
    }
}

fn filter_inputs(join: Join) -> Result<Transformed<LogicalPlan>> {
    let unchanged = |join| Ok(Transformed::no(LogicalPlan::Join(join)));
    if join.null_equality != NullEquality::NullEqualsNothing {
        return unchanged(join);
    }
    let Some((left_key, right_key)) = join.on.iter().find_map(|on| columns(&join, on)) else {
        return unchanged(join);
    };
    let (drops_left, drops_right) = drops_unmatched(&join);
    let left = filter_input(drops_left, &join.left, left_key, &join.right, right_key)?;
    let right = filter_input(drops_right, &join.right, right_key, &join.left, left_key)?;
    if left.is_none() && right.is_none() {
        return unchanged(join);
    }
    let mut join = join;
    if let Some(left) = left {
        join.left = Arc::new(left);
    }
    if let Some(right) = right {
        join.right = Arc::new(right);
    }
    Ok(Transformed::new(LogicalPlan::Join(join), true, TreeNodeRecursion::Continue))
}

/// The two columns of an equality condition. Each side must be a column whose values can be keys of a filter, perhaps
/// with a cast that keeps the hashes of the values. Otherwise `None`.
fn columns<'a>(
    join: &'a Join,
    (left, right): &'a (Expr, Expr),
) -> Option<(&'a Column, &'a Column)> {
    Some((column(&join.left, left)?, column(&join.right, right)?))
}

/// If an expression is a column whose values can be keys, perhaps with a cast that keeps their hashes, returns this
/// column.
fn column<'a>(plan: &LogicalPlan, expression: &'a Expr) -> Option<&'a Column> {
    let (column, cast_to) = match expression {
        Expr::Column(column) => (column, None),
        Expr::Cast(cast) => match &*cast.expr {
            Expr::Column(column) => (column, Some(cast.field.data_type())),
            _ => return None,
        },
        _ => return None,
    };
    let schema = plan.schema();
    let from = schema.field(schema.maybe_index_of_column(column)?).data_type();
    trommel_arrow::cast_keeps_keys(from, cast_to.unwrap_or(from)).then_some(column)
}

/// Returns the input `probe` with a filter at the origin of the column `key`. `None` if the input gets no new filter.
fn filter_input(
    drops_unmatched: bool,
    probe: &LogicalPlan,
    key: &Column,
    build: &LogicalPlan,
    build_key: &Column,
) -> Result<Option<LogicalPlan>> {
    if !drops_unmatched {
        return Ok(None);
    }
    match build_keys(build, build_key, scanned_table(probe, key)?.as_ref())? {
        Some(keys) => {
            let join = FilteredJoin { build_row_bytes: row_bytes(build), pays_if_broadcast: false };
            place_filter(probe, key, keys, join)
        }
        None => Ok(None),
    }
}

/// The estimated number of bytes per row of a plan.
fn row_bytes(plan: &LogicalPlan) -> usize {
    let fields = plan.schema().fields().iter();
    fields.map(|field| field.data_type().primitive_width().unwrap_or(VARIABLE_BYTES)).sum()
}
