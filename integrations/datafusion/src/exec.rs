//! The physical operator of a runtime filter. The operator waits for a filter, then drops rows whose key is not in the
//! filter.

use crate::loading::{Loading, start_loading};
use crate::stream::{ProbeStream, Sampling};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, ChildPushdownResult, FilterDescription, FilterPushdownPhase,
    FilterPushdownPropagation,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties,
};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Drops each row of the first input whose key is NULL or certainly not in the filter. The second input is the filter:
/// one row and one column of BinaryView, made by `trommel_filter`.
///
/// The output has the partitions and the order of the first input. The second input has one partition, which is read
/// once, before any row of the first input. A partition stops using the filter if the filter keeps too large a share of
/// the partition's first rows ([`Sampling`]).
///
/// Metrics per partition: `probe_rows`, the rows that came in; `output_rows`, the rows whose key was in the filter and
/// the rows that came after the filter was switched off; `filters_switched_off`, 1 if the partition stopped using the
/// filter. `filter_bytes`, the size of the frozen filter, is counted once for all partitions of the operator.
#[derive(Debug)]
pub struct RuntimeFilterExec {
    probe: Arc<dyn ExecutionPlan>,
    filter: Arc<dyn ExecutionPlan>,
    key: Column,
    sampling: Sampling,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// Reads the second input once, for all partitions.
    loading: OnceLock<Loading>,
}

impl RuntimeFilterExec {
    /// Filters `probe` by its column `key`.
    ///
    /// # Errors
    /// An internal error if `filter` does not have exactly one column, of type BinaryView, or if `probe` has no column
    /// with the index of `key`.
    pub fn try_new(
        probe: Arc<dyn ExecutionPlan>,
        filter: Arc<dyn ExecutionPlan>,
        key: Column,
        sampling: Sampling,
    ) -> Result<Self> {
        let (schema, columns) = (filter.schema(), probe.schema().fields().len());
        if key.index() >= columns {
            return internal_err!(
                "RuntimeFilterExec: the key is column {}, but the input has {columns} columns",
                key.index()
            );
        }
        if schema.fields().len() != 1 || schema.field(0).data_type() != &DataType::BinaryView {
            return internal_err!(
                "RuntimeFilterExec: the filter must be one column of BinaryView, not {schema}"
            );
        }
        let properties = PlanProperties::new(
            probe.equivalence_properties().clone(),
            probe.output_partitioning().clone(),
            probe.pipeline_behavior(),
            probe.boundedness(),
        );
        Ok(Self {
            probe,
            filter,
            key,
            sampling,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            loading: OnceLock::new(),
        })
    }

    /// The column whose values are looked up.
    #[must_use]
    pub fn key(&self) -> &Column {
        &self.key
    }

    /// When a partition stops using the filter.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }

    fn load(&self, context: &Arc<TaskContext>) -> Loading {
        let start = || start_loading(Arc::clone(&self.filter), Arc::clone(context));
        self.loading.get_or_init(start).clone()
    }
}

impl DisplayAs for RuntimeFilterExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::TreeRender => write!(f, "key={}", self.key),
            _ => write!(f, "RuntimeFilterExec: key={}", self.key),
        }
    }
}

impl ExecutionPlan for RuntimeFilterExec {
    fn name(&self) -> &'static str {
        "RuntimeFilterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.probe, &self.filter]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let key: Arc<dyn PhysicalExpr> = Arc::new(self.key.clone());
        datafusion::physical_plan::execution_plan::apply_expression_roots([&key], f)
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![
            Distribution::UnspecifiedDistribution,
            Distribution::SinglePartition,
        ])
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true, false]
    }

    // In a cluster, repartitioning the input would also shuffle the rows that the filter drops afterwards.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([probe, filter]) = <[Arc<dyn ExecutionPlan>; 2]>::try_from(children) else {
            return internal_err!("RuntimeFilterExec has 2 inputs");
        };
        Ok(Arc::new(Self::try_new(probe, filter, self.key.clone(), self.sampling)?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(
            children,
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let loading = self.load(&context);
        let batch_rows = context.session_config().batch_size();
        let probe = self.probe.execute(partition, context)?;
        let stream = ProbeStream::new(probe, loading, self.key.index(), self.sampling, batch_rows);
        Ok(stream.into_stream(&self.metrics, partition))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition), ChildStats::Skip]
    }

    // The filter drops an unknown number of rows, so the statistics of the first input are passed on as inexact. If the
    // statistics were passed on as unknown, the optimizer could swap the sides of the join that reads the output.
    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match inputs.first() {
            Some(probe) => Ok(Arc::new(probe.as_ref().clone().to_inexact())),
            None => Ok(Arc::new(Statistics::new_unknown(&self.schema()))),
        }
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }

    // Passes DataFusion's dynamic filters on to the scan of the first input.
    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        Ok(FilterDescription::new()
            .with_child(ChildFilterDescription::from_child(&filters, &self.probe)?)
            .with_child(ChildFilterDescription::all_unsupported(&filters)))
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_any(result))
    }
}
