//! The hashes of a batch of keys.

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use trommel::KeyHash;

/// The hashes of a batch, and the positions of its nulls.
#[derive(Default)]
pub(crate) struct Hashes {
    pub(crate) hashes: Vec<KeyHash>,
    /// The positions of nulls, in ascending order. The hash of a null is arbitrary.
    pub(crate) nulls: Vec<usize>,
}

impl Hashes {
    pub(crate) fn clear(&mut self) {
        self.hashes.clear();
        self.nulls.clear();
    }

    pub(crate) fn push_null(&mut self) {
        self.nulls.push(self.hashes.len());
        self.hashes.push(KeyHash::default());
    }

    /// Reserves memory for `more` additional hashes.
    pub(crate) fn reserve(&mut self, more: usize) -> PyResult<()> {
        let refused =
            |_| PyMemoryError::new_err(format!("the system refused memory for {more} hashes"));
        self.hashes.try_reserve(more).map_err(refused)
    }

    /// Removes the hashes of nulls and returns the others.
    pub(crate) fn without_nulls(&mut self) -> &[KeyHash] {
        let mut nulls = std::mem::take(&mut self.nulls).into_iter().peekable();
        let mut index = 0;
        if nulls.peek().is_some() {
            self.hashes.retain(|_| {
                let is_null = nulls.next_if_eq(&index).is_some();
                index += 1;
                !is_null
            });
        }
        &self.hashes
    }
}

/// A function that takes the hashes of a batch, piece by piece. The length of every piece, except the last, is a
/// multiple of 64.
pub(crate) type Consumer<'a> = &'a mut dyn FnMut(&mut Hashes) -> PyResult<()>;
