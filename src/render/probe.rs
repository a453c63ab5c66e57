//! `probe` for people: each call with its time, and what a relist of the kubelet would take.

use super::layout::{self, laid_out, paragraph, visible};
use crate::io::probe::Outcome;
use crate::kubelet::histogram::human;
use crate::rules::{count, probe_text, took};
use crate::runtime::calls::{CallResult, Ending};
use crate::runtime::relist::Relist;
use crate::runtime::{Call, Container, ContainerKind, Runtime};
use comfy_table::{Cell, CellAlignment};
use std::io;
use std::io::Write;
use std::time::Duration;

/// Calls shown unless all are asked for.
pub const ROWS: usize = 20;

/// Writes `rows` calls, the slowest first, and the relist's estimate.
///
/// # Errors
/// What `out` says.
pub fn write(runtime: &Runtime, rows: usize, width: u16, out: &mut dyn Write) -> io::Result<()> {
    let calls = runtime.call_results();
    let answered = calls.iter().filter(|call| call.answered()).count();
    let version = runtime
        .versions
        .daemon
        .as_deref()
        .map(|version| format!(" {version}"));
    let head = format!(
        "{answered} of {} answered by Docker{} at {}",
        count(calls.len(), "call"),
        version.unwrap_or_default(),
        runtime.endpoint,
    );
    write!(out, "{}", paragraph(&visible(&head), 0, width))?;
    if runtime.ending() == Ending::Unasked {
        return write!(
            out,
            "{}",
            paragraph(&visible(&probe_text(runtime.probe(Call::Ping))), 0, width)
        );
    }
    write!(out, "\n{}", table(&calls, rows, width))?;
    let hidden = calls.len().saturating_sub(rows);
    if hidden > 0 {
        writeln!(out, "({hidden} more, none slower; --all shows them)")?;
    }
    relist(runtime, &runtime.relist(), width, out)
}

fn table(calls: &[CallResult<'_>], rows: usize, width: u16) -> String {
    let head = ["CALL", "CONTAINER", "NAME", "LISTED AS", "TIME"];
    let mut table = layout::table(head, width);
    for call in calls.iter().take(rows) {
        let of = |text: fn(&Container) -> String| call.container.map(text).unwrap_or_default();
        table.add_row([
            Cell::new(call.call),
            Cell::new(of(|container| container.id.short().to_owned())),
            Cell::new(of(name)),
            Cell::new(of(|container| visible(container.listed_state.as_str()))),
            Cell::new(visible(&time(call))).set_alignment(CellAlignment::Right),
        ]);
    }
    let (call, id, time) = (0, 1, 4);
    laid_out(&mut table, &[call, id, time], width)
}

fn name(container: &Container) -> String {
    let own = match container.kind {
        ContainerKind::Sandbox => "(sandbox)",
        _ => container
            .name
            .split('_')
            .nth(1)
            .filter(|_| container.name.starts_with("k8s_"))
            .unwrap_or(&container.name),
    };
    visible(&match &container.pod {
        Some(pod) => format!("{pod} {own}"),
        None => container.name.clone(),
    })
}

fn time(call: &CallResult<'_>) -> String {
    match call.probe.outcome {
        Outcome::Answered if call.probe.error.is_none() => took(call.probe),
        Outcome::Gone if call.container.is_some() => "removed meanwhile".to_owned(),
        Outcome::NotProbed => call
            .probe
            .error
            .clone()
            .unwrap_or_else(|| "not made".to_owned()),
        _ => match &call.probe.error {
            Some(error) if call.probe.outcome != Outcome::TimedOut => error.clone(),
            _ => probe_text(call.probe),
        },
    }
}

fn relist(runtime: &Runtime, relist: &Relist, width: u16, out: &mut dyn Write) -> io::Result<()> {
    let duration = |whole: bool, time: Duration| {
        let least = if whole { "" } else { "at least " };
        format!("{least}{}", human(time.as_secs_f64()))
    };
    let lasts = |time| duration(relist.is_whole(), time);
    let mut lines = vec![(
        duration(relist.listed, relist.lists),
        "if no pod changed: one list of sandboxes and one of containers".to_owned(),
    )];
    if let Some(pod) = &relist.slowest {
        let name = pod.name.as_ref().map(|name| format!(" {name}"));
        lines.push((
            lasts(relist.one_changed()),
            format!(
                "if only pod{} changed (the slowest): also the status of {}",
                name.unwrap_or_default(),
                count(pod.containers, "container")
            ),
        ));
        lines.push((
            lasts(relist.all_changed()),
            format!(
                "if all pods changed, as at startup: {} of {}, one after the other",
                count(relist.asked, "status").replace("statuss", "statuses"),
                count(relist.pods, "pod")
            ),
        ));
    }
    writeln!(out, "\nA kubelet relist takes")?;
    let wide = lines
        .iter()
        .map(|(time, _)| time.chars().count())
        .max()
        .unwrap_or(0);
    for (time, what) in lines {
        let what = paragraph(&visible(&what), wide + 4, width);
        write!(out, "  {time:<wide$}  {}", what.trim_start())?;
    }
    let mut words = Vec::new();
    if relist.slowest.is_none() && runtime.probe(Call::List).outcome == Outcome::Answered {
        words.push("No container belongs to a pod, so the kubelet inspects none.".to_owned());
    }
    if relist.unanswered > 0 {
        words.push(format!(
            "{} of these calls did not respond: a relist that makes such a call waits for the kubelet's own timeout, 2 minutes by default.",
            relist.unanswered
        ));
    }
    if relist.unknown > 0 {
        let unknown = count(relist.unknown, "call");
        words.push(format!("The duration of {unknown} is unknown."));
    }
    words.push(
        "After 3 minutes without a successful list the PLEG is unhealthy. These calls were made 16 at a time, so each is slower than in a relist, which makes one after the other; a relist's two filtered lists for each changed pod are not counted."
            .to_owned(),
    );
    write!(out, "{}", paragraph(&words.join(" "), 0, width))
}
