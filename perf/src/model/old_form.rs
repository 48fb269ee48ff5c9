//! Reads cases from files of older harnesses. In these files only the column `variant` describes the size of the
//! filter, the input, and the conditions.

use super::{Calls, Case, Clock, Distribution, Form, Input, Matrix, Sizing, UnknownWord};

/// Returns the case that a variant describes. Properties that no variant describes, such as the operation, have the
/// values of [`Case::of`].
///
/// # Errors
///
/// If the variant has a part that no harness wrote.
pub(super) fn of_filter(filter: String, variant: &str) -> Result<Case, UnknownWord> {
    let (input, rest) = match variant.rsplit_once('/') {
        Some((input, rest)) => (Some(input.to_owned()), rest),
        None => (None, variant),
    };
    let mut marks = rest.split('+');
    let size = marks.next().unwrap_or_default();
    let own_size = size.strip_prefix(&format!("as-{filter}-"));
    let takes_size = own_size.is_some();
    let size = own_size.unwrap_or(size);
    let is_shared = size.ends_with(SHARED);
    let (sizing, distribution) =
        sizing_and_distribution(size.strip_suffix(SHARED).unwrap_or(size))?;
    let input = input.map_or(Input::Generated(distribution), Input::Given);
    let mut case = Case { takes_size, input, is_shared, ..Case::of(filter, sizing) };
    marks.try_for_each(|mark| apply(&mut case, mark))?;
    Ok(case)
}

const SHARED: &str = "-shared";

/// Splits the size from the distribution of keys that may follow it.
fn sizing_and_distribution(size: &str) -> Result<(Sizing, Distribution), UnknownWord> {
    let whole = size.parse();
    if let Ok(sizing) = whole {
        return Ok((sizing, Distribution::Plain));
    }
    // A distribution can contain hyphens itself, as `0.25-a-line` does.
    size.match_indices('-')
        .find_map(|(at, _)| Some((size[..at].parse().ok()?, size[at + 1..].parse().ok()?)))
        .map_or_else(|| whole.map(|sizing| (sizing, Distribution::Plain)), Ok)
}

/// Applies a mark to the case. In a variant, the size is followed by the marks, each after a `+`.
fn apply(case: &mut Case, mark: &str) -> Result<(), UnknownWord> {
    match mark {
        "hash" => case.hashing = true,
        "wall" => case.clock = Clock::Wall,
        "huge-pages" | "own-pages" => case.matrix = Some(Matrix::Pages),
        "small-pages" => (case.matrix, case.form) = (Some(Matrix::Pages), Form::SmallPages),
        "small-filters" => (case.matrix, case.form) = (Some(Matrix::SmallFilters), Form::Tree),
        _ => {
            if let Some(keys) = mark.strip_prefix("by-") {
                let keys = keys.parse().map_err(|_| UnknownWord::new("number of keys", mark))?;
                case.matrix = Some(Matrix::BatchSizes);
                case.calls = Calls::batches_of(keys);
            } else if let Ok(isa) = mark.parse() {
                case.kernels = Some(isa);
            } else {
                case.matrix = Some(mark.parse()?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{Api, Op, Workload};

    /// Returns the case of an older row.
    pub(crate) fn old(filter: &str, variant: &str, rival: Option<&str>, api: Api) -> Case {
        let json = serde_json::json!({
            "filter": filter, "variant": variant, "op": Op::Contains, "api": api,
            "workload": Workload::Miss, "keys": 1_000_000, "threads": 1, "rival": rival,
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn variants_of_older_files_are_read() {
        for (filter, variant, rival, api) in [
            ("bloom", "12-bit", None, Api::Batch),
            ("bloom", "fpr-1%+hash", Some("fastbloom"), Api::Single),
            ("register-bloom", "as-register-bloom-fpr-1%", Some("sbbf-rs-safe"), Api::Single),
            ("bloom", "tpch-0.1/fpr-1%+hash", None, Api::Batch),
            ("quotient", "r8-95%-of-16Mi+avx2", None, Api::Batch),
            ("quotient", "r8-full-95%+wall", None, Api::Engine),
            ("bloom", "12-bit+by-1", None, Api::Single),
            ("bloom", "12-bit+by-64", None, Api::Batch),
            ("bloom", "20-bit+bits", None, Api::Batch),
            ("bloom", "12-bit+in-DRAM", None, Api::Batch),
            ("bloom", "12-bit+small-pages", None, Api::Batch),
            ("bloom", "12-bit+huge-pages", None, Api::Batch),
            ("bloom", "12-bit+own-pages", Some("fastbloom"), Api::Single),
            ("bloom", "12-bit+small-filters", None, Api::Batch),
            ("bloom", "1024-MiB-0.25-a-line+wall", None, Api::Engine),
            ("bloom", "fpr-1%-sorted+wall", None, Api::Batch),
            ("bloom", "fpr-1%-shared+wall", None, Api::Shared),
            (
                "split-block-bloom",
                "as-split-block-bloom-12-bit-shared+wall",
                Some("fastbloom"),
                Api::Shared,
            ),
        ] {
            let case = old(filter, variant, rival, api);
            assert_eq!(case.variant(), variant);
            let again = serde_json::from_value::<Case>(serde_json::to_value(&case).unwrap());
            assert_eq!(again.unwrap(), case, "{variant}");
        }
    }

    #[test]
    fn a_variant_that_no_harness_wrote_is_an_error() {
        let read = |variant: &str| {
            serde_json::from_value::<Case>(serde_json::json!({
                "filter": "bloom", "variant": variant, "op": "contains", "api": "batch",
                "workload": "miss", "keys": 1, "threads": 1, "rival": null,
            }))
        };
        for variant in ["", "twelve-bit", "12-bit+by-x", "12-bit+fast", "12-bit-odd"] {
            assert!(read(variant).is_err(), "{variant:?} was read");
        }
    }
}
