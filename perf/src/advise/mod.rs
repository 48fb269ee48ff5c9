//! Advises which filter to take for a number of keys, by what a probe costs with it on this machine.
//!
//! A filter stands before something slow: a probe that it answers "no" saves the work `t_w`. With a share `σ`
//! of probes that are keys, and a false-positive rate `f`, a probe costs
//!
//! ```text
//! ρ = t_l + (σ + (1 − σ)·f)·t_w         without a filter: ρ = t_w
//! ```
//!
//! where `t_l` is a lookup in a batch. So a filter pays if `t_l < (1 − σ)·(1 − f)·t_w`, and the best one is neither
//! the fastest nor the most exact. Source: Lang, Neumann, Kemper and Boncz, "Performance-optimal filtering: Bloom
//! overtakes cuckoo at high throughput", PVLDB 12 (2019).
//!
//! | module | idea |
//! |---|---|
//! | [`arguments`] | the command line |
//! | [`question`] | what is asked, and the equation |
//! | [`offers`] | every filter that meets it, sized by the library |
//! | [`timings`] | what a lookup costs between the sizes that were measured |
//! | [`mod@bench`] | lookups of the offers, measured |
//! | [`search`] | a few of each kind, then the best ones against each other |
//! | [`recorded`] | the same from the results of a run |
//! | [`verdict`] | the answer, for people and programs |
//! | [`mod@check`] | how good the answers are: all offers measured, in many scenarios |

mod arguments;
mod bench;
mod check;
mod offers;
mod question;
mod recorded;
mod search;
mod timings;
mod verdict;

pub(crate) use arguments::AdviseArgs;
pub(crate) use check::check;
pub(crate) use question::{Need, Question};
pub(crate) use recorded::from_results;
pub(crate) use search::from_measurements;
