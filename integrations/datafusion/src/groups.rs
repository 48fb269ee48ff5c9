//! The aggregate with `GROUP BY`: one filter per group.

use crate::arguments::Agreed;
use crate::key_set::KeySet;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, BooleanArray};
use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;
use trommel::KeyHash;
use trommel_arrow::ColumnHasher;

/// The keys of all groups.
#[derive(Debug)]
pub(crate) struct FilterGroups {
    agreed: Agreed,
    hasher: ColumnHasher,
    sets: Vec<KeySet>,
    /// The sum of the sets' heap bytes. Every change of a set updates the sum. Computing the sum anew for every batch
    /// would take time proportional to the number of groups.
    heap_bytes: usize,
}

impl FilterGroups {
    pub(crate) fn new(agreed: Agreed) -> Result<Self> {
        let hasher = ColumnHasher::new(KeySet::hasher(&agreed)?);
        Ok(Self { agreed, hasher, sets: Vec::new(), heap_bytes: 0 })
    }

    fn resize(&mut self, groups: usize) -> Result<()> {
        while self.sets.len() < groups {
            self.sets.push(KeySet::new(self.agreed)?);
        }
        Ok(())
    }

    fn emit(
        &mut self,
        emit_to: EmitTo,
        bytes: impl Fn(KeySet) -> Result<Vec<u8>>,
    ) -> Result<ArrayRef> {
        let sets = emit_to.take_needed(&mut self.sets);
        self.heap_bytes -= sets.iter().map(KeySet::heap_bytes).sum::<usize>();
        let mut values = BinaryViewBuilder::with_capacity(sets.len());
        for set in sets {
            values.try_append_value(bytes(set)?)?;
        }
        Ok(Arc::new(values.finish()))
    }
}

/// Changes the set of a group, and updates `heap_bytes`, the sum over all sets.
fn change(
    sets: &mut [KeySet],
    heap_bytes: &mut usize,
    group: usize,
    change: impl FnOnce(&mut KeySet) -> Result<()>,
) -> Result<()> {
    let set = &mut sets[group];
    let before = set.heap_bytes();
    let result = change(set);
    *heap_bytes = *heap_bytes + set.heap_bytes() - before;
    result
}

/// The rows that have a key and pass the aggregate's `FILTER` clause, as row number and hash.
fn valid_rows<'a>(
    keys: &'a trommel_arrow::Keys<'_>,
    filter: Option<&'a BooleanArray>,
) -> impl Iterator<Item = (usize, KeyHash)> + 'a {
    keys.hashes().iter().copied().enumerate().filter(move |(row, _)| {
        keys.nulls().is_none_or(|nulls| nulls.is_valid(*row))
            && filter.is_none_or(|filter| filter.is_valid(*row) && filter.value(*row))
    })
}

impl GroupsAccumulator for FilterGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups)?;
        let Self { hasher, sets, heap_bytes, .. } = self;
        let keys = hasher.hash(&[&values[0]]).map_err(ArrowError::from)?;
        // Inserts consecutive rows of the same group as one batch. Such rows are frequent in sorted input.
        let mut batch = Vec::new();
        let mut rows =
            valid_rows(&keys, opt_filter).map(|(row, hash)| (group_indices[row], hash)).peekable();
        while let Some((group, hash)) = rows.next() {
            batch.push(hash);
            if rows.peek().is_none_or(|(next, _)| *next != group) {
                change(sets, heap_bytes, group, |set| set.insert(&batch))?;
                batch.clear();
            }
        }
        Ok(())
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups)?;
        for (state, group) in values[0].as_binary_view().iter().zip(group_indices) {
            if let Some(state) = state {
                change(&mut self.sets, &mut self.heap_bytes, *group, |set| set.merge(state))?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.emit(emit_to, KeySet::into_filter)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.emit(emit_to, |set| Ok(set.into_state()))?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut hasher = ColumnHasher::new(KeySet::hasher(&self.agreed)?);
        let keys = hasher.hash(&[&values[0]]).map_err(ArrowError::from)?;
        let mut row_keys = vec![None; keys.len()];
        for (row, hash) in valid_rows(&keys, opt_filter) {
            row_keys[row] = Some(hash);
        }
        let mut states = BinaryViewBuilder::with_capacity(keys.len());
        for key in row_keys {
            states.try_append_value(KeySet::state_of(&self.agreed, key)?)?;
        }
        Ok(vec![Arc::new(states.finish())])
    }

    fn size(&self) -> usize {
        self.sets.capacity() * size_of::<KeySet>() + self.heap_bytes
    }
}
