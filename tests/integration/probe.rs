//! `probe`: the live part alone, on real daemons that are well, partly hung, frozen, gone, and on played ones.

use crate::support::{
    daemon::{Daemon, Pod, SLEEP},
    json::{schema, validate},
    program::{Told, run},
    replay::{Play, Played},
};
use serde_json::{Value, json};
use std::time::Duration;

/// Short, so that what hangs costs little; long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_millis(1500);
/// How much longer than two rounds of calls a run may take.
const SLACK: Duration = Duration::from_secs(2);

fn probe(endpoint: &str, more: &[&str]) -> Told {
    let timeout = format!("{}ms", TIMEOUT.as_millis());
    let common = [
        "probe",
        "--docker-host",
        endpoint,
        "--probe-timeout",
        &timeout,
    ];
    let told = run(&[&common, more].concat());
    assert!(told.took < TIMEOUT * 2 + SLACK, "{:?}", told.took);
    assert_eq!(told.err, "", "{told:?}");
    told
}

/// Probes for scripts, after an independent look whether the output keeps to its schema.
fn read(endpoint: &str) -> (i32, Value) {
    let told = probe(endpoint, &["--format", "json"]);
    let value = serde_json::from_str(&told.out).unwrap();
    validate(&schema("probe"), &value, "probe");
    (told.code, value)
}

fn long_lines(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.chars().count() > 80)
        .collect()
}

#[test]
fn a_daemon_that_is_well_then_partly_hung_then_frozen_then_gone() {
    let daemon = Daemon::start();
    let endpoint = daemon.endpoint();
    let pod = Pod::new("default", "web-2", 2);
    let sandbox = daemon.sandbox(&pod);
    daemon.running("etcd");

    let (code, value) = read(&endpoint);
    assert_eq!((code, &value["verdict"]), (0, &json!("well")), "{value:#}");
    assert_eq!(value["calls"].as_array().unwrap().len(), 6);
    let relist = &value["relist"];
    // etcd is no pod's: it is listed, and the kubelet does not ask for it.
    assert_eq!(
        (&relist["pods"], &relist["statuses"], &relist["at_least"]),
        (&json!(1), &json!(1), &json!(false))
    );
    let told = probe(&endpoint, &[]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("6 of 6 calls answered"), "{}", told.out);
    assert!(told.out.contains("default/web-2 (sandbox)"), "{}", told.out);
    assert_eq!(long_lines(&told.out), [""; 0]);

    let hung = daemon.pod_container(&pod, "app", &sandbox, SLEEP);
    daemon.hang_start(&hung);
    let (code, value) = read(&endpoint);
    assert_eq!(
        (code, &value["verdict"]),
        (1, &json!("trouble")),
        "{value:#}"
    );
    let first = &value["calls"][0];
    assert_eq!(
        (&first["id"], &first["probe"]["outcome"], &first["pod"]),
        (&json!(hung), &json!("timed_out"), &json!("web-2"))
    );
    let relist = &value["relist"];
    assert_eq!(
        (&relist["unanswered"], &relist["at_least"]),
        (&json!(1), &json!(true))
    );
    assert!(relist["one_changed_seconds"].as_f64().unwrap() >= TIMEOUT.as_secs_f64());
    let told = probe(&endpoint, &[]);
    let waited = told.out.lines().find(|line| line.contains(&hung[..12]));
    assert!(
        waited.unwrap().contains("no answer in 1.5 s"),
        "{}",
        told.out
    );
    assert!(told.out.contains("  at least "), "{}", told.out);
    daemon.unhang();

    daemon.freeze_dockerd();
    let (code, value) = read(&endpoint);
    assert_eq!(
        (code, &value["verdict"]),
        (1, &json!("trouble")),
        "{value:#}"
    );
    let calls = value["calls"].as_array().unwrap();
    assert!(
        calls
            .iter()
            .all(|call| call["probe"]["outcome"] == "timed_out"),
        "{value:#}"
    );
    assert_eq!(calls.len(), 4);
    daemon.thaw_dockerd();

    daemon.kill_dockerd();
    let (code, value) = read(&endpoint);
    assert_eq!(
        (code, &value["verdict"]),
        (2, &json!("unasked")),
        "{value:#}"
    );
    let told = probe(&endpoint, &[]);
    assert_eq!(told.code, 2, "{told:?}");
    assert!(told.out.contains("nothing listens on"), "{}", told.out);
    daemon.restart_dockerd();
}

/// Forty containers, each of which answers, number 7 after a while; their names hold terminal commands.
fn many() -> Played {
    let id = |number: u32| format!("{number:064x}");
    Played::start(move |asked| match asked {
        "GET /_ping" => Play::ok("OK"),
        "GET /version" => Play::ok(r#"{"Version":"20.10.24"}"#),
        "GET /info" => Play::ok("{}"),
        "GET /containers/json?all=1" => {
            let listed = |number| {
                json!({"Id": id(number), "Names": [format!("/k8s_a\u{1b}[2Jb_web_default_{number}_0")],
                    "State": "running", "Status": "", "Labels": {}})
            };
            Play::ok(Value::from_iter((0..40).map(listed)).to_string())
        }
        _ => {
            let number = asked
                .strip_prefix("GET /containers/")
                .and_then(|rest| u32::from_str_radix(rest.strip_suffix("/json")?, 16).ok());
            let Some(number) = number else {
                return Play::Http(404, "{}".to_owned());
            };
            let answer =
                Play::ok(json!({"Id": id(number), "State": {"Status": "running"}}).to_string());
            match number {
                7 => Play::After(Duration::from_millis(400), Box::new(answer)),
                _ => answer,
            }
        }
    })
}

#[test]
fn the_slowest_calls_come_first_and_the_rest_is_counted() {
    let played = many();
    let told = probe(&played.endpoint(), &[]);
    assert_eq!(told.code, 0, "{told:?}");
    let rows = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("inspect"))
            .count()
    };
    assert!(rows(&told.out) <= 20, "{}", told.out);
    let first = told.out.lines().find(|line| line.starts_with("inspect"));
    assert!(first.unwrap().contains("4"), "{}", told.out);
    assert!(told.out.contains("24 more, none slower"), "{}", told.out);
    assert!(!told.out.contains('\u{1b}'), "{}", told.out);
    let all = probe(&played.endpoint(), &["--all"]);
    assert_eq!(rows(&all.out), 40, "{}", all.out);
    assert!(!all.out.contains("none slower"), "{}", all.out);
}

#[test]
fn not_more_calls_are_left_unanswered_than_allowed() {
    let played = Played::start(|asked| match asked {
        "GET /containers/json?all=1" => {
            let listed = |number: u32| json!({"Id": format!("{number:064x}"), "Names": ["/x"]});
            Play::ok(Value::from_iter((0..9).map(listed)).to_string())
        }
        _ if asked.starts_with("GET /containers/") => Play::Never,
        _ => Play::ok("{}"),
    });
    let told = probe(&played.endpoint(), &["--max-unanswered", "2"]);
    assert_eq!(told.code, 1, "{told:?}");
    let inspects = played.requests();
    let inspects = inspects
        .iter()
        .filter(|asked| asked.ends_with("/json") && !asked.contains("all=1"));
    assert_eq!(inspects.count(), 2);
    assert!(told.out.contains("not asked: 2 inspects"), "{}", told.out);
}

#[test]
fn what_can_not_be_asked_is_refused() {
    run(&["probe", "--docker-host", "tcp://10.0.0.1:2375"]).refused(&["unix://"]);
    let missing = probe("unix:///nonexistent/docker.sock", &[]);
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(
        missing.out.contains("there is no /nonexistent/docker.sock"),
        "{missing:?}"
    );
}
