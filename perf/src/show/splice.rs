//! Replaces the tables that stand between marks in a document, so that authors write the text and the harness writes
//! the figures:
//!
//! ```text
//! <!-- trommel-perf:inserts begin -->
//! <!-- trommel-perf:inserts end -->
//! ```
//!
//! The word before the colon is the owner of a region: it identifies the command whose results fill
//! the region. So a document can show the results of several commands.

use crate::base::failure::bad_input;
use anyhow::Result;

/// The owner of the regions that show a run of `measure`. If a document shows several runs, each run has its own owner:
/// this text, a hyphen and the name of a part of the document.
pub(crate) const MEASURE: &str = "trommel-perf";
/// The owner of the regions that `textbook` fills.
pub(crate) const TEXTBOOK: &str = "trommel-perf-textbook";

const BEGIN: &str = " begin -->";

/// Replaces every region of `owner` with the result of `content` for the region's name. Returns the document and the
/// names of the replaced regions, in order. The marks remain, so that a document can be spliced again.
///
/// # Errors
/// Bad input if a region has no end mark, or if `content` returns `None` for its name.
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

/// Returns the name of the first region, and the offset at which its contents begin.
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
    fn regions_are_replaced_and_the_text_around_them_is_kept() {
        let (text, names) = splice(DOCUMENT, MEASURE, content).unwrap();
        assert_eq!(names, ["a", "b"]);
        assert!(text.starts_with(
            "intro\n<!-- trommel-perf:a begin -->\n\nnew a\n\n<!-- trommel-perf:a end -->\nmiddle\n"
        ));
        assert!(!text.contains("old"));
    }

    #[test]
    fn splicing_is_idempotent() {
        let (once, _) = splice(DOCUMENT, MEASURE, content).unwrap();
        assert_eq!(splice(&once, MEASURE, content).unwrap().0, once);
    }

    #[test]
    fn regions_of_another_owner_are_kept() {
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
        let document = "<!-- trommel-perf:x begin --><!-- trommel-perf:x end -->";
        let unknown = splice(document, MEASURE, content).unwrap_err();
        assert!(unknown.to_string().contains("no table called x"));
        let open = splice("<!-- trommel-perf:a begin -->", MEASURE, content).unwrap_err();
        assert!(open.to_string().contains("has no end"));
    }
}
