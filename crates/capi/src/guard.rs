//! Panics and errors end here: every function of the interface runs inside one of these.

use crate::status::{Failure, Status};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_char;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a call and returns its status. The calling thread keeps the message of an error.
pub(crate) fn status(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    match value(call) {
        Ok(()) => Status::TROMMEL_OK,
        Err(status) => status,
    }
}

/// Runs a call and returns its value, or its status. The calling thread keeps the message of an error.
pub(crate) fn value<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Status> {
    match catch(call) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => {
            record(&failure);
            Err(failure.status())
        }
        Err(panic) => {
            record(&PanicText(&*panic));
            // A payload of a type that nobody here knows could panic once more where it is dropped.
            std::mem::forget(panic);
            Err(Status::TROMMEL_PANIC)
        }
    }
}

/// Runs a lookup that answers "maybe" whatever goes wrong. Records nothing, so a lookup costs no access to memory of
/// the thread.
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

/// The one place that stops panics. A panic may leave the caller's filter half-changed; the header tells the caller to
/// free it.
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

/// Bytes of the longest message, with the NUL at its end. The rest of a longer one is left out.
const MESSAGE_BYTES: usize = 512;

/// A message with a NUL behind it, in memory that is never allocated or freed: so it can be written where memory is
/// refused, and read while a thread ends. The bytes come first, so that a pointer to it is one to them.
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
            // A NUL would end the message for C, and a line break the line that the header promises.
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
        // An error here is a message that was cut off.
        let _ = write!(last, "{error}");
    });
}

/// Returns the message of the last call of this thread that failed: one line of English, ASCII but for what the caller
/// passed, at most 511 bytes and a NUL. An empty text if no call of this thread has failed. A call that succeeds does
/// not change it.
///
/// Ownership: the library's. The text is valid until the next call of this thread that fails, or the thread's end.
///
/// Thread safety: any thread; each has a message of its own. Cannot fail, and never returns NULL.
#[unsafe(no_mangle)]
pub extern "C" fn trommel_last_error() -> *const c_char {
    LAST.with(|last| last.as_ptr().cast::<Message>()).cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last() -> String {
        // SAFETY: the text ends in a NUL and is this thread's, which changes it in no way meanwhile.
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
