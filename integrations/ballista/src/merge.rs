//! Runs the last step of the aggregate that builds a filter, which merges the filter's parts, in a separate stage.

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::memory::{DataSourceExec, MemorySourceConfig};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::{EmptyRecordBatchStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties,
};
use futures::stream::{TryStreamExt, once};
use std::fmt;
use std::sync::Arc;

/// Runs its input once, in a separate stage, and passes the rows of the input to the stages above.
///
/// Ballista ends a stage where partitions are merged. The merged filter has a single partition, so without this
/// operator no stage would end after the merge of the filter's parts: every task that filters rows would fetch all
/// parts and merge them itself. This operator has two partitions, one of which is empty. The operator above this one
/// merges the two partitions, which ends the stage, and each task fetches only the merged filter.
#[derive(Debug)]
pub(crate) struct MergeStageExec {
    /// A leaf of two partitions: the first partition has one row, the second has none. Ballista gives a task one or
    /// both of the partitions, and numbers the partitions of each task from 0. So number 0 can be either partition, and
    /// only the row marks the first one.
    marker: Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl MergeStageExec {
    /// Returns a plan that runs `input` in a separate stage. The plan has one partition, since it merges the two
    /// partitions of the stage. The caller must ensure that `input` has one partition.
    pub(crate) fn separate(input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = Arc::new(Schema::new(vec![Field::new("is_first", DataType::Boolean, false)]));
        let column: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
        let row = RecordBatch::try_new(Arc::clone(&schema), vec![column])?;
        let marker = MemorySourceConfig::try_new(&[vec![row], vec![]], schema, None)?;
        let stage = Self::try_new(DataSourceExec::from_data_source(marker), input)?;
        Ok(Arc::new(CoalescePartitionsExec::new(Arc::new(stage))))
    }

    /// Makes the operator alone, without the merge of its partitions. The caller must ensure that `marker` is a plan of
    /// the form that the field `marker` states, and that `input` has one partition.
    pub(crate) fn try_new(
        marker: Arc<dyn ExecutionPlan>,
        input: Arc<dyn ExecutionPlan>,
    ) -> Result<Self> {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(marker.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Ok(Self { marker, input, properties: Arc::new(properties) })
    }
}

impl DisplayAs for MergeStageExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MergeStageExec")
    }
}

impl ExecutionPlan for MergeStageExec {
    fn name(&self) -> &'static str {
        "MergeStageExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.marker, &self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![
            Distribution::UnspecifiedDistribution,
            Distribution::SinglePartition,
        ])
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([marker, input]) = <[Arc<dyn ExecutionPlan>; 2]>::try_from(children) else {
            return internal_err!("MergeStageExec has 2 inputs");
        };
        Ok(Arc::new(Self::try_new(marker, input)?))
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
        let marker = self.marker.execute(partition, Arc::clone(&context))?;
        let input = Arc::clone(&self.input);
        let empty = EmptyRecordBatchStream::new(self.schema());
        let batches = once(async move {
            let marked: Vec<RecordBatch> = marker.try_collect().await?;
            let is_first = marked.iter().any(|batch| batch.num_rows() > 0);
            if is_first { input.execute(0, context) } else { Ok(Box::pin(empty) as _) }
        });
        let batches = batches.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}
