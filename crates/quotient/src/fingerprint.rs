//! Hashes and fingerprints, in filters that were resized.
//!
//! Of a new filter's hash, quotient and remainder are a product's high and low half, and together they
//! *are* the fingerprint: `floor(hash · slots · 2^r / 2^64)`. Doubling the slots and taking a bit from
//! the remainder leaves that number as it was. Any other size has other quotients, and a filter that
//! forgot its keys must get along with their fingerprints: so it first rounds a hash down to the least
//! that has the same fingerprint, and goes on as if that were the hash.

use crate::geometry::Geometry;
use crate::layout::Layout;
use trommel_base::range::reduce;

/// The step that a hash goes through before it is split into quotient and remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Nothing: quotient and remainder are the fingerprint.
    None,
    /// Remainder 0 was reserved when the filter was made, and is not any more, since it has grown by
    /// doubling: the fingerprints that were avoided then are still to be avoided.
    Reserved,
    /// Fingerprint times `unit` is the hash to use.
    Rescaled {
        /// `floor(2^64 / fingerprints)`.
        unit: u64,
    },
}

/// Low bits of a fingerprint that are never all zero where a layout reserves remainder 0.
const RESERVED_BITS: u32 = 8;

impl Rounding {
    /// The rounding that a geometry needs.
    pub(crate) fn of<L: Layout>(geometry: &Geometry) -> Self {
        if geometry.places() != geometry.fingerprints {
            Self::Rescaled { unit: unit(geometry.fingerprints) }
        } else if L::RESERVES_ZERO && geometry.remainder_bits < RESERVED_BITS {
            Self::Reserved
        } else {
            Self::None
        }
    }

    /// The hash to split for a key's hash.
    #[inline]
    pub(crate) fn apply<L: Layout>(self, geometry: &Geometry, hash: u64) -> u64 {
        match self {
            Self::None => hash,
            Self::Reserved => {
                let fingerprint = reduce(hash, geometry.fingerprints);
                let allowed = avoid_reserved::<L>(fingerprint);
                if allowed == fingerprint { hash } else { least_hash(geometry, allowed) }
            }
            Self::Rescaled { unit } => {
                avoid_reserved::<L>(reduce(hash, geometry.fingerprints)) * unit
            }
        }
    }

    /// Quotient and remainder, as one number, of a fingerprint.
    #[inline(always)]
    pub(crate) fn place_of(self, geometry: &Geometry, fingerprint: u64) -> u64 {
        match self {
            Self::None | Self::Reserved => fingerprint,
            Self::Rescaled { unit } => reduce(fingerprint * unit, geometry.places()),
        }
    }

    /// The fingerprint of quotient and remainder: the inverse of [`Rounding::place_of`].
    #[inline(always)]
    pub(crate) fn fingerprint_of(self, geometry: &Geometry, place: u64) -> u64 {
        match self {
            Self::None | Self::Reserved => place,
            Self::Rescaled { unit } => {
                let places_per_2_64 = u128::from(unit) * u128::from(geometry.places());
                (u128::from(place) << 64).div_ceil(places_per_2_64) as u64
            }
        }
    }

    /// Whether some hash is stored as this.
    pub(crate) fn could_store<L: Layout>(
        self,
        geometry: &Geometry,
        quotient: u64,
        stored: u32,
    ) -> bool {
        let bits = geometry.remainder_bits;
        let remainder = L::loaded(bits, stored);
        let place = quotient << bits | u64::from(remainder);
        let fingerprint = self.fingerprint_of(geometry, place);
        L::stored(bits, remainder) == stored
            && fingerprint < geometry.fingerprints
            && avoid_reserved::<L>(fingerprint) == fingerprint
            && self.place_of(geometry, fingerprint) == place
    }
}

/// The largest step such that all fingerprints times it are hashes.
fn unit(fingerprints: u64) -> u64 {
    ((1u128 << 64) / u128::from(fingerprints)) as u64
}

/// The fewest remainder bits with which `slots` can tell `fingerprints` apart, as [`Rounding::place_of`] maps
/// them; `None` if 32 do not suffice.
///
/// `None` as well for as many slots as there are fingerprints, or more, which would mean nothing.
pub(crate) fn remainder_bits_for(slots: u64, fingerprints: u64) -> Option<u32> {
    (1..=32)
        .find(|bits| {
            let places = u128::from(slots) << bits;
            places == u128::from(fingerprints) || places * u128::from(unit(fingerprints)) >= 1 << 64
        })
        .filter(|_| slots < fingerprints)
}

#[inline(always)]
fn avoid_reserved<L: Layout>(fingerprint: u64) -> u64 {
    let reserved = L::RESERVES_ZERO && fingerprint.trailing_zeros() >= RESERVED_BITS;
    fingerprint + u64::from(reserved)
}

/// The least hash with a fingerprint.
fn least_hash(geometry: &Geometry, fingerprint: u64) -> u64 {
    (u128::from(fingerprint) << 64).div_ceil(u128::from(geometry.fingerprints)) as u64
}
