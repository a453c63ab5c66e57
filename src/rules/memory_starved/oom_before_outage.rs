//! Memory that ran out before the lag began: what was killed for it, or starved, may be why a daemon hangs.
//!
//! The kubelet hears of it from the kernel, whose own lines may stand in the log, too: all are one source.

use super::steps;
use crate::evidence::Evidence;
use crate::finding::Severity;
use crate::kubelet::event::Kind;
use crate::kubelet::incident::Incident;
use crate::node::KernelKind;
use crate::rules::support::answer::Draft;
use crate::rules::support::case::Case;
use crate::rules::support::cite;
use crate::rules::support::log_lines::{LogMatches, lasts};
use crate::rules::support::wording::clock;
use crate::syntax::citation::Citation;
use crate::syntax::time::Time;
use chrono::TimeDelta;

/// So long before a lag it may still be behind it; and one process killed so long before may be.
const BEFORE: TimeDelta = TimeDelta::hours(1);
const CLOSELY: TimeDelta = TimeDelta::minutes(10);

/// When memory ran out, how often, and the lines that show it.
struct Storm {
    first: Time,
    last: Time,
    times: u64,
    /// What the kernel killed, where a line names it.
    killed: Vec<String>,
    citations: Vec<Citation>,
}

/// A killed daemon's socket refuses at once, and the lag counts from the relist right before.
const AT_ONCE: TimeDelta = TimeDelta::seconds(10);
/// So many of those that were killed are named.
const MAX_NAMED: usize = 3;

/// For the last outage, if memory ran out several times in the hour before it, or once shortly before.
pub(super) fn draft(case: &Case) -> Option<Draft> {
    let evidence = case.evidence;
    let outage = case.log()?.incidents.last()?;
    let storm = logged(evidence, outage).or_else(|| by_the_kernel(evidence, outage))?;
    if storm.times < 2 && outage.start - storm.last > CLOSELY {
        return None;
    }
    let (first, last) = (
        clock(evidence, Some(storm.first)),
        clock(evidence, Some(storm.last)),
    );
    let times = match storm.times {
        1 => format!("at {first}"),
        times if first == last => format!("{times} times at {first}"),
        times => format!("{times} times, {first} to {last}"),
    };
    let killed = match storm.killed.is_empty() {
        true => "killed processes for it".to_owned(),
        false => format!("killed {} for it", storm.killed.join(", ")),
    };
    let daemons = ["dockerd", "containerd", "crio"];
    let daemon = storm
        .killed
        .iter()
        .find(|it| daemons.contains(&it.as_str()));
    let why = match daemon {
        Some(daemon) => format!("{daemon} is the runtime's daemon: without it each call fails."),
        None => "What was killed, or had to wait for memory, may be why calls to the runtime hang."
            .to_owned(),
    };
    let began = clock(evidence, Some(outage.start));
    let active = outage.ongoing && lasts(evidence, Some(outage.last_line));
    Some(
        Draft::new(
            Severity::Warning,
            "The machine ran out of memory before the lag began",
        )
        .active(active)
        .say(format!(
            "The machine ran out of memory and the kernel {killed} ({times}); the lag began at {began}. {why}"
        ))
        .cite(storm.citations)
        .span((storm.first, outage.last_line))
        .steps(steps()),
    )
}

fn logged(evidence: &Evidence, outage: &Incident) -> Option<Storm> {
    let matches = |kind| {
        let mut lines = LogMatches::of(evidence, &[kind]);
        lines.0.retain(|group| {
            let ends = group.last.at.is_some_and(|at| at >= outage.start - BEFORE);
            let begins = |at| at <= outage.start + AT_ONCE;
            ends && group.first.at.is_some_and(begins)
        });
        lines
    };
    // The kernel names whom it killed; and each kill is one, though the kubelet speaks of it, too.
    let lines = Some(matches(Kind::OutOfMemory)).filter(|lines| !lines.is_empty());
    let lines = lines.unwrap_or_else(|| matches(Kind::SystemOom));
    let mut killed: Vec<_> = lines
        .0
        .iter()
        .filter_map(|group| group.last.detail.clone())
        .filter(|_| lines.0.iter().all(|it| it.first.kind == Kind::OutOfMemory))
        .collect();
    killed.dedup();
    killed.truncate(MAX_NAMED);
    Some(Storm {
        first: lines.first()?,
        last: lines.last()?,
        times: lines.number(),
        killed,
        citations: lines.cite(3),
    })
}

fn by_the_kernel(evidence: &Evidence, outage: &Incident) -> Option<Storm> {
    let host = evidence.host.as_ref()?;
    let kills = host.kernel_lines.iter().filter_map(|line| {
        let ago = TimeDelta::from_std(line.ago?).ok()?;
        let at = evidence.now.with_timezone(outage.start.offset()) - ago;
        let near = at >= outage.start - BEFORE && at <= outage.start;
        (near && line.kind == KernelKind::OutOfMemory).then_some((at, line))
    });
    let kills: Vec<_> = kills.collect();
    let cite = |(_, line): &(Time, &crate::node::KernelLine)| {
        cite::host(evidence, "kernel", line.text.clone())
    };
    Some(Storm {
        first: kills.iter().map(|(at, _)| *at).min()?,
        last: kills.iter().map(|(at, _)| *at).max()?,
        times: u64::try_from(kills.len()).ok()?,
        killed: Vec::new(),
        citations: kills.iter().take(3).map(cite).collect(),
    })
}
