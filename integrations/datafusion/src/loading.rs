//! Loads the filter that all partitions of an operator wait for.

use crate::filter::QueryFilter;
use datafusion::arrow::array::AsArray;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::ExecutionPlan;
use futures::future::{BoxFuture, FutureExt, Shared};
use futures::stream::TryStreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A future that returns the filter. Every partition that waits for the future also drives it, so the future makes
/// progress even if another partition is dropped.
pub(crate) type Loading =
    Shared<BoxFuture<'static, std::result::Result<Arc<Loaded>, Arc<DataFusionError>>>>;

/// A filter, and its reservation in the memory pool.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) filter: QueryFilter,
    /// The size of the frozen filter in bytes, or 0 once a partition has added the size to its metrics.
    uncounted_bytes: AtomicUsize,
    _reservation: MemoryReservation,
}

impl Loaded {
    /// Returns the size of the frozen filter in bytes on the first call, and 0 on every later call.
    pub(crate) fn take_bytes(&self) -> usize {
        self.uncounted_bytes.swap(0, Ordering::Relaxed)
    }
}

/// Makes the future that reads the filter. The future reads nothing until a partition waits for it.
pub(crate) fn start_loading(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Loading {
    async move { load(plan, context).await.map(Arc::new).map_err(Arc::new) }.boxed().shared()
}

/// Reads the filter that a plan returns as its only row.
async fn load(plan: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<Loaded> {
    let reservation = MemoryConsumer::new("RuntimeFilterExec").register(context.memory_pool());
    let batches: Vec<_> = plan.execute(0, context)?.try_collect().await?;
    let mut filters = batches.iter().flat_map(|batch| batch.column(0).as_binary_view().iter());
    let (filter, more) = (filters.next(), filters.count());
    let Some(Some(bytes)) = filter else {
        return exec_err!("RuntimeFilterExec: the second input returned no filter");
    };
    if more > 0 {
        return exec_err!(
            "RuntimeFilterExec: the second input returned {} filters instead of one",
            more + 1
        );
    }
    reservation.try_grow(bytes.len())?;
    let filter = QueryFilter::parse(bytes)?;
    Ok(Loaded { filter, uncounted_bytes: bytes.len().into(), _reservation: reservation })
}
