//! Everything that is needed to measure a case: what is measured and on which keys, how it is timed, and the machine.

pub(crate) mod built;
pub(crate) mod counters;
pub(crate) mod effort;
pub(crate) mod environment;
pub(crate) mod factory;
pub(crate) mod interleave;
pub(crate) mod keyfile;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod noise;
pub(crate) mod ours;
pub(crate) mod pages;
pub(crate) mod plan;
pub(crate) mod repetition;
pub(crate) mod rivals;
pub(crate) mod roofline;
pub(crate) mod slots;
pub(crate) mod subject;
pub(crate) mod tpch;
pub(crate) mod tree;
