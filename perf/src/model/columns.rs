//! A case as columns of `results.csv` and fields of `results.json`.

use super::{
    Api, Calls, Case, Clock, Distribution, Form, Input, Matrix, Op, Sizing, UnknownWord, Workload,
    old_form,
};
use serde::{Deserialize, Serialize};

/// The columns that identify a case. `variant` is written for people. It is read only in files of older harnesses,
/// which had no separate columns for the properties that it names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CaseColumns {
    pub(super) filter: String,
    pub(super) variant: String,
    pub(super) op: Op,
    pub(super) api: Api,
    pub(super) workload: Option<Workload>,
    pub(super) keys: u64,
    pub(super) threads: u32,
    pub(super) rival: Option<String>,
    /// `None` in files of older harnesses.
    #[serde(default)]
    sizing: Option<Sizing>,
    #[serde(default)]
    takes_size: bool,
    #[serde(default)]
    kernels: Option<String>,
    #[serde(default)]
    form: Form,
    #[serde(default)]
    keys_per_call: Option<usize>,
    /// The name of the input, if keys are not generated.
    #[serde(default)]
    input: Option<String>,
    /// The distribution of generated keys.
    #[serde(default)]
    distribution: Option<Distribution>,
    #[serde(default)]
    hashing: bool,
    #[serde(default)]
    clock: Option<Clock>,
    #[serde(default)]
    is_shared: bool,
    #[serde(default)]
    matrix: Option<Matrix>,
}

impl From<Case> for CaseColumns {
    fn from(case: Case) -> Self {
        let variant = case.variant();
        let (input, distribution) = match case.input {
            Input::Given(name) => (Some(name), None),
            Input::Generated(distribution) => (None, Some(distribution)),
        };
        Self {
            filter: case.filter,
            variant,
            op: case.op,
            api: case.calls.api,
            workload: case.workload,
            keys: case.keys,
            threads: case.threads,
            rival: case.rival,
            sizing: Some(case.sizing),
            takes_size: case.takes_size,
            kernels: case.kernels.map(|isa| isa.to_string()),
            form: case.form,
            keys_per_call: case.calls.keys_per_call,
            input,
            distribution,
            hashing: case.hashing,
            clock: Some(case.clock),
            is_shared: case.is_shared,
            matrix: case.matrix,
        }
    }
}

impl TryFrom<CaseColumns> for Case {
    type Error = UnknownWord;

    fn try_from(columns: CaseColumns) -> Result<Self, UnknownWord> {
        let Some(sizing) = columns.sizing else { return from_old_form(columns) };
        let kernels = columns
            .kernels
            .as_deref()
            .map(|name| name.parse().map_err(|_| UnknownWord::new("instruction set", name)));
        let generated = Input::Generated(columns.distribution.unwrap_or(Distribution::Plain));
        Ok(Self {
            filter: columns.filter,
            rival: columns.rival,
            sizing,
            takes_size: columns.takes_size,
            kernels: kernels.transpose()?,
            form: columns.form,
            op: columns.op,
            workload: columns.workload,
            calls: Calls { api: columns.api, keys_per_call: columns.keys_per_call },
            keys: columns.keys,
            input: columns.input.map_or(generated, Input::Given),
            threads: columns.threads,
            hashing: columns.hashing,
            clock: columns.clock.unwrap_or(Clock::Processor),
            is_shared: columns.is_shared,
            matrix: columns.matrix,
        })
    }
}

/// Returns the case of a row that has no column for the size.
///
/// # Errors
///
/// If the variant has a part that no harness wrote.
fn from_old_form(columns: CaseColumns) -> Result<Case, UnknownWord> {
    let calls = Calls::by(columns.api);
    let filter = old_form::of_filter(columns.filter, &columns.variant)?;
    Ok(Case {
        rival: columns.rival,
        op: columns.op,
        workload: columns.workload,
        // In older files, a variant can state a number of keys per call (`+by-1`) although the calls are single. The
        // column `api` is right in this case.
        calls: if calls == Calls::BATCH { filter.calls } else { calls },
        keys: columns.keys,
        threads: columns.threads,
        ..filter
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Family, Filling, Level};
    use trommel::Isa;

    #[test]
    fn a_case_is_read_back_from_its_columns() {
        let filling = Filling { family: Family::Quotient, slots: 1 << 20, bits: 8, load: 95 };
        let plain = Case::of("quotient".into(), Sizing::Slots(filling));
        for case in [
            plain.clone(),
            Case { kernels: Some(Isa::Avx2), ..plain.clone() },
            Case { input: Input::Given("file".into()), hashing: true, ..plain.clone() },
            Case { input: Input::Generated(Distribution::PerLine(0.25)), ..plain.clone() },
            Case {
                calls: Calls::batches_of(64),
                matrix: Some(Matrix::BatchSizes),
                ..plain.clone()
            },
            Case { matrix: Some(Matrix::Regime(Level::L2)), form: Form::Tree, ..plain.clone() },
            Case {
                rival: Some("qfilter".into()),
                takes_size: true,
                clock: Clock::Wall,
                is_shared: true,
                calls: Calls::by(Api::Sharded),
                threads: 2,
                ..plain
            },
        ] {
            let json = serde_json::to_value(&case).unwrap();
            assert_eq!(json["variant"], case.variant());
            assert_eq!(serde_json::from_value::<Case>(json).unwrap(), case);
        }
    }

    #[test]
    fn an_unknown_word_is_an_error_that_names_it() {
        let case = Case::of("bloom".into(), Sizing::BitsPerKey(12));
        let mut json = serde_json::to_value(&case).unwrap();
        json["sizing"] = "12-bits".into();
        let error = serde_json::from_value::<Case>(json).unwrap_err().to_string();
        assert!(error.contains("unknown size: 12-bits"), "{error}");
    }
}
