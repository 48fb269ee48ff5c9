//! What the harness measures, as types: a case, its name, and the row of figures that it gives.
//!
//! | module | content |
//! |---|---|
//! | [`words`] | operations, workloads, calls and other properties that have a small set of values |
//! | [`sizing`], [`filling`] | how the size of a filter is chosen |
//! | [`input`] | the keys and probes of a case |
//! | [`matrix`] | the parts of the matrix, each of which varies one property |
//! | [`case`] | a case and its name |
//! | [`columns`], [`old_form`] | a case in the files of a run, also in those of older harnesses |
//! | [`row`] | a case and its figures |
//! | [`shortfall`] | a filter that was full too early |

mod case;
mod columns;
mod filling;
mod input;
mod matrix;
mod old_form;
mod row;
mod shortfall;
mod sizing;
mod words;

pub(crate) use case::Case;
pub(crate) use filling::{Family, Filling, keys_at, short_slots};
pub(crate) use input::{Distribution, Input};
pub(crate) use matrix::{Level, Matrix};
#[cfg(test)]
pub(crate) use row::tests::example;
pub(crate) use row::{Facts, NOT_COUNTED, Row, Times};
pub(crate) use shortfall::Shortfall;
pub(crate) use sizing::Sizing;
pub(crate) use words::{Api, Calls, Clock, Form, Op, UnknownWord, Workload};
