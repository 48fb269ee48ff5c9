//! The quotient filter of the paper: one table, three metadata bits per slot.
//!
//! A key is a *fingerprint* of `p = q + r` bits. Its upper `q` bits are the *quotient*, the number of
//! the slot where it would like to be, its *home*; its lower `r` bits are the *remainder*, which is all
//! that is stored. The table is circular and has `2^q` slots.
//!
//! - A *run* is the remainders of one quotient: in neighbouring slots, sorted.
//! - Runs stand in the order of their quotients, each as close behind its home as the runs before it
//!   allow. A *cluster* is runs one behind another without a gap, of which the first is at home.
//! - What is left to say is where runs begin and whose they are:
//!
//! | bit | of | says |
//! |---|---|---|
//! | `is_occupied` | the place | some run has this slot as its home, wherever it stands |
//! | `is_continuation` | the remainder here | it is not the first of its run |
//! | `is_shifted` | the remainder here | it is not at home |
//!
//! A slot with all three clear is empty. In a cluster, the first set `is_occupied` belongs to the
//! first slot without `is_continuation`, the second to the second, and so on: that is how a run is
//! found, and how a quotient is got back, so that fingerprints can be listed, merged into another
//! table and moved to a larger or a smaller one without the keys.
//!
//! The table depends on what is in it alone, not on the order in which it came.
//!
//! | file | idea |
//! |---|---|
//! | `shape.rs` | `q` and `r`; fingerprint = quotient and remainder |
//! | `slot.rs` | a slot and its bits |
//! | `table.rs` | a circle of packed slots |
//! | `filter.rs` | the filter, its parameters, and what it can do |
//! | `scan.rs` | from a quotient to its run: lookup, count |
//! | `insert.rs` | shift right |
//! | `remove.rs` | shift left |
//! | `enumerate.rs` | every fingerprint, in ascending order |
//! | `rebuild.rs` | merge, double, halve |
//!
//! Source: Bender et al., "Don't thrash: how to cache your hash on flash", PVLDB 5 (2012), section 3.
//! Pseudo-code that goes round moves whole slots, `is_occupied` with them, and marks as continuations
//! remainders that start a run. Here one function moves remainders, and cannot move `is_occupied`.

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
