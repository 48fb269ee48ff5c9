//! Slices of bytes that share the holder of the bytes, such as a vector or a file map, and keep it alive.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// A holder of bytes. While a [`SharedBytes`] has the holder, the values, address and length of the bytes do not
/// change.
///
/// # Safety
/// As long as the holder is not moved, dropped or borrowed mutably, every call of `as_ref` must return the same bytes
/// at the same address. A file map keeps this promise only if nobody truncates or writes the file.
pub unsafe trait StableBytes: AsRef<[u8]> + Send + Sync + 'static {}

// SAFETY: the bytes are on the heap and change only through a `&mut` to the holder, which `SharedBytes` never gives
// out.
unsafe impl StableBytes for Vec<u8> {}
// SAFETY: as for `Vec<u8>`.
unsafe impl StableBytes for Box<[u8]> {}
// SAFETY: an `Arc<[u8]>` that is not moved refers to one slice, which changes only through a `&mut` to the slice's
// only `Arc`.
unsafe impl StableBytes for Arc<[u8]> {}
// SAFETY: static bytes never change.
unsafe impl StableBytes for &'static [u8] {}
// SAFETY: a `Bytes` that is not moved refers to one immutable slice.
#[cfg(feature = "bytes")]
unsafe impl StableBytes for bytes::Bytes {}

/// A slice of a holder's bytes that keeps the holder alive. Clones of the slice share the holder.
///
/// ```
/// use trommel::container::SharedBytes;
/// let whole = SharedBytes::new(vec![1, 2, 3, 4]);
/// let part = whole.slice(1..3);
/// drop(whole);
/// assert_eq!(part.as_ref(), [2, 3]);
/// ```
#[derive(Clone)]
pub struct SharedBytes {
    bytes: *const [u8],
    /// Keeps the bytes alive at their address.
    holder: Arc<dyn StableBytes>,
}

// SAFETY: the bytes are only read, and belong to a holder that is `Send` and `Sync`.
unsafe impl Send for SharedBytes {}
// SAFETY: as for `Send`.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// Takes over the holder, without copying its bytes.
    ///
    /// Moves the holder to the heap; bytes to which it points stay where they are. Ends the program if the system
    /// refuses the memory on the heap: less than 100 bytes if the holder is a vector, a box or an `Arc`.
    ///
    /// ```
    /// use trommel::container::SharedBytes;
    /// let bytes = SharedBytes::new(b"anvil".to_vec());
    /// assert_eq!(bytes.clone().as_ref(), b"anvil");
    /// ```
    pub fn new(holder: impl StableBytes) -> Self {
        let holder: Arc<dyn StableBytes> = Arc::new(holder);
        // The address is taken after the holder was moved for the last time.
        let bytes: *const [u8] = (*holder).as_ref();
        Self { bytes, holder }
    }

    /// A part of the bytes, without a copy.
    ///
    /// ```
    /// use trommel::container::SharedBytes;
    /// let bytes = SharedBytes::new(b"anvil forge".to_vec());
    /// assert_eq!(bytes.slice(6..11).as_ref(), b"forge");
    /// ```
    ///
    /// # Panics
    /// If the range is not within the bytes.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let bytes: *const [u8] = &self.as_ref()[range];
        Self { bytes, holder: Arc::clone(&self.holder) }
    }
}

impl AsRef<[u8]> for SharedBytes {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the holder lives as long as `self` and is not moved inside its `Arc`. So by the contract of
        // `StableBytes`, the holder's bytes are still at the address that was taken in `new`.
        unsafe { &*self.bytes }
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBytes").field("len", &self.as_ref().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_every_holder_are_its_bytes_and_outlive_it() {
        let expected: &'static [u8] = b"filters of one file share its bytes";
        let holders = [
            SharedBytes::new(expected),
            SharedBytes::new(expected.to_vec()),
            SharedBytes::new(Box::<[u8]>::from(expected)),
            SharedBytes::new(Arc::<[u8]>::from(expected)),
            #[cfg(feature = "bytes")]
            SharedBytes::new(bytes::Bytes::from(expected.to_vec())),
        ];
        for holder in holders {
            let part = holder.slice(10..30).slice(5..15);
            let clone = holder.clone();
            drop(holder);
            assert_eq!(clone.as_ref(), expected);
            drop(clone);
            assert_eq!(part.as_ref(), &expected[15..25]);
            assert!(part.slice(3..3).as_ref().is_empty());
        }
    }

    /// A holder that contains its bytes, so that the bytes move if the holder moves.
    struct Inline([u8; 64]);

    impl AsRef<[u8]> for Inline {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    // SAFETY: the bytes are inside the holder, so they stay in place as long as the holder is not moved.
    unsafe impl StableBytes for Inline {}

    #[test]
    fn the_address_is_that_of_the_holder_in_its_last_place() {
        let bytes = SharedBytes::new(Inline([7; 64]));
        let holder: *const u8 = (*bytes.holder).as_ref().as_ptr();
        assert_eq!(bytes.as_ref().as_ptr(), holder);
        assert_eq!(bytes.slice(3..9).as_ref(), [7; 6]);
    }

    #[test]
    fn a_slice_shares_the_holder() {
        let bytes = SharedBytes::new(Inline([7; 64]));
        let part = bytes.slice(3..9);
        assert!(Arc::ptr_eq(&part.holder, &bytes.holder));
        for range in [0..65, 64..65] {
            let part = std::panic::AssertUnwindSafe(|| bytes.slice(range).as_ref().len());
            assert!(std::panic::catch_unwind(part).is_err());
        }
    }
}
