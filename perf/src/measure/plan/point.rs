//! Filters that are measured together.

use super::{Group, SubjectSpec};

/// Filters over the same keys, and the groups of cases in which they are measured. Each part of the matrix has a point
/// for each of its numbers of keys. The user's file of cases has a point for each combination of a number of keys and a
/// list of operations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) keys: usize,
    pub(crate) specs: Vec<SubjectSpec>,
    pub(crate) groups: Vec<Group>,
}

impl Point {
    /// Returns the same filters and groups with another number of keys.
    pub(crate) fn with_keys(mut self, keys: usize) -> Self {
        self.keys = keys;
        self.groups.iter_mut().for_each(|group| group.keys = keys);
        self
    }

    /// Adds the filters of `specs` that the point does not have yet.
    pub(crate) fn take_in(&mut self, specs: Vec<SubjectSpec>) {
        for spec in specs {
            if !self.specs.contains(&spec) {
                self.specs.push(spec);
            }
        }
    }
}
