//! `report.html`: one file that opens from disk, with no script and nothing fetched.

use crate::engine::scaling;
use crate::plan::short_slots;
use crate::plots;
use crate::results::Results;
use crate::row::Row;
use crate::tables::{self, Table};
use anyhow::Result;
use std::fmt::Write as _;

const STYLE: &str = include_str!("report.css");

/// The report of a run.
pub(crate) fn render(results: &Results) -> Result<String> {
    let mut page = String::new();
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>trommel-perf</title><style>{STYLE}</style></head><body><main>"
    );
    header(&mut page, results);
    for table in tables::all(results) {
        if table.name == "load-lookups" {
            page.push_str("<h2 id=\"loads\">Throughput by load</h2>");
            page.push_str(&load_plots(results)?);
        }
        section(&mut page, results, &table)?;
        if table.name == "engine" {
            engine_plots(&mut page, results)?;
        }
        if table.name == "summary" {
            page.push_str("<h2 id=\"throughput\">Throughput by number of keys</h2>");
            page.push_str(&throughput_plots(results)?);
        }
    }
    page.push_str("</main></body></html>\n");
    Ok(page)
}

fn header(page: &mut String, results: &Results) {
    let fact = |name: &str| escape(results.environment.get(name));
    let _ = write!(
        page,
        "<header><h1>Trommel, measured</h1><p class=\"lead\">{} &middot; {} &middot; kernels {} &middot; commit {}</p>",
        fact("cpu"),
        fact("caches of a core"),
        fact("isa"),
        fact("commit")
    );
    let _ = write!(
        page,
        "<p>One thread, but for the rows of the engine, which are timed by the wall. Every figure is a median of short repetitions, in which our filters, the rivals and the \
         machine&rsquo;s limit took turns; &plusmn; is the median absolute deviation. Every repetition&rsquo;s answers \
         were verified. &ldquo;Of limit&rdquo; is lines touched a second over the random lines that one core touches a \
         second in as much memory; below the size of the second-level cache computing and not memory sets the pace, \
         and it can pass 1.</p>"
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
    page.push_str("<nav>");
    for table in tables::all(results) {
        let _ = write!(page, "<a href=\"#{}\">{}</a> ", table.name, table.name);
    }
    page.push_str("</nav></header>");
}

fn section(page: &mut String, results: &Results, table: &Table) -> Result<()> {
    let _ = write!(page, "<h2 id=\"{}\">{}</h2>", table.name, escape(&table.title));
    match table.name {
        "inputs" => {
            for input in &results.inputs {
                let _ = write!(
                    page,
                    "<p><b>{}</b>: {}; {} keys, {} probes, {} of them keys.</p>",
                    escape(&input.name),
                    escape(&input.description),
                    input.keys,
                    input.probes,
                    input.matches
                );
            }
        }
        "roofline" => {
            let _ = write!(page, "<div class=\"wide plot\">{}</div>", plots::roofline(results)?);
            page.push_str(
                "<p class=\"note\">Greys: ways to touch lines, from darkest: T0, T1, no prefetch (dashed), NTA. \
                 Coloured marks: lines a second that our filters&rsquo; batched lookups of present keys touch.</p>",
            );
            legend(
                page,
                &plots::legend(results)
                    .into_iter()
                    .filter(|line| !line.is_rival)
                    .collect::<Vec<_>>(),
            );
        }
        _ => {}
    }
    page.push_str(&html_table(table));
    Ok(())
}

/// What is plotted: a title and the rows.
type Plot = (&'static str, fn(&Row) -> bool);

fn throughput_plots(results: &Results) -> Result<String> {
    fn lookups(row: &Row, workload: &str) -> bool {
        row.is_plain()
            && row.op == "contains"
            && row.workload.as_deref() == Some(workload)
            && is_preferred(row)
    }
    let plots: [Plot; 6] = [
        ("Lookups of absent keys", |row| lookups(row, "miss")),
        ("Lookups of present keys", |row| lookups(row, "hit")),
        ("Lookups, half of them present", |row| lookups(row, "mixed")),
        ("Lookups with hashing included", |row| row.input().is_none() && row.hashes_keys()),
        ("Inserts", |row| row.is_plain() && row.op == "insert" && is_preferred(row)),
        ("Builds", |row| row.is_plain() && row.op == "build"),
    ];
    let mut html = String::new();
    legend(&mut html, &plots::legend(results));
    html.push_str("<div class=\"plots\">");
    for (title, wanted) in plots {
        let series = plots::throughput_series(results, wanted);
        let svg = plots::throughput(title, &series)?;
        if !svg.is_empty() {
            let _ = write!(html, "<div class=\"plot\">{svg}</div>");
        }
    }
    html.push_str("</div>");
    Ok(html)
}

/// Our batches, and whatever calls rivals have.
fn is_preferred(row: &Row) -> bool {
    row.rival.is_some() || row.api == "batch"
}

/// Speed by threads, an operation a plot.
fn engine_plots(page: &mut String, results: &Results) -> Result<()> {
    page.push_str("<div class=\"plots\">");
    for (_, svg) in scaling::plots(results)? {
        let _ = write!(page, "<div class=\"plot\">{svg}</div>");
    }
    page.push_str("</div>");
    Ok(())
}

/// A plot for every size and operation of the sweep over loads.
fn load_plots(results: &Results) -> Result<String> {
    const PLOTS: [Plot; 8] = [
        ("Lookups of present keys", |row| row.workload.as_deref() == Some("hit")),
        ("Lookups of absent keys", |row| row.workload.as_deref() == Some("miss")),
        ("Lookups, half of them present", |row| row.workload.as_deref() == Some("mixed")),
        ("Inserts just below the load", |row| row.op == "insert"),
        ("Removals", |row| row.op == "remove"),
        ("Builds up to the load", |row| row.op == "build"),
        ("Merges of two halves", |row| row.op == "merge"),
        ("Enumerations", |row| row.op == "enumerate"),
    ];
    let mut sizes: Vec<usize> =
        results.rows.iter().filter_map(|row| Some(row.filling()?.slots)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut html = String::new();
    legend(&mut html, &plots::load_legend(results));
    for slots in sizes {
        html.push_str("<div class=\"plots\">");
        for (title, wanted) in PLOTS {
            let series = plots::load_series(results, |row| {
                let is_of_size = row.filling().is_some_and(|filling| filling.slots == slots);
                let is_shown = is_preferred(row) || row.op == "remove";
                is_of_size && is_shown && wanted(row)
            });
            let title = format!("{title}, {} slots", short_slots(slots));
            let svg = plots::by_load(&title, &series)?;
            if !svg.is_empty() {
                let _ = write!(html, "<div class=\"plot\">{svg}</div>");
            }
        }
        html.push_str("</div>");
    }
    Ok(html)
}

fn legend(html: &mut String, series: &[plots::Series]) {
    html.push_str("<p class=\"legend\">");
    for line in series {
        let (r, g, b) = (line.color.0, line.color.1, line.color.2);
        let mark = if line.is_rival { "&#9650;" } else { "&#9679;" };
        let _ = write!(
            html,
            "<span><b style=\"color:rgb({r},{g},{b})\">{mark}</b> {}</span> ",
            escape(&line.label)
        );
    }
    html.push_str("</p>");
}

fn html_table(table: &Table) -> String {
    let mut html = String::from("<div class=\"scroll\"><table><thead><tr>");
    for (i, cell) in table.header.iter().enumerate() {
        let _ = write!(html, "<th{}>{}</th>", class_of(table, i), escape(cell));
    }
    html.push_str("</tr></thead><tbody>");
    for line in &table.rows {
        html.push_str(if line.is_rival { "<tr class=\"rival\">" } else { "<tr>" });
        for (i, cell) in line.cells.iter().enumerate() {
            let _ = write!(html, "<td{}>{}</td>", class_of(table, i), escape(cell));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn class_of(table: &Table, column: usize) -> &'static str {
    if column < table.words { "" } else { " class=\"n\"" }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::row::tests::example;

    #[test]
    fn the_page_is_whole_and_fetches_nothing() {
        let mut results = Results::new(Environment::observe(None));
        results.put(example("bloom", "12-bit", None, 2.0));
        results.put(example("bloom", "12-bit", Some("fastbloom"), 9.0));
        results.put(example("quotient", "r8-95%-of-1Mi", None, 9.0));
        let page = render(&results).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(
            !page.contains("<script") && !page.contains("src=") && !page.contains("href=\"http")
        );
        assert!(page.contains("<svg") && page.contains("id=\"loads\""));
    }

    #[test]
    fn an_empty_run_has_a_report() {
        assert!(render(&Results::new(Environment::observe(None))).is_ok());
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
    }
}
