//! Cancels queries that make no progress.

use ballista_core::JobId;
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::execution_graph::ExecutionGraph;
use datafusion_proto::logical_plan::AsLogicalPlan;
use datafusion_proto::physical_plan::AsExecutionPlan;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The interval at which jobs are checked.
const TICK: Duration = Duration::from_secs(1);

/// The state of a job's tasks. When a task begins or ends, at least one field changes.
#[derive(Debug, PartialEq, Eq)]
struct Progress {
    completed_stages: usize,
    available_tasks: usize,
    /// The stage id and the task id of each running task.
    running_tasks: Vec<(usize, usize)>,
}

impl Progress {
    fn of(graph: &dyn ExecutionGraph) -> Self {
        let running = graph.running_tasks();
        let mut running_tasks: Vec<_> =
            running.iter().map(|task| (task.stage_id, task.task_id)).collect();
        running_tasks.sort_unstable();
        Self {
            completed_stages: graph.completed_stages(),
            available_tasks: graph.available_tasks(),
            running_tasks,
        }
    }
}

/// Cancels a job if none of its tasks has begun or ended for `limit`. Never returns, so it must run in a Tokio task
/// of its own.
///
/// After the loss of an executor, Ballista 55 can leave a job without the tasks that would finish it. Without this
/// function, the job's client would wait for ever. A job is also cancelled if its running tasks all take longer than
/// `limit`, or if its tasks wait longer than `limit` for a free executor. So `limit` must be far above the time of the
/// slowest task and the longest wait for an executor.
pub async fn cancel_stalled_jobs<T, U>(scheduler: SchedulerServer<T, U>, limit: Duration)
where
    T: 'static + AsLogicalPlan,
    U: 'static + AsExecutionPlan,
{
    let mut last: HashMap<JobId, (Progress, Instant)> = HashMap::new();
    loop {
        tokio::time::sleep(TICK).await;
        let jobs = scheduler.state.task_manager.get_running_job_cache();
        last.retain(|id, _| jobs.contains_key(id));
        for (id, job) in jobs.iter() {
            let progress = Progress::of(job.execution_graph.read().await.as_ref());
            let Some((seen, since)) = last.get_mut(id) else {
                last.insert(id.clone(), (progress, Instant::now()));
                continue;
            };
            if *seen != progress {
                (*seen, *since) = (progress, Instant::now());
            } else if since.elapsed() >= limit {
                tracing::warn!("job {id} is cancelled: no task has begun or ended for {limit:?}");
                if let Err(error) = scheduler.cancel_job(id.clone()).await {
                    tracing::error!("job {id} cannot be cancelled: {error}");
                }
                // If the job still runs without progress `limit` from now, it is cancelled again.
                *since = Instant::now();
            }
        }
    }
}
