//! `diagnose --fix` for people: what is about to be done, before it is; what was done, with its proof, after.

use super::Style;
use super::layout::{cut, paragraph, visible};
use crate::finding::Risk;
use crate::finding::action::Action;
use crate::finding::outcome::{ActionRecord, Status};
use crate::remedy::fix;
use crate::remedy::fix::Step;
use crate::report::{Report, Verdict};
use crate::syntax::duration;
use std::io;
use std::io::Write;
use std::time::Duration;

/// ActionRecords of one kind and end that are told one by one; JSON has all.
const EACH: usize = 5;

/// Writes what a step does and costs. All of it, however long: what is not shown is not done.
///
/// # Errors
/// What `out` says.
pub fn step(
    step: &Step,
    confirm_after: Duration,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Of the others it is looked at right before whether they fit.
    let suspected = if step.is_guess() {
        " (only suspected)"
    } else {
        ""
    };
    let title = format!(
        "{} [{}], for {}{suspected}",
        step.title,
        risk(step.risk),
        step.finding
    );
    write!(out, "\n{}", paragraph(&visible(&title), 0, style.width))?;
    for action in &step.actions {
        // Never wrapped: it must survive being copied.
        writeln!(out, "  {}", visible(&action.describe()))?;
    }
    let cost = format!("cost: {}", step.cost);
    write!(out, "{}", paragraph(&visible(&cost), 2, style.width))?;
    let kills = |action: &Action| matches!(action, Action::EndProcess(_));
    if step.actions.iter().any(kills) {
        let first = format!(
            "first: another inspect is sent; nothing is killed unless it stays unanswered for {}",
            duration::spoken(confirm_after)
        );
        write!(out, "{}", paragraph(&first, 2, style.width))?;
    }
    if step.restarts() {
        let first = format!(
            "first: a second check, at least {} after the first; nothing is restarted unless it still asks for it",
            duration::spoken(confirm_after)
        );
        write!(out, "{}", paragraph(&first, 2, style.width))?;
    }
    Ok(())
}

/// Writes what was done, what was not, and how the node is now.
///
/// # Errors
/// What `out` says.
pub fn write(
    report: &Report,
    notes: &[String],
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let paint = |text: &str, code: &str| style.paint(text, code);
    if report.actions.is_empty() {
        let why = match fix::is_well(report) {
            true => "none needed.",
            false => "plegdoctor can carry out none of the steps above.",
        };
        return writeln!(out, "\n{}  {why}", paint("Actions", "1"));
    }
    writeln!(out, "\n{}", paint("Actions", "1"))?;
    let mut alike = 0;
    for (at, record) in report.actions.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| report.actions.get(at));
        alike = match before.is_some_and(|before| is_alike(before, record)) {
            true => alike + 1,
            false => 0,
        };
        let last = report
            .actions
            .get(at + 1)
            .is_none_or(|next| !is_alike(record, next));
        if alike < EACH {
            one(record, &paint, style, out)?;
        } else if last {
            writeln!(
                out,
                "  … and {} more like it (--format json has all)",
                alike + 1 - EACH
            )?;
        }
    }
    for note in notes {
        write!(out, "{}", paragraph(&visible(note), 2, style.width))?;
    }
    // Else it is as shown above.
    let tried = |record: &ActionRecord| {
        use Status::{AboveRisk, Declined, Interrupted, Planned, Suspected};
        !matches!(
            record.outcome.status,
            AboveRisk | Declined | Interrupted | Planned | Suspected
        )
    };
    if report.actions.iter().any(tried) {
        let color = match report.verdict {
            Verdict::Healthy | Verdict::Recovered => "1;32",
            Verdict::Problem => "1;31",
            Verdict::Unknown => "1;33",
        };
        let headline = report.headline;
        let indent = "Now  ".len() + headline.len() + 2;
        let text = paragraph(&visible(&report.summary), indent, style.width);
        let headline = paint(headline, color);
        write!(
            out,
            "\n{}  {headline}  {}",
            paint("Now", "1"),
            text.trim_start()
        )?;
    }
    Ok(())
}

fn is_alike(one: &ActionRecord, other: &ActionRecord) -> bool {
    one.title == other.title
        && one.finding == other.finding
        && one.outcome.status == other.outcome.status
        && one.action.word() == other.action.word()
}

fn one(
    record: &ActionRecord,
    paint: &dyn Fn(&str, &str) -> String,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (word, color) = match record.outcome.status {
        Status::Done => ("done", "32"),
        Status::Unproven => ("tried, not proved", "33"),
        Status::Failed => ("failed", "31"),
        Status::Changed => ("not done: the target changed", "33"),
        Status::NotNeeded => ("not needed", "32"),
        Status::Declined => ("not confirmed", "2"),
        Status::AboveRisk => ("not done: above --max-risk", "2"),
        Status::Suspected => (
            "not done: only suspected, and --yes does not restart for that",
            "33",
        ),
        Status::Interrupted => ("not done: interrupted", "33"),
        Status::Planned => ("would be done", "36"),
    };
    writeln!(
        out,
        "  {} [{}] · {}",
        visible(&record.title),
        risk(record.risk),
        paint(word, color)
    )?;
    // Never wrapped: it must survive being copied. Of a process the number does; its words were shown before.
    let told = visible(&record.action.describe());
    let room = usize::from(style.width).saturating_sub(4);
    match record.action {
        Action::EndProcess(_) => writeln!(out, "    {}", cut(&told, room))?,
        _ => writeln!(out, "    {told}")?,
    }
    let outcome = &record.outcome;
    let cost = Some(&record.cost).filter(|_| !outcome.status.has_acted());
    for (head, text) in [
        ("cost    ", cost),
        ("before  ", outcome.before.as_ref()),
        ("after   ", outcome.after.as_ref()),
        ("proof   ", outcome.proof.as_ref()),
        ("why     ", outcome.reason.as_ref()),
    ] {
        if let Some(text) = text {
            let text = paragraph(&visible(text), 4 + head.len(), style.width);
            write!(out, "    {head}{}", text.trim_start())?;
        }
    }
    Ok(())
}

fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Safe => "safe",
        Risk::Disruptive => "disruptive",
        Risk::Node => "affects the whole node",
    }
}

#[cfg(test)]
mod tests;
