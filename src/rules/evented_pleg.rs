//! `evented-pleg`: the kubelet takes its runtime's events in place of most relists (feature gate `EventedPLEG`, off by
//! default since 1.26), which has bugs of its own.
//!
//! That the gate is on is seen in the kubelet's settings, in lines that only such a kubelet logs, and in a threshold of
//! 10 minutes in place of 3.

use super::{
    called, distinct, holders,
    lines::Lines,
    node,
    remedies::{is_other_than_docker, remedy},
    subject_of,
    support::old_form::{Bearing, Judged, OldRule as Rule, Scene},
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Variant},
    kubelet::{
        event::{ErrorClass, Kind},
        summary::PAUSE,
    },
    runtime::{Container, ContainerKind, Runtime},
    syntax::citation::Citation,
};
use chrono::TimeDelta;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "evented-pleg",
    title: "The kubelet relies on its runtime's events (EventedPLEG), which has bugs of its own",
    explains: false,
    bearing: Bearing {
        feeds: &["pleg-unexplained"],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/evented-pleg.md"),
    check,
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
/// … of these, what shows that events are missed. A stream that broke off once is asked for again.
const MISSED: &[Kind] = &[
    Kind::EventedPlegFull,
    Kind::EventedPlegFallback,
    Kind::EventedPlegDropped,
];
/// So many lines of a broken stream before it counts: the kubelet asks for it 5 times, then falls back.
const BROKEN: u64 = 5;
/// So many status calls for one container that is gone before it is more than a race.
const GONE: u64 = 3;
/// The PLEG's threshold with the gate on, and off.
const EVENTED_THRESHOLD: TimeDelta = TimeDelta::minutes(10);

/// Where the gate is set.
const WHERE: &str = "ps -o args= -C kubelet | tr ' ' '\\n' | grep -A1 feature-gates; grep -n EventedPLEG /var/lib/kubelet/config.yaml";

/// What shows that the gate is on, and what trouble there is.
struct Seen<'a> {
    /// What the kubelet's settings say of the gate.
    set: Option<bool>,
    lines: Lines<'a>,
    threshold: Option<&'a Citation>,
    /// Status calls for what is gone, repeated for one id.
    gone: Lines<'a>,
    /// Pairs of running containers of one name in one pod.
    twins: Vec<(&'a Container, &'a Container)>,
}

impl Seen<'_> {
    fn is_on(&self) -> bool {
        self.set == Some(true) || !self.lines.is_empty() || self.threshold.is_some()
    }

    fn misses_events(&self) -> bool {
        let kinds = |group: &&crate::kubelet::summary::Group| MISSED.contains(&group.first.kind);
        self.lines.0.iter().copied().any(|group| kinds(&group)) || self.lines.number() >= BROKEN
    }

    fn harms(&self) -> bool {
        self.misses_events() || !self.twins.is_empty() || !self.gone.is_empty()
    }
}

/// Docker sends a kubelet no events, so that nobody asks for the gate beside it.
fn judge(scene: &Scene) -> Judged {
    if !is_other_than_docker(scene.evidence) {
        return Judged::Unasked;
    }
    let settings = scene.host().and_then(|host| host.kubelet_settings.as_ref());
    if settings.is_some_and(|settings| settings.evented_pleg == Some(false)) {
        return Judged::out("the feature gate EventedPLEG is off", "kubelet settings");
    }
    let log = scene.evidence.log.as_ref();
    let threshold = scene.outage.and_then(|outage| outage.threshold);
    match (log, threshold) {
        // A kubelet that gave its runtime's events up has the short one, too, and relists as any other.
        (Some(log), Some(threshold)) if threshold < EVENTED_THRESHOLD => Judged::silent(
            log,
            "the PLEG's threshold is that of a kubelet that relists each second; with events it is 10 minutes",
        ),
        _ => scene.open("nobody tells whether the feature gate is on", WHERE),
    }
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let seen = look(evidence);
    if !seen.is_on() {
        return Vec::new();
    }
    vec![tell(evidence, &seen)]
}

fn look(evidence: &Evidence) -> Seen<'_> {
    let settings = evidence.host.as_ref();
    let settings = settings.and_then(|host| host.kubelet_settings.as_ref());
    let mut incidents = evidence.log.iter().flat_map(|log| &log.incidents);
    Seen {
        set: settings.and_then(|settings| settings.evented_pleg),
        lines: Lines::of(evidence, LINES),
        threshold: incidents
            .find(|incident| incident.threshold == Some(EVENTED_THRESHOLD))
            .map(|incident| &incident.first),
        gone: gone(evidence),
        twins: evidence.listed().map(twins).unwrap_or_default(),
    }
}

/// Returns the status calls for one container that is gone, where they are repeated.
fn gone(evidence: &Evidence) -> Lines<'_> {
    let calls = [Kind::ContainerStatusFailed, Kind::SandboxStatusFailed];
    let lines = Lines::failed(evidence, &calls, ErrorClass::NotFound);
    let repeated = lines.0.into_iter().filter(|group| group.count >= GONE);
    Lines(repeated.collect())
}

/// Returns the pods' containers that run twice.
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

fn tell(evidence: &Evidence, seen: &Seen) -> Finding {
    let harms = seen.harms();
    let mut citations = seen.lines.cite(3);
    citations.extend(seen.threshold.cloned());
    citations.extend(seen.gone.cite(2));
    if seen.set == Some(true) {
        citations.push(holders::cite(
            evidence,
            "kubelet settings",
            "feature gate EventedPLEG=true".to_owned(),
        ));
    }
    let twins = seen.twins.iter().flat_map(|(one, other)| [one, other]);
    let sources = [
        seen.set == Some(true),
        !seen.lines.is_empty() || seen.threshold.is_some(),
        !seen.twins.is_empty(),
    ];
    let sources = sources.into_iter().filter(|&says| says).count();
    // Where nobody tells the present setting, the last line does.
    let active = match seen.set {
        Some(on) => on,
        None => seen.lines.are_recent(evidence, PAUSE),
    };
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: RULE.title.to_owned(),
        severity: match harms {
            true => Severity::Warning,
            false => Severity::Info,
        },
        confidence: match sources > 1 {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        active,
        explanation: explain(seen),
        subjects: twins
            .map(|container| subject_of(container))
            .chain([node(evidence)])
            .collect(),
        citations: distinct(citations),
        remedies: if active { remedies() } else { Vec::new() },
        spans: Vec::new(),
    }
}

fn explain(seen: &Seen) -> String {
    let mut text = vec![match seen.set {
        Some(true) => "The kubelet's feature gate EventedPLEG is on.".to_owned(),
        Some(false) => {
            "The log is of a kubelet whose feature gate EventedPLEG was on; it is off now."
                .to_owned()
        }
        None => "Only a kubelet whose feature gate EventedPLEG is on logs this.".to_owned(),
    }];
    text.push("Such a kubelet learns from its runtime's events what changed, relists every 5 minutes only, and calls the PLEG unhealthy after 10 in place of 3; the gate is off by default, for an event that is lost leaves it with a wrong picture of its pods.".to_owned());
    if seen.misses_events() {
        text.push(format!(
            "Events were lost here: their stream broke off or was not taken in time ({}).",
            seen.lines.counted()
        ));
    }
    if let Some((one, other)) = seen.twins.first() {
        text.push(format!(
            "{} runs twice: {} does, too.",
            called(&subject_of(one)),
            other.id.short()
        ));
    }
    if !seen.gone.is_empty() {
        text.push(format!(
            "The kubelet goes on asking for the status of what is gone ({}), a known bug of it.",
            seen.gone.counted()
        ));
    }
    if !seen.harms() {
        text.push("No harm is seen.".to_owned());
    }
    text.join(" ")
}

fn remedies() -> Vec<Remedy> {
    vec![
        remedy(
            "See where the gate is set",
            Risk::Safe,
            WHERE,
            "nothing; it only looks",
        ),
        remedy(
            "Turn it off",
            Risk::Node,
            "# EventedPLEG: false below featureGates (or in --feature-gates); then: systemctl restart kubelet",
            "the kubelet restarts; containers go on running",
        ),
    ]
}
