//! How much of what there is a run covers.

use crate::cli::Selection;

/// How much a run covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// Three minutes: what the harness does if it is told nothing at all.
    Quick,
    /// A quarter of an hour: what `measure` does if it is not told how much.
    Usual,
    /// As long as it takes.
    Full,
}

impl Selection {
    /// How much was asked for.
    pub(crate) fn scope(&self) -> Scope {
        match (self.quick, self.full) {
            (_, true) => Scope::Full,
            (true, false) => Scope::Quick,
            (false, false) => Scope::Usual,
        }
    }
}
