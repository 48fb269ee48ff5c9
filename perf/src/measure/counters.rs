//! Counts hardware events of a section, if the kernel and the machine have counters.

#[cfg(target_os = "linux")]
mod hardware;
#[cfg(target_os = "linux")]
mod refusal;
// Tests on Linux compile the substitute too, so that they find an error in the substitute.
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has counters"))]
mod unknown;

#[cfg(target_os = "linux")]
pub(crate) use hardware::Counters;
#[cfg(not(target_os = "linux"))]
pub(crate) use unknown::Counters;
