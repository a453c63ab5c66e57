//! The report for people: readable at 80 columns, in a pipe, without colour.

mod cells;
mod exclusions;
mod timeline;

use super::layout::{brief, cut, cut_middle, laid_out, paragraph, visible};
use super::{Style, layout, sources};
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity};
use crate::io::probe::Outcome;
use crate::kubelet::incident::{Incident, Shape};
use crate::report::{Report, Role, Verdict};
use crate::rules;
use crate::syntax::citation::Citation;
use crate::syntax::duration;
use crate::syntax::time::Time;
use cells::{inspected, listed, name};
use chrono::TimeDelta;
use comfy_table::{Attribute, Cell, Table};
use std::io::{self, Write};

/// Citations shown for each finding; JSON has all.
const MAX_CITATIONS: usize = 5;
/// Containers shown; JSON has all that matter.
const MAX_CONTAINERS: usize = 40;
/// Logs shown, and what could not be seen; JSON has all.
const MAX_ITEMS: usize = 40;
/// Columns that a quoted line needs.
const MIN_QUOTE: usize = 20;
/// Columns of the lag's bar.
const BAR: i64 = 16;

/// Writes the report.
///
/// # Errors
/// What `out` says.
pub fn write(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let page = Page { report, style };
    page.verdict(out)?;
    for (index, finding) in report.findings.iter().enumerate() {
        page.finding(finding, report.roles.get(index), out)?;
    }
    page.incidents(out)?;
    page.timeline(out)?;
    page.exclusions(out)?;
    page.containers(out)?;
    page.sources(out)?;
    page.more(out)
}

struct Page<'a> {
    report: &'a Report,
    style: Style,
}

impl Page<'_> {
    fn verdict(&self, out: &mut dyn Write) -> io::Result<()> {
        let color = match self.report.verdict {
            Verdict::Healthy | Verdict::Recovered => "1;32",
            Verdict::Problem => "1;31",
            Verdict::Unknown => "1;33",
        };
        let headline = self.report.headline;
        let text = paragraph(
            &visible(&self.report.summary),
            headline.len() + 2,
            self.style.width,
        );
        write!(
            out,
            "{}  {}",
            self.paint(headline, color),
            text.trim_start()
        )
    }

    fn finding(
        &self,
        finding: &Finding,
        role: Option<&Role>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (word, color) = match finding.severity {
            Severity::Critical => ("critical", "31"),
            Severity::Warning => ("warning", "33"),
            Severity::Info => ("info", "36"),
        };
        let confidence = match finding.confidence {
            Confidence::Confirmed => "confirmed",
            Confidence::Suspected => "suspected",
        };
        let over = if finding.active { "" } else { " · resolved" };
        let dot = self.paint("●", if finding.active { color } else { "2" });
        writeln!(
            out,
            "\n{dot} {}  {} · {confidence}{over}{}",
            self.paint(word, color),
            self.paint(finding.id, "1"),
            self.role(role)
        )?;
        write!(
            out,
            "{}",
            paragraph(
                &visible(&self.explained(finding, role)),
                2,
                self.style.width
            )
        )?;
        self.citations(&finding.citations, out)?;
        let Some(Role::Consequence { of }) = role else {
            return self.remedies(&finding.remedies, out);
        };
        // A symptom is no reason to restart anything: its cause is fixed elsewhere.
        let is_safe = |remedy: &&Remedy| remedy.risk == Risk::Safe;
        let safe: Vec<Remedy> = finding.remedies.iter().filter(is_safe).cloned().collect();
        self.remedies(&safe, out)?;
        if safe.len() < finding.remedies.len() {
            let text = format!("Go further only if this persists after {of} is fixed.");
            write!(out, "{}", paragraph(&text, 4, self.style.width))?;
        }
        Ok(())
    }

    fn citations(&self, citations: &[Citation], out: &mut dyn Write) -> io::Result<()> {
        let place = |citation: &Citation| match citation.line {
            Some(line) => format!("{}:{line}", base(&citation.source)),
            None => citation.source.to_string(),
        };
        let places: Vec<_> = citations.iter().take(MAX_CITATIONS).map(place).collect();
        let widest = places
            .iter()
            .map(|place| place.chars().count())
            .max()
            .unwrap_or(0)
            .min(34);
        for (citation, place) in citations.iter().zip(&places) {
            let time = match citation.time {
                Some(time) if !citation.is_call => format!("{}  ", self.clock(time)),
                _ => String::new(),
            };
            let place = visible(&cut(place, 34));
            let start = format!("    {place:widest$}  {time}");
            let width = usize::from(self.style.width);
            let mut room = width.saturating_sub(start.chars().count());
            // Where little room is left for it, the text stands below.
            if room < MIN_QUOTE {
                room = width.saturating_sub(6);
                write!(out, "{}\n      ", start.trim_end())?;
            } else {
                write!(out, "{start}")?;
            }
            writeln!(
                out,
                "{}",
                cut_middle(&visible(&brief(&citation.text)), room)
            )?;
        }
        match citations.len().saturating_sub(MAX_CITATIONS) {
            0 => Ok(()),
            more => writeln!(out, "    … and {more} more (--format json has all)"),
        }
    }

    fn remedies(&self, remedies: &[Remedy], out: &mut dyn Write) -> io::Result<()> {
        if remedies.is_empty() {
            return Ok(());
        }
        writeln!(out, "  {}", self.paint("What to do, mildest first", "1"))?;
        for (index, remedy) in remedies.iter().enumerate() {
            let risk = match remedy.risk {
                Risk::Safe => "",
                Risk::Disruptive => " [disruptive]",
                Risk::Node => " [affects the whole node]",
            };
            let title = format!("{}. {}{risk}", index + 1, remedy.title);
            write!(out, "{}", paragraph(&visible(&title), 4, self.style.width))?;
            // Never wrapped: it must survive being copied.
            writeln!(
                out,
                "       {}",
                self.paint(&visible(&remedy.command), "36")
            )?;
            // What costs nothing needs no word on its cost; what is left is how to read it.
            let cost = match remedy.cost.strip_prefix("nothing") {
                Some(rest) if rest.is_empty() || rest.starts_with("; ") => {
                    rest.trim_start_matches("; ").to_owned()
                }
                _ => format!("cost: {}", remedy.cost),
            };
            if !cost.is_empty() {
                let cost = paragraph(&visible(&cost), 7, self.style.width);
                write!(out, "{cost}")?;
            }
        }
        Ok(())
    }

    fn incidents(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.report.incidents.is_empty() {
            return Ok(());
        }
        let mut table = self.table(&[
            "Outages",
            "started",
            "lasted",
            "peak lag",
            "threshold",
            "shape",
            "",
        ]);
        let hidden = self.report.incidents.len().saturating_sub(20);
        for incident in self.report.incidents.iter().skip(hidden) {
            let lasted = match incident.end {
                Some(end) => duration::human(end - incident.start),
                None => "ongoing".to_owned(),
            };
            table.add_row([
                String::new(),
                self.clock(incident.start),
                lasted,
                duration::human(incident.peak_lag),
                incident
                    .threshold
                    .map_or_else(|| "-".to_owned(), duration::human),
                shape(incident),
                bar(incident),
            ]);
        }
        let all = [0, 1, 2, 3, 4, 5, 6];
        write!(out, "\n{}", laid_out(&mut table, &all, self.style.width))?;
        if hidden > 0 {
            writeln!(
                out,
                "  ({hidden} earlier outages not shown; --format json has all)"
            )
        } else {
            Ok(())
        }
    }

    fn containers(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.report.containers.is_empty() {
            return Ok(());
        }
        let mut table = self.table(&["Containers", "name", "listed as", "inspect", "took"]);
        for container in self.report.containers.iter().take(MAX_CONTAINERS) {
            let asked = !matches!(container.probe.outcome, Outcome::Gone | Outcome::NotProbed);
            let took = asked.then(|| rules::took(&container.probe));
            table.add_row([
                container.id.short().to_owned(),
                visible(&name(container)),
                visible(listed(container)),
                visible(&inspected(container)),
                took.unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        let (id, took) = (0, 4);
        write!(
            out,
            "\n{}",
            laid_out(&mut table, &[id, took], self.style.width)
        )?;
        match self.report.containers.len().saturating_sub(MAX_CONTAINERS) {
            0 => Ok(()),
            more => writeln!(out, "  ({more} more not shown; --format json has all)"),
        }
    }

    fn sources(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = self.report;
        let mut items: Vec<String> = report
            .sources
            .iter()
            .map(|source| self.source(source))
            .collect();
        hide(&mut items);
        items.extend(sources::items(report));
        items.extend(report.notes.iter().cloned());
        if items.is_empty() {
            items.push("nothing".to_owned());
        }
        let mut gaps: Vec<_> = report.gaps.iter().map(ToString::to_string).collect();
        hide(&mut gaps);
        if gaps.is_empty() {
            gaps.push("nothing".to_owned());
        }
        writeln!(out)?;
        self.listed("Looked at", &items, out)?;
        self.listed("Not seen ", &gaps, out)
    }

    /// Writes where more stands on what the headline is about.
    fn more(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(first) = self.report.findings.first() else {
            return Ok(());
        };
        let command = format!("plegdoctor explain {}", first.id);
        let (head, command) = (self.paint("Read more", "1"), self.paint(&command, "36"));
        writeln!(out, "{head}  {command}")
    }

    fn listed(&self, head: &str, items: &[String], out: &mut dyn Write) -> io::Result<()> {
        for (index, item) in items.iter().enumerate() {
            let text = paragraph(&visible(item), head.len() + 2, self.style.width);
            let head = if index == 0 {
                self.paint(head, "1")
            } else {
                " ".repeat(head.len())
            };
            write!(out, "{head}  {}", text.trim_start())?;
        }
        Ok(())
    }

    fn source(&self, source: &crate::kubelet::summary::Source) -> String {
        let span = match source.first.zip(source.last) {
            Some((first, last)) => format!(", {} to {}", self.clock(first), self.clock(last)),
            None if !source.of_kubelet => ", none from the kubelet".to_owned(),
            None => ", no timestamps".to_owned(),
        };
        let picked = if source.picked {
            "; found automatically: last 24 h, at most 1 GiB"
        } else {
            ""
        };
        // A klog line has neither year nor zone.
        let first = source.first.filter(|_| source.guessed_times);
        let guessed = first.map_or_else(String::new, |first| {
            let assumed = first.format("%Y, UTC%:z");
            format!("; log has no year or zone: assumed {assumed}")
        });
        format!(
            "{} ({} lines, {} bytes{span}{guessed}{picked})",
            source.name, source.lines, source.bytes
        )
    }

    fn table(&self, head: &[&str]) -> Table {
        let head = head
            .iter()
            .map(|cell| Cell::new(cell).add_attribute(Attribute::Bold));
        let mut table = layout::table(head, self.style.width);
        if self.style.color {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table
    }

    /// A moment as the log writes it, with the day where it is not today.
    fn clock(&self, time: Time) -> String {
        let today = self
            .report
            .generated_at
            .with_timezone(time.offset())
            .date_naive();
        let apart = today - time.date_naive();
        if apart.is_zero() {
            time.format("%H:%M:%S").to_string()
        } else if apart < TimeDelta::days(180) && apart > TimeDelta::days(-180) {
            time.format("%m-%d %H:%M:%S").to_string()
        } else {
            time.format("%Y-%m-%d %H:%M:%S").to_string()
        }
    }

    fn paint(&self, text: &str, code: &str) -> String {
        self.style.paint(text, code)
    }
}

/// Leaves out what is too much to read, and says how much that is.
fn hide(items: &mut Vec<String>) {
    let more = items.len().saturating_sub(MAX_ITEMS);
    if more > 0 {
        items.truncate(MAX_ITEMS);
        items.push(format!("… and {more} more (--format json has all)"));
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/')
        .next()
        .filter(|base| !base.is_empty())
        .unwrap_or(path)
}

fn shape(incident: &Incident) -> String {
    match incident.shape {
        Shape::Growing => "growing".to_owned(),
        Shape::Sawtooth if incident.rises > 1 => format!("sawtooth ×{}", incident.rises),
        Shape::Sawtooth => "sawtooth".to_owned(),
        Shape::Single => "single".to_owned(),
    }
}

/// The lag over time as a bar: eighths of the peak. Between two lines the lag rises a second each second,
/// from the moment that the last good relist began.
fn bar(incident: &Incident) -> String {
    const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let span = (incident.last_line - incident.start)
        .num_milliseconds()
        .max(1);
    let peak = incident.peak_lag.num_milliseconds().max(1);
    let lag_at = |time: Time| {
        let covers = |(at, lag): &&(Time, TimeDelta)| *at >= time && *at - *lag <= time;
        let sample = incident.samples.iter().find(covers);
        sample.map_or(0, |(at, lag)| (time - (*at - *lag)).num_milliseconds())
    };
    let column = |index: i64| {
        let lag = lag_at(incident.start + TimeDelta::milliseconds(span * (index + 1) / BAR));
        STEPS[usize::try_from((lag * 8 + peak - 1) / peak)
            .unwrap_or(0)
            .min(8)]
    };
    (0..BAR)
        .map(column)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_items_the_others_are_counted() {
        let items = |many: usize| -> Vec<String> {
            let mut items = (0..many).map(|n| n.to_string()).collect();
            hide(&mut items);
            items
        };
        assert_eq!(items(MAX_ITEMS).len(), MAX_ITEMS);
        let shown = items(5000);
        assert_eq!(shown.len(), MAX_ITEMS + 1);
        assert_eq!(shown[MAX_ITEMS], "… and 4960 more (--format json has all)");
    }
}
