//! Advises which filter to take for a number of keys: the one with the lowest cost per probe on this machine.
//!
//! A filter is asked before slow work, which takes the time `t_w`. The work is saved if the filter reports the probe as
//! absent. If a share `σ` of the probes are keys, and the false-positive rate is `f`, a probe costs
//!
//! ```text
//! ρ = t_l + (σ + (1 − σ)·f)·t_w         without a filter: ρ = t_w
//! ```
//!
//! where `t_l` is the time per lookup in a batch. So a filter pays if `t_l < (1 − σ)·(1 − f)·t_w`, and the best filter
//! is in general neither the fastest nor the one with the lowest false-positive rate. Source: Lang, Neumann, Kemper and
//! Boncz, "Performance-optimal filtering: Bloom overtakes cuckoo at high throughput", PVLDB 12 (2019).
//!
//! | module | content |
//! |---|---|
//! | [`arguments`] | the command line |
//! | [`question`] | the question, and the equation |
//! | [`offers`] | the filters of a grid that meet the question's constraints; the library sizes them |
//! | [`timings`] | lookup times, interpolated between the sizes that were measured |
//! | [`mod@bench`] | measures lookups in the offered filters |
//! | [`search`] | chooses which offers are measured: a few of each kind, then the best ones interleaved |
//! | [`recorded`] | takes lookup times from the results of an earlier run, instead of measuring |
//! | [`verdict`] | the answer, for people and programs |
//! | [`mod@check`] | compares the advice with the best of all offers, in many scenarios |

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
