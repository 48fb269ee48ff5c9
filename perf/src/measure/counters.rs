//! Counts the hardware events of a timed section, if the kernel and the machine have counters.

#[cfg(target_os = "linux")]
mod hardware;
#[cfg(target_os = "linux")]
mod refusal;
// Replaces `hardware` on other systems. It is also compiled for tests on Linux, so that errors in it are found there.
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has counters"))]
mod unknown;

#[cfg(target_os = "linux")]
pub(crate) use hardware::Counters;
#[cfg(not(target_os = "linux"))]
pub(crate) use unknown::Counters;
