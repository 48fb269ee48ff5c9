//! Filters the rows of one partition.

use crate::loading::Loading;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::{BatchCoalescer, prep_null_mask_filter};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{StreamExt, try_unfold};

/// When a partition of a [`RuntimeFilterExec`](crate::RuntimeFilterExec) stops using the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The number of rows after which the partition decides whether to stop. The decision comes at the end of the batch
    /// in which the partition's row count reaches this number. With 0, the partition never stops using the filter.
    pub rows: usize,
    /// The filter may keep at most this share of the rows that the partition reads before it decides. If the filter
    /// keeps more, the partition stops using the filter.
    pub max_pass_share: f64,
}

/// The state of one partition of the operator.
pub(crate) struct ProbeStream {
    probe: SendableRecordBatchStream,
    loading: Loading,
    key: usize,
    sampling: Sampling,
    /// Combines the batches, which filtering has made small, into batches of the session's batch size.
    coalescer: BatchCoalescer,
    seen_rows: usize,
    passed_rows: usize,
    is_switched_off: bool,
    has_ended: bool,
}

/// The metrics of one partition.
struct Metrics {
    baseline: BaselineMetrics,
    probe_rows: Count,
    switched_off: Count,
    filter_bytes: Count,
}

impl ProbeStream {
    pub(crate) fn new(
        probe: SendableRecordBatchStream,
        loading: Loading,
        key: usize,
        sampling: Sampling,
        batch_rows: usize,
    ) -> Self {
        let coalescer = BatchCoalescer::new(probe.schema(), batch_rows);
        Self {
            probe,
            loading,
            key,
            sampling,
            coalescer,
            seen_rows: 0,
            passed_rows: 0,
            is_switched_off: false,
            has_ended: false,
        }
    }

    pub(crate) fn into_stream(
        self,
        metrics: &ExecutionPlanMetricsSet,
        partition: usize,
    ) -> SendableRecordBatchStream {
        let metrics = Metrics {
            baseline: BaselineMetrics::new(metrics, partition),
            probe_rows: MetricBuilder::new(metrics).counter("probe_rows", partition),
            switched_off: MetricBuilder::new(metrics).counter("filters_switched_off", partition),
            filter_bytes: MetricBuilder::new(metrics).counter("filter_bytes", partition),
        };
        let schema = self.probe.schema();
        let batches = try_unfold((self, metrics), |(mut stream, metrics)| async move {
            let batch = stream.next(&metrics).await?;
            Ok(batch.map(|batch| (batch.record_output(&metrics.baseline), (stream, metrics))))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }

    async fn next(&mut self, metrics: &Metrics) -> Result<Option<RecordBatch>> {
        let loading = self.loading.clone();
        let loaded = loading.await.map_err(DataFusionError::Shared)?;
        if self.seen_rows == 0 {
            // `take_bytes` returns the filter's size to the first partition that calls it, and 0 to all others.
            metrics.filter_bytes.add(loaded.take_bytes());
        }
        loop {
            if let Some(batch) = self.coalescer.next_completed_batch() {
                return Ok(Some(batch));
            }
            if self.has_ended {
                return Ok(None);
            }
            let Some(batch) = self.probe.next().await.transpose()? else {
                self.has_ended = true;
                self.coalescer.finish_buffered_batch()?;
                continue;
            };
            metrics.probe_rows.add(batch.num_rows());
            let _timer = metrics.baseline.elapsed_compute().timer();
            if self.is_switched_off {
                self.coalescer.push_batch(batch)?;
            } else {
                // Rows whose key is NULL are dropped too, since NULL has no partner in a join.
                let found = loaded.filter.probe(batch.column(self.key))?;
                let found =
                    if found.nulls().is_some() { prep_null_mask_filter(&found) } else { found };
                self.sample(found.len(), found.true_count(), metrics);
                self.coalescer.push_batch_with_filter(batch, &found)?;
            }
        }
    }

    /// Counts the rows of the sample. When the sample is complete, decides whether to switch the filter off.
    fn sample(&mut self, rows: usize, passed: usize, metrics: &Metrics) {
        if self.seen_rows >= self.sampling.rows {
            return;
        }
        self.seen_rows += rows;
        self.passed_rows += passed;
        let max_passed = self.seen_rows as f64 * self.sampling.max_pass_share;
        if self.seen_rows >= self.sampling.rows && self.passed_rows as f64 > max_passed {
            self.is_switched_off = true;
            metrics.switched_off.add(1);
        }
    }
}
