//! The JSON output as promised: nothing more, nothing less, and every key always there.

/// What is promised.
mod contract;

use crate::support::{
    judge::{arguments, case, printed, report, unpacked},
    program::{plegdoctor, told},
    replay::{Play, Played},
};
use contract::Contract;
use plegdoctor::render::Format;
use serde_json::{Value, json};
use std::{panic::catch_unwind, sync::LazyLock};

static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::read);

/// Reads an output strictly.
#[track_caller]
pub(crate) fn promised(output: &str, value: &Value) {
    CONTRACT.check(output, value);
}

/// Reads a report strictly, and sees that its parts fit.
#[track_caller]
pub(crate) fn strictly(report: &Value) {
    promised("report", report);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let all = |key: &str| report[key].as_array().unwrap();
    let summary = report["summary"].as_str().unwrap();
    assert!(summary.ends_with('.'), "{summary}");
    let info = |finding: &Value| finding["severity"] == "info";
    let findings = all("findings");
    let over = |finding: &Value| finding["active"] == false || info(finding);
    match report["verdict"].as_str().unwrap() {
        "healthy" => assert!(findings.iter().all(info), "{report:#}"),
        "recovered" => assert!(findings.iter().all(over), "{report:#}"),
        "problem" => assert_eq!(findings[0]["active"], true, "{report:#}"),
        _ => assert!(!all("gaps").is_empty(), "{report:#}"),
    }
    for incident in all("incidents") {
        assert_eq!(incident["ongoing"], incident["end"].is_null(), "{report:#}");
        let moments = incident["timeline"].as_array().unwrap();
        let times = moments.iter().map(|it| it["after_seconds"].as_f64());
        assert!(times.is_sorted(), "{incident:#}");
    }
    let ids = |key: &str| all(key).iter().map(|it| &it["id"]).collect::<Vec<_>>();
    for (index, finding) in findings.iter().enumerate() {
        let id = &finding["id"];
        for proof in ["citations", "subjects"] {
            assert_ne!(finding[proof], json!([]), "{id} has no {proof}");
        }
        let (kind, to) = (&finding["role"]["kind"], &finding["role"]["to"]);
        assert_eq!(kind == "primary", index == 0, "{report:#}");
        let tied = kind == "consequence" || kind == "feeds";
        assert_eq!(ids("findings").contains(&to) && to != id, tied, "{id}");
        for other in ["ruled_out", "undecided"] {
            assert!(!ids(other).contains(&id), "{id} is found, and {other}");
        }
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
    let follows = |report: &Value| catch_unwind(|| promised("report", report)).is_ok();
    assert!(follows(&report));
    for (place, key, value) in [
        ("/findings/0/subjects/0", "pid", None),
        (
            "/runtime/probes",
            "df",
            Some(json!({"outcome": "answered", "millis": 1.0, "error": null})),
        ),
        ("/findings/0", "severity", Some(json!("grave"))),
        ("/findings/0", "title", Some(json!(null))),
        ("", "generated_at", Some(json!("today"))),
    ] {
        let mut other = report.clone();
        let object = other.pointer_mut(place).unwrap().as_object_mut().unwrap();
        match value {
            Some(value) => drop(object.insert(key.to_owned(), value)),
            None => drop(object.remove(key).unwrap()),
        }
        assert!(!follows(&other), "{place}: {key}");
    }
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
        promised("clean", &value);
        assert_eq!(
            ["planned", "results", "left_alone"].map(|key| value[key].as_array().unwrap().len()),
            [2, 2, 1]
        );
        assert_eq!(value["results"][0]["outcome"], outcome);
        assert_eq!(told.code, code, "{more:?}: {value:#}");
    }
}
