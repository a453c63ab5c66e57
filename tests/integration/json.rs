//! The JSON output as promised, in types of its own: nothing more, nothing less, and every key always there.

use crate::{
    cases::{arguments, folders},
    support::{
        program::{plegdoctor, told},
        replay::{Play, Played},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Report {
    schema: String,
    version: String,
    generated_at: String,
    node: Option<String>,
    verdict: Verdict,
    summary: String,
    findings: Vec<Finding>,
    incidents: Vec<Incident>,
    containers: Vec<Container>,
    log: Log,
    runtime: Option<Runtime>,
    gaps: Vec<Gap>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Healthy,
    Recovered,
    Problem,
    Unknown,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    id: String,
    title: String,
    severity: Severity,
    confidence: Confidence,
    active: bool,
    explanation: String,
    subjects: Vec<Subject>,
    citations: Vec<Citation>,
    remedies: Vec<Remedy>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    Critical,
    Warning,
    Info,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Confidence {
    Confirmed,
    Suspected,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    kind: SubjectKind,
    id: Option<String>,
    name: Option<String>,
    pod: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    pid: Option<u32>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum SubjectKind {
    Sandbox,
    Container,
    Pod,
    Daemon,
    Process,
    Mount,
    Node,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Citation {
    source: String,
    line: Option<u64>,
    time: Option<String>,
    text: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Remedy {
    title: String,
    risk: Risk,
    command: String,
    cost: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Risk {
    Safe,
    Disruptive,
    Node,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Incident {
    start: String,
    end: Option<String>,
    ongoing: bool,
    peak_lag_seconds: f64,
    threshold_seconds: Option<f64>,
    shape: Shape,
    lines: u64,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Growing,
    Sawtooth,
    Single,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Container {
    id: String,
    name: String,
    kind: ContainerKind,
    pod: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    listed_state: String,
    inspected_state: Option<String>,
    error: String,
    probe: Probe,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum ContainerKind {
    Sandbox,
    Container,
    Other,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Probe {
    outcome: Outcome,
    millis: f64,
    error: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
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
struct Log {
    sources: Vec<Source>,
    events: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Source {
    name: String,
    bytes: u64,
    lines: u64,
    first: Option<String>,
    last: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Runtime {
    kind: String,
    endpoint: String,
    version: Option<String>,
    api_version: Option<String>,
    containers: u64,
    probes: Probes,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Probes {
    ping: Probe,
    version: Probe,
    info: Probe,
    list: Probe,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Gap {
    what: String,
    why: String,
}

/// What `clean` prints.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Clean {
    schema: String,
    dry_run: bool,
    planned: Vec<Planned>,
    results: Vec<Resulting>,
    removed: u64,
    failed: u64,
    left_alone: Vec<LeftAlone>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Planned {
    id: String,
    name: String,
    pod: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    kind: ContainerKind,
    state: String,
    since: Option<String>,
    loses_logs: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Resulting {
    id: String,
    name: String,
    pod: Option<String>,
    namespace: Option<String>,
    state: String,
    outcome: Ending,
    reason: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ending {
    Removed,
    Gone,
    Changed,
    Failed,
    Unanswered,
    Planned,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LeftAlone {
    id: String,
    name: String,
    pod: Option<String>,
    namespace: Option<String>,
    listed_state: String,
    reason: String,
}

/// Reads a report strictly. Written again it must be the same: a key that is left out would come back as null.
#[track_caller]
pub(crate) fn strictly(report: &Value) {
    let read = Report::deserialize(report).unwrap_or_else(|error| panic!("{error}: {report:#}"));
    assert_eq!(read.schema, "plegdoctor.report/1");
    assert_eq!(read.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(&serde_json::to_value(&read).unwrap(), report);
    assert!(read.summary.ends_with('.'), "{}", read.summary);
    let (some, info) = (read.findings.len(), |f: &&Finding| {
        matches!(f.severity, Severity::Info)
    });
    let infos = read.findings.iter().filter(info).count();
    match read.verdict {
        Verdict::Healthy => assert_eq!(some, infos, "{report:#}"),
        Verdict::Recovered => assert!(
            read.findings
                .iter()
                .all(|finding| !finding.active || info(&finding))
        ),
        Verdict::Problem => assert!(read.findings[0].active, "{report:#}"),
        Verdict::Unknown => assert!(!read.gaps.is_empty(), "{report:#}"),
    }
    for finding in &read.findings {
        assert!(
            !finding.citations.is_empty(),
            "{} proves nothing",
            finding.id
        );
        assert!(
            !finding.subjects.is_empty(),
            "{} is about nothing",
            finding.id
        );
    }
    for incident in &read.incidents {
        assert_eq!(incident.ongoing, incident.end.is_none(), "{report:#}");
    }
}

#[test]
fn every_cases_report_reads_back_strictly() {
    let mut runtimes = 0;
    for folder in folders() {
        let stored = fs::read_to_string(folder.join("report.json")).unwrap();
        let report: Value = serde_json::from_str(&stored).unwrap();
        strictly(&report);
        runtimes += usize::from(!report["runtime"].is_null());
        let asked = !arguments(&folder).iter().any(|arg| arg == "--no-docker");
        assert!(asked || report["runtime"].is_null(), "{}", folder.display());
    }
    assert!(runtimes >= 8, "{runtimes}");
}

#[test]
fn a_key_less_or_a_key_more_is_noticed() {
    let folder = folders()
        .into_iter()
        .find(|it| it.ends_with("sandbox-flaps"))
        .unwrap();
    let stored = fs::read_to_string(folder.join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&stored).unwrap();
    let (mut less, mut more) = (report.clone(), report);
    less["findings"][0]["subjects"][0]
        .as_object_mut()
        .unwrap()
        .remove("pid")
        .unwrap();
    let read = Report::deserialize(&less).unwrap();
    assert_ne!(serde_json::to_value(&read).unwrap(), less);
    more["runtime"]["probes"]["df"] = more["runtime"]["probes"]["ping"].clone();
    assert!(Report::deserialize(&more).is_err());
}

/// Played containers: one dead, one exited, one whose inspect never answers, one that goes before its turn.
fn played() -> Played {
    let id = |digit: &str| digit.repeat(64);
    let inspect = move |digit: &str, state: &str| {
        let body = json!({"Id": id(digit), "Name": format!("/c{digit}"), "Created": "2026-11-30T01:00:00Z",
            "State": {"Status": state, "Running": false, "Dead": state == "dead", "StartedAt": "2026-11-30T01:00:00Z",
                "FinishedAt": "2026-11-30T02:00:00Z", "ExitCode": 0, "Error": ""}, "Config": {"Labels": {}}});
        Play::ok(body.to_string())
    };
    Played::start(move |asked| {
        let listed = |digit: &str, state: &str| {
            json!({"Id": digit.repeat(64), "Names": [format!("/c{digit}")],
            "Created": 1_796_000_000, "State": state, "Status": "", "Labels": {}})
        };
        let of = |digit: &str| asked == format!("GET /containers/{}/json", digit.repeat(64));
        match asked {
            "GET /_ping" => Play::ok("OK"),
            "GET /containers/json?all=1" => Play::ok(
                json!([listed("a", "removing"), listed("b", "exited"), listed("c", "created")]).to_string(),
            ),
            _ if of("a") => inspect("a", "dead"),
            _ if of("b") => inspect("b", "exited"),
            _ if of("c") => Play::Never,
            _ if asked.starts_with("DELETE ") => Play::Http(
                500,
                r#"{"message":"unable to remove filesystem: unlinkat /x: device or resource busy"}"#.to_owned(),
            ),
            _ => Play::Http(404, r#"{"message":"page not found"}"#.to_owned()),
        }
    })
}

#[test]
fn what_clean_prints_reads_back_strictly() {
    let played = played();
    let endpoint = played.endpoint();
    for (more, code, outcome) in [
        (&["--dry-run"][..], 0, "planned"),
        (&["--yes"], 1, "failed"),
    ] {
        let args = [
            "clean",
            "--dead",
            "--exited",
            "--include-non-pods",
            "--format",
            "json",
            "--probe-timeout",
            "300ms",
            "--docker-host",
            &endpoint,
        ];
        let told = told(&mut plegdoctor(&[&args[..], more].concat()));
        assert_eq!(told.err, "");
        let value: Value = serde_json::from_str(&told.out).unwrap();
        let read = Clean::deserialize(&value).unwrap_or_else(|error| panic!("{error}: {value:#}"));
        assert_eq!(serde_json::to_value(&read).unwrap(), value);
        assert_eq!(read.schema, "plegdoctor.clean/1");
        assert_eq!(
            (
                read.planned.len(),
                read.results.len(),
                read.left_alone.len()
            ),
            (2, 2, 1)
        );
        assert_eq!(value["results"][0]["outcome"], outcome);
        assert_eq!(told.code, code, "{more:?}: {value:#}");
    }
}
