//! Hardware counters on Linux, by `perf_event_open`.

use super::refusal::{Refusal, describe};
use crate::model::{Counts, Event};
use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter, Group};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::time::Duration;

/// Counters of this thread's events in user mode. They are in groups: the processor counts all events of a group at
/// once.
pub(crate) struct Counters {
    groups: Vec<Counted>,
    refusals: Vec<Refusal>,
}

/// A group, its members, and their readings at the last call of [`Counters::take`].
struct Counted {
    group: Group,
    members: Vec<(Event, Counter)>,
    before: Vec<Reading>,
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events = |counted: &Counted| -> Vec<Event> {
            counted.members.iter().map(|(event, _)| *event).collect()
        };
        f.debug_list().entries(self.groups.iter().map(events)).finish()
    }
}

impl Counters {
    /// Opens, for this thread, the counters that the machine has.
    ///
    /// # Errors
    /// If there are no counters. The error is a sentence that says why.
    pub(crate) fn open() -> Result<Self, String> {
        let (groups, refusals) = spread(&Event::ALL, Group::new, |group, event| match event {
            Event::Cycles => group.add(&Builder::new(Hardware::CPU_CYCLES)),
            Event::Instructions => group.add(&Builder::new(Hardware::INSTRUCTIONS)),
            Event::BranchMisses => group.add(&Builder::new(Hardware::BRANCH_MISSES)),
            Event::CacheMisses => group.add(&Builder::new(Hardware::CACHE_MISSES)),
            Event::L1dReadMisses => group.add(&read_misses(CacheId::L1D)),
            Event::LlcReadMisses => group.add(&read_misses(CacheId::LL)),
            Event::DtlbReadMisses => group.add(&read_misses(CacheId::DTLB)),
        });
        if groups.is_empty() {
            return Err(describe(&refusals));
        }
        let counted = |(group, members): (Group, Vec<(Event, Counter)>)| {
            let before = vec![Reading::default(); members.len()];
            Counted { group, members, before }
        };
        Ok(Self { groups: groups.into_iter().map(counted).collect(), refusals })
    }

    /// A sentence that says which events cannot be counted and why, if there are such events.
    pub(crate) fn missing(&self) -> Option<String> {
        (!self.refusals.is_empty()).then(|| describe(&self.refusals))
    }

    /// The number of groups. The measured work is repeated for each group, since one repetition is too short for the
    /// kernel to switch between groups within it.
    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Starts to count a group, or continues after a pause.
    pub(crate) fn start(&mut self, group: usize) -> io::Result<()> {
        self.groups[group].group.enable()
    }

    /// Pauses counting a group.
    pub(crate) fn stop(&mut self, group: usize) -> io::Result<()> {
        self.groups[group].group.disable()
    }

    /// Returns the counts of a group since the last call for this group.
    pub(crate) fn take(&mut self, group: usize) -> io::Result<Counts> {
        let Counted { group, members, before } = &mut self.groups[group];
        let data = group.read()?;
        let enabled = data.time_enabled().unwrap_or_default();
        let running = data.time_running().unwrap_or_default();
        let mut counts = Counts::default();
        for ((event, counter), before) in members.iter().zip(before) {
            let now = Reading { count: data[counter], enabled, running };
            if let Some(count) = now.since(before) {
                counts.set(*event, count);
            }
            *before = now;
        }
        Ok(counts)
    }
}

fn read_misses(which: CacheId) -> Builder<'static> {
    Builder::new(Cache { which, operation: CacheOp::READ, result: CacheResult::MISS })
}

/// A reading of a counter.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    count: u64,
    /// The time for which the counter was enabled.
    enabled: Duration,
    /// The part of `enabled` in which the processor counted the event.
    running: Duration,
}

impl Reading {
    /// The number of events since an earlier reading. If other programs occupied the processor's counters for a part of
    /// the time, the count is scaled up to the whole time. If other programs occupied the counters for the whole time,
    /// the number is unknown.
    fn since(&self, before: &Self) -> Option<f64> {
        let enabled = self.enabled.saturating_sub(before.enabled).as_secs_f64();
        let running = self.running.saturating_sub(before.running).as_secs_f64();
        let count = self.count.saturating_sub(before.count) as f64;
        (running > 0.0).then(|| count * (enabled / running).max(1.0))
    }
}

/// Groups, each with its members. A member is an event and its counter.
type Groups<G, C> = Vec<(G, Vec<(Event, C)>)>;

/// Spreads events over groups. Each event is added to the last group, or to a new group if the last group would have
/// more events than the processor counts at once. Events that cannot be counted even in a group of their own, or that
/// the kernel refuses for another reason than a full group, are returned as refusals.
fn spread<G, C>(
    events: &[Event],
    mut new_group: impl FnMut() -> io::Result<G>,
    mut add: impl FnMut(&mut G, Event) -> io::Result<C>,
) -> (Groups<G, C>, Vec<Refusal>) {
    let (mut groups, mut refusals): (Groups<G, C>, Vec<Refusal>) = (Vec::new(), Vec::new());
    for event in events.iter().copied() {
        let into_last = groups.last_mut().map(|(group, members)| {
            add(group, event).map(|counter| members.push((event, counter)))
        });
        match into_last {
            Some(Ok(())) => continue,
            Some(Err(error)) if !is_group_too_large(&error) => {
                refusals.push(Refusal { event, error });
                continue;
            }
            Some(Err(_)) | None => {}
        }
        let alone = new_group().and_then(|mut group| {
            let counter = add(&mut group, event)?;
            Ok((group, vec![(event, counter)]))
        });
        match alone {
            Ok(group) => groups.push(group),
            Err(error) => refusals.push(Refusal { event, error }),
        }
    }
    (groups, refusals)
}

/// Whether the kernel reports that the processor cannot count all events of a group at once.
fn is_group_too_large(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    /// The events of each group, and the refused events, on a machine that counts `at_once` events and lacks `lacking`.
    fn groups(at_once: usize, lacking: &[Event]) -> (Vec<Vec<Event>>, Vec<Event>) {
        let (groups, refusals) = spread(
            &Event::ALL,
            || Ok(0),
            |used, event| match event {
                _ if lacking.contains(&event) => Err(refused(Errno::NOENT)),
                _ if *used == at_once => Err(refused(Errno::INVAL)),
                _ => {
                    *used += 1;
                    Ok(())
                }
            },
        );
        let events = |members: Vec<(Event, ())>| members.into_iter().map(|(event, ())| event);
        (
            groups.into_iter().map(|(_, members)| events(members).collect()).collect(),
            refusals.into_iter().map(|refusal| refusal.event).collect(),
        )
    }

    #[test]
    fn a_full_group_is_followed_by_another() {
        assert_eq!(groups(9, &[]), (vec![Event::ALL.to_vec()], vec![]));
        let (four, none) = groups(4, &[]);
        assert_eq!((four.iter().map(Vec::len).collect::<Vec<_>>(), none), (vec![4, 3], vec![]));
        assert_eq!(four.concat(), Event::ALL);
    }

    #[test]
    fn a_missing_event_does_not_affect_the_others() {
        let lacking = [Event::Cycles, Event::LlcReadMisses];
        let (all, refused) = groups(2, &lacking);
        assert_eq!((all.concat().len(), refused), (5, lacking.to_vec()));
        assert_eq!(groups(0, &[]), (vec![], Event::ALL.to_vec()));
    }

    #[test]
    fn counts_are_scaled_up_to_the_enabled_time() {
        let ms = Duration::from_millis;
        let reading =
            |count, enabled, running| Reading { count, enabled: ms(enabled), running: ms(running) };
        let before = reading(1000, 10, 10);
        assert_eq!(reading(1600, 14, 14).since(&before), Some(600.0));
        assert_eq!(reading(1600, 18, 14).since(&before), Some(1200.0));
        assert_eq!(reading(1000, 14, 10).since(&before), None);
        // The two times are read one after the other, so `running` can exceed `enabled`. Counts are never scaled down.
        assert_eq!(reading(1600, 13, 14).since(&before), Some(600.0));
    }

    #[test]
    fn instructions_are_counted_if_the_machine_has_counters() {
        let Ok(mut counters) = Counters::open() else { return };
        for group in 0..counters.groups() {
            counters.start(group).unwrap();
            let sum: u64 = (0..std::hint::black_box(100_000_u64)).map(std::hint::black_box).sum();
            counters.stop(group).unwrap();
            assert!(sum > 0);
            if let Some(instructions) = counters.take(group).unwrap().get(Event::Instructions) {
                assert!(
                    instructions > 100_000.0,
                    "{instructions} instructions were counted in 100,000 steps"
                );
            }
        }
    }
}
