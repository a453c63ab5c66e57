//! The kubelet's own endpoints, played: what answers well, badly, slowly or never, over TCP and from a file.

use crate::{
    json,
    support::{
        judge::case,
        port::Port,
        program::{Told, findings, run},
        replay::{Play, Played},
    },
};
use serde_json::{Value, json};
use std::{fs, net::TcpListener, process::Command, time::Duration};

const TIMEOUT: Duration = Duration::from_millis(500);
/// How much longer than its deadline a run may take on a busy machine.
const SLACK: Duration = Duration::from_secs(3);

/// Diagnoses by the kubelet's word alone.
#[track_caller]
fn diagnose(metrics: &str) -> (Told, Value) {
    with(&["--no-docker", "--kubelet-metrics", metrics])
}

#[track_caller]
fn with(more: &[&str]) -> (Told, Value) {
    let timeout = format!("{}ms", TIMEOUT.as_millis());
    let common = [
        "diagnose",
        "--no-log",
        "--no-host",
        "--format",
        "json",
        "--probe-timeout",
        &timeout,
    ];
    let told = run(&[&common, more].concat());
    assert!(told.took < TIMEOUT + SLACK, "{:?}", told.took);
    let report = told.report();
    json::strictly(&report);
    (told, report)
}

/// Metrics of a kubelet whose last relist began so many seconds ago.
fn metrics(ago: u64) -> String {
    // The clock that the program reads, too.
    let told = Command::new("date").arg("+%s").output().unwrap();
    let now: u64 = String::from_utf8(told.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let seen = now - ago;
    format!(
        "# TYPE kubelet_pleg_last_seen_seconds gauge\nkubelet_pleg_last_seen_seconds {seen}\nkubelet_running_pods 3\n"
    )
}

fn why(report: &Value) -> String {
    let gaps = report["gaps"].as_array().unwrap();
    assert_eq!(gaps.len(), 1, "{report:#}");
    assert_eq!(gaps[0]["what"], "the kubelet's metrics", "{report:#}");
    gaps[0]["why"].as_str().unwrap().to_owned()
}

#[test]
fn a_kubelet_that_is_well_is_told_with_its_health() {
    let port = Port::start(|asked| match asked {
        "GET /metrics" => Play::ok(metrics(2)),
        "GET /healthz?verbose" => Play::ok("[+]ping ok\n[+]syncloop ok\nhealthz check passed\n"),
        _ => Play::Http(404, String::new()),
    });
    let (told, report) = diagnose(&port.url());
    assert_eq!(
        (told.code, &report["verdict"]),
        (0, &json!("healthy")),
        "{report:#}"
    );
    let kubelet = &report["kubelet"];
    assert_eq!(kubelet["metrics"]["running_pods"], 3.0);
    assert_eq!(kubelet["health"][0]["well"], true);
    assert_eq!(port.requests(), ["GET /healthz?verbose", "GET /metrics"]);
}

#[test]
fn an_old_relist_is_an_unhealthy_pleg_with_no_log_at_all() {
    let port = Port::start(|asked| match asked {
        "GET /metrics" => Play::ok(metrics(300)),
        _ => Play::ok("ok"),
    });
    let (told, report) = diagnose(&port.url());
    assert_eq!(
        (told.code, findings(&report)),
        (1, vec!["pleg-unexplained"])
    );
    assert_eq!(report["findings"][0]["active"], true);

    // A daemon that answers nothing explains it, and both agree.
    let frozen = Played::start(|_| Play::Never);
    let endpoint = frozen.endpoint();
    let url = port.url();
    let (_, report) = with(&["--docker-host", &endpoint, "--kubelet-metrics", &url]);
    assert_eq!(findings(&report), ["hung-runtime"]);
    let first = &report["findings"][0];
    assert_eq!(first["confidence"], "confirmed", "{first:#}");
    assert!(
        first["citations"].to_string().contains("kubelet metrics"),
        "{first:#}"
    );
}

#[test]
fn bad_answers_are_gaps_and_end_in_time() {
    let raw = |text: &str| Play::Raw(text.as_bytes().to_vec());
    let head = |length: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    let drip = head("1000000").into_bytes();
    for (play, words) in [
        (Play::Never, "no answer in "),
        (
            Play::Trickle(drip, b'#', Duration::from_millis(20)),
            "its answer began and did not end",
        ),
        (raw(""), "it closed the connection without an answer"),
        (raw("SSH-2.0-OpenSSH_8.4\r\n\r\n"), "its answer is not HTTP"),
        (
            raw(&(head("9") + "ab")),
            "its answer broke off after 2 bytes",
        ),
        (Play::ok("<html>"), "the response holds no kubelet metrics"),
        (
            Play::ok("kubelet_running_pods"),
            "the response holds no kubelet metrics",
        ),
        (
            Play::Http(401, "Unauthorized".to_owned()),
            "HTTP 401: authentication required",
        ),
        (
            Play::Http(403, "Forbidden".to_owned()),
            "HTTP 403: authentication required",
        ),
        (
            Play::Http(404, "404 page not found\n".to_owned()),
            "HTTP 404: 404 page not found",
        ),
        (
            Play::Http(307, String::new()),
            "HTTP 307: redirect not followed",
        ),
    ] {
        let shown = format!("{play:?}");
        let shown = &shown[..shown.len().min(80)];
        let port = Port::start(move |asked| match asked {
            "GET /metrics" => play.clone(),
            _ => Play::Never,
        });
        let (told, report) = diagnose(&port.url());
        let why = why(&report);
        assert!(why.contains(words), "{shown}: {why}");
        assert_eq!(
            (told.code, &report["verdict"]),
            (2, &json!("unknown")),
            "{shown}"
        );
    }
}

#[test]
fn an_answer_too_large_to_take_is_a_gap() {
    let port = Port::start(move |_| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 40000000\r\n\r\n";
        Play::Raw([&head[..], &vec![b'#'; 40_000_000]].concat())
    });
    // ListSize for a busy machine: the size ends it, not the time.
    let more = ["--probe-timeout", "60s", "--kubelet-metrics", &port.url()];
    let common = [
        "diagnose",
        "--no-log",
        "--no-host",
        "--no-docker",
        "--format",
        "json",
    ];
    let report = run(&[&common[..], &more].concat()).report();
    assert!(
        why(&report).contains("its answer is larger than 32 MiB"),
        "{report:#}"
    );
}

#[test]
fn a_port_that_was_named_and_refuses_is_a_gap() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let (told, report) = diagnose(&format!("http://{at}/metrics"));
    let why = why(&report);
    assert!(why.contains(&format!("nothing listens on {at}")), "{why}");
    assert_eq!(told.code, 2);
}

#[test]
fn a_saved_file_is_read_and_proves_no_age_that_it_does_not_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("metrics.txt");
    let path = file.display().to_string();
    fs::write(&file, metrics(3600)).unwrap();
    let (told, report) = diagnose(&path);
    assert_eq!(
        (told.code, &report["verdict"]),
        (0, &json!("healthy")),
        "{report:#}"
    );
    assert_eq!(report["kubelet"]["source"]["is_file"], true);
    assert_eq!(report["kubelet"]["metrics"]["relist_age_is_exact"], false);

    let later = metrics(3600 - 400).replace("pleg_last_seen", "x");
    let later = later.replace("kubelet_x_seconds ", "go_memstats_last_gc_time_seconds ");
    fs::write(&file, metrics(3600) + &later).unwrap();
    let (_, report) = diagnose(&path);
    assert_eq!(findings(&report), ["pleg-unexplained"], "{report:#}");

    fs::remove_file(&file).unwrap();
    let (told, report) = diagnose(&path);
    assert_eq!(told.code, 2);
    assert!(why(&report).contains("No such file"), "{report:#}");
}

#[test]
fn the_kubelet_is_left_alone_where_the_host_is() {
    // --no-host, or what is not of now and here, leaves its ports alone.
    let case = case("cni-hang");
    let host = case.folder.join("host");
    for more in [
        &["--no-host", "--docker-host", "unix:///nonexistent"][..],
        &["--no-kubelet", "--no-docker"],
        &["--no-docker", "--host-root", host.to_str().unwrap()],
    ] {
        let common = ["diagnose", "--no-log", "--format", "json"];
        let report = run(&[&common, more].concat()).report();
        assert_eq!(report["kubelet"], json!(null), "{more:?}");
    }
}

#[test]
fn what_can_not_be_asked_is_refused() {
    for (metrics, words) in [
        ("https://127.0.0.1:10250/metrics", "kubectl get --raw"),
        ("ftp://x/metrics", "only http://"),
        ("http://user@x/metrics", "no user"),
        ("http://", "http://"),
    ] {
        run(&["diagnose", "--no-log", "--kubelet-metrics", metrics]).refused(&[words]);
    }
    let both = ["diagnose", "--no-kubelet", "--kubelet-metrics", "x"];
    assert_eq!(run(&both).code, 2);
}

#[test]
fn what_was_saved_is_judged_the_same_elsewhere() {
    let port = Port::start(|asked| match asked {
        "GET /metrics" => Play::ok(metrics(300)),
        _ => Play::Http(
            500,
            "[+]ping ok\n[-]syncloop failed: reason withheld\n".to_owned(),
        ),
    });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("saved.tar.gz").display().to_string();
    let url = port.url();
    for format in ["text", "json"] {
        let file = format!("{file}.{format}");
        let seen = run(&[
            "diagnose",
            "--no-log",
            "--no-docker",
            "--no-host",
            "--kubelet-metrics",
            &url,
            "--save",
            &file,
            "--format",
            format,
        ]);
        assert_eq!((seen.code, seen.err.as_str()), (1, ""), "{seen:?}");
        let again = run(&["diagnose", "--capture", &file, "--format", format]);
        assert_eq!((again.code, again.err.as_str()), (1, ""), "{again:?}");
        assert_eq!(again.out, seen.out);
    }
    drop(port);
}
