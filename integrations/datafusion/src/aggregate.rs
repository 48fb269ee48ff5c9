//! The aggregate `trommel_filter`.

use crate::arguments::{ARGUMENT_TYPES, Agreed};
use crate::groups::FilterGroups;
use crate::key_set::KeySet;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};
use std::sync::{Arc, LazyLock};
use trommel_arrow::ColumnHasher;

/// `trommel_filter(key [, fpr [, kind [, keys]]])`: the frozen filter of the keys of a group, as BinaryView.
///
/// - `key`: a column of any type whose values can be keys of a filter ([`trommel_arrow`]). NULLs are left out.
/// - `fpr`: the false-positive rate, by default 0.01.
/// - `kind`: the name of a [`FilterKind`](trommel::FilterKind), by default `split-block-bloom`.
/// - `keys`: the expected number of distinct keys, by default 1,000,000. It determines the size of the *planned*
///   filter, and so the memory of a partition that has many keys.
///
/// All arguments but the key must be literals. For each group, a partition keeps a hash of 8 bytes for each row that
/// has a key, until these hashes would take more bytes than the planned filter. Then the partition inserts the hashes
/// into the planned filter. The merge of the partitions follows the same rule. So if the hashes of all partitions
/// together take no more bytes than the planned filter, the result is a filter that is sized for the actual number of
/// distinct keys (with `counting-bloom`, for the number of rows that have a key). Otherwise the result is the planned
/// filter, whose false-positive rate is higher than `fpr` if there are more keys than `keys`.
///
/// The result is [`ALWAYS_TRUE`](crate::ALWAYS_TRUE), a single byte, if the false-positive rate would exceed one half,
/// or if the keys do not fit into the filter. It is also `ALWAYS_TRUE` if both the planned filter and the hashes of the
/// group's rows would take more than [`MAX_FILTER_BYTES`](crate::MAX_FILTER_BYTES). The result is never NULL.
///
/// The type of the result is BinaryView, not Binary. So an engine that repeats the result in every row, for example in
/// a cross join, repeats a reference, not the bytes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct TrommelFilter {
    signature: Signature,
}

/// The aggregate [`TrommelFilter`]. All callers in a process share one instance.
#[must_use]
pub fn trommel_filter_udaf() -> Arc<AggregateUDF> {
    static UDAF: LazyLock<Arc<AggregateUDF>> =
        LazyLock::new(|| Arc::new(AggregateUDF::from(TrommelFilter::new())));
    Arc::clone(&UDAF)
}

impl TrommelFilter {
    /// Makes the function.
    #[must_use]
    pub fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl Default for TrommelFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl AggregateUDFImpl for TrommelFilter {
    fn name(&self) -> &'static str {
        "trommel_filter"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let Some((key, others)) = types.split_first() else {
            return plan_err!("trommel_filter needs a key");
        };
        if others.len() > ARGUMENT_TYPES.len() {
            return plan_err!(
                "trommel_filter takes key, fpr, kind and keys, not {} arguments",
                types.len()
            );
        }
        if !trommel_arrow::has_keys(key) {
            return plan_err!("trommel_filter: values of type {key} cannot be keys of a filter");
        }
        Ok([key].into_iter().chain(&ARGUMENT_TYPES[..others.len()]).cloned().collect())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::BinaryView)
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let agreed = Agreed::from_arguments(args.exprs)?;
        let hasher = ColumnHasher::new(KeySet::hasher(&agreed)?);
        Ok(Box::new(OneFilter { agreed, hasher, set: KeySet::new(agreed)? }))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(FilterGroups::new(Agreed::from_arguments(args.exprs)?)?))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The accumulator of the aggregate without `GROUP BY`.
#[derive(Debug)]
struct OneFilter {
    agreed: Agreed,
    hasher: ColumnHasher,
    set: KeySet,
}

impl OneFilter {
    /// Returns the set of keys, and leaves an empty set in its place.
    fn take(&mut self) -> Result<KeySet> {
        Ok(std::mem::replace(&mut self.set, KeySet::new(self.agreed)?))
    }
}

impl Accumulator for OneFilter {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let keys = self.hasher.hash(&[&values[0]]).map_err(ArrowError::from)?;
        keys.for_valid(|hashes| self.set.insert(hashes))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        states[0].as_binary_view().iter().flatten().try_for_each(|state| self.set.merge(state))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::BinaryView(Some(self.take()?.into_state()))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::BinaryView(Some(self.take()?.into_filter()?)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.set.heap_bytes()
    }
}
