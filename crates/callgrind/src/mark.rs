//! Marks the sections of a program for Callgrind, which finds the sections by the names of two functions of this file.

use std::hint::black_box;

/// Patterns for the names of the two private functions below, in any module and with any mangling.
pub(crate) const SECTION: &str = "*trommel_counted_section*";
pub(crate) const END: &str = "*trommel_section_ended*";

/// Runs a section. Under Callgrind, the section is counted; without Callgrind, this is a plain call. Sections must not
/// be nested.
#[inline]
pub fn counted<T>(section: impl FnOnce() -> T) -> T {
    let mut section = Some(section);
    let mut value = None;
    trommel_counted_section(&mut || value = section.take().map(|section| section()));
    trommel_section_ended();
    match value {
        Some(value) => value,
        None => unreachable!("the section was not run"),
    }
}

/// Callgrind counts while this function is on the stack.
#[inline(never)]
fn trommel_counted_section(section: &mut dyn FnMut()) {
    section();
    // Prevents a tail call, so that this function is on the stack until the section is over.
    black_box(());
}

/// When this function is called, Callgrind writes its counts to its output file and resets the counts to zero.
#[inline(never)]
fn trommel_section_ended() {
    black_box(());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_returns_the_value_of_the_section() {
        let owned = String::from("abc");
        assert_eq!(counted(move || owned.len()), 3);
    }

    #[test]
    fn the_patterns_match_the_names_of_the_functions() {
        for (function, pattern) in [
            (std::any::type_name_of_val(&trommel_counted_section), SECTION),
            (std::any::type_name_of_val(&trommel_section_ended), END),
        ] {
            assert!(
                function.contains(pattern.trim_matches('*')),
                "{pattern} does not match {function}"
            );
        }
    }
}
