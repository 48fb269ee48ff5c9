//! Filters that were full before they reached a load of the sweep over loads. The sweep fills each filter from one load
//! to the next, and measures the filter at each load.

use super::{Case, UnknownWord, old_form};
use serde::{Deserialize, Serialize};

/// A filter that was full before it reached a load of the sweep, so that it has no rows at this load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
pub(crate) struct Shortfall {
    /// A case of the filter at the load that it did not reach. Any case of the filter at this load can stand here.
    #[serde(flatten)]
    pub(crate) case: Case,
    /// The share of slots in use when the filter was full.
    pub(crate) load_reached: f64,
}

impl Shortfall {
    /// Whether the case belongs to the filter that was full, at the load that it did not reach. The load is part of the
    /// sizing.
    pub(crate) fn is_of(&self, case: &Case) -> bool {
        let filter = |case: &Case| (case.sizing, case.kernels);
        self.case.subject() == case.subject() && filter(&self.case) == filter(case)
    }
}

/// A shortfall in the files of a run.
#[derive(Deserialize)]
#[serde(untagged)]
enum Fields {
    Current {
        #[serde(flatten)]
        case: Box<Case>,
        load_reached: f64,
    },
    /// In files of older harnesses.
    Old { subject: String, is_rival: bool, variant: String, load_reached: f64 },
}

impl TryFrom<Fields> for Shortfall {
    type Error = UnknownWord;

    fn try_from(fields: Fields) -> Result<Self, UnknownWord> {
        Ok(match fields {
            Fields::Current { case, load_reached } => Self { case: *case, load_reached },
            Fields::Old { subject, is_rival, variant, load_reached } => {
                let mut case = old_form::of_filter(subject.clone(), &variant)?;
                case.rival = is_rival.then_some(subject);
                Self { case, load_reached }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Family, Filling, Sizing};

    #[test]
    fn shortfalls_of_older_files_are_read() {
        let filling = Filling { family: Family::Cuckoo, slots: 1 << 20, bits: 8, load: 90 };
        let rival = Some("atomic-cuckoo-filter".to_owned());
        let case = Case { rival, ..Case::of("cuckoo".into(), Sizing::Slots(filling)) };
        let current = Shortfall { case: case.clone(), load_reached: 0.89 };
        let json = serde_json::to_string(&current).unwrap();
        assert_eq!(serde_json::from_str::<Shortfall>(&json).unwrap(), current);
        let old = r#"{"subject": "atomic-cuckoo-filter", "is_rival": true, "variant": "f8-90%-of-1Mi",
            "load_reached": 0.89}"#;
        let old: Shortfall = serde_json::from_str(old).unwrap();
        assert!(old.is_of(&case) && old.case.is_of_rival());
        let fuller = Case { sizing: Sizing::Slots(Filling { load: 95, ..filling }), ..case };
        assert!(!old.is_of(&fuller));
    }
}
