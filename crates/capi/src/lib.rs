//! The C interface of Trommel.
//!
//! `include/trommel.h` is generated from the names and doc comments of this source, and a test compares the two.
//! README.md explains how to build and link the library. Rust programs use the crate `trommel`.
//!
//! | file | content |
//! |---|---|
//! | `border.rs` | checks C pointers and turns them into references and slices; no other file dereferences them |
//! | `guard.rs` | turns panics into a status; keeps the calling thread's last error; `trommel_last_error` |
//! | `status.rs` | the statuses, and the status of each error |
//! | `version.rs`, `policy.rs`, `filter.rs`, `view.rs` | the other functions |

// The functions take pointers. `trommel.h` states, in C's terms, what their callers must guarantee.
#![allow(unsafe_code, clippy::missing_safety_doc)]

mod border;
mod filter;
mod guard;
mod policy;
mod status;
mod version;
mod view;

pub use filter::*;
pub use guard::trommel_last_error;
pub use policy::*;
pub use status::Status;
pub use version::*;
pub use view::*;

/// Checks at compile time what `trommel.h` promises: threads can share policies and views, share filters in calls that
/// take them as `const`, and pass policies, views and filters to each other.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Owned>();
    shared::<Policy>();
    shared::<View>();
};
