//! An array of places.

use trommel_base::{SpecError, Storage};

/// The most places that one table may have.
pub const MAX_PLACES: u64 = 1 << 32;

const KEY_BYTES: u64 = u64::BITS as u64 / 8;

/// Places that each hold one key or are free.
///
/// Shape: keys of eight little-endian bytes, and for each place a bit that is set if the place is taken. So no 64-bit
/// value is reserved for free places.
#[derive(Clone, Debug)]
pub struct Places {
    keys: Storage,
    taken: Storage,
    len: u64,
    held: u64,
}

impl Places {
    /// Creates `len` free places.
    ///
    /// # Errors
    /// [`SpecError::Parameter`] with this `name` unless `len` is 1 to [`MAX_PLACES`];
    /// [`SpecError::OutOfMemory`] if the system refuses the table.
    pub(super) fn new(name: &'static str, len: u64) -> Result<Self, SpecError> {
        if !(1..=MAX_PLACES).contains(&len) {
            return Err(SpecError::Parameter { name, value: len, min: 1, max: MAX_PLACES });
        }
        let zeroed = |bytes: u64| -> Result<Storage, SpecError> {
            let len = usize::try_from(bytes).map_err(|_| SpecError::OutOfMemory { bytes })?;
            Ok(Storage::zeroed(len, false)?)
        };
        Ok(Self { keys: zeroed(len * KEY_BYTES)?, taken: zeroed(len.div_ceil(8))?, len, held: 0 })
    }

    /// The number of places.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The number of places that are taken.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.keys.len() + self.taken.len()
    }

    pub(super) fn get(&self, place: u64) -> Option<u64> {
        let (byte, bit) = ((place / 8) as usize, place % 8);
        if self.taken[byte] >> bit & 1 == 0 {
            return None;
        }
        let mut key = [0; KEY_BYTES as usize];
        key.copy_from_slice(&self.keys[bytes_of(place)]);
        Some(u64::from_le_bytes(key))
    }

    pub(super) fn is_free(&self, place: u64) -> bool {
        self.get(place).is_none()
    }

    /// Writes a key to a place, whether the place was free or taken.
    pub(super) fn put(&mut self, place: u64, key: u64) {
        self.held += u64::from(self.is_free(place));
        self.taken[(place / 8) as usize] |= 1 << (place % 8);
        self.keys[bytes_of(place)].copy_from_slice(&key.to_le_bytes());
    }

    /// Frees a place and returns the key that stood there.
    pub(super) fn take(&mut self, place: u64) -> Option<u64> {
        let key = self.get(place)?;
        self.held -= 1;
        self.taken[(place / 8) as usize] &= !(1 << (place % 8));
        Some(key)
    }

    /// Moves the key at each place of a path to the next place of the path, the last key first, and then puts `key`
    /// into the first place. Calls `moved(key, from, to)` for each move. Returns the number of keys moved.
    pub(super) fn displace_along(
        &mut self,
        path: &[u64],
        key: u64,
        mut moved: impl FnMut(u64, u64, u64),
    ) -> u64 {
        for step in path.windows(2).rev() {
            if let Some(displaced) = self.take(step[0]) {
                self.put(step[1], displaced);
                moved(displaced, step[0], step[1]);
            }
        }
        self.put(path[0], key);
        path.len() as u64 - 1
    }

    /// All keys, in the order of their places.
    pub(super) fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len).filter_map(|place| self.get(place))
    }
}

fn bytes_of(place: u64) -> core::ops::Range<usize> {
    let start = (place * KEY_BYTES) as usize;
    start..start + KEY_BYTES as usize
}
