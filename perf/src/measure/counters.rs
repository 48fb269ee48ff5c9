//! Counts hardware events of a section, if the kernel and the machine have counters.

#[cfg(target_os = "linux")]
mod hardware;
#[cfg(target_os = "linux")]
mod refusal;
#[cfg(not(target_os = "linux"))]
mod unknown;

#[cfg(target_os = "linux")]
pub(crate) use hardware::Counters;
#[cfg(not(target_os = "linux"))]
pub(crate) use unknown::Counters;
