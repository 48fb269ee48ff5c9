//! A view of a frozen filter. The view owns the bytes, alone or together with its clones.

use crate::any::{AnyFilter, filter_by_kind, method_by_kind, methods_by_kind};
use crate::kinds::types::*;
use trommel_base::container::{self, Parsed, Trust};
use trommel_base::storage::{SharedBytes, StableBytes};
use trommel_base::{Filter, FilterKind, FormatError, Hasher, KeyHash};

macro_rules! declare_owned_view {
    ([] $($(#[$doc:meta])* $kind:ident: $type:ident { $($column:ident: $can:ident),* })*) => {
        /// A [`FilterView`](crate::FilterView) without a lifetime: it owns its bytes, so caches and threads can keep
        /// it. Clones share the bytes and do not copy them.
        ///
        /// The bytes can be a `Vec<u8>`, a `Box<[u8]>`, an `Arc<[u8]>`, static bytes, a `Bytes` (with the feature
        /// `bytes`), or any other type that implements [`StableBytes`], for example a memory map of a file that nobody
        /// changes.
        ///
        /// ```
        /// use std::sync::Arc;
        /// use trommel::{Filter, SplitBlockBloom};
        /// use trommel::container::OwnedView;
        ///
        /// let mut filter = SplitBlockBloom::with_capacity_and_fpr(100, 0.01)?;
        /// filter.add("anvil");
        /// let block: Arc<[u8]> = filter.to_bytes().into();
        ///
        /// let view = OwnedView::parse(Arc::clone(&block)).unwrap();
        /// let reader = std::thread::spawn(move || view.contains("anvil"));
        /// assert!(reader.join().unwrap());
        /// # Ok::<(), trommel::SpecError>(())
        /// ```
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        // `repr(u8)` for the same reason as on `AnyFilter`.
        #[repr(u8)]
        pub enum OwnedView {
            $($(#[$doc])* $kind($type<SharedBytes>),)*
        }
    };
}
kinds!(declare_owned_view []);

impl OwnedView {
    /// Checks the bytes and views them, as [`FilterView::parse`](crate::FilterView::parse) does.
    ///
    /// Moves the value `bytes` to the heap, as [`SharedBytes::new`] does. Bytes to which it points, such as
    /// those of a vector, stay where they are.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, container::OwnedView};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// assert!(OwnedView::parse(filter.to_bytes())?.contains("anvil"));
    /// assert!(OwnedView::parse(b"anvil".to_vec()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter, or if its keys were hashed with a secret
    /// key; for a cuckoo filter, also if the system refuses the memory for a copy of its overflow area.
    pub fn parse(bytes: impl StableBytes) -> Result<Self, FormatError> {
        Self::from_container(container::parse_bytes(&SharedBytes::new(bytes), Trust::Verify)?)
    }

    /// Does the same as [`FilterView::parse_trusted`](crate::FilterView::parse_trusted): views bytes that were
    /// verified before.
    ///
    /// Moves the value `bytes` to the heap, as [`SharedBytes::new`] does. Bytes to which it points, such as
    /// those of a vector, stay where they are.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, container::OwnedView};
    /// let mut filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
    /// filter.add("anvil");
    /// assert!(OwnedView::parse_trusted(filter.to_bytes())?.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if one of the checks of [`FilterView::parse_trusted`](crate::FilterView::parse_trusted)
    /// fails, or if the keys were hashed with a secret key; for a cuckoo filter, also if the system refuses the
    /// memory for a copy of its overflow area.
    pub fn parse_trusted(bytes: impl StableBytes) -> Result<Self, FormatError> {
        Self::from_container(container::parse_bytes(&SharedBytes::new(bytes), Trust::Trusted)?)
    }

    /// Does the same as [`OwnedView::parse`], for a filter whose keys were hashed by `hasher`. See
    /// [`FilterView::parse_with_hasher`](crate::FilterView::parse_with_hasher).
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, Hasher, container::OwnedView};
    /// let hasher = Hasher::siphash13([7; 16]);
    /// let mut filter = BloomFilter::builder().keys(100).hasher(hasher).build()?;
    /// filter.add("anvil");
    /// assert!(OwnedView::parse(filter.to_bytes()).is_err());
    /// assert!(OwnedView::parse_with_hasher(filter.to_bytes(), &hasher)?.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if the bytes are not exactly one frozen filter, or the filter has another hasher; for a
    /// cuckoo filter, also if the system refuses the memory for a copy of its overflow area.
    pub fn parse_with_hasher(
        bytes: impl StableBytes,
        hasher: &Hasher,
    ) -> Result<Self, FormatError> {
        Self::of_keyed(&SharedBytes::new(bytes), Trust::Verify, hasher)
    }

    /// Does the same as [`OwnedView::parse_trusted`], for a filter whose keys were hashed by `hasher`.
    ///
    /// ```
    /// use trommel::{BloomFilter, Filter, Hasher, container::OwnedView};
    /// let hasher = Hasher::siphash13([7; 16]);
    /// let mut filter = BloomFilter::builder().keys(100).hasher(hasher).build()?;
    /// filter.add("anvil");
    /// let view = OwnedView::parse_trusted_with_hasher(filter.to_bytes(), &hasher)?;
    /// assert!(view.contains("anvil"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError`] if one of the checks of [`FilterView::parse_trusted`](crate::FilterView::parse_trusted)
    /// fails, or the filter has another hasher; for a cuckoo filter, also if the system refuses the memory for
    /// a copy of its overflow area.
    pub fn parse_trusted_with_hasher(
        bytes: impl StableBytes,
        hasher: &Hasher,
    ) -> Result<Self, FormatError> {
        Self::of_keyed(&SharedBytes::new(bytes), Trust::Trusted, hasher)
    }

    fn from_container(parsed: Parsed<SharedBytes>) -> Result<Self, FormatError> {
        kinds!(view_arms [Self, parsed])
    }

    fn of_keyed(bytes: &SharedBytes, trust: Trust, hasher: &Hasher) -> Result<Self, FormatError> {
        Self::from_container(container::parse_with_hasher(bytes, trust, hasher)?)
    }

    methods_by_kind! {
        /// The kind of the filter.
        ///
        /// ```
        /// use trommel::{BloomFilter, FilterKind, container::OwnedView};
        /// let filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// assert_eq!(OwnedView::parse(filter.to_bytes())?.kind(), FilterKind::Bloom);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        kind;

        /// The instruction set in use.
        ///
        /// ```
        /// use trommel::{BloomFilter, Isa, container::OwnedView};
        /// let filter = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?;
        /// assert_eq!(OwnedView::parse(filter.to_bytes())?.isa(), Isa::active_or_best());
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        isa;

        /// Returns an owned copy, into which keys can be inserted.
        ///
        /// ```
        /// use trommel::{BloomFilter, Filter, Insert, container::OwnedView};
        /// let bytes = BloomFilter::with_capacity_and_fpr(1_000, 0.01)?.to_bytes();
        /// let mut filter = OwnedView::parse(bytes)?.to_owned_filter()?;
        /// filter.insert("anvil")?;
        /// assert!(filter.contains("anvil"));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        /// [`FormatError`] if the bytes of a trusted view are damaged, or memory is refused.
        to_owned_filter;
    }
}

filter_by_kind!(OwnedView);
