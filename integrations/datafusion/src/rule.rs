//! Which inputs of which joins are filtered.

use crate::descend::{build_keys, place_filter, scanned_table};
use crate::node::{FilteredJoin, RuntimeFilterNode};
use crate::options::RuntimeFilterOptions;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::{Expr, Join, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Filters one input of a join by the keys of the other, as deep in the plan as the key comes from.
///
/// The rule does nothing unless `trommel.runtime_filter.enabled` is set ([`RuntimeFilterOptions`]). It looks at joins whose
/// keys are columns, and at those inputs only whose unmatched rows the join drops. The other input is read a second time for
/// its keys. So it must be a chain of scan, filters, projections and runtime filters, and something in it must select rows.
///
/// DataFusion's hash joins filter their probe side themselves, within one process. Such joins are left alone unless
/// `all_joins` is set; sort-merge joins (`datafusion.optimizer.prefer_hash_join = false`) have no such filter.
///
/// Both readings must give the same rows. A predicate that is volatile, as `random() < 0.1`, keeps the rule away; of tables that
/// change during a query the rule knows nothing.
///
/// What sizes say is decided later, when they are known ([`RuntimeFilterPlanner`](crate::RuntimeFilterPlanner)).
#[derive(Debug, Default)]
pub struct RuntimeFilterRule {}

/// Estimated bytes of a string or another value of no fixed width: a view, and as many bytes behind it.
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
        if !applies(&options) || !may_have_filters(&plan)? {
            return Ok(Transformed::no(plan));
        }
        let filter = |plan| match plan {
            LogicalPlan::Join(join) => filter_inputs(join),
            other => Ok(Transformed::no(other)),
        };
        // The keys that build a filter shall be those that other filters leave. Such a filter may come from a join above or
        // below, so there are two passes; the second replaces filters of the first by more selective ones.
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

/// Whether a plan has no filters yet, since another pass would filter by what those of the first select, and no recursion,
/// whose working table can be read only once.
fn may_have_filters(plan: &LogicalPlan) -> Result<bool> {
    let excludes = |plan: &LogicalPlan| {
        RuntimeFilterNode::of(plan).is_some() || matches!(plan, LogicalPlan::RecursiveQuery(_))
    };
    Ok(!plan.exists(|plan| Ok(excludes(plan)))?)
}

/// Whether a join drops rows of its left and of its right input that have no match.
fn drops_unmatched(join: &Join) -> (bool, bool) {
    match join.join_type {
        JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => (true, true),
        JoinType::Left => (false, true),
        JoinType::Right => (true, false),
        // The rows of the other side matter as far as they match. NOT IN is null-aware: there a NULL matters too.
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

/// The columns of a condition, if it is one of columns that have keys.
fn columns<'a>(
    join: &'a Join,
    (left, right): &'a (Expr, Expr),
) -> Option<(&'a Column, &'a Column)> {
    Some((column(&join.left, left)?, column(&join.right, right)?))
}

/// The column that an expression is, as it is or cast without a change of its keys.
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

/// The input with a filter where its key comes from.
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

/// Estimated bytes per row of a plan.
fn row_bytes(plan: &LogicalPlan) -> usize {
    let fields = plan.schema().fields().iter();
    fields.map(|field| field.data_type().primitive_width().unwrap_or(VARIABLE_BYTES)).sum()
}
