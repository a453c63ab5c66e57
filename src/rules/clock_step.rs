//! `clock-step`: the machine's clock was set while the kubelet ran.
//!
//! Kubelets of 1.9 and later measure the PLEG's lag with a clock that no step touches (Go 1.9's monotonic one), so this
//! never explains a lag; it explains a node called Unknown, leases and certificates, and times in a log that make no
//! sense. A clock that was set while all was well is not worth a word.

use super::support::answer::{Answer, Draft};
use super::support::case::Case;
use super::support::cite::distinct;
use super::support::log_lines::{EXPIRED, LogMatches};
use super::support::step;
use super::support::wording::clock;
use super::{Detection, Explains, Rule, Tier};
use crate::finding::{Severity, Variant};
use crate::kubelet::event::{Event, Kind};
use crate::kubelet::summary::{ClockStep, Group, Log, PAUSE};
use crate::syntax::duration;
use crate::syntax::time::Time;
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "clock-step",
    title: "The machine's clock was set",
    page: include_str!("../../docs/findings/clock-step.md"),
    explains: Explains::Nothing,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// A smaller step harms nothing: a node's lease lasts for 40 s and is renewed every 10 s.
const MIN_SECONDS: f64 = 10.0;
/// Two sources speak of one step if they are no further apart, beyond the step itself.
const NEAR: TimeDelta = TimeDelta::minutes(5);

fn evaluate(case: &Case) -> Answer {
    let Some(log) = case.log() else {
        return Answer::Silent;
    };
    let set = set(case, log);
    if set.is_empty() && log.clock_steps.is_empty() {
        return Answer::Silent;
    }
    let failed = reports(case).filter(|it| it.first.at.is_some_and(|at| follows(at, log, &set)));
    // A log's order alone proves no step.
    let harms = !set.is_empty() && !failed.is_empty();
    let severity = match harms {
        true => Severity::Warning,
        false => Severity::Info,
    };
    let steps = log.clock_steps.iter().take(1);
    let cited = set.cite(2).into_iter();
    let cited = cited.chain(steps.flat_map(|it| [it.before.clone(), it.after.clone()]));
    let lasts = failed.are_recent(case.evidence, PAUSE) && failed.go_on(case.evidence);
    Draft::new(severity, title(log, &set))
        .say(when(case, log, &set))
        .say("Kubelets since 1.9 measure the PLEG's lag with a clock that such a step does not touch, so it never explains that the PLEG is not healthy.")
        .say(effect(&set, &failed))
        .variant(match harms && failed.say(EXPIRED) {
            true => Variant::ExpiredCertificate,
            false => Variant::Plain,
        })
        // A step takes a moment; what it did may last.
        .active(harms && lasts)
        .confirmed_if(is_agreed(log, &set))
        .cite(distinct(cited.chain(failed.cite(2)).collect()))
        .steps([step::look(
            "See whether the clock is right now, and what sets it",
            "timedatectl; chronyc tracking || ntpq -p; journalctl -b --no-pager | grep -iE 'time has been changed|clock_step|was stepped' | tail",
        )])
        .keep_steps()
        .into()
}

/// The lines of programs that set the clock which matter: by much, or, where they do not say by how much, in or before some
/// trouble.
fn set<'a>(case: &Case<'a>, log: &Log) -> LogMatches<'a> {
    let is_notable = |group: &Group| {
        let both = [&group.first, &group.last];
        match both.iter().any(|event| event.detail.is_some()) {
            true => both
                .into_iter()
                .filter_map(seconds)
                .any(|by| by.abs() >= MIN_SECONDS),
            false => is_near_trouble(case, log, group),
        }
    };
    case.lines(&[Kind::ClockStepped]).filter(is_notable)
}

/// By how many seconds the clock was set, where the line says.
fn seconds(event: &Event) -> Option<f64> {
    event.detail.as_deref()?.strip_suffix(" s")?.parse().ok()
}

/// The lines that a step explains: the node's reports fail, or the node controller misses them.
fn reports<'a>(case: &Case<'a>) -> LogMatches<'a> {
    case.lines(&[
        Kind::LeaseUpdateFailed,
        Kind::NodeStatusUpdateFailed,
        Kind::ReadyCondition,
    ])
    .filter(|it| {
        it.last.kind != Kind::ReadyCondition
            || it.last.detail.as_deref() == Some("NodeStatusUnknown")
    })
}

fn is_near_trouble(case: &Case, log: &Log, group: &Group) -> bool {
    let Some((first, last)) = group.first.at.zip(group.last.at) else {
        return false;
    };
    let outages = log.incidents.iter();
    let outages = outages.map(|it| (it.start, it.end.unwrap_or(it.last_line)));
    let mut troubles = outages.chain(reports(case).spans());
    troubles.any(|(from, to)| from - PAUSE <= last && first <= to + PAUSE)
}

/// Whether a failure begins within minutes after a step.
fn follows(at: Time, log: &Log, set: &LogMatches) -> bool {
    let lines = set
        .spans()
        .into_iter()
        .flat_map(|(first, last)| [first, last]);
    let mut steps = lines.chain(log.clock_steps.iter().filter_map(|step| step.after.time));
    steps.any(|step| at >= step - NEAR && at - step <= PAUSE)
}

/// Whether the log's own times and another program speak of one step.
fn is_agreed(log: &Log, set: &LogMatches) -> bool {
    let spans = set.spans();
    let is_near = |step: &ClockStep| {
        let mut moments = [step.before.time, step.after.time].into_iter().flatten();
        moments.any(|at| {
            let near = |time: Time| (at - time).abs() <= NEAR;
            spans.iter().any(|&(first, last)| near(first) || near(last))
        })
    };
    log.clock_steps.iter().any(is_near)
}

fn title(log: &Log, set: &LogMatches) -> String {
    let groups = set.0.iter();
    let by = groups
        .flat_map(|group| [&group.first, &group.last])
        .filter_map(seconds);
    let by = by.max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let back = log
        .clock_steps
        .iter()
        .map(|step| step.by)
        .max()
        .map(duration::human);
    match (by, back) {
        (Some(by), _) => {
            let length = TimeDelta::milliseconds((by.abs().min(1e12) * 1000.0) as i64);
            let way = if by < 0.0 { "back" } else { "forward" };
            format!("{}: {way} by {}", RULE.title, duration::human(length))
        }
        (None, Some(back)) if set.is_empty() => format!("The log's times go back by {back}"),
        (None, Some(back)) => format!("{}: back by {back}", RULE.title),
        (None, None) => RULE.title.to_owned(),
    }
}

fn when(case: &Case, log: &Log, set: &LogMatches) -> String {
    let mut text = Vec::new();
    if !set.is_empty() {
        let (lines, last) = (set.counted(), clock(case.evidence, set.last()));
        text.push(format!(
            "The programs that keep the machine's clock say that it was set ({lines}, the last at {last})."
        ));
    }
    if let Some(step) = log.clock_steps.first() {
        let [before, after] = [&step.before, &step.after].map(|it| clock(case.evidence, it.time));
        let why = match set.is_empty() {
            true => ": the clock was set back, or the log was put together in another order.",
            false => ".",
        };
        text.push(format!(
            "After {before} the log's times continue at {after}{why}"
        ));
    }
    text.join(" ")
}

fn effect(set: &LogMatches, failed: &LogMatches) -> String {
    let lines = failed.counted();
    match set.is_empty() || failed.is_empty() {
        true => "It may explain a node that was called Unknown, leases that were not renewed and certificates that are not valid yet; durations that span it make no sense.".to_owned(),
        false if failed.say(EXPIRED) => format!(
            "The kubelet's reports failed right then ({lines}): \"{EXPIRED}\", by the clock that was set. Set it right; where it is right now, renew the certificate."
        ),
        false => format!(
            "The kubelet's reports failed right then ({lines}): a step does explain a node that is called Unknown, leases that are not renewed, and certificates that are not valid yet."
        ),
    }
}
