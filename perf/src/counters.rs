//! Hardware event counters around a timed section, where the kernel and the machine offer them.

/// Counts of one section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) cache_misses: u64,
    pub(crate) llc_misses: u64,
    pub(crate) dtlb_misses: u64,
}

#[cfg(target_os = "linux")]
mod hardware {
    use super::Counts;
    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
    use perf_event::{Builder, Counter, Group};

    /// The three counters of the report, enabled and read together.
    pub(crate) struct Counters {
        group: Group,
        cache: Counter,
        llc: Counter,
        dtlb: Counter,
    }

    impl Counters {
        /// Opens the counters for this thread.
        pub(crate) fn open() -> Result<Self, String> {
            Self::open_group().map_err(|error| {
                let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
                    .unwrap_or_default();
                format!(
                    "perf_event_open: {error}; kernel.perf_event_paranoid is {}",
                    paranoid.trim()
                )
            })
        }

        fn open_group() -> std::io::Result<Self> {
            let read_misses =
                |which| Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
            let mut group = Group::new()?;
            let cache = group.add(&Builder::new(Hardware::CACHE_MISSES))?;
            let llc = group.add(&Builder::new(read_misses(CacheId::LL)))?;
            let dtlb = group.add(&Builder::new(read_misses(CacheId::DTLB)))?;
            Ok(Self { group, cache, llc, dtlb })
        }

        /// Starts counting from zero.
        pub(crate) fn start(&mut self) -> std::io::Result<()> {
            self.group.reset()?;
            self.group.enable()
        }

        /// Stops and reads.
        pub(crate) fn stop(&mut self) -> std::io::Result<Counts> {
            self.group.disable()?;
            let data = self.group.read()?;
            let of = |counter: &Counter| data[counter];
            Ok(Counts {
                cache_misses: of(&self.cache),
                llc_misses: of(&self.llc),
                dtlb_misses: of(&self.dtlb),
            })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod hardware {
    use super::Counts;

    /// No counters on this system: cannot be made.
    pub(crate) enum Counters {}

    impl Counters {
        pub(crate) fn open() -> Result<Self, String> {
            Err("only Linux has perf_event_open".into())
        }

        pub(crate) fn start(&mut self) -> std::io::Result<()> {
            match *self {}
        }

        pub(crate) fn stop(&mut self) -> std::io::Result<Counts> {
            match *self {}
        }
    }
}

pub(crate) use hardware::Counters;
