//! Measures the peak memory of a section beyond the memory that was resident before it.

use std::fs;

/// Runs a section. Returns its value, and the number of bytes by which the peak of the resident memory exceeded the
/// resident memory before the section, if the system reports both (Linux does). Memory that the allocator has kept from
/// earlier sections is not counted. If the section needed only such memory, the number is `None`.
pub(crate) fn during<T>(section: impl FnOnce() -> T) -> (T, Option<u64>) {
    // The value 5 resets the peak (see the manual page proc_pid_clear_refs(5)).
    let before = fs::write("/proc/self/clear_refs", "5").ok().and_then(|()| status("VmRSS:"));
    let value = section();
    let peak = before.and_then(|before| Some(status("VmHWM:")?.saturating_sub(before)));
    (value, peak.filter(|bytes| *bytes > 0))
}

/// The value of a line of `/proc/self/status`, in bytes.
fn status(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn peak_memory_counts_although_it_is_freed() {
        const BYTES: usize = 64 << 20;
        let peak_of_one = || {
            let (sum, peak) =
                during(|| vec![1u8; BYTES].iter().map(|one| u64::from(*one)).sum::<u64>());
            assert_eq!(sum, BYTES as u64);
            peak
        };
        // Other tests of this process can free memory meanwhile, which lowers the peak. So it is enough if one of
        // several measurements shows the memory.
        let peaks: Vec<u64> = std::iter::repeat_with(peak_of_one).take(20).flatten().collect();
        if peaks.is_empty() {
            eprintln!("skipped: the system does not report the peak");
            return;
        }
        assert!(peaks.iter().any(|bytes| *bytes >= BYTES as u64 / 2), "{peaks:?}");
    }
}
