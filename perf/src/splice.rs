//! Tables spliced into a document between marks, so that the words around them are written by hand and
//! the figures are not:
//!
//! ```text
//! <!-- trommel-perf:inserts begin -->
//! <!-- trommel-perf:inserts end -->
//! ```
//!
//! The word before the colon says which run a region belongs to, so that a document can have regions of
//! both.

use crate::failure::bad_input;
use anyhow::Result;

/// Regions of `measure`; with a hyphen and a name behind it, those of a run that is shown in part.
pub(crate) const MEASURE: &str = "trommel-perf";
/// Regions of `textbook`.
pub(crate) const TEXTBOOK: &str = "trommel-perf-textbook";

const BEGIN: &str = " begin -->";

/// The document with every region of `owner` replaced by what `content` has for its name; the names that
/// were replaced, in order. Marks stay, so that a document can be spliced again.
///
/// # Errors
/// Bad input if a region does not end, or `content` knows nothing of its name.
pub(crate) fn splice(
    document: &str,
    owner: &str,
    content: impl Fn(&str) -> Option<String>,
) -> Result<(String, Vec<String>)> {
    let opening = format!("<!-- {owner}:");
    let mut spliced = String::with_capacity(document.len());
    let mut names = Vec::new();
    let mut rest = document;
    while let Some((name, begin)) = next_region(rest, &opening) {
        let (before, after) = rest.split_at(begin);
        let end_mark = format!("{opening}{name} end -->");
        let Some(end) = after.find(&end_mark) else {
            return Err(bad_input(format!("the region {name} has no end: expected {end_mark}")));
        };
        let Some(content) = content(name) else {
            return Err(bad_input(format!("the run has no table called {name}")));
        };
        spliced.push_str(before);
        spliced.push_str("\n\n");
        spliced.push_str(content.trim_end());
        spliced.push_str("\n\n");
        names.push(name.to_owned());
        spliced.push_str(&end_mark);
        rest = &after[end + end_mark.len()..];
    }
    spliced.push_str(rest);
    Ok((spliced, names))
}

/// The name of the first region, and where its contents begin.
fn next_region<'a>(text: &'a str, opening: &str) -> Option<(&'a str, usize)> {
    let mut from = 0;
    while let Some(found) = text[from..].find(opening) {
        let name_at = from + found + opening.len();
        let line = text[name_at..].lines().next().unwrap_or_default();
        if let Some(length) = line.find(BEGIN) {
            return Some((&line[..length], name_at + length + BEGIN.len()));
        }
        from = name_at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "intro\n<!-- trommel-perf:a begin -->\nold\n<!-- trommel-perf:a end -->\nmiddle\n\
                            <!-- trommel-perf:b begin --><!-- trommel-perf:b end -->\n";

    fn content(name: &str) -> Option<String> {
        ["a", "b"].contains(&name).then(|| format!("new {name}\n"))
    }

    #[test]
    fn regions_are_replaced_and_words_kept() {
        let (text, names) = splice(DOCUMENT, MEASURE, content).unwrap();
        assert_eq!(names, ["a", "b"]);
        assert!(text.starts_with(
            "intro\n<!-- trommel-perf:a begin -->\n\nnew a\n\n<!-- trommel-perf:a end -->\nmiddle\n"
        ));
        assert!(!text.contains("old"));
    }

    #[test]
    fn splicing_twice_is_splicing_once() {
        let (once, _) = splice(DOCUMENT, MEASURE, content).unwrap();
        assert_eq!(splice(&once, MEASURE, content).unwrap().0, once);
    }

    #[test]
    fn regions_of_another_run_are_kept() {
        let (text, names) = splice(DOCUMENT, TEXTBOOK, content).unwrap();
        assert_eq!((&*text, names.len()), (DOCUMENT, 0));
        let theirs = DOCUMENT.replace(MEASURE, TEXTBOOK);
        assert_eq!(splice(&theirs, MEASURE, content).unwrap().0, theirs);
        assert_eq!(splice(&theirs, TEXTBOOK, content).unwrap().1, ["a", "b"]);
    }

    #[test]
    fn a_document_without_marks_is_kept() {
        let (text, names) = splice("no marks <!-- trommel-perf: -->", MEASURE, content).unwrap();
        assert_eq!((&*text, names.len()), ("no marks <!-- trommel-perf: -->", 0));
    }

    #[test]
    fn unknown_names_and_missing_ends_are_errors() {
        let nobody = "<!-- trommel-perf:x begin --><!-- trommel-perf:x end -->";
        let unknown = splice(nobody, MEASURE, content).unwrap_err();
        assert!(unknown.to_string().contains("no table called x"));
        let open = splice("<!-- trommel-perf:a begin -->", MEASURE, content).unwrap_err();
        assert!(open.to_string().contains("has no end"));
    }
}
