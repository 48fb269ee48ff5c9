//! Writes `report.html`: a single file that can be opened from disk, loads no other files, and is
//! readable without its script.

mod cases;
mod charts;
mod findings;
mod head;
mod table;

use crate::base::table::Table;
use crate::show::history::History;
use crate::show::tables;
use crate::store::results::Results;
use anyhow::Result;
use std::fmt::Write as _;

const STYLE: &str = include_str!("html/report.css");
const SCRIPT: &str = include_str!("html/report.js");

/// Returns the report of a run, with a plot and a table of `history` if it is given. The tables in `machines`, which
/// compare several machines, come before the tables of the run.
pub(crate) fn render(
    results: &Results,
    history: Option<&History>,
    machines: &[Table],
) -> Result<String> {
    let mut sections = String::new();
    let mut names = vec![("findings", "findings")];
    for table in machines {
        names.push((table.name, table.name));
        section(&mut sections, results, table)?;
    }
    let tables = tables::all(results);
    for name in tables::NAMES {
        // The plots are placed before the table called `name`. They are also shown if the run has no table of that
        // name.
        match name {
            "lookups-miss" => chart(&mut sections, &mut names, charts::throughput(results)?),
            "load-lookups" => chart(&mut sections, &mut names, charts::loads(results)?),
            "engine-strategies" => chart(&mut sections, &mut names, charts::threads(results)?),
            "fpr" => chart(&mut sections, &mut names, charts::rates(results)?),
            "events" => chart(&mut sections, &mut names, charts::misses(results)?),
            _ => {}
        }
        if let Some(table) = tables.iter().find(|table| table.name == name) {
            names.push((name, name));
            section(&mut sections, results, table)?;
        }
    }
    if let Some(history) = history {
        names.push(("history", "history"));
        sections.push_str(&charts::history(history)?);
        sections.push_str(&table::html(&history.table()));
    }
    if !results.rows.is_empty() {
        names.push(("cases", "all cases"));
        sections.push_str(&cases::section(results));
    }
    let mut page = head::begin(STYLE);
    head::header(&mut page, results, &names);
    page.push_str(&findings::section(results));
    page.push_str(&sections);
    let _ = writeln!(page, "</main><script>{SCRIPT}</script></body></html>");
    Ok(page)
}

/// Adds a section of plots, unless `section` is `None`.
fn chart(
    page: &mut String,
    names: &mut Vec<(&'static str, &'static str)>,
    section: Option<charts::Section>,
) {
    if let Some(section) = section {
        names.push((section.id, section.id));
        page.push_str(&section.html);
    }
}

fn section(page: &mut String, results: &Results, table: &Table) -> Result<()> {
    heading(page, table.name, &table.title);
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
        "roofline" => page.push_str(&charts::roofline(results)?),
        _ => {}
    }
    page.push_str(&table::html(table));
    Ok(())
}

fn heading(page: &mut String, id: &str, title: &str) {
    let _ = write!(page, "<h2 id=\"{id}\">{}</h2>", escape(title));
}

/// Escapes text for HTML, also for the value of an attribute in double quotes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::table::Line;
    use crate::measure::environment::Environment;
    use crate::model::example;

    fn results() -> Results {
        let mut results = Results::new(Environment::observe(None));
        results.put(example("bloom", "12-bit", None, 2.0));
        results.put(example("bloom", "12-bit", Some("fastbloom"), 9.0));
        results.put(example("quotient", "r8-95%-of-1Mi", None, 9.0));
        results
    }

    #[test]
    fn the_page_is_whole_and_fetches_nothing() {
        let page = render(&results(), None, &[]).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        for fetched in ["src=", "href=\"http", "url(", "@import", "<link"] {
            assert!(!page.contains(fetched), "{fetched}");
        }
        for id in ["findings", "throughput", "loads", "rates", "misses", "cases", "environment"] {
            assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
            assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
        }
    }

    #[test]
    fn every_link_leads_to_one_element_of_the_page() {
        let page = render(&results(), None, &[]).unwrap();
        for link in page.split("href=\"#").skip(1) {
            let id = link.split('"').next().unwrap();
            assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
        }
    }

    #[test]
    fn an_empty_run_has_a_report() {
        assert!(render(&Results::new(Environment::observe(None)), None, &[]).is_ok());
    }

    #[test]
    fn names_and_facts_of_a_run_are_escaped() {
        let mut results = results();
        results.put(example("<script>", "12-bit", Some("</script><b onclick=\"x\">"), 2.0));
        let facts = &mut results.environment.facts;
        facts.iter_mut().find(|fact| fact.name == "cpu").unwrap().value = "<i>".into();
        let line = Line { cells: vec!["<u>".into()], is_rival: false };
        let (title, header, rows) = ("<u>".into(), vec!["<u>, M/s".into()], vec![line]);
        let machines = Table { name: "machines", title, header, rows, words: 1 };
        let page = render(&results, None, &[machines]).unwrap();
        assert_eq!(page.matches("<script>").count(), 1);
        assert!(!page.contains("<b onclick") && !page.contains("<i>") && !page.contains("<u>"));
        assert_eq!(escape("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
    }
}
