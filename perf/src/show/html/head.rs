//! Writes the top of the page: the machine, how to read the figures, the noise, and links to the sections.

use super::escape;
use crate::store::results::Results;
use std::fmt::Write as _;

/// The page from its beginning to the opening tag of its main element.
pub(super) fn begin(style: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>Trommel, measured</title><style>{style}</style></head><body><main>"
    )
}

/// Writes the title, an explanation of the figures, the noise, and links to `sections`, given as pairs of id and name.
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
        "<p>On Linux, times are processor times of one thread, with two exceptions. Cases with +wall in their names \
         (the engine, shared filters, and what is interleaved with them) have wall-clock times. Lookups of short \
         batches, whose hashes were copied into the cache just before, take too little time for the clock of \
         processor times. Such lookups are timed by the wall clock; if, for example, the thread ran for only 90 % of a \
         repetition, only 90 % of its wall-clock time counts. On other systems, all times are wall-clock times. \
         Every time is a median of short repetitions, in which our filters, the rivals and random cache-line reads \
         were interleaved; &plusmn; is the median absolute deviation. The answers of every case were verified. \
         &ldquo;Of roofline&rdquo; is the number of cache lines that the case has to read per second, divided by the \
         number of random cache lines that one core reads per second from as much memory as the filter takes. \
         This ratio can exceed 1 on several threads, and for filters that fit into the second-level cache: there the \
         random reads are scalar loads, and kernels that gather several keys per vector can be faster.</p>",
    );
    if let Some(noise) = results.noise {
        let is_noisy = noise.is_noisy() || results.timed.is_disturbed();
        let class = if is_noisy { "warning" } else { "quiet" };
        let _ = write!(
            page,
            "<p class=\"{class}\">Noise before measuring: {}. During the measurement: {}.</p>",
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
