//! The extent of a run.

use super::Selection;

/// The share of all cases that a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// About two minutes: the default if the program gets no arguments.
    Quick,
    /// About a quarter of an hour: the default of `measure`.
    Usual,
    /// All cases, however long they take.
    Full,
}

impl Selection {
    /// Returns the requested scope.
    pub(crate) fn scope(&self) -> Scope {
        match (self.quick, self.full) {
            (_, true) => Scope::Full,
            (true, false) => Scope::Quick,
            (false, false) => Scope::Usual,
        }
    }
}
