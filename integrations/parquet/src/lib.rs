//! The Bloom filters of Parquet files.
//!
//! Parquet's Bloom filter is Trommel's split-block filter, bit for bit. This crate probes the filters of existing files
//! in place and in batches, and adds filters to files that have none.
//!
//! - [`FileFilters`] finds the filters of a file by its footer, without decoding a page, and returns the row groups
//!   that must be read for a predicate `column IN (...)`.
//! - [`FilterSet`] probes the filters of many files at once.
//! - `Rewrite` (feature `rewrite`, on by default) adds, replaces, folds and removes filters. It copies column chunks
//!   byte for byte.
#![cfg_attr(all(doctest, feature = "rewrite"), doc = include_str!("../README.md"))]
// Some code is used only by `Rewrite`.
#![cfg_attr(not(feature = "rewrite"), allow(dead_code))]

mod error;
mod file;
mod filter;
mod footer;
mod literal;
#[cfg(feature = "rewrite")]
mod rewrite;
mod schema;
mod set;
mod text;
mod thrift;
mod types;

pub use error::{FileError, FilterError, ProbeError};
pub use file::FileFilters;
pub use filter::ChunkFilter;
pub use footer::RowGroup;
pub use literal::{Literal, Literals};
#[cfg(feature = "rewrite")]
pub use rewrite::{FilterChange, Rewrite, RewriteError, RewriteReport};
pub use schema::Column;
pub use set::FilterSet;
pub use types::{LogicalType, PhysicalType};
