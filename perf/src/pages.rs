//! Memory without huge pages, whatever the system is set to.

/// As long as it lives, the system gives this process no huge pages, where it can be told so (Linux). Memory that is
/// in huge pages already stays so. A system that is set to use them always may join pages later, in the background.
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

/// Best effort: a filter that asks for no huge pages gets none anyway, unless the system always uses them.
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
    fn huge_pages_are_refused_for_a_while() {
        let before = are_refused().unwrap();
        let small = SmallPages::begin();
        assert!(are_refused().unwrap());
        drop(small);
        assert_eq!(are_refused().unwrap(), before);
    }
}
