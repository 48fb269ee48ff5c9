//! The substitute for `hardware` on systems whose counters the harness does not support.

use crate::model::Counts;
use std::io;

/// A type without values, since no counters can be opened.
#[derive(Debug)]
pub(crate) enum Counters {}

impl Counters {
    pub(crate) fn open() -> Result<Self, String> {
        Err("only Linux has perf_event_open".into())
    }

    pub(crate) fn missing(&self) -> Option<String> {
        match *self {}
    }

    pub(crate) fn groups(&self) -> usize {
        match *self {}
    }

    pub(crate) fn start(&mut self, _group: usize) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn stop(&mut self, _group: usize) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn take(&mut self, _group: usize) -> io::Result<Counts> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_systems_have_no_counters() {
        assert!(Counters::open().is_err_and(|why| why.contains("Linux")));
    }
}
