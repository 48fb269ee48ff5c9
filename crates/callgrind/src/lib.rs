//! Counts what marked sections of a program do, under [Callgrind]: instructions, and the misses of caches
//! and of a branch predictor that it simulates. Counts of the same program on the same input are the same
//! on a busy machine as on a quiet one.
//!
//! A program runs what is to be counted by [`counted`]. Another one, or the same, runs it by [`command`] and
//! reads from the file that Callgrind wrote what each section did, in the order in which they ran:
//! [`Part::sections`].
//!
//! What is not in a section, such as filling a filter, is not counted, but it is simulated: the caches are
//! as warm when a section begins as that makes them.
//!
//! The processor that is simulated has two levels of cache, with least-recently-used replacement, without
//! any prefetching, neither by the hardware nor by instructions. Valgrind knows no AVX-512, so a program
//! sees a machine without it.
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
