//! Writes the top of the page: the machine, how to read the figures, the noise, and links to the sections.

use super::escape;
use crate::results::Results;
use std::fmt::Write as _;

/// The page from its beginning to the start of the contents.
pub(super) fn begin(style: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>Trommel, measured</title><style>{style}</style></head><body><main>"
    )
}

/// Writes the title, how to read the page, the noise, and links to `sections`, given as pairs of id and name.
pub(super) fn header(page: &mut String, results: &Results, sections: &[(&str, &str)]) {
    let fact = |name: &str| escape(results.environment.get(name));
    let _ = write!(
        page,
        "<header><h1>Trommel, measured</h1><p class=\"lead\">{} &middot; {} &middot; kernels {} &middot; commit {}</p>",
        fact("cpu"),
        fact("caches of a core"),
        fact("isa"),
        fact("commit")
    );
    page.push_str(
        "<p>One thread, but for the rows of the engine, which are timed by the wall. Every figure is a median of \
         short repetitions, in which our filters, the rivals and the machine&rsquo;s limit took turns; &plusmn; is \
         the median absolute deviation. Every repetition&rsquo;s answers were verified. &ldquo;Of limit&rdquo; is \
         lines touched a second over the random lines that one core touches a second in as much memory; below the \
         size of the second-level cache computing and not memory sets the pace, and it can pass 1.</p>",
    );
    if let Some(noise) = results.noise {
        let is_noisy = noise.is_noisy() || results.timed.is_disturbed();
        let class = if is_noisy { "warning" } else { "quiet" };
        let _ = write!(
            page,
            "<p class=\"{class}\">Noise before measuring: {}. Meanwhile: {}.</p>",
            escape(&noise.describe()),
            escape(&results.timed.describe())
        );
    }
    page.push_str("<nav aria-label=\"Sections\">");
    for (id, name) in sections {
        let _ = write!(page, "<a href=\"#{id}\">{}</a>", name.replace('-', " "));
    }
    page.push_str("</nav></header>");
}
