//! The Bloom filters of Parquet files.
//!
//! Parquet's Bloom filter is Trommel's split-block filter, bit for bit. So filters of existing files are probed where
//! they lie, in batches, and filters can be added to files that have none.
//!
//! - [`FileFilters`] finds the filters of a file by its footer, without decoding a page, and says which row groups a
//!   predicate `column IN (...)` has to read.
//! - [`FilterSet`] asks the filters of many files at once.
//! - `Rewrite` (feature `rewrite`, on by default) adds, replaces, folds and removes filters. Column chunks are copied byte for byte.
#![cfg_attr(all(doctest, feature = "rewrite"), doc = include_str!("../README.md"))]
// What only the rewriting of files uses.
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

pub use error::{FileError, FilterError, ProbeError};
pub use file::FileFilters;
pub use filter::ChunkFilter;
pub use footer::RowGroup;
pub use literal::{Literal, Literals};
#[cfg(feature = "rewrite")]
pub use rewrite::{FilterChange, Rewrite, RewriteError, RewriteReport};
pub use schema::{Column, LogicalType, PhysicalType};
pub use set::FilterSet;
