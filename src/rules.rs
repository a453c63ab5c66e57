//! The rules: one row for each cause, one file for each row.
//!
//! A rule sees the evidence and nothing else, and says no more than it proves. What several rules need to
//! word or look up stands here.

mod bearing;
mod busy_mount;
mod clock_step;
mod cni_hang;
mod confirm;
mod container_pileup;
mod daemon_stacks;
mod dead_container;
mod disk_saturated;
mod engine;
mod evented_pleg;
mod frozen_daemon;
mod holders;
mod hung_container;
mod hung_runtime;
mod known_bad_version;
mod kubelet;
mod leaked_shim;
mod lines;
mod list_too_large;
mod log_driver_blocked;
mod memory_starved;
mod netns_blocked;
mod network_storage;
mod not_pleg;
mod orphan_sandbox;
mod pleg_unexplained;
mod remedies;
mod removal_race;
mod room;
mod runtime_down;
mod shares;
mod slow_relist;
mod starting_up;
mod stored;
mod systemd_unresponsive;
mod tasks_exhausted;
mod windows_node;
mod xtables_lock;

pub use bearing::{Bearing, Judged, Scene};
pub(crate) use holders::daemons;

use crate::{
    evidence::Evidence,
    finding::{Finding, Subject, SubjectKind},
    io::probe::{Outcome, Probe},
    kubelet::event::Event,
    runtime::{Container, ContainerKind, Runtime},
    syntax::{citation::Citation, time::Time},
};

/// One cause.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, as users cite it.
    pub id: &'static str,
    /// What the cause is, in a few words.
    pub title: &'static str,
    /// Whether it can explain a lag by itself.
    pub explains: bool,
    /// How it bears on the other rules, and what speaks against it.
    pub bearing: Bearing,
    /// Its page, as Markdown: `docs/findings/<id>.md`.
    pub page: &'static str,
    /// Looks for the cause, knowing what the rules before it found. Returns nothing where it is not at work.
    pub check: fn(&Evidence, &[Finding]) -> Vec<Finding>,
}

/// All rules, the more decisive before the less.
pub const RULES: &[Rule] = &[
    list_too_large::RULE,
    runtime_down::RULE,
    frozen_daemon::RULE,
    network_storage::RULE,
    disk_saturated::RULE,
    systemd_unresponsive::RULE,
    netns_blocked::RULE,
    hung_runtime::RULE,
    log_driver_blocked::RULE,
    hung_container::RULE,
    cni_hang::RULE,
    tasks_exhausted::RULE,
    memory_starved::RULE,
    container_pileup::RULE,
    slow_relist::RULE,
    starting_up::RULE,
    evented_pleg::RULE,
    removal_race::RULE,
    not_pleg::RULE,
    pleg_unexplained::RULE,
    orphan_sandbox::RULE,
    leaked_shim::RULE,
    busy_mount::RULE,
    dead_container::RULE,
    xtables_lock::RULE,
    clock_step::RULE,
    known_bad_version::RULE,
    windows_node::RULE,
];

/// Subjects named in one finding before several findings are put into one.
const EACH: usize = 3;

/// Returns all findings, in the order of the rules.
pub fn check_all(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        let found = (rule.check)(evidence, &findings);
        findings.extend(found);
    }
    kubelet::support(evidence, &mut findings);
    known_bad_version::support(evidence, &mut findings);
    confirm::offer(evidence, &mut findings);
    windows_node::leave_out_commands(&mut findings);
    findings
}

/// Returns whether one of the findings is of a rule that can explain a lag.
fn is_cause(finding: &Finding) -> bool {
    let explains = |rule: &Rule| rule.explains && rule.id == finding.id;
    RULES.iter().any(explains) || tasks_exhausted::is_told(finding)
}

/// Returns whether a finding is of a rule that tells itself behind that one: what it found is how that trouble comes about.
fn is_behind(finding: &Finding, id: &str) -> bool {
    RULES
        .iter()
        .any(|rule| rule.id == finding.id && rule.bearing.behind.contains(&id))
}

/// Returns the subject that a container is.
fn subject_of(container: &Container) -> Subject {
    Subject {
        kind: match container.kind {
            ContainerKind::Sandbox => SubjectKind::Sandbox,
            ContainerKind::Container | ContainerKind::Other => SubjectKind::Container,
        },
        id: Some(container.id.clone()),
        name: Some(container.name.clone()).filter(|name| !name.is_empty()),
        pod: container.pod.clone(),
        uid: container.uid.clone(),
        pid: None,
    }
}

/// Returns the subject that an event is about.
fn subject_from(event: &Event) -> Subject {
    Subject {
        kind: if event.container.is_some() {
            SubjectKind::Container
        } else {
            SubjectKind::Sandbox
        },
        id: event.subject().cloned(),
        name: None,
        pod: event.pod.clone(),
        uid: event.uid.clone(),
        pid: None,
    }
}

/// Returns what a container or sandbox is called: "Sandbox b15929dfcea1 of pod default/web-2".
fn called(subject: &Subject) -> String {
    let kind = match subject.kind {
        SubjectKind::Sandbox => "Sandbox",
        _ => "Container",
    };
    let id = subject.id.as_ref().map_or("of unknown id", |id| id.short());
    match (&subject.pod, &subject.name) {
        (Some(pod), _) => format!("{kind} {id} of pod {pod}"),
        (None, Some(name)) => format!("{kind} {id} ({name})"),
        (None, None) => format!("{kind} {id}"),
    }
}

/// Returns a name as it stands within a sentence.
fn lower(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}

/// Returns a daemon as a subject.
fn daemon(name: &str) -> Subject {
    Subject {
        kind: SubjectKind::Daemon,
        id: None,
        name: Some(name.to_owned()),
        pod: None,
        uid: None,
        pid: None,
    }
}

/// Returns the node as a subject.
fn node(evidence: &Evidence) -> Subject {
    let name = evidence.log.as_ref().and_then(|log| log.node.clone());
    Subject {
        kind: SubjectKind::Node,
        id: None,
        name,
        pod: None,
        uid: None,
        pid: None,
    }
}

/// Returns what a call to the runtime proves, as a citation.
fn cite_probe(call: &str, runtime: &Runtime, probe: &Probe) -> Citation {
    Citation {
        is_call: true,
        source: call.to_owned().into(),
        line: None,
        time: Some(runtime.asked_at),
        text: probe_text(probe).into(),
    }
}

/// Returns citations, each once, in their order.
fn distinct(citations: Vec<Citation>) -> Vec<Citation> {
    let mut once = Vec::with_capacity(citations.len());
    for citation in citations {
        if !once.contains(&citation) {
            once.push(citation);
        }
    }
    once
}

/// Returns the name of one container's inspect, for citations; `of` is how many are cited together.
fn inspect_call(container: &Container, of: usize) -> String {
    match of {
        1 => "docker inspect".to_owned(),
        _ => format!("inspect {}", container.id.short()),
    }
}

/// Returns how a call ended, in words.
pub(crate) fn probe_text(probe: &Probe) -> String {
    let took = took(probe);
    let error = probe.error.as_deref().unwrap_or("no reason given");
    match probe.outcome {
        Outcome::Answered => format!("answered in {took}"),
        Outcome::TimedOut => match &probe.error {
            Some(error) => format!("no answer in {took}: {error}"),
            None => format!("no answer in {took}"),
        },
        Outcome::Refused | Outcome::Denied | Outcome::Error => error.to_owned(),
        Outcome::Gone => "there is no such container any more".to_owned(),
        Outcome::NotProbed => "not asked".to_owned(),
    }
}

/// Returns how long a call took, for people: `3.0 s`, `1 ms`.
pub(crate) fn took(probe: &Probe) -> String {
    let millis = probe.took.as_millis();
    if millis >= 1000 {
        format!("{:.1} s", probe.took.as_secs_f64())
    } else {
        format!("{} ms", millis.max(1))
    }
}

/// Returns whether the log shows no recovery after `last`, the last line that speaks of the trouble.
fn lasts(evidence: &Evidence, last: Option<Time>) -> bool {
    let recovered = |time| {
        evidence
            .log
            .as_ref()
            .is_some_and(|log| log.recovery_after(time).is_some())
    };
    !last.is_some_and(recovered)
}

/// Returns the time of day of a moment, as the log writes it, with the day where it is another one.
pub(crate) fn clock(evidence: &Evidence, time: Option<Time>) -> String {
    let Some(time) = time else {
        return "an unknown time".to_owned();
    };
    let today = evidence.now.with_timezone(time.offset()).date_naive();
    let format = if today == time.date_naive() {
        "%H:%M:%S"
    } else {
        "%m-%d %H:%M:%S"
    };
    time.format(format).to_string()
}

/// Returns `1 container`, `3 containers`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
