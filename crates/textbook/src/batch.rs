//! The batch calls of both filters: one call for each key.

use trommel_base::{Bitmap, Filter, Full, Insert, KeyHash};

/// Looks up one hash after the other.
pub(crate) fn contains_each(filter: &impl Filter, hashes: &[KeyHash], found: &mut Bitmap) {
    found.reset(hashes.len());
    for (i, hash) in hashes.iter().enumerate() {
        if filter.contains_hash(*hash) {
            found.set(i);
        }
    }
}

/// Inserts one hash after the other, up to the first that fails. The error has the number of hashes before it.
pub(crate) fn insert_each(filter: &mut impl Insert, hashes: &[KeyHash]) -> Result<(), Full> {
    for (inserted, hash) in hashes.iter().enumerate() {
        filter
            .insert_hash(*hash)
            .map_err(|full| Full::new(inserted, full.len, full.capacity).because(full.why))?;
    }
    Ok(())
}
