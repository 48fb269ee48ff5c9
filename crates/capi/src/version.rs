//! The versions of the interface and of the library.

use std::ffi::{CStr, c_char};

/// The version of the interface that this header declares. It grows when programs that were compiled against an older
/// header would no longer work. It is the number in the name `libtrommel.so.1`. New functions and new statuses do not
/// change it.
pub const TROMMEL_ABI_VERSION: u32 = 1;

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no NUL"),
    };

/// Returns the version of the interface that the library implements. A program that loads the library with `dlopen`
/// should compare this version with `TROMMEL_ABI_VERSION`, and stop if the two differ.
///
/// Thread safety: any thread, any time. Cannot fail.
#[unsafe(no_mangle)]
pub extern "C" fn trommel_abi_version() -> u32 {
    TROMMEL_ABI_VERSION
}

/// Returns the version of the library as text, for example "0.1.0". The text is static: do not free it.
///
/// Thread safety: any thread, any time. Cannot fail.
#[unsafe(no_mangle)]
pub extern "C" fn trommel_version() -> *const c_char {
    VERSION.as_ptr()
}
