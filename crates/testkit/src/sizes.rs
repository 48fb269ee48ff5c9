//! Sizes for tests that also run on machines with addresses of 32 bits, and specs of a size.

use std::fmt::Debug;
use trommel_base::{Spec, SpecError};

/// `number`, or `usize::MAX` if that is less.
pub const fn clamped(number: u64) -> usize {
    if number > usize::MAX as u64 { usize::MAX } else { number as usize }
}

/// A spec for `keys` keys, with the further options that the function `options` sets.
pub fn spec(keys: u64, options: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = Spec::default();
    spec.keys = keys as usize;
    options(&mut spec);
    spec
}

/// The same spec, but for a table of at most this number of bytes.
pub fn spec_within(bytes: u64, mut spec: Spec) -> Spec {
    spec.memory_bytes = Some(bytes as usize);
    spec
}

/// Checks the error for a filter that cannot grow to its 1,000 keys. `growing` makes the geometry of a filter for these
/// keys that doubles at a load, and has at most `most_slots` slots. Returns the geometry for a load at which the keys
/// just fit.
pub fn checks_growth<G: Debug + PartialEq>(
    most_slots: u64,
    growing: impl Fn(f64) -> Result<G, SpecError>,
) -> Result<G, SpecError> {
    let load = 999.5 / most_slots as f64;
    let refused = SpecError::GrowAt { load, keys: 1_000, most_keys: 999 };
    assert_eq!(growing(load), Err(refused));
    growing(1_000.5 / most_slots as f64)
}
