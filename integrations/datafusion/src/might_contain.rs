//! The function `might_contain`.

use crate::filter::{ParsedFilters, QueryFilter};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, BooleanBufferBuilder,
};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{ExprSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

/// `might_contain(filter, key)`: false if the filter certainly lacks the key, otherwise true.
///
/// The filter is a Binary, LargeBinary or BinaryView of frozen bytes, made by `trommel_filter` or by any other program
/// that uses Trommel. Keys are hashed with the hash function and the seed that the frozen filter names. The query fails
/// if the bytes are neither a frozen filter nor [`ALWAYS_TRUE`](crate::ALWAYS_TRUE), or if the filter was made with a
/// secret key for its hash function.
///
/// The result is true if the filter or the key is NULL, so the result is never NULL.
///
/// The function keeps copies of the eight filters that were used last, so that these filters are not verified again for
/// the next batch. The function recognizes a filter by header and length. If the same header comes again with a damaged
/// table, the function does not notice the damage, and answers from its copy of the filter. If the argument `filter`
/// is a column, a run of rows in a batch that all have the same filter costs at most one verification.
#[derive(Debug)]
pub struct MightContain {
    signature: Signature,
    parsed: ParsedFilters,
}

/// The function [`MightContain`]. All callers in a process share one instance.
#[must_use]
pub fn might_contain_udf() -> Arc<ScalarUDF> {
    static UDF: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::from(MightContain::new())));
    Arc::clone(&UDF)
}

impl MightContain {
    /// Makes the function.
    #[must_use]
    pub fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            parsed: ParsedFilters::default(),
        }
    }
}

impl Default for MightContain {
    fn default() -> Self {
        Self::new()
    }
}

// All instances are equal, since the filters that an instance has parsed do not change its answers.
impl PartialEq for MightContain {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for MightContain {}

impl Hash for MightContain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl ScalarUDFImpl for MightContain {
    fn name(&self) -> &'static str {
        "might_contain"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [filter, key] = types else {
            return plan_err!(
                "might_contain takes a filter and a key, not {} arguments",
                types.len()
            );
        };
        if !matches!(
            filter,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::Null
        ) {
            return plan_err!("might_contain: a filter must be binary, not {filter}");
        }
        if !trommel_arrow::has_keys(key) {
            return plan_err!("might_contain: values of type {key} cannot be keys of a filter");
        }
        Ok(vec![DataType::BinaryView, key.clone()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn is_nullable(&self, _: &[Expr], _: &dyn ExprSchema) -> bool {
        false
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let [filter, key] = <[ColumnarValue; 2]>::try_from(args.args)
            .or_else(|args| plan_err!("might_contain takes 2 arguments, not {}", args.len()))?;
        match filter {
            ColumnarValue::Scalar(filter) => {
                let filter = filter.cast_to(&DataType::BinaryView)?;
                let ScalarValue::BinaryView(Some(filter)) = filter else {
                    return Ok(always_true());
                };
                match (&*self.parsed.parse(&filter)?, key) {
                    (QueryFilter::AlwaysTrue, _) => Ok(always_true()),
                    (filter, ColumnarValue::Scalar(key)) => {
                        let found = probe(filter, &key.to_array()?)?.value(0);
                        Ok(ColumnarValue::Scalar(found.into()))
                    }
                    (filter, ColumnarValue::Array(keys)) => Ok(array(probe(filter, &keys)?)),
                }
            }
            ColumnarValue::Array(filters) => {
                let filters = cast(&filters, &DataType::BinaryView)?;
                Ok(array(self.probe_each(filters.as_binary_view(), &key.into_array(rows)?)?))
            }
        }
    }
}

impl MightContain {
    /// Looks each key up in the filter of its row.
    fn probe_each(&self, filters: &BinaryViewArray, keys: &ArrayRef) -> Result<BooleanBuffer> {
        let mut found = BooleanBufferBuilder::new(filters.len());
        let mut start = 0;
        while start < filters.len() {
            let len = run_len(filters, start);
            match filters.is_valid(start) {
                true => {
                    let filter = self.parsed.parse(filters.value(start))?;
                    found.append_buffer(&probe(&filter, &keys.slice(start, len))?);
                }
                false => found.append_n(len, true),
            }
            start += len;
        }
        Ok(found.finish())
    }
}

/// The number of consecutive rows from `start` on that have the same filter.
fn run_len(filters: &BinaryViewArray, start: usize) -> usize {
    let is_same = |row: usize| {
        filters.is_valid(row) == filters.is_valid(start)
            && (filters.is_null(start)
                // A repeated value is usually the same view of the same buffer, and then its bytes are not compared.
                || filters.views()[row] == filters.views()[start]
                || filters.value(row) == filters.value(start))
    };
    1 + (start + 1..filters.len()).take_while(|row| is_same(*row)).count()
}

/// Looks keys up. The answer for a NULL key is true.
fn probe(filter: &QueryFilter, keys: &ArrayRef) -> Result<BooleanBuffer> {
    let (found, nulls) = filter.probe(keys)?.into_parts();
    Ok(match nulls {
        Some(nulls) => &found | &!nulls.inner(),
        None => found,
    })
}

fn always_true() -> ColumnarValue {
    ColumnarValue::Scalar(true.into())
}

fn array(found: BooleanBuffer) -> ColumnarValue {
    ColumnarValue::Array(Arc::new(BooleanArray::new(found, None)))
}
