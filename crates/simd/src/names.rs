//! The macro that writes `Display` and `FromStr` of an enum by the names of its variants.

/// Implements [`Display`](core::fmt::Display) and [`FromStr`](core::str::FromStr) for an enum that has a method `name`
/// and a list `ALL` of its variants. A text that is no name is the error given.
#[doc(hidden)]
#[macro_export]
macro_rules! display_and_parse_names {
    ($named:ident, or $unknown:expr => $error:ty) => {
        impl ::core::fmt::Display for $named {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::core::str::FromStr for $named {
            type Err = $error;

            fn from_str(name: &str) -> Result<Self, $error> {
                Self::ALL.iter().copied().find(|named| named.name() == name).ok_or($unknown)
            }
        }
    };
}
