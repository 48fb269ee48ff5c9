//! `trommel_freeze` returns TROMMEL_MEMORY if the system refuses the memory that the call needs.
#![allow(unsafe_code)]
// Every pointer is to a value of this test, and the value outlives the call.
#![allow(clippy::undocumented_unsafe_blocks)]

#[path = "../../trommel/tests/allocation_failure/allocator.rs"]
mod allocator;

use allocator::{Refuse, Refusing, counted, refusing};
use std::ptr::null_mut;
use trommel::{FilterKind, FilterSpec, Insert};
use trommel_capi::Status::*;
use trommel_capi::*;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Freezing this filter allocates memory once: for the bytes of its overflow table, which has the counts that its
/// two-bit counters cannot hold. Freezing a filter without an overflow table allocates no memory.
#[test]
fn freezing_reports_refused_memory() {
    let mut filter =
        FilterSpec::new(FilterKind::CountingBloom).keys(100).compact(true).build().unwrap();
    for _ in 0..300 {
        filter.insert(&1_u64).unwrap();
    }
    let frozen = filter.to_bytes();
    let mut thawed = null_mut();
    let mut bytes = vec![0; frozen.len()];
    unsafe {
        assert_eq!(trommel_thaw(frozen.as_ptr().cast(), frozen.len(), &mut thawed), TROMMEL_OK);
        let mut freeze = || {
            let mut written = usize::MAX;
            let dst = bytes.as_mut_ptr().cast();
            let status = trommel_freeze(thawed, dst, frozen.len(), &mut written);
            (status, written)
        };
        let ((status, written), allocations) = counted(&mut freeze);
        assert_eq!((status, written, allocations), (TROMMEL_OK, frozen.len(), 1));
        for refused in [Refuse::Only(1), Refuse::From(1)] {
            assert_eq!(refusing(refused, &mut freeze), (TROMMEL_MEMORY, 0));
        }
        assert_eq!(freeze(), (TROMMEL_OK, frozen.len()));
        trommel_free(thawed);
    }
    assert_eq!(bytes, frozen);
}
