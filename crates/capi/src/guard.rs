//! Converts panics and errors to statuses: every exported function that can fail runs its body inside a function of
//! this file.

use crate::status::{Failure, Status};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_char;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a call and returns its status. Keeps an error's message for the calling thread.
pub(crate) fn status(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    match value(call) {
        Ok(()) => Status::TROMMEL_OK,
        Err(status) => status,
    }
}

/// Runs a call and returns its value, or its status if it fails. Keeps an error's message for the calling thread.
pub(crate) fn value<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Status> {
    match catch(call) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => {
            record(&failure);
            Err(failure.status())
        }
        Err(panic) => {
            record(&PanicText(&*panic));
            // The payload has an unknown type, so dropping it could panic again.
            std::mem::forget(panic);
            Err(Status::TROMMEL_PANIC)
        }
    }
}

/// Runs a lookup and returns its answer, or true if it fails or panics. Keeps no message, so a lookup does not access
/// thread-local memory.
#[inline]
pub(crate) fn maybe(lookup: impl FnOnce() -> Result<bool, Failure>) -> bool {
    match catch(lookup) {
        Ok(answer) => answer.unwrap_or(true),
        Err(panic) => {
            std::mem::forget(panic);
            true
        }
    }
}

/// Runs a call and catches its panic; no other code of this crate catches panics. A panic can leave the caller's filter
/// half changed; `trommel.h` tells the caller to free such a filter.
#[inline]
fn catch<T>(call: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(call))
}

struct PanicText<'a>(&'a (dyn Any + Send));

impl fmt::Display for PanicText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.downcast_ref::<&str>().copied();
        let text = text.or_else(|| self.0.downcast_ref::<String>().map(String::as_str));
        write!(
            f,
            "a defect of trommel, please report it: {}",
            text.unwrap_or("a panic without a message")
        )
    }
}

/// The most bytes of a message, including its NUL. A longer message is cut off.
const MESSAGE_BYTES: usize = 512;

/// A NUL-terminated message, which is stored in the thread-local variable itself. It has no heap buffer, so it can be
/// written when an allocation has failed; it has no destructor, so it can be read while its thread ends. `bytes` is the
/// first field, so that a pointer to the message is a pointer to its text.
#[repr(C)]
struct Message {
    bytes: [u8; MESSAGE_BYTES],
    len: usize,
}

thread_local! {
    static LAST: RefCell<Message> = const { RefCell::new(Message { bytes: [0; MESSAGE_BYTES], len: 0 }) };
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MESSAGE_BYTES - 1 - self.len;
        let mut taken = room.min(text.len());
        while !text.is_char_boundary(taken) {
            taken -= 1;
        }
        for byte in &text.as_bytes()[..taken] {
            // A NUL would end the text for C, and a line break would break the promise of `trommel.h` that a message is
            // one line.
            self.bytes[self.len] = if byte.is_ascii_control() { b' ' } else { *byte };
            self.len += 1;
        }
        self.bytes[self.len] = 0;
        if taken == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

fn record(error: &dyn fmt::Display) {
    LAST.with(|last| {
        let mut last = last.borrow_mut();
        last.len = 0;
        last.bytes[0] = 0;
        // Writing fails only if the message is too long, and then the message is cut off.
        let _ = write!(last, "{error}");
    });
}

/// Returns the message of this thread's last failed call: one line of English, at most 511 bytes and a NUL. It is
/// ASCII, except for text that the caller passed. The message is empty if no call of this thread has failed. A
/// successful call does not change it.
///
/// Ownership: the library owns the text, which is valid until this thread's next failed call, or the thread's end.
///
/// Thread safety: any thread; each thread has a message of its own. Cannot fail, and never returns NULL.
#[unsafe(no_mangle)]
pub extern "C" fn trommel_last_error() -> *const c_char {
    LAST.with(|last| last.as_ptr().cast::<Message>()).cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last() -> String {
        // SAFETY: the text ends in a NUL. Only this thread can change the text, and it does not do so before the copy
        // is made.
        unsafe { CStr::from_ptr(trommel_last_error()) }.to_str().unwrap().to_string()
    }

    #[test]
    fn a_panic_becomes_a_status_with_its_message() {
        assert_eq!(status(|| panic!("number {}", 7)), Status::TROMMEL_PANIC);
        assert_eq!(last(), "a defect of trommel, please report it: number 7");
        assert!(maybe(|| panic!("in a lookup")));
        assert!(last().ends_with("number 7"));
    }

    #[test]
    fn long_messages_are_cut_off_at_a_character() {
        record(&"ä".repeat(400));
        assert_eq!(last(), "ä".repeat(255));
        record(&"a\0b\nc");
        assert_eq!(last(), "a b c");
        record(&"");
        assert_eq!(last(), "");
    }

    #[test]
    fn each_thread_has_a_message_of_its_own() {
        record(&"here");
        std::thread::spawn(|| {
            assert_eq!(last(), "");
            record(&"there");
        })
        .join()
        .unwrap();
        assert_eq!(last(), "here");
    }
}
