//! Keeps new memory of this process out of huge pages, whatever the system's setting.

/// While this value exists, Linux gives this process no new huge pages. Memory that is already in
/// huge pages stays there. After the value is dropped, a system that always uses huge pages can
/// merge the small pages into huge ones in the background. On systems other than Linux, the
/// value has no effect.
#[derive(Debug)]
pub(crate) struct SmallPages;

impl SmallPages {
    pub(crate) fn begin() -> Self {
        refuse_huge_pages(true);
        Self
    }
}

impl Drop for SmallPages {
    fn drop(&mut self) {
        refuse_huge_pages(false);
    }
}

/// Refuses new huge pages to this process, or allows them again. Errors are ignored: even if this call fails, a filter
/// that does not ask for huge pages gets small pages, unless the system always uses huge pages.
#[cfg(target_os = "linux")]
fn refuse_huge_pages(refuse: bool) {
    let _ = rustix::thread::disable_transparent_huge_pages(refuse);
}

#[cfg(not(target_os = "linux"))]
fn refuse_huge_pages(_refuse: bool) {}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use rustix::thread::transparent_huge_pages_are_disabled as are_refused;

    #[test]
    fn huge_pages_are_refused_until_the_value_is_dropped() {
        let before = are_refused().unwrap();
        let small = SmallPages::begin();
        assert!(are_refused().unwrap());
        drop(small);
        assert_eq!(are_refused().unwrap(), before);
    }
}
