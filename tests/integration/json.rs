//! The JSON output as promised, in types of its own: nothing more, nothing less, and every key always there.

/// The types.
mod types;

use crate::support::{
    judge::{arguments, case, printed, report, unpacked},
    program::{plegdoctor, told},
    replay::{Play, Played},
};
use plegdoctor::render::Format;
use serde::Deserialize as _;
use serde_json::{Value, json};
use types::{Clean, Finding, Report, RoleKind, Severity, Verdict};

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
        let times: Vec<_> = incident
            .timeline
            .iter()
            .map(|it| it.after_seconds)
            .collect();
        assert!(times.is_sorted(), "{times:?}");
    }
    for (index, finding) in read.findings.iter().enumerate() {
        let (primary, to) = (
            finding.role.kind == RoleKind::Primary,
            finding.role.to.as_ref(),
        );
        assert_eq!(primary, index == 0, "{report:#}");
        let named = |id: &String| {
            read.findings
                .iter()
                .any(|it| it.id == *id && *id != finding.id)
        };
        let tied = matches!(finding.role.kind, RoleKind::Consequence | RoleKind::Feeds);
        assert_eq!(to.is_some_and(named), tied, "{}", finding.id);
        let out = read.ruled_out.iter().any(|it| it.id == finding.id);
        let open = read.undecided.iter().any(|it| it.id == finding.id);
        assert!(!out && !open, "{} is found, and more", finding.id);
    }
}

#[test]
fn every_cases_report_reads_back_strictly() {
    let mut runtimes = 0;
    for case in unpacked() {
        let printed = printed(&report(&case), Format::Json);
        let report: Value = serde_json::from_str(&printed).unwrap();
        strictly(&report);
        runtimes += usize::from(!report["runtime"].is_null());
        let asked = !arguments(&case).iter().any(|arg| arg == "--no-docker");
        assert!(asked || report["runtime"].is_null(), "{}", case.name);
    }
    assert!(runtimes >= 8, "{runtimes}");
}

#[test]
fn a_key_less_or_a_key_more_is_noticed() {
    let printed = printed(&report(&case("sandbox-flaps")), Format::Json);
    let report: Value = serde_json::from_str(&printed).unwrap();
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
        // One container can't be seen: that is told, also where nothing was to be removed.
        (&["--dry-run"][..], 1, "planned"),
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
        // The plan comes before the removals.
        let shown = told.err.starts_with("To remove: 2 containers\n");
        assert_eq!(shown, outcome == "failed", "{}", told.err);
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
