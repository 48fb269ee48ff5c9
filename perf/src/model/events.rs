//! Events of the processor that are counted, on hardware or in a simulation.

/// A hardware event. The counts of each event are a column of `results.csv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Cycles,
    Instructions,
    BranchMisses,
    L1dReadMisses,
    CacheMisses,
    LlcReadMisses,
    DtlbReadMisses,
}

impl Event {
    /// All events. A processor with few counters counts them group by group; each group consists of neighbours in this
    /// list. Events that are compared with each other are neighbours, so that a group has as many of them as possible.
    pub(crate) const ALL: [Self; 7] = [
        Self::Cycles,
        Self::Instructions,
        Self::BranchMisses,
        Self::L1dReadMisses,
        Self::CacheMisses,
        Self::LlcReadMisses,
        Self::DtlbReadMisses,
    ];

    /// The name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::BranchMisses => "branch misses",
            Self::L1dReadMisses => "L1d read misses",
            Self::CacheMisses => "cache misses",
            Self::LlcReadMisses => "last-level cache read misses",
            Self::DtlbReadMisses => "data-TLB read misses",
        }
    }
}

/// The count of each event; `None` if the event was not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts([Option<f64>; Event::ALL.len()]);

impl Counts {
    pub(crate) fn get(&self, event: Event) -> Option<f64> {
        self.0[event as usize]
    }

    pub(crate) fn set(&mut self, event: Event, count: f64) {
        self.0[event as usize] = Some(count);
    }

    /// Takes over each count of `other`, divided by `ops`, the number of operations. The counts of events that `other`
    /// has not counted stay as they are.
    pub(crate) fn take_in(&mut self, other: &Self, ops: u64) {
        for event in Event::ALL {
            if let Some(count) = other.get(event) {
                self.set(event, count / ops.max(1) as f64);
            }
        }
    }

    /// Whether no event was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_divided_by_operations_and_other_events_stay() {
        let mut per_op = Counts::default();
        assert!(per_op.is_empty());
        let mut counted = Counts::default();
        counted.set(Event::Cycles, 600.0);
        per_op.take_in(&counted, 100);
        let mut later = Counts::default();
        later.set(Event::DtlbReadMisses, 50.0);
        per_op.take_in(&later, 200);
        assert_eq!(per_op.get(Event::Cycles), Some(6.0));
        assert_eq!(per_op.get(Event::DtlbReadMisses), Some(0.25));
        assert_eq!(per_op.get(Event::Instructions), None);
    }

    #[test]
    fn every_event_has_its_own_index() {
        for (index, event) in Event::ALL.into_iter().enumerate() {
            assert_eq!(event as usize, index, "{}", event.name());
        }
    }
}
