//! What the harness measures, as types: a case, its name, and the row of figures that it gives.
//!
//! | module | content |
//! |---|---|
//! | [`words`] | operations, workloads, calls and other properties that have a small set of values |
//! | [`sizing`], [`filling`] | how the size of a filter is chosen |
//! | [`input`] | the keys and probes of a case |
//! | [`matrix`] | the parts of the matrix, each of which varies one property |
//! | [`case`] | a case and its name |
//! | [`columns`], [`old_form`] | a case in the files of a run, and in those of older harnesses |
//! | [`rival`] | the names of competing crates |
//! | [`row`], [`events`] | a case and its figures; the events that are counted |
//! | [`shortfall`] | a filter that was full too early |
//! | [`choice`] | how well the engine chooses between its two strategies |

mod case;
mod choice;
mod columns;
mod events;
mod filling;
mod input;
mod matrix;
mod old_form;
mod rival;
mod row;
mod shortfall;
mod sizing;
mod words;

pub(crate) use case::Case;
#[cfg(test)]
pub(crate) use choice::tests::example as example_choice;
pub(crate) use choice::{Choice, name_of_strategy, summary as summary_of_choices};
pub(crate) use events::{Counts, Event};
pub(crate) use filling::{Family, Filling, keys_at, short_slots};
pub(crate) use input::{Distribution, Input};
pub(crate) use matrix::{Level, Matrix};
pub(crate) use rival::{ParallelRival, Rival};
#[cfg(test)]
pub(crate) use row::tests::example;
pub(crate) use row::{Facts, NOT_COUNTED, Row, Times};
pub(crate) use shortfall::Shortfall;
pub(crate) use sizing::Sizing;
pub(crate) use words::{Api, Calls, Clock, Form, KEYS_OF_BATCH, Op, UnknownWord, Workload};
