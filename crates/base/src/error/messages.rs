//! The macros that write what most error types implement: `Display`, `Error`, and `From` for errors that it contains.

/// Implements [`Display`](core::fmt::Display) and [`Error`](core::error::Error) for an error type, from a table of
/// patterns and messages. A message is a format string. It names the fields that the pattern binds; further arguments
/// may follow it.
///
/// ```
/// #[derive(Debug)]
/// enum TrapError {
///     Shut,
///     Small { mice: u32 },
/// }
/// trommel_base::error_messages! { TrapError {
///     Self::Shut => "the trap is shut";
///     Self::Small { mice } => "{mice} mice do not fit into the trap";
/// }}
/// assert_eq!(TrapError::Small { mice: 3 }.to_string(), "3 mice do not fit into the trap");
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! error_messages {
    ($error:ident { $($pattern:pat => $message:literal $(, $argument:expr)*;)* }) => {
        impl ::core::fmt::Display for $error {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    $($pattern => ::core::write!(f, $message $(, $argument)*),)*
                }
            }
        }

        impl ::core::error::Error for $error {}
    };
}

/// Implements [`From`] for the errors that an error type contains. A row names the other error, and the variant that
/// contains it. The row `OutOfMemory { bytes }` stands for a variant `OutOfMemory` with the number of bytes that
/// [`storage::OutOfMemory`](crate::storage::OutOfMemory) has.
///
/// ```
/// use trommel_base::{Full, SpecError};
/// #[derive(Debug, PartialEq)]
/// enum FillError {
///     Spec(SpecError),
///     TooMany(Full),
///     OutOfMemory { bytes: u64 },
/// }
/// trommel_base::error_from! { FillError {
///     SpecError => Spec;
///     Full => TooMany;
///     OutOfMemory { bytes };
/// }}
/// assert_eq!(FillError::from(Full::new(1, 2, 3)), FillError::TooMany(Full::new(1, 2, 3)));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! error_from {
    ($error:ident { $($rows:tt)* }) => {
        $crate::error_from! { [$error] $($rows)* }
    };
    ([$error:ident]) => {};
    ([$error:ident] OutOfMemory { bytes }; $($rows:tt)*) => {
        impl ::core::convert::From<$crate::storage::OutOfMemory> for $error {
            fn from(refused: $crate::storage::OutOfMemory) -> Self {
                Self::OutOfMemory { bytes: refused.bytes }
            }
        }
        $crate::error_from! { [$error] $($rows)* }
    };
    ([$error:ident] $from:ty => $variant:ident; $($rows:tt)*) => {
        impl ::core::convert::From<$from> for $error {
            fn from(error: $from) -> Self {
                Self::$variant(error)
            }
        }
        $crate::error_from! { [$error] $($rows)* }
    };
}
