//! `clean` for people: the plan before anything is done, and what became of it.
//!
//! All that is planned is shown, however long: what is not shown is not removed. Names come from whoever made the
//! containers, so whatever could command a terminal is made visible.

use super::layout::{laid_out, paragraph, visible};
use crate::finding::outcome::Status;
use crate::finding::plan::{CleanResult, Plan, Spared, Target, Unseen};
use crate::runtime::ContainerKind;
use crate::syntax::duration;
use crate::syntax::time::Time;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets::NOTHING};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::Write;

/// How many pods are named, and how many containers that are left alone; the rest is counted.
const MAX_NAMED: usize = 8;

/// Writes what is going to be removed as of `now`, what goes with it, and what stays.
///
/// # Errors
/// What `out` says.
pub fn plan(plan: &Plan, now: Time, width: u16, out: &mut dyn Write) -> io::Result<()> {
    if plan.targets.is_empty() {
        writeln!(out, "Nothing to remove.")?;
    } else {
        writeln!(
            out,
            "To remove: {}\n",
            counted(plan.targets.len(), "container")
        )?;
        writeln!(out, "{}", table(&plan.targets, now, width))?;
        write!(out, "{}", paragraph(&consequences(plan), 0, width))?;
    }
    if !plan.spared.is_empty() {
        write!(out, "{}", paragraph(&spared(plan), 0, width))?;
    }
    unseen(&plan.unseen, width, out)
}

/// Writes what became of each container, and the sum; where none was tried, only why; after a dry run or an empty
/// plan, only what else has to be said.
///
/// # Errors
/// What `out` says.
pub fn results(result: &CleanResult, width: u16, out: &mut dyn Write) -> io::Result<()> {
    if result.dry_run || result.plan.targets.is_empty() {
        return notes(result, width, out);
    }
    writeln!(out)?;
    if let Some(outcome) = result.untried() {
        let why = outcome.reason.as_deref().unwrap_or("not tried");
        return writeln!(out, "Nothing was removed: {}.", visible(why));
    }
    for (target, outcome) in result.results() {
        let word = match outcome.status {
            Status::Planned => "not tried",
            status => status.removal_word(),
        };
        let whole = match target.role {
            ContainerKind::Other => name(target),
            _ => format!("{} {}", pod(target), name(target)),
        };
        let whole = paragraph(&whole, 26, width);
        let id = target.id.short();
        write!(out, "{word:<10}  {id}  {}", whole.trim_start())?;
        if let Some(reason) = &outcome.reason {
            write!(out, "{}", paragraph(&visible(reason), 12, width))?;
        }
    }
    writeln!(out)?;
    notes(result, width, out)?;
    writeln!(out, "{}", sum(result))
}

/// Writes what else has to be said.
fn notes(result: &CleanResult, width: u16, out: &mut dyn Write) -> io::Result<()> {
    for note in &result.notes {
        write!(out, "{}", paragraph(&visible(note), 0, width))?;
    }
    Ok(())
}

fn table(targets: &[Target], now: Time, width: u16) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(["CONTAINER", "POD", "NAME", "STATE", "FOR"]);
    for target in targets {
        let age = target.since().map(|since| now - since);
        table.add_row([
            Cell::new(target.id.short()),
            Cell::new(pod(target)),
            Cell::new(name(target)),
            Cell::new(visible(target.state.as_str())),
            Cell::new(age.map_or_else(|| "?".to_owned(), duration::human))
                .set_alignment(CellAlignment::Right),
        ]);
    }
    let (id, age) = (0, 4);
    laid_out(&mut table, &[id, age], width)
}

fn pod(target: &Target) -> String {
    target
        .pod
        .as_ref()
        .map_or_else(|| "-".to_owned(), |pod| visible(&pod.to_string()))
}

fn name(target: &Target) -> String {
    match (target.role, &target.label) {
        (ContainerKind::Sandbox, _) => "(sandbox)".to_owned(),
        (ContainerKind::Container, Some(label)) => visible(label),
        _ => visible(&target.name),
    }
}

/// Says what is lost with the containers, and what is kept.
fn consequences(plan: &Plan) -> String {
    let logs: Vec<&Target> = plan.targets.iter().filter(|it| it.loses_logs()).collect();
    let pods: BTreeSet<String> = logs
        .iter()
        .filter_map(|it| it.pod.as_ref())
        .map(|pod| visible(&pod.to_string()))
        .collect();
    let lost = match (logs.len(), pods.len()) {
        (0, _) => "No logs are deleted.".to_owned(),
        (count, 0) => format!(
            "The logs of {} are deleted, too.",
            counted(count, "container")
        ),
        (count, _) => format!(
            "The logs of {} are deleted, too; kubectl logs will not show them any more for {}.",
            counted(count, "container"),
            some(&pods)
        ),
    };
    format!("{lost} Volumes are kept.")
}

fn some(names: &BTreeSet<String>) -> String {
    let first: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    match names.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {}", first.join(", "), counted(more, "other pod")),
    }
}

/// Says how many stay, and why.
fn spared(plan: &Plan) -> String {
    let mut counts: BTreeMap<Spared, usize> = BTreeMap::new();
    for &why in plan.spared.values() {
        *counts.entry(why).or_default() += 1;
    }
    let each: Vec<String> = counts
        .iter()
        .map(|(why, count)| {
            let why = match why {
                Spared::LivePod => "of running pods (--include-live-pods removes them)",
                Spared::NoPod => "of no pod (--include-non-pods removes them)",
                Spared::MayStart => "created less than 10 minutes ago",
                Spared::Young => "too recent for --older-than",
                Spared::InUse => "in use by a container that stays",
                Spared::Ambiguous => "whose ID is also another container's name",
            };
            format!("{count} {why}")
        })
        .collect();
    format!("Kept: {}.", each.join(", "))
}

fn unseen(unseen: &[Unseen], width: u16, out: &mut dyn Write) -> io::Result<()> {
    if unseen.is_empty() {
        return Ok(());
    }
    let them = counted(unseen.len(), "container");
    let intro = format!(
        "Left alone: {them} that could not be inspected. The listed state is not reliable."
    );
    write!(out, "{}", paragraph(&intro, 0, width))?;
    for it in unseen.iter().take(MAX_NAMED) {
        let name = format!("{}  {}", it.id.short(), visible(&it.name));
        let why = format!("listed as {}; {}", it.listed_state, it.why());
        write!(out, "{}", paragraph(&name, 2, width))?;
        write!(out, "{}", paragraph(&visible(&why), 16, width))?;
    }
    match unseen.len().saturating_sub(MAX_NAMED) {
        0 => Ok(()),
        more => writeln!(out, "  and {}", counted(more, "other")),
    }
}

/// Returns the last line: how many went, how many are left.
fn sum(result: &CleanResult) -> String {
    let all = result.outcomes.len();
    let removed = result.count(Status::Done);
    let others: Vec<String> = Status::OF_REMOVALS
        .iter()
        .filter(|&&status| status != Status::Done && result.count(status) > 0)
        .map(|&status| {
            let words = match status {
                Status::NotNeeded => "already gone",
                Status::Changed => "changed, not touched",
                Status::Planned => "not tried",
                other => other.removal_word(),
            };
            format!("{} {words}", result.count(status))
        })
        .collect();
    let of = format!("Removed {removed} of {}", counted(all, "container"));
    if others.is_empty() {
        format!("{of}.")
    } else {
        format!("{of}; {}.", others.join(", "))
    }
}

fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests;
