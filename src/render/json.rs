//! The report for scripts: `plegdoctor.report/1`. Its own structs, so that the core may change without it.

mod actions;
mod disk;
pub mod event;
pub mod explain;
mod host;
mod judged;
mod kubelet;
pub mod probe;
mod room;
mod stacks;
mod timeline;

use crate::{
    finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind},
    io::{
        gap::Gap,
        probe::{Outcome, Probe},
    },
    kubelet::{
        incident::{Incident, Shape},
        summary::Source,
    },
    report::{Moment, Report, Role, Verdict},
    runtime::{Container, ContainerKind, Runtime},
    syntax::{
        citation::Citation,
        id::{ContainerId, PodUid},
        time::Time,
    },
};
use actions::ActionV1;
use chrono::{SecondsFormat, TimeDelta};
use serde::Serialize;
use stacks::StacksV1;
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// Writes the report as one JSON object and a newline.
///
/// # Errors
/// What `out` says.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &ReportV1::from(report))?;
    writeln!(out)
}

#[derive(Serialize)]
struct ReportV1<'a> {
    schema: &'static str,
    version: &'static str,
    generated_at: String,
    node: Option<&'a str>,
    verdict: &'static str,
    summary: &'a str,
    findings: Vec<FindingV1<'a>>,
    ruled_out: Vec<judged::RuledOutV1<'a>>,
    undecided: Vec<judged::UndecidedV1<'a>>,
    actions: Vec<ActionV1<'a>>,
    incidents: Vec<IncidentV1<'a>>,
    containers: Vec<ContainerV1<'a>>,
    log: LogV1<'a>,
    runtime: Option<RuntimeV1<'a>>,
    host: Option<host::HostV1<'a>>,
    kubelet: Option<kubelet::KubeletV1<'a>>,
    stacks: Option<StacksV1<'a>>,
    gaps: Vec<GapV1<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct FindingV1<'a> {
    id: &'static str,
    role: judged::RoleV1,
    title: &'a str,
    severity: &'static str,
    confidence: &'static str,
    active: bool,
    explanation: &'a str,
    subjects: Vec<SubjectV1<'a>>,
    citations: Vec<CitationV1<'a>>,
    remedies: Vec<RemedyV1<'a>>,
}

#[derive(Serialize)]
struct SubjectV1<'a> {
    kind: &'static str,
    id: Option<&'a str>,
    name: Option<&'a str>,
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    uid: Option<&'a str>,
    pid: Option<u32>,
}

#[derive(Serialize)]
struct CitationV1<'a> {
    source: &'a str,
    line: Option<u64>,
    time: Option<String>,
    text: &'a str,
}

#[derive(Serialize)]
struct RemedyV1<'a> {
    title: &'a str,
    risk: &'static str,
    command: &'a str,
    cost: &'a str,
}

#[derive(Serialize)]
struct IncidentV1<'a> {
    start: String,
    end: Option<String>,
    ongoing: bool,
    peak_lag_seconds: f64,
    threshold_seconds: Option<f64>,
    shape: &'static str,
    lines: u64,
    timeline: Vec<timeline::MomentV1<'a>>,
}

#[derive(Serialize)]
struct ContainerV1<'a> {
    id: &'a str,
    name: &'a str,
    kind: &'static str,
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    uid: Option<&'a str>,
    listed_state: &'a str,
    inspected_state: Option<&'a str>,
    error: &'a str,
    probe: ProbeV1<'a>,
    disk: Option<disk::StoredV1<'a>>,
}

#[derive(Serialize)]
struct ProbeV1<'a> {
    outcome: &'static str,
    millis: f64,
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct LogV1<'a> {
    sources: Vec<SourceV1<'a>>,
    events: &'a BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct SourceV1<'a> {
    name: &'a str,
    bytes: u64,
    lines: u64,
    first: Option<String>,
    last: Option<String>,
}

#[derive(Serialize)]
struct RuntimeV1<'a> {
    kind: &'static str,
    endpoint: &'a str,
    version: Option<&'a str>,
    api_version: Option<&'a str>,
    containers: usize,
    list: Option<room::ListV1>,
    disk: Option<disk::DiskV1<'a>>,
    probes: BTreeMap<&'static str, ProbeV1<'a>>,
}

#[derive(Serialize)]
struct GapV1<'a> {
    what: &'a str,
    why: &'a str,
}

impl<'a> From<&'a Report> for ReportV1<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            schema: "plegdoctor.report/1",
            version: env!("CARGO_PKG_VERSION"),
            generated_at: time(report.generated_at),
            node: report.node.as_deref(),
            verdict: match report.verdict {
                Verdict::Healthy => "healthy",
                Verdict::Recovered => "recovered",
                Verdict::Problem => "problem",
                Verdict::Unknown => "unknown",
            },
            summary: &report.summary,
            findings: report
                .findings
                .iter()
                .zip(&report.roles)
                .map(|(finding, role)| FindingV1::new(finding, role))
                .collect(),
            ruled_out: report.ruled_out.iter().map(Into::into).collect(),
            undecided: report.undecided.iter().map(Into::into).collect(),
            actions: report.actions.iter().map(ActionV1::from).collect(),
            incidents: report
                .incidents
                .iter()
                .zip(&report.timelines)
                .map(|(incident, timeline)| IncidentV1::new(incident, timeline))
                .collect(),
            containers: report.containers.iter().map(ContainerV1::from).collect(),
            log: LogV1 {
                sources: report.sources.iter().map(SourceV1::from).collect(),
                events: &report.events,
            },
            runtime: report.runtime.as_ref().map(RuntimeV1::from),
            host: report.host.as_ref().map(host::HostV1::from),
            kubelet: report.kubelet.as_ref().map(kubelet::KubeletV1::from),
            stacks: report
                .runtime
                .as_ref()
                .and_then(|runtime| runtime.stacks.as_ref())
                .map(StacksV1::from),
            gaps: report.gaps.iter().map(GapV1::from).collect(),
            notes: &report.notes,
        }
    }
}

impl<'a> FindingV1<'a> {
    fn new(finding: &'a Finding, role: &Role) -> Self {
        Self {
            id: finding.id,
            role: judged::RoleV1::from(role),
            title: &finding.title,
            severity: match finding.severity {
                Severity::Critical => "critical",
                Severity::Warning => "warning",
                Severity::Info => "info",
            },
            confidence: match finding.confidence {
                Confidence::Confirmed => "confirmed",
                Confidence::Suspected => "suspected",
            },
            active: finding.active,
            explanation: &finding.explanation,
            subjects: finding.subjects.iter().map(SubjectV1::from).collect(),
            citations: finding.citations.iter().map(CitationV1::from).collect(),
            remedies: finding.remedies.iter().map(RemedyV1::from).collect(),
        }
    }
}

impl<'a> From<&'a Subject> for SubjectV1<'a> {
    fn from(subject: &'a Subject) -> Self {
        Self {
            kind: match subject.kind {
                SubjectKind::Sandbox => "sandbox",
                SubjectKind::Container => "container",
                SubjectKind::Pod => "pod",
                SubjectKind::Daemon => "daemon",
                SubjectKind::Process => "process",
                SubjectKind::Mount => "mount",
                SubjectKind::Disk => "disk",
                SubjectKind::Node => "node",
            },
            id: subject.id.as_ref().map(ContainerId::as_str),
            name: subject.name.as_deref(),
            pod: subject.pod.as_ref().map(|pod| &*pod.name),
            namespace: subject.pod.as_ref().map(|pod| &*pod.namespace),
            uid: subject.uid.as_ref().map(PodUid::as_str),
            pid: subject.pid,
        }
    }
}

impl<'a> From<&'a Citation> for CitationV1<'a> {
    fn from(citation: &'a Citation) -> Self {
        Self {
            source: &citation.source,
            line: citation.line,
            time: citation.time.map(time),
            text: &citation.text,
        }
    }
}

impl<'a> From<&'a Remedy> for RemedyV1<'a> {
    fn from(remedy: &'a Remedy) -> Self {
        Self {
            title: &remedy.title,
            risk: match remedy.risk {
                Risk::Safe => "safe",
                Risk::Disruptive => "disruptive",
                Risk::Node => "node",
            },
            command: &remedy.command,
            cost: &remedy.cost,
        }
    }
}

impl<'a> IncidentV1<'a> {
    fn new(incident: &Incident, timeline: &'a [Moment]) -> Self {
        Self {
            start: time(incident.start),
            end: incident.end.map(time),
            ongoing: incident.ongoing,
            peak_lag_seconds: seconds(incident.peak_lag),
            threshold_seconds: incident.threshold.map(seconds),
            shape: match incident.shape {
                Shape::Growing => "growing",
                Shape::Sawtooth => "sawtooth",
                Shape::Single => "single",
            },
            lines: incident.lines,
            timeline: timeline
                .iter()
                .map(|moment| timeline::MomentV1::new(moment, incident.start))
                .collect(),
        }
    }
}

impl<'a> From<&'a Container> for ContainerV1<'a> {
    fn from(container: &'a Container) -> Self {
        let inspected = container.inspected.as_ref();
        Self {
            id: container.id.as_str(),
            name: &container.name,
            kind: match container.kind {
                ContainerKind::Sandbox => "sandbox",
                ContainerKind::Container => "container",
                ContainerKind::Other => "other",
            },
            pod: container.pod.as_ref().map(|pod| &*pod.name),
            namespace: container.pod.as_ref().map(|pod| &*pod.namespace),
            uid: container.uid.as_ref().map(PodUid::as_str),
            listed_state: container.listed_state.as_str(),
            inspected_state: inspected.map(|inspected| inspected.state.as_str()),
            error: inspected.map_or("", |inspected| &inspected.error),
            probe: ProbeV1::from(&container.probe),
            disk: container.disk.as_ref().map(disk::StoredV1::from),
        }
    }
}

impl<'a> From<&'a Probe> for ProbeV1<'a> {
    fn from(probe: &'a Probe) -> Self {
        Self {
            outcome: match probe.outcome {
                Outcome::Answered => "answered",
                Outcome::TimedOut => "timed_out",
                Outcome::Refused => "refused",
                Outcome::Denied => "denied",
                Outcome::Gone => "gone",
                Outcome::Error => "error",
                Outcome::NotProbed => "not_probed",
            },
            millis: (probe.took.as_secs_f64() * 10_000.0).round() / 10.0,
            error: probe.error.as_deref(),
        }
    }
}

impl<'a> From<&'a Source> for SourceV1<'a> {
    fn from(source: &'a Source) -> Self {
        Self {
            name: &source.name,
            bytes: source.bytes,
            lines: source.lines,
            first: source.first.map(time),
            last: source.last.map(time),
        }
    }
}

impl<'a> From<&'a Runtime> for RuntimeV1<'a> {
    fn from(runtime: &'a Runtime) -> Self {
        Self {
            kind: runtime.kind,
            endpoint: &runtime.endpoint,
            version: runtime.version.as_deref(),
            api_version: runtime.api_version.as_deref(),
            containers: runtime.told().count(),
            list: runtime.room().map(room::ListV1::from),
            disk: runtime.disk.as_ref().map(disk::DiskV1::from),
            probes: runtime
                .own_calls()
                .into_iter()
                .map(|(call, probe)| (call.as_str(), ProbeV1::from(probe)))
                .collect(),
        }
    }
}

impl<'a> From<&'a Gap> for GapV1<'a> {
    fn from(gap: &'a Gap) -> Self {
        Self {
            what: &gap.what,
            why: &gap.why,
        }
    }
}

fn time(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn seconds(duration: TimeDelta) -> f64 {
    let micros = duration.num_microseconds().unwrap_or(i64::MAX);
    std::time::Duration::from_micros(u64::try_from(micros).unwrap_or(0)).as_secs_f64()
}
