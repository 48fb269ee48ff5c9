//! Macros that write methods: those that several kinds of filters have with the same signature and the same body, those
//! that call the same method of another value, and the setters of builders.

/// Writes methods of a filter, in an `impl` block or in the implementation of a trait. Each name stands for the method
/// of this name, which gets the documentation and the attributes above the name.
///
/// The methods read these fields, as far as they need them: `geometry`, `hasher`, `isa`, `len`, and the bytes of the
/// `table`. Methods of the frozen form call the filter's own `header` and `from_container`. The method `geometry` needs
/// the type `Geometry` in scope.
#[doc(hidden)]
#[macro_export]
macro_rules! filter_methods {
    ($($(#[$attribute:meta])* $method:ident;)*) => {
        $($crate::filter_method! { $method $(#[$attribute])* })*
    };
}

/// The rows of [`filter_methods`]: one method each.
#[doc(hidden)]
#[macro_export]
macro_rules! filter_method {
    (with_capacity_and_fpr $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        pub fn with_capacity_and_fpr(keys: usize, fpr: f64) -> Result<Self, $crate::SpecError> {
            Self::builder().keys(keys).fpr(fpr).build()
        }
    };
    (builder $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        pub fn builder() -> $crate::Builder<Self> {
            $crate::Builder::default()
        }
    };
    (backing $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[must_use]
        pub fn backing(&self) -> $crate::Backing {
            self.table.backing()
        }
    };
    (geometry $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[must_use]
        pub fn geometry(&self) -> Geometry {
            self.geometry
        }
    };
    (hash_count $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[must_use]
        pub fn hash_count(&self) -> u32 {
            self.geometry.hashes
        }
    };
    (isa $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[must_use]
        pub fn isa(&self) -> ::trommel_simd::Isa {
            self.isa
        }
    };
    (table $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[must_use]
        pub fn table(&self) -> &[u8] {
            self.table.as_ref()
        }
    };
    // Methods of the trait `Filter`.
    (hasher $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        fn hasher(&self) -> $crate::Hasher {
            self.hasher
        }
    };
    (len $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        fn len(&self) -> usize {
            usize::try_from(self.len).unwrap_or(usize::MAX)
        }
    };
    (memory_bytes $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        fn memory_bytes(&self) -> usize {
            self.table.as_ref().len()
        }
    };
    // The frozen form of filters whose payload is the table alone.
    (to_bytes $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[must_use]
        pub fn to_bytes(&self) -> ::alloc::vec::Vec<u8> {
            self.header().to_bytes(&[self.table.as_ref()])
        }
    };
    (encoded_len $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[must_use]
        pub fn encoded_len(&self) -> usize {
            $crate::container::HEADER_BYTES + self.table.as_ref().len()
        }
    };
    (write_to $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        #[cfg(feature = "std")]
        pub fn write_to(&self, to: impl ::std::io::Write) -> ::std::io::Result<()> {
            self.header().write_to(&[self.table.as_ref()], to)
        }
    };
    // Views, over bytes with the lifetime `'a` of the `impl` block.
    (parse $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        pub fn parse(bytes: &'a [u8]) -> Result<Self, $crate::FormatError> {
            Self::from_container($crate::container::parse(bytes)?)
        }
    };
    (parse_trusted $(#[$attribute:meta])*) => {
        $(#[$attribute])*
        pub fn parse_trusted(bytes: &'a [u8]) -> Result<Self, $crate::FormatError> {
            Self::from_container($crate::container::parse_trusted(bytes)?)
        }
    };
}

/// Implements `PartialEq`, `Eq`, `Clone` and `Debug` for a filter that has a layout `L`, over bytes `S`. `$isa` is the
/// instruction set of the filter.
#[doc(hidden)]
#[macro_export]
macro_rules! filter_traits {
    ($(#[$equality:meta])* $filter:ident, $this:ident => $isa:expr) => {
        $(#[$equality])*
        impl<L: Layout, S: AsRef<[u8]>, T: AsRef<[u8]>> PartialEq<$filter<L, T>> for $filter<L, S> {
            fn eq(&self, other: &$filter<L, T>) -> bool {
                (self.geometry, self.hasher, self.len) == (other.geometry, other.hasher, other.len)
                    && self.table() == other.table()
            }
        }

        impl<L: Layout, S: AsRef<[u8]>> Eq for $filter<L, S> {}

        impl<L: Layout, S: Clone> Clone for $filter<L, S> {
            fn clone(&self) -> Self {
                Self { table: self.table.clone(), ..*self }
            }
        }

        impl<L: Layout, S> ::core::fmt::Debug for $filter<L, S> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let $this = self;
                f.debug_struct(::core::stringify!($filter))
                    .field("kind", &L::KIND)
                    .field("geometry", &self.geometry)
                    .field("hasher", &self.hasher)
                    .field("len", &self.len)
                    .field("isa", &$isa)
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Writes methods that call the method of the same name of another value. The macro `$to` makes the call: it gets
/// `self`, a name, and the call of the method on that name.
#[doc(hidden)]
#[macro_export]
macro_rules! delegate {
    ($to:ident!: $($(#[$attribute:meta])* fn $method:ident(
        &$self:ident $(, $argument:ident: $type:ty)*
    ) $(-> $result:ty)?;)*) => {
        $($(#[$attribute])* fn $method(&$self $(, $argument: $type)*) $(-> $result)? {
            $to!($self, inner => inner.$method($($argument),*))
        })*
    };
}

/// Writes methods of [`Filter`](crate::Filter) for a value that has a filter inside: all but `contains_hash`, and the
/// methods for keys that call it. The macro `$to` makes the calls, as for [`delegate`].
#[doc(hidden)]
#[macro_export]
macro_rules! delegate_filter {
    ($to:ident!) => {
        $crate::delegate! { $to!:
            fn contains_batch(&self, hashes: &[$crate::KeyHash], found: &mut $crate::Bitmap);
            fn prefetch_hash(&self, hash: $crate::KeyHash);
            fn hasher(&self) -> $crate::Hasher;
            fn len(&self) -> usize;
            fn is_empty(&self) -> bool;
            fn memory_bytes(&self) -> usize;
            fn bits_per_key(&self) -> f64;
            fn is_ordered_by_hash(&self) -> bool;
            fn expected_fpr(&self) -> f64;
        }
    };
}

/// Writes setters of a builder: methods that take the builder, change one of its fields and return the builder.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$attribute:meta])* $setter:ident($argument:ident: $type:ty)
        sets $($field:ident).+ = $value:expr;)*) => {$(
        $(#[$attribute])*
        pub fn $setter(mut self, $argument: $type) -> Self {
            self.$($field).+ = $value;
            self
        }
    )*};
}
