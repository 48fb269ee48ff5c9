//! Counts events in marked sections of a program under [Callgrind]: instructions, and the misses of
//! simulated caches and of a simulated branch predictor. Nothing is timed: if a program takes the same steps on a busy
//! machine as on a quiet one, it has the same counts on both.
//!
//! A program passes the code to be counted to [`counted`]; each call of [`counted`] is a section. [`command()`] makes
//! the command that runs this program under Callgrind. The program itself or another program can start the command.
//! [`Part::sections`] then reads the counts of the sections from the text of the file that Callgrind wrote, in the
//! order in which the sections ran.
//!
//! Code outside of sections, such as filling a filter, is not counted. But if caches are simulated, this code also uses
//! the simulated caches, so it warms them for the next section.
//!
//! The simulated processor has two levels of cache, with least-recently-used replacement. The processor has no
//! hardware prefetcher, and ignores prefetch instructions. Valgrind does not support AVX-512, so a program sees a
//! machine without it.
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
