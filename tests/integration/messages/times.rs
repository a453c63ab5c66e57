//! Years and zones that lines do not tell, and delays between writing and receipt.

use super::{read, read_at, time};
use plegdoctor::kubelet::event::{Event, Kind};

const TEXT: &str = "kubelet.go:1765] Starting kubelet main sync loop.";

fn line(stamp: &str) -> String {
    format!("I{stamp}    2261 {TEXT}")
}

/// Returns the times of the events of `lines`, as RFC 3339 to the second.
fn times_at(lines: &[String], now: &str, offset: Option<i32>) -> Vec<String> {
    let (events, _) = read_at(lines.join("\n"), now, offset);
    events
        .iter()
        .map(|event| event.at.unwrap().format("%Y-%m-%dT%H:%M:%S%:z").to_string())
        .collect()
}

fn times(lines: &[String]) -> Vec<String> {
    times_at(lines, "2023-03-15T12:00:00Z", None)
}

#[test]
fn a_bare_line_is_of_the_last_year_that_puts_it_before_now() {
    for (stamp, now, expected) in [
        (
            "0314 09:26:53.000000",
            "2023-03-15T12:00:00Z",
            "2023-03-14T09:26:53+00:00",
        ),
        (
            "0316 09:26:53.000000",
            "2023-03-15T12:00:00Z",
            "2023-03-16T09:26:53+00:00",
        ),
        (
            "0317 09:26:53.000000",
            "2023-03-15T12:00:00Z",
            "2022-03-17T09:26:53+00:00",
        ),
        (
            "1231 23:59:59.000000",
            "2023-01-01T00:00:10Z",
            "2022-12-31T23:59:59+00:00",
        ),
        (
            "0229 09:26:53.000000",
            "2023-03-15T12:00:00Z",
            "2020-02-29T09:26:53+00:00",
        ),
        (
            "0314 09:26:53.000000",
            "2023-03-15T12:00:00+05:30",
            "2023-03-14T09:26:53+05:30",
        ),
    ] {
        assert_eq!(times_at(&[line(stamp)], now, None), [expected], "{stamp}");
    }
}

#[test]
fn the_users_zone_goes_before_the_machines() {
    let lines = [line("0314 09:26:53.000000")];
    assert_eq!(
        times_at(&lines, "2023-03-15T12:00:00Z", Some(-7 * 3600)),
        ["2023-03-14T09:26:53-07:00"]
    );
}

#[test]
fn new_year_steps_the_year() {
    let lines = [
        line("1231 23:59:50.000000"),
        line("0101 00:00:10.000000"),
        line("1231 23:59:59.000000"), // delivered late
        line("0102 00:00:00.000000"),
    ];
    assert_eq!(
        times_at(&lines, "2023-01-02T12:00:00Z", None),
        [
            "2022-12-31T23:59:50+00:00",
            "2023-01-01T00:00:10+00:00",
            "2022-12-31T23:59:59+00:00",
            "2023-01-02T00:00:00+00:00",
        ]
    );
}

#[test]
fn klogs_file_header_tells_the_year() {
    let lines = [
        "Log file created at: 2019/12/31 23:00:00".to_owned(),
        line("1231 23:59:50.000000"),
        line("0101 00:00:10.000000"),
    ];
    assert_eq!(
        times(&lines),
        ["2019-12-31T23:59:50+00:00", "2020-01-01T00:00:10+00:00"]
    );
}

#[test]
fn node_became_not_ready_dates_the_lines_before_it_too() {
    let condition = "I0803 22:33:00.900000    2261 setters.go:1] Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2020-08-03 22:33:00.895519165 +0800 CST m=+1885571.887843195 LastTransitionTime:2020-08-03 22:33:00.895519165 +0800 CST m=+1885571.887843195 Reason:KubeletNotReady Message:container runtime is down}";
    let lines = [
        line("0803 22:30:00.000000"),
        condition.to_owned(),
        line("0803 22:40:00.000000"),
    ];
    let (events, told) = read(lines.join("\n"));
    let times: Vec<_> = events.iter().map(|event| event.at.unwrap()).collect();
    assert_eq!(times[0], time("2020-08-03T22:30:00+08:00"));
    assert_eq!(times[3], time("2020-08-03T22:40:00+08:00"));
    assert!(!told.guessed_times && events.iter().all(|event| !event.exact));
}

#[test]
fn the_envelope_tells_year_and_zone() {
    for (envelope, klog, expected) in [
        (
            "2023-03-14T09:26:53Z stderr F ",
            "0314 09:26:53.000000",
            "2023-03-14T09:26:53+00:00",
        ),
        (
            "2023-03-14T09:26:53Z stderr F ",
            "0314 17:26:53.000000",
            "2023-03-14T17:26:53+08:00",
        ),
        (
            "2023-03-14T09:26:53Z stderr F ",
            "0314 14:56:52.000000",
            "2023-03-14T14:56:52+05:30",
        ),
        (
            "2023-03-14T17:26:53+08:00 h kubelet[1]: ",
            "0314 09:26:53.000000",
            "2023-03-14T09:26:53+00:00",
        ),
        (
            "2023-03-14T17:26:53+08:00 h kubelet[1]: ",
            "0314 17:26:50.000000",
            "2023-03-14T17:26:50+08:00",
        ),
        (
            "2023-01-01T07:59:59+08:00 h kubelet[1]: ",
            "1231 23:59:59.000000",
            "2022-12-31T23:59:59+00:00",
        ),
        (
            "2019-12-31T23:30:00Z stderr F ",
            "0101 00:30:00.000000",
            "2020-01-01T00:30:00+01:00",
        ),
        (
            "2020-02-29T09:26:53Z stderr F ",
            "0229 09:26:53.000000",
            "2020-02-29T09:26:53+00:00",
        ),
        // Delivered minutes late: still the envelope's zone.
        (
            "2023-03-14T09:26:53Z stderr F ",
            "0314 09:06:53.000000",
            "2023-03-14T09:06:53+00:00",
        ),
        // Whole seconds of the envelope may lie before klog's fraction.
        (
            "2023-03-14T09:26:53Z stderr F ",
            "0314 09:26:53.999999",
            "2023-03-14T09:26:53+00:00",
        ),
    ] {
        let line = format!("{envelope}{}", line(klog));
        assert_eq!(times(std::slice::from_ref(&line)), [expected], "{line}");
    }
}

#[test]
fn a_late_line_does_not_change_the_zone() {
    let lines = [
        format!(
            "2023-03-14T09:26:53Z stderr F {}",
            line("0314 17:26:53.000000")
        ),
        format!(
            "2023-03-14T09:46:53Z stderr F {}",
            line("0314 17:26:54.000000")
        ),
        format!(
            "2023-03-14T09:46:53Z stderr F {}",
            line("0314 17:46:53.000000")
        ),
    ];
    let (events, _) = read(lines.join("\n"));
    assert!(
        events
            .iter()
            .all(|event| event.at.unwrap().offset().local_minus_utc() == 8 * 3600)
    );
    let late = &events[1];
    let delay = late.received.unwrap() - late.at.unwrap();
    assert_eq!(delay.num_seconds(), 20 * 60 - 1);
}

#[test]
fn syslog_without_a_year_is_received_at_its_own_time() {
    let log = format!(
        "Mar 14 09:29:51 h kubelet[1]: {}",
        line("0314 09:23:14.000000")
    );
    let (events, told) = read(log);
    assert_eq!(events[0].at, Some(time("2023-03-14T09:23:14Z")));
    assert_eq!(events[0].received, Some(time("2023-03-14T09:29:51Z")));
    assert!(told.guessed_times && !events[0].exact);
}

#[test]
fn first_and_last_lines_are_told_known_messages_or_not() {
    let quiet = |stamp: &str| format!("I{stamp}    2261 a.go:1] nothing to see");
    let log = [
        "Flag --x has been deprecated".to_owned(),
        quiet("0314 09:00:00.000000"),
        line("0314 09:10:00.000000"),
        quiet("0314 09:20:00.000000"),
        "goroutine 1 [running]:".to_owned(),
    ]
    .join("\n");
    let (_, told) = read(log);
    assert_eq!(told.first, Some(time("2023-03-14T09:00:00Z")));
    assert_eq!(told.last, Some(time("2023-03-14T09:20:00Z")));
    assert_eq!((told.lines, told.of_kubelet), (5, true));
    let (_, told) = read("");
    assert_eq!(
        (told.first, told.last, told.guessed_times),
        (None, None, false)
    );
}

#[test]
fn only_the_kubelets_lines_tell_when_it_first_and_last_spoke() {
    let quiet = "I0314 09:20:00.000000    2261 a.go:1] nothing: to see";
    let others = [
        "Mar 14 09:30:00 worker-3 sshd[77]: Accepted publickey for root from 10.0.0.9 port 51122 ssh2",
        "Mar 14 09:30:00 worker-3 dockerd[9]: time=\"2023-03-14T09:30:00Z\" level=warning msg=\"kubelet asked too often\"",
        "Mar 14 09:30:00 worker-3 kube-proxy[12]: I0314 09:30:00.000000      12 proxier.go:1] kubelet[1]: x",
        "Mar 14 09:30:00 worker-3 systemd[1]: kubelet.service: Main process exited, code=killed, status=9/KILL",
        "Mar 14 09:30:00 worker-3 sudo: admin : TTY=pts/0 ; COMMAND=/usr/bin/systemctl status kubelet",
        "2023-03-14T09:30:00.000000+00:00 worker-3 CRON[5]: (root) CMD (kubelet --version)",
        "<30>1 2023-03-14T09:30:00Z worker-3 dockerd 9 - - kubelet: x",
        r#"{"SYSLOG_IDENTIFIER":"sshd","_HOSTNAME":"worker-3","__REALTIME_TIMESTAMP":"1678786200000000","MESSAGE":"kubelet: I0314 09:30:00.000000"}"#,
    ];
    for envelope in [
        "Mar 14 09:20:00 worker-3 kubelet[2261]: ",
        "Mar 14 09:20:00 worker-3 origin-node[2261]: ",
        "Mar 14 09:20:00 worker-3 k3s: ",
        "Mar 14 09:20:00 worker-3 microk8s.daemon-kubelite[2261]: ",
        "2023-03-14T09:20:00+0000 worker-3 kubelet[2261]: ",
        "2023-03-14 09:20:00 kubelet[2261]: ",
        "2023-03-14T09:20:00.000000000Z stderr F ",
        "2023-03-14T09:20:00.000000000Z ",
        "<30>1 2023-03-14T09:20:00Z worker-3 kubelet 2261 - - ",
        "<30>Mar 14 09:20:00 worker-3 kubelet[2261]: ",
        "",
    ] {
        for other in others {
            let log = format!("{other}\n{envelope}{quiet}\n{other}\n");
            let (events, told) = read(log);
            // systemd's word on the kubelet's end is heard, and is no line of the kubelet's.
            let ended = |event: &Event| event.kind == Kind::UnitEnded;
            assert!(events.iter().all(ended), "{events:?}");
            let at = Some(time("2023-03-14T09:20:00Z"));
            assert_eq!(
                (told.first, told.last, told.of_kubelet),
                (at, at, true),
                "{envelope}: {other}"
            );
            assert_eq!(told.oldest, Some(time("2023-03-14T09:30:00Z")), "{other}");
        }
    }
    let (_, told) = read(others.join("\n"));
    assert_eq!(
        (told.first, told.last, told.of_kubelet),
        (None, None, false)
    );
}

#[test]
fn a_clock_that_steps_back_keeps_the_order_of_lines() {
    let lines = [
        line("0314 17:00:00.000000"),
        line("0314 09:00:00.000000"),
        line("0314 09:00:01.000000"),
    ];
    assert_eq!(
        times(&lines),
        [
            "2023-03-14T17:00:00+00:00",
            "2023-03-14T09:00:00+00:00",
            "2023-03-14T09:00:01+00:00"
        ]
    );
}

#[test]
fn more_events_than_are_held_come_out_in_order() {
    let log: Vec<String> = (0..20_000)
        .map(|n| {
            line(&format!(
                "0314 09:{:02}:{:02}.{:06}",
                n / 600,
                n / 10 % 60,
                n % 10
            ))
        })
        .collect();
    let (events, _) = read(log.join("\n"));
    assert_eq!(events.len(), 20_000);
    assert!(events.is_sorted_by_key(|event| event.citation.line));
    assert!(events.iter().all(|event| event.at.is_some()));
}
