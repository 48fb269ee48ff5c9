//! The size of a core's second-level cache.

use core::sync::atomic::{AtomicUsize, Ordering};

/// The size that is assumed if the processor reports no plausible size. The assumed size is between 256 KiB and 3 MiB,
/// the sizes of the smallest and the largest L2 of usual cores.
const UNKNOWN_L2_BYTES: usize = 1 << 20;
/// The sizes that are trusted. A smaller cache is probably no L2, and a larger one is probably shared by several cores.
const PLAUSIBLE: core::ops::RangeInclusive<usize> = 128 << 10..=16 << 20;

/// The size in bytes of a core's second-level cache, as an x86-64 processor reports it. The result is 1 MiB if the
/// processor reports no plausible size, and on all other architectures: on aarch64, for example, programs have no
/// access to the registers that describe the caches. The size is detected once; later calls cost one load.
///
/// ```
/// let bytes = trommel_simd::l2_bytes();
/// assert!((128 << 10..=16 << 20).contains(&bytes));
/// ```
#[must_use]
pub fn l2_bytes() -> usize {
    static DETECTED: AtomicUsize = AtomicUsize::new(0);
    let mut bytes = DETECTED.load(Ordering::Relaxed);
    if bytes == 0 {
        bytes = detect().filter(|bytes| PLAUSIBLE.contains(bytes)).unwrap_or(UNKNOWN_L2_BYTES);
        DETECTED.store(bytes, Ordering::Relaxed);
    }
    bytes
}

/// Reads the deterministic cache parameters of CPUID: leaf 4 on Intel's processors, and leaf 0x8000_001D, which has the
/// same format, on AMD's. The processors of both vendors have leaf 0x8000_0006 too, but some hypervisors report wrong
/// sizes in that leaf.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn detect() -> Option<usize> {
    use crate::kernel::cpuid;
    const LEAVES: [u32; 2] = [4, 0x8000_001D];
    const MOST_CACHES: u32 = 8;
    const UNIFIED: u32 = 3;
    for leaf in LEAVES {
        // The first leaf of a range (0 or 0x8000_0000) gives the number of the last leaf of that range. For a leaf
        // beyond the last, some processors return the values of a different leaf.
        if cpuid(leaf & 0x8000_0000, 0).eax < leaf {
            continue;
        }
        for index in 0..MOST_CACHES {
            let cache = cpuid(leaf, index);
            let (kind, level) = (cache.eax & 0x1F, cache.eax >> 5 & 0x7);
            if kind == 0 {
                break;
            }
            if (kind, level) == (UNIFIED, 2) {
                let [ways, parts, line] =
                    [cache.ebx >> 22, cache.ebx >> 12 & 0x3FF, cache.ebx & 0xFFF];
                // The size in bytes is the product of the ways, the partitions, the bytes of a line, and the sets,
                // which are in ECX. Each field holds its value minus one.
                return [ways, parts, line, cache.ecx]
                    .into_iter()
                    .try_fold(1, |bytes: usize, field| bytes.checked_mul(field as usize + 1));
            }
        }
    }
    None
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn detect() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
    use std::borrow::ToOwned as _;

    #[test]
    fn the_detected_size_is_plausible_and_does_not_change() {
        let first = l2_bytes();
        assert!(PLAUSIBLE.contains(&first));
        assert_eq!(l2_bytes(), first);
    }

    /// Linux reads the same leaves as `detect`, so both must find the same size.
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
    #[test]
    fn the_detected_size_is_the_one_that_linux_reports() {
        let folder = std::path::Path::new("/sys/devices/system/cpu/cpu0/cache");
        let read = |index: u32, file: &str| {
            let text =
                std::fs::read_to_string(folder.join(std::format!("index{index}/{file}"))).ok()?;
            Some(text.trim().to_owned())
        };
        let level_2 = (0..8).find(|index| read(*index, "level").as_deref() == Some("2"));
        let size = level_2.and_then(|index| read(index, "size"));
        let Some((size, detected)) = size.zip(detect()) else { return };
        let kibibytes: usize = size.trim_end_matches('K').parse().unwrap();
        assert_eq!(detected, kibibytes << 10);
    }
}
