//! Hashes and fingerprints, in filters that were resized or built with `fingerprint_bits`.
//!
//! In a new filter, quotient and remainder are the high and the low part of `floor(hash · slots · 2^r / 2^64)`, where
//! `r` is the number of bits of a remainder. This floor is the fingerprint, unless `fingerprint_bits` was given. (A
//! layout that reserves remainder 0 adds 1 to a fingerprint whose low eight bits are zero.) Doubling the slots moves a
//! bit from the remainder to the quotient, and does not change the fingerprint. If the number of slots is not the
//! original one times a power of two, the quotients change. The filter cannot compute the new quotients from hashes,
//! since it keeps only fingerprints. So a filter of such a size replaces each hash by a number that the hash's
//! fingerprint alone determines, and splits that number instead. A new filter that was built with `fingerprint_bits`
//! does the same, unless `2^fingerprint_bits` is `slots · 2^r`.

use crate::geometry::Geometry;
use crate::layout::Layout;
use trommel_base::range::reduce;

/// The change that is made to a hash before it is split into quotient and remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// No change: quotient and remainder are the fingerprint.
    None,
    /// The filter reserved remainder 0 when it was made, and its number of slots has doubled since, once or more. So
    /// its remainders are shorter, and none is reserved. The filter still avoids the fingerprints that it avoided
    /// before.
    Reserved,
    /// The hash becomes its fingerprint times `unit`.
    Rescaled {
        /// `floor(2^64 / fingerprints)`.
        unit: u64,
    },
}

/// If a layout reserves remainder 0, the lowest `RESERVED_BITS` bits of a fingerprint are never all zero.
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

    /// The number to split, in place of a key's hash, into quotient and remainder.
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

    /// Quotient and remainder of a fingerprint as one number, `quotient << remainder_bits | remainder`.
    #[inline(always)]
    pub(crate) fn place_of(self, geometry: &Geometry, fingerprint: u64) -> u64 {
        match self {
            Self::None | Self::Reserved => fingerprint,
            Self::Rescaled { unit } => reduce(fingerprint * unit, geometry.places()),
        }
    }

    /// The fingerprint of a quotient and a remainder, given as one number: the inverse of [`Rounding::place_of`].
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

    /// Whether there is a hash with this quotient and this stored remainder.
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

/// `floor(2^64 / fingerprints)`: the product of this factor with every fingerprint is below 2^64.
fn unit(fingerprints: u64) -> u64 {
    ((1u128 << 64) / u128::from(fingerprints)) as u64
}

/// The fewest remainder bits with which `slots` slots can tell `fingerprints` fingerprints apart, as
/// [`Rounding::place_of`] maps them. `None` if 32 bits do not suffice, or if there are at least as many slots as
/// fingerprints.
pub(crate) fn remainder_bits_for(slots: u64, fingerprints: u64) -> Option<u32> {
    (1..=32)
        .find(|bits| {
            let places = u128::from(slots) << bits;
            places == u128::from(fingerprints) || places * u128::from(unit(fingerprints)) >= 1 << 64
        })
        .filter(|_| slots < fingerprints)
}

/// The fingerprint that is stored for a given one: the next fingerprint if the layout reserves the given one, else the
/// given one.
#[inline(always)]
fn avoid_reserved<L: Layout>(fingerprint: u64) -> u64 {
    let reserved = L::RESERVES_ZERO && fingerprint.trailing_zeros() >= RESERVED_BITS;
    fingerprint + u64::from(reserved)
}

/// The least hash that has a given fingerprint.
fn least_hash(geometry: &Geometry, fingerprint: u64) -> u64 {
    (u128::from(fingerprint) << 64).div_ceil(u128::from(geometry.fingerprints)) as u64
}
