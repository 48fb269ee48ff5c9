//! What a program does so that Callgrind finds its sections: functions that it knows by their names.

use std::hint::black_box;

/// The functions below, in any module and mangled in any way.
pub(crate) const SECTION: &str = "*trommel_counted_section*";
pub(crate) const END: &str = "*trommel_section_ended*";

/// Runs a section that is counted under Callgrind, and that is a call without Callgrind. Sections are not
/// nested.
#[inline]
pub fn counted<T>(section: impl FnOnce() -> T) -> T {
    let mut section = Some(section);
    let mut value = None;
    trommel_counted_section(&mut || value = section.take().map(|section| section()));
    trommel_section_ended();
    match value {
        Some(value) => value,
        None => unreachable!("the section was run"),
    }
}

/// Callgrind collects while this is on the stack.
#[inline(never)]
fn trommel_counted_section(section: &mut dyn FnMut()) {
    section();
    // Not a tail call: this function is on the stack until the section is over.
    black_box(());
}

/// Callgrind writes down what it has collected when this is called, and goes on from zero.
#[inline(never)]
fn trommel_section_ended() {
    black_box(());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_gives_back_its_value() {
        let owned = String::from("abc");
        assert_eq!(counted(move || owned.len()), 3);
    }

    #[test]
    fn the_functions_have_the_names_that_are_looked_for() {
        for (function, pattern) in [
            (std::any::type_name_of_val(&trommel_counted_section), SECTION),
            (std::any::type_name_of_val(&trommel_section_ended), END),
        ] {
            assert!(function.contains(pattern.trim_matches('*')), "{function}");
        }
    }
}
