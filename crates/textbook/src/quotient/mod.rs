//! The quotient filter of the paper: one table, three metadata bits per slot.
//!
//! The filter represents a key by a *fingerprint* of `p = q + r` bits. The upper `q` bits are the
//! *quotient*, which is the number of the fingerprint's *home* slot. The lower `r` bits are the
//! *remainder*, the only part that is stored. The table is circular and has `2^q` slots.
//!
//! - A *run* is the sorted remainders of one quotient, in consecutive slots.
//! - Runs stand in the order of their quotients. Each run begins at its home, or right after the preceding run
//!   if that run extends to the home or beyond. A *cluster* is a sequence of runs without a gap between them. In a
//!   cluster, only the first run begins at the run's home.
//! - Three bits per slot tell where runs begin and to which quotients they belong:
//!
//! | bit | describes | meaning if set |
//! |---|---|---|
//! | `is_occupied` | the slot | the slot is the home of a run, wherever that run stands |
//! | `is_continuation` | the remainder in the slot | it is not the first of its run |
//! | `is_shifted` | the remainder in the slot | it is not in its home slot |
//!
//! A slot with all three bits clear is empty. In a cluster, each slot without `is_continuation` begins a run, and the
//! `i`-th slot with `is_occupied` is the home of the `i`-th run. A lookup scans the cluster to find its run. The same
//! scan recovers the quotients, so that fingerprints can be listed, merged into another table, and moved to a larger or
//! smaller table without the keys.
//!
//! The table depends only on the fingerprints in it, not on the order in which they were inserted.
//!
//! | file | idea |
//! |---|---|
//! | `shape.rs` | `q` and `r`; fingerprint = quotient and remainder |
//! | `slot.rs` | a slot and its bits |
//! | `table.rs` | a circle of packed slots |
//! | `filter.rs` | the filter, its parameters and operations |
//! | `scan.rs` | from a quotient to its run: lookup, count |
//! | `insert.rs` | shift right |
//! | `remove.rs` | shift left |
//! | `enumerate.rs` | every fingerprint, in ascending order |
//! | `rebuild.rs` | merge, double, halve |
//!
//! Source: Bender et al., "Don't thrash: how to cache your hash on flash", PVLDB 5 (2012), section 3.
//! Pseudo-code in circulation has two errors: it moves whole slots including `is_occupied`, and it marks
//! remainders that start a run as continuations. In this module, a single function, `Table::put`, writes
//! remainders, and it leaves `is_occupied` unchanged.

mod enumerate;
mod filter;
mod insert;
mod rebuild;
mod remove;
mod scan;
mod shape;
mod slot;
mod table;

pub use enumerate::Fingerprints;
pub use filter::TextbookQuotientFilter;
pub use rebuild::RebuildError;
pub use shape::{MAX_QUOTIENT_BITS, MAX_REMAINDER_BITS, remainder_bits_for};
pub use slot::Slot;
