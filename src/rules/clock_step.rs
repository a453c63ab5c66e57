//! `clock-step`: the machine's clock was set while the kubelet ran.
//!
//! Kubelets of 1.9 and later measure the PLEG's lag with a clock that no step touches (Go 1.9's monotonic one), so this
//! never explains a lag; it explains a node called Unknown, leases and certificates, and times in a log that make no
//! sense. A clock that was set while all was well is not worth a word.

use super::{Bearing, Rule, clock, distinct, lines::Lines, node};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Variant},
    kubelet::{
        event::{Event, Kind},
        summary::{Log, PAUSE, Step},
    },
    syntax::{duration, time::Time},
};
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "clock-step",
    title: "The machine's clock was set",
    explains: false,
    bearing: Bearing {
        // A certificate is over, or not valid yet, by the clock alone; all else it only may explain.
        behind: &["not-pleg"],
        shows: |step, other| {
            [step, other]
                .iter()
                .all(|it| it.variant == Variant::ExpiredCertificate)
        },
        feeds: &["not-pleg"],
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/clock-step.md"),
    check,
};

/// Go's words of a certificate whose time has not come or is over (crypto/x509/verify.go).
pub(super) const EXPIRED: &str = "certificate has expired or is not yet valid";
/// A smaller step harms nobody: a node's lease lasts for 40 s and is renewed every 10 s.
const NOTABLE: f64 = 10.0;
/// Two sources speak of one step if they are no further apart, beyond the step itself.
const NEAR: TimeDelta = TimeDelta::minutes(5);

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    let told = told(evidence, log);
    if told.is_empty() && log.steps.is_empty() {
        return Vec::new();
    }
    let consequences = consequences(evidence, log, &told);
    vec![tell(evidence, log, &told, &consequences)]
}

/// Returns the lines of the programs that set the clock which matter: by much, or, where they do not say by how much, in
/// or before some trouble.
fn told<'a>(evidence: &'a Evidence, log: &Log) -> Lines<'a> {
    let all = Lines::of(evidence, &[Kind::ClockStepped]);
    let notable = all.0.into_iter().filter(|group| {
        let both = [&group.first, &group.last];
        let known = both.iter().any(|event| event.detail.is_some());
        match known {
            true => both
                .iter()
                .any(|event| seconds(event).is_some_and(|by| by.abs() >= NOTABLE)),
            false => is_near_trouble(evidence, log, group.first.at, group.last.at),
        }
    });
    Lines(notable.collect())
}

/// Returns by how many seconds the clock was set, where the line tells.
fn seconds(event: &Event) -> Option<f64> {
    let text = event.detail.as_deref()?.strip_suffix(" s")?;
    text.parse().ok()
}

/// Returns the lines that a step explains: the node's reports fail, or the node controller misses them.
fn reports(evidence: &Evidence) -> Lines<'_> {
    let kinds = [
        Kind::LeaseUpdateFailed,
        Kind::NodeStatusUpdateFailed,
        Kind::ReadyCondition,
    ];
    let unknown = |event: &Event| event.detail.as_deref() == Some("NodeStatusUnknown");
    let lines = Lines::of(evidence, &kinds).0.into_iter();
    Lines(
        lines
            .filter(|group| group.last.kind != Kind::ReadyCondition || unknown(&group.last))
            .collect(),
    )
}

fn is_near_trouble(
    evidence: &Evidence,
    log: &Log,
    first: Option<Time>,
    last: Option<Time>,
) -> bool {
    let Some((first, last)) = first.zip(last) else {
        return false;
    };
    let within = |from: Time, to: Time| from - PAUSE <= last && first <= to + PAUSE;
    let unhealthy = log
        .incidents
        .iter()
        .any(|it| within(it.start, it.end.unwrap_or(it.last_line)));
    unhealthy
        || reports(evidence)
            .spans()
            .iter()
            .any(|&(from, to)| within(from, to))
}

/// Returns the failed reports that begin within minutes after a step.
fn consequences<'a>(evidence: &'a Evidence, log: &Log, told: &Lines) -> Lines<'a> {
    let moments: Vec<Time> = told
        .spans()
        .into_iter()
        .flat_map(|(first, last)| [first, last])
        .chain(log.steps.iter().filter_map(|step| step.after.time))
        .collect();
    let after = |time: Time| {
        moments
            .iter()
            .any(|&step| time >= step - NEAR && time - step <= PAUSE)
    };
    let lines = reports(evidence).0.into_iter();
    Lines(
        lines
            .filter(|group| group.first.at.is_some_and(after))
            .collect(),
    )
}

fn tell(evidence: &Evidence, log: &Log, told: &Lines, consequences: &Lines) -> Finding {
    let mut citations = told.cite(2);
    if let Some(step) = log.steps.first() {
        citations.extend([step.before.clone(), step.after.clone()]);
    }
    citations.extend(consequences.cite(2));
    let citations = distinct(citations);
    // A log's order alone accuses nobody.
    let harms = !told.is_empty() && !consequences.is_empty();
    Finding {
        id: RULE.id,
        variant: match harms && consequences.say(EXPIRED) {
            true => Variant::ExpiredCertificate,
            false => Variant::Plain,
        },
        title: title(log, told),
        severity: match harms {
            true => Severity::Warning,
            false => Severity::Info,
        },
        confidence: match is_agreed(log, told) {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        // A step is over in a moment; what it did may last.
        active: harms && consequences.are_recent(evidence, PAUSE) && consequences.go_on(evidence),
        explanation: explain(evidence, log, told, consequences),
        subjects: vec![node(evidence)],
        citations,
        remedies: remedies(),
        spans: Vec::new(),
    }
}

fn title(log: &Log, told: &Lines) -> String {
    let by = told
        .0
        .iter()
        .flat_map(|group| [&group.first, &group.last])
        .filter_map(seconds)
        .max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let back = log.steps.iter().map(|step| step.by).max();
    match (by, back) {
        (Some(by), _) => {
            let length = TimeDelta::milliseconds((by.abs().min(1e12) * 1000.0) as i64);
            format!(
                "{}: {} by {}",
                RULE.title,
                if by < 0.0 { "back" } else { "forward" },
                duration::human(length)
            )
        }
        (None, Some(back)) if told.is_empty() => {
            format!("The log's times go back by {}", duration::human(back))
        }
        (None, Some(back)) => format!("{}: back by {}", RULE.title, duration::human(back)),
        (None, None) => RULE.title.to_owned(),
    }
}

/// Returns whether the log's own times and another program speak of one step.
fn is_agreed(log: &Log, told: &Lines) -> bool {
    let same = |step: &Step| {
        let (before, after) = (step.before.time, step.after.time);
        told.spans().iter().any(|&(first, last)| {
            let near = |time: Time| {
                let by = |at: Option<Time>| at.is_some_and(|at| (at - time).abs() <= NEAR);
                by(before) || by(after)
            };
            near(first) || near(last)
        })
    };
    log.steps.iter().any(same)
}

fn explain(evidence: &Evidence, log: &Log, told: &Lines, consequences: &Lines) -> String {
    let mut text = Vec::new();
    if !told.is_empty() {
        text.push(format!(
            "The programs that keep the machine's clock say that it was set ({}, the last at {}).",
            told.counted(),
            clock(evidence, told.last())
        ));
    }
    if let Some(step) = log.steps.first() {
        text.push(format!(
            "After {} the log's times go on at {}{}",
            clock(evidence, step.before.time),
            clock(evidence, step.after.time),
            match told.is_empty() {
                true => ": the clock was set back, or the log was put together in another order.",
                false => ".",
            }
        ));
    }
    text.push("Kubelets since 1.9 measure the PLEG's lag with a clock that such a step does not touch, so it never explains that the PLEG is not healthy.".to_owned());
    text.push(match told.is_empty() || consequences.is_empty() {
        true => "It may explain a node that was called Unknown, leases that were not renewed and certificates that are not valid yet; durations that span it make no sense.".to_owned(),
        false if consequences.say(EXPIRED) => format!(
            "The kubelet's reports failed right then ({}): \"{EXPIRED}\", by the clock that was set. Set it right; where it is right now, renew the certificate.",
            consequences.counted()
        ),
        false => format!(
            "The kubelet's reports failed right then ({}): a step does explain a node that is called Unknown, leases that are not renewed, and certificates that are not valid yet.",
            consequences.counted()
        ),
    });
    text.join(" ")
}

fn remedies() -> Vec<Remedy> {
    vec![Remedy {
        title: "See whether the clock is right now, and who sets it".to_owned(),
        risk: Risk::Safe,
        command: "timedatectl; chronyc tracking || ntpq -p; journalctl -b --no-pager | grep -iE 'time has been changed|clock_step|was stepped' | tail".to_owned(),
        cost: "nothing; it only looks".to_owned(),
        actions: Vec::new(),
    }]
}
