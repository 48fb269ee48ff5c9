//! The logical plan node of a runtime filter.

use datafusion::common::{Column, DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The properties of a join that determine whether a filter that is made for it pays in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FilteredJoin {
    /// The estimated number of bytes per row of the side whose keys build the filter; 0 if unknown.
    pub build_row_bytes: usize,
    /// Whether the filter pays even if the side whose keys build the filter is sent to all executors. True if the
    /// filtered rows are grouped before the join, or if another filter is built from the filtered rows.
    pub pays_if_broadcast: bool,
}

/// Drops each row of `probe` whose `key` is NULL or certainly not among the values of `build`. `build` has one column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RuntimeFilterNode {
    pub(crate) probe: LogicalPlan,
    pub(crate) build: LogicalPlan,
    /// A column of `probe`.
    pub(crate) key: Column,
    pub(crate) join: FilteredJoin,
}

impl RuntimeFilterNode {
    /// Filters the rows of `probe` by the values of the single column of `build`.
    ///
    /// # Errors
    /// A schema error if `probe` has no column `key`, a planning error if `build` does not have exactly one column.
    pub fn try_new(probe: LogicalPlan, key: Column, build: LogicalPlan) -> Result<Self> {
        probe.schema().index_of_column(&key)?;
        if build.schema().fields().len() != 1 {
            return plan_err!(
                "a runtime filter must be built of 1 column, not {}",
                build.schema().fields().len()
            );
        }
        Ok(Self { probe, build, key, join: FilteredJoin::default() })
    }

    /// Sets the properties of the join for which the filter is made.
    #[must_use]
    pub fn for_join(self, join: FilteredJoin) -> Self {
        Self { join, ..self }
    }

    /// The properties of the join for which the filter is made.
    #[must_use]
    pub fn join(&self) -> FilteredJoin {
        self.join
    }

    /// The runtime filter at the root of a plan. `None` if the root is a node of another kind.
    #[must_use]
    pub fn of(plan: &LogicalPlan) -> Option<&Self> {
        match plan {
            LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// Converts the filter to a plan.
    #[must_use]
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
}

// Nodes are ordered by their keys. Different nodes with the same key have no order.
impl PartialOrd for RuntimeFilterNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.key.partial_cmp(&other.key).filter(|order| order.is_ne() || self == other)
    }
}

impl UserDefinedLogicalNodeCore for RuntimeFilterNode {
    fn name(&self) -> &'static str {
        "RuntimeFilter"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.probe, &self.build]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.probe.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![Expr::Column(self.key.clone())]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuntimeFilter: {}", self.key)
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Ok([probe, build]) = <[LogicalPlan; 2]>::try_from(inputs) else {
            return plan_err!("a runtime filter has 2 inputs");
        };
        match exprs.as_slice() {
            [Expr::Column(key)] => {
                Ok(Self::try_new(probe, key.clone(), build)?.for_join(self.join))
            }
            other => plan_err!("a runtime filter has a column as its key, not {other:?}"),
        }
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec(), vec![0]])
    }
}
