//! The record of a simulated run. It assigns each section that was marked for Callgrind to the case that ran it.

use crate::measure::interleave::{Meter, Repetition};
use crate::model::{Counts, Event};
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use trommel_callgrind::Part;

/// The cases that were run in marked sections, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ledger(Vec<Entry>);

/// One repetition of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    name: String,
    /// The number of sections.
    sections: usize,
    /// The number of operations in all sections.
    ops: u64,
}

impl Ledger {
    /// Runs one repetition of a case. The repetition marks its sections, and verifies its answers outside the sections.
    pub(crate) fn run(&mut self, name: &str, repetition: &mut Repetition<'_>) -> Result<()> {
        let mut meter = Meter::marking();
        let ops = repetition(&mut meter).with_context(|| name.to_owned())?;
        self.0.push(Entry { name: name.to_owned(), sections: meter.sections(), ops });
        Ok(())
    }

    /// Whether no case was run.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the cases that were run.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|entry| entry.name.clone()).collect()
    }

    /// Returns the name of each case and its events per operation.
    ///
    /// # Errors
    ///
    /// If Callgrind reported more or fewer sections than were run.
    pub(crate) fn counts(&self, sections: &[Part]) -> Result<Vec<(String, Counts)>> {
        let run: usize = self.0.iter().map(|entry| entry.sections).sum();
        ensure!(
            sections.len() == run,
            "Callgrind saw {} of {run} sections: it finds sections by symbols, which a stripped program lacks",
            sections.len()
        );
        let mut remaining = sections;
        let mut all = Vec::new();
        for entry in &self.0 {
            let (of_case, rest) = remaining.split_at(entry.sections);
            remaining = rest;
            let mut sum = Part::default();
            of_case.iter().for_each(|part| sum.add(part));
            let mut counts = Counts::default();
            counts.take_in(&events_of(&sum), entry.ops);
            all.push((entry.name.clone(), counts));
        }
        Ok(all)
    }
}

/// Returns the simulated events of one or several sections. TLB misses and cycles are not among these events, because
/// Callgrind simulates no TLB and counts no cycles.
fn events_of(part: &Part) -> Counts {
    let mut counts = Counts::default();
    for (event, count) in [
        (Event::Instructions, part.instructions()),
        (Event::BranchMisses, part.branch_misses()),
        (Event::L1dReadMisses, part.d1_read_misses()),
        (Event::CacheMisses, part.ll_misses()),
        (Event::LlcReadMisses, part.ll_read_misses()),
    ] {
        if let Some(count) = count {
            counts.set(event, count as f64);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(instructions: &[u64]) -> Vec<Part> {
        let line = |count| format!("events: Ir D1mr\ntotals: {count} 8\n");
        Part::all(&instructions.iter().map(line).collect::<String>())
    }

    #[test]
    fn sections_are_assigned_to_cases_in_order() {
        let mut ledger = Ledger::default();
        let mut twice: Repetition<'_> = Box::new(|meter| {
            meter.time(|| ());
            meter.time(|| ());
            Ok(4)
        });
        ledger.run("twice", &mut twice).unwrap();
        let mut never: Repetition<'_> = Box::new(|_| Ok(0));
        ledger.run("never", &mut never).unwrap();
        let mut once: Repetition<'_> = Box::new(|meter| {
            meter.time(|| ());
            Ok(2)
        });
        ledger.run("once", &mut once).unwrap();
        let counts = ledger.counts(&parts(&[100, 20, 30])).unwrap();
        let count = |case: usize, event| counts[case].1.get(event);
        assert_eq!(counts[0].0, "twice");
        assert_eq!(count(0, Event::Instructions), Some(30.0));
        assert_eq!(count(0, Event::L1dReadMisses), Some(4.0));
        assert!(counts[1].1.is_empty());
        assert_eq!((count(2, Event::Instructions), count(2, Event::Cycles)), (Some(15.0), None));
        for wrong in [&[1, 2][..], &[1, 2, 3, 4], &[]] {
            let error = ledger.counts(&parts(wrong)).unwrap_err().to_string();
            assert!(error.contains("of 3 sections"), "{error}");
        }
    }

    #[test]
    fn an_error_names_its_case() {
        let mut wrong: Repetition<'_> = Box::new(|_| anyhow::bail!("2 false negatives"));
        let error = Ledger::default().run("a case", &mut wrong).unwrap_err();
        assert_eq!(format!("{error:#}"), "a case: 2 false negatives");
    }
}
