//! The arguments of `trommel_filter`, and the filter that they describe.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use std::sync::Arc;
use trommel::{FilterAccumulator, FilterKind, FilterSpec};

/// The size limit of a planned filter in frozen form, in bytes: 16 MiB. Impala and Doris have the same limit, and by
/// default a message between Ballista's executors cannot be larger than this.
pub const MAX_FILTER_BYTES: u64 = 16 << 20;

/// The false-positive rate if the argument is missing.
pub(crate) const DEFAULT_FPR: f64 = 0.01;
/// The kind if the argument is missing.
pub(crate) const DEFAULT_KIND: FilterKind = FilterKind::SplitBlockBloom;
/// The expected number of keys if the argument is missing. Spark assumes the same number.
pub(crate) const DEFAULT_KEYS: usize = 1_000_000;

/// The types to which the arguments after the key are coerced.
pub(crate) const ARGUMENT_TYPES: [DataType; 3] =
    [DataType::Float64, DataType::Utf8, DataType::Int64];
const ARGUMENT_NAMES: [&str; 3] = ["fpr", "kind", "keys"];

/// The planned filter. It depends only on the literals of a call, so all partial aggregates of the call agree on it.
/// The state of one partial aggregate is called a *part*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Agreed {
    spec: FilterSpec,
    /// The maximum number of hashes that a part keeps. A part with more keys inserts them into the planned filter.
    /// `max_hashes` hashes take no more bytes than the planned filter, and no more than `MAX_FILTER_BYTES`.
    max_hashes: usize,
    /// Whether the planned filter would be larger than `MAX_FILTER_BYTES`. If so, a part with more than `max_hashes`
    /// keys becomes `ALWAYS_TRUE` instead.
    is_too_large: bool,
}

impl Agreed {
    /// Reads the arguments of a call: first the key, which is ignored, then literals.
    pub(crate) fn from_arguments(arguments: &[Arc<dyn PhysicalExpr>]) -> Result<Self> {
        let mut literals = [const { None }; 3];
        for (i, argument) in arguments.iter().skip(1).enumerate().take(literals.len()) {
            let Some(literal) = argument.downcast_ref::<Literal>() else {
                return plan_err!(
                    "trommel_filter: {} must be a literal, not {argument}",
                    ARGUMENT_NAMES[i]
                );
            };
            literals[i] = Some(literal.value().cast_to(&ARGUMENT_TYPES[i])?);
        }
        Self::from_literals(&literals)
    }

    /// Uses the default for a literal that is missing or NULL.
    fn from_literals([fpr, kind, keys]: &[Option<ScalarValue>; 3]) -> Result<Self> {
        let fpr = match fpr {
            Some(ScalarValue::Float64(Some(fpr))) => *fpr,
            _ => DEFAULT_FPR,
        };
        let kind = match kind {
            Some(ScalarValue::Utf8(Some(name))) => match name.parse() {
                Ok(kind) => kind,
                Err(error) => return plan_err!("trommel_filter: kind '{name}': {error}"),
            },
            _ => DEFAULT_KIND,
        };
        let keys = match keys {
            Some(ScalarValue::Int64(Some(keys))) => match usize::try_from(*keys) {
                Ok(keys) if keys > 0 => keys,
                _ => return plan_err!("trommel_filter: keys must be 1 or more, not {keys}"),
            },
            _ => DEFAULT_KEYS,
        };
        let spec = FilterSpec::new(kind).keys(keys).fpr(fpr);
        let bytes = match spec.encoded_len() {
            Ok(bytes) => bytes,
            Err(error) => return plan_err!("trommel_filter: {error}"),
        };
        let max_hashes = bytes.min(MAX_FILTER_BYTES) as usize / size_of::<u64>();
        Ok(Self { spec, max_hashes, is_too_large: bytes > MAX_FILTER_BYTES })
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// The maximum number of hashes that a part keeps before it inserts them into the planned filter.
    pub(crate) fn max_hashes(&self) -> usize {
        self.max_hashes
    }

    /// Makes an empty accumulator for one part.
    pub(crate) fn accumulator(&self) -> Result<FilterAccumulator> {
        match FilterAccumulator::new(self.spec, self.max_hashes) {
            Ok(accumulator) => Ok(accumulator),
            Err(error) => plan_err!("trommel_filter: {error}"),
        }
    }
}
