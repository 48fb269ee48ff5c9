//! Writes the sections of plots, with legends and explanatory notes.

use super::{escape, heading};
use crate::base::format::short_count;
use crate::model::{Api, Op, Row, Workload, short_slots};
use crate::show::history::History;
use crate::show::plots::{Misses, RATES_AT_LOAD, Series, themed};
use crate::show::tables::label;
use crate::show::{plots, scaling};
use crate::store::results::Results;
use anyhow::Result;
use std::fmt::Write as _;

/// A section of plots.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) html: String,
}

/// A plot: its title, and the function that says whether the plot shows a row.
type Plot = (&'static str, fn(&Row) -> bool);

impl Section {
    fn new(id: &'static str, title: &str) -> Self {
        let mut html = String::new();
        heading(&mut html, id, title);
        Self { id, html }
    }

    fn note(&mut self, text: &str) {
        let _ = write!(self.html, "<p class=\"note\">{}</p>", escape(text));
    }
}

/// Adds a plot with its title. Adds nothing if the plot is empty.
fn figure(html: &mut String, title: &str, svg: &str) {
    figure_of(html, title, "", svg);
}

/// Adds a plot with its title. Adds nothing if the plot is empty. The label for screen readers also contains `subject`,
/// which the page shows only in the heading of the section.
fn figure_of(html: &mut String, title: &str, subject: &str, svg: &str) {
    if svg.is_empty() {
        return;
    }
    let label = format!("<svg role=\"img\" aria-label=\"{}{}\"", escape(title), escape(subject));
    let svg = themed(svg).replacen("<svg", &label, 1);
    let _ = write!(
        html,
        "<figure class=\"plot\"><figcaption>{}</figcaption>{svg}</figure>",
        escape(title)
    );
}

fn legend<'a>(html: &mut String, series: impl IntoIterator<Item = &'a Series>) -> Result<()> {
    html.push_str("<ul class=\"legend\">");
    for line in series {
        let sample =
            themed(&plots::sample(line.look)?).replacen("<svg", "<svg aria-hidden=\"true\"", 1);
        let _ = write!(html, "<li>{sample}{}</li>", escape(&line.label));
    }
    html.push_str("</ul>");
    Ok(())
}

/// Plots throughput by size, with the roofline.
pub(super) fn throughput(results: &Results) -> Result<Option<Section>> {
    fn lookups(row: &Row, workload: Workload) -> bool {
        row.case.is_plain() && row.case.is_lookup(workload) && is_preferred(row)
    }
    let plots: [Plot; 6] = [
        ("Lookups of absent keys", |row| lookups(row, Workload::Miss)),
        ("Lookups of present keys", |row| lookups(row, Workload::Hit)),
        ("Lookups, half of them present", |row| lookups(row, Workload::Mixed)),
        ("Lookups with hashing included", |row| {
            row.case.input_name().is_none() && row.case.hashing
        }),
        ("Inserts", |row| row.case.is_plain() && row.case.op == Op::Insert && is_preferred(row)),
        ("Builds", |row| row.case.is_plain() && row.case.op == Op::Build),
    ];
    let mut section = Section::new("throughput", "Throughput by size");
    section.note(
        "The heavy line is the roofline: the number of random 64-byte cache lines that one core read per second in as \
         much memory as the filters have. The line has a point for each number of keys: the median over the filters. \
         The random reads were interleaved with the operations of the filters. A filter that is larger than the \
         caches and reads one cache line per \
         lookup can hardly exceed the roofline. In the first two cache levels, the roofline is the speed of scalar \
         loads, which kernels that gather several keys per vector can exceed. Dotted vertical lines are at the sizes \
         of the caches.",
    );
    let all = plots::legend(results);
    if all.is_empty() {
        return Ok(None);
    }
    legend(&mut section.html, std::iter::once(&plots::roofline_line()).chain(&all))?;
    section.html.push_str("<div class=\"plots\">");
    for (title, wanted) in plots {
        let mut series = plots::throughput_series(results, wanted);
        if series.is_empty() {
            continue;
        }
        series.insert(0, plots::roofline_of(results, wanted));
        figure(
            &mut section.html,
            title,
            &plots::throughput(None, &results.environment.caches, &series)?,
        );
    }
    section.html.push_str("</div>");
    Ok(Some(section))
}

/// Whether a row is of a rival, or of batched calls of one of our filters.
fn is_preferred(row: &Row) -> bool {
    row.case.is_of_rival() || row.case.calls.api == Api::Batch
}

/// The legend and the plot of the roofline.
pub(super) fn roofline(results: &Results) -> Result<String> {
    let mut html = String::new();
    let series = plots::roofline_series(results);
    let svg = plots::roofline(&results.environment.caches, &series)?;
    if svg.is_empty() {
        return Ok(html);
    }
    html.push_str(
        "<p class=\"note\">Each curve shows one way to read cache lines: without prefetches, or with one of the \
         prefetch hints. Each mark shows how many cache lines per second one of our filters reads in batched lookups \
         of present keys.</p>",
    );
    legend(&mut html, &series)?;
    html.push_str("<div class=\"plots\">");
    figure(&mut html, "Cache lines read per second by working set", &svg);
    html.push_str("</div>");
    Ok(html)
}

/// Plots speed by threads, one plot per operation.
pub(super) fn threads(results: &Results) -> Result<Option<Section>> {
    let figures = scaling::figures(results);
    if figures.is_empty() {
        return Ok(None);
    }
    let mut section = Section::new("threads", "Throughput by threads");
    let mut shown: Vec<&Series> = Vec::new();
    for line in figures.iter().flat_map(|figure| &figure.series) {
        if !shown.iter().any(|known| known.label == line.label) {
            shown.push(line);
        }
    }
    legend(&mut section.html, shown)?;
    section.html.push_str("<div class=\"plots\">");
    for by_threads in &figures {
        let svg = plots::by_threads(None, &by_threads.series)?;
        figure(&mut section.html, &by_threads.title, &svg);
    }
    section.html.push_str("</div>");
    Ok(Some(section))
}

/// Plots throughput by load, one plot per family, size and operation of the sweep.
pub(super) fn loads(results: &Results) -> Result<Option<Section>> {
    const PLOTS: [Plot; 8] = [
        ("Lookups of present keys", |row| row.case.workload == Some(Workload::Hit)),
        ("Lookups of absent keys", |row| row.case.workload == Some(Workload::Miss)),
        ("Lookups, half of them present", |row| row.case.workload == Some(Workload::Mixed)),
        ("Inserts just below the load", |row| row.case.op == Op::Insert),
        ("Removals", |row| row.case.op == Op::Remove),
        ("Builds up to the load", |row| row.case.op == Op::Build),
        ("Merges of two halves", |row| row.case.op == Op::Merge),
        ("Enumerations", |row| row.case.op == Op::Enumerate),
    ];
    let mut fillings: Vec<_> = results
        .rows
        .iter()
        .filter_map(|row| row.case.filling())
        .map(|filling| (filling.family, filling.slots))
        .collect();
    fillings.sort_unstable();
    fillings.dedup();
    if fillings.is_empty() {
        return Ok(None);
    }
    let mut section = Section::new("loads", "Throughput by load");
    for (family, slots) in fillings {
        let is_it = |row: &Row| {
            row.case
                .filling()
                .is_some_and(|filling| (filling.family, filling.slots) == (family, slots))
        };
        let _ = write!(section.html, "<h3>{family}, {} slots</h3>", short_slots(slots));
        let shown: Vec<String> = results.rows.iter().filter(|row| is_it(row)).map(label).collect();
        let all = plots::load_legend(results);
        legend(&mut section.html, all.iter().filter(|line| shown.contains(&line.label)))?;
        section.html.push_str("<div class=\"plots\">");
        for (title, wanted) in PLOTS {
            let series = plots::load_series(results, |row| {
                let is_shown = is_preferred(row) || row.case.op == Op::Remove;
                is_it(row) && is_shown && wanted(row)
            });
            let subject = format!(", {family}, {} slots", short_slots(slots));
            figure_of(&mut section.html, title, &subject, &plots::by_load(None, &series)?);
        }
        section.html.push_str("</div>");
    }
    Ok(Some(section))
}

/// Plots counted false-positive rates together with the curves of the equations.
pub(super) fn rates(results: &Results) -> Result<Option<Section>> {
    let (points, curves) = (plots::rate_points(results), plots::rate_curves(results));
    if points.is_empty() {
        return Ok(None);
    }
    let mut section = Section::new("rates", "False-positive rate by bits per key");
    section.note(&format!(
        "Marks: rates counted on absent keys. Thin lines in the colours of our marks: the exact equations by which \
         filters are sized. Lines of Bloom filters assume the best number of hashes. Lines of filters with slots assume \
         {:.0} % load and have a corner at each slot width. The cache-line quotient filter has a single width, so its \
         line shows loads from 50 to 95 %. Other filters with slots have marks only at the load that the lines \
         assume. Counting filters, most of whose bits are counters, are not shown.",
        RATES_AT_LOAD * 100.0
    ));
    let is_ours = |line: &&Series| !line.look.is_rival();
    let parts: [(&str, Vec<Series>); 2] = [
        ("Ours", curves.iter().chain(points.iter().filter(is_ours)).cloned().collect()),
        ("With the rivals", curves.iter().chain(&points).cloned().collect()),
    ];
    legend(&mut section.html, &points)?;
    section.html.push_str("<div class=\"plots\">");
    let has_rivals = points.iter().any(|line| line.look.is_rival());
    for (title, series) in parts.iter().take(1 + usize::from(has_rivals)) {
        figure(
            &mut section.html,
            &format!("False-positive rate by bits per key: {}", title.to_lowercase()),
            &plots::rates(None, series)?,
        );
    }
    section.html.push_str("</div>");
    Ok(Some(section))
}

/// Plots cache misses per lookup, or adds a note that says why they could not be counted.
pub(super) fn misses(results: &Results) -> Result<Option<Section>> {
    if results.rows.is_empty() {
        return Ok(None);
    }
    let mut section = Section::new("misses", "Cache misses of a lookup");
    let mut drawn = String::new();
    let mut in_legend: Vec<plots::Series> = Vec::new();
    let mut has_note = false;
    for (workload, keys_are) in [(Workload::Miss, "absent"), (Workload::Hit, "present")] {
        let Some(misses) = plots::misses(results, workload) else {
            section.note(&why_none(results));
            return Ok(Some(section));
        };
        let title = format!("Misses per lookup of {keys_are} keys");
        let Misses { names, series, .. } = &misses;
        figure(&mut drawn, &title, &plots::by_name(None, "misses per lookup", names, series)?);
        if !has_note {
            section.note(&format!(
                "Source of the counts: {}. The lookups are in filters of {} keys.",
                misses.source,
                short_count(misses.keys)
            ));
            has_note = true;
        }
        for line in misses.series {
            if !in_legend.iter().any(|known| known.label == line.label) {
                in_legend.push(line);
            }
        }
    }
    legend(&mut section.html, &in_legend)?;
    let _ = write!(section.html, "<div class=\"plots\">{drawn}</div>");
    Ok(Some(section))
}

fn why_none(results: &Results) -> String {
    let why = results.no_counters.as_deref().map_or_else(
        || "this machine offered none when the run was made".to_owned(),
        |why| why.trim().to_owned(),
    );
    format!(
        "No cache misses were counted: the processor's counters could not be read ({why}). If the kernel lets \
         perf_event_open count (kernel.perf_event_paranoid of 2 or less), and the processor or the hypervisor has \
         the counters, the columns cache_misses_per_op, llc_misses_per_op and dtlb_misses_per_op are \
         filled and plotted here."
    )
}

/// Plots instructions or times by commit.
pub(super) fn history(history: &History) -> Result<String> {
    let (title, note) = match history {
        History::Counts(_) => (
            "Instructions by commit",
            "The instructions of each bench, compared with its instructions at the first commit at which the bench was \
             counted. Instructions are counted, not timed, so they do not depend on the load of the machine.",
        ),
        History::Speeds(_) => (
            "Times by commit",
            "The time of each case, compared with its time at the first commit at which it was measured. Each commit \
             was measured in alternation with an earlier commit on the same machine; the changes from commit to commit \
             are multiplied.",
        ),
    };
    let mut section = Section::new("history", title);
    section.note(note);
    let series = history.series();
    legend(&mut section.html, &series)?;
    section.html.push_str("<div class=\"plots\">");
    let svg = plots::by_step("commit", history.quantity(), &history.steps(), &series)?;
    let title = format!("Change of {} since the first commit", history.quantity());
    figure(&mut section.html, &title, &svg);
    section.html.push_str("</div>");
    Ok(section.html)
}
