//! For each allocation of an operation, runs the operation twice: once with only this allocation refused, and once with
//! this and all following allocations refused.

use crate::allocator::{Refuse, counted, refusing};
use std::cell::Cell;
use std::convert::Infallible;
use std::fmt::Debug;
use std::io;
use trommel::cuckoo::GrowError;
use trommel::error::{
    AccumulateError, BuildError, FoldError, FormatError, MergeError, PolicyError, SpecError,
    WhyFull,
};
use trommel::quotient::ResizeError;
use trommel::{Full, Unsupported};

/// An error of an operation.
pub(crate) trait Refusal: Debug {
    /// Whether the error reports that the system refused memory.
    fn is_of_memory(&self) -> bool;
}

macro_rules! refusals {
    ($($error:ty: $pattern:pat,)*) => {
        $(impl Refusal for $error {
            fn is_of_memory(&self) -> bool {
                matches!(self, $pattern)
            }
        })*
    };
}

refusals! {
    SpecError: SpecError::OutOfMemory { .. },
    FormatError: FormatError::OutOfMemory { .. },
    FoldError: FoldError::OutOfMemory { .. },
    ResizeError: ResizeError::OutOfMemory { .. },
    GrowError: GrowError::OutOfMemory { .. },
    MergeError: MergeError::OutOfMemory { .. },
    PolicyError: PolicyError::OutOfMemory { .. },
    Full: Full { why: WhyFull::Memory { .. }, .. },
    BuildError: BuildError::Spec(SpecError::OutOfMemory { .. })
        | BuildError::Full(Full { why: WhyFull::Memory { .. }, .. }),
    AccumulateError: AccumulateError::Build(BuildError::Spec(SpecError::OutOfMemory { .. }))
        | AccumulateError::Build(BuildError::Full(Full { why: WhyFull::Memory { .. }, .. }))
        | AccumulateError::Merge(MergeError::OutOfMemory { .. })
        | AccumulateError::Format(FormatError::OutOfMemory { .. }),
}

impl Refusal for Unsupported {
    fn is_of_memory(&self) -> bool {
        false
    }
}

impl Refusal for Infallible {
    fn is_of_memory(&self) -> bool {
        match *self {}
    }
}

impl Refusal for io::Error {
    fn is_of_memory(&self) -> bool {
        self.kind() == io::ErrorKind::OutOfMemory
    }
}

thread_local! {
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

/// The number of allocations that [`check`] has refused so far on this thread.
pub(crate) fn refused() -> usize {
    REFUSED.get()
}

/// Counts the allocations of `run`. Then, for each allocation, calls `run` on a fresh subject with only this allocation
/// refused, and on another fresh subject with this and all following allocations refused. Each run must succeed, or
/// return an error that reports refused memory. `verify` checks the subject after each run, given the run's result.
///
/// Apart from the operation under test, `run` must not allocate. If the operation cannot handle the refusal, the
/// process ends. So the name and number of each run are written to standard error before the run begins.
pub(crate) fn check<S, T, E: Refusal>(
    name: &str,
    fresh: impl Fn() -> S,
    run: impl Fn(&mut S) -> Result<T, E>,
    verify: impl Fn(&S, &Result<T, E>),
) {
    let mut subject = fresh();
    let (result, allocations) = counted(|| run(&mut subject));
    if let Err(error) = &result {
        panic!("{name}: {error:?}, although no memory was refused");
    }
    verify(&subject, &result);
    for number in 1..=allocations {
        for refuse in [Refuse::Only(number), Refuse::From(number)] {
            eprintln!("{name}: refuses {refuse:?} of {allocations}");
            let mut subject = fresh();
            let result = refusing(refuse, || run(&mut subject));
            if let Err(error) = &result {
                assert!(
                    error.is_of_memory(),
                    "{name}, {refuse:?}: not the error for refused memory: {error:?}"
                );
            }
            verify(&subject, &result);
            REFUSED.set(REFUSED.get() + 1);
        }
    }
}
