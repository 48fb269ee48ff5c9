//! What a rewriting is to do, and where the parts of the new file are.

use super::layout::Layout;
use std::ops::Range;

/// An operation on all filters of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Add { fpr: f64 },
    Replace { fpr: f64 },
    Fold { fpr: f64 },
    Remove,
}

/// One filter that is made, folded or removed.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) row_group: usize,
    pub(super) column: usize,
    pub(super) operation: Operation,
    /// The range of the old filter in the old file. `None` if there is no filter or the filter is malformed.
    pub(super) old: Option<Range<u64>>,
}

/// The layout of the new file, and the tasks, sorted by row group and then by column.
pub(super) struct Plan {
    pub(super) tasks: Vec<Task>,
    pub(super) layout: Layout,
}
