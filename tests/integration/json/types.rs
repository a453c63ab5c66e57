//! The outputs as types: what users are promised. They share no code with the printers, and refuse what they do not
//! know.

/// What is promised of what was done.
mod actions;
/// What is promised of Docker's files.
mod disk;
/// What is promised of the host.
mod host;
/// What is promised of the kubelet.
mod kubelet;
/// What is promised of what belongs to what, and when.
mod ranked;

pub(super) use ranked::RoleKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `diagnose` prints.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    pub(super) schema: String,
    pub(super) version: String,
    pub(super) generated_at: String,
    pub(super) node: Option<String>,
    pub(super) verdict: Verdict,
    pub(super) summary: String,
    pub(super) findings: Vec<Finding>,
    pub(super) ruled_out: Vec<ranked::RuledOut>,
    pub(super) undecided: Vec<ranked::Undecided>,
    pub(super) actions: Vec<actions::Action>,
    pub(super) incidents: Vec<Incident>,
    pub(super) containers: Vec<Container>,
    pub(super) log: Log,
    pub(super) runtime: Option<Runtime>,
    pub(super) host: Option<host::Host>,
    pub(super) kubelet: Option<kubelet::Kubelet>,
    pub(super) stacks: Option<Stacks>,
    pub(super) gaps: Vec<Gap>,
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Healthy,
    Recovered,
    Problem,
    Unknown,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Finding {
    pub(super) id: String,
    pub(super) role: ranked::Role,
    pub(super) title: String,
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    pub(super) active: bool,
    pub(super) explanation: String,
    pub(super) subjects: Vec<Subject>,
    pub(super) citations: Vec<Citation>,
    pub(super) remedies: Vec<Remedy>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    Critical,
    Warning,
    Info,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Confidence {
    Confirmed,
    Suspected,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subject {
    pub(super) kind: SubjectKind,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) pod: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) pid: Option<u32>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SubjectKind {
    Sandbox,
    Container,
    Pod,
    Daemon,
    Process,
    Mount,
    Disk,
    Node,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Citation {
    pub(super) source: String,
    pub(super) line: Option<u64>,
    pub(super) time: Option<String>,
    pub(super) text: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Remedy {
    pub(super) title: String,
    pub(super) risk: Risk,
    pub(super) command: String,
    pub(super) cost: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Risk {
    Safe,
    Disruptive,
    Node,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Incident {
    pub(super) start: String,
    pub(super) end: Option<String>,
    pub(super) ongoing: bool,
    pub(super) peak_lag_seconds: f64,
    pub(super) threshold_seconds: Option<f64>,
    pub(super) shape: Shape,
    pub(super) lines: u64,
    pub(super) timeline: Vec<ranked::Moment>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shape {
    Growing,
    Sawtooth,
    Single,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Container {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: ContainerKind,
    pub(super) pod: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) listed_state: String,
    pub(super) inspected_state: Option<String>,
    pub(super) error: String,
    pub(super) probe: Probe,
    pub(super) disk: Option<disk::OnDiskState>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ContainerKind {
    Sandbox,
    Container,
    Other,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Probe {
    pub(super) outcome: Outcome,
    pub(super) millis: f64,
    pub(super) error: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Answered,
    TimedOut,
    Refused,
    Denied,
    Gone,
    Error,
    NotProbed,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    pub(super) sources: Vec<Source>,
    pub(super) events: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) first: Option<String>,
    pub(super) last: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Runtime {
    pub(super) kind: String,
    pub(super) endpoint: String,
    pub(super) version: Option<String>,
    pub(super) api_version: Option<String>,
    pub(super) containers: u64,
    pub(super) list: Option<ranked::List>,
    pub(super) disk: Option<disk::Disk>,
    pub(super) probes: Probes,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Probes {
    pub(super) ping: Probe,
    pub(super) version: Probe,
    pub(super) info: Probe,
    pub(super) list: Probe,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stacks {
    pub(super) goroutines: u64,
    pub(super) whole: bool,
    pub(super) pending: Vec<String>,
    pub(super) calls: Vec<StackCall>,
    pub(super) calls_left_out: u64,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StackCall {
    pub(super) goroutine: u64,
    pub(super) state: String,
    pub(super) call: String,
    pub(super) waits_for: String,
    pub(super) detail: Option<String>,
    pub(super) minutes: u64,
    pub(super) holds_lock: bool,
    pub(super) lock: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gap {
    pub(super) what: String,
    pub(super) why: String,
}

/// What `clean` prints.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Clean {
    pub(super) schema: String,
    pub(super) dry_run: bool,
    pub(super) planned: Vec<Planned>,
    pub(super) results: Vec<Resulting>,
    pub(super) removed: u64,
    pub(super) failed: u64,
    pub(super) left_alone: Vec<LeftAlone>,
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Planned {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) pod: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) kind: ContainerKind,
    pub(super) state: String,
    pub(super) since: Option<String>,
    pub(super) loses_logs: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resulting {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) pod: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) state: String,
    pub(super) outcome: Ending,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
    Removed,
    Gone,
    Changed,
    Failed,
    Unanswered,
    Planned,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeftAlone {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) pod: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) listed_state: String,
    pub(super) reason: String,
}
