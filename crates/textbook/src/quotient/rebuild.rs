//! Merge, double and halve: each builds a new table from the fingerprints of old ones, without the keys.

use super::filter::TextbookQuotientFilter;
use super::shape::Shape;
use core::fmt;
use core::iter::from_fn;
use trommel_base::{Full, Incompatible, SpecError};

/// A filter could not be merged, doubled or halved. It is unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RebuildError {
    /// The filters differ in fingerprint width, hash function or seed, or one is a set and the other a multiset.
    Incompatible(Incompatible),
    /// The new table's widths are not allowed, or there is no memory for the table.
    Spec(SpecError),
    /// The new table has too few slots; [`Full::capacity`] is the number of slots that it would have.
    Full(Full),
}

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incompatible(error) => error.fmt(f),
            Self::Spec(error) => error.fmt(f),
            Self::Full(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RebuildError {}

impl From<Incompatible> for RebuildError {
    fn from(error: Incompatible) -> Self {
        Self::Incompatible(error)
    }
}

impl From<SpecError> for RebuildError {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl TextbookQuotientFilter {
    /// Adds the fingerprints of another filter: the result is the union of two sets or the sum of two multisets. The
    /// sorted fingerprints of both filters are merged into a new table. The two filters can have quotients of different
    /// widths if their fingerprints have the same width; this filter keeps the width of its quotients.
    ///
    /// Cost: a pass over both tables, and an insert for each fingerprint.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3.
    ///
    /// # Errors
    /// [`RebuildError::Incompatible`] if the filters differ in fingerprint width, hash function or seed, or
    /// one is a set and the other a multiset; [`RebuildError::Full`] if there are too few slots;
    /// [`RebuildError::Spec`] if there is no memory for the new table.
    pub fn merge(&mut self, other: &Self) -> Result<(), RebuildError> {
        let bits = |filter: &Self| u64::from(filter.fingerprint_bits());
        Incompatible::check("fingerprint bits", bits(self), bits(other))?;
        let (hasher, others) = (self.hasher, other.hasher);
        Incompatible::check("hash function", hasher.id() as u64, others.id() as u64)?;
        Incompatible::check("hash seed", hasher.seed(), others.seed())?;
        Incompatible::check("copies", self.is_multiset.into(), other.is_multiset.into())?;
        let both = merged(self.fingerprints(), other.fingerprints());
        *self = self.rebuilt(self.shape, both)?;
        Ok(())
    }

    /// Doubles the number of slots: the highest bit of every remainder becomes the lowest of its
    /// quotient.
    ///
    /// Cost: a pass over the table, and an insert for each fingerprint. Fingerprints do not change, and so
    /// neither does the false-positive rate.
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3.
    ///
    /// # Errors
    /// [`RebuildError::Spec`] if a remainder has only one bit, the new table would be too large, or there
    /// is no memory for the new table.
    pub fn double(&mut self) -> Result<(), RebuildError> {
        let shape = Shape::new(self.quotient_bits() + 1, self.remainder_bits() - 1)?;
        *self = self.rebuilt(shape, self.fingerprints())?;
        Ok(())
    }

    /// Halves the number of slots: the lowest bit of every quotient becomes the highest of its
    /// remainder.
    ///
    /// Cost: the same as for [`double`](Self::double).
    ///
    /// Source: Bender et al., PVLDB 5 (2012), section 3.
    ///
    /// # Errors
    /// [`RebuildError::Full`] if more than half of the slots are in use; [`RebuildError::Spec`] if there
    /// are only two slots, the remainder would be too long, or there is no memory for the new table.
    pub fn halve(&mut self) -> Result<(), RebuildError> {
        let shape = Shape::new(self.quotient_bits() - 1, self.remainder_bits() + 1)?;
        *self = self.rebuilt(shape, self.fingerprints())?;
        Ok(())
    }

    /// A filter of the given shape with `fingerprints`; its other parameters are those of this filter.
    fn rebuilt(
        &self,
        shape: Shape,
        fingerprints: impl Iterator<Item = u64>,
    ) -> Result<Self, RebuildError> {
        let mut rebuilt = Self::with_shape(shape, self.is_multiset)?.with_hasher(self.hasher);
        for fingerprint in fingerprints {
            rebuilt
                .insert_fingerprint(fingerprint)
                .map_err(|full| RebuildError::Full(Full::new(0, self.len, full.capacity)))?;
        }
        Ok(rebuilt)
    }
}

/// Merges two ascending sequences into one.
fn merged(
    left: impl Iterator<Item = u64>,
    right: impl Iterator<Item = u64>,
) -> impl Iterator<Item = u64> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    from_fn(move || match (left.peek(), right.peek()) {
        (Some(from_left), Some(from_right)) if from_left <= from_right => left.next(),
        (Some(_), None) => left.next(),
        _ => right.next(),
    })
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn two_ascending_sequences_merge_into_one() {
        let merge = |left: &'static [u64], right: &'static [u64]| {
            merged(left.iter().copied(), right.iter().copied())
        };
        assert!(merge(&[1, 4, 4, 9], &[0, 4, 5]).eq([0, 1, 4, 4, 4, 5, 9]));
        assert!(merge(&[], &[2, 3]).eq([2, 3]));
        assert!(merge(&[2, 3], &[]).eq([2, 3]));
        assert!(merge(&[], &[]).eq([]));
    }
}
