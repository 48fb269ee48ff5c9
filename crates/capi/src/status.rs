//! How calls fail: one number each, and a message with the figures.

use std::fmt;
use trommel::error::UnknownKind;
use trommel::{FormatError, Full, MergeError, PolicyError, SpecError, Unsupported};

/// What a call returns. TROMMEL_OK is 0; everything else is a failure, which left filters, views and the other things
/// that it was given as they were, unless the function's comment says otherwise. `trommel_last_error` has the message.
/// Later versions may add statuses, so a switch over them needs a default.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// The names are those that C programs use, where a constant has no type in front of it.
#[allow(non_camel_case_types)]
pub enum Status {
    /// The call did what it was asked for.
    TROMMEL_OK = 0,
    /// A pointer that the call needs is NULL.
    TROMMEL_NULL_ARGUMENT = 1,
    /// A pointer is not at a multiple of its type's alignment.
    TROMMEL_MISALIGNED = 2,
    /// A length in bytes is above PTRDIFF_MAX, or the range of memory goes past the end of the address space.
    TROMMEL_TOO_LONG = 3,
    /// Memory to write to is in part memory to read from, or a filter was to be merged with itself.
    TROMMEL_OVERLAP = 4,
    /// The name is that of no kind of filter.
    TROMMEL_UNKNOWN_KIND = 5,
    /// The kind cannot do what was asked of it: a false-positive rate, a number of keys, bits per key, a block form.
    TROMMEL_SPEC = 6,
    /// The environment variable TROMMEL_ISA names an instruction set that does not exist or that the machine lacks.
    TROMMEL_INSTRUCTION_SET = 7,
    /// No room for another key, or for another copy of a key.
    TROMMEL_FULL = 8,
    /// The buffer is shorter than what is to be written.
    TROMMEL_BUFFER_TOO_SMALL = 9,
    /// The bytes are no frozen filter, or no filter block of the policy: damaged, cut off, or of another kind.
    TROMMEL_FORMAT = 10,
    /// The two filters differ in kind, size, parameters, hash or seed.
    TROMMEL_INCOMPATIBLE = 11,
    /// The kind of filter lacks the operation.
    TROMMEL_UNSUPPORTED = 12,
    /// The system refused memory.
    TROMMEL_MEMORY = 13,
    /// More keys than one filter block can hold.
    TROMMEL_TOO_MANY_KEYS = 14,
    /// A defect of the library, which printed its message to the standard error output. A filter that the call was to
    /// change may be damaged: free it.
    TROMMEL_PANIC = 15,
}

/// Why a call failed, with the figures.
#[derive(Debug, PartialEq)]
pub(crate) enum Failure {
    Null { name: &'static str },
    Misaligned { name: &'static str, alignment: usize },
    TooLong { name: &'static str, items: usize, item_bytes: usize },
    Overlap { name: &'static str },
    Text { name: &'static str },
    Kind(UnknownKind),
    Spec(SpecError),
    Full(Full),
    BufferTooSmall { need: usize, got: usize },
    Format(FormatError),
    Merge(MergeError),
    MergeWithItself,
    Unsupported(Unsupported),
    Policy(PolicyError),
    Memory { bytes: usize },
}

impl Failure {
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Null { .. } => Status::TROMMEL_NULL_ARGUMENT,
            Self::Misaligned { .. } => Status::TROMMEL_MISALIGNED,
            Self::TooLong { .. } => Status::TROMMEL_TOO_LONG,
            Self::Overlap { .. } => Status::TROMMEL_OVERLAP,
            Self::Text { .. } | Self::Kind(_) => Status::TROMMEL_UNKNOWN_KIND,
            Self::Spec(error) => of_spec(error),
            Self::Full(full) => of_full(full),
            Self::BufferTooSmall { .. } => Status::TROMMEL_BUFFER_TOO_SMALL,
            Self::Format(error) => of_format(error),
            Self::Merge(error) => of_merge(error),
            Self::MergeWithItself => Status::TROMMEL_OVERLAP,
            Self::Unsupported(_) => Status::TROMMEL_UNSUPPORTED,
            Self::Policy(error) => of_policy(error),
            Self::Memory { .. } => Status::TROMMEL_MEMORY,
        }
    }
}

fn of_spec(error: &SpecError) -> Status {
    match error {
        SpecError::OutOfMemory { .. } => Status::TROMMEL_MEMORY,
        SpecError::Isa(_) => Status::TROMMEL_INSTRUCTION_SET,
        _ => Status::TROMMEL_SPEC,
    }
}

fn of_full(full: &Full) -> Status {
    match full.why {
        trommel::error::WhyFull::Memory { .. } => Status::TROMMEL_MEMORY,
        _ => Status::TROMMEL_FULL,
    }
}

fn of_format(error: &FormatError) -> Status {
    match error {
        FormatError::OutOfMemory { .. } => Status::TROMMEL_MEMORY,
        _ => Status::TROMMEL_FORMAT,
    }
}

fn of_merge(error: &MergeError) -> Status {
    match error {
        MergeError::Full(full) => of_full(full),
        MergeError::OutOfMemory { .. } => Status::TROMMEL_MEMORY,
        MergeError::Unsupported(_) => Status::TROMMEL_UNSUPPORTED,
        MergeError::Damaged(error) => of_format(error),
        _ => Status::TROMMEL_INCOMPATIBLE,
    }
}

fn of_policy(error: &PolicyError) -> Status {
    match error {
        PolicyError::TooManyKeys { .. } => Status::TROMMEL_TOO_MANY_KEYS,
        PolicyError::BufferTooShort { .. } => Status::TROMMEL_BUFFER_TOO_SMALL,
        PolicyError::Full(full) => of_full(full),
        PolicyError::OutOfMemory { .. } => Status::TROMMEL_MEMORY,
        // An error of a later version, about what the policy was asked for.
        _ => Status::TROMMEL_SPEC,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null { name } => write!(f, "{name} is NULL"),
            Self::Misaligned { name, alignment } => {
                write!(f, "{name} is not at a multiple of {alignment} bytes")
            }
            Self::TooLong { name, items, item_bytes } => {
                write!(f, "{name}: no range of memory has {items} items of {item_bytes} bytes")
            }
            Self::Overlap { name } => write!(f, "{name} overlaps what is read"),
            Self::Text { name } => {
                write!(f, "{name} is not UTF-8, or has no NUL in its first 64 bytes")
            }
            Self::Kind(error) => error.fmt(f),
            Self::Spec(error) => error.fmt(f),
            Self::Full(error) => error.fmt(f),
            Self::BufferTooSmall { need, got } => {
                write!(f, "{need} bytes are to be written, the buffer has {got}")
            }
            Self::Format(error) => error.fmt(f),
            Self::Merge(error) => error.fmt(f),
            Self::MergeWithItself => f.write_str("a filter cannot be merged with itself"),
            Self::Unsupported(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::Memory { bytes } => write!(f, "the system refused {bytes} bytes of memory"),
        }
    }
}

macro_rules! failure_from {
    ($($error:ident => $variant:ident),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })*
    };
}
failure_from! {
    UnknownKind => Kind,
    SpecError => Spec,
    Full => Full,
    FormatError => Format,
    MergeError => Merge,
    Unsupported => Unsupported,
    PolicyError => Policy,
}
