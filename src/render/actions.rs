//! `diagnose --fix` for people: what is about to be done, before it is; what was done, with its proof, after.

use super::{
    Style,
    layout::{cut, paragraph, visible},
};
use crate::{
    finding::{
        Risk,
        action::Action,
        outcome::{Deed, Fate},
    },
    remedy::fix::{self, Step},
    report::{Report, Verdict},
    syntax::duration,
};
use std::{
    io::{self, Write},
    time::Duration,
};

/// Deeds of one kind and end that are shown one by one; JSON has all.
const MAX_ALIKE: usize = 5;

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
        writeln!(out, "  {}", visible(&action.told()))?;
    }
    let cost = format!("cost: {}", step.cost);
    write!(out, "{}", paragraph(&visible(&cost), 2, style.width))?;
    let kills = |action: &Action| matches!(action, Action::EndProcess(_));
    if step.actions.iter().any(kills) {
        let first = format!(
            "first: one more inspect, waiting up to {}; if it responds, nothing is killed",
            duration::spoken(confirm_after)
        );
        write!(out, "{}", paragraph(&first, 2, style.width))?;
    }
    if step.restarts() {
        let first = format!(
            "first: a second check, at least {} after the first; if the restart is no longer needed, nothing is restarted",
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
        let why = if fix::is_well(report) {
            "nothing to do."
        } else {
            "plegdoctor cannot do any of the above automatically."
        };
        return writeln!(out, "\n{}  {why}", paint("Actions", "1"));
    }
    writeln!(out, "\n{}", paint("Actions", "1"))?;
    let mut alike = 0;
    for (at, deed) in report.actions.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| report.actions.get(at));
        alike = if before.is_some_and(|before| is_alike(before, deed)) {
            alike + 1
        } else {
            0
        };
        let last = report
            .actions
            .get(at + 1)
            .is_none_or(|next| !is_alike(deed, next));
        if alike < MAX_ALIKE {
            one(deed, &paint, style, out)?;
        } else if last {
            writeln!(
                out,
                "  … and {} more like it (--format json has all)",
                alike + 1 - MAX_ALIKE
            )?;
        }
    }
    for note in notes {
        write!(out, "{}", paragraph(&visible(note), 2, style.width))?;
    }
    // Else the report above still holds.
    let tried = |deed: &Deed| {
        use Fate::{AboveRisk, Declined, Interrupted, Planned, Suspected};
        !matches!(
            deed.ending.fate,
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

fn is_alike(one: &Deed, other: &Deed) -> bool {
    one.title == other.title
        && one.finding == other.finding
        && one.ending.fate == other.ending.fate
        && one.action.word() == other.action.word()
}

fn one(
    deed: &Deed,
    paint: &dyn Fn(&str, &str) -> String,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (word, color) = match deed.ending.fate {
        Fate::Done => ("done", "32"),
        Fate::Unproven => ("tried, not verified", "33"),
        Fate::Failed => ("failed", "31"),
        Fate::Changed => ("not done, state has changed", "33"),
        Fate::NotNeeded => ("not needed", "32"),
        Fate::Declined => ("not confirmed", "2"),
        Fate::AboveRisk => ("not done, above --max-risk", "2"),
        Fate::Suspected => (
            "not done: only suspected, and --yes restarts nothing on suspicion",
            "33",
        ),
        Fate::Interrupted => ("not done, interrupted", "33"),
        Fate::Planned => ("would be done", "36"),
    };
    writeln!(
        out,
        "  {} [{}] · {}",
        visible(&deed.title),
        risk(deed.risk),
        paint(word, color)
    )?;
    // Never wrapped: it must survive being copied. Of a process the number does; its words were shown before.
    let action = visible(&deed.action.told());
    let room = usize::from(style.width).saturating_sub(4);
    match deed.action {
        Action::EndProcess(_) => writeln!(out, "    {}", cut(&action, room))?,
        _ => writeln!(out, "    {action}")?,
    }
    let ending = &deed.ending;
    let cost = Some(&deed.cost).filter(|_| !ending.fate.acted());
    for (head, text) in [
        ("cost    ", cost),
        ("before  ", ending.before.as_ref()),
        ("after   ", ending.after.as_ref()),
        ("proof   ", ending.proof.as_ref()),
        ("why     ", ending.reason.as_ref()),
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
