//! The page of a published run, in Markdown: the machine, the plots, and all tables.

use crate::show::pictures::Picture;
use crate::show::tables;
use crate::store::results::Results;
use std::fmt::Write as _;

/// Returns the page. It shows the plots from files in its own directory.
pub(crate) fn render(results: &Results, pictures: &[Picture]) -> String {
    let mut page = format!("# Results on {}\n\n", results.environment.get("cpu"));
    page.push_str(
        "`trommel-perf report --publish` wrote this page, from the run whose data is in the files beside it: \
         [results.csv](results.csv), with a row for each case, [results.json](results.json), and \
         [env.json](env.json).\n\n\
         In the tables, a figure such as `175 ±2 %` is the median of repetitions, with their median absolute deviation \
         in per cent of it: half of the repetitions are within 2 %. *× rival* is our speed divided by that of a crate \
         that was measured in the same interleaved rounds. *Of roofline* is the number of cache lines read per second, \
         divided by the number of random cache lines that one core reads per second in as much memory. The width `r8` \
         means slots with remainders of 8 bits, and `f8` slots with fingerprints of 8 bits. `trommel-textbook` is a \
         quotient filter written to be read, not to be fast. \
         [perf/README.md](../../perf/README.md) explains the other columns.\n",
    );
    let tables = tables::all(results);
    let (environment, others): (Vec<_>, Vec<_>) =
        tables.iter().partition(|table| table.name == "environment");
    for table in environment {
        section(&mut page, &table.title, &table.to_markdown());
    }
    if !pictures.is_empty() {
        page.push_str("\n## Plots\n");
        for Picture { file, title, .. } in pictures {
            let _ = writeln!(page, "\n![{title}]({file})");
        }
    }
    for table in others {
        section(&mut page, &table.title, &table.to_markdown());
    }
    page
}

fn section(page: &mut String, title: &str, content: &str) {
    let _ = write!(page, "\n## {title}\n\n{content}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::environment::Environment;
    use crate::model::example;

    #[test]
    fn the_page_begins_with_the_machine_and_has_all_tables_and_plots() {
        let mut results = Results::new(Environment::observe(None));
        results.put(example("bloom", "12-bit", None, 2.0));
        let picture = Picture { file: "a.svg", title: "A".into(), svg: String::new() };
        let page = render(&results, &[picture]);
        let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
        assert!(headings[0].starts_with("# Results on "));
        assert_eq!(headings[1..3], ["## Machine and build", "## Plots"]);
        assert_eq!(headings.len(), 2 + tables::all(&results).len());
        assert!(page.contains("\n![A](a.svg)\n") && page.contains("| bloom |"));
    }
}
