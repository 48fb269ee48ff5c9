//! The engine's part of a run: measurements on several threads.

use super::{Session, save_to};
use crate::run::engine::{Bench, ThreadSet, strategies};
use crate::store::results::Results;
use anyhow::Result;

impl Session {
    /// Times the engine on these thread sets, interleaved with the same filters' own batches on one thread and with the
    /// rivals. Then times both strategies at every selected point of the map of strategies, and records which one the
    /// cost model picks there. Does nothing if the run is already late, and leaves out the map if the run is late after
    /// the groups.
    pub(crate) fn engine(&mut self, thread_sets: &[ThreadSet]) -> Result<()> {
        if self.is_late() {
            return Ok(());
        }
        let (groups, points) = (self.selection.engine_groups(), self.selection.map_points());
        let deadline = self.deadline();
        let bench = Bench { thread_sets, effort: self.effort, isa: self.isa, deadline };
        let Self { results, progress, out, .. } = self;
        bench.measure(&groups, results, progress, |results| save_to(out.as_deref(), results))?;
        if self.is_late() {
            return Ok(());
        }
        let Self { results, progress, out, isa, .. } = self;
        let save = |results: &Results| save_to(out.as_deref(), results);
        strategies::measure(&points, thread_sets, &strategies::PACE, *isa, results, progress, save)
    }
}
