//! `evented-pleg`: the kubelet takes its runtime's events in place of most relists (feature gate `EventedPLEG`, off by
//! default since 1.26), which has bugs.
//!
//! The gate shows in the kubelet's settings, in lines that only such a kubelet logs, and in a threshold of 10 minutes in
//! place of 3.

use super::support::answer::{Absent, Answer, Draft};
use super::support::case::Case;
use super::support::cite::distinct;
use super::support::wording::display_name;
use super::support::{cite, step, subject};
use super::{Detection, Explains, Rule, Tier};
use crate::evidence::runtime_stack::is_other_than_docker;
use crate::finding::Severity;
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::incident::Incident;
use crate::kubelet::summary::PAUSE;
use crate::node::Settings;
use crate::runtime::{Container, ContainerKind, Runtime};
use chrono::TimeDelta;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "evented-pleg",
    title: "The kubelet uses the evented PLEG, which has known bugs",
    page: include_str!("../../docs/findings/evented-pleg.md"),
    explains: Explains::Nothing,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// What only a kubelet with the gate on logs.
const LINES: &[Kind] = &[
    Kind::EventedPlegFull,
    Kind::EventedPlegRetry,
    Kind::EventedPlegFallback,
    Kind::EventedPlegStream,
    Kind::EventedPlegBadEvent,
    Kind::EventedPlegDropped,
];
/// … of these, what shows that events are missed. A stream that broke once is opened again.
const MISSED: &[Kind] = &[
    Kind::EventedPlegFull,
    Kind::EventedPlegFallback,
    Kind::EventedPlegDropped,
];
/// Lines of a broken stream before it counts: the kubelet tries 5 times, then falls back.
const MIN_BROKEN: u64 = 5;
/// Status calls for one removed container before it is more than a race.
const MIN_CALLS: u64 = 3;
/// The PLEG's threshold with the gate on.
const THRESHOLD: TimeDelta = TimeDelta::minutes(10);

const SEE_GATE: &str = "ps -o args= -C kubelet | tr ' ' '\\n' | grep -A1 feature-gates; grep -n EventedPLEG /var/lib/kubelet/config.yaml";

fn evaluate(case: &Case) -> Answer {
    let settings = case.host().and_then(|host| host.kubelet_settings.as_ref());
    let set = settings.and_then(|it: &Settings| it.evented_pleg);
    let lines = case.lines(LINES);
    let mut incidents = case.log().into_iter().flat_map(|log| &log.incidents);
    let outage = incidents.find(|it| it.threshold == Some(THRESHOLD));
    if set != Some(true) && lines.is_empty() && outage.is_none() {
        return absent(case, set);
    }
    let calls = [Kind::ContainerStatusFailed, Kind::SandboxStatusFailed];
    let gone = case
        .failed(&calls, ErrorClass::NotFound)
        .filter(|group| group.count >= MIN_CALLS);
    let twins = case.evidence.listed().map(twins).unwrap_or_default();
    let misses_events =
        lines.number() >= MIN_BROKEN || lines.0.iter().any(|it| MISSED.contains(&it.first.kind));
    let harms = misses_events || !twins.is_empty() || !gone.is_empty();
    let severity = match harms {
        true => Severity::Warning,
        false => Severity::Info,
    };
    let sources = [
        set == Some(true),
        !lines.is_empty() || outage.is_some(),
        !twins.is_empty(),
    ];
    let gate_on = (set == Some(true)).then(|| {
        let text = "feature gate EventedPLEG=true".to_owned();
        cite::host(case.evidence, "kubelet settings", text)
    });
    let cited = lines.cite(3).into_iter();
    let cited = cited
        .chain(outage.map(|outage| outage.first.clone()))
        .chain(gone.cite(2))
        .chain(gate_on);
    let both = twins.iter().flat_map(|&(one, other)| [one, other]);
    Draft::new(severity, RULE.title)
        .say(match set {
            Some(true) => "The kubelet's feature gate EventedPLEG is on.",
            Some(false) => "The log is of a kubelet whose feature gate EventedPLEG was on; it is off now.",
            None => "Only a kubelet whose feature gate EventedPLEG is on logs this.",
        })
        .say("Such a kubelet learns of changes from its runtime's events, relists every 5 minutes only, and reports PLEG unhealthy after 10 minutes in place of 3. The gate is off by default: after a lost event the kubelet has a wrong picture of its pods.")
        .say(match misses_events {
            true => format!("Events were lost here: their stream broke, or the kubelet did not keep up ({}).", lines.counted()),
            false => String::new(),
        })
        .say(twins.first().map_or_else(String::new, |(one, other)| {
            let (one, other) = (display_name(&subject::container(one)), other.id.short());
            format!("{one} runs twice: as {other}, too.")
        }))
        .say(match gone.is_empty() {
            true => String::new(),
            false => format!("The kubelet keeps querying the status of removed containers ({}), one of its known bugs.", gone.counted()),
        })
        .say(if harms { "" } else { "No harm is seen." })
        // Where the setting was not seen, the last line decides.
        .active(set.unwrap_or_else(|| lines.are_recent(case.evidence, PAUSE)))
        .confirmed_if(sources.into_iter().filter(|&says| says).count() > 1)
        .cite(distinct(cited.collect()))
        .about(both.map(subject::container))
        .about([subject::node(case.evidence)])
        .steps([
            step::look("See where the gate is set", SEE_GATE),
            step::node(
                "Turn it off",
                "# EventedPLEG: false below featureGates (or in --feature-gates); then: systemctl restart kubelet",
                "the kubelet restarts; containers keep running",
            ),
        ])
        .into()
}

/// Docker sends a kubelet no events, so the gate is no question beside it.
fn absent(case: &Case, set: Option<bool>) -> Answer {
    if !is_other_than_docker(case.evidence) {
        return Answer::Silent;
    }
    let absent = Absent::unknown("it is not known whether the feature gate is on", SEE_GATE);
    let absent = match set {
        Some(false) => {
            absent.ruled_out("the feature gate EventedPLEG is off", &["kubelet settings"])
        }
        _ => absent,
    };
    absent.outage(has_short_threshold).into()
}

/// A kubelet that fell back from events has the short one, too, and relists as any other.
fn has_short_threshold(outage: &Incident) -> Option<String> {
    let reason = "the PLEG's threshold is that of a kubelet that relists each second; with events it is 10 minutes";
    (outage.threshold? < THRESHOLD).then(|| reason.to_owned())
}

/// The pods' containers that run twice.
fn twins(runtime: &Runtime) -> Vec<(&Container, &Container)> {
    let mut seen: BTreeMap<_, &Container> = BTreeMap::new();
    let mut twins = Vec::new();
    for container in runtime.told() {
        let runs = container.inspected.as_ref().is_some_and(|it| it.running);
        let name = container.labels.get("io.kubernetes.container.name");
        if let (ContainerKind::Container, true, Some(uid), Some(name)) =
            (container.kind, runs, &container.uid, name)
            && let Some(other) = seen.insert((uid, name), container)
        {
            twins.push((other, container));
        }
    }
    twins
}
