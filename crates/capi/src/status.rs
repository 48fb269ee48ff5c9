//! The statuses that calls return, and the reasons why calls fail, with their messages.

use std::fmt;
use trommel::error::UnknownKind;
use trommel::{FormatError, Full, MergeError, PolicyError, SpecError, Unsupported};

/// The result of a call. TROMMEL_OK is 0; every other value is a failure. A failed call leaves filters, views and its
/// other arguments as they were, unless the function's comment says otherwise. `trommel_last_error` has the message.
/// Later versions may add statuses, so a switch over them needs a default.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// The variants have the names that C programs use, since in C the name of the type does not stand before a constant.
#[allow(non_camel_case_types)]
pub enum Status {
    /// The call did what it was asked for.
    TROMMEL_OK = 0,
    /// A pointer that the call needs is NULL.
    TROMMEL_NULL_ARGUMENT = 1,
    /// A pointer is not aligned for its type.
    TROMMEL_MISALIGNED = 2,
    /// A length in bytes is above PTRDIFF_MAX, or the range of memory goes past the end of the address space.
    TROMMEL_TOO_LONG = 3,
    /// The memory to write to overlaps memory that the call reads, or a filter was to be merged with itself.
    TROMMEL_OVERLAP = 4,
    /// No kind of filter has this name.
    TROMMEL_UNKNOWN_KIND = 5,
    /// The kind of filter has no block form, or cannot have this false-positive rate, number of keys or bits per key.
    TROMMEL_SPEC = 6,
    /// The environment variable TROMMEL_ISA names an instruction set that does not exist or that the machine lacks.
    TROMMEL_INSTRUCTION_SET = 7,
    /// The filter has no room for another key, or for another copy of a key.
    TROMMEL_FULL = 8,
    /// The buffer is too short for the bytes to be written.
    TROMMEL_BUFFER_TOO_SMALL = 9,
    /// The bytes are not a frozen filter, or not a filter block of the policy. They are damaged, cut off, of another
    /// kind, or in a later version of the format.
    TROMMEL_FORMAT = 10,
    /// The two filters differ in kind, size, parameters, hash or seed.
    TROMMEL_INCOMPATIBLE = 11,
    /// The kind of filter lacks the operation.
    TROMMEL_UNSUPPORTED = 12,
    /// The system refused memory.
    TROMMEL_MEMORY = 13,
    /// One filter block cannot hold this number of keys.
    TROMMEL_TOO_MANY_KEYS = 14,
    /// A defect of the library: it panicked. The panic's message was printed to the standard error output. A filter
    /// that the call was to change may be damaged: free it.
    TROMMEL_PANIC = 15,
    /// The filter's hash function needs its secret key, which this interface does not take.
    TROMMEL_SECRET_KEY = 16,
}

/// The reason why a call failed, with the numbers for its message.
#[derive(Debug, PartialEq)]
pub(crate) enum Failure {
    Null {
        name: &'static str,
    },
    Misaligned {
        name: &'static str,
        alignment: usize,
    },
    TooLong {
        name: &'static str,
        items: usize,
        item_bytes: usize,
    },
    Overlap {
        name: &'static str,
    },
    Text {
        name: &'static str,
    },
    Kind(UnknownKind),
    Spec(SpecError),
    Full(Full),
    BufferTooSmall {
        need: usize,
        got: usize,
    },
    Format(FormatError),
    Merge(MergeError),
    MergeWithItself,
    Unsupported(Unsupported),
    Policy(PolicyError),
    Memory {
        bytes: usize,
    },
    /// The memory for the bytes of an overflow table was refused.
    OverflowTable,
}

impl Failure {
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Null { .. } => Status::TROMMEL_NULL_ARGUMENT,
            Self::Misaligned { .. } => Status::TROMMEL_MISALIGNED,
            Self::TooLong { .. } => Status::TROMMEL_TOO_LONG,
            Self::Overlap { .. } => Status::TROMMEL_OVERLAP,
            Self::Text { .. } | Self::Kind(_) => Status::TROMMEL_UNKNOWN_KIND,
            Self::Spec(error) => spec_status(error),
            Self::Full(full) => full_status(full),
            Self::BufferTooSmall { .. } => Status::TROMMEL_BUFFER_TOO_SMALL,
            Self::Format(error) => format_status(error),
            Self::Merge(error) => merge_status(error),
            Self::MergeWithItself => Status::TROMMEL_OVERLAP,
            Self::Unsupported(_) => Status::TROMMEL_UNSUPPORTED,
            Self::Policy(error) => policy_status(error),
            Self::Memory { .. } | Self::OverflowTable => Status::TROMMEL_MEMORY,
        }
    }
}

fn spec_status(error: &SpecError) -> Status {
    match error {
        SpecError::OutOfMemory { .. } => Status::TROMMEL_MEMORY,
        SpecError::Isa(_) => Status::TROMMEL_INSTRUCTION_SET,
        _ => Status::TROMMEL_SPEC,
    }
}

fn full_status(full: &Full) -> Status {
    match full.why {
        trommel::error::WhyFull::Memory { .. } => Status::TROMMEL_MEMORY,
        _ => Status::TROMMEL_FULL,
    }
}

fn format_status(error: &FormatError) -> Status {
    match error {
        FormatError::OutOfMemory { .. } => Status::TROMMEL_MEMORY,
        FormatError::KeyRequired { .. } => Status::TROMMEL_SECRET_KEY,
        _ => Status::TROMMEL_FORMAT,
    }
}

fn merge_status(error: &MergeError) -> Status {
    match error {
        MergeError::Full(full) => full_status(full),
        MergeError::OutOfMemory { .. } => Status::TROMMEL_MEMORY,
        MergeError::Unsupported(_) => Status::TROMMEL_UNSUPPORTED,
        MergeError::Damaged(error) => format_status(error),
        _ => Status::TROMMEL_INCOMPATIBLE,
    }
}

fn policy_status(error: &PolicyError) -> Status {
    match error {
        PolicyError::TooManyKeys { .. } => Status::TROMMEL_TOO_MANY_KEYS,
        PolicyError::BufferTooShort { .. } => Status::TROMMEL_BUFFER_TOO_SMALL,
        PolicyError::Full(full) => full_status(full),
        PolicyError::OutOfMemory { .. } => Status::TROMMEL_MEMORY,
        // A later version may add reasons why a block cannot be built.
        _ => Status::TROMMEL_SPEC,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null { name } => write!(f, "{name} is NULL"),
            Self::Misaligned { name, alignment } => {
                write!(f, "{name} is not aligned to {alignment} bytes")
            }
            Self::TooLong { name, items, item_bytes } => {
                write!(f, "{name}: no range of memory holds {items} items of {item_bytes} bytes")
            }
            Self::Overlap { name } => write!(f, "{name} overlaps memory that the call reads"),
            Self::Text { name } => {
                write!(f, "{name} is not UTF-8, or has no NUL in its first 64 bytes")
            }
            Self::Kind(error) => error.fmt(f),
            Self::Spec(error) => error.fmt(f),
            Self::Full(error) => error.fmt(f),
            Self::BufferTooSmall { need, got } => {
                write!(f, "the buffer has {got} bytes, {need} are needed")
            }
            Self::Format(error) => error.fmt(f),
            Self::Merge(error) => error.fmt(f),
            Self::MergeWithItself => f.write_str("a filter cannot be merged with itself"),
            Self::Unsupported(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::Memory { bytes } => write!(f, "the system refused {bytes} bytes of memory"),
            Self::OverflowTable => {
                f.write_str("the system refused the memory for the bytes of the overflow table")
            }
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
