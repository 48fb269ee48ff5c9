//! The C interface of Trommel.
//!
//! The names, and the doc comments, are those of `include/trommel.h`, which a test holds to this source. README.md
//! has how to build and to link it. Rust programs use the crate `trommel`.
//!
//! | file | what is in it |
//! |---|---|
//! | `border.rs` | pointers of C become references and slices, after checks: nearly all `unsafe` code |
//! | `guard.rs` | panics end here and become a status; the calling thread's last error |
//! | `status.rs` | the statuses, and which error has which |
//! | `version.rs`, `policy.rs`, `filter.rs`, `view.rs` | the functions |

// The functions take pointers. The header states the duties of their callers in C's terms.
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

/// The header promises that threads share policies and views, and pass filters on.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Owned>();
    shared::<Policy>();
    shared::<View>();
};
