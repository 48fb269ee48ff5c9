//! Counts events in marked sections of a program under [Callgrind]: instructions, and the misses of
//! simulated caches and of a simulated branch predictor. Counts of the same program on the same input are
//! the same on a busy machine as on a quiet one.
//!
//! A program passes the code to be counted to [`counted`]; each such call is a section. Another program, or the program
//! itself, runs it under Callgrind by [`command`]. [`Part::sections`] then reads the counts of the sections from the
//! file that Callgrind wrote, in the order in which the sections ran.
//!
//! Code outside of sections, such as filling a filter, is not counted. But it is simulated, so it warms the
//! caches for the next section.
//!
//! The simulated processor has two levels of cache, with least-recently-used replacement. It has no hardware
//! prefetcher, and ignores prefetch instructions. Valgrind does not support AVX-512, so a program sees a machine
//! without it.
//!
//! [Callgrind]: https://valgrind.org/docs/manual/cl-manual.html

mod cache;
mod command;
mod mark;
mod part;

pub use cache::{Cache, Caches};
pub use command::{Missing, Simulated, command, version};
pub use mark::counted;
pub use part::Part;
