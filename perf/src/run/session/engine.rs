//! The engine's part of a run: measurements on several threads.

use super::{Session, save_to};
use crate::run::engine::strategies::{self, MapBench};
use crate::run::engine::{Bench, ThreadSet};
use crate::store::results::Results;
use anyhow::Result;

impl Session {
    /// Times the engine on these thread sets, interleaved with our filters' own batch calls on one thread and with the
    /// rivals. Then times both strategies of the engine at every selected point of the map of strategies, and records
    /// which strategy the cost model picks at this point. Leaves out the groups and points that would begin after the
    /// deadline.
    pub(crate) fn engine(&mut self, thread_sets: &[ThreadSet]) -> Result<()> {
        let (groups, points) = (self.selection.engine_groups(), self.selection.map_points());
        let (isa, deadline) = (self.isa, self.deadline());
        let bench = Bench { thread_sets, effort: self.effort, isa, deadline };
        let map = MapBench { thread_sets, pace: strategies::PACE, isa, deadline };
        let Self { results, progress, out, .. } = self;
        let save = |results: &Results| save_to(out.as_deref(), results);
        bench.measure(&groups, results, progress, save)?;
        map.measure(&points, results, progress, save)
    }
}
