//! Reads the files that Callgrind writes. A file consists of parts, each with the totals of its events.

use std::collections::BTreeMap;

/// The totals of one part of a file that Callgrind wrote. Callgrind writes a part after each section, and one more part
/// when the program ends. The methods that return a number of events return `None` if Callgrind did not count these
/// events.
///
/// Source: the Callgrind format specification, version 1: lines `desc: Trigger:`, `events:` and `totals:`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    events: BTreeMap<String, u64>,
    is_section: bool,
}

impl Part {
    /// All parts of a file that Callgrind wrote. `text` is the whole content of the file.
    #[must_use]
    pub fn all(text: &str) -> Vec<Self> {
        let (mut parts, mut names, mut is_section) = (Vec::new(), Vec::new(), false);
        for line in text.lines() {
            if let Some(trigger) = line.strip_prefix("desc: Trigger:") {
                is_section = trigger.contains("--dump-before=");
            } else if let Some(events) = line.strip_prefix("events:") {
                names = events.split_whitespace().map(str::to_owned).collect();
            } else if let Some(totals) = line.strip_prefix("totals:") {
                // Callgrind leaves out zeros at the end of the line.
                let numbers = totals.split_whitespace().map(|total| total.parse().unwrap_or(0));
                let numbers = numbers.chain(std::iter::repeat(0));
                let events = std::mem::take(&mut names).into_iter().zip(numbers).collect();
                parts.push(Self { events, is_section });
                is_section = false;
            }
        }
        parts
    }

    /// Like [`Part::all`], but only the parts with the counts of a section. A section is the code that a program runs
    /// by one call of [`counted`](crate::counted). The parts are in the order in which the sections ran.
    #[must_use]
    pub fn sections(text: &str) -> Vec<Self> {
        Self::all(text).into_iter().filter(|part| part.is_section).collect()
    }

    /// Adds the events of another part.
    pub fn add(&mut self, other: &Self) {
        for (event, count) in &other.events {
            let sum = self.events.entry(event.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// The number of instructions.
    #[must_use]
    pub fn instructions(&self) -> Option<u64> {
        self.sum(&["Ir"])
    }

    /// The number of reads that missed the first level of data cache.
    #[must_use]
    pub fn d1_read_misses(&self) -> Option<u64> {
        self.sum(&["D1mr"])
    }

    /// The number of reads and writes that missed the first level of data cache.
    #[must_use]
    pub fn d1_misses(&self) -> Option<u64> {
        self.sum(&["D1mr", "D1mw"])
    }

    /// The number of reads that missed the last level of cache.
    #[must_use]
    pub fn ll_read_misses(&self) -> Option<u64> {
        self.sum(&["DLmr"])
    }

    /// The number of reads, writes and instruction fetches that missed the last level of cache.
    #[must_use]
    pub fn ll_misses(&self) -> Option<u64> {
        self.sum(&["DLmr", "DLmw", "ILmr"])
    }

    /// The number of branches, conditional and indirect, that were predicted wrong.
    #[must_use]
    pub fn branch_misses(&self) -> Option<u64> {
        self.sum(&["Bcm", "Bim"])
    }

    /// The sum of the counts of these events; `None` if one of them was not counted.
    fn sum(&self, events: &[&str]) -> Option<u64> {
        events.iter().map(|event| self.events.get(*event)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as Callgrind 3.19 writes it, with most lines about functions left out.
    const TEXT: &str = "version: 1\n\
        part: 1\n\
        desc: Trigger: --dump-before=mark::ended\n\
        events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\n\
        summary: 11012 4006 2001 1 251 7 1 40 2 2001 6\n\
        fn=(1) x\n\
        12 3\n\
        totals: 11012 4006 2001 1 251 7 1 40 2 2001 6\n\
        part: 2\n\
        desc: Trigger: Program termination\n\
        events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\n\
        totals: 0\n";

    #[test]
    fn totals_are_read_with_the_zeros_that_are_left_out() {
        let all = Part::all(TEXT);
        assert_eq!(all.len(), 2);
        let part = &all[0];
        assert_eq!(part.instructions(), Some(11_012));
        assert_eq!((part.d1_read_misses(), part.d1_misses()), (Some(251), Some(258)));
        assert_eq!((part.ll_read_misses(), part.ll_misses()), (Some(40), Some(43)));
        assert_eq!(part.branch_misses(), Some(6));
        assert_eq!(all[1].instructions(), Some(0));
    }

    #[test]
    fn the_part_after_the_last_section_is_not_a_section() {
        assert_eq!(Part::sections(TEXT), Part::all(TEXT)[..1]);
        assert_eq!(Part::sections("nothing that Callgrind wrote"), []);
    }

    #[test]
    fn an_event_that_was_not_counted_is_not_zero() {
        let plain = Part::all("events: Ir\ntotals: 5\n").remove(0);
        assert_eq!((plain.instructions(), plain.d1_misses()), (Some(5), None));
        assert_eq!(Part::default().instructions(), None);
    }

    #[test]
    fn parts_are_added_up() {
        let mut sum = Part::default();
        for _ in 0..2 {
            sum.add(&Part::all(TEXT)[0]);
        }
        assert_eq!((sum.instructions(), sum.branch_misses()), (Some(22_024), Some(12)));
    }
}
