//! `probe` for people: each call with its time, and what a relist of the kubelet would take.

use super::plain::{laid_out, paragraph, visible};
use crate::{
    io::probe::Outcome,
    kubelet::spread::human,
    rules::{count, probe_text, took},
    runtime::{
        Container, ContainerKind, Runtime,
        calls::{CallResult, Ending},
        relist::Relist,
    },
};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets::NOTHING};
use std::{
    io::{self, Write},
    time::Duration,
};

/// Calls shown unless all are asked for.
pub const ROWS: usize = 20;

/// Writes `rows` calls, the slowest first, and the relist's estimate.
///
/// # Errors
/// What `out` says.
pub fn write(runtime: &Runtime, rows: usize, width: u16, out: &mut dyn Write) -> io::Result<()> {
    let calls = runtime.calls();
    let answered = calls.iter().filter(|call| call.answered()).count();
    let version = runtime
        .version
        .as_deref()
        .map(|version| format!(" {version}"));
    let head = format!(
        "{answered} of {} answered, by Docker{} at {}",
        count(calls.len(), "call"),
        version.unwrap_or_default(),
        runtime.endpoint,
    );
    write!(out, "{}", paragraph(&visible(&head), 0, width))?;
    if runtime.ending() == Ending::Unasked {
        return write!(
            out,
            "{}",
            paragraph(&visible(&probe_text(&runtime.ping)), 0, width)
        );
    }
    write!(out, "\n{}", table(&calls, rows, width))?;
    let hidden = calls.len().saturating_sub(rows);
    if hidden > 0 {
        writeln!(
            out,
            "({hidden} that answered no slower are left out; --all shows them)"
        )?;
    }
    relist(runtime, &runtime.relist(), width, out)
}

fn table(calls: &[CallResult<'_>], rows: usize, width: u16) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(["CALL", "CONTAINER", "NAME", "LISTED AS", "TIME"]);
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
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
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
        Outcome::Gone if call.container.is_some() => "gone since".to_owned(),
        Outcome::NotProbed => call
            .probe
            .error
            .clone()
            .unwrap_or_else(|| "not asked".to_owned()),
        _ => match &call.probe.error {
            Some(error) if call.probe.outcome != Outcome::TimedOut => error.clone(),
            _ => probe_text(call.probe),
        },
    }
}

fn relist(runtime: &Runtime, relist: &Relist, width: u16, out: &mut dyn Write) -> io::Result<()> {
    let told = |whole: bool, time: Duration| {
        let least = if whole { "" } else { "at least " };
        format!("{least}{}", human(time.as_secs_f64()))
    };
    let lasts = |time| told(relist.is_whole(), time);
    let mut lines = vec![(
        told(relist.listed, relist.lists),
        "where no pod changed: a list of sandboxes and one of containers".to_owned(),
    )];
    if let Some(pod) = &relist.slowest {
        let name = pod.name.as_ref().map(|name| format!(" {name}"));
        lines.push((
            lasts(relist.one_changed()),
            format!(
                "where only pod{} changed, the slowest: and the status of {}",
                name.unwrap_or_default(),
                count(pod.containers, "container")
            ),
        ));
        lines.push((
            lasts(relist.all_changed()),
            format!(
                "where all changed, as at a start: {} of {}, one after the other",
                count(relist.asked, "status").replace("statuss", "statuses"),
                count(relist.pods, "pod")
            ),
        ));
    }
    writeln!(out, "\nA relist of the kubelet takes")?;
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
    if relist.slowest.is_none() && runtime.list.outcome == Outcome::Answered {
        words.push("No container here is a pod's: the kubelet asks for none.".to_owned());
    }
    if relist.unanswered > 0 {
        words.push(format!(
            "{} no answer: a relist that makes such a call waits for the kubelet's own time-out, 2 minutes by default.",
            match relist.unanswered {
                1 => "1 of these calls gave".to_owned(),
                calls => format!("{calls} of these calls gave"),
            }
        ));
    }
    if relist.unknown > 0 {
        let unknown = count(relist.unknown, "call");
        words.push(format!("How long {unknown} would take is not known."));
    }
    words.push(
        "After 3 minutes without a list the PLEG is unhealthy. Ours were asked 16 at a time, which makes each slower than one after the other; two filtered lists for each changed pod are not counted."
            .to_owned(),
    );
    write!(out, "{}", paragraph(&words.join(" "), 0, width))
}
